#!/bin/sh
# gpt-oss-120b-llama-cpp: rank 0 of 2, on left. Made by rcc; `run.sh help` says what it can do.
#
# What differs between nodes stands here and in `container`, below; the rest of the file is the same on all of them.
# It needs docker, or the one program that takes docker's command line and that RCC_DOCKER names, and Python 3.

# shellcheck disable=SC1003,SC2016,SC2088 # values stand in single quotes, as they are
set -eu
umask 022

id='gpt-oss-120b-llama-cpp'
plan='sha256:34c789d1b3b449af27575d364db85c2cf3e0faa039a43e486a4d5f823039f13e'
rank='0'
node='left'
name='gpt-oss-120b-llama-cpp-rank0'
image='localhost/llama.cpp:cuda13-arm64'
install="$HOME"'/.rcc/gpt-oss-120b-llama-cpp'
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
docker=${RCC_DOCKER:-docker}

# The container, word for word as the plan has it. The words of COMMAND come first: container COMMAND [WORD...]
container() {
    # what it is
    set -- "$@" \
        --name 'gpt-oss-120b-llama-cpp-rank0' \
        --platform 'linux/arm64' \
        --pull 'never' \
        --restart 'no' \
        --stop-timeout '30' \
        --log-driver 'json-file' \
        --log-opt 'max-size=10m' \
        --log-opt 'max-file=5'

    # how it is told apart from others
    set -- "$@" \
        --label 'dev.rcc.id=gpt-oss-120b-llama-cpp' \
        --label 'dev.rcc.image=localhost/llama.cpp:cuda13-arm64' \
        --label 'dev.rcc.plan=sha256:34c789d1b3b449af27575d364db85c2cf3e0faa039a43e486a4d5f823039f13e' \
        --label 'dev.rcc.ports=8080' \
        --label 'dev.rcc.rank=0' \
        --label 'dev.rcc.target=shell'

    # what it may use
    set -- "$@" \
        --network 'host' \
        --ipc 'host' \
        --gpus 'all' \
        --device '/dev/infiniband' \
        --cap-add 'IPC_LOCK' \
        --ulimit 'memlock=-1:-1' \
        --ulimit 'stack=67108864:67108864' \
        --oom-score-adj '500'

    # what it sees of the node
    set -- "$@" \
        --mount 'type=bind,"source='"$here"'/files/carried/llama.sh",target=/llama.sh,readonly' \
        --mount 'type=bind,source=/srv/models/gpt-oss-120b-GGUF,target=/rcc/models/model,readonly' \
        --mount 'type=bind,"source='"$HOME"'/.cache/rcc/gpt-oss-120b-llama-cpp",target=/rcc/cache'

    # its environment
    set -- "$@" \
        --env 'LLAMA_CACHE=/rcc/cache/llama.cpp' \
        --env 'NNODES=2' \
        --env 'NODE_RANK=0' \
        --env 'XDG_CACHE_HOME=/rcc/cache/xdg'

    # its health
    set -- "$@" \
        --health-cmd 'if command -v curl >/dev/null; then curl -fsS --noproxy '\''*'\'' -m 30 -o /dev/null '\''http://127.0.0.1:8080/health'\''; elif command -v wget >/dev/null; then http_proxy= wget -q -T 30 -O /dev/null '\''http://127.0.0.1:8080/health'\''; else python3 -c '\''import sys, urllib.request as r; r.build_opener(r.ProxyHandler({})).open(sys.argv[1], timeout=float(sys.argv[2]))'\'' '\''http://127.0.0.1:8080/health'\'' 30; fi' \
        --health-interval '30s' \
        --health-timeout '30s' \
        --health-retries '5' \
        --health-start-period '1200s'

    # the image and the process
    set -- "$@" \
        --entrypoint 'sh' \
        'localhost/llama.cpp:cuda13-arm64' \
        '-c' \
        'if command -v bash >/dev/null && command -v timeout >/dev/null; then for worker in $1; do until timeout 2 bash -c '\''exec 3<>"/dev/tcp/$0/$1"'\'' "${worker%:*}" "${worker##*:}" 2>/dev/null; do echo "waiting for the worker at $worker" >&2; sleep 2; done; done; fi; shift; exec "$@"' \
        'wait' \
        '192.168.200.12:50052' \
        'sh' \
        '/llama.sh' \
        '--model' \
        '/rcc/models/model/gpt-oss-120b-mxfp4-00001-of-00003.gguf' \
        '--alias' \
        'gpt-oss-120b' \
        '--ctx-size' \
        '131072' \
        '--n-gpu-layers' \
        '999' \
        '--split-mode' \
        'layer' \
        '--no-mmap' \
        '--jinja' \
        '--rpc' \
        '192.168.200.12:50052' \
        '--host' \
        '0.0.0.0' \
        '--port' \
        '8080'

    "$@"
}

# --- the same for every rank and recipe ----------------------------------------------------------------------------

usage() {
    cat <<'END'
run.sh up         pull, stage, check, and start the container; does nothing where it runs already
run.sh down       stop and remove every container of this id that these scripts started here
run.sh status     say how the container does; status 0 if it runs
run.sh logs       what the container wrote; options of `docker logs` may follow, such as -f
run.sh stage      put this rank's rows on this node's disk, or check those that are there; --full, --repair, --adopt
run.sh verify     check image and staged rows; --full reads every byte
run.sh preflight  check everything that must be true before a start
run.sh print      show the docker command line, and do nothing
cluster.sh uses besides: prepare (pull, stage, check), make_room, start, health, evidence
END
}

say() { printf 'rcc: %s: %s\n' "$name" "$*" >&2; }
fail() {
    say "$*"
    exit 1
}

# node_part COMMAND [WORD...]: what needs more than a shell.
node_part() {
    command -v python3 >/dev/null || fail "$node has no python3"
    command=$1
    shift
    RCC_DOCKER=$docker python3 -I "$here/files/rcc-node.pyz" "$command" --plan "$here/files/stage.json" --rank "$rank" "$@"
}

# Every container of this id on this node that these scripts started, whatever rank and build it was.
ours() { "$docker" ps --all --quiet --filter "label=dev.rcc.id=$id" --filter 'label=dev.rcc.target=shell' "$@"; }

# inspect FORMAT [CONTAINER]: empty where there is no such container.
inspect() { "$docker" container inspect --format "$1" "${2:-$name}" 2>/dev/null || :; }

own_ports() { inspect '{{index .Config.Labels "dev.rcc.ports"}}' "$1"; }

is_up() { [ "$(inspect '{{.State.Status}} {{index .Config.Labels "dev.rcc.plan"}}')" = "running $plan" ]; }

# A container of this name that these scripts did not start is somebody else's.
refuse_foreign() {
    case $(inspect '{{index .Config.Labels "dev.rcc.id"}} {{index .Config.Labels "dev.rcc.target"}}') in
    '' | ' ' | "$id shell") ;;
    *) fail 'another container has this name: stop it the way it was started' ;;
    esac
}

# evidence CONTAINER: keeps how it ended and its last lines, for the five that failed last.
evidence() {
    kept=$(inspect '{{.Id}}' "$1" | cut -c 1-12)
    [ -n "$kept" ] || return 0
    kept=$install/evidence/$kept
    mkdir -p "$kept"
    inspect '{{json .State}}' "$1" >"$kept/state.json"
    "$docker" logs --tail 1000 "$1" >"$kept/log" 2>&1 || :
    say "kept its state and last lines in $kept"
    # shellcheck disable=SC2012 # names of hexadecimal digits
    (cd "$install/evidence" && ls -1t | tail -n +6 | while IFS= read -r old; do rm -rf "./$old"; done)
}

# One that runs is ended by us; any other ended by itself, and somebody will want to know why.
remove() {
    case $(inspect '{{.State.Status}}' "$1") in
    running | paused | '') ;;
    *) evidence "$1" ;;
    esac
    "$docker" stop "$1" >/dev/null 2>&1 || :
    "$docker" rm --force --volumes "$1" >/dev/null
}

remove_ours() {
    found=$(ours)
    for one in $found; do remove "$one"; done
}

pull() {
    "$docker" image inspect "$image" >/dev/null 2>&1 && return
    say "pulling $image"
    "$docker" pull --platform 'linux/arm64' "$image" >&2 ||
        fail "$image is not on $node and cannot be pulled"
}

stage() {
    say 'nothing is staged here'
}

# preflight [OPTION...]: options of the node part's own, such as --skip CHECK.
preflight() {
    refuse_foreign
    "$docker" image inspect "$image" >/dev/null 2>&1 || fail "$image is not on $node: pull it"
    running=$(ours --filter status=running)
    for one in $running; do
        for port in $(own_ports "$one"); do set -- "$@" --own-port "$port"; done
    done
    # What the one that runs has will be free for the one that takes its place.
    [ -z "$running" ] || set -- "$@" --skip gpu --skip memory
    node_part preflight "$@" >&2
}

prepare() {
    refuse_foreign
    pull
    preflight
}

launch() {
    # The page cache holds memory that the GPU would have to itself.
    node_part evict >&2
    mkdir -p "$HOME"'/.cache/rcc/gpt-oss-120b-llama-cpp'
    if ! container "$docker" run --detach >/dev/null; then
        remove_ours
        fail 'docker did not start it'
    fi
    say "started on $node"
}

start() {
    refuse_foreign
    launch
}

# What runs now ends, and what only then can be free, memory and the GPU, is looked at again.
make_room() {
    [ -n "$(ours)" ] || return 0
    remove_ours
    preflight --skip paths --skip files --skip rows
}

up() {
    if is_up; then
        say "is up on $node already"
        return
    fi
    prepare
    make_room
    launch
}

down() { remove_ours; }

status() {
    # shellcheck disable=SC2046 # words: state, plan, health
    set -- $(inspect '{{.State.Status}} {{index .Config.Labels "dev.rcc.plan"}} {{with .State.Health}}{{.Status}}{{end}}')
    up=1
    case ${1-} in
    '') found='not there' ;;
    running)
        found="running${3:+, $3}"
        if [ "${2-}" = "$plan" ]; then up=0; else found="$found, but of another build"; fi
        ;;
    *) found=$(inspect '{{.State.Status}} with {{.State.ExitCode}}{{if .State.OOMKilled}}, out of memory{{end}}') ;;
    esac
    printf '%s on %s: %s\n' "$name" "$node" "$found"
    return "$up"
}

verify() {
    "$docker" image inspect "$image" >/dev/null 2>&1 || fail "$image is not on $node"
    node_part verify "$@"
}

# One question to the engine, from its own node.
health() {
    python3 -c 'import sys, urllib.request as r; r.build_opener(r.ProxyHandler({})).open(sys.argv[1], timeout=float(sys.argv[2]))' 'http://127.0.0.1:8080/health' '30' 2>/dev/null
}

# shown WORD...: the words as a shell reads them back, one a line.
shown() {
    end=''
    for word; do
        printf "$end%s" "$(printf '%s\n' "$word" | sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/'/")"
        end=' \\\n    '
    done
    echo
}

need_docker() { "$docker" version >/dev/null 2>&1 || fail "$docker does not answer on $node"; }

case $here$HOME in *\"*) fail "a path with a double quote in it: $here, $HOME" ;; esac

command=${1:-help}
[ $# -eq 0 ] || shift
case $command in
stage | verify | preflight | logs | help | -h | --help) ;;
# A word too many, such as --help, is not to cost what runs.
*) [ $# -eq 0 ] || command=misused ;;
esac
case $command in
up | down | status | stage | verify | preflight | prepare | make_room | start)
    need_docker
    "$command" "$@"
    ;;
health) health ;;
logs)
    [ $# -gt 0 ] || set -- --tail 100
    exec "$docker" logs "$@" "$name"
    ;;
evidence)
    need_docker
    found=$(ours)
    for one in $found; do evidence "$one"; done
    ;;
print) container shown "$docker" run --detach ;;
help | -h | --help) usage ;;
*)
    usage >&2
    exit 2
    ;;
esac
