# hold.sh PROFILE ID: holds a waiting job, suspends a running one. The exit status of a failure is that of bstop.
id=$2
states=$(gpe_states "$id") || exit
case $states in *PEND* | *RUN* | *SSUSP* | *WAIT* | *PROV*) ;; *SUSP*) exit 0 ;; esac
words=$(bstop "$id" 2>&1) && exit
rc=$?
printf '%s\n' "${words:-bstop failed: $rc}" >&2
exit "$rc"
