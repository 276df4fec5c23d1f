command -v gpe_print_nodes > /dev/null || gpe_print_nodes() { # this machine, once for each process
  read -r gpe_host < /proc/sys/kernel/hostname
  gpe_n=0
  while [ "$gpe_n" -lt "${GPE_PROCESSES:-1}" ]; do
    printf '%s\n' "$gpe_host"
    gpe_n=$((gpe_n + 1))
  done
}
