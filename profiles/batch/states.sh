# [ID...]: sets jobs to the lines of gpe_list that begin with an id, and ids to whole ones; without
# an answer, by our own links: a cancel of a part of an id is kept, too.
read_jobs() {
  jobs=$(gpe_list "$@") || {
    jobs=
    gpe_complete_ids
    return 1
  }
  jobs=$(printf '%s\n' "$jobs" | grep -E -e "^($gpe_id_pattern) +[^ ]") || :
  gpe_complete_ids
}
# [ID...]: sets lines to what print_lines prints, after the history was asked for those that are not
# in the list: missing.
read_ended() {
  lines=$(print_lines "$@")
  case $newline$lines in *"${newline}none "*) ;; *) return 0 ;; esac
  missing=$(printf '%s\n' "$lines" | awk '$1 == "none" { print $2 }')
  # shellcheck disable=SC2086
  ended=$(gpe_list_ended $missing) || return
  jobs="$jobs
$ended"
  lines=$(print_lines "$@")
}
print_live() { # ID: prints it, or its tasks, if they have not ended
  # shellcheck disable=SC2046
  print_lines $(print_tasks "$1") | awk '$1 ~ /^(live|open)$/ { print $2 }'
}
# ID...: of an array, the ids of its tasks; if its directory is away, of those in the list.
print_tasks() {
  {
    for id in "$@"; do
      gpe_array=
      if ! gpe_job_dir "$id"; then
        :
      elif [ -s "$gpe_dir/.gpe/array" ]; then
        read -r gpe_array < "$gpe_dir/.gpe/array"
      elif [ -e "$gpe_dir/.gpe/script" ]; then # of a profile with a submit_job of its own
        gpe_read_array "$gpe_dir/.gpe/script"
      fi
      if [ -n "$gpe_array" ]; then
        gpe_print_indices | gpe_name_tasks "$id"
      else
        printf '%s\n' "$id"
      fi
    done
    printf '%s\n' = "$jobs"
  } | awk "$gpe_awk_whole"'
!in_jobs { if ($0 == "=") in_jobs = 1; else { ids[++n] = $0; asked[$0] }; next }
(array = whole($1)) != $1 && array in asked { print $1; told[array] }
END { for (i = 1; i <= n; i++) if (!(ids[i] in told)) print ids[i] }'
}
# [ID...]: prints each with its line, if it has one; without IDs, those of all lines. In front is
# what the word of the line means: live, open, limit, removal, ended or unknown, or none without a
# line.
print_lines() {
  {
    printf '%s\n' "$jobs" | awk 'NF > 1 && !seen[$2]++ { print $2 }' | while read -r word; do
      why=${word#"${word%%/*}"}
      print_meaning "${word%%/*}" "${why#/}" "$word"
    done
    printf '%s\n' = "$jobs" = "$@"
  } | awk -v all="$(($# == 0))" '
$0 == "=" { part++; next }
!part { meaning[$2] = $1; next }
part == 1 && NF > 1 {
  line[$1] = meaning[$2] " " $1 " " $0
  if (all) print line[$1]
}
part == 2 { print $1 in line ? line[$1] : "none " $1 }'
}
# STATE SUBSTATE WORD: prints what the word means, and the word; away and forgotten: the history
# does not answer, or does not know the job.
print_meaning() {
  meaning=ended
  if [ "$1" = away ] || [ "$1" = forgotten ]; then
    meaning=unknown
  else
    gpe_has_ended "$1" "$2"
    case $? in
    1) meaning=live ;;
    2) meaning=open ;; # only the job's own record knows
    *)
      if gpe_is_limit "$1" "$2"; then
        meaning=limit
      elif gpe_is_removal "$1" "$2"; then
        meaning=removal
      fi
      ;;
    esac
  fi
  printf '%s %s\n' "$meaning" "$3"
}
newline='
'
