# ID: sets id as PBS spells it, state and holds to its letters; false if PBS does not know the job.
gpe_state() {
  gpe_text=$(gpe_qstat "$1") || return
  if ! gpe_job=$(printf '%s\n' "$gpe_text" | awk -F'|' -v id="$1" '
$1 == id || (id !~ /\./ && index($1, id ".") == 1) { print $1, $3, $8; found = 1; exit }
END { exit !found }'); then
    printf 'qstat printed nothing about job %s\n' "$1" >&2
    return 1
  fi
  # shellcheck disable=SC2034  # RESUME's
  holds=${gpe_job##* } gpe_job=${gpe_job% *}
  id=${gpe_job% *} state=${gpe_job##* }
}
