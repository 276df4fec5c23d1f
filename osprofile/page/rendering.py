"""Scripts for the page, made by the engine: a question in, a script or a refusal out."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from osprofile.errors import (
    IncarnationError,
    InvalidProfileError,
    MissingValueError,
    OSProfileError,
    RequestError,
    shown,
)
from osprofile.incarnation.context import working_directory
from osprofile.incarnation.incarnate import incarnate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.page.places import Labels
    from osprofile.profile.model import Profile

USER: Final = "user"
JOB: Final = "JOB"
"""Who runs the page's jobs and what their directories are called: the same in each page."""


@final
class Question(NamedTuple):
    """A script that is asked for; `application` is empty for the default one."""

    template: str
    variation: str = ""
    application: str = ""
    fields: Mapping[str, str] = {}


@final
class Refusal(NamedTuple):
    """Why there is no script. `field` is empty where no field is to blame; `missing`: it has no value yet."""

    message: str
    hint: str
    field: str
    place: str
    missing: bool

    @property
    def sentences(self) -> str:
        """Message and hint for people to read in a row."""
        hint = self.hint[:1].upper() + self.hint[1:]
        return ". ".join(filter(None, (self.message, hint)))


@final
class Answer(NamedTuple):
    """A script with the command that gives the same, or a refusal and no text."""

    text: str
    command: str
    warnings: tuple[str, ...]
    refusal: Refusal | None


def page_context(profile: Profile, given: Mapping[str, str]) -> dict[str, str]:
    """Give the context of a page's scripts: always the same user and directory, unless given."""
    user = given.get("USER_NAME", USER)
    directory = working_directory(profile, user, JOB)
    return {"USER_NAME": user, "WORKING_DIRECTORY": directory, **given}


def answer(
    profile: Profile, labels: Labels, context: Mapping[str, str], question: Question
) -> Answer:
    """Give the script that was asked for, or why there is none. Raises nothing of ours."""
    command = command_of(profile.name, question)
    try:
        made = incarnate(
            profile,
            question.template,
            fields=question.fields,
            variation=question.variation,
            application=question.application or None,
            context=context,
            strict=True,
        )
    except OSProfileError as error:
        return Answer("", command, (), refusal_of(error, labels))
    warnings = tuple(map(labels.scrubbed, made.warnings))
    return Answer(made.text, command, warnings, None)


def refusal_of(error: OSProfileError, labels: Labels) -> Refusal:
    """Give an error in the page's words: places by the profiles' names."""
    field = error.field if isinstance(error, IncarnationError) else ""
    message = labels.scrubbed(error.message)
    if isinstance(error, InvalidProfileError) and len(error.problems) > 1:
        message += f" (and {len(error.problems) - 1} more)"
    return Refusal(
        message=message,
        hint=labels.scrubbed(error.hint),
        field=field,
        place=labels.place(error.place) if error.place is not None else "",
        missing=isinstance(error, MissingValueError),
    )


def command_of(profile: str, question: Question) -> str:
    """Give the command that prints the same script, as words for a shell."""
    words = ["incarnate", question.template, "--profile", profile]
    if question.variation:
        words += ["--variation", question.variation]
    if question.application:
        words += ["--application", question.application]
    for name, value in question.fields.items():
        words += ["--set", f"{name}={value}"]
    return shlex.join(words)


# As JSON


def question_of(data: bytes) -> Question:
    """Read a question: an object with `template`, and perhaps the other parts of `Question`.

    Raises `RequestError`.
    """
    try:
        found = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        message = f"the request is not JSON: {type(error).__name__}"
        raise RequestError(message) from None
    if not isinstance(found, dict):
        raise RequestError("the request is no JSON object")
    for name in found:
        if name not in Question._fields:
            hint = f"it may have {', '.join(Question._fields)}"
            raise RequestError(f"the request has a member {shown(name)}", hint=hint)
    fields = found.get("fields", {})
    if not isinstance(fields, dict) or not all(isinstance(v, str) for v in fields.values()):
        raise RequestError("`fields` is an object with a string for each field")
    words = [found.get(name, "") for name in ("template", "variation", "application")]
    if not all(isinstance(word, str) for word in words) or not words[0]:
        raise RequestError("`template`, `variation` and `application` are strings")
    template, variation, application = words
    return Question(template, variation, application, fields)


def answer_json(answered: Answer, version: str) -> dict[str, Any]:
    """Give an answer for JSON; `version` is that of the profile's files."""
    refusal = answered.refusal
    return {
        "version": version,
        "text": answered.text,
        "command": answered.command,
        "warnings": list(answered.warnings),
        "refusal": refusal._asdict() if refusal is not None else None,
    }
