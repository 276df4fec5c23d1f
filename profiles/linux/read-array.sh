# SCRIPT: sets gpe_array to the indices that a job script has, or to nothing, and then is false.
gpe_read_array() {
  gpe_array=$(sed -n -e '/^\. \.\/\.gpe/q' \
    -e "s/^\(gpe_.* \)\{0,1\}gpe_array='\([^']*\)'.*/\2/p" "$1" 2> /dev/null)
  [ -n "$gpe_array" ]
}
# PREFIX: reads lines, and prints PREFIX with each index of gpe_array that begins none of them.
gpe_print_missing() {
  {
    cat
    echo
    gpe_print_indices
  } | awk -v prefix="$1" '
!NF { all_read = 1; next }
!all_read { found[$1]; next }
!((prefix $1) in found) { print prefix $1 }'
}
