"""A job that `sbatch` or `qsub` was asked to submit."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import IncarnationError
from osprofile.job_scripts.command_line import CommandLine, JobScript, UsageError
from osprofile.job_scripts.passing import select_passed_options
from osprofile.jobs.request import build_job_name
from osprofile.late import compile_late
from osprofile.shim.client import WRAPPER_NAME, Submission
from osprofile.shim.command import note_ignored
from osprofile.shim.job_wrapper import restrict_environment
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from osprofile.job_scripts.script_request import ScriptRequest
    from osprofile.profile.model import Profile
    from osprofile.shim.client import Client

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
_NUMBER: Final = compile_late(r"([0-9]{1,18})(?:_([0-9]{1,7})|\[([0-9]{0,7})\])?(?:\.osprofile)?")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """A job to submit.

    - `asked`: what its options ask for; `prefix`: how the directives of that batch system begin
    - `environment`: the submitter's variables that the job gets
    - `format_wrapper(number, directory)` returns the content of the wrapper in the job's own directory
    """

    script: JobScript
    name: str
    directory: str
    asked: ScriptRequest
    prefix: str
    environment: Mapping[str, str]
    format_wrapper: Callable[[int, str], bytes]

    def submit(self, client: Client, program: str) -> int:
        """Submit the job and return its number. Raises what `TargetSystem.submit` does."""
        from osprofile.jobs.fields import JobDescription
        from osprofile.jobs.profiles import list_settable_fields

        settable, asked = list_settable_fields(client.profile), self.asked
        options = self._select_options(client)
        attributes = {**asked.attributes, "queue": client.choose_queue(asked.attributes.get("queue"))}
        attributes.pop("environment", None)
        if attributes.get("requeue") is False and "REQUEUE" not in settable:
            attributes["requeue"] = None  # no job is run again there
        if "NODE_FILE" not in settable:
            attributes["node_file"] = None  # its variable is empty
        ignored = asked.dropped
        for field in _HARMLESS_FIELDS if client.ignores_harmless else ():
            if field not in settable and attributes.get(field.lower()) is not None:
                ignored += filter(None, [asked.sources.get(field)])
                attributes[field.lower()] = None
        if attributes.get("notify") is None:
            attributes.pop("notify_events", None)
        note_ignored(program, ignored)

        name = self.name if _accepts_name(client.profile, self.name) else build_job_name(self.name)

        def make_submission(number: int, directory: str) -> Submission:
            description = JobDescription(
                executable="/bin/sh",
                arguments=[f"{directory}/{WRAPPER_NAME}"],
                working_directory=directory,
                passed_options=options,
                **{**attributes, "name": name, "directory": self.directory},
                fields={name: asked.fields[name] for name in ("DEPENDENCY",) if name in asked.fields},
            )
            return Submission(description, self.script.content, self.format_wrapper(number, directory))

        restrict_environment(self.environment)
        try:
            return client.submit(make_submission)
        except IncarnationError as error:
            option = asked.sources.get(error.field)
            if option is not None:
                error.message = (
                    f"{option.where}option {option.flag} {quote_value(option.text)}: {error.message}".replace(
                        " '':", ":"
                    )
                )
            raise

    def _select_options(self, client: Client) -> list[str]:
        """Return the options that the batch system gets as they are; those that change nothing here are dropped."""
        from osprofile.incarnation.plan import find_directive_template

        template, asked = find_directive_template(client.profile), self.asked
        passes = template is not None and template.directive_prefix == self.prefix
        if client.ignores_harmless and not passes:
            asked.dropped += [o for o in asked.others if o.option is not None and o.option.is_harmless]
            asked.others = [o for o in asked.others if o not in asked.dropped]
        return select_passed_options(
            client.profile, asked, "leave it out; --help lists what is supported", passes=passes
        )


def _accepts_name(profile: Profile, name: str) -> bool:
    """Return whether a job of the profile may have a name."""
    from osprofile.incarnation.field_rules import accepts_pattern

    field = profile.find_field(profile.get_template("START"), "JOB_NAME")
    return field is not None and accepts_pattern(field, name)


def refuse_empty_array(options: CommandLine) -> None:
    """Raise `UsageError` for an array without indices, such as an empty variable of a script."""
    option = options.get("array")
    if option is not None and not option.text.strip():
        raise UsageError(f"{option}: there are no indices", hint="as in 1-10, or leave it out")


def find_id(client: Client, word: str) -> str | None:
    """Return the id of the job, or of the task of an array, that a number names; None for what is none.

    Raises `JobNotFoundError` if there is no such job.
    """
    match = _NUMBER.fullmatch(word)
    if match is None:
        return None
    index = match[2] or match[3]
    return client.find_id(int(match[1]), int(index) if index else None)


def parse_signal(text: str) -> tuple[str, int] | None:
    """Return the name (`USR1`) and the number of a signal that is given as `10`, `USR1` or `SIGUSR1`; None for none."""
    names = {s.name.removeprefix("SIG"): s.value for s in signal.Signals}
    by_number = {str(number): name for name, number in names.items()}
    name = by_number.get(text, text.upper().removeprefix("SIG"))
    return (name, names[name]) if name in names else None
