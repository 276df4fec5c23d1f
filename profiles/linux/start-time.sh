date -d "${gpe_start_time%T*} ${gpe_start_time#*T}" > /dev/null 2>&1 || { printf 'START: START_TIME %s is no time that exists here\n' "$gpe_start_time" >&2; exit 1; }
