# abort.sh QSTAT PROFILE ID: deletes a job, an array or a task. Exit status 1: it has ended; else
# that of qdel. QSTAT is the program qstat.sh.
main() { # QSTAT PROFILE ID
  qstat=$1 id=$3
  gpe_jobs=${HOME:?}/.gpe/jobs/$2
  gpe_state "$id" || exit
  case $state in F | C | X | E)
    printf 'ABORT: job %s has already ended (state %s)\n' "$id" "$state" >&2
    exit 1
    ;;
  esac
  run_quietly qdel "$id"
  # not before: only what PBS has taken is a removal
  gpe_note_removal "$id"
}
