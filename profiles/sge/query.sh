# TAG COMMAND...: sets gpe_text to the XML that the command prints, which has this closing tag. Else
# prints what it says on standard error, and returns 2: no answer.
gpe_query() {
  gpe_tag=$1
  shift
  gpe_text=$("$@" 2>&1)
  gpe_rc=$?
  case $gpe_rc:$gpe_text in 0:*"$gpe_tag"*) return ;; esac
  printf '%s\n' "${gpe_text:-$1 failed: $gpe_rc}" >&2
  return 2
}
