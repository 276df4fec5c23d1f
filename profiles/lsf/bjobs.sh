# [ID...]: prints jobs as ID|INDEX|STATE|CODE|HOST|REASON|WHY IT WAITS. 1: LSF does not know them;
# 2: it does not answer.
# shellcheck disable=SC2120  # the variation ALL passes no id
gpe_bjobs() {
  gpe_fields='jobid jobindex stat exit_code exec_host exit_reason'
  ask_bjobs "$gpe_fields pend_reason" "$@"
  # before 10.1, LSF has no such field
  case $gpe_text in *pend_reason*) ask_bjobs "$gpe_fields" "$@" ;; esac
  # its exit code says little: by the site's choice, 255 is "no jobs", or 0 is "not found"
  printf '%s\n' "$gpe_text" | awk -F'|' '
NF >= 6 && $1 ~ /^[0-9]+(\[[0-9]+\])?$/ {
  sub(/^[0-9]+\[[0-9]+\]/, $1 + 0)
  print
  found = 1
}
END { exit !found }' && return
  case $#:$gpe_text in 0:*'job found'*) return 0 ;; esac
  gpe_text=${gpe_text:-bjobs printed nothing}
  printf '%s\n' "$gpe_text" >&2
  is_not_found "$gpe_text" || return 2
  return 1
}
ask_bjobs() { # FIELDS [ID...]: sets gpe_text to what bjobs prints
  gpe_o="$1 delimiter='|'"
  shift
  gpe_text=$(bjobs -a -noheader -o "$gpe_o" "$@" 2>&1) || :
}
is_not_found() { # WORDS: does LSF say that it does not know the jobs?
  case $1 in *'is not found'* | *'job found'*) ;; *) return 1 ;; esac
}
gpe_states() { # ID: prints each state of its tasks once
  gpe_lines=$(gpe_bjobs "$1") || return
  printf '%s\n' "$gpe_lines" | awk -F'|' '{ print $3 }' | sort -u
}
