#!/bin/sh
# Answers as Torque 6.1's manual shows. The file jobs beside it has a job or a task on each line: ID|INDEX|STATE|CODE|HOLDS;
# session.NAME has the process group of a job that runs.
here=${0%/*}
[ ! -e "$here/away" ] || { echo "${0##*/}: cannot connect to server server (errno=111) Connection refused" >&2; exit 111; }
select_jobs() { # ID PROGRAM: runs awk with -v n (the number) and -v i (the index; - for a whole array, nothing for a job)
  n=${1%%.*} i=''
  case $n in *'[]') i=- ;; *\[*) i=${n#*\[} i=${i%\]} ;; esac
  awk -F'|' -v OFS='|' -v n="${n%%\[*}" -v i="$i" "function is_asked() { return \$1 == n && (i == \"-\" || \$2 == i) } $2" "$here/jobs"
}
change() { # ID PROGRAM, of the jobs that are asked for
  select_jobs "$1" "is_asked() { k++; $2 } { print } END { exit !k }" > "$here/new" || { echo "${0##*/}: Unknown Job Id Error $1" >&2; exit 153; }
  mv "$here/new" "$here/jobs"
}
case ${0##*/} in
qsub)
  echo "$*" >> "$here/requests"
  first='' last='' hold=n
  while [ "$#" -gt 1 ]; do
    case $1 in -t) first=${2%-*} last=${2#*-} ;; esac
    shift
  done
  n=$(($(cut -d '|' -f 1 "$here/jobs" | sort -un | wc -l) + 31))
  for index in $([ -z "$first" ] && echo - || seq "$first" "$last"); do echo "$n|${index#-}|Q||$hold" >> "$here/jobs"; done
  echo "$n${first:+[]}.server" ;;
qselect) awk -F'|' '$3 != "C" && !seen[$1]++ { print $1 ($2 == "" ? "" : "[]") ".server" }' "$here/jobs" ;;
qstat)
  rc=0
  for id; do
    case $id in -*) continue ;; esac
    select_jobs "$id" '
    BEGIN { "id -un" | getline user }
    is_asked() {
      k++
      printf "Job Id: %s.server\n    Job_Name = a\n    Job_Owner = %s@host\n", $2 == "" ? $1 : $1 "[" $2 "]", user
      ran = $3 == "R" || $4 != ""
      if (ran) print "    resources_used.cput = 00:00:01\n    resources_used.mem = 2048kb\n    resources_used.walltime = 00:00:02"
      printf "    job_state = %s\n    queue = batch\n    Hold_Types = %s\n", $3, $5
      if (ran) print "    exec_host = n1/0"
      if ($4 != "") print "    exit_status = " $4
      print ""
    }
    END { exit !k }' || { echo "qstat: Unknown Job Id Error $id" >&2; rc=153; }
  done
  exit "$rc" ;;
qhold) change "$3" 'if ($3 == "Q") { $3 = "H"; $5 = "u" }' ;;
qrls) change "$3" 'if ($3 == "H") { $3 = "Q"; $5 = "n" }' ;;
qdel) change "$1" 'if ($3 != "C") { $4 = $3 == "R" ? 271 : ""; $3 = "C" }' ;;
qsig) shift 1; signal=$1; shift; for id; do kill "-$signal" "-$(cat "$here/session.$id")"; done ;;
esac
