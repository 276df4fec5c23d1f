find_job() { # by the directory in which it was submitted
  case $PWD in *[!A-Za-z0-9_./@+~:-]*)
    echo "qstat escapes the name of $PWD" >&2
    return 1
    ;;
  esac
  ids=$(qselect -u "$(id -un)") || return
  [ -n "$ids" ] || return 0
  set -f
  # shellcheck disable=SC2086
  text=$(qstat -E -f -F dsv -D , $ids) || return
  printf '%s\n' "$text" | while IFS= read -r line; do
    case $line, in *[,=]"PBS_O_WORKDIR=$PWD,"* | *[,=]"PBS_O_WORKDIR=$PWD\\,"*)
      line=${line#Job Id: }
      printf '%s\n' "${line%%,*}"
      break
      ;;
    esac
  done
}
