"""The typer application, built from the verbs; only loaded when `options` cannot parse the command line."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from osprofile.cli import completion
from osprofile.cli.common import GROUPS, SECTIONS, print_message, run_verb, usage_exit_code
from osprofile.cli.job.directives import suggest_option
from osprofile.cli.options import REQUIRED, Option, Parameter, Verb, has_rest_argument, read_parameters
from osprofile.errors import OSProfileError
from osprofile.jobs.fields import OPTION_GROUPS

HELP = """Submit, follow and control jobs on any batch system; write and check profiles.

A profile is an XML file that describes a batch system. Its scripts are templates: texts with places for
values. To incarnate a template is to put the values in: incarnate START --profile pbs prints the script
of a job. incarnate COMMAND --help describes a command.
"""
GROUP_HELP = {"job": "Run jobs: submit, query, control and wait for them."}
_HELP_WORDS = (("--help", "all"), ("-h", "all"))
_MISUSE: Any = typer.BadParameter.__base__
"""The class of all errors in a command line, to which typer gives no public name."""


class SubmitCommand(TyperCommand):
    """`job submit`, whose help has what most jobs need; after `--help all`, all of it, in groups."""

    shows_all = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look for the word after --help, which prints the help before any other word is read."""
        self.shows_all = any(pair in _HELP_WORDS for pair in pairwise(args))
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the text, without `--help all` up to its details."""
        if not self.shows_all:
            self.help = (self.help or "").partition("\nDetails:\n")[0]
        super().format_help_text(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options of the first group, and of the others their names or, with `--help all`, all."""
        records: dict[str, Any] = {
            flag: p.get_help_record(ctx) for p in self.get_params(ctx) for flag in p.opts
        }
        first, *others = (
            (title, [records[flag] for flag in flags.split()]) for title, flags in OPTION_GROUPS.items()
        )
        if not self.shows_all:
            names: list[Any] = [(title, flags) for title, flags in OPTION_GROUPS.items() if title != first[0]]
            others = [("More, which --help all describes", names)]
        for title, rows in (first, *others):
            with formatter.section(title):
                formatter.write_dl(rows)


class VerbGroup(TyperGroup):
    """A group of verbs, whose help has a whole line for each, in sections."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the sections of SECTIONS; in a group of verbs of two words, the one that has them."""
        prefix = f"{ctx.info_name} " if ctx.parent is not None else ""
        for title, verbs in SECTIONS.items():
            names = [verb.removeprefix(prefix) for verb in verbs if verb.startswith(prefix)]
            if names:
                with formatter.section("Commands" if prefix else title):
                    formatter.write_dl([(name, self._get_summary(ctx, name)) for name in names])

    def _get_summary(self, ctx: Any, name: str) -> str:
        """Return the first line of a verb's help."""
        command: Any = self
        for word in name.split():
            command = command.get_command(ctx, word)
        return (command.help or "").partition("\n")[0]


class CommandGroup(VerbGroup):
    """The group of all verbs; the shell also completes its first word to a template's name."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return the completions of a word."""
        verbs = super().shell_complete(ctx, incomplete)
        if incomplete.startswith("-"):
            return verbs
        make_item: Any = type(super().shell_complete(ctx, "")[0])  # typer does not name its class in public
        templates = completion.list_suggestions("templates", {}, incomplete)
        return [*verbs, *(make_item(word, help=text) for word, text in templates)]


def run_app(app: typer.Typer, words: list[str]) -> int:
    """Run the application and return the exit code, also after a usage error."""
    try:
        code = app(words, prog_name="incarnate", standalone_mode=False)
    except _MISUSE as error:
        return _report_misuse(error, words)
    except SystemExit as end:  # of a completion call
        code = end.code
    if words[:2] == ["job", "submit"] and {"--help", "-h"} & {*words}:
        _print_limits(words)
    return code if isinstance(code, int) else 0


def _report_misuse(error: Any, words: Sequence[str]) -> int:
    """Print an error in a command line, and return the exit code."""
    hint = ""
    if hasattr(error, "possibilities") and words[:2] == ["job", "submit"]:  # there is no such option
        hint = suggest_option(error.option_name, _find_value(words, error.option_name))
        error.possibilities = None if hint else error.possibilities
    error.show()
    if hint:
        print_message(f"    hint: {hint}")
    return usage_exit_code(words)


def _print_limits(words: Sequence[str]) -> None:
    """Print the limits of the profile that a command line names, or of the default one."""
    from osprofile.cli.common import open_profile
    from osprofile.cli.job.limits import format_limits

    directory = _find_value(words, "--profiles")
    with suppress(OSProfileError):  # the help is no place to report a profile's errors
        name = _find_value(words, "--profile") or _find_value(words, "-p") or None
        if limits := format_limits(open_profile(name, [directory] if directory else [])):
            typer.echo(f"\n{limits}")


def _find_value(words: Sequence[str], flag: str) -> str:
    """Return the value that a command line gives to an option; empty without one."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == flag or word.startswith(f"{flag}="):
            return following if word == flag else word.partition("=")[2]
    return ""


def build_app(verbs: Mapping[str, Verb], version: str, *, listed: Collection[str] = ()) -> typer.Typer:
    """Return the typer application of some verbs; `job submit` becomes `submit` in the group `job`.

    A verb of `listed` has its line in the help, but no parameters: building all of them is slow.
    """
    app = typer.Typer(
        cls=CommandGroup,
        help=HELP,
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["--help", "-h"]},
    )

    def show_version(value: bool) -> None:
        if value:
            from osprofile.profile.data_directories import find_commit

            commit = find_commit()
            typer.echo(f"osprofile {version} ({commit})" if commit else f"osprofile {version}")
            raise typer.Exit

    @app.callback()
    def command(
        *,
        version: Annotated[
            bool,
            typer.Option(
                "--version",
                "-V",
                callback=show_version,
                is_eager=True,
                help="Print the version, and the commit.",
            ),
        ] = False,
    ) -> None:
        pass

    command.__doc__ = HELP
    groups = {name: _add_group(app, name) for name in GROUPS}
    for name, verb in verbs.items():
        group, _, word = name.rpartition(" ")
        parameters = [] if name in listed else read_parameters(verb)
        settings = {"allow_interspersed_args": not has_rest_argument(parameters)}
        cls = SubmitCommand if name == "job submit" else None
        groups.get(group, app).command(word, cls=cls, context_settings=settings)(
            _make_command(verb, parameters)
        )
    return app


def _add_group(app: typer.Typer, name: str) -> typer.Typer:
    group = typer.Typer(cls=VerbGroup, help=GROUP_HELP[name], rich_markup_mode=None)
    group.callback()(lambda: None)  # without a callback, typer merges a single verb into the group
    app.add_typer(group, name=name)
    return group


def _make_command(verb: Verb, parameters: Sequence[Parameter]) -> Callable[..., None]:
    """Return a function with the signature and docstring from which typer makes a verb's options and help."""

    def command(**arguments: Any) -> None:
        raise typer.Exit(
            run_verb(verb, {k: [] if v is None and k in lists else v for k, v in arguments.items()})
        )

    lists = {p.keyword for p in parameters if p.is_repeatable}
    annotations = {p.keyword: Annotated[p.type, _make_typer_parameter(p)] for p in parameters}
    # click rewraps every paragraph that does not begin with a backspace.
    command.__doc__ = (
        inspect.cleandoc(verb.__doc__ or "")
        .replace("Examples:\n", "\b\nExamples:\n")
        .replace("More examples:\n", "\b\nMore examples:\n")
    )
    command.__name__ = verb.__name__
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                p.keyword,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if p.default is REQUIRED else p.default,
                annotation=annotations[p.keyword],
            )
            for p in parameters
        ]
    )
    command.__annotations__ = annotations
    return command


def _make_typer_parameter(parameter: Parameter) -> Any:
    spec = parameter.spec
    complete = _make_completer(spec.completer) if spec.completer else None
    if isinstance(spec, Option):
        return typer.Option(
            *(["/".join(spec.flags)] if parameter.has_two_flags else spec.flags),
            help=spec.help,
            metavar=spec.metavar or None,
            autocompletion=complete,
            envvar=spec.environment or None,
            show_default=parameter.has_two_flags,
        )
    return typer.Argument(help=spec.help, metavar=spec.metavar, autocompletion=complete, show_default=False)


def _make_completer(name: str) -> Callable[..., Any]:
    def complete(ctx: typer.Context, incomplete: str) -> Any:
        params = dict(ctx.params)
        arguments = [p.name for p in ctx.command.params if p.param_type_name == "argument" and p.name]
        if "template" in arguments:
            # While an option's value is being completed, click has not assigned the arguments yet.
            for argument, word in zip(arguments, ctx.args, strict=False):
                params[argument] = params.get(argument) or word
        if "folders" in arguments:
            params["folders"] = params.get("folders") or ctx.args
        return completion.list_suggestions(name, params, incomplete)

    return complete
