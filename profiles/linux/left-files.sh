# AWK: reads lines, and prints them again; before them, for the ids that AWK prints of them, lines
# |ID|NAME|TEXT with what the jobs and tasks have left of their ends: awk itself cannot enter their
# directories. NAME is removed, array-removed, code or usage.
gpe_add_left() {
  gpe_text=$(cat)
  printf '%s\n' "$gpe_text" | awk -F'|' "$1" | while read -r gpe_i; do
    gpe_job_dir "$gpe_i" || continue
    gpe_print_left removed "$gpe_dir/.gpe/removed"
    gpe_print_left array-removed .gpe/removed
    gpe_print_left code "$gpe_dir/.gpe_exit_status"
    gpe_print_left usage "$gpe_dir/.gpe/usage"
  done
  printf '%s\n' "$gpe_text"
}
gpe_print_left() { # NAME FILE: the first line of the file
  gpe_line=
  { read -r gpe_line < "$2"; } 2> /dev/null
  [ -z "$gpe_line" ] || printf '|%s|%s|%s\n' "$gpe_i" "$1" "$gpe_line"
}
