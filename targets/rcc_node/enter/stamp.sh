# stamped FOLDER LINE
#
# Whether a staged folder is the one that is meant: the whole line of its stamp, since another rank's copy has the
# right layout and the wrong rows. LINE is a pattern: where no lock knows the layout, `*` stands for it. Status 0: it
# is. 1: it is another, or none; stderr says which.
stamped() (
    if ! line=$(cat "$1/.rcc/stamp" 2>/dev/null); then
        printf '%s holds no finished staging\n' "$1" >&2
        return 1
    fi
    # shellcheck disable=SC2254 # a pattern
    case $line in $2) return 0 ;; esac
    printf '%s holds another staging\n  found:  %s\n  wanted: %s\n' "$1" "$line" "$2" >&2
    return 1
)
