exec 3>&- # START keeps its lock; what the batch system leaves behind must not
set -f
gpe_options=$(sed -n "2,/^[^#]/s/^#OPTION //p" "$1")
gpe_answer=$(gpe_submit "$1" $gpe_options) || {
  gpe_rc=$?
  printf "%s\n" "$gpe_answer"
  exit "$((gpe_rc == 255 ? 1 : gpe_rc))"
}
gpe_id=$(printf "%s\n" "$gpe_answer" | gpe_read_id | tail -n 1)
printf "%s\n" "${gpe_id:-$gpe_answer}"
