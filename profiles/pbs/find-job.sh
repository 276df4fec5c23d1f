gpe_d='<WORKING_DIRECTORY/'/'\\''>' gpe_profile='<PROFILE_NAME/'/'\\''>' gpe_id_pattern='<JOB_ID_PATTERN/'/'\\''>'
gpe_find() {
  case $PWD in *[!A-Za-z0-9_./@+~:-]*) echo "qstat escapes the name of $PWD" >&2; return 1 ;; esac
  gpe_ids=$(qselect -u "$(id -un)") || return
  [ -n "$gpe_ids" ] || return 0
  set -f
  # shellcheck disable=SC2086
  gpe_text=$(qstat -E -f -F dsv -D , $gpe_ids) || return
  printf '%s\n' "$gpe_text" | while IFS= read -r gpe_line; do
    case $gpe_line, in *[,=]"PBS_O_WORKDIR=$PWD,"* | *[,=]"PBS_O_WORKDIR=$PWD\\,"*)
      gpe_line=${gpe_line#Job Id: }
      printf '%s\n' "${gpe_line%%,*}"
      break ;;
    esac
  done
}
<SH_ENTER>
<SH_FIND_JOB>
