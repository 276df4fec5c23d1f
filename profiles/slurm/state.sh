unset SQUEUE_ACCOUNT SQUEUE_LICENSES SQUEUE_NAMES SQUEUE_PARTITION SQUEUE_QOS SQUEUE_STATES SQUEUE_USERS SQUEUE_SORT
gpe_state() {
  gpe_text=$(squeue -h -r -t all -o '%i %T' -j "$1") || return
  printf '%s\n' "$gpe_text" | awk -v id="$1" '
($1 == id || index($1, id "_") == 1 || index($1, id "+") == 1) && !seen[$2]++ { words = words " " $2 }
END { print substr(words, 2); exit words == "" }' ||
    {
      printf 'no job %s is known to Slurm\n' "$1" >&2
      return 1
    }
}
