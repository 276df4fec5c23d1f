"""The settings of a daemon, from TOML files: the site's, then the user's, then that of `--config`.

A daemon declares its settings as a frozen dataclass, in which each has its default. The type of a setting says how
its value is checked, unless the daemon has a check of its own for it.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from osprofile.errors import SettingError
from osprofile.text import quote_value, replace_unprintable, suggest_names

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    _Settings = TypeVar("_Settings", bound=DataclassInstance)

Check = Callable[[str, Any], Any]
"""A function of a setting's name and value, which returns the value to use. Raises `SettingError`."""

SYSTEM_DIRECTORY: Final = "/etc/osprofile"
PROFILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")
"""What a client or a setting may give as the name of a profile or a GridType (docs/security.md, Names)."""
NAME_HINT: Final = "a letter or digit, then letters, digits, _ . -"
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
HELP_EPILOG: Final = """\
Settings are read from /etc/osprofile/{0}, then from osprofile/{0} in the user's
configuration directory, then from --config FILE. Later files override earlier ones, and options
override all files."""
_MAX_NUMBER: Final = 10**9


def list_config_files(name: str, further: str | None = None) -> list[str]:
    """Return the files of a name that exist, and `further`; a later one overrides an earlier one."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    paths = os.path.join(SYSTEM_DIRECTORY, name), os.path.join(home, "osprofile", name)
    return [*filter(os.path.exists, paths), *filter(None, [further])]


def read_table(path: str, example: str) -> dict[str, Any]:
    """Return the content of a file. Raises `SettingError`, whose hint has the `example` of a line, for one that is no TOML."""
    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
        repr(table)  # messages quote values, and Python formats no integer of thousands of digits
    except OSError as error:
        raise SettingError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise SettingError(f"{path}: {error}", hint=f"it must be TOML, as in: {example}") from None
    return table


def read_file(path: str, settings: _Settings, checks: Mapping[str, Check], example: str) -> _Settings:
    """Return settings with the changes of a file. Raises `SettingError` if it has errors."""
    table = read_table(path, example)
    try:
        return replace(settings, **check_table(table, type(settings), checks))
    except SettingError as error:
        error.message = f"{path}: {error.message}"
        raise


def check_table(
    table: Mapping[str, object], kind: type[DataclassInstance], checks: Mapping[str, Check], prefix: str = ""
) -> dict[str, Any]:
    """Return the values of a table by the names of its settings, which `kind` declares."""
    types = {f.name: str(f.type) for f in fields(kind)}
    if unknown := next((name for name in table if name not in types), None):
        raise SettingError(
            f"there is no setting {quote_value(prefix + unknown)}", hint=suggest_names(unknown, types)
        )
    checks = {**_CHECKS, **checks}
    return {
        name: (checks.get(name) or checks[types[name]])(prefix + name, value) for name, value in table.items()
    }


def check_text(name: str, value: object) -> str:
    """Return a text of one line."""
    if not isinstance(value, str) or not value.isprintable():
        raise SettingError(f"{name} = {value!r} is not a text of one line")
    return value


def check_name(name: str, value: object) -> str:
    """Return the name of a profile."""
    if not isinstance(value, str) or not PROFILE_NAME.match(value):
        raise SettingError(f"{name} = {value!r} is not a name", hint=NAME_HINT)
    return value


def check_mapping(name: str, value: object, example: str) -> dict[str, Any]:
    """Return a table; the `example` has its content."""
    if not isinstance(value, dict):
        raise SettingError(f"{name} = {value!r} is not a table", hint=f"as in: {example}")
    return value


def limit(kind: type[int | float], least: float, most: float, described: str = "") -> Check:
    """Return the check of an integer, or of a number (of seconds, if it is not `described`), within limits."""
    described = described or ("an integer" if kind is int else "a number of seconds")

    def check(name: str, value: object) -> int | float:
        if isinstance(value, bool) or not isinstance(value, int | kind) or not least <= value <= most:
            raise SettingError(f"{name} = {value!r} is not {described} from {least} to {most}")
        return kind(value)

    return check


def _check_flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise SettingError(f"{name} = {value!r} is neither true nor false")
    return value


def _check_texts(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise SettingError(f"{name} = {value!r} is not a list", hint=f'as in: {name} = ["a", "b"]')
    return tuple(check_text(name, item) for item in value)


def _check_log_level(name: str, value: object) -> str:
    if value not in LOG_LEVELS:
        raise SettingError(f"{name} = {value!r}", hint=f"one of {', '.join(LOG_LEVELS)}")
    return str(value)


_CHECKS: Final[Mapping[str, Check]] = {
    "str": check_text,
    "bool": _check_flag,
    "int": limit(int, 1, _MAX_NUMBER),
    "float": limit(float, 0, _MAX_NUMBER),
    "tuple[str, ...]": _check_texts,
    "log_level": _check_log_level,
}
"""The checks of values by their types, and of what all daemons have by its name."""


def configure_logging(file: str, level: str) -> None:
    """Log to a file, or to stderr if none is given. Raises `SettingError` for one that cannot be written.

    What a user's commands print is in messages: no line of it begins as one of the log.
    """
    import logging

    class Formatter(logging.Formatter):
        """Indents all lines of a message but the first."""

        def format(self, record: logging.LogRecord) -> str:
            lines = super().format(record).splitlines()
            return "\n    ".join(map(replace_unprintable, lines))

    if file:
        # The mode: only its owner may read it. O_NONBLOCK: opening a named pipe would wait for a reader.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            os.close(os.open(file, flags, 0o600))
        except OSError as error:
            raise SettingError(f"log = {file!r}: {error.strerror}") from None
    handler = logging.FileHandler(file, errors="backslashreplace") if file else logging.StreamHandler()
    handler.setFormatter(Formatter("%(asctime)s %(process)d %(levelname)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=level.upper())
    # leaves out asyncio's debug output, but not the unhandled exceptions that it logs as ERROR
    logging.getLogger("asyncio").setLevel(logging.WARNING)
