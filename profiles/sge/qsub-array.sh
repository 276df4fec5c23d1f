gpe_range=${gpe_array%%%*} gpe_last=${gpe_array#*-}
gpe_last=${gpe_last%%[:%]*}
# qsub would exchange them
[ "${gpe_range%%-*}" -le "$gpe_last" ] || gpe_refuse "ARRAY: $gpe_range ends before it begins"
[ "$gpe_range" = "$gpe_array" ] || set -- "$@" -tc "${gpe_array#*%}"
# makes the directory of each task, also of one that is deleted before it begins
set -- sh -c 'printf "%s\n" "$1" | (umask 077; awk -F "[-:]" "{ for (i = \$1 + 0; i <= (NF > 1 ? \$2 : \$1) + 0; i += NF > 2 ? \$3 : 1) print \".gpe_tasks/\" i }" | xargs mkdir -p --) || exit 73
shift
gpe_answer=$("$@"); gpe_rc=$?; printf "%s\n" "$gpe_answer" | sed "s/^\([0-9]*\)\.[0-9:-]*\$/\1/"; exit "$gpe_rc"' sh "$gpe_range" "$@"
