"""A job that `sbatch` or `qsub` was asked to submit."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.errors import IncarnationError, JobNotFoundError
from osprofile.job_scripts.command_line import CommandLine, JobScript, OptionValue, UsageError
from osprofile.jobs.request import build_job_name
from osprofile.shim.client import WRAPPER_NAME, Submission
from osprofile.shim.command import note_ignored
from osprofile.shim.job_wrapper import restrict_environment
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from osprofile.shim.client import Client

_CONDITIONS: Final = {"afterok": "after_ok", "afternotok": "after_not_ok", "afterany": "after_any"}
_HARMLESS_FIELDS: Final = (
    "QUEUE",
    "PROJECT",
    "QOS",
    "RESERVATION",
    "EXCLUSIVE",
    "PRIORITY",
    "NOTIFY",
    "REQUEUE",
)
"""They say where and when a job runs, who pays, and who is told; not what it does, or what it gets."""
_NUMBER: Final = re.compile(r"([0-9]{1,18})(?:_([0-9]{1,7})|\[([0-9]{0,7})\])?(?:\.osprofile)?")
"""The id of a job, an array, or a task: `12`, `12[]`, `12_3`, `12[3].osprofile`."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """A job to submit.

    - `attributes`: those of a `JobDescription`, by name; None stands for the profile's default
    - `environment`: the submitter's variables that the job gets
    - `field_options`: the options that set the fields, for messages
    - `ignored`: options that change nothing
    - `format_wrapper(number, directory)` returns the content of the wrapper in the job's own directory
    """

    script: JobScript
    name: str
    directory: str
    attributes: Mapping[str, Any]
    environment: Mapping[str, str]
    field_options: Mapping[str, OptionValue]
    ignored: Sequence[OptionValue]
    format_wrapper: Callable[[int, str], bytes]

    def submit(self, client: Client, program: str) -> int:
        """Submit the job and return its number. Raises what `TargetSystem.submit` does."""
        from osprofile.jobs.fields import JobDescription
        from osprofile.jobs.profiles import list_settable_fields

        settable = list_settable_fields(client.profile)
        attributes = dict(self.attributes)
        if attributes.get("requeue") is False and "REQUEUE" not in settable:
            attributes["requeue"] = None  # no job is run again there
        if "NODE_FILE" not in settable:
            attributes["node_file"] = None  # its variable is empty
        ignored = [*self.ignored]
        for field in _HARMLESS_FIELDS if client.ignores_harmless else ():
            if field not in settable and attributes.get(field.lower()) is not None:
                ignored += filter(None, [self.field_options.get(field)])
                attributes[field.lower()] = None
        if attributes.get("notify") is None:
            attributes.pop("notify_events", None)
        note_ignored(program, ignored)

        def make_submission(number: int, directory: str) -> Submission:
            description = JobDescription(
                executable="/bin/sh",
                arguments=[f"{directory}/{WRAPPER_NAME}"],
                directory=self.directory,
                working_directory=directory,
                name=build_job_name(self.name),
                **attributes,
            )
            return Submission(description, self.script.content, self.format_wrapper(number, directory))

        restrict_environment(self.environment)
        try:
            return client.submit(make_submission)
        except IncarnationError as error:
            option = self.field_options.get(error.field)
            if option is not None:
                error.message = (
                    f"{option.where}option {option.flag} {quote_value(option.text)}: {error.message}".replace(
                        " '':", ":"
                    )
                )
            raise


def refuse_empty_array(options: CommandLine) -> None:
    """Raise `UsageError` for an array without indices, such as an empty variable of a script."""
    option = options.get("array")
    if option is not None and not option.text.strip():
        raise UsageError(f"{option}: there are no indices", hint="as in 1-10, or leave it out")


def find_dependencies(client: Client, option: OptionValue, text: str) -> dict[str, list[str]]:
    """Return the ids of the jobs that `text` names, as in `afterok:12:13,afterany:14`, by attributes of a description.

    Raises `UsageError` for other conditions, and for a job that does not exist.
    """
    found: dict[str, list[str]] = {}
    for part in text.split(","):
        condition, *words = part.split(":")
        attribute = _CONDITIONS.get(condition.removesuffix("array"))
        matches = [_NUMBER.fullmatch(word) for word in words]
        if attribute is None or not words or None in matches:
            hint = f"supported are {', '.join(_CONDITIONS)}, as in afterok:12:13,afterany:14"
            raise UsageError(f"{option}: {quote_value(part)} is not supported", hint=hint)
        try:
            found.setdefault(attribute, []).extend(
                client.find_id(int(match[1]), int(index) if (index := match[2] or match[3]) else None)
                for match in matches
                if match
            )
        except JobNotFoundError as error:
            raise UsageError(f"{option}: {error.message}", hint=error.hint) from None
    return found


def parse_signal(text: str) -> tuple[str, int] | None:
    """Return the name (`USR1`) and the number of a signal that is given as `10`, `USR1` or `SIGUSR1`; None for none."""
    names = {s.name.removeprefix("SIG"): s.value for s in signal.Signals}
    by_number = {str(number): name for name, number in names.items()}
    name = by_number.get(text, text.upper().removeprefix("SIG"))
    return (name, names[name]) if name in names else None
