#!/bin/sh
# Answers as Slurm 22.05 did. The file jobs beside it has a job or a task on each line: ID|INDEX|STATE|CODE|REASON|DIRECTORY,
# with the code that wait(2) gives; session.NAME has the process group of a job that runs. "|" is between the words.
here=${0%/*}
[ ! -e "$here/away" ] || { echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1; }
change() { # STATE REASON ID FROM: of a job, of a task, or of the tasks of an array
  awk -F'|' -v OFS='|' -v s="$1" -v r="$2" -v id="$3" -v from="$4" '
  ($1 == id || $1 "_" $2 == id) && $3 ~ from { $3 = s; $5 = r; n++ } { print }
  END { exit !n }' "$here/jobs" > "$here/new" || { echo "${0##*/} error: Invalid job id specified" >&2; exit 1; }
  mv "$here/new" "$here/jobs"
}
case ${0##*/} in
sbatch)
  echo "$*" >> "$here/requests"
  while [ "$#" -gt 1 ]; do shift; done
  id=$(($(cut -d '|' -f 1 "$here/jobs" | sort -un | wc -l) + 11))
  array=$(sed -n 's/^#SBATCH --array=\([0-9]*\)-\([0-9]*\)$/\1 \2/p' "$1")
  reason=Priority
  ! grep -q '^#SBATCH --begin=' "$1" || reason=BeginTime
  # shellcheck disable=SC2086
  for index in $([ -z "$array" ] && echo - || seq $array); do
    echo "$id|${index#-}|PENDING|0|$reason|$PWD" >> "$here/jobs"
  done
  echo "$id" ;;
squeue)
  states=live id='' format=''
  while [ "$#" -gt 0 ]; do
    case $1 in -t) states=$2 ;; -j) id=$2 ;; -[oO]) format=$2 ;; esac
    case $1 in -[jtoOu]) shift 2 ;; *) shift ;; esac
  done
  awk -F'|' -v states="$states" -v id="$id" -v format="$format" '
  { name = $2 == "" ? $1 : $1 "_" $2; is_live = $3 ~ /PENDING|RUNNING|SUSPENDED/ }
  id != "" && index("," id ",", "," $1 ",") == 0 && name != id { next }
  { known = 1 }
  states == "live" && !is_live || states != "live" && states != "all" && $3 != states { next }
  format ~ /^JobArrayID/ { print name, $3, $4, $3 == "PENDING" ? "n/a" : "n1", $5, "debug", $3 == "PENDING" ? "0:00" : "0:02", "1800000000", "100", "" }
  format == "%i %T" { print name " " $3 }
  format == "%i" { print name }
  format == "%i %r" { print name " " $5 }
  format == "%F|%Z|%o" { print $1, $6, ".gpe/script" }
  END { exit id != "" && id !~ /,/ && !known }' OFS='|' "$here/jobs" || { echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1; } ;;
scancel)
  case $1 in
  --full)
    for id; do case $id in -*) continue ;; esac; kill "-${2#--signal=}" "-$(cat "$here/session.$id")"; done ;;
  *) change CANCELLED None "$1" 'PENDING|RUNNING|SUSPENDED' ;;
  esac ;;
scontrol)
  case $1 in
  hold) change PENDING JobHeldUser "$2" PENDING ;;
  release) change PENDING Priority "$2" PENDING ;;
  esac ;;
sacct | sstat) echo 'Slurm accounting storage is disabled' >&2; exit 1 ;;
esac
