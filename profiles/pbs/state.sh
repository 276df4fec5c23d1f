gpe_state() {
  gpe_text=$(gpe_qstat "$1") || return
  gpe_job=$(printf '%s\n' "$gpe_text" | awk -F'|' -v id="$1" '
$1 == id || (id !~ /\./ && index($1, id ".") == 1) { print $1, $3, $8; found = 1; exit }
END { exit !found }') || {
    printf 'qstat printed nothing about job %s\n' "$1" >&2
    return 1
  }
  # shellcheck disable=SC2034  # RESUME's
  holds=${gpe_job##* } gpe_job=${gpe_job% *}
  id=${gpe_job% *} state=${gpe_job##* }
}
