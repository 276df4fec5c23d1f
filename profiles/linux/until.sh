gpe_start=$(date -d "${gpe_start_time%T*} ${gpe_start_time#*T}" +%s) || { printf 'START: START_TIME %s is no time that exists here\n' "$gpe_start_time" >&2; exit 1; }
[ -n "${gpe_task:-}${gpe_dependency:-}" ] || printf '%s not before %s\n' "$gpe_id" "$gpe_start_time" > .gpe_waiting || exit 1
gpe_until() { # waits until START_TIME
  while gpe_left=$((gpe_start - $(date +%s))) && [ "$gpe_left" -gt 0 ]; do
    [ -e .gpe_waiting ] || printf '%s not before %s\n' "$gpe_id" "$gpe_start_time" > .gpe_waiting
    [ ! -e .gpe_removed ] || { trap - EXIT; exit 0; }
    sleep "$((gpe_left < 60 ? gpe_left : 60))"
  done
  { read -r gpe_i < /proc/uptime && printf '%s\n' "${gpe_i%% *}" > .gpe_begun; } 2> /dev/null || :
  rm -f .gpe_waiting && touch .gpe_host
}
