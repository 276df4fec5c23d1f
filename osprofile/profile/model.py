"""The data model of profiles: documents, their entities, and resolved profiles.

The types are those of OS Profile 0.3, 1 to 4. Every entity keeps the element that it was read
from, so that each part of it has a location (file:line:column).
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Final, Literal, TypeVar, final

from osprofile.errors import ApplicationNotFoundError, StorageNotFoundError, TemplateNotFoundError
from osprofile.late import NamedTuple, compile_late
from osprofile.source import SourceText
from osprofile.text import quote_value, suggest_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from osprofile.errors import OSProfileError
    from osprofile.profile.tree import Element
    from osprofile.source import Location, Source

PROFILE_NAMESPACE = "http://gpe.intel.com/osprs/profile"
IDB_NAMESPACE = "http://gpe.intel.com/idb"
JSDL_NAMESPACE = "http://schemas.ggf.org/jsdl/2005/06/jsdl"
EXTENSION_NAMESPACE = "urn:osprofile:extension"
PATTERN_ATTRIBUTE = EXTENSION_NAMESPACE + "}pattern"
PATTERN_FIELD_ATTRIBUTE = EXTENSION_NAMESPACE + "}patternField"
DIRECTIVE_ATTRIBUTE = EXTENSION_NAMESPACE + "}directive"
WHEN_ATTRIBUTE = EXTENSION_NAMESPACE + "}when"
REQUIRES_ATTRIBUTE = EXTENSION_NAMESPACE + "}requires"
FOR_ATTRIBUTE = EXTENSION_NAMESPACE + "}for"
ABSENT_ATTRIBUTE = EXTENSION_NAMESPACE + "}absent"
TYPE_ATTRIBUTE = EXTENSION_NAMESPACE + "}type"
SOURCE_FILE_ATTRIBUTE = EXTENSION_NAMESPACE + "}src"

JOB_DIRECTIVES = "JOB_DIRECTIVES"
"""The template with the lines of the job script that a batch system reads."""

SITE_NAME = "SITE_NAME"
"""The field with the site's name, for people."""

EXPERIMENTAL = "EXPERIMENTAL"
"""The field with what a profile is made by, if it has never run on the real batch system."""

SITE_CONTACT = "SITE_CONTACT"
"""The field with what users should know of the site: whom to ask, where the command is installed."""

SITE_CONFIRM = "SITE_CONFIRM"
"""The field with `yes` if a person must confirm what an agent submits or cancels."""

ENERGY_PRICE = "ENERGY_PRICE"
"""The field with the price of a kWh, such as `0.30 EUR`; with it, the energy of jobs is asked for and told."""

DIRECTIVE_PREFIX = "DIRECTIVE_PREFIX"
"""The field with the text with which such a line begins."""

SUBMIT_COMMAND = "SUBMIT_COMMAND"
"""The field with the command by which people submit a script with such lines, without osprofile."""

SUBMIT_DIRECTORY = "SUBMIT_DIRECTORY"
"""The field with the directory of that command, in a script that does not begin in it: `$PBS_O_WORKDIR`."""

PASSED_OPTIONS = "PASSED_OPTIONS"
"""The field with the options of the batch system that a job may give although they have no field."""

TEST_COMMAND = "TEST_COMMAND"
"""The field with the command that reads a job script and tells whether the batch system would take the job."""

PASSED = "PASSED"
"""The field with those that a job gives; the engine alone sets it."""

USER_GROUPS = "USER_GROUPS"
"""The field with the names of the user's Unix groups, with blanks between them."""

RESERVED_FIELDS: Final = frozenset({"PROFILE_NAME", "USPACE_ROOT", "JOB_SCRIPT", "JOB_SCRIPT:END"})
"""The fields whose values the engine supplies, whatever a profile declares."""

USER_FIELDS = ("USER_NAME", USER_GROUPS)
"""The fields about the user, which the context supplies; other fields may have cases for them."""

FieldType = Literal["integer", "number", "text"]

FIELD_NAME_PATTERN: Final = (
    r"(?:TargetSystemInfo:[A-Za-z0-9_.-]+(?: +[A-Za-z0-9_.-]+)*"
    r"|[A-Za-z_][A-Za-z0-9_.-]*(?::[A-Za-z0-9_.-]+)?)"
)
"""The names that a replacement can have: those of a target system's properties are chosen by its
administrator (OS Profile 0.3, 2.3.1) and may contain blanks."""


FILE_SAFE_NAME_PATTERN: Final = compile_late(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
"""The allowed names of profiles and of static scripts: safe as a part of a path."""
FILE_SAFE_NAME_HINT: Final = "a name begins with a letter or digit and has only letters, digits, _ . -"


@final
class Tag(NamedTuple):
    """A symbolic value: a field's value `name` is replaced by `value` (OS Profile 0.3, 2.3)."""

    name: str
    value: str
    element: Element

    @property
    def location(self) -> Location:
        """The location of the element."""
        return self.element.location


@final
class Selection(NamedTuple):
    """The value of a field for which a declaration applies (`ext:for="QUEUE=debug"`)."""

    field: str
    value: str

    def __str__(self) -> str:
        return f"{self.field} {self.value}"


@final
class Field(NamedTuple):
    """A variable of a template (OS Profile 0.3, 2.3).

    - `minimum`, `maximum`: the limits of a number, or None
    - `default`: the value if the request has none; `value`: a fixed value, which overrides the request
    - `settable`: whether a request may set the field
    - `pattern_text`: a Java regular expression that the whole value must match
    - `pattern_field`: the fixed global field whose Value is the pattern (`ext:patternField`); a resolved
      profile has that text in `pattern_text`, and `pattern_value` is the text with its locations
    - `directive`: of a global field, the line of the job script that a value adds (`ext:directive`)
    - `when`: the field without whose value a fixed field is empty (`ext:when`)
    - `requires`: the field that needs a value, too, where a request sets this one (`ext:requires`)
    - `selection`: of a case, the value of another field for which it applies (`ext:for`)
    - `declarations`: those that `merge_declaration` merged; empty for a field as a document declares it
    """

    name: str
    element: Element
    description: str = ""
    minimum: float | None = None
    maximum: float | None = None
    tags: tuple[Tag, ...] = ()
    default: str | None = None
    value: str | None = None
    settable: bool = True
    pattern_text: str | None = None
    type: FieldType | None = None
    pattern_field: str | None = None
    pattern_value: SourceText | None = None
    directive: str | None = None
    when: str | None = None
    requires: str | None = None
    selection: Selection | None = None
    declarations: tuple[Field, ...] = ()

    @property
    def location(self) -> Location:
        """The location of the element."""
        return self.element.location

    @property
    def linked_names(self) -> tuple[str, ...]:
        """The fields that it depends on, by `when` or `requires`."""
        return tuple(filter(None, (self.when, self.requires)))

    @property
    def pattern(self) -> SourceText | None:
        """The pattern with the location of each character."""
        if self.pattern_text is None:
            return None
        declaration = self.find_declaration("pattern_text")
        return declaration.pattern_value or declaration.element.get_attribute_text(PATTERN_ATTRIBUTE)

    def locate_pattern(self, index: int = 0) -> Location:
        """Return the location of a character of the pattern; without a pattern, the field's."""
        return self.pattern.get_location(index) if self.pattern is not None else self.location

    @property
    def value_source(self) -> SourceText | None:
        """The fixed value with the location of each character."""
        child = self.element.find_child("Value") if self.value is not None else None
        return child.source_text if child is not None else None

    def locate_child(self, name: str) -> Location:
        """Return the location of a child element (`Min`, `Value`, ...); without it, the field's."""
        child = self.find_child(name)
        return child.source_text.get_location() if child is not None else self.location

    def find_child(self, name: str) -> Element | None:
        """Return a child element (`Min`, `Value`, ...), or None."""
        return self.find_declaration(_ATTRIBUTE_BY_ELEMENT[name]).element.find_child(name)

    def find_declaration(self, attribute: str) -> Field:
        """Return the merged declaration from which an attribute (`minimum`, `type`, ...) has its value."""
        value = getattr(self, attribute)
        return next((d for d in self.declarations if getattr(d, attribute) == value), self)

    def merge_declaration(self, other: Field) -> Field | None:
        """Return the field with the strictest limits and type of both declarations.

        What one of them lacks (Default, tags, pattern) is taken from the other. Return None if they
        differ in anything else: then no single field satisfies both.
        """
        merged = _merge_fields(self, other)
        if merged.comparison_key() != _merge_fields(other, self).comparison_key():
            return None
        return merged._replace(declarations=(*(self.declarations or (self,)), other))

    def comparison_key(self) -> tuple[object, ...]:
        """Return all that affects a value: equal for two declarations with the same effect."""
        return (
            (self.minimum, self.maximum),
            _list_tag_pairs(self.tags),
            self.default,
            self.value,
            self.settable,
            self.pattern_text,
            self.type,
            self.when,
            self.requires,
        )


_ATTRIBUTE_BY_ELEMENT: Final = {"Min": "minimum", "Max": "maximum", "Default": "default", "Value": "value"}
_TYPES_BY_STRICTNESS: Final = (None, "text", "number", "integer")


def _merge_fields(field: Field, other: Field) -> Field:
    """Return `field` with the stricter limits and type of both, and with what only `other` has."""
    minimums = [f.minimum for f in (field, other) if f.minimum is not None]
    maximums = [f.maximum for f in (field, other) if f.maximum is not None]
    return field._replace(
        description=field.description or other.description,
        minimum=max(minimums, default=None),
        maximum=min(maximums, default=None),
        type=max(field.type, other.type, key=_TYPES_BY_STRICTNESS.index),
        tags=field.tags or other.tags,
        default=other.default if field.default is None else field.default,
        pattern_text=other.pattern_text if field.pattern_text is None else field.pattern_text,
        requires=other.requires if field.requires is None else field.requires,
    )


def _list_tag_pairs(tags: Iterable[Tag]) -> tuple[tuple[str, str], ...]:
    return tuple((tag.name, tag.value) for tag in tags)


def get_selection(case: Field) -> Selection:
    """Return for which value of which field a case applies; of any other declaration, none."""
    return case.selection or Selection("", "")


def get_fixed_value(fields: Mapping[str, Field], name: str) -> str:
    """Return the Value of a field; empty if it has none, or is not declared."""
    field = fields.get(name)
    return (field.value or "") if field is not None else ""


@final
class StaticScript(NamedTuple):
    """A script that is written once to the directory of BIN and run with `arguments` (OS Profile 0.3, 2.2)."""

    file_name: str
    arguments: SourceText
    body: SourceText
    element: Element

    @property
    def location(self) -> Location:
        """The location of the element."""
        return self.element.location


@final
class Invocation(NamedTuple):
    """A variation of a template: either a `body` or a `static_script` (OS Profile 0.3, 2.2).

    The default variation's name is the empty string.
    """

    name: str
    description: str
    body: SourceText | None
    static_script: StaticScript | None
    element: Element

    @property
    def location(self) -> Location:
        """The location of the element."""
        return self.element.location


@final
class Template(NamedTuple):
    """Named invocations and the fields that they use (OS Profile 0.3, 2.4).

    `cases` are the declarations of fields that apply only for a value of another field (`ext:for`); only the
    unnamed template has some.
    """

    name: str
    description: str
    invocations: Mapping[str, Invocation]
    fields: Mapping[str, Field]
    element: Element
    cases: tuple[Field, ...] = ()

    @property
    def location(self) -> Location:
        """The location of the element."""
        return self.element.location

    @property
    def directive_prefix(self) -> str:
        """How the template's directives begin; empty if it does not declare that."""
        return get_fixed_value(self.fields, DIRECTIVE_PREFIX)

    @property
    def submit_command(self) -> str:
        """How people submit a script with these directives; empty if the template does not declare that."""
        return get_fixed_value(self.fields, SUBMIT_COMMAND)

    @property
    def submit_directory(self) -> str:
        """Where such a script finds the directory of its submission; empty if it begins there."""
        return get_fixed_value(self.fields, SUBMIT_DIRECTORY)

    @property
    def test_command(self) -> str:
        """The command that tells whether the batch system would take a job; empty if there is none."""
        return get_fixed_value(self.fields, TEST_COMMAND)

    def get_invocation(self, variation: str = "") -> Invocation:
        """Return the variation of that name. Raises `TemplateNotFoundError`."""
        invocation = self.invocations.get(variation)
        if invocation is None:
            missing = f"variation {quote_value(variation)}" if variation else "default variation"
            message = f"template {self.name} has no {missing}"
            names = [name for name in self.invocations if name]
            hint = (
                suggest_names(variation, names) or _NO_VARIATION_HINT
                if variation
                else _format_variations(names)
            )
            raise TemplateNotFoundError(message, location=self.location, hint=hint)
        return invocation


_NO_VARIATION_HINT: Final = "it has only the default variation: omit the name"


def _format_variations(names: Sequence[str]) -> str:
    return f"choose a variation: {', '.join(names)}" if names else "it has no invocation at all"


@final
class Storage(NamedTuple):
    """A file space: the script of `template` is the path of its directory (OS Profile 0.3, 3)."""

    name: str
    template: str
    element: Element

    @property
    def location(self) -> Location:
        """The location of the element."""
        return self.element.location


@final
class Application(NamedTuple):
    """A version of an application: `template` runs it (OS Profile 0.3, 4).

    `name` is its name in the hierarchy of profiles; requests name it by `application_name` and
    `application_version`.
    """

    name: str
    application_name: str
    application_version: str
    description: str
    template: str
    element: Element

    @property
    def location(self) -> Location:
        """The location of the element."""
        return self.element.location


@final
class Document(NamedTuple):
    """A profile document as it was read, without what it inherits (OS Profile 0.3, 1).

    `templates` has the named ones; `global_fields` and `cases` are those of the unnamed template; `files` are
    the files with texts of the document (`ext:src`).
    """

    name: str
    extends: str | None
    uspace_root: str
    delimiter: str
    templates: Mapping[str, Template]
    global_fields: Mapping[str, Field]
    storages: Mapping[str, Storage]
    applications: Mapping[str, Application]
    element: Element
    files: Sequence[Source] = ()
    cases: Sequence[Field] = ()

    @property
    def location(self) -> Location:
        """The location of the root element."""
        return self.element.location

    @property
    def sources(self) -> tuple[Source, ...]:
        """The document and its files."""
        return (self.element.source, *self.files)


def is_removal(element: Element) -> bool:
    """Return whether a template, storage or application removes the inherited one (`ext:absent`)."""
    return parse_boolean(element.attributes.get(ABSENT_ATTRIBUTE, "false"))


def parse_boolean(text: str) -> bool:
    """Return an xs:boolean; what is none is false."""
    return text.strip() in {"true", "1"}


Entity = TypeVar("Entity", Template, Storage, Application)
Key = TypeVar("Key")


@final
class Profile:
    """A resolved profile: a document with everything inherited through `extends` (OS Profile 0.3, 1).

    `documents` is the chain, the profile's own document first. An entity replaces the
    inherited one of the same name as a whole, or removes it; so does a global field replace another.
    """

    __slots__ = (
        "__weakref__",
        "applications",
        "cases",
        "delimiter",
        "documents",
        "global_fields",
        "name",
        "refusal",
        "storages",
        "templates",
        "uspace_root",
    )  # fmt: skip

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = tuple(documents)
        """The profile's own document, then those that it inherits from."""
        own = self.documents[0]
        self.name = own.name
        """The name."""
        self.refusal: OSProfileError | None = None
        """Why new jobs are refused: the error of the present version, if this is one that was kept for its jobs."""
        self.uspace_root = own.uspace_root
        """The directory for the working directories of jobs."""
        self.delimiter = own.delimiter
        """The delimiter of paths."""
        chain = self.documents[::-1]
        global_fields = {name: field for d in chain for name, field in d.global_fields.items()}
        self.global_fields: Mapping[str, Field] = _resolve_patterns(global_fields, global_fields)
        """The global fields by name."""
        cases = {(field.name, field.selection): field for d in chain for field in d.cases}
        self.cases: Sequence[Field] = tuple(_resolve_patterns(cases, global_fields).values())
        """The declarations of global fields that apply only for a value of another field (`ext:for`)."""
        templates = _merge_entities([d.templates for d in chain])
        for name, template in templates.items():
            if any(f.pattern_field for f in template.fields.values()):
                fields = _resolve_patterns(template.fields, global_fields)
                templates[name] = template._replace(fields=fields)
        if JOB_DIRECTIVES in templates:
            templates[JOB_DIRECTIVES] = _add_directives(templates[JOB_DIRECTIVES], global_fields.values())
        self.templates: Mapping[str, Template] = templates
        """The templates by name."""
        self.storages: Mapping[str, Storage] = _merge_entities([d.storages for d in chain])
        """The storages by name."""
        self.applications: Mapping[str, Application] = _merge_entities([d.applications for d in chain])
        """The applications by key."""

    def __repr__(self) -> str:
        return f"<Profile {' -> '.join(d.name for d in self.documents)}>"

    def get_template(self, name: str) -> Template:
        """Return the template of that name. Raises `TemplateNotFoundError`."""
        template = self.templates.get(name)
        if template is None:
            message = f"profile {self.name} has no template {quote_value(name)}"
            raise TemplateNotFoundError(message, hint=self.explain_missing_template(name))
        return template

    def explain_missing_template(self, name: str) -> str:
        """Return the hint for a template that the profile lacks: where it was removed, or similar names."""
        removed = next((d.templates[name] for d in self.documents if name in d.templates), None)
        if removed is not None:
            return f"the inherited one is removed at {removed.location}"
        return suggest_names(name, self.templates)

    def list_static_scripts(self) -> Iterator[tuple[Template, StaticScript]]:
        """Yield all static scripts, each with the template that runs it."""
        invocations = ((t, i) for t in self.templates.values() for i in t.invocations.values())
        return ((t, i.static_script) for t, i in invocations if i.static_script is not None)

    def find_field(self, template: Template, name: str) -> Field | None:
        """Return the declaration of a field in a template: its own, else the global one."""
        return template.fields.get(name) or self.global_fields.get(name)

    def get_value(self, template: str, name: str) -> str:
        """Return the fixed Value of a field of a template, else that of the global one; empty without it."""
        declared = self.templates.get(template)
        fields = self.global_fields if declared is None else {**self.global_fields, **declared.fields}
        return get_fixed_value(fields, name)

    @property
    def passed_options(self) -> dict[str, str]:
        """The options of the batch system that jobs may give though they have no field: `--licenses`, `-lsoftware`.

        Each with the fields for the same thing, as in `--tres-per-task:GPUS,CPUS`, which a site may limit; empty for most.
        """
        template = JOB_DIRECTIVES if JOB_DIRECTIVES in self.templates else "JOB_PROLOGUE"
        words = (word.partition(":") for word in self.get_value(template, PASSED_OPTIONS).split())
        return {option: name for option, _, name in words}

    def list_linked_names(self, template: Template, name: str) -> list[str]:
        """Return the fields that a field of a template depends on, directly or not (`Field.linked_names`)."""
        names = [name]
        for known in names:
            field = self.find_field(template, known)
            names += [n for n in (field.linked_names if field is not None else ()) if n not in names]
        return names[1:]

    def get_storage(self, name: str) -> Storage:
        """Return the storage of that name. Raises `StorageNotFoundError`."""
        storage = self.storages.get(name)
        if storage is None:
            message = f"profile {self.name} has no storage {quote_value(name)}"
            raise StorageNotFoundError(message, hint=suggest_names(name, self.storages))
        return storage

    def get_application(self, name: str, version: str | None = None) -> Application:
        """Return the application by ApplicationName and ApplicationVersion (OS Profile 0.3, 4).

        Without a version, return the highest one (compared number by number: 1.10 is above 1.9).
        Of two with the same name and version, return the nearer one. Raises `ApplicationNotFoundError`.
        """
        declared = [a for d in self.documents for a in d.applications.values()]
        matches = [a for a in declared if a.application_name == name and self.applications.get(a.name) is a]
        if not matches:
            names = {a.application_name for a in self.applications.values()}
            message = f"profile {self.name} has no application {quote_value(name)}"
            raise ApplicationNotFoundError(message, hint=suggest_names(name, names))
        if version is None:
            return max(matches, key=lambda a: version_sort_key(a.application_version))
        for application in matches:
            if application.application_version == version:
                return application
        message = f"profile {self.name} has no version {quote_value(version)} of application {name}"
        versions = ", ".join(sorted({a.application_version for a in matches}, key=version_sort_key))
        raise ApplicationNotFoundError(message, hint=f"there is {versions}")

    def list_overridden(
        self, entity: Template | Storage | Application
    ) -> list[Template | Storage | Application]:
        """Return the entities of inherited documents that this one overrides, nearest first."""
        attribute = {Template: "templates", Storage: "storages", Application: "applications"}[type(entity)]
        same_name = [getattr(d, attribute).get(entity.name) for d in self.documents]
        inherited = takewhile(lambda e: not is_removal(e.element), filter(None, same_name))
        return [e for e in inherited if e.element is not entity.element]


def _merge_entities(chain: Sequence[Mapping[str, Entity]]) -> dict[str, Entity]:
    """Merge by name, root first; an overriding entity keeps the position of the overridden one."""
    merged: dict[str, Entity] = {}
    for entities in chain:
        merged.update(entities)
        for name in [name for name, entity in entities.items() if is_removal(entity.element)]:
            del merged[name]
    return merged


def _resolve_patterns(fields: Mapping[Key, Field], global_fields: Mapping[str, Field]) -> dict[Key, Field]:
    """Return the fields with the patterns of those that name a global field for it.

    If that field does not exist or is not fixed, there is no pattern: `repository` reports it.
    """
    resolved = dict(fields)
    for name, field in fields.items():
        named = global_fields.get(field.pattern_field) if field.pattern_field else None
        if named is not None and (value := named.value_source) is not None:
            resolved[name] = field._replace(pattern_text=value.text, pattern_value=value)
    return resolved


def _add_directives(template: Template, global_fields: Iterable[Field]) -> Template:
    """Return JOB_DIRECTIVES with a line for each field with a directive, after the first line (`#!/bin/sh`).

    It takes the place of a line of the template that begins with this field.
    Batch systems read no directives after a command, which the last lines may be.
    """
    fields = [field for field in global_fields if field.directive]
    texts = [text for field in fields for text in _format_directive(field)]
    invocation = template.invocations.get("")
    if not texts or invocation is None or invocation.body is None:
        return template
    body = invocation.body
    for field in fields:
        while line := re.search(rf"(?m)^<{re.escape(field.name)}[:/].*\n?", body.text):
            body = body.remove(*line.span())
    line_end = body.text.find("\n")
    body = body.insert_texts(line_end if line_end >= 0 else len(body.text), texts)
    return template._replace(invocations={**template.invocations, "": invocation._replace(body=body)})


def _format_directive(field: Field) -> tuple[SourceText, SourceText, SourceText]:
    """Return the parts of a line with a field's directive; all have their locations in the attribute."""
    directive = field.element.get_attribute_text(DIRECTIVE_ATTRIBUTE)
    start = directive.get_location()

    def locate_at_start(text: str) -> SourceText:
        return SourceText(text, start.source, tuple((i, start.offset) for i in range(len(text))))

    return locate_at_start(f"\n<{field.name}/(?s)^(.+)\\z/"), directive, locate_at_start(">")


def version_sort_key(version: str) -> tuple[tuple[int, int, str], ...]:
    """Return the sort key of a version: runs of digits are numbers, above all other text.

    A pre-release (`1.0-rc1`, `beta`) sorts before the version itself.
    """

    # Ranks: 0 a pre-release, 1 the end of the version, 2 other text, 3 a number. Of two numbers without
    # leading zeros the longer one is greater; `int` refuses more than 4,300 digits.
    def get_part_key(part: str) -> tuple[int, int, str]:
        if part.isascii() and part.isdecimal():
            number = part.lstrip("0")
            return (3, len(number), number)
        return (0 if re.search("(?i)alpha|beta|rc|pre|dev", part) else 2, 0, part)

    end = (1, 0, "")
    return (*map(get_part_key, re.findall(r"[0-9]+|[^0-9.]+", version)), end)
