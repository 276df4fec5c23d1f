"""The options of batch systems, read as the batch system itself reads them: one table a family.

The profile says how its directives begin (DIRECTIVE_PREFIX). Whoever writes a profile for a batch system with directives
of one of these forms needs no code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from osprofile.job_scripts import quantities
from osprofile.job_scripts.bsub import BSUB_TABLE, parse_lsf_time, read_bsub
from osprofile.job_scripts.command_line import (
    CommandLine,
    merge_lines,
    parse_directives,
    parse_long_words,
    read_directives,
)
from osprofile.job_scripts.qsub import QSUB_TABLE, read_qsub
from osprofile.job_scripts.sbatch import SBATCH_TABLE, read_sbatch
from osprofile.job_scripts.sge import SGE_TABLE, read_sge
from osprofile.late import NamedTuple
from osprofile.text import quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from osprofile.job_scripts.command_line import Directive, Option, OptionValue
    from osprofile.job_scripts.script_request import Given, ScriptRequest


@final
class Family(NamedTuple):
    """The options of a batch system: its name, their table, and the function that reads them.

    - `parse_time`: its times, in seconds
    - `submit_variable`: the variable of a job that names the directory of the submission
    - `has_words`: a flag such as `-cwd` is a whole word; `is_everywhere`: Grid Engine reads a whole script; the others stop
      at the first command
    - `stand_in`: what `incarnate shim --as` calls it
    """

    name: str
    table: Sequence[Option]
    read: Callable[[CommandLine, Given], ScriptRequest]
    parse_time: Callable[[OptionValue], int]
    submit_variable: str
    has_words: bool = False
    is_everywhere: bool = False
    stand_in: str = ""

    def parse(self, directives: Sequence[Directive]) -> CommandLine:
        """Return the options of directives; what is in no table is among them. Raises `UsageError`."""
        if self.has_words:
            return parse_long_words(self.table, directives)
        return merge_lines(parse_directives(self.table, directives, keeps_others=True))


FAMILIES: Final = {
    "#SBATCH": Family(
        "Slurm", SBATCH_TABLE, read_sbatch, quantities.parse_slurm_time, "SLURM_SUBMIT_DIR", stand_in="slurm"
    ),
    "#PBS": Family(
        "PBS", QSUB_TABLE, read_qsub, quantities.parse_pbs_time, "PBS_O_WORKDIR", stand_in="pbs"
    ),
    "#BSUB": Family("LSF", BSUB_TABLE, read_bsub, parse_lsf_time, "LS_SUBCWD", has_words=True),
    "#$": Family(
        "Grid Engine", SGE_TABLE, read_sge, quantities.parse_pbs_time, "SGE_O_WORKDIR", has_words=True,
        is_everywhere=True,
    ),
}  # fmt: skip
"""By the prefix of the directives."""


def read_script_request(script: str, name: str, prefix: str, given: Given) -> ScriptRequest | None:
    """Return what the directives of a script ask for; None if it has none, or nobody can read those of this prefix.

    `name` is the script's, for messages. Raises `UsageError` for what is not understood.
    """
    family = FAMILIES.get(prefix)
    if family is None:
        return None
    directives = read_directives(
        script, prefix, lambda line: f"{quote_name(name)}:{line}: ", is_everywhere=family.is_everywhere
    )
    return family.read(family.parse(directives), given) if directives else None
