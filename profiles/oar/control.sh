gpe_list() { gpe_query state -u; }
gpe_list_ended() { # ID...: OAR forgets no job
  gpe_ids=$(printf '%s\n' "$@" | sed -n 's/^\([1-9][0-9]*\)\(_[0-9]*\)*$/\1/p' | sort -u)
  [ -z "$gpe_ids" ] || gpe_query state --sql "array_id IN ($(echo "$gpe_ids" | paste -s -d , -))"
}
gpe_has_ended() {
  case $1 in Terminated | Error | FRAG_JOB_REQUEST) ;; *) gpe_is_limit "$1" ;; esac
}
gpe_is_removal() { [ "$1" = FRAG_JOB_REQUEST ]; }
gpe_is_limit() { [ "$1" = WALLTIME ] || [ "$1" = BESTEFFORT_KILL ]; } # known to OAR only
gpe_find() {
  gpe_ids=$(gpe_query "$(gpe_print_starter "$PWD/.gpe/script")" -u) || return
  printf '%s\n' "$gpe_ids" | head -n 1
}
gpe_control() { # COMMAND ID
  gpe_job="--array $2"
  case $2 in *_*) gpe_job=$(gpe_query "$2" --array "${2%_*}") || return ;; esac
  # shellcheck disable=SC2086  # the command fails if one task of an array is in another state
  gpe_words=$("$1" ${gpe_job:-"$2"} 2>&1) || case $gpe_words in
  *REGISTERED* | *'request was sent'*) ;;
  *)
    printf '%s\n' "$gpe_words"
    return 1
    ;;
  esac
}
gpe_cancel() { gpe_control oardel "$1"; }
gpe_hold() { gpe_control oarhold "$1"; }
gpe_is_held() { case $1 in Hold | Suspended | Resuming) ;; *) return 1 ;; esac }
gpe_resume() { gpe_control oarresume "$1"; }
gpe_own_id() { printf '%s\n' "$OAR_ARRAY_ID"; }
gpe_own_task() { printf '%s\n' "$OAR_ARRAY_INDEX"; }
gpe_print_nodes() { # OAR's file has a line for each processor
  awk -v cpus="${GPE_CPUS:-1}" -v most="${GPE_PROCESSES:-0}" '
NF && n[$1]++ % cpus == 0 && (!most || k++ < most) { print $1 }' "$OAR_NODEFILE"
}
