"""From the bytes of a document to a `Document`, or to all that is wrong with it.

The XML is read by `tree`, judged by `schema`; what no schema can say is checked here: duplicate
names, the root of the working directories, names of static scripts.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from osprofile.errors import InvalidProfileError, Problem, shown
from osprofile.language.body import NAME
from osprofile.profile import schema, tree
from osprofile.profile.model import (
    PATTERN_KEY,
    TYPE_KEY,
    Application,
    Document,
    Field,
    Invocation,
    StaticScript,
    Storage,
    Tag,
    Template,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeVar

    from osprofile.profile.model import FieldType
    from osprofile.profile.tree import Element

    Named = TypeVar("Named", Template, Storage, Application, Field, Invocation)

PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
"""What a profile may be called and a request may name, and the file of a static script."""


def read(name: str, data: bytes) -> Document:
    """Read one document; `name` is what messages call it (a path).

    Raises `InvalidProfileError` with every problem of the document.
    """
    document, problems = judge(name, data)
    if problems:
        raise InvalidProfileError(problems)
    return document


def judge(name: str, data: bytes) -> tuple[Document, list[Problem]]:
    """Give a document, however wrong, and its problems in order: for the linter, which goes on.

    Raises `InvalidProfileError` where the bytes are not well-formed XML.
    """
    root = tree.parse(tree.source_of(name, data))
    problems = schema.problems(root)
    document = _Reader(problems).document(root)
    return document, sorted(problems, key=_offset)


def _offset(problem: Problem) -> int:
    return problem.place.offset if problem.place else 0


class _Reader:
    """Builds a document and collects its problems; it can stand a tree that is not valid."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        self.told = {p.place.offset for p in problems if p.place}

    def document(self, root: Element) -> Document:
        name = root.attributes.get("name", "")
        if "name" in root.attributes and not PLAIN_NAME.fullmatch(name):
            hint = "a name begins with a letter or digit and has only letters, digits, _ . -"
            self.report(root, "name", "OSP108", f"profile name {shown(name)} is not allowed", hint)
        templates = [self.template(e) for e in root.children if e.name == "Template"]
        documents_globals = [t for t in templates if not t.name]
        for template in documents_globals:
            self.no_invocations(template)
        unique = self.unique(
            "template", [t for t in templates if t.name or t is documents_globals[0]]
        )
        if len(documents_globals) > 1:
            self.report_duplicate(
                "unnamed template", documents_globals[1].element, documents_globals[0].element
            )
        extends = root.attributes.get("extends")
        return Document(
            name=name,
            extends=extends or None,
            uspace_root=self.uspace_root(root),
            delimiter=_text(root, "Delimiter"),
            templates={name: t for name, t in unique.items() if name},
            global_fields=dict(documents_globals[0].fields) if documents_globals else {},
            storages=self.unique("storage", map(self.storage, _children(root, "Storage"))),
            applications=self.unique(
                "application", map(self.application, _children(root, "Application"))
            ),
            element=root,
        )

    def uspace_root(self, root: Element) -> str:
        element, delimiter = root.child("UspaceRoot"), root.child("Delimiter")
        if element is None or delimiter is None:
            return ""
        path, mark = element.text, delimiter.text
        if not mark:
            hint = "it joins the parts of paths: / on any POSIX system"
            self.problems.append(Problem("OSP106", "Delimiter is empty", delimiter.place, hint))
        elif not path.startswith(mark) and not re.match(r"[A-Za-z]:" + re.escape(mark), path):
            message = f"UspaceRoot {shown(path)} is not an absolute path"
            hint = f"let it begin with the Delimiter, {mark!r}, and no blank before it"
            self.problems.append(Problem("OSP106", message, element.source_text.place(), hint))
        elif path != path.rstrip():
            message = f"UspaceRoot {shown(path)} has white space at its end"
            hint = "it would be a part of every working directory's name: remove it"
            self.problems.append(Problem("OSP106", message, element.source_text.place(), hint))
        return path

    def template(self, element: Element) -> Template:
        invocations = self.unique(
            "variation", map(self.invocation, _children(element, "Invocation"))
        )
        return Template(
            name=element.attributes.get("name", ""),
            description=_description(element),
            invocations=invocations,
            fields=self.unique("field", map(self.field, _children(element, "Field"))),
            element=element,
        )

    def no_invocations(self, template: Template) -> None:
        for invocation in template.invocations.values():
            message = (
                "the unnamed template holds the profile's global fields and has no invocations"
            )
            hint = "give the template a name"
            self.problems.append(Problem("OSP108", message, invocation.place, hint))

    def invocation(self, element: Element) -> Invocation:
        parts = _parts(element)
        body, script = parts.get("Body"), parts.get("StaticScript")
        return Invocation(
            name=element.attributes.get("name", ""),
            description=_folded(parts.get("Description")),
            body=body.source_text if body is not None else None,
            static_script=self.static_script(script) if script is not None else None,
            element=element,
        )

    def static_script(self, element: Element) -> StaticScript:
        name = element.attributes.get("fileName", "")
        if "fileName" in element.attributes and not PLAIN_NAME.fullmatch(name):
            hint = "a file name begins with a letter or digit and has only letters, digits, . _ -"
            self.report(
                element,
                "fileName",
                "OSP107",
                f"static script file name {shown(name)} is not allowed",
                hint,
            )
        arguments = element.attribute_text("arguments")
        return StaticScript(name, arguments, element.source_text, element)

    def field(self, element: Element) -> Field:
        name = element.attributes.get("name", "")
        if "name" in element.attributes and not _is_field_name(name):
            hint = "a letter or _, then letters, digits, _ . - and at most one : inside"
            self.report(
                element, "name", "OSP108", f"no replacement can name a field {shown(name)}", hint
            )
        get, parts = element.attributes.get, _parts(element)
        tags = _children(element, "Tag") if "Tag" in parts else ()
        default, value = parts.get("Default"), parts.get("Value")
        return Field(
            name=name,
            description=_folded(parts.get("Description")),
            minimum=self.limit(parts.get("Min")),
            maximum=self.limit(parts.get("Max")),
            tags=tuple([Tag(t.attributes.get("name", ""), t.text, t) for t in tags]),
            default=None if default is None else default.text,
            value=None if value is None else value.text,
            settable=get("isSettable", "true").strip() in {"true", "1"},
            pattern_text=get(PATTERN_KEY),
            type=_type(get(TYPE_KEY)),
            element=element,
        )

    def limit(self, element: Element | None) -> float | None:
        if element is None:
            return None
        try:
            number = float(element.text.strip())  # INF and -INF of xs:double are known to Python
        except ValueError:  # libxml2 takes `1e` for a double
            if element.source_text.place().offset not in self.told:
                self.problems.append(schema.no_number(element))
            return None
        if math.isnan(number):
            message = f"{element.name} is NaN, which no number is above or below"
            self.problems.append(Problem("OSP104", message, element.source_text.place()))
        return number

    def storage(self, element: Element) -> Storage:
        get = element.attributes.get
        return Storage(get("name", ""), get("template", ""), element)

    def application(self, element: Element) -> Application:
        get = element.attributes.get
        return Application(
            name=get("name", ""),
            application_name=_text(element, "ApplicationName"),
            application_version=_text(element, "ApplicationVersion"),
            description=_description(element),
            template=get("template", ""),
            element=element,
        )

    def unique(self, what: str, entities: Iterable[Named]) -> dict[str, Named]:
        """Key entities by name; of two with one name the first is kept and the second reported."""
        found: dict[str, Named] = {}
        for entity in entities:
            first = found.setdefault(entity.name, entity)
            if first is not entity:
                shown_name = f" {entity.name}" if entity.name else " without a name"
                self.report_duplicate(what + shown_name, entity.element, first.element)
        return found

    def report_duplicate(self, what: str, second: Element, first: Element) -> None:
        hint = f"the first one stands at {first.place}; remove or rename one of them"
        place = second.attribute_place("name")
        self.problems.append(Problem("OSP105", f"a second {what} in one place", place, hint))

    def report(self, element: Element, attribute: str, code: str, message: str, hint: str) -> None:
        place = element.attribute_place(attribute)
        self.problems.append(Problem(code, message, place, hint))


def _is_field_name(name: str) -> bool:
    return (name.isascii() and name.isidentifier()) or re.fullmatch(NAME, name) is not None


def _children(element: Element, name: str) -> list[Element]:
    return [child for child in element.children if child.name == name]


def _optional(element: Element, name: str) -> str | None:
    child = element.child(name)
    return None if child is None else child.text


def _text(element: Element, name: str) -> str:
    return _optional(element, name) or ""


def _description(element: Element) -> str:
    return _folded(element.child("Description"))


def _folded(element: Element | None) -> str:
    return "" if element is None else " ".join(element.text.split())


def _parts(element: Element) -> dict[str, Element]:
    """Give the children by name, the first of each."""
    return {child.name: child for child in reversed(element.children)}


_TYPES: Final[dict[str, FieldType]] = {"integer": "integer", "number": "number", "text": "text"}


def _type(value: str | None) -> FieldType | None:
    return _TYPES.get(value.strip()) if value else None
