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
# DIRECTORY|COMMAND: the directory may have a | of its own. .gpe_job: of an early 0.1.0.
is_ours() {
  for script in .gpe/script .gpe_job; do
    case $1 in
    "$PWD|$script" | "$PWD|$PWD/$script") return ;;
    "$real|$script" | "$real|$real/$script" | "$real|$PWD/$script") return ;;
    esac
  done
  return 1
}
