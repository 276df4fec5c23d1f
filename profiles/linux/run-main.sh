set_up_commands
# of GET_JOB_STATUS ALL: the line that shows that all jobs are told
list_end=${gpe_list_end-}
unset gpe_list_end
[ -z "$list_end" ] || {
  (main "$@") && printf '%s\n' "$list_end"
  exit
}
main "$@" # at the end: a file that is cut off runs nothing
