case $gpe_container in /* | [a-z]*://*) ;; *) gpe_container=$GPE_WORKING_DIRECTORY/$gpe_container ;; esac
for gpe_w in "$GPE_WORKING_DIRECTORY" "$PWD" "${gpe_tmp:-}"; do
  case $gpe_w in
  *[,:\"\\]* | *'
'*) printf 'a directory whose name has , : " \\ or a line end cannot be bound in a container: %s\n' "$gpe_w" >&2; exit 125 ;;
  esac
done
eval "set -- $gpe_container_command"' --bind "$GPE_WORKING_DIRECTORY,$PWD${gpe_tmp:+,$gpe_tmp}" --pwd "$PWD" "$gpe_container" "$@"'
