"""The shell script that runs a job's script as Slurm or PBS would: its environment, its output files, its signal.

All values are quoted by osprofile. `$i`, `$h` in the text are the index of an array's task and the node's name, which
are known only when the job runs.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from osprofile.caller_environment import is_job_variable
from osprofile.job_scripts.command_line import UsageError
from osprofile.jobs.request import quote_shell_words
from osprofile.late import compile_late
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

STAND_IN_MARK: Final = "written by: incarnate shim"
"""In the text of each stand-in."""
_KEPT_PREFIXES: Final = ("LC_", "LSF_", "OSPROFILE_", "SSH_", "XDG_", "XLSF_")
_KEPT_VARIABLES: Final = frozenset(
    {
        "HOME", "HOSTNAME", "KRB5CCNAME", "KRB5_CONFIG", "LANG", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "PWD", "SHELL",
        "TERM", "TMPDIR", "TZ", "USER", "PBS_CONF_FILE", "PBS_DEFAULT", "PBS_EXEC", "PBS_HOME", "PBS_SERVER",
        "SGE_CELL", "SGE_CLUSTER_NAME", "SGE_EXECD_PORT", "SGE_QMASTER_PORT", "SGE_ROOT", "SLURM_CONF",
    }
)  # fmt: skip
"""Variables that the scripts of a profile may need, even if the job gets none of the submitter's."""
_PATTERN: Final = compile_late(r"%([0-9]{0,2})(.?)", re.DOTALL)
_NUMBERED: Final = frozenset("jAaJ")  # Slurm fills only numbers with zeros
_MAX_WIDTH: Final = 10  # more is 10, as sbatch(1) says

_HEAD: Final = """\
#!/bin/sh
# Written by osprofile shim: runs the script beside it.
i=${GPE_ARRAY_INDEX-}
h=$(uname -n)
h=${h%%.*}
pad() { printf "%0$1d" "$2"; }
# Who submits may make the folder of an output only then, by the job's number: it has 5 seconds.
n=0
await() { for f; do until [ -d "${f%/*}/" ] || [ "$((n += 1))" -gt 50 ]; do sleep 0.1; done; done; }
"""
STEPS_VARIABLE: Final = "SLURM_STEPS_FILE"
"""The variable of a job that names a file: srun writes a line into it for each step, its process id and its start time."""
_SIGNAL: Final = """\
# The signal before the time limit, to this process, which becomes the script, or to what it starts by srun. A start time
# tells a process from a later one with the same id. What sends it is no child of the script, which may wait for all of
# its children.
since() { read -r s < "/proc/$1/stat" && s=${s##*) } && set -- $s && printf %s "${20}"; } 2> /dev/null
p=$$ t=$(since "$$")
( ( n=SECONDS
  while [ "$n" -gt 0 ] && [ "$(since "$p")" = "$t" ]; do
    d=$((n < 5 ? n : 5)) && sleep "$d" && n=$((n - d))
  done
  TARGETS | while read -r p t; do
    [ "$(since "$p")" != "$t" ] || kill -s NAME "$p"
  done ) < /dev/null > /dev/null 2>&1 & )
"""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapper:
    """What the wrapper does.

    - `environment`: variables to set; `runtime_environment`: those whose values are shell words
    - `command`: the interpreter, the script's path and its arguments
    - `stdin`, `stdout`, `stderr`: paths as shell words; `stderr` empty: the same file as `stdout`
    - `appends`: whether the output is appended to its files
    - `signal`: a signal's name, and after how many seconds it is sent
    - `steps_file`: a path as a shell word: the signal is for the processes in this file; empty: for the script
    """

    environment: Mapping[str, str]
    runtime_environment: Mapping[str, str]
    command: Sequence[str]
    stdin: str
    stdout: str
    stderr: str
    appends: bool = False
    signal: tuple[str, int] | None = None
    steps_file: str = ""

    def format(self) -> bytes:
        """Return the script; undecodable bytes of names and values stay as they were."""
        arrow = ">>" if self.appends else ">"
        error = f"2{arrow} {self.stderr}" if self.stderr else "2>&1"
        words = [quote_shell_words([f"{name}={value}"]) for name, value in self.environment.items()]
        words += [f"{name}={word}" for name, word in self.runtime_environment.items()]
        lines = [
            _HEAD,
            f"command exec < {self.stdin} || exit 125\n",
            f"await {self.stdout} {self.stderr}\n",
            f"command exec {arrow} {self.stdout} || exit 125\n",
            f"command exec {error} || exit 125\n",
        ]
        if self.signal is not None:
            targets = f"cat {self.steps_file}" if self.steps_file else 'echo "$p $t"'
            text = _SIGNAL.replace("SECONDS", str(self.signal[1])).replace("NAME", self.signal[0])
            lines.append(text.replace("TARGETS", targets))
        lines.append(f"exec env -- {' '.join(words)} {quote_shell_words(self.command)}\n")
        return "".join(lines).encode("utf-8", "surrogateescape")


_caller_path: list[str] = []


def leave_path() -> None:
    """Take the folders with stand-ins out of PATH: a profile's script means the real programs. Jobs keep them."""
    if not _caller_path:
        _caller_path.append(os.environ.get("PATH", ""))
        folders = _caller_path[0].split(os.pathsep)
        os.environ["PATH"] = os.pathsep.join(
            f for f in folders if not any(_is_stand_in(os.path.join(f, p)) for p in ("sbatch", "qsub"))
        )


def get_caller_path() -> str:
    """Return PATH as it was before `leave_path`."""
    return _caller_path[0] if _caller_path else os.environ.get("PATH", "")


def _is_stand_in(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return STAND_IN_MARK.encode() in file.read(4096)
    except OSError:
        return False


def select_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the submitter's variables that a job gets: all but those of a job that the submitter may be."""
    selected = {name: value for name, value in environment.items() if not is_job_variable(name)}
    return {**selected, "PATH": _caller_path[0]} if _caller_path else selected


def restrict_environment(passed: Collection[str]) -> None:
    """Remove from this process's environment what its job does not get: a job of this machine would inherit it.

    `passed` are the names that the job gets. What the clients of batch systems need is kept.
    """
    for name in list(os.environ):
        if name not in passed and name not in _KEPT_VARIABLES and not name.startswith(_KEPT_PREFIXES):
            del os.environ[name]


def format_slurm_path(flag: str, pattern: str, values: Mapping[str, str]) -> str:
    r"""Return the shell words of a file name pattern of Slurm: `%j`, `%x`, `%4a`; `\` in it turns that off.

    `values` has a shell word for each letter. Raises `UsageError` for any other letter.
    """
    if "\\" in pattern:
        return quote_shell_words([pattern.replace("\\", "")])
    parts, end = [], 0
    for match in _PATTERN.finditer(pattern):
        parts.append(quote_shell_words([pattern[end : match.start()]]))
        parts.append(_format_replacement(flag, match, values))
        end = match.end()
    return "".join([*parts, quote_shell_words([pattern[end:]])])


def _format_replacement(flag: str, match: re.Match[str], values: Mapping[str, str]) -> str:
    width, letter = match.groups()
    if letter == "%" and not width:
        return "'%'"
    if letter not in values:
        raise _refuse_letter(flag, match[0], values)
    if width and letter in _NUMBERED:
        # Without an array, the index is no number.
        return f'"$(pad {min(int(width), _MAX_WIDTH)} {values[letter]})"'
    return values[letter]


def expand_slurm_path(flag: str, pattern: str, values: Mapping[str, str]) -> str:
    r"""Return the path of a file name pattern of Slurm, as `format_slurm_path`; `values` are texts."""
    if "\\" in pattern:
        return pattern.replace("\\", "")

    def replace(match: re.Match[str]) -> str:
        width, letter = match.groups()
        if letter == "%":
            return "%"
        if letter not in values:
            raise _refuse_letter(flag, match[0], values)
        value = values[letter]
        return value.zfill(min(int(width), _MAX_WIDTH)) if width and letter in _NUMBERED else value

    return _PATTERN.sub(replace, pattern)


def _refuse_letter(flag: str, text: str, values: Iterable[str]) -> UsageError:
    hint = f"supported are {' '.join(f'%{name}' for name in values)} and %%"
    return UsageError(f"{flag}: {quote_value(text)} is not supported in a file's name", hint=hint)


def format_pbs_path(path: str, replacements: Iterable[tuple[str, str]]) -> str:
    """Return the shell words of a file's name of PBS, with shell words in the place of some texts."""
    words = quote_shell_words([path])
    for text, word in replacements:
        words = words.replace(text, f"'{word}'")
    return words
