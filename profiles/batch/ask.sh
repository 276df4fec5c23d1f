# PATTERN COMMAND...: sets gpe_text to what the command prints. An answer that is not like the
# pattern is none: it is empty or cut, and not a list without jobs.
gpe_ask() {
  gpe_whole=$1
  shift
  gpe_text=$("$@") || return
  # shellcheck disable=SC2254  # a pattern
  case $gpe_text in $gpe_whole) return ;; esac
  printf '%s gave no whole answer: %s\n' "$1" "$gpe_text" >&2
  return 1
}
