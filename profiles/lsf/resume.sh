# resume.sh PROFILE ID: releases a held job, continues a suspended one. The exit status of a failure is that of bresume.
id=$2
states=$(gpe_states "$id") || exit
case $states in *SUSP*) ;; *PEND* | *WAIT* | *PROV* | *RUN*) exit 0 ;; esac
words=$(bresume "$id" 2>&1) && exit
rc=$?
printf '%s\n' "${words:-bresume failed: $rc}" >&2
exit "$rc"
