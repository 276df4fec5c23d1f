# Exit status 75: the directory is not there, though a job was or may have been submitted in it; its
# file system is away. mark, at home, has the directory while that is not known; after that, links
# lead there. If it was removed, its user can write to what is left of its path.
check_file_system() {
  mark=${directory%/}
  mark=$HOME/.gpe/submitting/${mark##*/} place=$directory
  until [ -d "${place:=/}" ]; do place=${place%/*}; done
  [ ! -d "$directory" ] || return 0
  is_marked || { [ ! -w "$place" ] && has_link; } || return 0
  fail 75 "$directory is not there, and it is not known whether a job was submitted in it: is its \
file system there? (if it was removed, and there is no job, remove $mark)"
}
is_marked() {
  { IFS= read -r marked < "$mark"; } 2> /dev/null && [ "$marked" = "$directory" ]
}
has_link() {
  find "$gpe_jobs" -maxdepth 1 -type l -printf '%l\n' 2> /dev/null | grep -qxF -e "$directory"
}
# Makes the working directory, if there is none, and refuses one that others could change; exit
# status 73: nothing was done.
enter_directory() {
  [ ! -L "${directory%/}" ] ||
    fail 73 "$directory is a link: a job's directory is none, so that nobody can point it elsewhere"
  (umask 077 && mkdir -p -- "$gpe_jobs" "${mark%/*}" "$directory/.gpe") && cd -- "$directory" ||
    fail 73 "jobs cannot work in $directory: a profile names the directory for them as UspaceRoot"
  # As sshd's StrictModes: nobody else may be able to replace the directory, or anything that its
  # path leads through. namei prints MODE OWNER NAME of each: a link is safe, and what neither group
  # nor others can write to, and what has the sticky bit; the owner must be root or path_owner, who
  # is the first other owner. That this is who runs the program is checked last, by -O.
  path=$(LC_ALL=C namei -mo -- "$directory")
  path_owner='' unsafe='' entry=''
  [ ! -O / ] || path_owner=root # root runs this: every directory must be root's
  while read -r mode owner rest; do
    case $mode in '' | f:) continue ;; esac
    entry="$mode $owner $rest"
    [ "$owner" = root ] || path_owner=${path_owner:-$owner}
    case $owner in root | "$path_owner") ;; *) mode=unsafe ;; esac
    # a link; no w for the group and for others; a sticky bit
    case $mode in l* | ?????-??-? | ?????????[tT]) ;; *) unsafe="$unsafe$entry, " ;; esac
  done << END
$path
END
  case $entry in
  d????-??-?' '*) [ -O . ] || unsafe=$entry ;;
  *) unsafe=${entry:-namei failed} ;;
  esac
  [ -z "$unsafe" ] || fail 73 \
    "$directory is not a safe directory for a job, because others can change this: ${unsafe%, }"
}
