find_job() { # by the directory in which it was submitted
  text=$(qstat -xml -s prs -u "$(id -un)") || return
  case $text in
  *'</job_info>'*) ;;
  *)
    printf '%s\n' "$text" >&2
    return 1
    ;;
  esac
  ids=$(printf '%s\n' "$text" | sed -n 's,.*[<]JB_job_number>\([0-9]*\).*,\1,p' | sort -u |
    paste -s -d , -)
  [ -n "$ids" ] || return 0
  text=$(qstat -j "$ids") || return
  printf '%s\n' "$text" | GPE_D=$PWD GPE_P=$(pwd -P) awk '
sub(/^job_number: */, "") { id = $0 }
id != "" && sub(/^sge_o_workdir: */, "") {
  if ($0 == ENVIRON["GPE_D"] || $0 == ENVIRON["GPE_P"]) { print id; exit }
  id = ""
}'
}
