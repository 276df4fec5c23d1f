"""File staging: the directory where a job runs, its input files and its output files.

The job copies its files itself, on the machine where it runs, so that the daemon need not live as
long as the job. It does so by a fixed script that gets all names as arguments: no value of an ad is
ever part of a shell's text.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from osprofile.executors.blah.attributes import Submission
    from osprofile.jobs.fields import JobDescription

PROXY_FILE_NAME: Final = ".gpe/proxy"
"""The user's proxy, in the job's working directory."""
JOB_DIRECTORY_SUFFIX: Final = ".blah"
"""The end of the names of working directories: only these are ever removed, as no person chose them."""

STAGING_SCRIPT: Final = r"""
die() { printf 'the job cannot go on: %s\n' "$1" >&2; exit 125; }
run() { # PROGRAM ARGUMENT...: in place of this shell
  if [ "$stage" = y ]; then
    bin=${GPE_WORKING_DIRECTORY:?}/.gpe/bin
    name=${1##*/}
    mkdir -p -- "$bin" && cp -- "$1" "$bin/$name" && chmod u+rx -- "$bin/$name" || die "$1 cannot be copied"
    shift
    set -- "$bin/$name" "$@"
  fi
  command -v -- "$1" > /dev/null || die "$1 is not found"
  exec "$@"
}
copy_in() { # FILE OPTION: into this directory; never over our own files, nor through a link that was copied
  name=${1##*/}
  case $name in .gpe | .gpe_exit_status) return 0 ;; esac
  [ ! -h "./$name" ] || rm -f -- "./$name" || return
  cp "$2" -- "$1" .
}
copy_all_in() { # DIRECTORY/: its content
  [ -d "$1" ] && [ -r "$1" ] && [ -x "$1" ] || return
  for file in "$1".[!.]* "$1"..?* "$1"*; do
    if [ -e "$file" ] || [ -h "$file" ]; then copy_in "$file" -RP || return; fi
  done
}
copy_back() { # NAME TARGET
  if [ -d "$1" ]; then
    mkdir -p -- "$2" && cp -R -- "${1%/}/." "$2/" || die "$1 cannot be copied back to $2"
  else
    cp -- "$1" "$2" || die "$1 cannot be copied back to $2"
  fi
}
# A file is new or changed if its name was not there before, or if its inode, size or time differs.
print_identity() { # FILE
  set -f
  set -- $(LC_ALL=C ls -dlni -- "$1") # inode mode links user group size month day time name
  set +f
  printf '%s\n' "$1 $6 $7 $8 $9"
}
for_each_file() { # COMMAND: run it for each file at the top of this directory but our own
  for file in .[!.]* ..?* *; do
    case $file in .gpe | .gpe_exit_status) continue ;; esac
    [ ! -f "$file" ] || "$@"
  done
}
record_file() { print_identity "$file" > ".gpe/old/$file"; }
record_files() {
  mkdir -p .gpe/old && for_each_file record_file && : > .gpe/old_mark || die "the names of its files cannot be recorded"
  # Wait until a new file is newer than the mark, as the file system may count time in seconds. Then a file that
  # the job changes is newer, too.
  tries=0
  until : > .gpe/old_probe; [ -n "$(find .gpe/old_probe -newer .gpe/old_mark)" ] || [ "$tries" -gt 2000 ]; do
    tries=$((tries + 1))
  done
}
copy_back_if_new() { # NAME TARGET...: the files whose targets are not their names in $back
  [ ! -f ".gpe/old/$file" ] || [ "$(print_identity "$file")" != "$(cat -- ".gpe/old/$file")" ] ||
    [ -n "$(find "./$file" -newer .gpe/old_mark)" ] || return 0
  target=$back/$file remaining=$outputs
  while [ "$remaining" -gt 0 ]; do
    [ "$1" != "$file" ] || target=$2
    shift 2
    remaining=$((remaining - 1))
  done
  copy_back "./$file" "$target"
}
iwd=$1 stage=$2 back=$3 inputs=$4
shift 4
while [ "$inputs" -gt 0 ]; do
  case $1 in
  */) copy_all_in "$1" ;;
  *) copy_in "$1" -RH ;;
  esac || die "$1 cannot be copied"
  shift
  inputs=$((inputs - 1))
done
[ -z "$iwd" ] || cd -- "$iwd" || die "$iwd cannot be entered"
outputs=$1
shift
[ "$outputs" -gt 0 ] || [ -n "$back" ] || run "$@"
[ -z "$back" ] || record_files
# A signal for the whole job is for the program; this shell goes on and copies the outputs, unless the program
# ended by the signal.
signaled=
trap signaled=y HUP INT QUIT ILL TRAP ABRT BUS FPE SEGV PIPE ALRM USR1 USR2 TERM XCPU XFSZ VTALRM PROF SYS
(shift "$((outputs * 2))"; run "$@")
status=$?
[ "$status" -le 255 ] || status=$((status % 128 + 128)) # ksh and yash report signals by larger numbers
[ -z "$signaled" ] || [ "$status" -le 128 ] || exit "$status"
if [ -n "$back" ]; then
  for_each_file copy_back_if_new "$@"
  outputs=0
fi
while [ "$outputs" -gt 0 ]; do
  if [ -f "$1" ] || [ -d "$1" ]; then
    copy_back "$1" "$2"
  else
    printf 'there is no output file %s\n' "$1" >&2
  fi
  shift 2
  outputs=$((outputs - 1))
done
exit "$status"
"""
"""Its arguments: the directory to run in (empty: the job's own); `y` if the program is to be copied;
the destination of new and changed files (empty: none); the number of inputs, and these; the number
of outputs, and pairs of a name in the job's directory and its destination; the program and its
arguments. If a file cannot be used, it exits with 125, as job scripts do (`executors/failures.py`)."""


def build_staged_job(
    submission: Submission, directory: str, *, has_proxy: bool, job_name: str | None = None
) -> JobDescription:
    """Return the job that runs a submission's program, by the staging script if that is needed.

    A job with input or output files runs in `directory`, which is its own; any other job runs in Iwd.
    `has_proxy`: the proxy will be in `directory` when the job starts. `job_name`: of a job of the staging
    script, which would have the shell's.
    """
    description = replace(submission.description, working_directory=directory)
    if has_proxy:
        environment = {**description.environment, "X509_USER_PROXY": f"{directory}/{PROXY_FILE_NAME}"}
        description = replace(description, environment=environment)
    has_files = bool(submission.inputs or submission.outputs)
    iwd = "" if has_files or not submission.iwd else submission.iwd
    if description.executable is None or not (iwd or has_files or submission.stages_executable):
        return description
    arguments = (
        "-c", STAGING_SCRIPT, "sh", iwd, "y" if submission.stages_executable else "",
        submission.iwd if has_files and submission.returns_new_files and submission.iwd else "",
        str(len(submission.inputs)), *submission.inputs,
        str(len(submission.outputs)), *(name for pair in submission.outputs for name in pair),
        description.executable, *description.arguments,
    )  # fmt: skip
    return replace(description, executable="/bin/sh", arguments=arguments, name=description.name or job_name)
