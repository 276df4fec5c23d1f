#!/bin/sh
# Answers as at 3.2.5 did. A file for each job, job.ID, and its queue in queue.ID
cd "${0%/*}" || exit
[ ! -e away ] || { echo 'Cannot open /var/spool/cron/atjobs' >&2; exit 1; }
case ${0##*/} in
at)
  if [ "$1" = -c ]; then printf '#!/bin/sh\n'; cat "job.$2"; echo; exit; fi
  echo "$*" >> requests
  [ ! -e refuse ] || { cat refuse >&2; exit 1; }
  id=$(($(ls job.* 2> /dev/null | wc -l) + 11))
  cat > "job.$id"
  case $* in *-q*) echo "$*" | sed 's/.*-q \(.\).*/\1/' ;; *) echo a ;; esac > "queue.$id"
  echo 'warning: commands will be executed using /bin/sh' >&2
  echo "job $id at Fri Nov 27 08:03:00 2026" >&2 ;;
atq)
  for file in queue.*; do
    [ ! -e "$file" ] || printf '%s\tFri Nov 27 08:03:00 2026 %s %s\n' "${file#queue.}" "$(cat "$file")" "$(id -un)"
  done
  printf '1\tFri Nov 27 08:03:00 2026 a somebody-else\n' ;;
atrm) rm "queue.$1" 2> /dev/null || { echo "Cannot find jobid $1" >&2; exit 1; } ;;
esac
