"""The exceptions of osprofile, and the form in which a problem is told.

    OSProfileError
     +- NotFoundError                 what was asked for does not exist            exit code 2
     |   +- ProfileNotFoundError
     |   +- TemplateNotFoundError     a template, or a variation of one
     |   +- ApplicationNotFoundError
     |   +- StorageNotFoundError
     |   +- JobNotFoundError          neither the batch system nor its own records know it
     +- InvalidProfileError           a profile is wrong: all that is, at once     exit code 3
     +- CasesError                    a profile's golden cases are wrong, likewise   exit code 3
     +- IncarnationError              a request cannot be incarnated               exit code 1
     |   +- MissingValueError         a field has no value
     |   +- NotSettableError          a request sets what it may not
     |   +- UnknownFieldError         a request sets what no template uses
     |   +- ValueRefusedError         a value fails a limit, type or pattern
     +- JavaRegexError                Java would refuse the pattern, or we must    exit code 3
     |   +- JavaRegexTimeoutError     matching took longer than its deadline       exit code 1
     +- TargetError                   a target system did not do it                exit code 1
         +- ScriptError               a script could not be run at all, or was ended
         |   +- ScriptCutError        it did not come to its end: what it did is not known
         |       +- ScriptTimeoutError   it took longer than its time limit
         +- ScriptFailedError         a script failed: the batch system's own words
         +- OutputError               a script printed what the profile's pattern does not match
         +- StoreError                the record of the jobs cannot be read or written
         |   +- SubmissionBusyError   another process is submitting the same job
         +- MonitorError              a job is watched, or is not, against expectation
             +- AlreadyRegisteredError
             +- NotRegisteredError
     +- RequestError                  a client of an executor asks for what cannot be   exit code 1
         +- ClassAdError              a ClassAd that cannot be read
         +- AttributeRefusedError     an attribute of a job has a value that cannot be honoured
         +- JobIdError                a job id that no executor gives
     +- SettingError                  an executor's setting is wrong               exit code 2
     +- EventError                    the event generator cannot begin, or an event be told   exit code 1

Where a command passes on the exit code of a script or a program, it ends with 125 for all of them.

A message says what, where, what was expected, and what to do. `str()` of an error is the whole
block that a command prints: place, message, source line, caret, hint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from osprofile.source import Location

Severity = Literal["error", "warning"]


@final
class Problem(NamedTuple):
    """One thing that is wrong with a profile.

    `code` is stable (`OSP101`); the table of codes, the reader's too, is
    `osprofile.lint.rules`. `str()` gives
    `file:line:column: severity CODE message`, the source line, a caret, and the hint.
    """

    code: str
    message: str
    location: Location | None = None
    hint: str = ""
    severity: Severity = "error"

    def __str__(self) -> str:
        return format_message(
            f"{self.severity} {self.code} {self.message}", self.location, self.hint
        )


def format_message(message: str, location: Location | None = None, hint: str = "") -> str:
    """Give the block of text for one message: place, message, source line with a caret, hint.

    Characters that a terminal would act on, which names in a document can hold, are U+FFFD.
    """
    lines = [f"{location}: {message}" if location else message]
    if location:
        lines.append(location.format_excerpt())
    if hint:
        lines.append(f"    hint: {hint}")
    return replace_unprintable("\n".join(lines), keep="\n")


def replace_unprintable(text: str, keep: str = "") -> str:
    """Return `text` with U+FFFD for each character that a terminal would act on.

    Those are the characters that are not printable, except the ones in `keep`.
    """
    return "".join(c if c.isprintable() or c in keep else "\ufffd" for c in text)


def escape_unprintable(text: str, keep: str = "") -> str:
    """Return `text` with a Python escape for each character that `replace_unprintable` replaces."""
    return "".join(c if c.isprintable() or c in keep else repr(c)[1:-1] for c in text)


def quote_value(value: str, max_length: int = 80) -> str:
    """Quote a value for a message: on one line, escaped, cut when long."""
    return (
        repr(value)
        if len(value) <= max_length
        else f"{value[:max_length]!r}... ({len(value)} characters)"
    )


def quote_name(name: str) -> str:
    """Give a name for a message: as it is, or quoted like a value where that is not plain."""
    return (
        name
        if name.isprintable() and " " not in name and 0 < len(name) <= 80
        else quote_value(name)
    )


def suggest_names(name: str, candidates: Iterable[str]) -> str:
    """Give a hint that names what is most like `name`; with nothing like it, what there is.

    The empty string if `candidates` is empty.
    """
    from difflib import get_close_matches  # only needed when something is wrong

    names = sorted(set(candidates))
    by_fold = {n.casefold(): n for n in names}
    close = get_close_matches(name.casefold(), by_fold, n=3, cutoff=0.6)
    if close:
        return f"did you mean {_join_with_or([by_fold[c] for c in close])}?"
    if len(names) > 30:
        return f"there are {len(names)}: {', '.join(names[:30])}, ..."
    return f"known: {', '.join(names)}" if names else ""


def _join_with_or(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


class OSProfileError(Exception):
    """The root: catch this to catch whatever this package raises by itself.

    `message` is one sentence; `location` says where in a profile the rule stands that led here, or is
    None; `hint` says what to do, or is empty. `exit_code` is what a command ends with.
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
    """What was asked for by name does not exist."""

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
    """The batch system does not know the job, and the job left no record of its end."""


class InvalidProfileError(OSProfileError):
    """A profile is wrong; `problems` holds everything that is, in the order of the document."""

    exit_code = 3

    def __init__(self, problems: Sequence[Problem]) -> None:
        first = problems[0]
        super().__init__(first.message, location=first.location, hint=first.hint)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


class CasesError(OSProfileError):
    """A profile's golden cases cannot be used; `errors` holds all that is wrong, in order."""

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
    """A field that the script needs has no value."""


class NotSettableError(IncarnationError):
    """A request sets a field that only the profile or the engine may set."""


class UnknownFieldError(IncarnationError):
    """A request sets a field that none of the templates uses."""


class ValueRefusedError(IncarnationError):
    """A value fails a limit, a type or a pattern, or holds what no script can carry."""


class JavaRegexError(OSProfileError):
    """A pattern or a replacement that Java refuses, or that cannot be honoured exactly.

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
    """Matching took longer than its deadline allows (1 s, and 1 s more a megabyte)."""

    exit_code = 1


class TargetError(OSProfileError):
    """A target system did not do what it was asked for."""


class ScriptError(TargetError):
    """A script could not be run: the shell is missing, could not be started, or did not end."""


class ScriptCutError(ScriptError):
    """A script was killed, or the connection broke: whether it did its work is not known."""


class ScriptTimeoutError(ScriptCutError):
    """A script took longer than its time limit and was ended; what it did until then stays."""


class ScriptFailedError(TargetError):
    """A script ended with another exit status than 0.

    `template` names what was to be done; `exit_status` is 128+n for signal n; `output` holds what
    the script said, the batch system's own words.
    """

    def __init__(
        self, message: str, *, template: str, exit_status: int, output: str = "", hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.template = template
        self.exit_status = exit_status
        self.output = output


class OutputError(TargetError):
    """A script printed what the profile's pattern does not match."""


class StoreError(TargetError):
    """The record of the jobs cannot be read or written."""


class SubmissionBusyError(StoreError):
    """Another process is submitting the same job just now."""


class MonitorError(TargetError):
    """A job is watched already, or is not watched at all."""


class AlreadyRegisteredError(MonitorError):
    """Somebody has asked for this job's events already."""


class NotRegisteredError(MonitorError):
    """Nobody has asked for this job's events."""


class RequestError(OSProfileError):
    """A client of an executor asks for what cannot be."""


class ClassAdError(RequestError):
    """A ClassAd that cannot be read.

    `offset` counts characters from the start of the text, `line` and `column` count from 1;
    `expected` says what could have stood there, or is empty.
    """

    def __init__(self, message: str, text: str, offset: int, *, expected: str = "") -> None:
        self.offset = offset
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - text.rfind("\n", 0, offset)
        self.expected = expected
        wanted = f", but {expected} was expected" if expected else ""
        super().__init__(f"line {self.line}, column {self.column}: {message}{wanted}")


class AttributeRefusedError(RequestError):
    """An attribute of a job has a value that cannot be honoured; `attribute` is its name."""

    def __init__(self, message: str, *, attribute: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.attribute = attribute


class JobIdError(RequestError):
    """A job id that no executor gives."""


class SettingError(OSProfileError):
    """A setting of an executor that cannot be: its message begins with the file."""

    exit_code = 2


class EventError(OSProfileError):
    """A source of events or the generator's command line is wrong, or an event cannot be told."""
