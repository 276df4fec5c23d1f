"""The declaration of the verbs' options, and a fast parser for ordinary command lines.

A verb is a function whose parameters are annotated with `Option` or `Argument`. From these, `app`
builds the typer application, which does all that typer does (help, completion, usage errors).
Importing typer takes several times as long as starting the interpreter, so a command line that
`parse_arguments` understands completely runs without it; anything else (`--help`, an abbreviation,
an error) is left to typer.
"""

# No `from __future__ import annotations`: `read_parameters` needs the evaluated annotations.
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, final

from osprofile.late import NamedTuple

Verb = Callable[..., int]


@final
class Option(NamedTuple):
    """An option: its flags (`--set`, or `--strict` and `--no-strict` for a switch), help and metavar.

    `completer` is a key of `completion.COMPLETERS`; `environment` is the variable that has the default.
    """

    flags: tuple[str, ...]
    help: str
    metavar: str = ""
    completer: str = ""
    environment: str = ""


@final
class Argument(NamedTuple):
    """A positional argument; with `takes_rest`, it takes all words that follow, options too."""

    help: str
    metavar: str
    completer: str = ""
    takes_rest: bool = False


ProfileOption = Annotated[
    str | None,
    Option(
        ("--profile", "-p"),
        "The profile: its name, or the path of its file or folder.",
        "NAME|PATH",
        "profiles",
        "OSPROFILE_PROFILE",
    ),
]
ProfilesOption = Annotated[
    list[str], Option(("--profiles",), "Search this directory for profiles first; may be repeated.", "DIR")
]
ContextOption = Annotated[
    list[str],
    Option(
        ("--context",),
        "Replace a value that osprofile finds by itself and --set refuses, as in WORKING_DIRECTORY=/scratch/me/1.",
        "NAME=VALUE",
    ),
]
SetOption = Annotated[
    list[str], Option(("--set", "-s"), "Set a field of the request.", "NAME=VALUE", "assignments")
]
SetFileOption = Annotated[
    list[str], Option(("--set-file",), "Set a field to the content of a file.", "NAME=PATH", "assignments")
]
FieldsOption = Annotated[
    str | None, Option(("--fields",), "Read fields from a JSON object; - is standard input.", "FILE|-")
]
VariationOption = Annotated[
    str, Option(("--variation", "-v"), "The variation of the template.", "NAME", "variations")
]
StrictOption = Annotated[
    bool, Option(("--strict", "--no-strict"), "Whether a field that the template does not use is an error.")
]
ApplicationOption = Annotated[
    str | None,
    Option(
        ("--application", "-a"),
        "Run a program in a way that the profile defines under this name [default: Executable: run PROGRAM].",
        "NAME[/VERSION]",
        "applications",
    ),
]
FullOption = Annotated[bool, Option(("--full",), "Print long shell texts in full.")]
JsonOption = Annotated[bool, Option(("--json",), "Print JSON.")]


@final
class Parameter(NamedTuple):
    """A parameter of a verb: its keyword, its option or argument, its type and its default."""

    keyword: str
    spec: Option | Argument
    type: Any
    default: object

    @property
    def is_switch(self) -> bool:
        """Whether it is an option without a value."""
        return self.type is bool

    @property
    def has_two_flags(self) -> bool:
        """Whether it is a switch with a flag to turn it on and one, `--no-...`, to turn it off."""
        return self.is_switch and isinstance(self.spec, Option) and self.spec.flags[-1].startswith("--no-")

    @property
    def is_repeatable(self) -> bool:
        """Whether it may be repeated."""
        return bool(self.type == list[str])


@final
class OptionGroup(NamedTuple):
    """Options that are declared elsewhere; the verb gets what `build` makes of their values, given by keyword."""

    list_parameters: Callable[[], Sequence[Parameter]]
    build: Callable[..., object]


REQUIRED = object()
"""The default of a parameter that must be given."""


def read_parameters(verb: Callable[..., object]) -> list[Parameter]:
    """Return the parameters of a verb with those of its groups, positional arguments first."""
    parameters = list[Parameter]()
    for name, (spec, type_, default) in _read_annotations(verb).items():
        if isinstance(spec, OptionGroup):
            parameters += spec.list_parameters()
        else:
            parameters.append(Parameter(name, spec, type_, default))
    return sorted(parameters, key=lambda p: isinstance(p.spec, Option))


def call_verb(verb: Verb, arguments: Mapping[str, Any]) -> int:
    """Call a verb with the values of its parameters, as `read_parameters` lists them; return its exit code."""
    given = dict(arguments)
    for name, (spec, _, _) in _read_annotations(verb).items():
        if isinstance(spec, OptionGroup):
            keywords = [p.keyword for p in spec.list_parameters()]
            given[name] = spec.build(**{keyword: given.pop(keyword) for keyword in keywords})
    return verb(**given)


def _read_annotations(verb: Callable[..., object]) -> dict[str, tuple[Any, Any, object]]:
    """Return what declares each parameter of a verb, its type, and its default."""
    defaults = verb.__kwdefaults__ or {}
    return {
        name: (hint.__metadata__[0], hint.__origin__, defaults.get(name, REQUIRED))
        for name, hint in verb.__annotations__.items()
        if name != "return"
    }


def has_rest_argument(parameters: Sequence[Parameter]) -> bool:
    """Return whether all words from the first positional one on are arguments."""
    return any(isinstance(p.spec, Argument) and p.spec.takes_rest for p in parameters)


def parse_arguments(
    verb: Verb, words: Sequence[str], environment: Mapping[str, str]
) -> dict[str, object] | None:
    """Return the keyword arguments for a verb, or None if the command line is left to typer."""
    parameters = read_parameters(verb)
    by_flag = {f: p for p in parameters if isinstance(p.spec, Option) for f in p.spec.flags}
    arguments: dict[str, Any] = {}
    positional, rest = list[str](), iter(words)
    takes_rest = has_rest_argument(parameters)
    for word in rest:
        if not word.startswith("-") or word == "-":
            positional += [word, *(rest if takes_rest else ())]
            continue
        if word == "--":
            positional += rest
            break
        flag, equals, value = word.partition("=")
        parameter = by_flag.get(flag)
        if parameter is None or (equals and (parameter.is_switch or not flag.startswith("--"))):
            return None
        if parameter.is_switch:
            arguments[parameter.keyword] = not (parameter.has_two_flags and flag.startswith("--no-"))
            continue
        text = value if equals else next(rest, None)
        if text is None:
            return None
        if parameter.is_repeatable:
            arguments.setdefault(parameter.keyword, []).append(text)
        else:
            arguments[parameter.keyword] = text
    return _fill_defaults(parameters, arguments, positional, environment)


def _fill_defaults(
    parameters: Sequence[Parameter],
    arguments: dict[str, Any],
    positional: list[str],
    environment: Mapping[str, str],
) -> dict[str, object] | None:
    """Return the arguments with positional ones and defaults added, or None if these do not fit."""
    for parameter in parameters:
        spec = parameter.spec
        if isinstance(spec, Argument) and positional:
            arguments[parameter.keyword] = positional if parameter.is_repeatable else positional.pop(0)
            positional = [] if parameter.is_repeatable else positional
        if parameter.keyword in arguments:
            continue
        if isinstance(spec, Option) and spec.environment and environment.get(spec.environment):
            arguments[parameter.keyword] = environment[spec.environment]
        elif parameter.default is REQUIRED:
            return None
        else:
            arguments[parameter.keyword] = [] if parameter.is_repeatable else parameter.default
    return None if positional else arguments
