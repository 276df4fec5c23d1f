enter_directory() { # makes the working directory, and refuses one that others could change; exit status 73: nothing was done
  umask 077
  mkdir -p -- "$gpe_jobs" "$directory" && cd -- "$directory" || exit 73
  # shellcheck disable=SC3067  # As sshd's StrictModes: nobody else may be able to replace the directory, or anything that its path leads through.
  unsafe=$(LC_ALL=C namei -mo -- "$directory" | {
    read -r last
    user=
    [ ! -O / ] || user=root
    while read -r mode owner rest; do
      case $owner in root | "${user:=$owner}") bad= ;; *) bad=y ;; esac
      case $bad$mode in l* | ?????-??-? | ?????????[tT]) ;; *) echo "$mode $owner $rest" ;; esac
      last="$mode $owner $rest"
    done
    case $last in d????-??-?' '*) [ -O . ] || echo "$last" ;; *) echo "${last:-namei failed}" ;; esac
  })
  [ -n "$unsafe" ] || return 0
  printf '%s is not a safe directory for a job, because others can change this: %s\n' "$directory" "$unsafe" >&2
  exit 73
}
