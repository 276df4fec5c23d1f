# SCRIPT: sets gpe_array to the indices that a job script has, or to nothing, and then is false.
gpe_read_array() {
  gpe_array=
  [ -r "$1" ] || return
  while IFS= read -r gpe_head; do
    case $gpe_head in
    '. ./.gpe'*) break ;;
    "gpe_array='"* | gpe_*" gpe_array='"*)
      gpe_array=${gpe_head#*gpe_array=\'}
      gpe_array=${gpe_array%%\'*}
      ;;
    esac
  done < "$1"
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
