#!/bin/sh
# llama.cpp's own images keep its programs in /app; the flags are those of the rank.
if [ "$NODE_RANK" = 0 ]; then
    exec /app/llama-server "$@"
fi
exec /app/ggml-rpc-server "$@"
