ids='<JOB_IDS/'/'\\''>'
gpe_jobs="${HOME:?}/.gpe/jobs"/'<PROFILE_NAME/'/'\\''>'
<SH_BJOBS>
<SH_BHIST>
<SH_JOB_DIR>
<SH_RECORD>
<SH_EXPLAIN>
<SH_SHOW>
set -f
# shellcheck disable=SC2086
all=$(gpe_bjobs $ids 2>&1) || case $all in *'is not found'* | *'job found'* | 'bjobs printed nothing') all='' ;; *) printf '%s\n' "$all" >&2; exit 2 ;; esac
gpe_bjobs() { # the same of one job
  printf '%s\n' "$all" | awk -F'|' -v id="$1" '$1 == id || $1 "[" $2 "]" == id { print; found = 1 } END { exit !found }' && return
  printf 'Job <%s> is not found\n' "$1" >&2
  return 1
}
for id in $ids; do (
<SH_TELL>
) 2> /dev/null || :; done
