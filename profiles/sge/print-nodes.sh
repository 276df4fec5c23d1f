gpe_print_nodes() {
  if [ -n "${PE_HOSTFILE:-}" ]; then
    awk -v cpus="${GPE_CPUS:-1}" -v left="${GPE_PROCESSES:-${gpe_nodes:-1}}" '{
      for (slots = $2; slots >= cpus && left > 0; slots -= cpus) { print $1; left-- }
    }' "$PE_HOSTFILE"
  else
    uname -n
  fi
}
