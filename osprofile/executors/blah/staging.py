"""Where a job runs, and the files that it brings along and leaves.

The job does it itself, on the machine where it runs, by a fixed script to which all names are
arguments: no value of an ad is ever part of a shell's text. So the daemon need not live on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from osprofile.executors.blah.attributes import Submission
    from osprofile.target.job import JobDescription

PROXY: Final = ".gpe_proxy"
"""The user's proxy, in the job's working directory."""

SCRIPT: Final = r"""
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
iwd=$1 stage=$2 inputs=$3
shift 3
while [ "$inputs" -gt 0 ]; do
  case $1 in
  */) cp -R -- "$1." . ;;
  *) cp -R -- "$1" . ;;
  esac || die "$1 cannot be brought"
  shift
  inputs=$((inputs - 1))
done
[ -z "$iwd" ] || cd -- "$iwd" || die "$iwd cannot be entered"
outputs=$1
shift
[ "$outputs" -gt 0 ] || run "$@"
(shift "$((outputs * 2))"; run "$@")
status=$?
while [ "$outputs" -gt 0 ]; do
  if [ -d "$1" ]; then
    mkdir -p -- "$2" && cp -R -- "${1%/}/." "$2/" || die "$1 cannot be brought back to $2"
  elif [ -e "$1" ]; then
    cp -- "$1" "$2" || die "$1 cannot be brought back to $2"
  else
    printf 'there is no output file %s\n' "$1" >&2
  fi
  shift 2
  outputs=$((outputs - 1))
done
exit "$status"
"""
"""Arguments: the directory to run in (empty: the job's own), `y` if the program is to be brought, how
many inputs, these, how many outputs, their names there and where they go, the program and its
arguments. What cannot be brought ends the job by a signal, as what cannot begin does."""


def staged(submission: Submission, directory: str, *, proxied: bool) -> JobDescription:
    """Give the job that runs a submission's program where, and with the files that, it asks for.

    One that brings or leaves files runs in `directory`, its own; any other where its client is.
    `proxied`: there is going to be a proxy.
    """
    description = replace(submission.description, directory=directory)
    if proxied:
        environment = {**description.environment, "X509_USER_PROXY": f"{directory}/{PROXY}"}
        description = replace(description, environment=environment)
    brings = bool(submission.inputs or submission.outputs)
    iwd = "" if brings or not submission.iwd else submission.iwd
    if description.executable is None or not (iwd or brings or submission.stage_cmd):
        return description
    arguments = (
        "-c", SCRIPT, "sh", iwd, "y" if submission.stage_cmd else "",
        str(len(submission.inputs)), *submission.inputs,
        str(len(submission.outputs)), *(name for pair in submission.outputs for name in pair),
        description.executable, *description.arguments,
    )  # fmt: skip
    return replace(description, executable="/bin/sh", arguments=arguments)
