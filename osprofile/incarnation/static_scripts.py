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
    from collections.abc import Iterable, Sequence

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
    first removes from their directories the static scripts, of any profile, that nobody has read for a week, and that no
    job uses that has not ended.
    """
    scripts = list(scripts)
    lines = [_DEPLOY_FUNCTION]
    if prune:
        lines += [_PRUNE_FUNCTION, *(f"prune {d}\n" for d in dict.fromkeys(s.directory for s in scripts))]
    return "".join([*lines, *map(_format_deploy_call, scripts)])


def add_check(text: str, scripts: Sequence[StaticScriptFile], profile_name: str) -> str:
    """Return a script with a line that says what to do where its static scripts are not deployed.

    It looks for the first of them, as those of a profile are deployed together. It does not exit: the script may be
    pasted into a shell, and fails by itself.
    """
    if not scripts:
        return text
    comment, line_end, rest = text.partition("\n") if text.startswith("# ") else ("", "", text)
    check = (
        f"[ -s {scripts[0].path} ] || echo 'install: incarnate render --deploy -p {profile_name} --run' >&2\n"
    )
    return f"{comment}{line_end}{check}{rest}"


# No `set -e`: it has no effect in a script whose caller looks at its exit status with `||` or `if`.
_DEPLOY_FUNCTION = """\
set -u
umask 077
fail() { printf '%s\\n' "$1" >&2; exit 1; }
deploy() { # DIRECTORY PATH BODY MODE
  mkdir -p -- "$1" || exit 1
  chmod go-w -- "$1" || exit 1 # who may write here could run his own scripts as us
  [ ! -d "$2" ] || fail "$2 is a directory"
  new=$(mktemp -- "$2.XXXXXXXX") || exit 1
  trap 'rm -f -- "$new"' EXIT HUP INT TERM
  printf '%s' "$3" > "$new" || fail "$2 cannot be written"
  chmod "$4" -- "$new" || exit 1
  if [ -f "$2" ] && [ ! -L "$2" ] && cmp -s -- "$new" "$2"; then
    chmod "$4" -- "$2" && rm -f -- "$new" || exit 1
  else
    sync -- "$new" 2> /dev/null || : # else a crash may leave it empty
    mv -f -- "$new" "$2" || exit 1
  fi
  trap - EXIT HUP INT TERM
}
"""


_DIGEST_PATTERN = "[0-9a-f]" * 16
_PRUNE_FUNCTION = f"""\
# What the scripts of jobs name that may still run, begin or be run again: an early 0.1.0 had them in .gpe_job.
print_used() {{
  echo // # no file
  for job in "${{HOME:?}}"/.gpe/jobs/*/*; do
    [ -e "$job/.gpe_exit_status" ] || [ -e "$job/.gpe/removed" ] || printf '%s\\n' "$job/.gpe/script" "$job/.gpe_job"
  done | tr '\\n' '\\0' | LC_ALL=C xargs -0 grep -ohs -e '\\.{_DIGEST_PATTERN}' /dev/null
}}
prune() {{ # DIRECTORY: a submission that is under way has read its program
  [ -d "$1" ] || return 0
  used=$(print_used)
  (cd -- "$1" && find . -maxdepth 1 -type f -name '*.{_DIGEST_PATTERN}*' -atime +6) |
    LC_ALL=C grep -vF -e "$used" | while IFS= read -r file; do rm -f -- "$1/$file" || exit 1; done || exit 1
}}
"""


def _format_deploy_call(script: StaticScriptFile) -> str:
    return f"deploy {script.directory} {script.path} {quote_shell_word(script.body)} {script.mode:o}\n"
