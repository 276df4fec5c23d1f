"""Rules for the declaration of one field (OS Profile 0.3, 2.3): limits, tags, values, patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile import javaregex
from osprofile.errors import InvalidProfileError, JavaRegexError, ValueRefusedError
from osprofile.incarnation import field_rules
from osprofile.incarnation.plan import BIN_FIELDS
from osprofile.lint.rules import make_problem
from osprofile.source import Location
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.errors import Problem
    from osprofile.lint.profile_view import ProfileView
    from osprofile.profile.model import Field, Template
    from osprofile.source import SourceText

STATE_FIELD = "STATE"
"""The field whose tags map a batch system's words to job states; no request sets it."""


def check_declarations(view: ProfileView) -> Iterator[Problem]:
    """Check every declared field on its own."""
    for template, field in list_declared_fields(view):
        yield from _check_values(field)
        yield from _check_limits(field)
        yield from _check_tags(field)
        yield from _check_special_field(template, field)
        if field.settable and not _has_description(view, template, field):
            message = f"settable field {field.name} has no Description"
            hint = "describe its meaning and unit: commands and forms show that to users"
            yield make_problem("OSP312", message, field.location, hint)


def list_declared_fields(view: ProfileView) -> Iterator[tuple[Template | None, Field]]:
    """Yield every field with its template, None for a global field."""
    for field in view.profile.global_fields.values():
        yield None, field
    for template in view.profile.templates.values():
        for field in template.fields.values():
            yield template, field


def _has_description(view: ProfileView, template: Template | None, field: Field) -> bool:
    """Return whether a field has a Description, or a field of the same job script has one for it."""
    templates = view.list_related_templates(template) if template else []
    related_fields = [view.profile.find_field(t, field.name) for t in templates]
    described = any(f.description for f in (field, *related_fields) if f is not None)
    return described or field_rules.is_special_field(field.name)


def _check_values(field: Field) -> Iterator[Problem]:
    if field.value is not None and field.default is not None:
        message = f"field {field.name} has a Value and a Default, which is never used"
        hint = "remove the Value if a request may set the field, else the Default"
        yield make_problem("OSP305", message, field.locate_child("Default"), hint)
    if field.value is not None and field.settable and not field_rules.is_special_field(field.name):
        message = f"field {field.name} is settable, but its fixed Value overrides every request"
        hint = 'write <Default> instead of <Value>, or isSettable="false"'
        yield make_problem("OSP306", message, field.locate_child("Value"), hint)


def _check_limits(field: Field) -> Iterator[Problem]:
    low, high = field.minimum, field.maximum
    if problem := field_rules.find_limits_problem(field):
        yield problem
        return
    if field.type == "text" and (low is not None or high is not None):
        limit_name = "Min" if low is not None else "Max"
        message = f'field {field.name} has a {limit_name} and is ext:type="text"'
        hint = 'limits are for numbers: remove them, or write ext:type="number"'
        yield make_problem("OSP308", message, field.locate_child(limit_name), hint)
        return
    # The same message for all fields that name one global field: it is reported once.
    label = (
        f"Value of field {field.pattern_field}"
        if field.pattern_field
        else f"ext:pattern of field {field.name}"
    )
    if field.pattern is not None and (problem := find_regex_problem(label, field.pattern)):
        yield problem
        return
    yield from _check_own_values(field)


def find_regex_problem(label: str, pattern: SourceText) -> Problem | None:
    """Return the problem with a Java regular expression, if any; `label` is what the message calls it."""
    try:
        javaregex.compile(pattern.text)
    except JavaRegexError as error:
        message = f"{label}: bad Java regular expression: {error.message}"
        return make_problem("OSP401", message, pattern.get_location(error.index), error.hint)
    return None


def _check_own_values(field: Field) -> Iterator[Problem]:
    """Check Default, Value and the tags' values by the field's own rules."""
    values: list[tuple[str, str, str, Location]] = [
        (name, field_rules.apply_tags(field, value), value, field.locate_child(name))
        for name, value in (("Default", field.default), ("Value", field.value))
        if value is not None and value not in {tag.name for tag in field.tags}
    ]
    for tag in field.tags:
        location = tag.element.source_text.get_location()
        values.append((f"tag {quote_value(tag.name)}", tag.value, tag.value, location))
    for label, value, raw_value, location in values:
        try:
            field_rules.check_value(field, value, raw_value)
        except ValueRefusedError as error:
            message = f"{label} of {error.message}"
            hint = error.hint or f"the rule is at {error.location}"
            yield make_problem("OSP309", message, location, hint)
        except JavaRegexError:
            continue  # matching timed out: that is a fault of the pattern


def _check_tags(field: Field) -> Iterator[Problem]:
    first_locations = dict[str, Location]()
    for tag in field.tags:
        first_location = first_locations.setdefault(tag.name, tag.location)
        if first_location is not tag.location and first_location != tag.location:
            message = f"field {field.name} has a second tag {quote_value(tag.name)}"
            hint = f"the first one, at {first_location}, counts; remove or rename one of them"
            yield make_problem("OSP310", message, tag.element.locate_attribute("name"), hint)
    if field.name == STATE_FIELD:
        return
    for tag in field.tags:
        if tag.value in first_locations and tag.value != tag.name:
            message = f"tag {quote_value(tag.name)} of field {field.name} gives {quote_value(tag.value)}, "
            message += "which is the name of another tag"
            hint = "tags are applied only once: the script gets this word itself"
            yield make_problem("OSP311", message, tag.element.source_text.get_location(), hint)
        elif _is_allowed_number(field, tag.name) and tag.value != tag.name:
            message = f"tag {quote_value(tag.name)} of field {field.name} hides the number of that name"
            hint = f"a request for {tag.name} gets {quote_value(tag.value)}; use a word as the tag's name"
            yield make_problem("OSP311", message, tag.element.locate_attribute("name"), hint)


def _is_allowed_number(field: Field, value: str) -> bool:
    """Return whether a field takes only numbers, and a value is one of them."""
    if not value or not (field.type == "integer" or field_rules.is_numeric_field(field)):
        return False
    try:
        field_rules.check_value(field, value)
    except (ValueRefusedError, JavaRegexError, InvalidProfileError):  # another rule reports the latter
        return False
    return True


def _check_special_field(template: Template | None, field: Field) -> Iterator[Problem]:
    in_bin = template is not None and template.name == "BIN"
    is_engine_field = in_bin and any(field.name in names for names in BIN_FIELDS.values())
    if field.settable and (field_rules.is_special_field(field.name) or is_engine_field):
        supplier = "engine" if is_engine_field or field.name in field_rules.ENGINE_FIELDS else "context"
        message = f"field {field.name} is declared settable, but only the {supplier} supplies it"
        hint = 'write isSettable="false", or give it another name'
        yield make_problem("OSP315", message, field.element.locate_attribute("name"), hint)
