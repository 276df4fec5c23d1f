if [ -n "$gpe_nodes$gpe_processes$gpe_cpus$gpe_memory$gpe_extra" ]; then
  gpe_nodes=${gpe_nodes:-1} gpe_cpus=${gpe_cpus:-1} gpe_processes=${gpe_processes:-${gpe_nodes:-1}}
  [ "$gpe_processes" -ge "$gpe_nodes" ] || { echo "START: $gpe_processes processes cannot fill $gpe_nodes nodes" >&2; exit 1; }
  gpe_each=$((gpe_processes / gpe_nodes)) gpe_more=$((gpe_processes % gpe_nodes))
  gpe_chunk() { echo "$1:ncpus=$(($2 * gpe_cpus)):mpiprocs=$2:ompthreads=$gpe_cpus${gpe_memory:+:mem=${gpe_memory}mb}$gpe_extra"; }
  gpe_select="-l select=$([ "$gpe_more" -eq 0 ] || echo "$(gpe_chunk "$gpe_more" "$((gpe_each + 1))")+")$(gpe_chunk "$((gpe_nodes - gpe_more))" "$gpe_each")"
  [ "$gpe_nodes" -eq 1 ] || gpe_place=scatter${gpe_place:+:$gpe_place}
elif [ -n "$gpe_place" ]; then # qsub refuses a place without a select
  gpe_alone=select=1:ncpus=1
fi
gpe_select="$gpe_select${gpe_place:+ -l place=$gpe_place}${gpe_mail:+ -M $gpe_mail -m ${gpe_events:-ae}}"
