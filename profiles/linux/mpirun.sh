gpe_program=$GPE_WORKING_DIRECTORY/${gpe_task:+.gpe_tasks/$gpe_task/}.gpe_program
(umask 077; printf '%s\n' "exec$gpe_words" > "$gpe_program") || exit 125
for gpe_w in "$@"; do
  shift
  case $gpe_w in
  PATH=* | LD_LIBRARY_PATH=* | OMPI_* | PRTE_* | PMIX_* | I_MPI_* | MPI[CR]* | HYDRA_* | UCX_* | FI_*) set -- "$@" "$gpe_w" ;;
  esac
done
exec env -- "$@" mpirun -n "${gpe_processes:-1}" sh "$gpe_program"
