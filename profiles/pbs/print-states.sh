print_forgotten() { # ID...: those that are not told
  printf '%s\n' "$told" | awk -v asked="$*" '
function note(id) { # the name of the server may be left out
  known[id]
  sub(/\..*/, "", id)
  known[id]
}
{
  note($1)
  sub(/\[[0-9]+/, "[", $1)
  note($1)
}
END {
  n = split(asked, part, " ")
  for (i = 1; i <= n; i++) if (!(part[i] in known)) print part[i]
}'
}
# ID: prints what the job has left of its end; with the name of the server, where that was left out.
print_left() {
  index='' whole=$1
  case $1 in *\[*)
    index=${1#*\[}
    index=${index%%\]*}
    whole="${1%%\[*}[]${1#*\]}"
    ;;
  esac
  set +f
  set -- "$gpe_jobs/$whole" "$gpe_jobs/$whole".*
  set -f
  for link; do
    [ -L "$link" ] || [ -d "$link" ] || continue
    name=${link##*/}
    case $name in
    *\[*) ! print_tasks || break ;;
    *) ! gpe_record "$name" || break ;;
    esac
  done
}
# Of the array name, or its task index; false if none has left anything, as tasks that were removed
# before they began.
print_tasks() {
  found=1
  [ -n "$index" ] || { gpe_job_dir "$name" && gpe_read_array .gpe/script; } || {
    gpe_record "$name" # it may be away
    return
  }
  for i in ${index:-$(gpe_print_indices)}; do
    ! gpe_record "${name%%\]*}$i]${name#*\]}" || found=0
  done
  return "$found"
}
