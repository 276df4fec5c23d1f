"""Static scripts: written once to a folder of the BIN directory, then run with arguments (OS Profile 0.3, 2.2).

A shell script deploys them, so that a shell on the target system is enough. All scripts of a profile lie in
one folder, which is named by the digest of them all: they keep their names, and find each other there. The
folder is written under a temporary name, synced, and renamed, so that it is whole or not there; concurrent
deployments do not disturb each other, and a second deployment changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from osprofile.files import compute_digest, join_with_lengths
from osprofile.late import NamedTuple
from osprofile.text import quote_shell_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SCRIPT_FILE_MODE = 0o700


@final
class StaticScriptFile(NamedTuple):
    """A static script to deploy."""

    path: str
    """The file as a shell word: `"$HOME"/.gpe/bin/0123456789abcdef/x`."""
    body: str
    """The content, which is written unchanged."""
    directory: str
    """BIN's directory as a shell word."""
    folder: str
    """The name of the folder in it: the digest of all static scripts of the profile."""

    @property
    def mode(self) -> int:
        """The permission bits: only the owner may access the file."""
        return SCRIPT_FILE_MODE

    @property
    def digest(self) -> str:
        """The SHA-256 of the body, in hex: a caller that remembers it can skip a deployment."""
        return compute_digest(self.body.encode())


def compute_folder_name(bodies: Mapping[str, str]) -> str:
    """Return the name of the folder of all static scripts of a profile, from their bodies by name.

    All profiles of a user share one directory. With the digest as its name a folder never changes its
    content: another profile, or another version of this one, cannot replace a script that a job is about to run.
    """
    parts = (part.encode() for item in sorted(bodies.items()) for part in item)
    return compute_digest(join_with_lengths(parts))[:16]


def hide_folder(text: str, folder: str) -> str:
    """Return a text with the word DIGEST in the place of the folder of static scripts; any without a folder."""
    return text.replace(f"/{folder}/", "/DIGEST/") if folder else text


def deployment_script(scripts: Iterable[StaticScriptFile], *, prune: bool = False) -> str:
    """Return the `sh` script that deploys static scripts.

    `scripts` are all static scripts of a profile. It prints nothing and exits with 0 if every file is in place; it
    stops at the first error. With `prune`, it
    first removes from their directories the static scripts, of any profile, that nobody has read for a week, and that no
    job uses that has not ended.
    """
    scripts = list(scripts)
    if not scripts:
        return ""
    lines = [_DEPLOY_FUNCTIONS]
    if prune:
        lines += [_PRUNE_FUNCTION, *(f"prune {d}\n" for d in dict.fromkeys(s.directory for s in scripts))]
    lines.append(f"begin {scripts[0].folder} {scripts[0].path}\n")
    lines += [f"add {script.path} {quote_shell_word(script.body)}\n" for script in scripts]
    return "".join([*lines, "install\n"])


# No `set -e`: it has no effect in a script whose caller looks at its exit status with `||` or `if`.
_DEPLOY_FUNCTIONS = f"""\
set -u
umask 077
fail() {{ printf '%s\\n' "$1" >&2; exit 1; }}
begin() {{ # FOLDER PATH: of the first script
  folder=${{2%/*}}
  case ${{folder##*/}} in *"$1") ;; *) fail "$2: BIN does not write <FILE_NAME> as it is, at the end" ;; esac
  mkdir -p -- "${{folder%/*}}" || exit 1
  chmod go-w -- "${{folder%/*}}" || exit 1 # who may write here could run his own scripts as us
  new=$(mktemp -d -- "$folder.XXXXXXXX") || exit 1
  trap 'rm -rf -- "$new" "$new".*' EXIT HUP INT TERM
}}
add() {{ # PATH BODY
  [ "${{1%/*}}" = "$folder" ] || fail "$1 is not in $folder"
  printf '%s' "$2" > "$new/${{1##*/}}" || fail "$1 cannot be written"
}}
is_installed() {{
  [ ! -L "$folder" ] && diff -r -- "$new" "$folder" > /dev/null 2>&1 && [ -z "$(cd -- "$folder" && find . -type l)" ]
}}
install() {{
  chmod {SCRIPT_FILE_MODE:o} -- "$new"/* || exit 1
  if is_installed; then
    chmod {SCRIPT_FILE_MODE:o} -- "$folder" "$folder"/* || exit 1
  else
    sync -- "$new"/* "$new" 2> /dev/null || : # else a crash may leave them empty
    tries=.
    until mv -T -- "$new" "$folder" 2> /dev/null || is_installed; do # or another deployment has made it
      [ "$tries" != ..... ] || fail "$folder cannot be made"
      mv -T -- "$folder" "$new.$tries" 2> /dev/null || : # it is not whole
      tries=.$tries
    done
  fi
  rm -rf -- "$new" "$new".* || exit 1
  trap - EXIT HUP INT TERM
}}
"""


_DIGEST_PATTERN = "[0-9a-f]" * 16
# An early 0.2.0 had no folders: the digest of a file was in its name.
_PRUNE_FUNCTION = f"""\
# What the scripts of jobs name that may still run, begin or be run again: an early 0.1.0 had them in .gpe_job.
print_used() {{
  echo // # no file
  for job in "${{HOME:?}}"/.gpe/jobs/*/*; do
    [ -e "$job/.gpe_exit_status" ] || [ -e "$job/.gpe/removed" ] || printf '%s\\n' "$job/.gpe/script" "$job/.gpe_job"
  done | tr '\\n' '\\0' | LC_ALL=C xargs -0 grep -ohs -e '[./]{_DIGEST_PATTERN}' /dev/null
}}
print_old() {{
  find . -maxdepth 1 -type f -name '*.{_DIGEST_PATTERN}*' -atime +6
  for folder in ./{_DIGEST_PATTERN}*/; do
    recent=$(find "$folder" -type f -atime -7 -o -type d -mtime -7) || exit 1
    [ -n "$recent" ] || printf '%s\\n' "${{folder%/}}"
  done
}}
prune() {{ # DIRECTORY: a submission that is under way has read its program
  [ -d "$1" ] || return 0
  used=$(print_used)
  (cd -- "$1" && print_old) |
    LC_ALL=C grep -vF -e "$used" | while IFS= read -r file; do rm -rf -- "$1/$file" || exit 1; done || exit 1
}}
"""
