# holds PATH TEXT
#
# Whether a file has a text in it, byte for byte. Status 0: it has. 1: it has not. 2: it cannot be read.
holds() (
    LC_ALL=C # bytes, whatever the caller's locale
    # The dot keeps newlines at the end of the file; bash tells of NULs that it leaves out, which no text has.
    { content=$(cat "$1" && printf .) || return 2; } 2>/dev/null
    case ${content%.} in *"$2"*) return 0 ;; esac
    return 1
)
