#!/bin/sh
# Installs, as root, what runs on right for gpt-oss-120b-vllm (rank 1 of 2), and starts it:
#
#   ./install.sh            does nothing where this build is installed already and runs
#   ./install.sh --remove   stops it and takes it away; staged rows, caches and secrets stay
#
# What root runs is copied to /usr/local/lib/rcc/gpt-oss-120b-vllm, where only root writes. The last three builds stay there:
# the install.sh in one of them goes back to it. With DESTDIR files go below that folder and nothing is started.
set -eu
umask 022

id='gpt-oss-120b-vllm'
target='rcc-gpt-oss-120b-vllm.target'
root=${DESTDIR:-}
library=$root'/usr/local/lib/rcc'/$id
units=$root/etc/systemd/system
here=$(cd "$(dirname "$0")" && pwd -P)

say() { printf 'rcc: %s: %s\n' "$id" "$*" >&2; }
fail() {
    say "$*"
    exit 1
}

# Whether this is the machine that runs the units, and not a folder that becomes one.
live() { [ -z "$root" ]; }

# The names of the units of the build in folder $1.
units_in() { (cd "$1" && for unit in *.service *.target; do [ -f "$unit" ] && printf '%s\n' "$unit"; done); }

# What tells a build from another: its files, and which of them may be run.
build() (
    cd "$here"
    {
        find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
        find . -type f -perm -100 -print0 | LC_ALL=C sort -z
    } | sha256sum | cut -c 1-16
)

is_installed() {
    [ "$(readlink "$library/current")" = "$1" ] || return 1
    units_in "$here" | while IFS= read -r unit; do cmp -s "$here/$unit" "$units/$unit" || exit 1; done
}

copy_files() {
    [ ! -d "$library/$1" ] || return 0
    rm -rf "$library/.new"
    mkdir -p "$library/.new"
    cp -R "$here/." "$library/.new"
    if live; then chown -R 0:0 "$library/.new"; fi
    chmod -R u+rwX,go+rX,go-w "$library/.new"
    mv "$library/.new" "$library/$1"
}

# While the old build still serves: what takes long, and what may fail.
prepare() {
    step "$1" pull
    # The old build has ports, GPU and memory; the unit checks those.
    step "$1" preflight --skip ports --skip gpu --skip memory
}

step() {
    build=$1
    shift
    sh "$build/files/steps.sh" "$@" || fail "$1 failed; what was installed before is as it was"
}

stop_old() {
    [ -e "$library/current" ] || return 0
    units_in "$library/current" | xargs systemctl stop
}

# Units of the old build that the new one does not have.
remove_old() {
    [ -e "$library/current" ] || return 0
    units_in "$library/current" | while IFS= read -r unit; do [ -f "$1/$unit" ] || rm -f "$units/$unit"; done
}

copy_units() {
    mkdir -p "$units"
    units_in "$1" | while IFS= read -r unit; do
        cp "$1/$unit" "$units/.$unit.new"
        mv "$units/.$unit.new" "$units/$unit"
    done
}

# Last, so that a run that was cut short is done again.
make_current() {
    ln -sfn "$1" "$library/.current.new"
    mv -T "$library/.current.new" "$library/current"
}

# The build in use is the newest, since it was touched.
keep_three() {
    touch "$library/current/"
    find "$library" -mindepth 1 -maxdepth 1 -type d -name '[0-9a-f]*' -printf '%T@ %p\n' | LC_ALL=C sort -rn |
        tail -n +4 | cut -d ' ' -f 2- | while IFS= read -r old; do rm -rf "$old"; done
}

start() {
    systemctl enable --quiet "$target"
    systemctl start --no-block "$target"
    say "started; follow it with: journalctl --follow --identifier rcc-$id"
}

install() {
    new=$(build)
    if is_installed "$new"; then
        say 'this build is installed already'
        if live; then start; fi
        return
    fi
    copy_files "$new"
    if live; then
        prepare "$library/$new"
        # First stopped, then read anew: a reload may take the GPU away from containers that run.
        stop_old
    fi
    remove_old "$library/$new"
    copy_units "$library/$new"
    if live; then systemctl daemon-reload; fi
    make_current "$new"
    keep_three
    if live; then start; fi
}

remove() {
    [ -e "$library/current" ] || fail 'nothing is installed'
    if live; then
        systemctl disable --quiet "$target"
        stop_old
        units_in "$library/current" | xargs systemctl reset-failed 2>/dev/null || :
    fi
    units_in "$library/current" | while IFS= read -r unit; do rm -f "$units/$unit"; done
    if live; then systemctl daemon-reload; fi
    rm -rf "$library"
    say 'removed; staged rows, caches and secrets are as they were'
}

if live; then
    [ "$(id -u)" = 0 ] || fail 'only root may do this'
    [ -d /run/systemd/system ] || fail 'systemd does not run this machine'
    for program in docker python3; do
        command -v "$program" >/dev/null || fail "there is no $program"
    done
fi
case $#${1:-} in
0) install ;;
1--remove) remove ;;
*) fail "usage: $0 [--remove]" ;;
esac
