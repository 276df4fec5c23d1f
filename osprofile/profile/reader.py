"""Read a `Document` from bytes, or find all its problems.

`tree` parses the XML, `schema` validates it. This module checks what a schema cannot express:
duplicate names, allowed names, UspaceRoot.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from osprofile.errors import InvalidProfileError, Problem
from osprofile.late import compile_late
from osprofile.profile import schema, tree
from osprofile.profile.model import (
    ABSENT_ATTRIBUTE,
    DIRECTIVE_ATTRIBUTE,
    FIELD_NAME_PATTERN,
    FILE_SAFE_NAME_HINT,
    FILE_SAFE_NAME_PATTERN,
    FOR_ATTRIBUTE,
    PATTERN_ATTRIBUTE,
    PATTERN_FIELD_ATTRIBUTE,
    REQUIRES_ATTRIBUTE,
    RESERVED_FIELDS,
    SOURCE_FILE_ATTRIBUTE,
    TYPE_ATTRIBUTE,
    WHEN_ATTRIBUTE,
    Application,
    Document,
    Field,
    Invocation,
    Selection,
    StaticScript,
    Storage,
    Tag,
    Template,
    is_removal,
    parse_boolean,
)
from osprofile.profile.text_files import TextFileReader
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeVar

    from osprofile.profile.model import FieldType
    from osprofile.profile.tree import Element
    from osprofile.source import SourceText

    NamedEntity = TypeVar("NamedEntity", Template, Storage, Application, Field, Invocation)


def load_document(
    file_name: str, data: bytes, folder: str | None = None, *, uses_cache: bool = False
) -> Document:
    """Return the document in `data`; messages call it `file_name`.

    `folder` has the files that it names (`ext:src`); a document in memory has none. With `uses_cache`, a text that was
    valid is not validated again. Raises `InvalidProfileError` with every problem of the document.
    """
    document, problems = parse_with_problems(file_name, data, folder, uses_cache=uses_cache)
    if problems:
        raise InvalidProfileError(problems)
    return document


def parse_with_problems(
    file_name: str, data: bytes, folder: str | None = None, *, uses_cache: bool = False
) -> tuple[Document, list[Problem]]:
    """Return a document, valid or not, and its problems in order: the linter needs both.

    Raises `InvalidProfileError` if the bytes are not well-formed XML.
    """
    root = tree.parse_xml(tree.decode_source(file_name, data))
    problems = schema.validate_document(root, uses_cache=uses_cache)
    document = _DocumentReader(problems, TextFileReader(folder)).read_root(root)
    return document, sorted(problems, key=_get_problem_offset)  # the checks here follow those of the schema


def _get_problem_offset(problem: Problem) -> int:
    return problem.location.in_document.offset if problem.location else 0


_DIRECTIVE: Final = compile_late(r"(?:[^\\>\r\n]|\\[^\r\n])+")


class _DocumentReader:
    """Builds a document and collects its problems; the tree need not be valid."""

    def __init__(self, problems: list[Problem], text_files: TextFileReader) -> None:
        self.problems = problems
        self.text_files = text_files
        self.schema_problem_offsets = {p.location.offset for p in problems if p.location}

    def read_root(self, root: Element) -> Document:
        name = root.attributes.get("name", "")
        if "name" in root.attributes and not FILE_SAFE_NAME_PATTERN.fullmatch(name):
            message = f"profile name {quote_value(name)} is not allowed"
            self.report_invalid_attribute(root, "name", "OSP108", message, FILE_SAFE_NAME_HINT)
        for element in root.children:
            if element.name in {"Template", "Storage", "Application"}:
                self.check_entity(element)
        templates = [self.read_template(e) for e in root.children if e.name == "Template"]
        unnamed = [t for t in templates if not t.name]
        for template in unnamed:
            self.report_invocations(template)
        for template in templates:
            self.check_directives(template)
            self.check_links(template)
            self.check_cases(template)
        template_by_name = self.index_by_name("template", templates)
        shared = template_by_name.pop("") if unnamed else None
        return Document(
            name=name,
            extends=root.attributes.get("extends") or None,
            uspace_root=self.read_uspace_root(root),
            delimiter=_get_child_text(root, "Delimiter"),
            templates=template_by_name,
            global_fields=shared.fields if shared is not None else {},
            cases=shared.cases if shared is not None else (),
            storages=self.index_by_name("storage", map(self.read_storage, _list_children(root, "Storage"))),
            applications=self.read_applications(root),
            element=root,
            files=self.text_files.sources,
        )

    def read_uspace_root(self, root: Element) -> str:
        element, delimiter_element = root.find_child("UspaceRoot"), root.find_child("Delimiter")
        if element is None or delimiter_element is None:
            return ""
        path, delimiter = element.text, delimiter_element.text
        if not delimiter:
            hint = "it joins the parts of paths: / on any POSIX system"
            self.problems.append(Problem("OSP106", "Delimiter is empty", delimiter_element.location, hint))
        elif not re.match("(?:~|[A-Za-z]:)?" + re.escape(delimiter), path):  # `C:` is a drive of Windows
            message = f"UspaceRoot {quote_value(path)} is not an absolute path"
            hint = f"begin it with the Delimiter, {delimiter!r}, without leading white space; or with ~{delimiter}, the user's home"
            self.problems.append(Problem("OSP106", message, element.source_text.get_location(), hint))
        elif path != path.rstrip():
            message = f"UspaceRoot {quote_value(path)} has white space at its end"
            hint = "it would be a part of every working directory's name: remove it"
            self.problems.append(Problem("OSP106", message, element.source_text.get_location(), hint))
        return path

    def read_template(self, element: Element) -> Template:
        invocations = self.index_by_name(
            "variation", map(self.read_invocation, _list_children(element, "Invocation"))
        )
        fields = [self.read_field(child) for child in _list_children(element, "Field")]
        return Template(
            name=element.attributes.get("name", ""),
            description=_get_description(element),
            invocations=invocations,
            fields=self.index_by_name("field", (f for f in fields if f.selection is None)),
            element=element,
            cases=tuple(f for f in fields if f.selection is not None),
        )

    def check_entity(self, element: Element) -> None:
        """Report what is too much in an element that removes an inherited entity, or missing in another."""
        if is_removal(element):
            hint = "an element with ext:absent has a name, and at most a Description"
            message = f"this {element.name} removes the inherited one, but has "
            if not element.attributes.get("name"):
                self.report_invalid_attribute(element, ABSENT_ATTRIBUTE, "OSP210", message + "no name", hint)
            if "template" in element.attributes:
                self.report_invalid_attribute(element, "template", "OSP210", message + "a template", hint)
            extra = next((child for child in element.children if child.name != "Description"), None)
            if extra is not None:
                self.problems.append(Problem("OSP210", f"{message}<{extra.name}>", extra.location, hint))
        elif element.name != "Template" and "template" not in element.attributes:
            message = f"in <{element.name}>: missing required attribute 'template'"
            self.problems.append(Problem(schema.SCHEMA_CODE, message, element.location))
        elif element.name == "Application" and all(c.name == "Description" for c in element.children):
            hint = "it needs ApplicationName and ApplicationVersion"
            message = f"<{element.name}> ends too early"
            self.problems.append(Problem(schema.SCHEMA_CODE, message, element.location, hint))

    def report_invocations(self, template: Template) -> None:
        for invocation in template.invocations.values():
            message = "the unnamed template holds the profile's global fields and has no invocations"
            hint = "give the template a name"
            self.problems.append(Problem("OSP108", message, invocation.location, hint))

    def check_directives(self, template: Template) -> None:
        """Report each ext:directive that is not on a global field, or not one TO of a replacement."""
        for field in template.fields.values():
            if field.directive is None:
                continue
            message = hint = ""
            if template.name:
                message = f"field {field.name} has an ext:directive, but belongs to template {template.name}"
                hint = "make it a global field: declare it in the template without a name"
            elif not _DIRECTIVE.fullmatch(field.directive):
                message = f"the ext:directive of field {field.name} is not one line"
                hint = "write one line with $1 for the value, and \\> for a >"
            if message:
                self.report_invalid_attribute(field.element, DIRECTIVE_ATTRIBUTE, "OSP212", message, hint)

    def check_links(self, template: Template) -> None:
        """Report each ext:when on a field that is not fixed, and each ext:requires on one that no request sets."""
        for field in template.fields.values():
            if field.when is not None and (field.settable or field.value is None):
                lack = "is settable" if field.settable else "has no Value"
                message = f"field {field.name} has an ext:when, but {lack}"
                hint = (
                    'it is for a field with isSettable="false" and a Value, which applies on that condition'
                )
                self.report_invalid_attribute(field.element, WHEN_ATTRIBUTE, "OSP213", message, hint)
            if field.requires is not None and not (field.settable and field.value is None):
                lack = "has a fixed Value" if field.settable else "is not settable"
                message = f"field {field.name} has an ext:requires, but {lack}"
                hint = "it is for a field that a request may set"
                self.report_invalid_attribute(field.element, REQUIRES_ATTRIBUTE, "OSP214", message, hint)

    def check_cases(self, template: Template) -> None:
        """Report each ext:for that is not on a global field, names no value, or says more than a case may."""
        first_by_case: dict[tuple[str, Selection | None], Field] = {}
        for field in template.cases:
            element, selection = field.element, field.selection
            first = first_by_case.setdefault((field.name, selection), field)
            extra = [name for name in element.attributes if name not in _CASE_ATTRIBUTES]
            extra += [f"<{child.name}>" for child in element.children if child.name not in _CASE_ELEMENTS]
            message, hint = f"field {field.name} has an ext:for, but ", ""
            if template.name:
                message += f"belongs to template {template.name}"
                hint = "make it a global field: declare it in the template without a name"
            elif (
                selection is None
                or not _is_field_name(selection.field)
                or not _CASE_VALUE.fullmatch(selection.value)
            ):
                message += "this is not NAME=VALUE"
                hint = "write the name of a field and one value of it, without blanks and commas: QUEUE=short"
            elif extra:
                message += f"also {extra[0].rpartition('}')[2]}"
                hint = "a case has Min, Max, Default, ext:pattern and a Description; the rest is in the field itself"
            elif first is not field:
                message = f"duplicate case of field {field.name} for {selection}"
                hint = f"the first one is at {first.location}"
            if hint:
                self.report_invalid_attribute(element, FOR_ATTRIBUTE, "OSP215", message, hint)

    def read_invocation(self, element: Element) -> Invocation:
        first_child = _first_child_by_name(element)
        body, script = first_child.get("Body"), first_child.get("StaticScript")
        return Invocation(
            name=element.attributes.get("name", ""),
            description=_fold_whitespace(first_child.get("Description")),
            body=self.read_text(body) if body is not None else None,
            static_script=self.read_static_script(script) if script is not None else None,
            element=element,
        )

    def read_static_script(self, element: Element) -> StaticScript:
        name = element.attributes.get("fileName", "")
        if "fileName" in element.attributes and not FILE_SAFE_NAME_PATTERN.fullmatch(name):
            message = f"static script file name {quote_value(name)} is not allowed"
            self.report_invalid_attribute(element, "fileName", "OSP107", message, FILE_SAFE_NAME_HINT)
        arguments = element.get_attribute_text("arguments")
        return StaticScript(name, arguments, self.read_text(element), element)

    def read_field(self, element: Element) -> Field:
        name = element.attributes.get("name", "")
        if "name" in element.attributes and not _is_field_name(name):
            hint = "a name begins with a letter or _ and has only letters, digits, _ . - and at most one : inside"
            self.report_invalid_attribute(
                element, "name", "OSP108", f"field name {quote_value(name)} is not allowed", hint
            )
        first_child, attributes = _first_child_by_name(element), element.attributes
        default, value = first_child.get("Default"), first_child.get("Value")
        if name in RESERVED_FIELDS and (default is not None or value is not None):
            message = f"field {name} has a value, but the engine supplies another one"
            hint = "rename the field, or remove its Default and Value"
            self.report_invalid_attribute(element, "name", "OSP108", message, hint)
        if PATTERN_ATTRIBUTE in attributes and PATTERN_FIELD_ATTRIBUTE in attributes:
            message = f"field {name} has both ext:pattern and ext:patternField"
            self.report_invalid_attribute(
                element,
                PATTERN_FIELD_ATTRIBUTE,
                "OSP209",
                message,
                "a field has one pattern: remove one of them",
            )
        return Field(
            name=name,
            description=_fold_whitespace(first_child.get("Description")),
            minimum=self.read_limit(first_child.get("Min")),
            maximum=self.read_limit(first_child.get("Max")),
            tags=tuple(
                [Tag(t.attributes.get("name", ""), t.text, t) for t in _list_children(element, "Tag")]
            ),
            default=None if default is None else default.text,
            value=None if value is None else self.read_text(value).text,
            settable=parse_boolean(attributes.get("isSettable", "true")),
            pattern_text=attributes.get(PATTERN_ATTRIBUTE),
            type=_parse_field_type(attributes.get(TYPE_ATTRIBUTE)),
            element=element,
            pattern_field=attributes.get(PATTERN_FIELD_ATTRIBUTE),
            directive=attributes.get(DIRECTIVE_ATTRIBUTE),
            when=attributes.get(WHEN_ATTRIBUTE),
            requires=attributes.get(REQUIRES_ATTRIBUTE),
            selection=_parse_selection(attributes.get(FOR_ATTRIBUTE)),
        )

    def read_text(self, element: Element) -> SourceText:
        """Return the text of an element: that of its file if it has the attribute `ext:src`."""
        if SOURCE_FILE_ATTRIBUTE in element.attributes:
            try:
                self.text_files.load_text(element)
            except InvalidProfileError as error:
                self.problems += error.problems
        return element.source_text

    def read_limit(self, element: Element | None) -> float | None:
        if element is None:
            return None
        try:
            number = float(element.text.strip())  # Python also reads INF and -INF of xs:double
        except ValueError:  # the schema has reported this, except for `1e`: libxml2 accepts it as a double
            if element.source_text.get_location().offset not in self.schema_problem_offsets:
                self.problems.append(schema.describe_invalid_limit(element))
            return None
        if math.isnan(number):  # xs:double has it, but no value can be compared with it
            message = f"{element.name} is NaN, which cannot be a limit"
            self.problems.append(Problem("OSP104", message, element.source_text.get_location()))
        return number

    def read_storage(self, element: Element) -> Storage:
        return Storage(element.attributes.get("name", ""), element.attributes.get("template", ""), element)

    def read_applications(self, root: Element) -> dict[str, Application]:
        applications = [self.read_application(e) for e in _list_children(root, "Application")]
        first_by_version: dict[tuple[str, str], Application] = {}
        for application in applications:
            version = application.application_name, application.application_version
            first = first_by_version.setdefault(version, application)
            if all(version) and first.name != application.name:
                message = f"two applications are {version[0]} {version[1]}: no request can name the second"
                hint = f"the first is at {first.location}; give one another ApplicationName or ApplicationVersion"
                self.problems.append(Problem("OSP105", message, application.location, hint))
        return self.index_by_name("application", applications)

    def read_application(self, element: Element) -> Application:
        return Application(
            name=element.attributes.get("name", ""),
            application_name=_get_child_text(element, "ApplicationName"),
            application_version=_get_child_text(element, "ApplicationVersion"),
            description=_get_description(element),
            template=element.attributes.get("template", ""),
            element=element,
        )

    def index_by_name(self, kind: str, entities: Iterable[NamedEntity]) -> dict[str, NamedEntity]:
        """Return the entities by name; of those with the same name keep the first and report the others."""
        entity_by_name: dict[str, NamedEntity] = {}
        for entity in entities:
            first = entity_by_name.setdefault(entity.name, entity)
            if first is not entity:
                message = f"duplicate {kind} {entity.name or 'without a name'}"
                hint = f"first defined at {first.location}; remove or rename one of them"
                self.report_invalid_attribute(entity.element, "name", "OSP105", message, hint)
        return entity_by_name

    def report_invalid_attribute(
        self, element: Element, attribute: str, code: str, message: str, hint: str
    ) -> None:
        self.problems.append(Problem(code, message, element.locate_attribute(attribute), hint))


def _is_field_name(name: str) -> bool:
    # The first test decides about most names, in an eighth of the time.
    return (name.isascii() and name.isidentifier()) or re.fullmatch(FIELD_NAME_PATTERN, name) is not None


def _list_children(element: Element, name: str) -> list[Element]:
    return [child for child in element.children if child.name == name]


def _get_child_text(element: Element, name: str) -> str:
    child = element.find_child(name)
    return "" if child is None else child.text


def _get_description(element: Element) -> str:
    return _fold_whitespace(element.find_child("Description"))


def _fold_whitespace(element: Element | None) -> str:
    return "" if element is None else " ".join(element.text.split())


def _first_child_by_name(element: Element) -> dict[str, Element]:
    return {child.name: child for child in reversed(element.children)}


def _parse_selection(text: str | None) -> Selection | None:
    if text is None:
        return None
    name, _, value = text.strip().partition("=")
    return Selection(name, value)


_CASE_ATTRIBUTES: Final = frozenset({"name", FOR_ATTRIBUTE, PATTERN_ATTRIBUTE, PATTERN_FIELD_ATTRIBUTE})
_CASE_ELEMENTS: Final = frozenset({"Description", "Min", "Max", "Default"})
_CASE_VALUE: Final = compile_late(r"[^\s,]+")
_FIELD_TYPES: Final[dict[str, FieldType]] = {"integer": "integer", "number": "number", "text": "text"}


def _parse_field_type(value: str | None) -> FieldType | None:
    return _FIELD_TYPES.get(value.strip()) if value else None
