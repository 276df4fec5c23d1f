# SCRIPT: prints the job of a batch system that does not keep a copy of the script, as a line of
# shell. While the job waits, its directory may be cleaned, and made again by somebody else. If it
# cannot begin, it ends by a signal: an exit status would be the program's. No !, as csh reads it.
gpe_print_starter() {
  printf "sh -c '%s' '%s'\n" "$gpe_starter" \
    "$(printf '%s\n' "$1" | sed "s/'/'\\\\''/g")"
}
# shellcheck disable=SC2016
gpe_starter='[ -L "${0%/*/*}" ] || { cd -- "${0%/*/*}" && [ -O . ] && [ -r .gpe/script ]'
gpe_starter="$gpe_starter && exec sh .gpe/script; }; kill -s KILL \$\$"
