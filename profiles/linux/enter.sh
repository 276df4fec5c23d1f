[ -n "${gpe_job:-}" ] || [ -d "$gpe_d" ] || exit 0 # FIND_JOB: there never was a START
gpe_umask=$(umask) && umask 077 && unset GPE_JOB_ID GPE_ARRAY_ID GPE_ARRAY_INDEX GPE_NODE_FILE # of a job that starts this one: it is none of its processes
gpe_jobs="${HOME:?}/.gpe/jobs/$gpe_profile" && mkdir -p -- "$gpe_jobs" ${gpe_job:+"$gpe_d"} && cd -- "$gpe_d" || exit 73
# shellcheck disable=SC3067  # As sshd's StrictModes: nobody else may be able to replace the directory, or anything that its path leads through.
gpe_unsafe=$(LC_ALL=C namei -mo -- "$gpe_d" | {
  read -r gpe_last; if [ -O / ]; then gpe_user=root; else gpe_user=; fi
  while read -r gpe_mode gpe_owner gpe_line; do
    case $gpe_owner in root | "${gpe_user:=$gpe_owner}") gpe_bad= ;; *) gpe_bad=y ;; esac
    case $gpe_bad$gpe_mode in l* | ?????-??-? | ?????????[tT]) ;; *) echo "$gpe_mode $gpe_owner $gpe_line" ;; esac
    gpe_last="$gpe_mode $gpe_owner $gpe_line"
  done; case $gpe_last in d????-??-?' '*) [ -O . ] || echo "$gpe_last" ;; *) echo "${gpe_last:-namei failed}" ;; esac
})
[ -z "$gpe_unsafe" ] || { printf '%s is not a safe directory for a job, because others can change this: %s\n' "$gpe_d" "$gpe_unsafe" >&2; exit 73; }
