"""The options of the commands, declared once, and a quick parser for the plain way to write them.

A verb is a function; its parameters are annotated with `Option` or `Argument`. From them `app`
builds the typer application, which does all that typer does (help, completion, usage errors). To
import typer takes several times as long as a bare interpreter's start, so a command line that
`parse_arguments` can read in full is run without it; anything else (`--help`, an abbreviation, an error) is
left to typer.
"""

# Annotations are evaluated here, not kept as strings: they are what a verb's options are read from.
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, final

Verb = Callable[..., int]


@final
class Option(NamedTuple):
    """An option: its spellings (`--set`, or `--strict/--no-strict` for a switch), help, metavar.

    `completer` names a function of `completion`; `environment` a variable with its default.
    """

    flags: tuple[str, ...]
    help: str
    metavar: str = ""
    completer: str = ""
    environment: str = ""


@final
class Argument(NamedTuple):
    """A positional argument.

    `takes_rest`: it takes all words from its first one on, those that begin with - too.
    """

    help: str
    metavar: str
    completer: str = ""
    takes_rest: bool = False


ProfileOption = Annotated[
    str | None,
    Option(
        ("--profile", "-p"),
        "The profile: a name, or the path of its file or folder.",
        "NAME|PATH",
        "profiles",
        "OSPROFILE_PROFILE",
    ),
]
ProfilesOption = Annotated[
    list[str],
    Option(
        ("--profiles",), "Look for profiles in this directory first; may be given again.", "DIR"
    ),
]
ContextOption = Annotated[
    list[str],
    Option(
        ("--context",),
        "A special field or one of the user's profile, as in WORKING_DIRECTORY=/scratch/me/1.",
        "NAME=VALUE",
    ),
]
SetOption = Annotated[
    list[str],
    Option(("--set", "-s"), "Set a field of the request.", "NAME=VALUE", "assignments"),
]
SetFileOption = Annotated[
    list[str],
    Option(("--set-file",), "Set a field to the content of a file.", "NAME=PATH", "assignments"),
]
FieldsOption = Annotated[
    str | None,
    Option(("--fields",), "Read fields from a JSON object; - is standard input.", "FILE|-"),
]
VariationOption = Annotated[
    str, Option(("--variation", "-v"), "The invocation variation.", "NAME", "variations")
]
StrictOption = Annotated[
    bool, Option(("--strict", "--no-strict"), "Whether an unused field is an error.")
]
ApplicationOption = Annotated[
    str | None,
    Option(
        ("--application", "-a"),
        "The application that the job runs [default: Executable].",
        "NAME[/VERSION]",
        "applications",
    ),
]
JsonOption = Annotated[bool, Option(("--json",), "Print JSON.")]


@final
class Parameter(NamedTuple):
    """A parameter of a verb: its keyword, how it is written, and what it takes."""

    keyword: str
    spec: Option | Argument
    type: Any
    default: object

    @property
    def is_switch(self) -> bool:
        """Whether it takes no value."""
        return self.type is bool

    @property
    def is_repeatable(self) -> bool:
        """Whether it may be given again."""
        return bool(self.type == list[str])


REQUIRED = object()
"""The default of a parameter that has none."""


def read_parameters(verb: Verb) -> list[Parameter]:
    """Give the parameters of a verb, positional arguments first."""
    defaults = dict(verb.__kwdefaults__ or {})
    found = [
        Parameter(name, hint.__metadata__[0], hint.__origin__, defaults.get(name, REQUIRED))
        for name, hint in verb.__annotations__.items()
        if name != "return"
    ]
    return sorted(found, key=lambda p: isinstance(p.spec, Option))


def has_rest_argument(declared: Sequence[Parameter]) -> bool:
    """Say whether all words from the first positional one on are arguments."""
    return any(isinstance(p.spec, Argument) and p.spec.takes_rest for p in declared)


def parse_arguments(
    verb: Verb, words: Sequence[str], environment: Mapping[str, str]
) -> dict[str, object] | None:
    """Give the keyword arguments that a command line means; None where only typer can tell."""
    known = read_parameters(verb)
    by_flag = {f: p for p in known if isinstance(p.spec, Option) for f in p.spec.flags}
    found: dict[str, Any] = {}
    positional, rest = list[str](), iter(words)
    takes_the_rest = has_rest_argument(known)
    for word in rest:
        if not word.startswith("-") or word == "-":
            positional += [word, *(rest if takes_the_rest else ())]
            continue
        if word == "--":
            positional += rest
            break
        flag, equals, value = word.partition("=")
        parameter = by_flag.get(flag)
        if parameter is None or (equals and (parameter.is_switch or not flag.startswith("--"))):
            return None
        if parameter.is_switch:
            found[parameter.keyword] = not flag.startswith("--no-")
            continue
        given = value if equals else next(rest, None)
        if given is None:
            return None
        if parameter.is_repeatable:
            found.setdefault(parameter.keyword, []).append(given)
        else:
            found[parameter.keyword] = given
    return _fill_defaults(known, found, positional, environment)


def _fill_defaults(
    declared: Sequence[Parameter],
    arguments: dict[str, Any],
    positional: list[str],
    environment: Mapping[str, str],
) -> dict[str, object] | None:
    """Add the positional arguments and the defaults; None where they do not fit."""
    for parameter in declared:
        spec = parameter.spec
        if isinstance(spec, Argument) and positional:
            arguments[parameter.keyword] = (
                positional if parameter.is_repeatable else positional.pop(0)
            )
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
