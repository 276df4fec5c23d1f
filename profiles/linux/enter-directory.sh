# Exit status 75: the directory is not there, though a job was or may have been submitted in it; its
# file system is away. mark, at home, has the directory while that is not known; after that, links
# lead there. If it was removed, its user can write to what is left of its path.
check_file_system() {
  gpe_mark=${gpe_directory%/}
  gpe_mark=$HOME/.gpe/submitting/${gpe_mark##*/} gpe_place=$gpe_directory
  until [ -d "${gpe_place:=/}" ]; do gpe_place=${gpe_place%/*}; done
  [ ! -d "$gpe_directory" ] || return 0
  is_marked || { [ ! -w "$gpe_place" ] && has_link; } || return 0
  fail 75 "$gpe_directory is not there, and it is not known whether a job was submitted in it: is \
its file system there? (if it was removed, and there is no job, remove $gpe_mark)"
}
is_marked() {
  { IFS= read -r gpe_marked < "$gpe_mark"; } 2> /dev/null && [ "$gpe_marked" = "$gpe_directory" ]
}
has_link() {
  find "$gpe_jobs" -maxdepth 1 -type l -printf '%l\n' 2> /dev/null | grep -qxF -e "$gpe_directory"
}
# Makes the working directory, if there is none, and refuses one that others could change; exit
# status 73: nothing was done.
enter_directory() {
  [ ! -L "${gpe_directory%/}" ] ||
    fail 73 "$gpe_directory is a link: a job's directory is none, so that nobody can point it \
elsewhere"
  (umask 077 && mkdir -p -- "$gpe_jobs" "${gpe_mark%/*}" "$gpe_directory/.gpe") &&
    cd -- "$gpe_directory" ||
    fail 73 "jobs cannot work in $gpe_directory: a profile names the directory for them as \
UspaceRoot"
  check_paths "$(LC_ALL=C namei -mo -- "$gpe_directory")"
  [ -O . ] || gpe_unsafe=$gpe_entry
  [ -z "$gpe_unsafe" ] || fail 73 \
    "$gpe_directory is not a safe directory for a job, because others can change this: \
${gpe_unsafe%, }"
}
# TEXT of namei for one or more directories. As sshd's StrictModes: nobody else may be able to
# replace a directory, or anything that its path leads through. namei prints MODE OWNER NAME of
# each: a link is safe, and what neither group nor others can write to, and what has the sticky bit;
# the owner must be root or gpe_path_owner, who is the first other owner. That this is who runs the
# program is checked last, by -O. Sets gpe_unsafe to what is not safe.
check_paths() {
  gpe_path_owner='' gpe_unsafe='' gpe_entry=
  [ ! -O / ] || gpe_path_owner=root # root runs this: every directory must be root's
  while read -r gpe_mode gpe_owner gpe_rest; do
    case $gpe_mode in
    '') continue ;;
    f:) # the next one
      [ -z "$gpe_entry" ] || check_last_entry
      gpe_entry=
      continue
      ;;
    esac
    gpe_entry="$gpe_mode $gpe_owner $gpe_rest"
    [ "$gpe_owner" = root ] || gpe_path_owner=${gpe_path_owner:-$gpe_owner}
    case $gpe_owner in root | "$gpe_path_owner") ;; *) gpe_mode=unsafe ;; esac
    # a link; no w for the group and for others; a sticky bit
    case $gpe_mode in
    l* | ?????-??-? | ?????????[tT]) ;;
    *) gpe_unsafe="$gpe_unsafe$gpe_entry, " ;;
    esac
  done << END
$1
END
  check_last_entry
}
check_last_entry() { # is it a directory that only its owner can change?
  case $gpe_entry in
  d????-??-?' '*) ;;
  *) gpe_unsafe=${gpe_entry:-namei failed} ;;
  esac
}
# One submission at a time in the directory. command: a shell goes on if its exec fails; 3>&3, as
# ksh closes 3 in a command unless it is redirected explicitly. What submits several jobs has one
# lock for all of them, whose path is in the file, and removes it at its end.
take_lock() {
  command exec 3>> .gpe/lock && flock 3 3>&3 || return
  read -r gpe_lock < .gpe/lock && [ -e "$gpe_lock" ] || return 0
  command exec 3<> "$gpe_lock" && flock 3 3>&3
}
