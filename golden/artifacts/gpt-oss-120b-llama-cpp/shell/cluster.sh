#!/bin/sh
# gpt-oss-120b-llama-cpp on 2 nodes. Made by rcc; `cluster.sh help` says what it can do.
#
# Nodes are reached by ssh, or the program that RCC_SSH names; where no login stands, the node is this machine.
# RCC_DOCKER and RCC_SECRETS are handed on to the nodes.

# shellcheck disable=SC2016,SC2088 # variables and homes are those of the nodes
set -eu

id='gpt-oss-120b-llama-cpp'
ranks='0 1'
start_order='1 0'
head='0'

# Each node: its name, how ssh reaches it, and the folder on it for what is copied there.
use() {
    case $1 in
    0) node='left' login='spark@10.0.0.11' port='' install='~/.rcc/gpt-oss-120b-llama-cpp' ;;
    1) node='right' login='spark@10.0.0.12' port='' install='~/.rcc/gpt-oss-120b-llama-cpp' ;;
    *) use_former "$1" ;;
    esac
}

# The group serves when the head answers here with 200; patience is in seconds.
url='http://10.0.0.11:8080/health'
timeout='30'
patience='1350'

# --- the same for every recipe -------------------------------------------------------------------------------------

usage() {
    cat <<'END'
cluster.sh up         check every node, copy, pull, stage, start all ranks, and wait until the group serves;
                      takes the place of another build of the same id only when its own is ready
cluster.sh down       stop all ranks, also on nodes that only a former build used
cluster.sh status     say how each rank does; status 0 if all run
cluster.sh logs       what the ranks wrote; options of `docker logs` may follow, such as --tail 20
cluster.sh stage      put each rank's rows on its node; --full, --repair, --adopt
cluster.sh verify     check image and staged rows on every node; --full reads every byte
cluster.sh preflight  check everything that must be true before a start
cluster.sh print      show the docker command lines, and do nothing
END
}

misused() {
    usage >&2
    exit 2
}

say() { printf 'rcc: %s: %s\n' "$id" "$*" >&2; }
fail() {
    say "$*"
    exit 1
}

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)

# The folder on the nodes is called by the build, which only the manifest knows.
find_build() {
    build=$(sed -n 's/.*"build": *"sha256:\([0-9a-f]\{64\}\)".*/\1/p' "$here/../manifest.json" 2>/dev/null | head -n 1)
    [ -n "$build" ] || fail "there is no manifest.json in ${here%/*}: keep the result of the build in one piece"
}

# quoted WORD: the word in single quotes.
quoted() { printf '%s\n' "$1" | sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/'/"; }

# reach COMMAND: one line of `sh`, without a single quote, on the node that `use` chose. stdin is its own.
reach() {
    if [ -z "$login" ]; then
        sh -c "$1" 9>&-
        return
    fi
    set -- -T -a -x -o BatchMode=yes -o ConnectTimeout=10 -o StrictHostKeyChecking=yes -o ServerAliveInterval=15 \
        -o ServerAliveCountMax=4 ${port:+-p "$port"} "$login" "exec sh -c '$1'"
    # RCC_SSH is a program, or one with options.
    if command -v "${RCC_SSH:=ssh}" >/dev/null; then
        "$RCC_SSH" "$@" 9>&-
    else
        # shellcheck disable=SC2086 # words
        $RCC_SSH "$@" 9>&-
    fi
}

# on RANK SCRIPT [WORD...]: a script with these words on a rank's node, where $install is the folder for copies.
# It goes there by stdin, so that no login shell reads it; its programs get none of it to read.
on() {
    use "$1"
    script=$2
    shift 2
    {
        printf 'set --'
        for word; do printf ' %s' "$(quoted "$word")"; done
        printf '\ninstall=%s build=%s node=%s\n' "$(quoted "$install")" "$build" "$(quoted "$node")"
        [ -z "${RCC_DOCKER-}" ] || printf 'export RCC_DOCKER=%s\n' "$(quoted "$RCC_DOCKER")"
        [ -z "${RCC_SECRETS-}" ] || printf 'export RCC_SECRETS=%s\n' "$(quoted "$RCC_SECRETS")"
        # The home is that of the node.
        printf '%s\n' 'case $install in "~"/*) install=$HOME/${install#??} ;; esac' "$script"
    } | reach 'exec sh -s'
}

# each TASK [WORD...]: TASK RANK [WORD...] for every rank at once; lines are told by their node. Fails if one fails.
each() {
    task=$1 running=''
    shift
    for rank in $ranks; do
        use "$rank"
        {
            set +e
            (
                set -e
                "$task" "$rank" "$@"
            ) 2>&1
            echo "$?" >"$work/$rank.result"
        } | told_by "$node" &
        running="$running $!"
    done
    # shellcheck disable=SC2086 # words
    wait $running
    [ -z "$(those_that_failed)" ]
}

# What runs at once in the background does not hear of an interrupt by itself.
end_children() {
    # shellcheck disable=SC2046 # words
    kill $(ps -A -o pid= -o ppid= | awk -v top="$$" '
        { parent[$1] = $2 }
        END { for (one in parent) for (up = parent[one]; up in parent; up = parent[up]) if (up == top) print one }
    ') 2>/dev/null || :
}

those_that_failed() {
    for rank in $ranks; do
        [ "$(cat "$work/$rank.result")" = 0 ] || echo "$rank"
    done
}

told_by() {
    while IFS= read -r line || [ -n "$line" ]; do printf '%s: %s\n' "$1" "$line"; done
}

# run RANK COMMAND [WORD...]: this build's run.sh on a rank's node.
run() {
    runs_on=$1
    shift
    on "$runs_on" '
        [ -x "$install/$build/run.sh" ] || { echo "this build is not on $node"; exit 1; }
        exec "$install/$build/run.sh" "$@" </dev/null
    ' "$@"
}

# --- one at a time -------------------------------------------------------------------------------------------------

# Whoever starts or stops the group has the turn: a lock on the head's node, in a session of its own that lasts while
# this script lives and is heard of. So none is left behind, also where this machine or the network fails. A head that
# does not answer gives no turn and takes none: `up` then fails by itself, and `down` does what it can.
take_turn() {
    use "$head"
    mkfifo "$work/turn" "$work/answer"
    reach "$hold" <"$work/turn" >"$work/answer" 2>/dev/null &
    exec 9>"$work/turn"
    printf '%s\n' "$id" "$(id -un)@$(uname -n), $command since $(date -u '+%Y-%m-%d %H:%M:%S') UTC" >&9
    # A login may have something to say first.
    while IFS= read -r turn; do
        case $turn in
        yours) break ;;
        'another is at it: '*) fail "$turn; nothing was touched" ;;
        esac
    done <"$work/answer"
    while kill -0 "$$" 2>/dev/null && printf . >&9; do sleep 15 9>&-; done >/dev/null 2>&1 &
    beat=$!
}
beat=''
hold='IFS= read -r id && IFS= read -r who && mkdir -p "$HOME/.rcc" && exec 8>>"$HOME/.rcc/$id.turn" || exit'
hold="$hold"'; if command -v flock >/dev/null && ! flock -n 8'
hold="$hold"'; then echo "another is at it: $(cat "$HOME/.rcc/$id.turn")"; exit; fi'
hold="$hold"'; echo "$who" >"$HOME/.rcc/$id.turn"; echo yours; while [ -n "$(timeout 60 head -c 1)" ]; do :; done'

# --- what is there -------------------------------------------------------------------------------------------------

# Asks a node all that is to be known before anything is touched: whether it is ready, where the group ran before
# (lines with columns), and whether this build is `installed` and `up` there.
ask_node() {
    on "$1" '
        [ ! -e "$install/nodes" ] || cat "$install/nodes"
        "${RCC_DOCKER:-docker}" version </dev/null >/dev/null 2>&1 || { echo "docker does not answer" >&2; exit 1; }
        for program in python3 tar; do
            command -v "$program" >/dev/null || { echo "there is no $program" >&2; exit 1; }
        done
        [ -x "$install/$build/run.sh" ] || exit 0
        echo installed
        ! "$install/$build/run.sh" status </dev/null >/dev/null 2>&1 || echo up
    ' >"$work/$1.answer"
}

told() { grep -qx "$2" "$work/$1.answer" 2>/dev/null; }

all_up() {
    for rank in $ranks; do
        told "$rank" up || return 1
    done
}

# Every node has a list of the group's nodes, and so has this machine: login, port and folder, in columns.
own_nodes() {
    for rank in $ranks; do
        use "$rank"
        printf '%s\t%s\t%s\n' "${login:--}" "${port:--}" "$install"
    done
}

# Nodes that only a former build used. What another machine calls its own is not this one; what looks like an option
# is no login.
find_former() {
    tab=$(printf '\t')
    own_nodes >"$work/own"
    {
        grep -v "^-[^$tab]" "$HOME/.rcc/$id/nodes" 2>/dev/null || :
        cat "$work"/*.answer 2>/dev/null | grep "$tab" | grep -v '^-' || :
    } | sort -u | grep -vxF -f "$work/own" >"$work/former" || :
    former=''
    count=$(wc -l <"$work/former")
    while [ "$count" -gt 0 ]; do
        former="former$count $former"
        count=$((count - 1))
    done
}

use_former() {
    columns=$(sed -n "${1#former}p" "$work/former")
    login=$(printf '%s\n' "$columns" | cut -f 1)
    port=$(printf '%s\n' "$columns" | cut -f 2)
    install=$(printf '%s\n' "$columns" | cut -f 3)
    node=${login#*@}
    [ "$login" != - ] || login='' node='this machine'
    [ "$port" != - ] || port=''
}

stop_former() {
    lost=''
    for one in $former; do
        on "$one" '
            [ -x "$install/current/run.sh" ] || exit 0
            "$install/current/run.sh" down </dev/null && rm -f "$install/nodes"
        ' || lost="$lost $node"
    done
    [ -z "$lost" ] || say "a former build may still run on:$lost"
    [ -z "$lost" ]
}

# --- steps ---------------------------------------------------------------------------------------------------------

# The folder comes whole or not at all, and is not copied twice. Its place is told on stdin as well, so that no login
# shell reads a path.
copy() {
    told "$1" installed && return
    use "$1"
    {
        printf '%s\n' "$install" "$build"
        tar -C "$here/$node" -cf - .
    } | reach "$unpack"
}
unpack='IFS= read -r to && IFS= read -r build && case $to in "~"/*) to=$HOME/${to#??} ;; esac'
unpack="$unpack"' && rm -rf "$to/.$build" && mkdir -p "$to/.$build" && cd "$to/.$build" && tar -xof -'
unpack="$unpack"' && rm -rf "$to/$build" && mv "$to/.$build" "$to/$build"'

# Stops what runs on a node, and says there which build is the current one and where its group runs. The last three
# builds are kept.
give_way() {
    on "$1" '
        "$install/$build/run.sh" make_room </dev/null || exit
        printf "%s\n" "$1" >"$install/nodes"
        touch "$install/$build"
        ln -sfn "$build" "$install/current"
        cd "$install"
        ls -1t | grep -x "[0-9a-f]\{64\}" | tail -n +4 | while IFS= read -r old; do rm -rf "./$old"; done
    ' "$(cat "$work/own")"
}

stop() {
    on "$1" '"$install/$build/run.sh" down </dev/null && rm -f "$install/nodes"'
}

record_here() {
    mkdir -p "$HOME/.rcc/$id"
    cat "$work/own" >"$HOME/.rcc/$id/nodes"
}

# One question to the head: from here, and where that fails, by the head itself. It may begin to serve in between, so
# that it does not answer here is said only of a head that did before.
served() {
    answers_here 2>/dev/null || {
        run "$head" health >/dev/null 2>&1 || return
        answers_here 2>/dev/null
    } || {
        at=${url:+", but $url does not answer this machine"}
        return 0
    }
    at=" at ${url%"${url#*://*/}"}"
}

answers_here() {
    if [ -z "$url" ]; then
        return 1
    elif command -v curl >/dev/null; then
        curl -fsS --noproxy '*' -m "$timeout" -o /dev/null "$url"
    elif command -v wget >/dev/null; then
        http_proxy='' wget -q -T "$timeout" -O /dev/null "$url"
    elif command -v python3 >/dev/null; then
        python3 -c 'import sys, urllib.request as r; r.build_opener(r.ProxyHandler({})).open(sys.argv[1], timeout=float(sys.argv[2]))' "$url" "$timeout"
    else
        return 1
    fi
}

# A rank whose node cannot be reached just now (255 is ssh's own status) may run as well as ever.
none_ended() {
    each run status >/dev/null && return
    for rank in $(those_that_failed); do
        [ "$(cat "$work/$rank.result")" = 255 ] || return 1
    done
}

wait_until_served() {
    began=$(date +%s) pause=1 told=0
    until served; do
        none_ended || give_up 'a rank ended before the group served'
        waited=$(($(date +%s) - began))
        [ "$waited" -lt "$patience" ] || give_up "the group did not serve within $patience s"
        progress
        sleep "$pause"
        [ "$pause" -ge 5 ] || pause=$((pause + 1))
    done
    [ ! -t 2 ] || echo >&2
    none_ended || give_up 'a rank ended although the head serves'
    say "serves$at"
}

# A line that is written anew on a terminal, and one every half a minute elsewhere.
progress() {
    if [ -t 2 ]; then
        printf '\rrcc: %s: waiting until the group serves: %s s of at most %s ' "$id" "$waited" "$patience" >&2
    elif [ "$waited" -ge "$told" ]; then
        say "waiting until the group serves: $waited s of at most $patience"
        told=$((waited + 30))
    fi
}

# Says which rank it was and what it said last, keeps that on the nodes, and leaves nothing running that it started.
started=''
give_up() {
    say "$1"
    each run status >&2 || :
    culprits=$(those_that_failed)
    for rank in ${culprits:-$ranks}; do
        run "$rank" logs --tail 20 </dev/null 2>&1 | told_by "rank $rank" >&2 || :
    done
    [ -n "$started" ] || fail 'gave up; what ran before was left alone'
    each run evidence >&2 || :
    each run down >&2 || :
    fail 'gave up, and stopped what was started'
}

reach_nodes() {
    each ask_node >&2 || fail 'not every node is ready; nothing was touched'
    find_former
    each copy >&2 || fail 'copying failed; what runs was left alone'
}

up() {
    reach_nodes
    if [ -z "$former" ] && all_up; then
        say 'all ranks run already'
    else
        each run prepare >&2 || fail 'not every rank can start; what runs was left alone'
        stop_former || :
        each give_way >&2 || fail 'the former build was stopped, or could not be; nothing new was started'
        record_here
        started=yes
        for rank in $start_order; do
            run "$rank" start >&2 || give_up "rank $rank did not start"
        done
    fi
    wait_until_served
}

down() {
    each ask_node >&2 || :
    find_former
    result=0
    stop_former || result=1
    each copy >&2 || :
    each stop >&2 || result=1
    [ "$result" -eq 0 ] || fail 'not everything could be stopped'
    rm -f "$HOME/.rcc/$id/nodes"
}

status() {
    result=0
    for rank in $ranks; do
        run "$rank" status || result=1
    done
    # Where a rank does not run, what answers may be another build, or what is left of this one.
    [ "$result" -ne 0 ] || ! served || echo 'the group serves'
    return "$result"
}

on_nodes() {
    reach_nodes
    each run "$@" || fail "$1 failed"
}

command=${1:-help}
[ $# -eq 0 ] || shift
case $command in
help | -h | --help)
    usage
    exit
    ;;
# A word too many, such as --help, is not to cost a running group.
up | down | status | print) [ $# -eq 0 ] || misused ;;
stage | verify | preflight | logs) ;;
*) misused ;;
esac
case $command in
print)
    for rank in $ranks; do
        use "$rank"
        "$here/$node/run.sh" print
    done
    exit
    ;;
esac
find_build
work=$(mktemp -d)
trap '[ -z "$beat" ] || kill "$beat" 2>/dev/null || :; rm -rf "$work"' EXIT
trap 'end_children; say "interrupted; what was started runs on"; exit 130' HUP INT TERM
case $command in
up | down)
    take_turn
    "$command"
    ;;
status) status ;;
stage | verify | preflight) on_nodes "$command" "$@" ;;
logs)
    [ $# -gt 0 ] || set -- --tail 50
    each run logs "$@"
    ;;
esac
