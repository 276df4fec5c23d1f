gpe_tmp=$(mktemp -d "$gpe_tmp_dir/gpe.XXXXXX") || exit 125
export TMPDIR="$gpe_tmp"
