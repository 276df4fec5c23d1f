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
qstat) # one program for all jobs, as tests ask often
  awk -F'|' -v ids="$*" -v user="$(id -un)" '
{ lines[NR] = $0; rows[$1] = rows[$1] " " NR }
END {
  count = split(ids, asked, " ")
  for (a = 1; a <= count; a++) {
    id = asked[a]
    if (id ~ /^-/) continue
    sub(/\..*/, "", id)
    i = ""
    if (match(id, /\[.*\]/)) {
      i = substr(id, RSTART + 1, RLENGTH - 2)
      id = substr(id, 1, RSTART - 1)
      if (i == "") i = "-"
    }
    found = 0
    for (k = split(rows[id], row, " "); k > 0; k--) {
      split(lines[row[k]], job, "|")
      if (i == "-" || job[2] == i) text[found++] = tell()
    }
    for (k = found - 1; k >= 0; k--) print text[k]
    if (!found) { print "qstat: Unknown Job Id Error " asked[a] > "/dev/stderr"; rc = 153 }
  }
  exit rc
}
function tell(ran, told) {
  ran = job[3] == "R" || job[4] != ""
  told = "Job Id: " job[1] (job[2] == "" ? "" : "[" job[2] "]") ".server\n    Job_Name = a\n    Job_Owner = " user "@host\n"
  if (ran) told = told "    resources_used.cput = 00:00:01\n    resources_used.mem = 2048kb\n    resources_used.walltime = 00:00:02\n"
  told = told "    job_state = " job[3] "\n    queue = batch\n    Hold_Types = " job[5] "\n"
  if (ran) told = told "    exec_host = n1/0\n"
  return told (job[4] == "" ? "" : "    exit_status = " job[4] "\n")
}' "$here/jobs" ;;
qhold) change "$3" 'if ($3 == "Q") { $3 = "H"; $5 = "u" }' ;;
qrls) change "$3" 'if ($3 == "H") { $3 = "Q"; $5 = "n" }' ;;
qdel) change "$1" 'if ($3 != "C") { $4 = $3 == "R" ? 271 : ""; $3 = "C" }' ;;
qsig) shift 1; signal=$1; shift; for id; do kill "-$signal" "-$(cat "$here/session.$id")"; done ;;
esac
