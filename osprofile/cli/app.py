"""The typer application, made from the verbs; see `options` for why it is seldom needed."""

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from osprofile.cli import completion
from osprofile.cli.common import GROUPS, run_verb, usage_exit_code
from osprofile.cli.options import (
    REQUIRED,
    Option,
    Parameter,
    Verb,
    has_rest_argument,
    read_parameters,
)

HELP = """Turn OS Profiles (GPE XML) into the scripts of a batch system, check them, show them.

The word render can be left out: incarnate START --profile pbs.
"""
GROUP_HELP = {
    "job": "Run jobs on a target system: submit, watch, hold and end them.",
}


class CommandGroup(TyperGroup):
    """The command's group: at the first word the shell offers templates beside the verbs."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Give what may stand next."""
        from typer._click.shell_completion import CompletionItem

        found = super().shell_complete(ctx, incomplete)
        if incomplete.startswith("-"):
            return found
        offered = completion.list_suggestions("templates", {}, incomplete)
        return [*found, *(CompletionItem(word, help=text) for word, text in offered)]


def run_app(app: typer.Typer, words: list[str]) -> int:
    """Run the application; give the exit code, of a usage error too."""
    from typer._click.exceptions import ClickException

    try:
        code = app(words, prog_name="incarnate", standalone_mode=False)
    except ClickException as error:
        error.show()
        return usage_exit_code(words)
    except SystemExit as end:  # of a completion call
        code = end.code
    return code if isinstance(code, int) else 0


def build_app(verbs: Mapping[str, Verb], version: str) -> typer.Typer:
    """Give the application of those verbs; `job submit` is a verb of the group `job`."""
    app = typer.Typer(
        cls=CommandGroup,
        help=HELP,
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["--help", "-h"]},
    )

    def show_version(value: bool) -> None:
        if value:
            typer.echo(f"osprofile {version}")
            raise typer.Exit

    @app.callback()
    def command(
        *,
        version: Annotated[
            bool,
            typer.Option(
                "--version", callback=show_version, is_eager=True, help="Print the version."
            ),
        ] = False,
    ) -> None:
        pass

    command.__doc__ = HELP
    groups = {name: _add_group(app, name) for name in GROUPS}
    for name, verb in verbs.items():
        group, _, own = name.rpartition(" ")
        settings = {"allow_interspersed_args": not has_rest_argument(read_parameters(verb))}
        groups.get(group, app).command(own, context_settings=settings)(_make_command(verb))
    return app


def _add_group(app: typer.Typer, name: str) -> typer.Typer:
    """Add a first word of verbs that have two."""
    group = typer.Typer(help=GROUP_HELP[name], rich_markup_mode=None)
    group.callback()(lambda: None)  # a group, with however few verbs
    app.add_typer(group, name=name)
    return group


def _make_command(verb: Verb) -> Callable[..., None]:
    """Give the function that typer reads a verb's options from."""

    def command(**arguments: Any) -> None:
        raise typer.Exit(
            run_verb(verb, {k: [] if v is None and k in many else v for k, v in arguments.items()})
        )

    known = read_parameters(verb)
    many = {p.keyword for p in known if p.is_repeatable}
    annotations = {p.keyword: Annotated[p.type, _make_typer_parameter(p)] for p in known}
    # A line end kept as it is: click wraps all paragraphs but those that begin with a backspace.
    command.__doc__ = inspect.cleandoc(verb.__doc__ or "").replace("Examples:\n", "\b\nExamples:\n")
    command.__name__ = verb.__name__
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                p.keyword,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if p.default is REQUIRED else p.default,
                annotation=annotations[p.keyword],
            )
            for p in known
        ]
    )
    command.__annotations__ = annotations
    return command


def _make_typer_parameter(parameter: Parameter) -> Any:
    spec = parameter.spec
    complete = _make_completer(spec.completer) if spec.completer else None
    if isinstance(spec, Option):
        pair = parameter.is_switch and len(spec.flags) == 2
        return typer.Option(
            *(["/".join(spec.flags)] if pair else spec.flags),
            help=spec.help,
            metavar=spec.metavar or None,
            autocompletion=complete,
            envvar=spec.environment or None,
            show_default=pair,
        )
    return typer.Argument(
        help=spec.help, metavar=spec.metavar, autocompletion=complete, show_default=False
    )


def _make_completer(name: str) -> Callable[..., Any]:
    def complete(ctx: typer.Context, incomplete: str) -> Any:
        given = dict(ctx.params)
        arguments = [
            p.name for p in ctx.command.params if p.param_type_name == "argument" and p.name
        ]
        if "template" in arguments:
            # Behind an option that still lacks its value, the arguments are not sorted out yet.
            for argument, word in zip(arguments, ctx.args, strict=False):
                given[argument] = given.get(argument) or word
        if "folders" in arguments:
            given["folders"] = given.get("folders") or ctx.args
        return completion.list_suggestions(name, given, incomplete)

    return complete
