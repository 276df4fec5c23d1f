"""The content of a page as plain data, which is also the output of `page --json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Mapping

Control = Literal["text", "lines", "number", "choice"]
"""The control for a field: a line of text, several lines, a number, or a choice of values."""
Source = Literal["fixed", "context", "engine"]
"""Who supplies a value that a request cannot set."""


@final
class Origin(NamedTuple):
    """Where something is declared: profile, `PROFILE/FILE:LINE`, and the locations that it replaces."""

    profile: str
    place: str
    replaces: tuple[str, ...] = ()


@final
class Tag(NamedTuple):
    """A word that a request can use for a value."""

    name: str
    value: str


@final
class Target(NamedTuple):
    """A script that the form can show: a variation of a template, for a job with an application.

    `application` is `NAME` or `NAME/VERSION`, or empty for a script that runs no application.
    """

    template: str
    variation: str
    application: str

    @property
    def title(self) -> str:
        """Template and variation as a title."""
        return f"{self.template}, {self.variation}" if self.variation else self.template


@final
class Case(NamedTuple):
    """What holds for a field where the field `selector` has a value (`ext:for`); empty limits: none of its own."""

    selector: str
    value: str
    minimum: str
    maximum: str
    pattern: str | None
    default: str | None


@final
class Setting(NamedTuple):
    """A field that a request may set.

    `key` is unique in the page: the name, or the name and a number. `title` is what people call it. `option` is how the command line of
    `incarnate job submit` sets it, empty for a field that is none of a job. `default` is None for a field
    that a request must set. `choices` are all allowed values, if there are few. `targets` are the
    indexes of the scripts that use the field; there are several `origins` if several templates
    declare the field in the same way. `command_description` is the description for the command line, where
    it is another one than that of the field. `cases` are further limits for values of other fields.
    """

    key: str
    name: str
    title: str
    option: str
    description: str
    default: str | None
    type: str
    limits: str
    minimum: str
    maximum: str
    pattern: str | None
    requires: str
    tags: tuple[Tag, ...]
    control: Control
    choices: tuple[str, ...]
    targets: tuple[int, ...]
    origins: tuple[Origin, ...]
    command_description: str = ""
    cases: tuple[Case, ...] = ()


@final
class Submission(NamedTuple):
    """An example of how to run a program.

    `command` submits it by osprofile; `fields` are what it asks for. `script` is the batch system's own
    script for the same, and `script_command` submits that; both are empty without directives.
    `placeholders` are the fields whose value in it the user must replace, `outside` the fields that the
    script's directives do not have.
    """

    command: str
    fields: tuple[tuple[str, str], ...]
    script: str
    script_command: str
    placeholders: tuple[str, ...]
    outside: tuple[str, ...]


@final
class Directive(NamedTuple):
    """A line of the job script that the batch system reads; `<QUEUE>` is the value of that field."""

    text: str
    origin: Origin


@final
class Supplied(NamedTuple):
    """A field that no request can set: the profile, the context or the engine supplies its value."""

    name: str
    description: str
    source: Source
    value: str | None
    tags: tuple[Tag, ...]
    origin: Origin | None


@final
class Application(NamedTuple):
    """An application: `wanted` is its name in a request, `own` the keys of fields that only it uses."""

    name: str
    version: str
    wanted: str
    description: str
    template: str
    default: bool
    own: tuple[str, ...]
    origin: Origin


@final
class Script(NamedTuple):
    """A template: its variations (name and description) and the keys of the fields that it uses.

    `part`: it is only used as a part of other scripts.
    """

    name: str
    description: str
    variations: tuple[tuple[str, str], ...]
    fields: tuple[str, ...]
    part: bool
    origin: Origin


@final
class Count(NamedTuple):
    """How many elements of a kind a document declares: new, replacing others, and in force."""

    kind: str
    new: int
    replacing: int
    in_force: int


@final
class Level(NamedTuple):
    """A document of the chain; `label` is `PROFILE/FILE`."""

    name: str
    label: str
    counts: tuple[Count, ...]


@final
class Example(NamedTuple):
    """A script with no field set, and the command that prints it; or the reason why there is none."""

    title: str
    command: str
    text: str
    refusal: str


@final
class Page(NamedTuple):
    """The content of a page. `settings` has the fields of a job first; `jobs` is their number.

    `site` is the site's name, else that of the profile; `contact` is what it tells its users, which may be empty.
    `confirmed` has the amounts above which a job is submitted only when a person has confirmed it, by field.

    `group_cases` say which users may give which values: their patterns are names of Unix groups.

    `submission` is None for a profile that cannot run a job.
    """

    profile: str
    site: str
    contact: str
    confirmed: Mapping[str, int]
    directory: str
    submission: Submission | None
    settings: tuple[Setting, ...]
    jobs: int
    targets: tuple[Target, ...]
    applications: tuple[Application, ...]
    directives: tuple[Directive, ...]
    scripts: tuple[Script, ...]
    supplied: tuple[Supplied, ...]
    levels: tuple[Level, ...]
    group_cases: tuple[Case, ...]
    examples: tuple[Example, ...]
