# Arguments: HCA_LIST ADDRESS FOLDER
#
# Prints the index of the RoCE v2 GID that this node's rank is to use. HCA_LIST is NCCL_IB_HCA, ADDRESS the rank's
# IPv4 address on the fabric, FOLDER `/sys/class/infiniband`. The index differs between nodes and moves when an
# interface comes up again, so it is looked up before each start. Status 0: printed. 1: there is none. 2: the HCAs have
# no index in common. For 1 and 2 stderr has the reason and the tables.
find_gid() (
    ports=$(gid_ports "$1" "$3")
    if [ -z "$ports" ]; then
        printf 'NCCL_IB_HCA=%s selects no active port\n' "$1" >&2
        gid_states "$3" >&2
        return 1
    fi
    wanted=$(gid_of_ipv4 "$2") || { printf '%s is no IPv4 address\n' "$2" >&2; return 1; }

    first='' fabric='' common='0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15'
    for port in $ports; do
        hca=${port%%/*}
        : "${first:=$hca}"
        found=$(gid_indexes "$3/$port" '*:*')
        if [ "$hca" = "$first" ]; then
            exact=$(gid_indexes "$3/$port" "$wanted")
            [ -z "$exact" ] || fabric=$exact found=$exact
        fi
        if [ -z "$found" ]; then
            printf '%s has no RoCE v2 GID with an IPv4 address\n' "$port" >&2
            gid_tables "$3" "$ports" >&2
            return 1
        fi
        common=$(gid_both "$common" "$found")
    done

    if [ -z "$fabric" ]; then
        printf '%s, the first HCA of NCCL_IB_HCA=%s, has no RoCE v2 GID with the address %s\n' "$first" "$1" "$2" >&2
        gid_tables "$3" "$ports" >&2
        return 1
    fi
    if [ -z "$common" ]; then
        printf 'the HCAs of NCCL_IB_HCA=%s have no GID index in common\n' "$1" >&2
        gid_tables "$3" "$ports" >&2
        return 2
    fi
    printf '%s\n' "${common%% *}"
)

# gid_ports HCA_LIST FOLDER: `<hca>/ports/<n>` of each active port that the list selects, in the list's order.
#
# The grammar is NCCL's: prefixes with commas between; a leading `=` makes them whole names, a leading `^` (then `=`)
# turns the choice round; `name:port` is one port. Blanks count. An empty list selects everything.
gid_ports() (
    list=$1 except='' exact=''
    case $list in '^'*) except=yes list=${list#?} ;; esac
    case $list in '='*) exact=yes list=${list#?} ;; esac
    set -f
    IFS=,
    entries=''
    # shellcheck disable=SC2086 # split at the commas
    for entry in $list; do
        [ -z "${entry%%:*}" ] || entries="$entries,$entry"
    done
    # shellcheck disable=SC2086
    set -- "$2" ${entries#,}
    set +f
    unset IFS
    folder=$1
    shift
    [ $# -gt 0 ] || set -- ''

    if [ -n "$except" ]; then
        for path in "$folder"/*/ports/*; do
            gid_active "$path" || continue
            for entry; do
                gid_selects "$entry" "$path" "$exact" && continue 2
            done
            printf '%s\n' "${path#"$folder"/}"
        done
        return
    fi
    seen=' '
    for entry; do
        for path in "$folder"/*/ports/*; do
            case $seen in *" $path "*) continue ;; esac
            gid_selects "$entry" "$path" "$exact" || continue
            gid_active "$path" || continue
            seen="$seen$path "
            printf '%s\n' "${path#"$folder"/}"
        done
    done
)

# gid_selects ENTRY PATH EXACT: whether an entry of the list selects `.../<hca>/ports/<n>`.
gid_selects() (
    name=${1%%:*} hca=${2%/ports/*}
    hca=${hca##*/}
    case $1 in
    *:*) [ "${1#*:}" = "${2##*/}" ] || return 1 ;;
    esac
    case $hca in
    "$name") return 0 ;;
    "$name"*) [ -z "$3" ] || [ -z "$name" ] ;;
    *) return 1 ;;
    esac
)

gid_active() {
    case $(cat "$1/state" 2>/dev/null) in *': ACTIVE') return 0 ;; esac
    return 1
}

# gid_of_ipv4 ADDRESS: the address as sysfs writes it in a GID.
gid_of_ipv4() (
    case $1 in *[!0-9.]* | .* | *. | *..*) return 1 ;; esac
    IFS=.
    # shellcheck disable=SC2086 # split at the dots
    set -- $1
    [ $# -eq 4 ] || return 1
    for byte; do
        case $byte in 0?* | ????*) return 1 ;; esac
        [ "$byte" -le 255 ] || return 1
    done
    printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n' "$@"
)

# gid_indexes FOLDER GID: indexes of a port's RoCE v2 entries that are IPv4 addresses and match GID, a pattern.
gid_indexes() (
    found=''
    for index in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
        # An entry that nobody uses cannot be read.
        [ "$(cat "$1/gid_attrs/types/$index" 2>/dev/null)" = 'RoCE v2' ] || continue
        gid=$(cat "$1/gids/$index" 2>/dev/null)
        # shellcheck disable=SC2254 # a pattern
        case $gid in
        *:0000:ffff:0000:0000) ;;
        0000:0000:0000:0000:0000:ffff:*) case $gid in $2) found="$found $index" ;; esac ;;
        esac
    done
    printf '%s' "${found# }"
)

# gid_both A B: the words that both have.
gid_both() (
    both=''
    for word in $1; do
        case " $2 " in *" $word "*) both="$both $word" ;; esac
    done
    printf '%s' "${both# }"
)

# gid_tables FOLDER PORTS: what the tables of the ports hold, for a reader.
gid_tables() (
    for port in $2; do
        printf '  %s:\n' "$port"
        for index in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
            gid=$(cat "$1/$port/gids/$index" 2>/dev/null)
            case $gid in '' | 0000:0000:0000:0000:0000:0000:0000:0000) continue ;; esac
            type=$(cat "$1/$port/gid_attrs/types/$index" 2>/dev/null)
            printf '    %s  %s  %s  %s\n' "$index" "$gid" "${type:-no type}" "$(gid_dotted "$gid")"
        done
    done
)

# gid_dotted GID: the IPv4 address in a GID, if it is one.
gid_dotted() (
    case $1 in 0000:0000:0000:0000:0000:ffff:*) ;; *) return ;; esac
    hex=${1#0000:0000:0000:0000:0000:ffff:}
    high=${hex%:*} low=${hex#*:}
    printf '%d.%d.%d.%d' "0x${high%??}" "0x${high#??}" "0x${low%??}" "0x${low#??}"
)

# gid_states FOLDER: every port there is and its state, for a reader.
gid_states() (
    for path in "$1"/*/ports/*; do
        [ -d "$path" ] || { printf '  %s holds no HCA\n' "$1"; break; }
        printf '  %s: %s\n' "${path#"$1"/}" "$(cat "$path/state" 2>/dev/null)"
    done
)

LC_ALL=C # the order of names, whatever the caller's locale
find_gid "$@"
