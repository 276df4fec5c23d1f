# f112345 for an id, as in JOB_ID_PATTERN
gpe_flux() { FLUX_F58_FORCE_ASCII=1 flux "$@"; }
# Flux reads a script as text: it takes a carriage return for the end of a line, and lines of values
# that begin with "flux:" for its own. So it gets the directives alone.
gpe_submit() { # SCRIPT [DEPENDENCY]
  gpe_kind='' gpe_conditions=''
  for gpe_word in $(printf '%s\n' "${2-}" | tr ',:' '  '); do
    case $gpe_word in
    after*) gpe_kind=$gpe_word ;;
    *) gpe_conditions="$gpe_conditions --dependency=$gpe_kind:$gpe_word" ;;
    esac
  done
  {
    sed '/^[^#]/,$d' "$1"
    gpe_print_starter "./$1"
  } > .gpe/batch || return
  # shellcheck disable=SC2086
  gpe_flux batch $gpe_conditions "$PWD/.gpe/batch"
}
gpe_format='{id.f58} {status}/{urgency} {returncode}'
gpe_list() {
  gpe_text=$(gpe_flux jobs -a -n -c 10000 -o "$gpe_format") || return
  gpe_format_states
}
gpe_list_ended() { # ID...: of which the list had no room; Flux says of each that it does not know
  gpe_text=$(gpe_flux jobs -n -o "$gpe_format" "$@" 2>&1)
  case $(printf '%s\n' "$gpe_text" | grep -v ' unknown$') in *ERROR* | *rpc:*)
    printf '%s\n' "$gpe_text" >&2
    return 1
    ;;
  esac
  gpe_format_states
}
gpe_format_states() { # a held job is one of urgency 0
  printf '%s\n' "$gpe_text" | awk '
$2 ~ /^(COMPLETED|FAILED)\// && $3 ~ /^[0-9]+$/ { sub(/\/.*/, "", $2); $2 = $2 "/exit exit=" $3 }
$2 ~ /\// { print $1, $2 }'
}
gpe_has_ended() { case $1 in COMPLETED | FAILED | TIMEOUT | CANCELED) ;; *) return 1 ;; esac }
gpe_is_removal() { [ "$1" = CANCELED ]; }
gpe_is_limit() { [ "$1" = TIMEOUT ]; }
gpe_own_id() { # Flux unsets FLUX_JOB_ID in a batch script
  gpe_job=$(flux getattr jobid) && gpe_flux job id --to=f58 "$gpe_job"
}
gpe_cancel() { flux cancel "$1"; }
gpe_hold() { flux job urgency "$1" hold; }
gpe_resume() { flux job urgency "$1" default; }
