gpe_list_files() { # of the working directory, which the job gets; .gpe has what it needs itself
  set +f
  files=.gpe
  for file in *; do
    [ -e "$file" ] || continue
    case $file in
    *[,\"]* | ' '* | *' ' | *[![:print:]]*)
      printf '%s has , or " in its name: HTCondor cannot transfer it\n' "$file" >&2
      return 1
      ;;
    esac
    files="$files, $file"
  done
  set -f
  printf '%s\n' "$files"
}
