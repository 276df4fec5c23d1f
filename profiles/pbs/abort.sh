# abort.sh PROFILE ID QSTAT: deletes a job, an array or a task. Exit status 1: it has ended; else
# that of qdel. QSTAT is the program qstat.sh.
template=ABORT
main() { # PROFILE ID QSTAT
  qstat=$3
  gpe_state "$id" || exit
  case $state in F | C | X | E) fail "has already ended (state $state)" ;; esac
  run_quietly qdel "$id"
  # not before: only what PBS has taken is a removal
  gpe_note_removal "$id"
}
