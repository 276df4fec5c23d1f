# PBS's commands, as functions for the programs of batch. What Torque has otherwise is in qstat.sh.
gpe_list() { # [ID...]: the states of this user's jobs that have not ended, or of these
  gpe_text=$(gpe_qstat "$@" 2>&1)
  case $? in
  0) ;;
  35 | 153) return 0 ;; # all have ended meanwhile, or are forgotten
  *)
    printf '%s\n' "$gpe_text" >&2
    return 1
    ;;
  esac
  "${gpe_look_again:-:}" "$gpe_text"
  printf '%s\n' "$gpe_text" | gpe_format_states
}
# Prints the jobs in gpe_text, which qstat has printed with the exit status gpe_rc, by the function
# gpe_print_jobs; a line for each job and task:
#   ID|OWNER|STATE|SUBSTATE|EXIT|HOSTS|QUEUE|HOLDS|ELAPSED,CPU,MEMORY,CHUNKS,CONDITIONS|REASON
gpe_print_answer() {
  case $gpe_rc:$gpe_text in
  0:*'Job Id:'*) ;;
  35:*'Job Id:'* | 153:*'Job Id:'*) gpe_rc=0 ;; # all but some, which it does not know
  0:*) gpe_rc=1 ;;                              # it answers, but not about jobs, or nothing
  esac
  if [ "$gpe_rc" -ne 0 ]; then
    printf '%s\n' "${gpe_text:-qstat printed nothing}" >&2
    return "$gpe_rc"
  fi
  printf '%s\n' "$gpe_text" | gpe_print_jobs
}
gpe_format_states() { # reads these lines, and prints those of gpe_list
  awk -F'|' "$awk_units"'
function hosts(list, n, i, part, seen, all) {
  n = split(list, part, "+")
  for (i = 1; i <= n; i++) {
    sub(/\/.*/, "", part[i])
    if (!(part[i] in seen)) all = all (all == "" ? "" : "+") part[i]
    seen[part[i]]
  }
  return all
}
function add_given(chunks, n, i, word, cpus, memory) { # (n1:ncpus=4:mem=1kb)+(n2:ncpus=3)
  n = split(chunks, word, /[:+()]+/)
  for (i = 1; i <= n; i++) {
    if (word[i] ~ /^ncpus=[0-9]+$/) cpus += substr(word[i], 7)
    if (word[i] ~ /^mem=[0-9]+[kmgt]?b$/) memory += bytes(substr(word[i], 5))
  }
  if (cpus > 0) add("cpus", cpus)
  if (memory > 0) add("allocated", sprintf("%.0f", memory))
}
function add(name, value) { if (value != "") more = more " " name "=" value }
function add_end() {
  if ($4 ~ /^(91|dependency|deleted)$/) sub1 = $4
  else if ($5 + 0 < 0) sub1 = $5 + 0
  else if ($5 != "") {
    sub1 = $4 == "" ? "exit" : $4
    add("exit", $5)
  }
}
NF < 10 { next }
# an array is told by its tasks; after a restart, PBS may list it without those that run
$1 ~ /\[\]/ { if ($3 !~ /^[CFM]$/) alone[$1] = $3; next }
{
  array = $1
  if (sub(/\[[0-9]+/, "[", array)) has_tasks[array]
  sub1 = more = ""
  if ($3 ~ /^[CF]$/) add_end()
  else if ($4 == "held" || ($4 == 22 && $8 == "s")) sub1 = $4
  add("host", hosts($6))
  add("queue", $7)
  split($9, used, ",")
  add("elapsed", used[1] ~ /:/ ? seconds(used[1]) : "")
  add("cpu", used[2] ~ /:/ ? seconds(used[2]) : "")
  add("memory", used[3] ~ /^[0-9]+[kmgt]?b$/ ? sprintf("%.0f", bytes(used[3])) : "")
  add_given(used[4])
  reason = $10
  for (i = 11; i <= NF; i++) reason = reason "|" $i
  if (sub1 == "dependency") reason = "DEPENDENCY"
  if ($3 ~ /^[QHWT]$/ && reason ~ /^Can Never Run/)
    reason = reason " (as it is, it will not start)"
  add("reason", reason)
  print $1 " " $3 (sub1 == "" ? "" : "/" sub1) more
}
END { for (array in alone) if (!(array in has_tasks)) print array " " alone[array] }'
}
gpe_has_ended() {
  case $1 in
  C | F) ;;
  M | unknown) return 2 ;; # on another server; what Slurm has no letter for
  *) return 1 ;;
  esac
}
gpe_is_limit() { case $2 in -*) ;; *) return 1 ;; esac }
gpe_is_removal() { case $2 in 91 | deleted | dependency) ;; *) return 1 ;; esac }
gpe_complete_ids() { # with the name of the server, as in the list or of our own links
  gpe_whole=
  for gpe_one in $ids; do
    case $gpe_one in
    *.*) ;;
    *) gpe_one=$gpe_one$({
      printf '%s\n' "${jobs?}"
      ls -- "${gpe_jobs?}" 2> /dev/null
    } | ID=${gpe_one%%\[*} awk '
index($1, ENVIRON["ID"] ".") == 1 || index($1, ENVIRON["ID"] "[") == 1 {
  sub(/^[^.]*/, "", $1)
  print $1
  exit
}') ;;
    esac
    gpe_whole="$gpe_whole $gpe_one"
  done
  ids=${gpe_whole# }
}
gpe_name_tasks() { # ID: reads indices; an array that is listed without its tasks stays whole
  printf '%s\n' "${jobs?}" | cut -d ' ' -f 1 | grep -xF -e "$1" ||
    awk -v id="$1" '{ print substr(id, 1, index(id, "[")) $0 substr(id, index(id, "]")) }'
}
# ID: sets gpe_id to it as PBS spells it, gpe_state and gpe_holds to its letters.
gpe_read_job() {
  gpe_text=$(gpe_qstat "$1") || return
  gpe_job=$(printf '%s\n' "$gpe_text" | awk -F'|' -v id="$1" '
$1 == id || (id !~ /\./ && index($1, id ".") == 1) { print $1, $3, $8; found = 1; exit }
END { exit !found }') || { echo 'qstat printed nothing about it' && return 1; }
  gpe_holds=${gpe_job##* } gpe_job=${gpe_job% *}
  gpe_id=${gpe_job% *} gpe_state=${gpe_job##* }
}
gpe_cancel() { qdel "$1"; }
gpe_hold() { # ID
  gpe_read_job "$1" || return
  case $gpe_state:$gpe_id in
  *:*\[[0-9]*) echo 'it is a task: PBS holds whole arrays only' && return 1 ;;
  [QWHTB]:*) # B: an array, whose tasks that run are not held
    qhold -h u "$gpe_id" && gpe_read_job "$gpe_id" || return
    case $gpe_state in [QWHT]) return 0 ;; esac
    # it began in between; the hold would wait for it until it is queued again
    qrls -h u "$gpe_id"
    ;;
  esac
  echo "it is in state $gpe_state: only waiting jobs can be held"
  return 1
}
gpe_resume() { # ID: releases a job or an array, or continues one that is suspended
  gpe_read_job "$1" || return
  case $gpe_state:$gpe_id in
  H:*\[[0-9]*) echo 'it is a task: PBS releases whole arrays only' && return 1 ;;
  [QWT]:*\[[0-9]*) return 0 ;;
  [QWHT]:*) qrls -h u "$gpe_id" || return ;;
  S:*) qsig -s resume "$gpe_id" || return ;;
  [RB]:*) ;;
  *) echo "it is in state $gpe_state" && return 1 ;;
  esac
  # qrls says yes where it released nothing
  gpe_read_job "$gpe_id" || return
  [ "$gpe_state" = H ] || return 0
  gpe_who=
  case $gpe_holds in *o*) gpe_who=', by an operator' ;; esac
  case $gpe_holds in *s*) gpe_who="$gpe_who, by PBS itself or its manager" ;; esac
  echo "it is still held$gpe_who (Hold_Types $gpe_holds)"
  return 1
}
gpe_signal() ( # ID NUMBER: of an array, to the tasks that run
  gpe_text=$(gpe_qstat "$1") || exit
  set -f
  # shellcheck disable=SC2046
  set -- "$2" $(printf '%s\n' "$gpe_text" | awk -F'|' '$3 == "R" && $1 !~ /\[\]/ { print $1 }')
  [ "$#" -gt 1 ] || { echo 'it does not run: only running jobs can get signals' && exit 1; }
  qsig -s "$@"
)
