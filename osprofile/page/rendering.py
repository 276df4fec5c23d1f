"""Render scripts for the page: from a request to a script, or the reason why there is none."""

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
)
from osprofile.incarnation.context import add_directory
from osprofile.incarnation.evaluate import USER_HOME
from osprofile.incarnation.incarnate import incarnate
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.page.labels import DocumentLabels
    from osprofile.profile.model import Profile

PAGE_USER: Final = "user"
PAGE_JOB: Final = "JOB"
"""User and directory name of the page's scripts: fixed, so that the same profile gives the same page."""


@final
class ScriptRequest(NamedTuple):
    """A request for a script; `application` is empty for the default application."""

    template: str
    variation: str = ""
    application: str = ""
    fields: Mapping[str, str] = {}


@final
class Refusal(NamedTuple):
    """Why there is no script. `field` is the field with the error, or empty; `missing`: it has no value."""

    message: str
    hint: str
    field: str
    place: str
    missing: bool

    @property
    def sentences(self) -> str:
        """Message and hint as sentences."""
        hint = self.hint[:1].upper() + self.hint[1:]
        return ". ".join(filter(None, (self.message, hint)))


@final
class ScriptResponse(NamedTuple):
    """A script and the command that prints it, or a refusal and no text."""

    text: str
    command: str
    warnings: tuple[str, ...]
    refusal: Refusal | None


def build_page_context(profile: Profile, overrides: Mapping[str, str]) -> dict[str, str]:
    """Return the context of a page's scripts: a fixed user and directory, unless overridden."""
    user = overrides.get("USER_NAME", PAGE_USER)
    return add_directory(profile, {"USER_NAME": user, USER_HOME: f"/home/{user}", **overrides}, PAGE_JOB)


def render_script(
    profile: Profile, labels: DocumentLabels, context: Mapping[str, str], request: ScriptRequest
) -> ScriptResponse:
    """Return the requested script, or why there is none; raise no `OSProfileError`."""
    command = format_command(profile.name, request)
    try:
        script = incarnate(
            profile,
            request.template,
            fields=request.fields,
            variation=request.variation,
            application=request.application or None,
            context=context,
            strict=True,
        )
    except OSProfileError as error:
        return ScriptResponse("", command, (), refusal_from_error(error, labels))
    warnings = tuple(map(labels.replace_paths, script.warnings))
    return ScriptResponse(script.text, command, warnings, None)


def refusal_from_error(error: OSProfileError, labels: DocumentLabels) -> Refusal:
    """Return the refusal for an error; its locations have profile names instead of paths."""
    field = error.field if isinstance(error, IncarnationError) else ""
    message = labels.replace_paths(error.message)
    if isinstance(error, InvalidProfileError) and len(error.problems) > 1:
        message += f" (and {len(error.problems) - 1} more)"
    return Refusal(
        message=message,
        hint=labels.replace_paths(error.hint),
        field=field,
        place=labels.format_location(error.location) if error.location is not None else "",
        missing=isinstance(error, MissingValueError),
    )


def format_command(profile: str, request: ScriptRequest) -> str:
    """Return the shell command that prints the same script."""
    words = ["incarnate", request.template, "--profile", profile]
    if request.variation:
        words += ["--variation", request.variation]
    if request.application:
        words += ["--application", request.application]
    for name, value in request.fields.items():
        words += ["--set", f"{name}={value}"]
    return shlex.join(words)


# As JSON


def decode_script_request(data: bytes) -> ScriptRequest:
    """Decode a request: a JSON object with `template` and optional fields of `ScriptRequest`.

    Raises `RequestError`.
    """
    try:
        found = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        message = f"the request is not JSON: {type(error).__name__}"
        raise RequestError(message) from None
    if not isinstance(found, dict):
        raise RequestError("the request is not a JSON object")
    for name in found:
        if name not in ScriptRequest._fields:
            hint = f"known: {', '.join(ScriptRequest._fields)}"
            raise RequestError(f"the request has an unknown member {quote_value(name)}", hint=hint)
    fields = found.get("fields", {})
    if not isinstance(fields, dict) or not all(isinstance(v, str) for v in fields.values()):
        raise RequestError("`fields` must be an object with a string for each field")
    words = [found.get(name, "") for name in ("template", "variation", "application")]
    if not all(isinstance(word, str) for word in words) or not words[0]:
        raise RequestError("`template`, `variation` and `application` must be strings")
    template, variation, application = words
    return ScriptRequest(template, variation, application, fields)


def encode_script_response(response: ScriptResponse, version: str) -> dict[str, Any]:
    """Return a response for JSON; `version` is that of the profile's files."""
    refusal = response.refusal
    return {
        "version": version,
        "text": response.text,
        "command": response.command,
        "warnings": list(response.warnings),
        "refusal": refusal._asdict() if refusal is not None else None,
    }
