"""What a caller wants to be run, and how that becomes a profile's fields.

`build_request` is the one way from a job to a request: every executor goes through it, so that values
are quoted in one place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, final

from osprofile.errors import ValueRefusedError, quote_name
from osprofile.incarnation.field_rules import MAX_INTEGER
from osprofile.incarnation.lengths import MAX_ARGUMENT_SIZE
from osprofile.incarnation.static_scripts import quote_shell_word

OWN_FILE_PREFIX: Final = ".gpe_"
"""How the names of files begin that osprofile has in a job's working directory."""
_VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_EMPTY_MAPPING: Final[Mapping[str, str]] = MappingProxyType({})


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JobDescription:
    """A job, in no protocol's words. What is None is left to the profile's default.

    `arguments` and `environment` are plain values, quoted here. `stdin`, `stdout` and `stderr` are
    paths; a relative one begins at the working directory `directory` (absolute; None: a fresh one).
    `processes` counts over all nodes, `cpus` is for each process, `memory` in MiB on each node,
    `walltime` and `cputime` in seconds. `application` is `NAME` or `NAME/VERSION`. `fields` holds
    further fields of the profile by their names, as START takes them.
    """

    executable: str | None = None
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: _EMPTY_MAPPING)
    stdin: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    directory: str | None = None
    name: str | None = None
    queue: str | None = None
    project: str | None = None
    nodes: int | None = None
    processes: int | None = None
    cpus: int | None = None
    memory: int | None = None
    walltime: int | None = None
    cputime: int | None = None
    application: str | None = None
    fields: Mapping[str, str] = field(default_factory=lambda: _EMPTY_MAPPING)


FIELD_BY_ATTRIBUTE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "executable": "EXECUTABLE",
        "arguments": "ARGUMENTS",
        "environment": "ENVIRONMENT",
        "stdin": "STDIN",
        "stdout": "STDOUT",
        "stderr": "STDERR",
        "name": "JOB_NAME",
        "queue": "QUEUE",
        "project": "PROJECT",
        "nodes": "NODES",
        "processes": "PROCESSES",
        "cpus": "CPUS",
        "memory": "MEMORY",
        "walltime": "WALLTIME",
        "cputime": "CPUTIME",
    }
)
"""By attribute of JobDescription, the profile's field. `directory` is context, `application` a choice."""


def build_request(description: JobDescription) -> dict[str, str]:
    """Give the fields of START that a description means.

    Raises `ValueRefusedError` naming the field: for a value of the wrong type, a name that no
    environment variable can have, a field that is given twice, what is too long for any program.
    """
    request = {}
    if description.application is not None:
        _require_text("application", description.application)
    for attribute, name in FIELD_BY_ATTRIBUTE.items():
        value = getattr(description, attribute)
        if value is not None and value not in ((), [], {}):
            request[name] = _FORMATTERS.get(attribute, _format_scalar)(name, value)
    for name, value in _require_mapping("fields", description.fields, '{"NODES": "2"}').items():
        _require_text("fields", name)
        if name in request:
            message = (
                f"field {quote_name(name)} is given twice: by {_find_attribute(name)} and by fields"
            )
            raise ValueRefusedError(message, field=name, hint="leave one of them out")
        request[name] = value
    return request


def quote_shell_words(words: Sequence[str]) -> str:
    """Give words as text that a POSIX shell splits into exactly these words.

    `ValueRefusedError` for one that no program can be given.
    """
    for number, word in enumerate(words, 1):
        _check_length("ARGUMENTS", word, f"argument {number}")
    return " ".join(map(quote_shell_word, words))


def format_exports(environment: Mapping[str, str]) -> str:
    """Give lines `export NAME='value'`.

    `ValueRefusedError` for a name that is none, and for what no program can be given.
    """
    lines = []
    for name, value in environment.items():
        if not _VARIABLE_NAME.match(_require_text("ENVIRONMENT", name)):
            message = f"field ENVIRONMENT: {quote_name(name)} is no name of an environment variable"
            hint = "letters, digits and _, with no digit first"
            raise ValueRefusedError(message, field="ENVIRONMENT", hint=hint)
        _check_length(
            "ENVIRONMENT",
            f"{name}={_require_text('ENVIRONMENT', value)}",
            f"variable {quote_name(name)}",
        )
        lines.append(f"export {name}={quote_shell_word(value)}\n")
    return "".join(lines)


def _format_scalar(name: str, value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) > MAX_INTEGER:
            message = f"field {name}: a number of {value.bit_length()} bits is too large"
            raise ValueRefusedError(message, field=name, hint=f"at most {MAX_INTEGER}")
        return str(value)
    # the job may find it as a variable GPE_NAME, as it does with the bundled profiles
    _check_length(name, f"GPE_{name}={_require_text(name, value)}", "it")
    return _require_text(name, value)


def _require_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        message = f"field {name}: {value!r} is no text"
        raise ValueRefusedError(message, field=name, hint="give a string")
    return value


def _check_length(name: str, text: str, what: str) -> None:
    """Refuse what is too long for Linux to pass on to a program."""
    if len(text) * 4 > MAX_ARGUMENT_SIZE:
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > MAX_ARGUMENT_SIZE:
            message = f"field {name}: {what} is too long for a program: {size} bytes"
            hint = f"at most {MAX_ARGUMENT_SIZE}; put it into a file"
            raise ValueRefusedError(message, field=name, hint=hint)


def _format_arguments(name: str, value: object) -> str:
    if isinstance(value, str) or not isinstance(value, Sequence):
        message = f"field {name}: {value!r} is no sequence of arguments"
        raise ValueRefusedError(message, field=name, hint='as in ("-n", "3")')
    return quote_shell_words([_require_text(name, word) for word in value])


def _format_environment(name: str, value: object) -> str:
    return format_exports(_require_mapping(name, value, '{"LANG": "C"}'))


def _require_mapping(name: str, value: object, example: str) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        message = f"field {name}: {value!r} is no mapping from names to values"
        raise ValueRefusedError(message, field=name, hint=f"as in {example}")
    return value


_FORMATTERS: Final = {"arguments": _format_arguments, "environment": _format_environment}


def _find_attribute(name: str) -> str:
    return next(
        attribute for attribute, field_name in FIELD_BY_ATTRIBUTE.items() if field_name == name
    )
