gpe_conditions='' gpe_kind=''
set -f
for gpe_w in $(printf '%s\n' "$gpe_dependency" | tr ',:' '  '); do
  case $gpe_w in
  afterok) gpe_kind='done' ;;
  afternotok) gpe_kind='exit' ;;
  afterany) gpe_kind='ended' ;;
  *) gpe_conditions="$gpe_conditions${gpe_conditions:+ && }$gpe_kind($gpe_w)" ;;
  esac
done
set +f
set -- "$@" -w "$gpe_conditions" -ti
