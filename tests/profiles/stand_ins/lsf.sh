#!/bin/sh
# Answers as LSF 10.1's documentation shows. The file jobs beside it has a job or a task on each line:
# ID|INDEX|STATE|CODE|REASON|DIRECTORY; session.NAME has the process group of a job that runs.
here=${0%/*}
[ ! -e "$here/away" ] || { echo 'Failed in an LSF library call: LIM is down; try later' >&2; exit 255; }
change() { # STATE FROM ID WORDS
  awk -F'|' -v OFS='|' -v s="$1" -v from="$2" -v id="$3" '
  ($1 == id || $1 "[" $2 "]" == id) { k++; if ($3 ~ from) { $3 = s; n++; if (s == "EXIT") { $4 = "-"; $5 = "TERM_OWNER: job killed by owner" } } }
  { print } END { exit k ? !n * 2 : 1 }' "$here/jobs" > "$here/new"
  case $? in
  0) mv "$here/new" "$here/jobs" && echo "Job <$3> is being $4" ;;
  1) echo "Job <$3>: No matching job found" >&2; exit 255 ;;
  *) echo "Job <$3>: Job has already finished" >&2; exit 255 ;;
  esac
}
case ${0##*/} in
bsub)
  echo "$*" >> "$here/requests"
  n=$(($(cut -d '|' -f 1 "$here/jobs" | sort -un | wc -l) + 7))
  cat > "$here/script.$n"
  array=$(sed -n 's/^#BSUB -J ".*\[\([0-9]*\)-\([0-9]*\)\]"$/\1 \2/p' "$here/script.$n")
  # shellcheck disable=SC2086
  for index in $([ -z "$array" ] && echo 0 || seq $array); do echo "$n|$index|PEND|-|-|$PWD" >> "$here/jobs"; done
  echo "Job <$n> is submitted to default queue <normal>." ;;
bjobs)
  all='' format=''
  while [ "$#" -gt 0 ]; do
    case $1 in -a) all=y ;; -o) format=$2; shift ;; -noheader) ;; *) break ;; esac
    shift
  done
  [ "$#" -gt 0 ] || set -- 0
  rc=0
  for id; do
    awk -F'|' -v OFS='|' -v all="$all" -v format="$format" -v id="$id" '
    id != 0 && $1 != id && $1 "[" $2 "]" != id || all == "" && $3 ~ /DONE|EXIT/ { next }
    { k++ }
    format ~ /sub_cwd/ { print $1, $6; next }
    { print $1, $2, $3, $4, $3 ~ /PEND|PSUSP/ || $4 == "-" && $3 == "EXIT" ? "-" : "4*hostA:4*hostB", $3 ~ /PEND|PSUSP/ ? "-" : $5, $3 ~ /PEND/ && $5 != "-" ? $5 : "-", "2 second(s)", "1.5 second(s)", "2 Mbytes" }
    END { exit !k }' "$here/jobs" || {
      rc=255
      if [ "$id" = 0 ]; then echo "No ${all:+un}finished job found" | sed 's/unfinished //' >&2; else echo "Job <$id> is not found" >&2; fi
    }
  done
  exit "$rc" ;;
bhist) echo 'No matching job found' >&2; exit 255 ;;
bstop)
  grep -qE "^${1%%\[*}\|.*\|RUN\|" "$here/jobs" && new=USUSP || new=PSUSP
  change "$new" 'PEND|RUN' "$1" stopped ;;
bresume)
  grep -qE "^${1%%\[*}\|.*\|USUSP\|" "$here/jobs" && new=RUN || new=PEND
  change "$new" SUSP "$1" resumed ;;
bkill)
  case $1 in
  -s) for id; do case $id in -s | "$2") continue ;; esac; kill "-$2" "-$(cat "$here/session.$id")"; done ;;
  *) change EXIT 'PEND|RUN|SUSP' "$1" terminated ;;
  esac ;;
esac
