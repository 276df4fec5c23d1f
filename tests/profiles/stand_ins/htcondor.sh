#!/bin/sh
# Answers as HTCondor's manual and recorded sessions of 25.14 show. The file jobs beside it has a job on each line, with
# "|" between: CLUSTER PROC INDEX JobStatus RemoteHost HoldReason Iwd ExitBySignal ExitCode ExitSignal RemoveReason
cd "${0%/*}" || exit
[ ! -e away ] || { echo 'Error: Failed to connect to schedd' >&2; exit 1; }
select_jobs() { # COMMAND: sets, of the words, cluster, or cluster and index of a constraint
  case $1 in
  -constraint) cluster=$(echo "$2" | sed 's/ClusterId == \([0-9]*\) .*/\1/') index=$(echo "$2" | sed 's/.*GpeIndex == //') ;;
  *) cluster=$1 index='' ;;
  esac
}
change() { # STATUS REASON WORDS FROM of the selected jobs
  awk -F'|' -v OFS='|' -v c="$cluster" -v i="$index" -v s="$1" -v r="$2" -v w="$3" -v f="$4" '
  $1 == c && (i == "" || $3 == i) && $4 ~ f { $4 = s; if (s == 3) $11 = r; else $6 = r; print "Job " $1 "." $2 " " w > "words"; n++ } { print > "new" }
  END { exit !n }' jobs
  rc=$? && mv new jobs
  [ "$rc" = 0 ] && cat words && rm words && return
  echo "Couldn't find/$3 all jobs in cluster $cluster" >&2
  exit 1
}
case ${0##*/} in
condor_submit)
  directory=$(sed -n 's/^initialdir = //p' "$OLDPWD/$2" | sed 's/$(DOLLAR)/$/g')
  [ "$1" = -terse ] && [ "$directory" = "$OLDPWD" ] || { echo "ERROR: bad description" >&2; exit 1; }
  grep -q '^executable = .' "$OLDPWD/$2" || { echo "ERROR: No 'executable' parameter was provided" >&2; exit 1; }
  [ ! -e refuse ] || { cat refuse >&2; exit 1; }
  cluster=$(($(cut -d '|' -f 1 jobs | sort -un | wc -l) + 1)) proc=0
  cp "$OLDPWD/$2" "description.$cluster"
  sed -n "s/^arguments = \"-c '\(.*\)'\"\$/\1/p" "$OLDPWD/$2" | sed "s/''/'/g; s/\"\"/\"/g; s/\$(DOLLAR)/\$/g" > "script.$cluster"
  for index in $(sed -n 's/^queue gpe_index in (\(.*\))$/\1/p; s/^queue$/undefined/p' "$OLDPWD/$2"); do
    echo "$cluster|$proc|$index|1|undefined|undefined|$directory|undefined|undefined|undefined|undefined" >> jobs
    proc=$((proc + 1))
  done
  echo "$cluster.0 - $cluster.$((proc - 1))" ;;
condor_q)
  case $* in
  '-af ClusterId GpeIndex JobStatus RemoteHost ExitBySignal ExitCode ExitSignal CpusProvisioned MemoryProvisioned ifThenElse(JobStatus == 3, RemoveReason, HoldReason)')
    ended='[34]' && [ ! -e leaving ] || ended=none
    # one that is removed stays, with its machine, until that has ended it
    awk -F'|' -v ended="$ended" '
    function lives(pid) { return (getline pid < ("session." $1)) > 0 && system("kill -0 " pid " 2> /dev/null") == 0 }
    $4 !~ ended || $4 == 3 && $5 != "undefined" && lives() {
      print $1, $3, $4, $5, $8, $9, $10, 2, 128, $4 == 3 ? $11 : $6
    }' jobs ;;
  '-af ClusterId Iwd') awk -F'|' '$4 !~ /[34]/ { print $1, $7 }' jobs ;;
  *) exit 2 ;;
  esac ;;
condor_history)
  ids='' && while [ "$1" != -af ]; do ids="$ids $1" && shift; done
  echo "$ids" >> asked
  [ "$*" = '-af ClusterId GpeIndex JobStatus undefined ExitBySignal ExitCode ExitSignal CpusProvisioned MemoryProvisioned RemoveReason' ] || exit 2
  awk -F'|' -v ids="$ids " '$4 ~ /[34]/ && index(ids, " " $1 " ") { print $1, $3, $4, "undefined", $8, $9, $10, 2, 128, $11 }' jobs ;;
condor_rm) select_jobs "$@" && change 3 'via condor_rm (by user alice)' 'marked for removal' '[125]' ;;
condor_hold) select_jobs "$@" && change 5 'via condor_hold (by user alice)' held '[12]' ;;
condor_release) select_jobs "$@" && change 1 undefined released 5 ;;
esac
