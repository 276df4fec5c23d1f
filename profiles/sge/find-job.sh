gpe_d='<WORKING_DIRECTORY/'/'\\''>' gpe_profile='<PROFILE_NAME/'/'\\''>' gpe_id_pattern='<JOB_ID_PATTERN/'/'\\''>'
gpe_find() {
  gpe_text=$(qstat -xml -s prs -u "$(id -un)") || return
  gpe_ids=$(printf '%s\n' "$gpe_text" | sed -n 's,.*[<]JB_job_number>\([0-9]*\).*,\1,p' | sort -u | paste -s -d , -)
  [ -z "$gpe_ids" ] || qstat -j "$gpe_ids" | GPE_D=$PWD GPE_P=$(pwd -P) awk '
sub(/^job_number: */, "") { id = $0 }
id != "" && sub(/^sge_o_workdir: */, "") { if ($0 == ENVIRON["GPE_D"] || $0 == ENVIRON["GPE_P"]) { print id; exit }; id = "" }'
}
<SH_FIND_JOB>
