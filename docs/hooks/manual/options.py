"""The options of a command, as typer has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from manual.markdown import code, table, text
from osprofile.cli import main
from osprofile.cli.app import build
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


def verbs() -> list[str]:
    """Give the verbs of `incarnate`: those of two words as `job submit`."""
    return [*VERBS, *(f"{group} {second}" for group in GROUPS for second in GROUPS[group])]


def options_table(verb: str) -> str:
    """Give the table of a verb's arguments and options; raise KeyError for no verb."""
    if verb not in verbs():
        raise KeyError(verb)
    rows = [(_written(p), _meaning(p)) for p in parameters(verb)]
    return table(["argument, option", "meaning"], rows)


def parameters(verb: str) -> list[Parameter]:
    """Give the parameters of a verb as typer made them, `--help` left out."""
    from typer.main import get_command

    command: Any = get_command(build({verb: main.load(verb)}, ""))
    for word in verb.split():
        command = command.commands[word]
    return [p for p in command.params if p.name != "help"]


def _written(parameter: Parameter) -> str:
    if parameter.param_type_name == "argument":
        return code(parameter.metavar or parameter.name)
    taken = f" {parameter.metavar}" if parameter.metavar and not parameter.is_flag else ""
    flags = [*parameter.opts, *parameter.secondary_opts]
    return ", ".join(map(code, [*flags[:-1], flags[-1] + taken]))


def _meaning(parameter: Parameter) -> str:
    return " ".join(_told(parameter))


def _told(parameter: Parameter) -> Iterator[str]:
    yield text(parameter.help or "")
    if parameter.envvar:
        yield f"Else {code('$' + str(parameter.envvar))}."
