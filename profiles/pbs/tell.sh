gpe_tell() {
  set -f
  jobs=$(gpe_qstat "$@" 2>&1)
  case $? in
  0)
    gpe_release "$jobs"
    told=$(printf '%s\n' "$jobs" | gpe_show "$([ $# -gt 1 ] || printf '%s\n' "$1")" '')
    told=$(gpe_explain "$told")
    ;;
  35 | 153) told='' ;;
  *)
    printf '%s\n' "$jobs" >&2
    return 2
    ;; # a server that does not answer has not forgotten the job
  esac
  # of the others, what they left; with the server's name, where that was left out
  left=$(for id in $(printf '%s\n' "$told" | awk -v asked="$*" '
{ known[$1]; whole = $1; sub(/\[[0-9]+/, "[", whole); known[whole]; sub(/\..*/, "", $1); known[$1]; sub(/\..*/, "", whole); known[whole] }
END { n = split(asked, id, " "); for (i = 1; i <= n; i++) if (!(id[i] in known)) print id[i] }'); do
    index='' whole=$id
    case $id in *\[*)
      index=${id#*\[}
      index=${index%%\]*}
      whole="${id%%\[*}[]${id#*\]}"
      ;;
    esac
    set +f
    set -- "$gpe_jobs/$whole" "$gpe_jobs/$whole".* "${gpe_jobs%/*}/$whole" "${gpe_jobs%/*}/$whole".*
    set -f
    for link; do
      [ -d "$link" ] || continue
      name=${link##*/}
      case $name in
      *\[*) # tasks that were removed before they began have left nothing
        for i in ${index:-$(sed -n '/^[^#]/q; s/^#PBS -J \([0-9]*\)-\([0-9]*\)\(:\([0-9]*\)\)\{0,1\}.*/\1 \4 \2/p' "$link/.gpe/script" | xargs -r seq)}; do
          ! gpe_record "${name%%\]*}$i]${name#*\]}" || rc=told
        done
        [ "${rc-}" != told ] || break
        ;;
      *) ! gpe_record "$name" || break ;;
      esac
    done
    rc=''
  done)
  [ -n "$told$left" ] || { [ -n "${jobs##*'|'*}" ] || jobs="qstat printed nothing about job $*"; }
  [ -n "$told$left" ] || {
    printf '%s\n' "$jobs" >&2
    return 1
  }
  printf '%s\n' "$told" "$left" | grep .
}
