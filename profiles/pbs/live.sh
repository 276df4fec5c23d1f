gpe_live() {
  gpe_ids=$(qselect -u "$(id -un)") || return
  set -f
  # shellcheck disable=SC2086
  [ -z "$gpe_ids" ] || gpe_qstat $gpe_ids
}
