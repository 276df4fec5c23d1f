"""Static scripts: written once to the BIN directory, then run with arguments (seed, 2.2).

Deployment is itself a shell script, so that it works wherever a shell can be reached. Each file is
written under a temporary name of its own, compared with what is there, and renamed: a reader sees
the old file or the new one, whole; two deployments at once do not disturb each other; a second
deployment changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Iterable

SCRIPT_FILE_MODE = 0o700


@final
class StaticScriptFile(NamedTuple):
    """A static script to deploy: `path` and `directory` are shell words (`"$HOME"/.gpe/bin/x`).

    `body` is written as it is; the file is its owner's only (`mode`).
    """

    path: str
    body: str
    directory: str
    mode: int = SCRIPT_FILE_MODE

    @property
    def digest(self) -> str:
        """The SHA-256 of the body, in hex: what a caller remembers to skip a deployment."""
        return _compute_digest(self.body)


def get_deployed_name(file_name: str, body: str) -> str:
    """Return the name of a static script's file: `count.sh` is `count.0123456789abcdef.sh`.

    All profiles of a user share one directory. With the body's digest in its name no file is ever
    written with another content, so that a profile, or another version of it, disturbs no script
    that is about to run.
    """
    stem, dot, suffix = file_name.rpartition(".")
    return (
        f"{stem}.{_compute_digest(body)[:16]}.{suffix}"
        if dot
        else f"{suffix}.{_compute_digest(body)[:16]}"
    )


def _compute_digest(body: str) -> str:
    from hashlib import sha256

    return sha256(body.encode()).hexdigest()


def quote_shell_word(value: str) -> str:
    """Quote a value as one word of a POSIX shell."""
    return "'" + value.replace("'", "'\\''") + "'"


def deployment_script(scripts: Iterable[StaticScriptFile]) -> str:
    """Give the `sh` script that deploys static scripts; it prints nothing, and fails as a whole.

    It exits with 0 where every file is in place, whatever it had to do for that.
    """
    return "".join([_DEPLOY_FUNCTION, *map(_format_deploy_call, scripts)])


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


def _format_deploy_call(script: StaticScriptFile) -> str:
    return (
        f"deploy {script.directory} {script.path} {quote_shell_word(script.body)} {script.mode:o}\n"
    )
