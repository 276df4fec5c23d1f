# ID...: what squeue has left out: components of heterogeneous jobs; what the accounting tells,
# where there is one; of the tasks of our arrays, which are forgotten one by one, the rest.
gpe_list_ended() {
  for gpe_one in "$@"; do
    case $gpe_one in
    *+*) gpe_list "$gpe_one" || return ;;
    *_*) gpe_print_forgotten "$gpe_one" ;;
    esac
  done
  gpe_ask_accounting "$@"
}
# ID: of a task that Slurm does not know. One that waits is forgotten at once when it is cancelled:
# its array is known, and it has no directory.
gpe_print_forgotten() {
  gpe_job_dir "$1" || return 0
  case " ${ids-} " in *" $1 "*)
    gpe_read_array .gpe/script && gpe_print_indices | grep -qxF -e "${1#*_}" || return 0
    ;;
  esac
  case "$gpe_nl${jobs-}" in *"$gpe_nl${1%_*}_"*)
    [ -d "${gpe_dir:?}" ] || { printf '%s removed\n' "$1" && return; }
    ;;
  esac
  # asked for by itself, it is not known
  [ "${ids-}" = "$1" ] || printf '%s forgotten\n' "$1"
}
gpe_nl='
'
# ID...: the accounting's lines. It knows a limit even if the program has exited with 0. An id may
# have been that of an older job: what was before these were submitted does not count.
gpe_ask_accounting() {
  gpe_since=$(for gpe_one in "$@"; do
    gpe_job_dir "${gpe_one%%[_+]*}" || :
    date -r "${gpe_dir:?}/.gpe/script" +%Y-%m-%dT%H:%M:%S 2> /dev/null || echo
  done | sort | head -n 1) # nothing if one has no script
  gpe_lines=$(sacct -n -X -P ${gpe_since:+-S "$gpe_since"} ${SLURM_CLUSTERS:+-M "$SLURM_CLUSTERS"} \
    -j "$(gpe_print_wholes "$@")" \
    -o JobID,State,ExitCode,NodeList,Reason,Partition,Elapsed,AllocTRES 2>&1) ||
    case $?:$gpe_lines in
    127:* | *'storage is disabled'*) return 0 ;; # there is none
    *)
      printf '%s' "$gpe_lines${gpe_lines:+$gpe_nl}" >&2
      return 1
      ;;
    esac
  # what it calls PENDING or RUNNING is old
  printf '%s\n' "$gpe_lines" | gpe_format_states '' | grep -vE '^[^ ]+ (PENDING|RUNNING)'
  return 0
}
