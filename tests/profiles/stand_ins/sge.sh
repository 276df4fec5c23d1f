#!/bin/sh
# Answers as Grid Engine 8.1.9 did. The file jobs beside it has a job or a task on each line:
# ID|INDEX|STATE|FAILED|CODE|CATEGORY|DIRECTORY; one in the state "ended" is in the accounting, one in "gone" nowhere.
here=${0%/*}
[ ! -e "$here/away" ] || { echo 'error: commlib error: got select error (Connection refused)' >&2; exit 1; }
change() { # FROM NEW ID WORDS: puts NEW in the place of FROM in the state
  awk -F'|' -v OFS='|' -v from="$1" -v new="$2" -v id="$3" '
  ($1 == id || $1 "." $2 == id) && $3 !~ /ended|gone/ { k++; if (new ~ /^ended|gone$/) $3 = $3 ~ /q/ ? "gone" : "ended"; else sub(from, new, $3) }
  { print } END { exit !k }' "$here/jobs" > "$here/new" || { echo "denied: job \"$3\" does not exist"; exit 1; }
  mv "$here/new" "$here/jobs" && echo "$4 $3"
}
case ${0##*/} in
qsub)
  echo "$*" >> "$here/requests"
  while [ "$#" -gt 1 ]; do shift; done
  n=$(($(cut -d '|' -f 1 "$here/jobs" | sort -un | wc -l) + 7))
  array=$(sed -n 's/^#\$ -t \([0-9]*\)-\([0-9]*\)$/\1 \2/p' "$1")
  # shellcheck disable=SC2086
  for index in $([ -z "$array" ] && echo - || seq $array); do echo "$n|${index#-}|qw|0|0|NONE|$PWD" >> "$here/jobs"; done
  echo "$n${array:+.$(echo "$array" | tr ' ' -):1}" ;;
qstat)
  if [ "$1" = -j ]; then
    for id in $(echo "$2" | tr , ' '); do
      awk -F'|' -v id="$id" '$1 == id && $3 !~ /ended|gone/ {
        print "==========\njob_number:                 " $1 "\nsge_o_workdir:              " $7
        if ($3 ~ /E/) print "error reason          1:      11/21/2026 12:28:22 [1:2]: error: " $6
        print "usage         1:            cpu=00:00:01, mem=0.3 GB s, io=0.0 GB, vmem=N/A, maxvmem=2.000M"
        exit
      }' "$here/jobs"
    done
    exit
  fi
  echo "<?xml version='1.0'?>"
  echo '<job_info  xmlns:xsd="http://example.org/qstat.xsd">'
  echo '  <queue_info>'
  awk -F'|' '$3 !~ /ended|gone/ {
    printf "    <job_list state=\"x\">\n      <JB_job_number>%s</JB_job_number>\n      <JB_name>gpe_job</JB_name>\n", $1
    printf "      <state>%s</state>\n      <queue_name>%s</queue_name>\n", $3, $3 ~ /q/ ? "" : "all.q@vm"
    printf "      <slots>1</slots>\n%s    </job_list>\n", $2 == "" ? "" : "      <tasks>" $2 "</tasks>\n"
  }' "$here/jobs"
  printf '  </queue_info>\n  <job_info>\n  </job_info>\n</job_info>\n' ;;
qacct)
  awk -F'|' -v id="$2" -v task="$4" '
  BEGIN { "id -un" | getline user; "LC_ALL=C date \"+%a %b %d %H:%M:%S %Y\"" | getline now }
  $1 == id && (task == "" || $2 == task) && $3 == "ended" {
    k++
    print "=====\nhostname     vm\nowner        " user "\njobnumber    " $1 "\ntaskid       " ($2 == "" ? "undefined" : $2)
    print "qsub_time    " now "\nstart_time   " now "\nslots        1\nfailed       " $4 "\nexit_status  " $5
    print "ru_wallclock 4s\nru_maxrss    4.832KB\ncpu          0.5s\nmaxvmem      99MB\ncategory     " $6
  }
  END { exit !k }' "$here/jobs" || { echo "error: job id $2 not found" >&2; exit 1; } ;;
qhold) change '^q' hq "$3" 'modified hold of job' ;;
qrls) change '^h' '' "$3" 'modified hold of job' ;;
qmod)
  case $1 in
  -sj) change '^r' s "$2" suspended ;;
  -usj) change '^s' r "$2" unsuspended ;;
  -cj) change '^E' '' "$2" cleared ;;
  esac ;;
qdel) change . ended "$1" deleted ;;
esac
