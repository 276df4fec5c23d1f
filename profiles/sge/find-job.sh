gpe_d='<WORKING_DIRECTORY/'/'\\''>' gpe_profile='<PROFILE_NAME/'/'\\''>' gpe_id_pattern='<JOB_ID_PATTERN/'/'\\''>'
gpe_find() {
  gpe_text=$(qstat -xml -s prs -u "$(id -un)") || return
  case $gpe_text in *'</job_info>'*) ;; *) printf '%s\n' "$gpe_text" >&2; return 1 ;; esac
  gpe_ids=$(printf '%s\n' "$gpe_text" | sed -n 's,.*[<]JB_job_number>\([0-9]*\).*,\1,p' | sort -u | paste -s -d , -)
  [ -n "$gpe_ids" ] || return 0
  gpe_text=$(qstat -j "$gpe_ids") || return
  printf '%s\n' "$gpe_text" | GPE_D=$PWD GPE_P=$(pwd -P) awk '
sub(/^job_number: */, "") { id = $0 }
id != "" && sub(/^sge_o_workdir: */, "") { if ($0 == ENVIRON["GPE_D"] || $0 == ENVIRON["GPE_P"]) { print id; exit }; id = "" }'
}
<SH_ENTER>
<SH_FIND_JOB>
