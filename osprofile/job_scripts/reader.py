"""The directives of a job script, read as the batch system itself reads them.

The profile says how its directives begin (DIRECTIVE_PREFIX). Whoever writes a profile for a batch system with directives
of one of these forms needs no code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from osprofile.job_scripts.bsub import read_bsub
from osprofile.job_scripts.command_line import read_directives
from osprofile.job_scripts.qsub import read_qsub
from osprofile.job_scripts.sbatch import read_sbatch
from osprofile.job_scripts.sge import read_sge
from osprofile.text import quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from osprofile.job_scripts.command_line import Directive
    from osprofile.job_scripts.script_request import Given, ScriptRequest

READERS: Final[dict[str, Callable[[Sequence[Directive], Given], ScriptRequest]]] = {
    "#SBATCH": read_sbatch,
    "#PBS": read_qsub,
    "#BSUB": read_bsub,
    "#$": read_sge,
}
"""By the prefix of the directives."""
_READ_EVERYWHERE: Final = frozenset({"#$"})
"""Grid Engine reads a whole script; the others stop at the first command."""


def read_script_request(script: str, name: str, prefix: str, given: Given) -> ScriptRequest | None:
    """Return what the directives of a script ask for; None if it has none, or nobody can read those of this prefix.

    `name` is the script's, for messages. Raises `UsageError` for what is not understood.
    """
    reader = READERS.get(prefix)
    directives = read_directives(
        script, prefix, lambda line: f"{quote_name(name)}:{line}: ", is_everywhere=prefix in _READ_EVERYWHERE
    )
    return reader(directives, given) if reader is not None and directives else None
