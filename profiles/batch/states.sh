read_jobs() { # sets jobs to the lines of gpe_list that begin with an id
  jobs=$(gpe_list) || return
  jobs=$(printf '%s\n' "$jobs" | grep -E -e "^($id_pattern) +[^ ]") || :
}
read_ended() { # [ID...]: adds to jobs the lines of those that are not in the list: missing
  missing=$(print_lines "$@" | awk 'NF == 1 { print $1 }')
  [ -n "$missing" ] || return 0
  # shellcheck disable=SC2086
  ended=$(gpe_list_ended $missing) || return
  jobs="$jobs
$ended"
}
is_live() { # is the job of the line one that has not ended?
  [ -n "$line" ] || return
  # shellcheck disable=SC2086
  set -- $line
  ! gpe_has_ended "${2%%/*}"
}
print_tasks() { # ID...: of an array, the ids of its tasks; if it is away, of those in the list
  for id in "$@"; do
    gpe_array=
    ! gpe_job_dir "$id" || [ ! -s "$gpe_dir/.gpe/array" ] ||
      read -r gpe_array < "$gpe_dir/.gpe/array"
    if [ -n "$gpe_array" ]; then
      gpe_print_indices | while read -r index; do printf '%s_%s\n' "$id" "$index"; done
    else
      printf '%s\n' "$jobs" | ID=$id awk '
index($1, ENVIRON["ID"] "_") == 1 { print $1; tasks = 1 }
END { if (!tasks) print ENVIRON["ID"] }'
    fi
  done
}
print_lines() { # [ID...]: prints each with its line, if it has one; without IDs, those of all lines
  printf '%s\n' "$jobs" | IDS=$* awk '
BEGIN { n = split(ENVIRON["IDS"], id, " ") }
n == 0 { print $1, $0 }
{ line[$1] = $0 }
END { for (i = 1; i <= n; i++) print id[i], line[id[i]] }'
}
