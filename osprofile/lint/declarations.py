"""What is wrong with a field as it is declared: limits, tags, values, patterns (seed, 2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.errors import JavaRegexError, ValueRefusedError, shown
from osprofile.incarnation import fields as engine
from osprofile.incarnation.plan import BIN_FIELDS
from osprofile.language import javaregex
from osprofile.lint.rules import problem
from osprofile.source import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.errors import Problem
    from osprofile.lint.script import View
    from osprofile.profile.model import Field, Template
    from osprofile.source import SourceText

STATE = "STATE"
"""The field whose tags map a batch system's words; it is no variable of a script."""


def declarations(view: View) -> Iterator[Problem]:
    """Judge every declared field by itself."""
    for template, field in declared_fields(view):
        yield from _values(field)
        yield from _limits(field)
        yield from _tags(field)
        yield from _special(template, field)
        if field.settable and not _described(view, template, field):
            message = f"settable field {field.name} has no Description"
            hint = "say what it means and its unit: commands and forms show that to users"
            yield problem("OSP312", message, field.place, hint)


def declared_fields(view: View) -> Iterator[tuple[Template | None, Field]]:
    """Give every field with its template; None for a global one."""
    for field in view.profile.global_fields.values():
        yield None, field
    for template in view.profile.templates.values():
        for field in template.fields.values():
            yield template, field


def _described(view: View, template: Template | None, field: Field) -> bool:
    """Say whether a field has a Description, its own or that of a field that it narrows."""
    others = (
        [view.profile.field(t, field.name) for t in view.partners(template)] if template else []
    )
    described = any(f.description for f in (field, *others) if f is not None)
    return described or engine.is_special(field.name)


def _values(field: Field) -> Iterator[Problem]:
    if field.value is not None and field.default is not None:
        message = f"field {field.name} has a Value and a Default, which is never used"
        hint = "leave out the Value, if a request may set it, else the Default"
        yield problem("OSP305", message, field.place_of("Default"), hint)
    if field.value is not None and field.settable and not engine.is_special(field.name):
        message = f"field {field.name} is settable, but its fixed Value overrides every request"
        hint = 'write <Default> instead of <Value>, or isSettable="false"'
        yield problem("OSP306", message, field.place_of("Value"), hint)


def _limits(field: Field) -> Iterator[Problem]:
    low, high = field.minimum, field.maximum
    if low is not None and high is not None and low > high:
        message = f"field {field.name}: Min {engine.number_text(low)} is above Max "
        message += engine.number_text(high)
        yield problem("OSP307", message, field.place_of("Min"), "no value can be inside")
        return
    if field.type == "text" and (low is not None or high is not None):
        which = "Min" if low is not None else "Max"
        message = f'field {field.name} has a {which} and is ext:type="text"'
        hint = 'limits are for numbers: leave them out, or write ext:type="number"'
        yield problem("OSP308", message, field.place_of(which), hint)
        return
    if field.pattern is not None and (found := _bad_regex(field, "ext:pattern", field.pattern)):
        yield found
        return
    yield from _own_values(field)


def _bad_regex(field: Field, what: str, text: SourceText) -> Problem | None:
    try:
        javaregex.compile(text.text)
    except JavaRegexError as error:
        message = f"{what} of field {field.name}: bad Java regular expression: {error.message}"
        return problem("OSP401", message, text.place(error.index), error.hint)
    return None


def _own_values(field: Field) -> Iterator[Problem]:
    """Check Default, Value and the tags' values by the field's own rules."""
    given: list[tuple[str, str, str, Place]] = [
        (name, engine.apply_tags(field, value), value, field.place_of(name))
        for name, value in (("Default", field.default), ("Value", field.value))
        if value is not None and value not in {tag.name for tag in field.tags}
    ]
    given += [
        (f"tag {shown(tag.name)}", tag.value, tag.value, tag.element.source_text.place())
        for tag in field.tags
    ]
    for what, value, written, place in given:
        try:
            engine.check(field, value, written)
        except ValueRefusedError as error:
            message = f"{what} of {error.message}"
            hint = error.hint or f"the rule stands at {error.place}"
            yield problem("OSP309", message, place, hint)
        except JavaRegexError:
            continue  # it takes too long, for which the pattern is to blame


def _tags(field: Field) -> Iterator[Problem]:
    first = dict[str, Place]()
    for tag in field.tags:
        before = first.setdefault(tag.name, tag.place)
        if before is not tag.place and before != tag.place:
            message = f"field {field.name} has a second tag {shown(tag.name)}"
            hint = f"the first one, at {before}, counts; remove or rename one of them"
            yield problem("OSP310", message, tag.element.attribute_place("name"), hint)
    if field.name == STATE:
        return
    for tag in field.tags:
        if tag.value in first and tag.value != tag.name:
            message = f"tag {shown(tag.name)} of field {field.name} gives {shown(tag.value)}, "
            message += "which is the name of another tag"
            hint = "tags are applied once: the script gets this word itself"
            yield problem("OSP311", message, tag.element.source_text.place(), hint)
        elif _is_allowed_number(field, tag.name) and tag.value != tag.name:
            message = f"tag {shown(tag.name)} of field {field.name} hides the number of that name"
            hint = f"a request for {tag.name} gets {shown(tag.value)}; name the tag by a word"
            yield problem("OSP311", message, tag.element.attribute_place("name"), hint)


def _is_allowed_number(field: Field, value: str) -> bool:
    """Say whether a field takes numbers only, this one among them."""
    if not value or not (field.type == "integer" or engine.is_limited(field)):
        return False
    try:
        engine.check(field, value)
    except (ValueRefusedError, JavaRegexError):
        return False
    return True


def _special(template: Template | None, field: Field) -> Iterator[Problem]:
    in_bin = template is not None and template.name == "BIN"
    engine_given = in_bin and any(field.name in names for names in BIN_FIELDS.values())
    if field.settable and (engine.is_special(field.name) or engine_given):
        giver = "engine" if engine_given or field.name == engine.JOB_SCRIPT else "context"
        message = f"field {field.name} is declared settable, but the {giver} alone supplies it"
        hint = 'write isSettable="false", or give it another name'
        yield problem("OSP315", message, field.element.attribute_place("name"), hint)
