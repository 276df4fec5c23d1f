# delete.sh PROFILE ROOT PATH: removes a file, or a directory with its contents. Exit status 1: it is the home, the root
# of the working directories, or one that these are in; or it cannot be removed.
gpe_jobs=${HOME:?}/.gpe/jobs/$1
root=$2
path=$3
# Neither the home nor the root of the working directories, nor this user's part of it, nor what any of them is in,
# however it is spelled. A link to one of them is only a link.
user=$root/$(id -un)
# shellcheck disable=SC3013  # every sh of Linux has -ef
[ -L "$path" ] || for kept in "$HOME" "$root" "$user" "$(readlink -f -- "$HOME")" "$(readlink -f -- "$root")" "$(readlink -f -- "$user")"; do
  while :; do
    [ ! "$path" -ef "${kept:-/}" ] || {
      printf 'DELETE: %s is %s, which must not be removed\n' "$path" "${kept:-/}" >&2
      exit 1
    }
    [ -n "${kept#/}" ] || break
    kept=${kept%/*}
  done
done
id=
[ ! -f "$path/.gpe/id" ] || read -r id < "$path/.gpe/id"
rm -rf -- "$path" 2> /dev/null || rm -rf -- "$path" || exit # a job that has just ended may write a last file meanwhile
# a job's id stands for its directory no longer
case $id in
'' | */* | .*) ;;
*)
  for link in "$gpe_jobs/$id" "$gpe_jobs/live/$id"; do
    [ -e "$link" ] || [ ! -L "$link" ] || rm -f -- "$link"
  done
  ;;
esac
