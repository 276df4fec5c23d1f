"""What a page tells of a profile: plain data, in the order in which a reader meets it."""

from __future__ import annotations

from typing import Literal, NamedTuple, final

Control = Literal["text", "lines", "number", "choice"]
"""How a field is asked for: a line of text, lines, a number, or one of a few values."""
Source = Literal["fixed", "context", "engine"]


@final
class Origin(NamedTuple):
    """Where something is said: the profile's name, `PROFILE/FILE:LINE`, and what it replaces there."""

    profile: str
    place: str
    replaces: tuple[str, ...] = ()


@final
class Tag(NamedTuple):
    """A word that stands for a value."""

    name: str
    value: str


@final
class Target(NamedTuple):
    """A script that the form can show: a template's variation, with an application where it has one.

    `application` is `NAME` or `NAME/VERSION`, empty for the scripts that run none.
    """

    template: str
    variation: str
    application: str

    @property
    def title(self) -> str:
        """What people call it, the application apart."""
        return f"{self.template}, {self.variation}" if self.variation else self.template


@final
class Setting(NamedTuple):
    """A field that a request may set.

    `key` is unique in the page: the name, or name and a number. `default` is None where a value
    must be given. `choices` are all values that are taken, where they are few. `targets` are the
    indexes of the scripts that use the field; `origins` are more than one where templates declare
    it alike.
    """

    key: str
    name: str
    description: str
    default: str | None
    type: str
    limits: str
    minimum: str
    maximum: str
    pattern: str | None
    tags: tuple[Tag, ...]
    control: Control
    choices: tuple[str, ...]
    targets: tuple[int, ...]
    origins: tuple[Origin, ...]


@final
class Supplied(NamedTuple):
    """A field that no request sets: its value is the profile's, the context's or the engine's."""

    name: str
    description: str
    source: Source
    value: str | None
    tags: tuple[Tag, ...]
    origin: Origin | None


@final
class Application(NamedTuple):
    """An application; `wanted` is how a request names it, `own` the keys of the fields only it has."""

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
    """A template: its variations (name and description) and the keys of the fields it takes.

    `part` says that it is a part of the job's script, which people do not ask for by itself.
    """

    name: str
    description: str
    variations: tuple[tuple[str, str], ...]
    fields: tuple[str, ...]
    part: bool
    origin: Origin


@final
class Count(NamedTuple):
    """How many items of a kind a document says: new ones, ones that replace another, ones in force."""

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
    """A script made beforehand: the command that gives it; `refusal` where there is none."""

    title: str
    command: str
    text: str
    refusal: str


@final
class Page(NamedTuple):
    """All that a page tells. `settings` has the fields of a job first; `jobs` says how many those are."""

    profile: str
    directory: str
    settings: tuple[Setting, ...]
    jobs: int
    targets: tuple[Target, ...]
    applications: tuple[Application, ...]
    scripts: tuple[Script, ...]
    supplied: tuple[Supplied, ...]
    levels: tuple[Level, ...]
    examples: tuple[Example, ...]
