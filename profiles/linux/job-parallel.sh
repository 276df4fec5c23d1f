# Needed by: gpe_run_(mpi|processes)
# shellcheck disable=SC2034,SC2154  # job.sh has them
# For the applications MPI, BLACS and Processes.
# NAME=VALUE... -- PROGRAM ARGUMENT...: replaces this shell by mpirun. It runs a file, as some
# versions split their arguments again.
gpe_run_mpi() {
  gpe_program=$GPE_WORKING_DIRECTORY/${gpe_task:+.gpe/tasks/$gpe_task/}.gpe/program
  gpe_read_mpi_variables "$@"
  gpe_read_environment "$@"
  shift "$gpe_n"
  # the variables are set by these words, after the shell that reads them has started: it would obey
  # SHELLOPTS and PS4
  eval "set -- $gpe_words"' "$@"'
  (
    umask 077
    printf 'exec' > "$gpe_program"
    for gpe_word in "$@"; do
      gpe_quote "$gpe_word"
      printf ' %s' "$gpe_quoted"
    done >> "$gpe_program"
  ) || gpe_fail "file $gpe_program cannot be written"
  eval "exec env --$gpe_mpi"' mpirun -n "${gpe_processes:-1}" sh "$gpe_program"'
}
# NAME=VALUE... --: sets gpe_mpi to the quoted variables that control mpirun itself.
gpe_read_mpi_variables() {
  gpe_mpi=''
  while [ "$1" != -- ]; do
    case $1 in
    PATH=* | LD_LIBRARY_PATH=* | OMPI_* | PRTE_* | PMIX_* | I_MPI_* | MPI[CR]* | HYDRA_* | UCX_* | \
      FI_*)
      gpe_quote "$1"
      gpe_mpi="$gpe_mpi $gpe_quoted"
      ;;
    esac
    shift
  done
}
# NAME=VALUE... -- PROGRAM ARGUMENT...: gpe_processes times; the first one, in the order of their
# start, that failed gives the exit status.
gpe_run_processes() {
  [ "${gpe_nodes:-1}" -le 1 ] || gpe_run_mpi "$@"
  gpe_pids='' gpe_count=0
  # that of job-signal.sh comes to this shell
  # shellcheck disable=SC2064
  [ -z "${gpe_signal:-}" ] || trap "kill -s $gpe_signal \$gpe_pids" "$gpe_signal"
  exec 3<&0
  while [ "$gpe_count" -lt "${gpe_processes:-1}" ]; do
    (gpe_run "$@") <&3 3<&- &
    gpe_pids="$gpe_pids $!" gpe_count=$((gpe_count + 1))
  done
  gpe_status=0
  for gpe_pid in $gpe_pids; do
    while
      wait "$gpe_pid"
      gpe_rc=$?
      [ "$gpe_rc" -gt 128 ] && kill -s 0 "$gpe_pid" 2> /dev/null
    do :; done
    [ "$gpe_rc" -le 255 ] || gpe_rc=$((gpe_rc % 128 + 128)) # of ksh and yash
    [ "$gpe_status" -ne 0 ] || gpe_status=$gpe_rc
  done
  exit "$gpe_status"
}
