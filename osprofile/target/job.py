"""What a caller wants to be run, and how that becomes a profile's fields.

`request_of` is the one way from a job to a request: every executor goes through it, so that values
are quoted in one place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, final

from osprofile.errors import ValueRefusedError, told
from osprofile.incarnation.fields import LARGEST_INTEGER
from osprofile.incarnation.lengths import LONGEST
from osprofile.incarnation.static_scripts import quoted

OWN_FILE_PREFIX: Final = ".gpe_"
"""How the names of files begin that osprofile has in a job's working directory."""
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


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
    environment: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
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
    fields: Mapping[str, str] = field(default_factory=lambda: _NOTHING)


FIELD_OF: Final[Mapping[str, str]] = MappingProxyType(
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


def request_of(description: JobDescription) -> dict[str, str]:
    """Give the fields of START that a description means.

    Raises `ValueRefusedError` naming the field: for a value of the wrong type, a name that no
    environment variable can have, a field that is given twice, what is too long for any program.
    """
    request = {}
    if description.application is not None:
        _text("application", description.application)
    for attribute, name in FIELD_OF.items():
        value = getattr(description, attribute)
        if value is not None and value not in ((), [], {}):
            request[name] = _MAKERS.get(attribute, _plain)(name, value)
    for name, value in _mapping("fields", description.fields, '{"NODES": "2"}').items():
        _text("fields", name)
        if name in request:
            message = f"field {told(name)} is given twice: by {_attribute_of(name)} and by fields"
            raise ValueRefusedError(message, field=name, hint="leave one of them out")
        request[name] = value
    return request


def quoted_words(words: Sequence[str]) -> str:
    """Give words as text that a POSIX shell splits into exactly these words.

    `ValueRefusedError` for one that no program can be given.
    """
    for number, word in enumerate(words, 1):
        _fits("ARGUMENTS", word, f"argument {number}")
    return " ".join(map(quoted, words))


def exports(environment: Mapping[str, str]) -> str:
    """Give lines `export NAME='value'`.

    `ValueRefusedError` for a name that is none, and for what no program can be given.
    """
    lines = []
    for name, value in environment.items():
        if not _NAME.match(_text("ENVIRONMENT", name)):
            message = f"field ENVIRONMENT: {told(name)} is no name of an environment variable"
            hint = "letters, digits and _, with no digit first"
            raise ValueRefusedError(message, field="ENVIRONMENT", hint=hint)
        _fits("ENVIRONMENT", f"{name}={_text('ENVIRONMENT', value)}", f"variable {told(name)}")
        lines.append(f"export {name}={quoted(value)}\n")
    return "".join(lines)


def _plain(name: str, value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) > LARGEST_INTEGER:
            message = f"field {name}: a number of {value.bit_length()} bits is too large"
            raise ValueRefusedError(message, field=name, hint=f"at most {LARGEST_INTEGER}")
        return str(value)
    # the job may find it as a variable GPE_NAME, as it does with the bundled profiles
    _fits(name, f"GPE_{name}={_text(name, value)}", "it")
    return _text(name, value)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        message = f"field {name}: {value!r} is no text"
        raise ValueRefusedError(message, field=name, hint="give a string")
    return value


def _fits(name: str, text: str, what: str) -> None:
    """Refuse what is too long for Linux to pass on to a program."""
    if len(text) * 4 > LONGEST:
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > LONGEST:
            message = f"field {name}: {what} is too long for a program: {size} bytes"
            hint = f"at most {LONGEST}; put it into a file"
            raise ValueRefusedError(message, field=name, hint=hint)


def _arguments(name: str, value: object) -> str:
    if isinstance(value, str) or not isinstance(value, Sequence):
        message = f"field {name}: {value!r} is no sequence of arguments"
        raise ValueRefusedError(message, field=name, hint='as in ("-n", "3")')
    return quoted_words([_text(name, word) for word in value])


def _environment(name: str, value: object) -> str:
    return exports(_mapping(name, value, '{"LANG": "C"}'))


def _mapping(name: str, value: object, example: str) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        message = f"field {name}: {value!r} is no mapping from names to values"
        raise ValueRefusedError(message, field=name, hint=f"as in {example}")
    return value


_MAKERS: Final = {"arguments": _arguments, "environment": _environment}


def _attribute_of(name: str) -> str:
    return next(attribute for attribute, field_name in FIELD_OF.items() if field_name == name)
