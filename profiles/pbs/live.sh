gpe_live() {
  gpe_ids=$(qselect -u "$(id -un)") || return
  set -f
  # -E: all of them in one request
  # shellcheck disable=SC2086
  [ -z "$gpe_ids" ] || gpe_qstat -E $gpe_ids
}
