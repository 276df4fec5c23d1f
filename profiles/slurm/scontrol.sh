run_scontrol() { # ACTION: of the job id; exits with 1 if Slurm refuses
  words=$(scontrol "$1" "$id" 2>&1) && return
  case $words in *'already finished'*) return 0 ;; esac # some tasks of an array
  ! has_done "$1" || return 0
  printf '%s\n' "$words" >&2
  exit 1
}
# ACTION: whether Slurm has held or released what waits all the same: of a job that its partition
# cannot start, it says that it refuses.
has_done() {
  case $1 in hold | release) ;; *) return 1 ;; esac
  reasons=$(squeue -h -r -t PENDING -o '%i %r' -j "$id") || return
  printf '%s\n' "$reasons" | awk -v id="$id" -v action="$1" '
$1 == id || index($1, id "_") == 1 || index($1, id "+") == 1 {
  waiting++
  held += $2 ~ /^JobHeld/
}
END { exit !(waiting && held == (action == "hold" ? waiting : 0)) }'
}
