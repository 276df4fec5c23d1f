find_job() { # by the command, which other jobs of this directory do not have
  use_cluster "$profile"
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
