# Needed by: gpe_container
# For a job with CONTAINER: its program runs in an image.
gpe_enter_container() { # the same directory and environment, in the image gpe_container
  case $gpe_container in
  /* | [a-z]*://*) ;;
  *) gpe_container=$GPE_WORKING_DIRECTORY/$gpe_container ;;
  esac
  for gpe_place in "$GPE_WORKING_DIRECTORY" "$PWD" "${gpe_tmp:-}"; do
    case $gpe_place in
    *[,:\"\\]* | *'
'*)
      gpe_fail "directory $gpe_place cannot be bound in a container: \
its name has , : \" \\ or a line end"
      ;;
    esac
  done
  gpe_bind='--bind "$GPE_WORKING_DIRECTORY,$PWD${gpe_tmp:+,$gpe_tmp}" --pwd "$PWD" "$gpe_container"'
  gpe_words="${gpe_container_command:-} $gpe_bind $gpe_words"
}
