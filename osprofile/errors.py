"""The exceptions of osprofile, and how problems are formatted.

    OSProfileError
     +- NotFoundError                 a requested item does not exist              exit code 2
     |   +- ProfileNotFoundError
     |   +- TemplateNotFoundError     a template, or a variation of one
     |   +- ApplicationNotFoundError
     |   +- StorageNotFoundError
     |   +- JobNotFoundError          neither the batch system nor a record knows it
     +- InvalidProfileError           a profile is invalid; has all its problems   exit code 3
     +- CasesError                    a profile's golden cases are invalid; has all errors   exit code 3
     +- IncarnationError              a request cannot be incarnated               exit code 1
     |   +- MissingValueError         a field has no value
     |   +- NotSettableError          a request sets a field that it may not set
     |   +- UnknownFieldError         a request sets a field that no template uses
     |   +- ValueRefusedError         a value violates a limit, type or pattern
     +- JavaRegexError                Java refuses the pattern, or it is not supported   exit code 3
     |   +- JavaRegexTimeoutError     matching took longer than its deadline       exit code 1
     +- TargetError                   an operation on a target system failed       exit code 1
         +- ScriptError               a script could not be run, or was stopped
         |   +- OutcomeUnknownError   it did not finish: its effects are unknown
         |       +- ScriptTimeoutError   it took longer than its time limit
         |       +- SubmissionElsewhereError  only another host can complete the submission
         +- ScriptFailedError         a script failed; has the batch system's message
         +- OutputError               a script's output does not match the profile's pattern
         +- StoreError                the record of the jobs cannot be read or written
         |   +- SubmissionBusyError   another process is submitting the same job
         +- SubmissionsFailedError    some of several jobs could not be submitted
         +- NoResultError             the job of a function ended without its result
         +- AlreadyRegisteredError    a job is watched already
         +- NotRegisteredError        a job is not watched
     +- RequestError                  a client of a server sent a bad request      exit code 1
     +- SettingError                  a setting of a daemon is invalid            exit code 2

Executors and the event generator have errors of their own.

A command that passes on the exit code of a script or a program ends with 125 for all of them.

A message says what is wrong, where, what was expected, and what to do. `str()` of an error is the whole
block that a command prints: location, message, source line, caret, hint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Literal, final

from osprofile.late import NamedTuple
from osprofile.text import replace_unprintable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from osprofile.source import Location

Severity = Literal["error", "warning"]
UNSAFE_DIRECTORY_STATUS: Final = 73
"""The exit status of a script that does not use a job's directory; START and FIND_JOB have the same."""


@final
class Problem(NamedTuple):
    """One thing that is wrong with a profile.

    `str()` is `file:line:column: severity CODE message`, the source line, a caret, and the hint.
    """

    code: str
    """The code, which is stable (`OSP101`); see docs/rules.md."""
    message: str
    """What is wrong."""
    location: Location | None = None
    """Where it is: file, line and column from 1."""
    hint: str = ""
    """What to do; may be empty."""
    severity: Severity = "error"
    """The severity: error, warning or info."""

    def __str__(self) -> str:
        return format_message(f"{self.severity} {self.code} {self.message}", self.location, self.hint)


def format_message(message: str, location: Location | None = None, hint: str = "") -> str:
    """Return the lines of one message: location, message, source line with a caret, hint.

    Unprintable characters become U+FFFD: a terminal would act on those in a document's names.
    """
    lines = [f"{location}: {message}" if location else message]
    if location:
        lines.append(location.format_excerpt())
    if hint:
        lines.append(f"    hint: {hint}")
    return replace_unprintable("\n".join(lines), keep="\n")


class OSProfileError(Exception):
    """The base class of all exceptions of this package.

    - `message`: one sentence
    - `location`: the location in a profile that the error is about, or None
    - `hint`: what to do, or empty
    - `exit_code`: the exit code of a command that fails with this error
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, location: Location | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.hint = hint

    def __str__(self) -> str:
        return format_message(self.message, self.location, self.hint)


class NotFoundError(OSProfileError):
    """Nothing has the requested name."""

    exit_code = 2


class ProfileNotFoundError(NotFoundError):
    """No profile of that name is on the search path."""


class TemplateNotFoundError(NotFoundError):
    """The resolved profile has no such template, or the template no such variation."""


class ApplicationNotFoundError(NotFoundError):
    """The resolved profile has no such application, or not in that version."""


class StorageNotFoundError(NotFoundError):
    """The resolved profile has no such storage."""


class JobNotFoundError(NotFoundError):
    """The batch system does not know the job, and there is no record of its end."""


class InvalidProfileError(OSProfileError):
    """A profile is invalid; `problems` has all its problems, in the order of the document."""

    exit_code = 3

    def __init__(self, problems: Sequence[Problem]) -> None:
        first = problems[0]
        super().__init__(first.message, location=first.location, hint=first.hint)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


class CasesError(OSProfileError):
    """A profile's golden cases cannot be used; `errors` has all their errors, in order."""

    exit_code = 3

    def __init__(self, errors: Sequence[OSProfileError]) -> None:
        first = errors[0]
        super().__init__(first.message, location=first.location, hint=first.hint)
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return "\n".join(map(str, self.errors))


class IncarnationError(OSProfileError):
    """A request cannot be incarnated; `field` is the field's name, or empty."""

    def __init__(
        self, message: str, *, field: str = "", location: Location | None = None, hint: str = ""
    ) -> None:
        super().__init__(message, location=location, hint=hint)
        self.field = field


class MissingValueError(IncarnationError):
    """A field that the script needs has no value; `description` is that of the field, None if no request may set it."""

    description: str | None = None


class NotSettableError(IncarnationError):
    """A request sets a field that only the profile or the engine may set."""


class UnknownFieldError(IncarnationError):
    """A request sets a field that none of the templates uses."""


class ValueRefusedError(IncarnationError):
    """A value violates a limit, a type or a pattern, or a script cannot contain it.

    `refusals` has an error for each value of a field if the request fits none of them (`auto`).
    """

    refusals: Sequence[ValueRefusedError] = ()


class JavaRegexError(OSProfileError):
    """A pattern or a replacement that Java refuses, or that cannot be supported exactly.

    `text` is the pattern or the replacement, `index` the offset in it, in characters.
    """

    exit_code = 3

    def __init__(self, message: str, *, text: str = "", index: int = 0, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.text = text
        self.index = index

    def __str__(self) -> str:
        if not self.text or not self.text.isprintable():
            return format_message(self.message, hint=self.hint)
        lines = [self.message, f"    {self.text}", f"    {' ' * self.index}^"]
        return "\n".join([*lines, f"    hint: {self.hint}"] if self.hint else lines)


class JavaRegexTimeoutError(JavaRegexError):
    """Matching took more processor time than its deadline allows (1 s, plus 1 s per megabyte)."""

    exit_code = 1


class TargetError(OSProfileError):
    """An operation on a target system failed."""


class ScriptError(TargetError):
    """A script could not be run: the shell is missing, could not be started, or did not end."""


class OutcomeUnknownError(ScriptError):
    """A script was killed, or the connection broke: whether it did its work is unknown.

    - `stdout`, `stderr`: what it had printed until then
    """

    stdout = b""
    stderr = b""


class ScriptTimeoutError(OutcomeUnknownError):
    """A script exceeded its time limit and was killed; its effects until then remain."""


class SubmissionElsewhereError(OutcomeUnknownError):
    """Another host began a submission, in a directory that is not on this machine: only that host can complete it."""


class ScriptFailedError(TargetError):
    """A script ended with an exit status other than 0.

    - `template`: the name of the script's template
    - `exit_status`: 128+n for signal n
    - `output`: what the script printed, usually the batch system's message
    """

    def __init__(
        self, message: str, *, template: str, exit_status: int, output: str = "", hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.template = template
        self.exit_status = exit_status
        self.output = output

    @property
    def is_unsafe_directory(self) -> bool:
        """Whether the job's directory was not used, because others could have put files into it."""
        return self.exit_status == UNSAFE_DIRECTORY_STATUS


class OutputError(TargetError):
    """The output of a script does not match the profile's pattern."""


class StoreError(TargetError):
    """The record of the jobs cannot be read or written."""


class SubmissionBusyError(StoreError):
    """Another process is submitting the same job."""


class SubmissionsFailedError(TargetError):
    """Some of several jobs could not be submitted.

    If the check before the first submission refused some, none was submitted.

    - `job_ids`: the ids in the order of the descriptions, None for a job that was not submitted
    - `errors`: the errors by the positions of the descriptions, from 0; an `OutcomeUnknownError` is that of a job that may have
      been submitted
    - `summary`: how many jobs were not submitted, or may have been
    """

    def __init__(self, job_ids: Sequence[str | None], errors: Mapping[int, OSProfileError]) -> None:
        position, first = next(iter(sorted(errors.items())))
        unknown = sum(isinstance(error, OutcomeUnknownError) for error in errors.values())
        failed, of_all = len(errors) - unknown, f"of {len(job_ids)} jobs"
        self.summary = f"{failed} {of_all} were not submitted"
        if unknown:
            self.summary = (
                f"{self.summary}, {unknown} may have been"
                if failed
                else f"{unknown} {of_all} may have been submitted"
            )
        if len(errors) < sum(job_id is None for job_id in job_ids):
            self.summary = f"no job was submitted, because {len(errors)} of {len(job_ids)} are refused"
        super().__init__(f"{self.summary}; job {position + 1}: {first.message}", hint=first.hint)
        self.job_ids = tuple(job_ids)
        self.errors = dict(errors)


class NoResultError(TargetError):
    """The job of a function ended without its result, or the result cannot be read.

    - `job_id`: the id of the job; empty if it has none
    - `cause`: an `EndCause`, such as TIME, or the state LOST; None if the cause is not known, or it is not the job's end
    - `output`: the end of the job's standard error
    """

    def __init__(
        self, message: str, *, job_id: str = "", cause: str | None = None, output: str = "", hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.job_id = job_id
        self.cause = cause
        self.output = output


class AlreadyRegisteredError(TargetError):
    """The job's events are already delivered to another caller."""


class NotRegisteredError(TargetError):
    """No caller is registered for the job's events."""


class RequestError(OSProfileError):
    """A request of a client is malformed or cannot be fulfilled."""


class SettingError(OSProfileError):
    """A setting of an executor is invalid; the message begins with the file's name."""

    exit_code = 2
