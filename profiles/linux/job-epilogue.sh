)
gpe_status=$?
[ "$gpe_status" -le 255 ] || gpe_status=$((gpe_status % 128 + 128)) # ksh and yash tell signal n as 256+n and 384+n
"${gpe_end:-:}"
<SITE_CLEANUP>
<SH_TMP_REMOVAL>
<SH_MEASURE>
printf '%s\n' "$gpe_status" > .gpe_exit_status.new && mv -f .gpe_exit_status.new .gpe_exit_status; "${gpe_measure:-:}"
exit "${gpe_exit:-$gpe_status}"
