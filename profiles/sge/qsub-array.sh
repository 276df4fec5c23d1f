gpe_range=${gpe_array%%%*} gpe_last=${gpe_array#*-}
gpe_last=${gpe_last%%[:%]*}
# qsub would exchange them
[ "${gpe_range%%-*}" -le "$gpe_last" ] || gpe_refuse "ARRAY: $gpe_range ends before it begins"
# of each task, also of one that is deleted before it begins
[ -s .gpe_job_id ] || printf '%s\n' "$gpe_range" | awk -F '[-:]' '{ for (i = $1 + 0; i <= (NF > 1 ? $2 : $1) + 0; i += NF > 2 ? $3 : 1) print ".gpe_tasks/" i }' | xargs mkdir -p -- || exit 73
[ "$gpe_range" = "$gpe_array" ] || set -- "$@" -tc "${gpe_array#*%}"
set -- sh -c 'gpe_answer=$("$@"); gpe_rc=$?; printf "%s\n" "$gpe_answer" | sed "s/^\([0-9]*\)\.[0-9:-]*\$/\1/"; exit "$gpe_rc"' sh "$@"
