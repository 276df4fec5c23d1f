read_jobs() { # sets jobs to the lines of gpe_list that begin with an id
  jobs=$(gpe_list) || return
  jobs=$(printf '%s\n' "$jobs" | LC_ALL=C grep -E -e "^($id_pattern) +[^ ]") || :
}
find_line() { # ID: sets line to the job's, or to nothing
  line=$(printf '%s\n' "$jobs" | ID=$1 awk '
$1 "" == ENVIRON["ID"] { line = $0 }
END { print line }')
}
is_live() { # is the job of the line one that has not ended?
  [ -n "$line" ] || return
  # shellcheck disable=SC2086
  set -- $line
  ! gpe_has_ended "${2%%/*}"
}
