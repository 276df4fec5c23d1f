# ID: prints the words for the state of a job, of an array once; 1: it is unknown; 2: no answer.
gpe_state() {
  gpe_text=$(squeue -h -r -t all -o '%i %T' -j "$1" 2>&1) || {
    printf '%s\n' "$gpe_text" >&2
    case $gpe_text in *'Invalid job id'*) return 1 ;; *) return 2 ;; esac
  }
  printf '%s\n' "$gpe_text" | awk -v id="$1" '
($1 == id || index($1, id "_") == 1 || index($1, id "+") == 1) && !seen[$2]++ {
  words = words " " $2
}
END {
  print substr(words, 2)
  exit words == ""
}' && return
  printf 'no job %s is known to Slurm\n' "$1" >&2
  return 1
}
