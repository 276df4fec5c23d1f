"""The options of a command, as typer has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from manual.markdown import escape_text, format_code, format_table
from osprofile.cli import main
from osprofile.cli.app import build_app
from osprofile.cli.common import GROUPS, VERBS

if TYPE_CHECKING:
    from collections.abc import Iterator


class Parameter(Protocol):
    """What is used here of typer's parameters."""

    name: str
    param_type_name: str
    metavar: str | None
    opts: list[str]
    secondary_opts: list[str]
    is_flag: bool
    help: str | None
    envvar: str | None


def list_verbs() -> list[str]:
    """Give the verbs of `incarnate`: those of two words as `job submit`."""
    return [*VERBS, *(f"{group} {second}" for group in GROUPS for second in GROUPS[group])]


def format_options_table(verb: str) -> str:
    """Give the table of a verb's arguments and options; raise KeyError for no verb."""
    if verb not in list_verbs():
        raise KeyError(verb)
    rows = [(_format_flags(p), _format_meaning(p)) for p in list_parameters(verb)]
    return format_table(["argument, option", "meaning"], rows)


def list_parameters(verb: str) -> list[Parameter]:
    """Give the parameters of a verb as typer made them, `--help` left out."""
    from typer.main import get_command

    command: Any = get_command(build_app({verb: main.load_verb(verb)}, ""))
    for word in verb.split():
        command = command.commands[word]
    return [p for p in command.params if p.name != "help"]


def _format_flags(parameter: Parameter) -> str:
    if parameter.param_type_name == "argument":
        return format_code(parameter.metavar or parameter.name)
    taken = f" {parameter.metavar}" if parameter.metavar and not parameter.is_flag else ""
    flags = [*parameter.opts, *parameter.secondary_opts]
    return ", ".join(map(format_code, [*flags[:-1], flags[-1] + taken]))


def _format_meaning(parameter: Parameter) -> str:
    return " ".join(_list_sentences(parameter))


def _list_sentences(parameter: Parameter) -> Iterator[str]:
    yield escape_text(parameter.help or "")
    if parameter.envvar:
        yield f"Else {format_code('$' + str(parameter.envvar))}."
