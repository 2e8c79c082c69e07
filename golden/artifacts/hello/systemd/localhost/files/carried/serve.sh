#!/bin/sh
# Serves a greeting, and /health, on the port that is its first argument.
set -eu

mkdir -p /tmp/www
printf '%s\n' "$GREETING" > /tmp/www/index.html
printf 'ok\n' > /tmp/www/health

# The first process of a container ends on a signal only if it says so itself.
httpd -f -p "$1" -h /tmp/www &
server=$!
asked=
trap 'asked=yes; kill "$server"' INT TERM
wait "$server" || [ -n "$asked" ]
