# Makes the working directory, and refuses one that others could change; exit status 73: nothing was
# done.
enter_directory() {
  umask 077
  mkdir -p -- "$gpe_jobs" "$directory/.gpe" && cd -- "$directory" || exit 73
  # As sshd's StrictModes: nobody else may be able to replace the directory, or anything that its
  # path leads through.
  # user: the one owner that is allowed besides root; that it is this user is looked at last. With y
  # in front, no pattern of a mode fits.
  path=$(LC_ALL=C namei -mo -- "$directory")
  user='' unsafe='' last=''
  [ ! -O / ] || user=root
  while read -r mode owner rest; do
    case $mode in '' | f:) continue ;; esac
    last="$mode $owner $rest"
    case $owner in root | "${user:=$owner}") bad= ;; *) bad=y ;; esac
    case $bad$mode in l* | ?????-??-? | ?????????[tT]) ;; *) unsafe="$unsafe$last, " ;; esac
  done << END
$path
END
  case $last in
  d????-??-?' '*) [ -O . ] || unsafe=$last ;;
  *) unsafe=${last:-namei failed} ;;
  esac
  [ -z "$unsafe" ] || fail 73 \
    "$directory is not a safe directory for a job, because others can change this: ${unsafe%, }"
}
