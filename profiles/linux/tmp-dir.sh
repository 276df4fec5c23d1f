gpe_tmp=$(mktemp -d "$gpe_tmp_dir/gpe.XXXXXX") || { gpe_status=125; "${gpe_end:-:}"; exit 125; }
export TMPDIR="$gpe_tmp"
