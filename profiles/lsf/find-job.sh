gpe_d='<WORKING_DIRECTORY/'/'\\''>' gpe_profile='<PROFILE_NAME/'/'\\''>' gpe_id_pattern='<JOB_ID_PATTERN/'/'\\''>'
gpe_find() {
  gpe_text=$(LC_ALL=C bjobs -noheader -o "jobid sub_cwd delimiter='|'" 2>&1) || case $gpe_text in *'job found'*) ;; *) printf '%s\n' "$gpe_text" >&2; return 1 ;; esac
  printf '%s\n' "$gpe_text" | GPE_D=$PWD GPE_P=$(pwd -P) awk '
{ at = index($0, "|"); id = substr($0, 1, at - 1); d = substr($0, at + 1) }
sub(/^\$HOME/, "", d) { d = ENVIRON["HOME"] d }
id ~ /^[0-9]+$/ && (d == ENVIRON["GPE_D"] || d == ENVIRON["GPE_P"]) { print id; exit }'
}
<SH_ENTER>
<SH_FIND_JOB>
