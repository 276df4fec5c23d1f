gpe_begin=gpe_begin
gpe_begin() {
  gpe_jobs="${HOME:?}/.gpe/jobs/$gpe_profile"
  gpe_check_dependency "$gpe_dependency" || { printf 'DEPENDENCY\n' > .gpe_removed; exit 0; }
}
