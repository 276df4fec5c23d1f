gpe_read_jobs() {
  gpe_jobs_known=$(gpe_list) || return
  gpe_jobs_known=$(printf '%s\n' "$gpe_jobs_known" | LC_ALL=C grep -E -e "^($gpe_id_pattern) +[^ ]") || :
}
gpe_get_job() {
  gpe_known=$(printf '%s\n' "$gpe_jobs_known" | GPE_ID=$1 awk '$1 "" == ENVIRON["GPE_ID"] { line = $0 } END { print line }')
}
gpe_is_live() { # is the job of the line gpe_known one that has not ended?
  [ -n "$gpe_known" ] || return
  # shellcheck disable=SC2086
  set -- $gpe_known
  ! gpe_has_ended "${2%%/*}"
}
gpe_print_state() {
  # the batch system knows best that a limit ended the job; the job itself may have ended by any signal, or by none
  gpe_word=${gpe_known#* } && gpe_word=${gpe_word%%[ /]*}
  if gpe_is_live || { [ -n "$gpe_known" ] && gpe_is_limit "$gpe_word"; }; then printf '%s\n' "$gpe_known"; else gpe_record "$1" || { [ -n "$gpe_known" ] && gpe_explain "$gpe_known"; }; fi
}
