gpe_submit_directory=LS_SUBCWD
gpe_set_id() {
  gpe_id=${LSB_JOBID:-}
  [ -n "${gpe_array:-}" ] || return 0
  gpe_task=${LSB_JOBINDEX:-}
  gpe_task_id="${gpe_id}[$gpe_task]"
}
gpe_print_nodes() { # LSF's file has a line for each slot
  awk -v cpus="${GPE_CPUS:-1}" -v most="${GPE_PROCESSES:-0}" '
NF && n[$1]++ % cpus == 0 && (!most || k++ < most) { print $1 }' "$LSB_DJOB_HOSTFILE"
}
