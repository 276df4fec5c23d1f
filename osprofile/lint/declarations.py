"""Rules for the declaration of one field (OS Profile 0.3, 2.3): limits, tags, values, patterns."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from osprofile import javaregex
from osprofile.errors import InvalidProfileError, JavaRegexError, ValueRefusedError
from osprofile.incarnation import field_rules
from osprofile.incarnation.cases import AUTO
from osprofile.incarnation.plan import BIN_FIELDS
from osprofile.lint.rules import make_problem
from osprofile.profile.model import FOR_ATTRIBUTE, get_selection
from osprofile.source import Location
from osprofile.text import quote_value, suggest_names

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
    selectors = {get_selection(case).field for case in view.profile.cases}
    for template, field in list_declared_fields(view):
        yield from _check_values(field)
        yield from _check_limits(field, allowed=AUTO if field.name in selectors else None)
        yield from _check_tags(field)
        yield from _check_special_field(template, field)
        if field.settable and not _has_description(view, template, field):
            message = f"settable field {field.name} has no Description"
            hint = "describe its meaning and unit: commands and forms show that to users"
            if (inherited := _find_replaced(view, field)) is not None:
                hint = f"it replaces the one at {inherited.location}, whole: repeat what stays, also type and Default"
            yield make_problem("OSP312", message, field.location, hint)
    for case in view.profile.cases:
        yield from _check_limits(case)
        yield from _check_case(view, case)


def _find_replaced(view: ProfileView, field: Field) -> Field | None:
    """Return the inherited global field that one of the profile's own replaces."""
    if view.own_document.global_fields.get(field.name) is not field:
        return None
    documents = view.profile.documents[1:]
    return next((d.global_fields[field.name] for d in documents if field.name in d.global_fields), None)


def _check_case(view: ProfileView, case: Field) -> Iterator[Problem]:
    """Check a case (`ext:for`) against the field that it is of, and the one that decides."""
    selector, selected = get_selection(case)
    fields = view.profile.global_fields
    deciding, field = fields.get(selector), fields.get(case.name)
    if deciding is not None and not _is_possible(deciding, selected):
        message = f"field {case.name} has a case for {case.selection}, which field {selector} cannot have"
        known = list(_list_possible_values(deciding))
        hint = (
            suggest_names(selected, known)
            if known
            else f"field {selector} is declared at {deciding.location}"
        )
        yield make_problem("OSP317", message, case.element.locate_attribute(FOR_ATTRIBUTE), hint)
    if field is None:
        return
    wider = [
        ("Min", case.minimum, field.minimum, operator.lt),
        ("Max", case.maximum, field.maximum, operator.gt),
    ]
    for name, own, other, exceeds in wider:
        if own is not None and other is not None and exceeds(own, other):
            message = f"the {name} of field {case.name} for {case.selection} is wider than that of the field"
            hint = f"both are checked: change the field's own {name}, at {field.locate_child(name)}"
            yield make_problem("OSP317", message, case.locate_child(name), hint)
    value, checked = case.default or field.default or "", field if case.default is not None else case
    try:
        field_rules.check_value(checked, field_rules.apply_tags(field, value))
    except ValueRefusedError as error:
        if case.default is not None:
            message = f"Default for {case.selection} of {error.message}"
            yield make_problem("OSP309", message, case.locate_child("Default"), error.hint)
        else:
            message = (
                f"a job without {case.name} is refused for {case.selection}: the Default of {error.message}"
            )
            yield make_problem("OSP317", message, case.location, "give the case a Default, too")
    except (InvalidProfileError, JavaRegexError):
        return  # another rule reports it


def _list_possible_values(field: Field) -> Iterator[str]:
    """Yield the values that a field lists: alternatives of its pattern, and values of its tags."""
    yield from field_rules.list_alternatives(field.pattern_text or "")
    yield from (tag.value for tag in field.tags if tag.value)


def _is_possible(field: Field, value: str) -> bool:
    if any(tag.value == value for tag in field.tags):
        return True
    try:
        field_rules.check_value(field, value)
    except (ValueRefusedError, InvalidProfileError, JavaRegexError):
        return False
    return field.value is None or field_rules.apply_tags(field, field.value) == value


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


def _check_limits(field: Field, *, allowed: str | None = None) -> Iterator[Problem]:
    """Check limits and pattern, and the field's own values by them; `allowed` is a value that the engine replaces."""
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
    yield from _check_own_values(field, allowed)


def find_regex_problem(label: str, pattern: SourceText) -> Problem | None:
    """Return the problem with a Java regular expression, if any; `label` is what the message calls it."""
    try:
        javaregex.compile(pattern.text)
    except JavaRegexError as error:
        message = f"{label}: bad Java regular expression: {error.message}"
        return make_problem("OSP401", message, pattern.get_location(error.index), error.hint)
    return None


def _check_own_values(field: Field, allowed: str | None) -> Iterator[Problem]:
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
        if value == allowed:
            continue
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
