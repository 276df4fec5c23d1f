)
gpe_status=$?
[ "$gpe_status" -le 255 ] || gpe_status=$((gpe_status % 128 + 128)) # ksh and yash tell signal n as 256+n and 384+n
"${gpe_ended:-:}"
( : # in a shell of its own: it may exit
<SITE_CLEANUP>
)
<SH_TMP_REMOVAL>
exit "$gpe_status"
)
gpe_status=$?
[ "$gpe_status" -le 255 ] || gpe_status=$((gpe_status % 128 + 128))
"${gpe_end:-:}"
# 137: for the batch system, too, this is no exit status of the program
[ ! -s .gpe_setup ] || { printf 'SITE_SETUP of the profile ended with exit status %s, before the program began: see .gpe_job.out\n' "$gpe_status" > .gpe_failed; gpe_status=137; }
<SH_MEASURE>
printf '%s\n' "$gpe_status" > .gpe_exit_status.new && mv -f .gpe_exit_status.new .gpe_exit_status; "${gpe_measure:-:}"
exit "${gpe_exit:-$gpe_status}"
