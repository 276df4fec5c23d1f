gpe_processes='<PROCESSES/'/'\\''>' gpe_nodes='<NODES/'/'\\''>' gpe_executable='<EXECUTABLE/'/'\\''>' gpe_container='<CONTAINER/'/'\\''>' gpe_container_command='<CONTAINER_COMMAND/'/'\\''>'
set -- <ENVIRONMENT/export ([A-Za-z_][A-Za-z0-9_]*+=)('(?:[^']++|'\\''|'')*+')(?:\n|\z)/$1$2 >
<SH_ENVIRONMENT>;<SH_CONTAINER>
<SH_QUOTE>
if [ "${gpe_nodes:-1}" -gt 1 ]; then
  gpe_quote "$@" '<EXECUTABLE/'/'\\''>' <ARGUMENTS>
  <SH_MPIRUN>
fi
gpe_pids='' gpe_n=0
exec 3<&0
while [ "$gpe_n" -lt "${gpe_processes:-1}" ]; do
  (exec "$@" '<EXECUTABLE/'/'\\''>' <ARGUMENTS>) <&3 3<&- &
  gpe_pids="$gpe_pids $!" gpe_n=$((gpe_n + 1))
done
gpe_status=0
for gpe_p in $gpe_pids; do
  wait "$gpe_p"
  gpe_rc=$?
  [ "$gpe_rc" -le 255 ] || gpe_rc=$((gpe_rc % 128 + 128)) # of ksh and yash
  [ "$gpe_status" -ne 0 ] || gpe_status=$gpe_rc
done
exit "$gpe_status"
