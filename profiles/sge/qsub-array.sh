gpe_range=${gpe_array%%%*} gpe_last=${gpe_array#*-}
gpe_last=${gpe_last%%[:%]*}
# qsub would exchange them
[ "${gpe_range%%-*}" -le "$gpe_last" ] || gpe_refuse "ARRAY: $gpe_range ends before it begins"
[ "$gpe_range" = "$gpe_array" ] || set -- "$@" -tc "${gpe_array#*%}"
set -- sh -c 'gpe_answer=$("$@"); gpe_rc=$?; printf "%s\n" "$gpe_answer" | sed "s/^\([0-9]*\)\.[0-9:-]*\$/\1/"; exit "$gpe_rc"' sh "$@"
