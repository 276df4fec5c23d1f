# ID: prints the state of a job, of an array those of its tasks; 1: it is not known. all has the
# lines of qstat, accounts those of gpe_qacct.
gpe_print_states() (
  read_job "$1"
  told=$(add_reasons)
  accounts=$(printf '%s\n' "$accounts" | print_own)
  told=$(merge_lines)
  if [ -z "$told" ]; then
    printf 'GET_JOB_STATUS: qstat does not know job %s; %s\n' "$id" \
      "${message:-the accounting does not know it either}" >&2
    exit 1
  fi
  gpe_explain "$told"
)
read_job() { # ID: sets id, jobs to its lines, records to the ends of what has none
  id=$1
  jobs=$(printf '%s\n' "$all" | print_own)
  ended=$(print_ended)
  records=$(for one in $ended; do gpe_record "$one" || printf '%s\n' "$one$away"; done)
}
print_own() { # of lines, those of the job id and of its tasks
  awk -v id="$id" '$1 == id || index($1, id ".") == 1'
}
# The accounting knows a limit, and the end of a job that left nothing.
needs_accounts() {
  printf '%s\n' "$records" | grep -qE '^[0-9.]+$| away | exit=(12[89]|1[3-9][0-9])'
}
# Prints jobs, with why Grid Engine cannot run one, or what it waits for; of an array, each task has
# its reason.
add_reasons() {
  if ! printf '%s\n' "$jobs" | grep -qE '^[^ ]+ [A-Za-z]*[Eh]'; then
    printf '%s\n' "$jobs"
    return
  fi
  {
    printf '%s\n' "$jobs"
    qstat -j "${id%.*}" 2> /dev/null | grep -E '^(error reason|jid_predecessor_list:)'
  } | awk '
/^[0-9]/ { job[++jobs] = $0; next }
/^error/ {
  match($0, /^error reason *[0-9]+: */)
  split($0, part, /[ :]+/)
  reason[part[3]] = " reason=" substr($0, RLENGTH + 1) " (as it is, it will not start)"
  next
}
{ after = " reason=waits for the end of " $2 }
END {
  for (i = 1; i <= jobs; i++) {
    split(job[i], word, " ")
    task = split(word[1], part, ".") > 1 ? part[2] : 1
    more = word[2] ~ /E/ ? reason[task] : word[2] ~ /h.*q/ ? after : ""
    if (more != "") sub(/ reason=.*/, "", job[i])
    print job[i] more
  }
}'
}
# The id, or those tasks of the array, as START asked for them, that jobs does not have.
print_ended() {
  case $id in
  *.*) ;;
  *)
    if gpe_job_dir "$id" && gpe_read_array "$gpe_dir/.gpe/script"; then
      printf '%s\n' "$jobs" | gpe_print_missing "$id."
      return
    fi
    ;;
  esac
  [ -n "$jobs" ] || printf '%s\n' "$id"
}
merge_lines() { # of jobs, of the accounting and of the jobs' own records, one for each job
  printf '%s\n' "$told" "$accounts" "$records" | awk '
!NF || $1 in told { next }
$2 ~ /^ended/ { account[$1] = $0; next }
{
  if ($1 in account && (NF == 1 || $2 == "away" || / exit=(12[89]|1[3-9][0-9])/)) print account[$1]
  else if (NF > 1) print
  told[$1]
}
END { for (one in account) if (!(one in told)) print account[one] }'
}
