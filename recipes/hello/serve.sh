#!/bin/sh
# Serves a greeting, and /health, on the port that is its first argument.
set -eu

mkdir -p /tmp/www
printf '%s\n' "$GREETING" > /tmp/www/index.html
printf 'ok\n' > /tmp/www/health

exec httpd -f -p "$1" -h /tmp/www
