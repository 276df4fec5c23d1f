# PID: sets gpe_state, gpe_parent, gpe_session, gpe_since. A program's name may hold anything, a
# line end too.
gpe_stat() {
  gpe_s='' gpe_state=''
  { while read -r gpe_l; do gpe_s="$gpe_s $gpe_l"; done < "/proc/$1/stat"; } 2> /dev/null ||
    return 1
  # shellcheck disable=SC2086
  set -- ${gpe_s##*\) }
  # shellcheck disable=SC2034  # SIGNAL's
  gpe_parent=${2:-}
  gpe_state=${1:-} gpe_session=${4:-} gpe_since=${20:-}
  [ -n "$gpe_since" ]
}
gpe_boot=''
gpe_here() { # ID: is it a job of this machine since it was booted?
  if [ -z "$gpe_boot" ]; then
    gpe_boot=00000000 # and read once, as a shell does it byte by byte
    { read -r gpe_boot < /proc/sys/kernel/random/boot_id; } 2> /dev/null
  fi
  gpe_s=${1##*-}
  [ "${gpe_s%_*}" = "${gpe_boot%%-*}" ]
}
# ID: is the session leader there, and the same process as then? gpe_state tells its state.
gpe_leader() {
  gpe_since=
  gpe_here "$1" && gpe_stat "${1%%-*}" || return
  gpe_s=${1#*-}
  [ "$gpe_since" = "${gpe_s%%-*}" ] || return
  case $gpe_state in Z | X) return 1 ;; esac
}
# ID of a session: may processes be left in it? Its leader is gone, and no other process has that
# number, which is not given again while there are any.
gpe_is_orphaned() {
  gpe_since=
  gpe_here "$1" || return
  ! gpe_stat "${1%%-*}" || case $gpe_state:$1 in
  [ZX]:*-"$gpe_since"-*) ;;
  *) return 1 ;;
  esac
}
# ID SESSION: does the program of a job, or a task, go on without the leader of its session? gpe_dir
# is its directory.
gpe_goes_on() {
  if gpe_is_orphaned "$2"; then
    gpe_has_others "$1" "${2%%-*}"
  else
    gpe_has_others "$1"
  fi
}
# ID [PID...]: are there processes of it, as of gpe_processes, other than what watches over its wall
# time?
gpe_has_others() {
  gpe_own_watch=
  [ ! -e "$gpe_dir/.gpe/watch" ] || read -r gpe_own_watch < "$gpe_dir/.gpe/watch"
  for gpe_p in $(gpe_processes "$@"); do
    gpe_stat "$gpe_p" || continue
    case $gpe_own_watch in "$gpe_p" | "$gpe_parent") ;; *) return 0 ;; esac
  done
  return 1
}
# ID [PID...]: prints the pids of all its processes; PID: the leader of a session of it that was
# there a moment ago.
gpe_processes() {
  gpe_here "$1" || return 0
  gpe_i=$1
  shift
  {
    [ "$#" -eq 0 ] || gpe_find_members "$@"
    # what left the session, or lost its leader, is known by its environment
    grep -lzxF -e "GPE_JOB_ID=$gpe_i" -e "GPE_ARRAY_ID=$gpe_i" /proc/[0-9]*/environ 2> /dev/null |
      while read -r gpe_p; do
        # shellcheck disable=SC3067  # root sees everybody's
        [ -O "$gpe_p" ] || continue
        gpe_p=${gpe_p#/proc/}
        printf '%s\n' "${gpe_p%/environ}"
      done
  } | sort -u
}
gpe_find_members() { # PID...: prints the pids of the processes in the sessions of these leaders
  gpe_own=" $* "
  for gpe_p in /proc/[0-9]*; do
    gpe_stat "${gpe_p#/proc/}" || continue
    case $gpe_state$gpe_own in
    Z* | X*) ;;
    *" $gpe_session "*) printf '%s\n' "${gpe_p#/proc/}" ;;
    esac
  done
}
gpe_signal() { # SIGNAL PID...: a process that is gone meanwhile is no error
  gpe_s=$1
  shift
  for gpe_p in "$@"; do kill -s "$gpe_s" "$gpe_p" 2> /dev/null || :; done
}
