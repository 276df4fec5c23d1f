# delete.sh PROFILE ROOT PATH: removes a file, or a directory with its contents. Exit status 1: it
# is the home, the root of the working directories, or one that these are in; or it cannot be
# removed.
main() { # PROFILE ROOT PATH
  gpe_jobs=${HOME:?}/.gpe/jobs/$1
  path=$3
  user=$2/$(id -un)
  # A link to one of these is only a link.
  if [ ! -L "$path" ]; then
    for kept in "$HOME" "$2" "$user"; do
      check_above "$kept"
      check_above "$(readlink -f -- "$kept")"
    done
  fi
  id=
  # shellcheck disable=SC3067  # every sh of Linux has -O
  [ ! -O "$path" ] || [ ! -f "$path/.gpe/id" ] || read -r id < "$path/.gpe/id"
  # twice: a job that has just ended may write a last file meanwhile
  rm -rf -- "$path" 2> /dev/null || rm -rf -- "$path" || exit
  remove_links
}
check_above() { # DIRECTORY: the path is neither this nor one above it, however it is spelled
  above=$1
  while :; do
    # shellcheck disable=SC3013  # every sh of Linux has -ef
    if [ "$path" -ef "${above:-/}" ]; then
      printf 'DELETE: %s is %s, which must not be removed\n' "$path" "${above:-/}" >&2
      exit 1
    fi
    [ -n "${above#/}" ] || break
    above=${above%/*}
  done
}
remove_links() { # a job's id stands for its directory no longer
  case $id in '' | */* | .*) return ;; esac
  for link in "$gpe_jobs/$id" "$gpe_jobs/live/$id"; do
    [ -e "$link" ] || [ ! -L "$link" ] || rm -f -- "$link"
  done
}
