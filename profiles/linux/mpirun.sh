(umask 077; printf '%s\n' "exec$gpe_words" > "$GPE_WORKING_DIRECTORY/.gpe_program") || exit 125
for gpe_w in "$@"; do
  shift
  case $gpe_w in
  PATH=* | LD_LIBRARY_PATH=* | OMPI_* | PRTE_* | PMIX_* | I_MPI_* | MPI[CR]* | HYDRA_* | UCX_* | FI_*) set -- "$@" "$gpe_w" ;;
  esac
done
exec env -- "$@" mpirun -n "${gpe_processes:-1}" sh "$GPE_WORKING_DIRECTORY/.gpe_program"
