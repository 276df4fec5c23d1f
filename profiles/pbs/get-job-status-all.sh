gpe_jobs="${HOME:?}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
<SH_QSTAT>
<SH_LIVE>
<SH_JOB_DIR>
<SH_RECORD>
<SH_SHOW>
<SH_RELEASE>
jobs=$(gpe_live 2>&1)
rc=$?
case $rc in
0) gpe_release "$jobs"; printf '%s\n' "$jobs" | gpe_show '' "$(id -un)" || : ;;
35 | 153) ;; # all have ended meanwhile
*) printf '%s\n' "$jobs" >&2; exit "$rc" ;;
esac
