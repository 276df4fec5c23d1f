gpe_quote() {
  gpe_words=
  for gpe_w in "$@"; do
    gpe_words="$gpe_words '"
    while :; do
      case $gpe_w in
      *\'*) gpe_words="$gpe_words${gpe_w%%\'*}'\\''" gpe_w=${gpe_w#*\'} ;;
      *) break ;;
      esac
    done
    gpe_words="$gpe_words$gpe_w'"
  done
}
