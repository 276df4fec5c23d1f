gpe_met=''
# CONDITIONS: true if all hold; 1: one can never hold; 2: some of the jobs have not ended, as
# gpe_lives ID DIRECTORY tells.
gpe_check_dependency() {
  gpe_all=0 gpe_asked=
  for gpe_one in $(printf '%s\n' "$1" | tr ',:' '\n\n'); do
    case $gpe_one:$gpe_met in
    afterok:* | afternotok:* | afterany:*) gpe_asked=$gpe_one ;;
    "$gpe_one:"*" $gpe_asked:$gpe_one "*) ;; # it held before; its record may be gone by now
    *)
      # by another shell, as it enters the other job's directory
      gpe_found=$(
        gpe_find_end "$gpe_one"
        printf '%s\n' "$gpe_found"
      ) 2> /dev/null
      case $gpe_asked:$gpe_found in
      *:) gpe_all=2 ;;
      afterok:ok | afternotok:other | afterany:*) gpe_met="$gpe_met $gpe_asked:$gpe_one " ;;
      *) return 1 ;;
      esac
      ;;
    esac
  done
  return "$gpe_all"
}
# ID: sets gpe_found to ok (ended with exit status 0), other (ended otherwise) or nothing; all the
# tasks of an array must have ended.
gpe_find_end() {
  gpe_ends=ok
  gpe_found=
  ! gpe_is_dir_away "$1" || return 0
  [ ! -e "$gpe_dir/.gpe/removed" ] || gpe_ends=other
  if [ ! -d "$gpe_dir/.gpe/tasks" ]; then
    gpe_read_end "$1" "$gpe_dir"
    return
  fi
  for gpe_of in "$gpe_dir"/.gpe/tasks/*; do
    gpe_read_end "$1" "$gpe_of"
    case $gpe_found in '') return ;; other) gpe_ends=other ;; esac
  done
  gpe_found=$gpe_ends
}
gpe_read_end() { # ID DIRECTORY: the same of a job or of a task
  gpe_found=
  [ -s "$2/.gpe_exit_status" ] || ! "${gpe_lives:-false}" "$1" "$2" || return 0
  gpe_found=other gpe_code=
  [ ! -e "$2/.gpe/limit" ] || return 0
  { read -r gpe_code < "$2/.gpe_exit_status"; } 2> /dev/null
  [ "$gpe_code" != 0 ] || gpe_found=ok
}
