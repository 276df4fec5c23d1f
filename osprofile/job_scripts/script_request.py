"""What the directives of a job script ask for, in the terms of a job's description."""

from __future__ import annotations

import os
import re
from collections.abc import Callable  # noqa: TC003  # a NamedTuple
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.caller_environment import copy_environment
from osprofile.errors import JobNotFoundError
from osprofile.job_scripts.command_line import CommandLine, OptionValue, UsageError, split_list
from osprofile.jobs.fields import DEPENDENCY_FIELD, FIELDS
from osprofile.late import NamedTuple, compile_late
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_CONDITIONS: Final = {
    "afterok": "after_ok", "afternotok": "after_not_ok", "afterany": "after_any",
    "afterokarray": "after_ok", "afternotokarray": "after_not_ok", "afteranyarray": "after_any",
}  # fmt: skip
_NOT_IN_NAMES: Final = compile_late(r"[^A-Za-z0-9_.@:+-]")


@final
class Given(NamedTuple):
    """What is known of a job besides its directives.

    `fields`: those that have a value already, which wins. `nodes`, `processes`, `cpus`, `gpus`: their values, None for none.
    `name`: that of the job, or of its script. `system`: the batch system, where several share a table. `default_nodes`: how
    many nodes a job has that asks for no number; None: only the batch system knows. `find_id` returns the id of a job that
    is meant by a word, None if it is no id; it may raise `JobNotFoundError`.
    """

    fields: frozenset[str] = frozenset()
    nodes: int | None = None
    processes: int | None = None
    cpus: int | None = None
    gpus: int | None = None
    user_name: str = ""
    name: str = ""
    system: str = ""
    default_nodes: int | None = None
    find_id: Callable[[str], str | None] = lambda word: word or None

    @property
    def is_array(self) -> bool:
        """Whether the command line asks for an array."""
        return "ARRAY" in self.fields


@final
class ExactOption(NamedTuple):
    """An option that says more than the attributes it sets: it is passed in their place, where the profile passes it.

    `refusal`: where it is not, the error if the attributes cannot say it; `remark`: what they do not say.
    """

    option: OptionValue
    attributes: tuple[str, ...] = ()
    refusal: UsageError | None = None
    remark: str = ""


@final
@dataclass(slots=True)
class ScriptRequest:
    """What directives ask for.

    - `attributes`: those of a `JobDescription`, by name; `fields`: values of further fields
    - `sources`: the options that set the fields, for messages
    - `dropped`: options that change nothing for the result; they are passed, where the profile passes them
    - `others`: options that have no field, with their longest flag; `exact`: options that say more than their fields
    - `remarks`: what the user should know of values that are taken in another way
    - `stdin`: the file that is read; `stdout`, `stderr`: the names of the files that are written; None: not given
    - `joins`: both outputs go to one file, if only one of them has a name
    - `interpreter`: the program that reads the script; empty: that of its first line
    - `title`: the job's name as it was given
    """

    attributes: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    sources: dict[str, OptionValue] = field(default_factory=dict)
    dropped: list[OptionValue] = field(default_factory=list)
    others: list[OptionValue] = field(default_factory=list)
    exact: list[ExactOption] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    stdin: FileName | None = None
    stdout: FileName | None = None
    stderr: FileName | None = None
    joins: bool = False
    interpreter: str = ""
    title: str = ""


@final
class FileName(NamedTuple):
    """The name of a file of output: `%j` in it is the job's id, `%a` the index of a task, `%%` a %."""

    text: str
    option: OptionValue

    @property
    def is_pattern(self) -> bool:
        """Whether a part of it is known only when the job runs."""
        return "%" in self.text.replace("%%", "")


def find_field(name: str) -> str:
    """Return the field that an option with this name sets; empty for none."""
    attribute = name.partition(".")[0]
    if attribute == "dependency":
        return DEPENDENCY_FIELD
    return FIELDS[attribute].name if attribute in FIELDS else ""


def leave_out_given(
    options: CommandLine, given: Given, *, besides: Sequence[str] = ()
) -> tuple[CommandLine, dict[str, OptionValue]]:
    """Return the options whose fields have no value yet, and for each of their fields the option that sets it.

    `besides`: the names of options that are kept.
    """
    kept = {
        name: values
        for name, values in options.options.items()
        if name in besides or find_field(name) not in given.fields
    }
    sources = {field: values[-1] for name, values in kept.items() if (field := find_field(name))}
    return options._replace(options=kept), sources


def read_dependencies(request: ScriptRequest, option: OptionValue, text: str, given: Given) -> None:
    """Read the jobs that `text` names, as in `afterok:12:13,afterany:14`.

    Other conditions, and several of which one is enough, are for the batch system. Raises `UsageError` for a job that is
    not found.
    """
    parts = re.split("[,?]", text)
    others = [part for part in parts if part.partition(":")[0] not in _CONDITIONS]
    if "?" in text or others:
        refusal = _refuse_condition(option, (others or [text])[0])
        if not all(part.startswith("after") for part in parts):
            raise refusal
        written = re.sub("(?<=:)[^:,?+]+", lambda match: _find_id(option, match[0], given) or match[0], text)
        request.exact.append(ExactOption(option._replace(text=written), (), refusal))
        return
    for part in parts:
        condition, *words = part.split(":")
        ids = [_find_id(option, word, given) for word in words]
        if not ids or None in ids:
            raise _refuse_condition(option, part)
        request.attributes.setdefault(_CONDITIONS[condition], []).extend(ids)
        request.sources[DEPENDENCY_FIELD] = option


def _refuse_condition(option: OptionValue, part: str) -> UsageError:
    hint = "supported are afterok, afternotok, afterany, as in afterok:12:13,afterany:14"
    return UsageError(f"{option}: {quote_value(part)} is not supported", hint=hint)


def _find_id(option: OptionValue, word: str, given: Given) -> str | None:
    try:
        return given.find_id(word)
    except JobNotFoundError as error:
        raise UsageError(f"{option}: {error.message}", hint=error.hint) from None


def parse_variables(words: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of words `NAME=VALUE`, or `NAME` for the value that this process has."""
    pairs = (word.partition("=") for word in words if word)
    return {
        n: value if equals else environment[n] for n, equals, value in pairs if equals or n in environment
    }


def read_variables(options: CommandLine, request: ScriptRequest) -> None:
    """Take the variables of qsub: all with -V, and those of each -v."""
    variables = copy_environment(os.environ) if "export" in options else {}
    for option in options.get_all("variables"):
        variables |= parse_variables(split_list(option), os.environ)
        request.sources["ENVIRONMENT"] = option
    request.attributes["environment"] = variables


def read_environment(
    request: ScriptRequest, option: OptionValue, words: Sequence[str], all_word: str
) -> None:
    """Take the variables of `--export` or `-env`: with `all_word`, the job has those of this process, too.

    Without it, the job would lack them, which has no field.
    """
    if all_word in words:
        named = parse_variables((word for word in words if word != all_word), os.environ)
        request.attributes["environment"] = named
        request.sources["ENVIRONMENT"] = option
    else:
        request.others.append(option)


def expand_file_name(option: OptionValue, parts: re.Pattern[str], letters: Mapping[str, str]) -> FileName:
    """Return the name of a file in which what `parts` matches is replaced by its text in `letters`.

    The rest is taken as it is. Raises `UsageError` for a match that has none.
    """

    def replace(match: re.Match[str]) -> str:
        if match[0] not in letters:
            hint = f"supported are {' '.join(letters)}"
            raise UsageError(
                f"{option}: {quote_value(match[0])} is not supported in a file's name", hint=hint
            )
        return letters[match[0]]

    pieces, end = [], 0
    for match in parts.finditer(option.text):
        pieces += [option.text[end : match.start()].replace("%", "%%"), replace(match)]
        end = match.end()
    return FileName("".join([*pieces, option.text[end:].replace("%", "%%")]), option)


def convert_job_name(request: ScriptRequest, option: OptionValue | None) -> None:
    """Take a job's name; what directives of a profile cannot have is replaced, with a remark."""
    if option is None:
        return
    request.title = option.text
    name = _NOT_IN_NAMES.sub("_", option.text)
    request.attributes["name"] = name
    request.sources["JOB_NAME"] = option
    if name != option.text:
        request.remarks.append(f"{option}: the job's name is {name}")
