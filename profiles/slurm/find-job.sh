# By the script's path and the directory. squeue lists those that wait or run, which is enough: an
# ended job has left its id in the directory.
find_job() {
  set_up_slurm "$profile"
  lines=$(squeue -h -u "$(id -u)" -o '%F|%Z|%o') || return
  real=$(pwd -P)
  printf '%s\n' "$lines" | while IFS= read -r line; do
    if is_ours "${line#*|}"; then
      printf '%s\n' "${line%%|*}"
      break
    fi
  done
}
is_ours() { # DIRECTORY|COMMAND: the directory may have a | of its own
  case $1 in
  "$PWD|.gpe/script" | "$PWD|$PWD/.gpe/script") ;;
  "$real|.gpe/script" | "$real|$real/.gpe/script" | "$real|$PWD/.gpe/script") ;;
  *) return 1 ;;
  esac
}
