command -v gpe_print_nodes > /dev/null || gpe_print_nodes() {
  read -r gpe_host < /proc/sys/kernel/hostname && gpe_n=0
  while [ "$gpe_n" -lt "${GPE_PROCESSES:-1}" ]; do printf '%s\n' "$gpe_host"; gpe_n=$((gpe_n + 1)); done
}
case $gpe_node_file in /*) ;; *) gpe_node_file=$GPE_WORKING_DIRECTORY/$gpe_node_file ;; esac
case ${gpe_node_file#/dev/shm} in /dev/*) ;; *) gpe_node_file=$gpe_node_file${gpe_task:+.$gpe_task} ;; esac
export GPE_NODE_FILE="$gpe_node_file"
(gpe_print_nodes > "$GPE_NODE_FILE") || exit 125
