"""What the attributes of JOB_CREATE mean: one table, from attribute to order (seed, 2.2.2.4).

An order is a `JobDescription`, where it goes, and which files travel. Unknown attributes are
ignored; of one that is given twice the last counts, but arguments, variables and options add up.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import AttributeRefusedError, OSProfileError, shown
from osprofile.target.job import FIELD_OF, JobDescription

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_RUN_IN: Final = 'cd && cd -- "$1" || exit 125; shift; exec "$@"'
"""Runs a program in a directory below the home directory."""
_MOST: Final = 999_999_999
_MOST_AUTH_NUMBER: Final = 2**31 - 1
_DEFAULT_PROFILE: Final = "linux"

_APPLICATIONS: Final[Mapping[str, str | None]] = MappingProxyType(
    {"NORMAL": None, "MPI": "MPI", "BLACS": "BLACS"}
)
"""By backend, the profile's application that starts it; None is its default one."""
SEVERAL: Final = "Processes"
"""The application for several processes of backend NORMAL."""


def staged_path(executable: str, directory: str) -> str:
    """Give where an executable of this machine is brought, in a job's working directory."""
    return posixpath.join(directory, "bin", posixpath.basename(executable))


def auth_number_path(directory: str) -> str:
    """Return the file of the number by which an executable proves itself, in a working directory."""
    return posixpath.join(directory, "auth_number")


@final
class Place(NamedTuple):
    """Where a job goes: jobs of equal places share one target system.

    `hostname` as the client gave it; `port` 0 is the default; `polling` 0 leaves the interval to us.
    """

    profile: str
    hostname: str
    port: int = 0
    subject: str = ""
    polling: int = 0


@final
@dataclass(frozen=True, slots=True)
class Order:
    """A job that was asked for.

    `executable` is a path here if it is `staged`, else on the target system. `run_in` is where it
    runs there, which other jobs may share: an absolute path, or one below the home directory; None:
    in the job's own working directory. `stdout` and `stderr` are files here that
    get its output; None: nobody wants it. `auth_number` is a secret that the executable finds in a
    file; empty: there is none. `job` lacks what depends on the working directory.
    """

    place: Place
    executable: str
    staged: bool
    run_in: str | None
    stdout: str | None
    stderr: str | None
    job: JobDescription
    auth_number: str = ""

    def description(self, directory: str) -> JobDescription:
        """Give the job for a working directory of the target system."""
        executable = self.executable
        if self.staged:
            executable = staged_path(executable, directory)
        arguments, fields = tuple(self.job.arguments), {}
        if self.auth_number:
            arguments = (*arguments, f"--authNumberFile={auth_number_path(directory)}")
        if self.run_in is not None and posixpath.isabs(self.run_in):
            fields = {"DIRECTORY": self.run_in}
        elif self.run_in is not None:
            arguments = ("-c", _RUN_IN, "sh", self.run_in, executable, *arguments)
            executable = "/bin/sh"
        return replace(
            self.job,
            executable=executable,
            arguments=arguments,
            directory=directory,
            fields=fields,
            stdout="stdout" if self.stdout else "/dev/null",
            stderr=("stdout" if self.stderr == self.stdout else "stderr")
            if self.stderr
            else "/dev/null",
        )


@final
@dataclass(slots=True)
class _Given:
    """The attributes of one JOB_CREATE, read; by name, in the types that their readers give."""

    one: dict[str, object] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    profile: str = ""

    def text(self, name: str) -> str:
        """Give a text; empty if it is not there."""
        return str(self.one.get(name, ""))

    def number(self, name: str) -> int:
        """Give a number; 0 if it is not there."""
        value = self.one.get(name, 0)
        return value if isinstance(value, int) else 0

    def flag(self, name: str) -> bool:
        """Give a flag; False if it is not there."""
        return bool(self.one.get(name, False))


_Reader = Callable[[_Given, str, str], None]


@final
class Attribute(NamedTuple):
    """A row of the table: how a value is read, and of what in a JobDescription it becomes a part.

    `becomes` is empty for what is no part of it.
    """

    read: _Reader
    mandatory: bool = False
    becomes: str = ""


def _refused(name: str, message: str, hint: str = "") -> AttributeRefusedError:
    return AttributeRefusedError(f"attribute {name}: {message}", attribute=name, hint=hint)


def _text(given: _Given, name: str, value: str) -> None:
    given.one[name] = value


def _some_text(given: _Given, name: str, value: str) -> None:
    if not value:
        raise _refused(name, "it has no value")
    given.one[name] = value


def _path(given: _Given, name: str, value: str) -> None:
    if not value.startswith("/") or value.endswith("/"):
        raise _refused(name, f"{shown(value)} is no absolute path of a file")
    given.one[name] = value


def _number(given: _Given, name: str, value: str) -> None:
    digits = value.strip()
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 18 or int(digits) > _MOST:
        raise _refused(name, f"{shown(value)} is no number from 0 to {_MOST}")
    given.one[name] = int(digits)


def _count(given: _Given, name: str, value: str) -> None:
    _number(given, name, value)
    if given.one[name] == 0:
        raise _refused(name, "at least one process is needed")


def _port(given: _Given, name: str, value: str) -> None:
    _number(given, name, value)
    if given.number(name) > 65535:
        raise _refused(name, f"{value} is no port: at most 65535, and 0 for the default")


def _auth_number(given: _Given, name: str, value: str) -> None:
    digits = value.strip()
    plain = digits.isascii() and digits.isdigit() and len(digits) <= 10
    if not plain or int(digits) > _MOST_AUTH_NUMBER:
        # the value is a secret, and an error is logged
        raise _refused(name, f"it is no number from 0 to {_MOST_AUTH_NUMBER}")
    given.one[name] = digits


def _flag(given: _Given, name: str, value: str) -> None:
    word = value.strip().lower()
    if word not in {"true", "false"}:
        raise _refused(name, f"{shown(value)} is neither true nor false")
    given.one[name] = word == "true"


def _backend(given: _Given, name: str, value: str) -> None:
    if value.strip().upper() not in _APPLICATIONS:
        raise _refused(name, f"{shown(value)} is none of {', '.join(_APPLICATIONS)}")
    given.one[name] = value.strip().upper()


def _argument(given: _Given, name: str, value: str) -> None:
    given.one[name] = True
    given.arguments.append(value)


def _variable(given: _Given, name: str, value: str) -> None:  # noqa: ARG001  # a reader as the others
    variable, _, content = value.partition("=")
    given.environment[variable] = content


def _profile(given: _Given, name: str, value: str) -> None:
    if not value.strip():
        raise _refused(name, "it names no profile")
    given.profile = value.strip()


def _option(given: _Given, name: str, value: str) -> None:
    key, _, rest = value.strip().partition(" ")
    if key == "profile":
        _profile(given, name, rest)


ATTRIBUTES: Final[Mapping[str, Attribute]] = MappingProxyType(
    {
        # where
        "hostname": Attribute(_some_text, mandatory=True),
        "port": Attribute(_port, mandatory=True),
        "jobmanager": Attribute(_text),
        "subject": Attribute(_text),
        "profile": Attribute(_profile),
        "option": Attribute(_option),
        "invoke_server_option": Attribute(_option),
        "status_polling": Attribute(_number, mandatory=True),
        # what
        "executable_path": Attribute(_path, mandatory=True, becomes="executable"),
        "argument": Attribute(_argument, mandatory=True, becomes="arguments"),
        "environment": Attribute(_variable, becomes="environment"),
        "tmp_dir": Attribute(_text, becomes="environment"),
        "backend": Attribute(_backend, mandatory=True, becomes="application"),
        "count": Attribute(_count, mandatory=True, becomes="processes"),
        "host_count": Attribute(_number, becomes="nodes"),
        "max_time": Attribute(_number, becomes="walltime"),
        "max_wall_time": Attribute(_number, becomes="walltime"),
        "max_cpu_time": Attribute(_number, becomes="cputime"),
        "min_memory": Attribute(_number, becomes="memory"),
        "max_memory": Attribute(_number, becomes="memory"),
        "queue_name": Attribute(_text, becomes="queue"),
        "project": Attribute(_text, becomes="project"),
        # files
        "staging": Attribute(_flag, mandatory=True),
        "auth_number": Attribute(_auth_number),
        "work_directory": Attribute(_text),
        "redirect_enable": Attribute(_flag, mandatory=True),
        "stdout_file": Attribute(_text),
        "stderr_file": Attribute(_text),
        # of no meaning here
        "client_name": Attribute(_text, mandatory=True),
        "refresh_credential": Attribute(_text, mandatory=True),
    }
)
MANDATORY: Final = tuple(name for name, row in ATTRIBUTES.items() if row.mandatory)


def order_of(attributes: Iterable[tuple[str, str]]) -> Order:
    """Give what the attributes of a JOB_CREATE ask for; `AttributeRefusedError` names the wrong one."""
    given = _Given()
    for name, value in attributes:
        row = ATTRIBUTES.get(name)
        if row is not None:
            _check_text(name, value)
            row.read(given, name, value)
    missing = [name for name in MANDATORY if name not in given.one]
    if missing:
        message = f"mandatory, and missing{_too(missing[1:])}"
        raise _refused(missing[0], message)
    return _order(given)


def _too(names: list[str]) -> str:
    return f" (as are {', '.join(names)})" if names else ""


def _check_text(name: str, value: str) -> None:
    if "\0" in value:
        raise _refused(name, "it has a NUL byte in it")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _refused(name, f"{shown(value)} is no UTF-8") from None


def _order(given: _Given) -> Order:
    staged, redirected = given.flag("staging"), given.flag("redirect_enable")
    executable = given.text("executable_path")
    run_in = given.text("work_directory") or None
    if run_in is None and not staged:
        run_in = posixpath.dirname(executable)
    return Order(
        place=Place(
            given.text("jobmanager") or given.profile or _DEFAULT_PROFILE,
            given.text("hostname"),
            given.number("port"),
            given.text("subject"),
            given.number("status_polling"),
        ),
        executable=executable,
        staged=staged,
        run_in=run_in,
        stdout=(given.text("stdout_file") or None) if redirected else None,
        stderr=(given.text("stderr_file") or None) if redirected else None,
        job=_job(given),
        auth_number=given.text("auth_number"),
    )


def _job(given: _Given) -> JobDescription:
    count, backend = given.number("count"), given.text("backend")
    parallel = count > 1 or backend != "NORMAL"
    minutes = given.number("max_wall_time") or given.number("max_time")
    environment = dict(given.environment)
    if given.text("tmp_dir"):
        environment.setdefault("TMPDIR", given.text("tmp_dir"))
    return JobDescription(
        arguments=tuple(given.arguments),
        environment=environment,
        application=(_APPLICATIONS[backend] or SEVERAL) if parallel else None,
        processes=count if parallel else None,
        nodes=given.number("host_count") or None,
        walltime=minutes * 60 or None,
        cputime=given.number("max_cpu_time") * 60 or None,
        memory=max(given.number("min_memory"), given.number("max_memory")) or None,
        queue=given.text("queue_name") or None,
        project=given.text("project") or None,
    )


def attributes_of(field_name: str) -> tuple[str, ...]:
    """Give the attributes that a field of the profile comes from; none for any other field."""
    if field_name in {"SSH:HOST", "USER_NAME"}:
        return ("hostname",)
    if field_name == "SSH:PORT":
        return ("port",)
    if field_name == "DIRECTORY":
        return ("work_directory",)
    becomes = next((a for a, name in FIELD_OF.items() if name == field_name), None)
    return tuple(name for name, row in ATTRIBUTES.items() if becomes and row.becomes == becomes)


def sentence(error: OSProfileError) -> str:
    """Give an error on one line, its hint behind it."""
    return f"{error.message} ({error.hint})" if error.hint else error.message
