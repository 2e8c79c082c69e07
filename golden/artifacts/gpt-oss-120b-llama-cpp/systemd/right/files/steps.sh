#!/bin/sh
# The steps of the units of gpt-oss-120b-llama-cpp on right, rank 1: steps.sh STEP [WORD...]
set -eu
umask 022

image='localhost/llama.cpp:cuda13-arm64'
name='gpt-oss-120b-llama-cpp-rank1'
id='gpt-oss-120b-llama-cpp'
rank='1'
here=$(cd "$(dirname "$0")" && pwd -P)
docker=docker

say() { printf 'rcc: %s: %s\n' "$name" "$*" >&2; }

# again COMMAND...: a few times, for networks and file servers that come up late.
again() {
    for pause in 10 20 40 80; do
        "$@" && return
        say "trying again in $pause seconds"
        sleep "$pause"
    done
    "$@"
}

node_part() {
    command=$1
    shift
    RCC_DOCKER=$docker python3 -I "$here/rcc-node.pyz" "$command" --plan "$here/stage.json" --rank "$rank" "$@"
}

pull() {
    "$docker" image inspect "$image" >/dev/null 2>&1 || again "$docker" pull --platform 'linux/arm64' "$image"
}

preflight() {
    node_part preflight "$@"
}

inspect() { "$docker" container inspect --format "$1" "$name" 2>/dev/null || :; }

# Removes what these units started, if it is there; a container that they did not start is somebody else's.
clear() {
    case $(inspect '{{index .Config.Labels "dev.rcc.id"}} {{index .Config.Labels "dev.rcc.target"}}') in
    '' | ' ') ;;
    "$id systemd")
        keep
        "$docker" rm --force --volumes "$name" >/dev/null
        ;;
    *)
        say 'another container has this name: stop it the way it was started'
        exit 1
        ;;
    esac
}

# How a container ended that did not end well, and its last lines, for the five that failed last.
keep() {
    case $(inspect '{{.State.ExitCode}} {{.State.OOMKilled}}') in
    '' | '0 false' | '143 false') return ;;
    esac
    kept=$LOGS_DIRECTORY/$(inspect '{{.Id}}')
    mkdir -p "$kept"
    inspect '{{json .State}}' >"$kept/state.json"
    "$docker" logs --tail 1000 "$name" >"$kept/log" 2>&1 || :
    say "kept its state and last lines in $kept"
    find "$LOGS_DIRECTORY" -mindepth 1 -maxdepth 1 -printf '%T@ %p\n' | LC_ALL=C sort -rn | tail -n +6 |
        cut -d ' ' -f 2- | while IFS= read -r old; do rm -rf "$old"; done
}

# secrets FOLDER NAME...: systemd's copies, where the container's user may read them. The folder around is root's.
secrets() {
    folder=$1
    shift
    to=$RUNTIME_DIRECTORY/secrets
    mkdir -p "$to"
    for secret; do
        case $(ls -ldL "$folder/$secret") in
        -???------*) ;;
        *)
            say "$folder/$secret is open to others: chmod 600 it"
            exit 1
            ;;
        esac
        cp "$CREDENTIALS_DIRECTORY/$secret" "$to/$secret"
        chmod 444 "$to/$secret"
    done
}

"$@"
