"""The attributes of JOB_CREATE: a table from attributes to a job request.

The attributes are those of docs/protocols/ninfg.md, 3. Unknown ones are ignored. If one is given
twice the last one counts, but arguments, variables and options add up.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.caller_environment import split_variables
from osprofile.executors.digits import parse_digits
from osprofile.executors.failures import RUN_IN_DIRECTORY, make_refusal
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE, JobDescription
from osprofile.jobs.request import MULTI_PROCESS_APPLICATION
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_RUN_IN_DIRECTORY: Final = f"cd && {RUN_IN_DIRECTORY}"
"""Runs a program in a directory below the home directory."""
_MAX_NUMBER: Final = 999_999_999
_MAX_PORT: Final = 65535
_MAX_AUTH_NUMBER: Final = 2**31 - 1
_DEFAULT_PROFILE: Final = "linux"
_GLOBUS_PREFIX: Final = "jobmanager-"
"""Globus names the job manager of PBS jobmanager-pbs."""

_BACKEND_APPLICATIONS: Final[Mapping[str, str | None]] = MappingProxyType(
    {"NORMAL": None, "MPI": "MPI", "BLACS": "BLACS"}
)
"""By backend, the profile's application that starts it; None is the profile's default."""


def staged_path(executable: str, directory: str) -> str:
    """Return the path of a staged executable in a job's working directory."""
    return posixpath.join(directory, "bin", posixpath.basename(executable))


def auth_number_path(directory: str) -> str:
    """Return the path of the file with the executable's authentication number."""
    return posixpath.join(directory, "auth_number")


@final
class Destination(NamedTuple):
    """Where a job goes; jobs with equal destinations share a target system.

    `hostname` is as the client gave it. `port` 0 is ssh's default. `polling` is the poll interval
    in seconds; 0 leaves it to us.
    """

    profile: str
    hostname: str
    port: int = 0
    subject: str = ""
    polling: int = 0


@final
@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job as a client requested it.

    `executable` is a path on this machine if `is_staged`, else on the target system. It runs in
    `run_directory` there, which other jobs may share: an absolute path, or one below the home
    directory; None: the job's own working directory. `stdout` and `stderr` are files on this
    machine that get its output (None: the output is dropped). `auth_number` is a secret that the
    executable reads from a file (empty: there is none). `base_description` lacks what depends on
    the working directory. `profile_attribute` names the profile; `warnings` are for the log.
    """

    destination: Destination
    executable: str
    is_staged: bool
    run_directory: str | None
    stdout: str | None
    stderr: str | None
    base_description: JobDescription
    auth_number: str = ""
    profile_attribute: str = "jobmanager"
    warnings: tuple[str, ...] = ()

    def build_description(self, directory: str) -> JobDescription:
        """Return the description of the job for a working directory on the target system."""
        executable = self.executable
        if self.is_staged:
            executable = staged_path(executable, directory)
        arguments, run_directory = tuple(self.base_description.arguments), None
        if self.auth_number:
            arguments = (*arguments, f"--authNumberFile={auth_number_path(directory)}")
        if self.run_directory is not None and posixpath.isabs(self.run_directory):
            run_directory = self.run_directory
        elif self.run_directory is not None:
            arguments = ("-c", _RUN_IN_DIRECTORY, "sh", self.run_directory, executable, *arguments)
            executable = "/bin/sh"
        return replace(
            self.base_description,
            executable=executable,
            arguments=arguments,
            directory=run_directory,
            working_directory=directory,
            stdout="stdout" if self.stdout else "/dev/null",
            stderr=("stdout" if self.stderr == self.stdout else "stderr") if self.stderr else "/dev/null",
        )


@final
@dataclass(slots=True)
class _ParsedAttributes:
    """The values of the attributes of one JOB_CREATE, by name."""

    values: dict[str, object] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    profile: str = ""
    profile_attribute: str = "jobmanager"

    def get_text(self, name: str) -> str:
        """Return a text; empty if it is missing."""
        return str(self.values.get(name, ""))

    def get_number(self, name: str) -> int:
        """Return a number; 0 if it is missing."""
        value = self.values.get(name, 0)
        return value if isinstance(value, int) else 0

    def get_flag(self, name: str) -> bool:
        """Return a flag; False if it is missing."""
        return bool(self.values.get(name, False))


_AttributeReader = Callable[[_ParsedAttributes, str, str], None]


@final
class Attribute(NamedTuple):
    """A row of the table: the reader of the value, and the attribute of `JobDescription` that it sets.

    `description_field` is empty if it sets none.
    """

    read_value: _AttributeReader
    mandatory: bool = False
    description_field: str = ""


def _read_text(parsed: _ParsedAttributes, name: str, value: str) -> None:
    parsed.values[name] = value


def _read_nonempty_text(parsed: _ParsedAttributes, name: str, value: str) -> None:
    if not value:
        raise make_refusal(name, "it has no value")
    parsed.values[name] = value


def _read_path(parsed: _ParsedAttributes, name: str, value: str) -> None:
    if not value.startswith("/") or value.endswith("/"):
        raise make_refusal(name, f"{quote_value(value)} is not an absolute path of a file")
    parsed.values[name] = value


def _make_number_reader(minimum: int = 0, maximum: int = _MAX_NUMBER) -> _AttributeReader:
    def read_number(parsed: _ParsedAttributes, name: str, value: str) -> None:
        number = parse_digits(value.strip(), 18)
        if number is None or not minimum <= number <= maximum:
            message = f"{quote_value(value)} is not a number from {minimum} to {maximum}"
            raise make_refusal(name, message)
        parsed.values[name] = number

    return read_number


_read_number: Final = _make_number_reader()


def _read_auth_number(parsed: _ParsedAttributes, name: str, value: str) -> None:
    digits = value.strip()
    number = parse_digits(digits, 10)
    if number is None or number > _MAX_AUTH_NUMBER:
        # The message does not have the value: it is a secret, and errors are logged.
        raise make_refusal(name, f"it is not a number from 0 to {_MAX_AUTH_NUMBER}")
    parsed.values[name] = digits


def _read_flag(parsed: _ParsedAttributes, name: str, value: str) -> None:
    word = value.strip().lower()
    if word not in {"true", "false"}:
        raise make_refusal(name, f"{quote_value(value)} is neither true nor false")
    parsed.values[name] = word == "true"


def _read_backend(parsed: _ParsedAttributes, name: str, value: str) -> None:
    if value.strip().upper() not in _BACKEND_APPLICATIONS:
        raise make_refusal(name, f"{quote_value(value)} is not one of {', '.join(_BACKEND_APPLICATIONS)}")
    parsed.values[name] = value.strip().upper()


def _read_argument(parsed: _ParsedAttributes, name: str, value: str) -> None:
    parsed.values[name] = True
    parsed.arguments.append(value)


def _read_variable(parsed: _ParsedAttributes, name: str, value: str) -> None:  # noqa: ARG001  # the signature of a reader
    variable, _, content = value.partition("=")
    parsed.environment[variable] = content


def _read_profile(parsed: _ParsedAttributes, name: str, value: str) -> None:
    if not value.strip():
        raise make_refusal(name, "it does not name a profile")
    parsed.profile, parsed.profile_attribute = value.strip(), name


def _read_option(parsed: _ParsedAttributes, name: str, value: str) -> None:
    key, _, rest = value.strip().partition(" ")
    if key == "profile":
        _read_profile(parsed, name, rest)


ATTRIBUTES: Final[Mapping[str, Attribute]] = MappingProxyType(
    {
        # destination
        "hostname": Attribute(_read_nonempty_text, mandatory=True),
        "port": Attribute(_make_number_reader(maximum=_MAX_PORT), mandatory=True),
        "jobmanager": Attribute(_read_text),
        "subject": Attribute(_read_text),
        "profile": Attribute(_read_profile),
        "option": Attribute(_read_option),
        "invoke_server_option": Attribute(_read_option),
        "status_polling": Attribute(_read_number, mandatory=True),
        # job
        "executable_path": Attribute(_read_path, mandatory=True, description_field="executable"),
        "argument": Attribute(_read_argument, mandatory=True, description_field="arguments"),
        "environment": Attribute(_read_variable, description_field="environment"),
        "tmp_dir": Attribute(_read_text, description_field="environment"),
        "backend": Attribute(_read_backend, mandatory=True, description_field="application"),
        "count": Attribute(_make_number_reader(minimum=1), mandatory=True, description_field="processes"),
        "host_count": Attribute(_read_number, description_field="nodes"),
        "max_time": Attribute(_read_number, description_field="walltime"),
        "max_wall_time": Attribute(_read_number, description_field="walltime"),
        "max_cpu_time": Attribute(_read_number, description_field="cputime"),
        "min_memory": Attribute(_read_number, description_field="memory"),
        "max_memory": Attribute(_read_number, description_field="memory"),
        "queue_name": Attribute(_read_text, description_field="queue"),
        "project": Attribute(_read_text, description_field="project"),
        # files
        "staging": Attribute(_read_flag, mandatory=True),
        "auth_number": Attribute(_read_auth_number),
        "work_directory": Attribute(_read_text),
        "redirect_enable": Attribute(_read_flag, mandatory=True),
        "stdout_file": Attribute(_read_text),
        "stderr_file": Attribute(_read_text),
        # ignored
        "client_name": Attribute(_read_text, mandatory=True),
        "refresh_credential": Attribute(_read_text, mandatory=True),
    }
)
MANDATORY_ATTRIBUTES: Final = tuple(name for name, row in ATTRIBUTES.items() if row.mandatory)


def parse_job_request(attributes: Iterable[tuple[str, str]]) -> JobRequest:
    """Return the job request of a JOB_CREATE. Raises `AttributeRefusedError` for a wrong attribute."""
    parsed = _ParsedAttributes()
    for name, value in attributes:
        row = ATTRIBUTES.get(name)
        if row is not None:
            _validate_text(name, value)
            row.read_value(parsed, name, value)
    missing = [name for name in MANDATORY_ATTRIBUTES if name not in parsed.values]
    if missing:
        message = f"mandatory, and missing{_format_others(missing[1:])}"
        raise make_refusal(missing[0], message)
    return _build_job_request(parsed)


def _format_others(names: list[str]) -> str:
    return f" (as are {', '.join(names)})" if names else ""


def _validate_text(name: str, value: str) -> None:
    if "\0" in value:
        raise make_refusal(name, "it contains a NUL byte")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise make_refusal(name, f"{quote_value(value)} is not valid UTF-8") from None


def _build_job_request(parsed: _ParsedAttributes) -> JobRequest:
    staged, redirected = parsed.get_flag("staging"), parsed.get_flag("redirect_enable")
    executable = parsed.get_text("executable_path")
    run_directory = parsed.get_text("work_directory") or None
    jobmanager = parsed.get_text("jobmanager").removeprefix(_GLOBUS_PREFIX)
    parsed.environment, warnings = split_variables(parsed.environment, "environment")
    if run_directory is None and not staged:
        run_directory = posixpath.dirname(executable)
    return JobRequest(
        destination=Destination(
            jobmanager or parsed.profile or _DEFAULT_PROFILE,
            parsed.get_text("hostname"),
            parsed.get_number("port"),
            parsed.get_text("subject"),
            parsed.get_number("status_polling"),
        ),
        executable=executable,
        is_staged=staged,
        run_directory=run_directory,
        stdout=(parsed.get_text("stdout_file") or None) if redirected else None,
        stderr=(parsed.get_text("stderr_file") or None) if redirected else None,
        base_description=_build_description(parsed),
        auth_number=parsed.get_text("auth_number"),
        profile_attribute="jobmanager" if jobmanager else parsed.profile_attribute,
        warnings=tuple(warnings),
    )


def _build_description(parsed: _ParsedAttributes) -> JobDescription:
    count, backend = parsed.get_number("count"), parsed.get_text("backend")
    parallel = count > 1 or backend != "NORMAL"
    minutes = parsed.get_number("max_wall_time") or parsed.get_number("max_time")
    environment = dict(parsed.environment)
    if parsed.get_text("tmp_dir"):
        environment.setdefault("TMPDIR", parsed.get_text("tmp_dir"))
    return JobDescription(
        arguments=tuple(parsed.arguments),
        environment=environment,
        application=(_BACKEND_APPLICATIONS[backend] or MULTI_PROCESS_APPLICATION) if parallel else None,
        processes=count if parallel else None,
        nodes=parsed.get_number("host_count") or None,
        walltime=minutes * 60 or None,
        cputime=parsed.get_number("max_cpu_time") * 60 or None,
        memory=max(parsed.get_number("min_memory"), parsed.get_number("max_memory")) or None,
        queue=parsed.get_text("queue_name") or None,
        project=parsed.get_text("project") or None,
    )


def attributes_for_field(field_name: str) -> tuple[str, ...]:
    """Return the attributes that a field of the profile gets its value from."""
    if field_name in {"SSH:HOST", "USER_NAME"}:
        return ("hostname",)
    if field_name == "SSH:PORT":
        return ("port",)
    if field_name == "DIRECTORY":
        return ("work_directory",)
    attribute = next((a for a, name in FIELD_BY_ATTRIBUTE.items() if name == field_name), None)
    return tuple(name for name, row in ATTRIBUTES.items() if attribute and row.description_field == attribute)
