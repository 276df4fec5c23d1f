"""Where a job runs, and the files that it brings along and leaves.

The job does it itself, on the machine where it runs, by a fixed script to which all names are
arguments: no value of an ad is ever part of a shell's text. So the daemon need not live on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from osprofile.executors.blah.attributes import Submission
    from osprofile.jobs.description import JobDescription

PROXY_FILE_NAME: Final = ".gpe_proxy"
"""The user's proxy, in the job's working directory."""

STAGING_SCRIPT: Final = r"""
die() { printf 'the job cannot go on: %s\n' "$1" >&2; kill -s KILL "$$"; exit 1; }
run() { # PROGRAM ARGUMENT...: in place of this shell
  if [ "$stage" = y ]; then
    bin=${GPE_WORKING_DIRECTORY:?}/.gpe_bin
    name=${1##*/}
    mkdir -p -- "$bin" && cp -- "$1" "$bin/$name" && chmod u+rx -- "$bin/$name" || die "$1 cannot be brought"
    shift
    set -- "$bin/$name" "$@"
  fi
  exec "$@"
}
bring() { # FILE OPTION: into this directory, but not in the place of our own, nor through a link that was brought
  name=${1##*/}
  case $name in .gpe_*) return 0 ;; esac
  [ ! -h "./$name" ] || rm -f -- "./$name" || return
  cp "$2" -- "$1" .
}
bring_all() { # DIRECTORY/: what is in it
  [ -d "$1" ] && [ -r "$1" ] && [ -x "$1" ] || return
  for file in "$1".[!.]* "$1"..?* "$1"*; do
    if [ -e "$file" ] || [ -h "$file" ]; then bring "$file" -RP || return; fi
  done
}
bring_back() { # NAME TARGET
  if [ -d "$1" ]; then
    mkdir -p -- "$2" && cp -R -- "${1%/}/." "$2/" || die "$1 cannot be brought back to $2"
  else
    cp -- "$1" "$2" || die "$1 cannot be brought back to $2"
  fi
}
# New is what has another name than a file that was there before, or another inode, size or time than it.
looks() { # FILE
  set -f
  set -- $(LC_ALL=C ls -dlni -- "$1")
  set +f
  printf '%s\n' "$1 $6 $7 $8 $9"
}
each_file() { # COMMAND: for each file at the top of this directory but our own
  for file in .[!.]* ..?* *; do
    case $file in .gpe_*) continue ;; esac
    [ ! -f "$file" ] || "$@"
  done
}
note() { looks "$file" > ".gpe_old/$file"; }
note_all() {
  mkdir -p .gpe_old && each_file note && : > .gpe_old_mark || die "the names of its files cannot be noted"
  tries=0 # a file that is changed from now on is newer than the mark: its time may count in seconds
  until : > .gpe_old_probe; [ -n "$(find .gpe_old_probe -newer .gpe_old_mark)" ] || [ "$tries" -gt 2000 ]; do
    tries=$((tries + 1))
  done
}
bring_new_back() { # NAME TARGET...: what goes elsewhere than to its name in $back
  [ ! -f ".gpe_old/$file" ] || [ "$(looks "$file")" != "$(cat -- ".gpe_old/$file")" ] ||
    [ -n "$(find "./$file" -newer .gpe_old_mark)" ] || return 0
  target=$back/$file left=$outputs
  while [ "$left" -gt 0 ]; do
    [ "$1" != "$file" ] || target=$2
    shift 2
    left=$((left - 1))
  done
  bring_back "./$file" "$target"
}
iwd=$1 stage=$2 back=$3 inputs=$4
shift 4
while [ "$inputs" -gt 0 ]; do
  case $1 in
  */) bring_all "$1" ;;
  *) bring "$1" -RH ;;
  esac || die "$1 cannot be brought"
  shift
  inputs=$((inputs - 1))
done
[ -z "$iwd" ] || cd -- "$iwd" || die "$iwd cannot be entered"
outputs=$1
shift
[ "$outputs" -gt 0 ] || [ -n "$back" ] || run "$@"
[ -z "$back" ] || note_all
# A signal for the whole job is the program's: what it leaves is brought, unless it ends by that.
told=
trap told=y HUP INT QUIT ILL TRAP ABRT BUS FPE SEGV PIPE ALRM USR1 USR2 TERM XCPU XFSZ VTALRM PROF SYS
(shift "$((outputs * 2))"; run "$@")
status=$?
[ "$status" -le 255 ] || status=$((status % 128 + 128)) # ksh and yash tell signals by larger numbers
[ -z "$told" ] || [ "$status" -le 128 ] || exit "$status"
if [ -n "$back" ]; then
  each_file bring_new_back "$@"
  outputs=0
fi
while [ "$outputs" -gt 0 ]; do
  if [ -f "$1" ] || [ -d "$1" ]; then
    bring_back "$1" "$2"
  else
    printf 'there is no output file %s\n' "$1" >&2
  fi
  shift 2
  outputs=$((outputs - 1))
done
exit "$status"
"""
"""Arguments: the directory to run in (empty: the job's own), `y` if the program is to be brought, where
new and changed files are to go (empty: nowhere), how many inputs, these, how many outputs, their names
there and where they go, the program and its arguments. What cannot be brought ends the job by a signal,
as what cannot begin does."""


def build_staged_job(submission: Submission, directory: str, *, has_proxy: bool) -> JobDescription:
    """Give the job that runs a submission's program where, and with the files that, it asks for.

    One that brings or leaves files runs in `directory`, its own; any other where its client is.
    `has_proxy`: there is going to be a proxy.
    """
    description = replace(submission.description, directory=directory)
    if has_proxy:
        environment = {
            **description.environment,
            "X509_USER_PROXY": f"{directory}/{PROXY_FILE_NAME}",
        }
        description = replace(description, environment=environment)
    brings = bool(submission.inputs or submission.outputs)
    iwd = "" if brings or not submission.iwd else submission.iwd
    if description.executable is None or not (iwd or brings or submission.stages_executable):
        return description
    arguments = (
        "-c", STAGING_SCRIPT, "sh", iwd, "y" if submission.stages_executable else "",
        submission.iwd if brings and submission.returns_new_files and submission.iwd else "",
        str(len(submission.inputs)), *submission.inputs,
        str(len(submission.outputs)), *(name for pair in submission.outputs for name in pair),
        description.executable, *description.arguments,
    )  # fmt: skip
    return replace(description, executable="/bin/sh", arguments=arguments)
