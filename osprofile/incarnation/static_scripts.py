"""Static scripts: written once to the BIN directory, then run with arguments (OS Profile 0.3, 2.2).

A shell script deploys them, so that a shell on the target system is enough. Each file
is written under a unique temporary name, compared with the existing file, and renamed: a reader
sees the whole old file or the whole new one, concurrent deployments do not disturb each other,
and a second deployment changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

from osprofile.text import quote_shell_word

if TYPE_CHECKING:
    from collections.abc import Iterable

SCRIPT_FILE_MODE = 0o700


@final
class StaticScriptFile(NamedTuple):
    """A static script to deploy."""

    path: str
    """The file as a shell word: `"$HOME"/.gpe/bin/x`."""
    body: str
    """The content, which is written unchanged."""
    directory: str
    """Its directory as a shell word."""
    mode: int = SCRIPT_FILE_MODE
    """The permission bits: only the owner may access the file."""

    @property
    def digest(self) -> str:
        """The SHA-256 of the body, in hex: a caller that remembers it can skip a deployment."""
        return _compute_digest(self.body)


def get_deployed_name(file_name: str, body: str) -> str:
    """Return the name of a static script's file: `count.sh` is `count.0123456789abcdef.sh`.

    All profiles of a user share one directory. With the body's digest in its name a file never
    changes its content: another profile, or another version of this one, cannot replace a script
    that a job is about to run.
    """
    stem, dot, suffix = file_name.rpartition(".")
    digest = _compute_digest(body)[:16]
    return f"{stem}.{digest}.{suffix}" if dot else f"{suffix}.{digest}"


def _compute_digest(body: str) -> str:
    from hashlib import sha256

    return sha256(body.encode()).hexdigest()


def deployment_script(scripts: Iterable[StaticScriptFile], *, prune: bool = False) -> str:
    """Return the `sh` script that deploys static scripts.

    It prints nothing and exits with 0 if every file is in place; it stops at the first error. With `prune`, it
    first removes from their directories the static scripts, of any profile, that nobody has read for a week.
    """
    scripts = list(scripts)
    lines = [_DEPLOY_FUNCTION]
    if prune:
        lines += [_PRUNE_FUNCTION, *(f"prune {d}\n" for d in dict.fromkeys(s.directory for s in scripts))]
    return "".join([*lines, *map(_format_deploy_call, scripts)])


_DEPLOY_FUNCTION = """\
set -eu
umask 077
deploy() { # DIRECTORY PATH BODY MODE
  mkdir -p -- "$1"
  chmod go-w -- "$1" # who may write here could run his own scripts as us
  [ ! -d "$2" ] || { printf '%s\n' "$2 is a directory" >&2; exit 1; }
  new=$(mktemp -- "$2.XXXXXXXX")
  trap 'rm -f -- "$new"' EXIT HUP INT TERM
  printf '%s' "$3" > "$new"
  chmod "$4" -- "$new"
  if [ -f "$2" ] && [ ! -L "$2" ] && cmp -s -- "$new" "$2"; then
    chmod "$4" -- "$2"
    rm -f -- "$new"
  else
    mv -f -- "$new" "$2"
  fi
  trap - EXIT HUP INT TERM
}
"""


_PRUNE_FUNCTION = f"""\
prune() {{ # DIRECTORY: a submission that is under way has read its program
  [ ! -d "$1" ] || (cd -- "$1" && find . -maxdepth 1 -type f -name '*.{"[0-9a-f]" * 16}*' -atime +6 -exec rm -f -- {{}} +)
}}
"""


def _format_deploy_call(script: StaticScriptFile) -> str:
    return f"deploy {script.directory} {script.path} {quote_shell_word(script.body)} {script.mode:o}\n"
