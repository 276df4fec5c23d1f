"""Tables of the options of commands, read from the typer application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from manual.markdown import escape_text, format_code, format_table
from osprofile.cli import command_line
from osprofile.cli.app import build_app
from osprofile.cli.common import list_verbs
from osprofile.jobs.fields import FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator


class Parameter(Protocol):
    """The attributes of typer's parameters that are used here."""

    name: str
    param_type_name: str
    metavar: str | None
    opts: list[str]
    secondary_opts: list[str]
    is_flag: bool
    help: str | None
    envvar: str | None


def format_options_table(verb: str) -> str:
    """Return the table of a verb's arguments and options; raise KeyError for an unknown verb."""
    if verb not in list_verbs():
        raise KeyError(verb)
    rows = [(_format_flags(p), _format_meaning(p)) for p in list_parameters(verb)]
    return format_table(["argument, option", "meaning"], rows)


def format_fields_table() -> str:
    """Return the table of the attributes of a job."""
    rows = [
        (
            format_code(attribute),
            format_code(row.name) if row.name else "",
            " ".join(map(format_code, row.flags)),
            escape_text(row.help),
        )
        for attribute, row in FIELDS.items()
    ]
    return format_table(["attribute", "field", "option of job submit", "meaning"], rows)


def list_parameters(verb: str) -> list[Parameter]:
    """Return typer's parameters of a verb, without `--help`."""
    from typer.main import get_command

    command: Any = get_command(build_app({verb: command_line.load_verb(verb)}, ""))
    for word in verb.split():
        command = command.commands[word]
    return [p for p in command.params if p.name != "help"]


def _format_flags(parameter: Parameter) -> str:
    if parameter.param_type_name == "argument":
        return format_code(parameter.metavar or parameter.name)
    value = f" {parameter.metavar}" if parameter.metavar and not parameter.is_flag else ""
    flags = [*parameter.opts, *parameter.secondary_opts]
    return ", ".join(map(format_code, [*flags[:-1], flags[-1] + value]))


def _format_meaning(parameter: Parameter) -> str:
    return " ".join(_list_sentences(parameter))


def _list_sentences(parameter: Parameter) -> Iterator[str]:
    yield escape_text(parameter.help or "")
    if parameter.envvar:
        yield f"Default: {format_code('$' + str(parameter.envvar))}."
