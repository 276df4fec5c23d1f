gpe_print_nodes() { # one line for each process of a node, or one if Slurm does not tell how many
  scontrol show hostnames "$SLURM_JOB_NODELIST" |
    awk -v list="${SLURM_NTASKS:+$SLURM_TASKS_PER_NODE}" '
BEGIN { # 2(x3),1
  n = split(list, part, ",")
  for (i = 1; i <= n; i++) {
    split(part[i], word, /[(x)]+/)
    for (times = word[2] == "" ? 1 : word[2]; times > 0; times--) count[++nodes] = word[1]
  }
}
{ for (i = list == "" ? 1 : count[NR]; i > 0; i--) print }'
}
