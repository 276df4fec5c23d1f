gpe_missing() {
  printf 'SH_COMMANDS of the profile does not define %s\n' "$1" >&2
  return 1
}
gpe_submit() { gpe_missing gpe_submit; }
gpe_list() { gpe_missing gpe_list; }
gpe_cancel() { gpe_missing gpe_cancel; }
