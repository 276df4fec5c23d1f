#!/bin/sh
# Answers as the user's guide of Fugaku and readers of `pjstat --data` show. The file jobs beside it has a job on each line: ID,STATE,EC,PC,SN
cd "${0%/*}" || exit
[ ! -e away ] || { echo "[ERR.] PJM 0040 ${0##*/} cannot connect." >&2; exit 1; }
change() { # STATES NEW ID
  grep -qE "^$3,($1)," jobs || { echo "[ERR.] PJM 0000 Job $3 cannot be changed." >&2; exit 1; }
  sed "s/^$3,[A-Z]*,/$3,$2,/" jobs > new && mv new jobs
}
case ${0##*/} in
pjsub)
  [ ! -e refuse ] || { cat refuse >&2; exit 1; }
  id=$(($(wc -l < jobs) + 101))
  echo "$id,QUE,-,-,-" >> jobs
  cp "$OLDPWD/$1" "script.$id"
  echo "[INFO] PJM 0000 pjsub Job $id submitted." ;;
pjstat)
  case "$*" in
  '--data --choose jid,st') echo H,JOB_ID,ST; sed -n '/,\(EXT\|CCL\|RJT\),/!s/^\([0-9]*,[A-Z]*\).*/,\1/p' jobs ;;
  '-H -s --data --choose jid,st,ec,pc,sn '*)
    shift 5
    echo H,JOB_ID,ST,EC,PC,SN
    for id; do sed -n "/^$id,\(EXT\|CCL\|RJT\),/s/^/,/p" jobs; done ;;
  *) exit 2 ;;
  esac ;;
pjdel) change 'QUE|RUN|HLD' CCL "$@" ;;
pjhold) change QUE HLD "$@" ;;
pjrls) change HLD QUE "$@" ;;
esac
