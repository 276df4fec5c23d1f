"""`incarnate show --fields`: the fields that a request may set."""

from typing import TYPE_CHECKING, Any

from osprofile.cli import common
from osprofile.text import escape_unprintable

if TYPE_CHECKING:
    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Field


def print_fields(plan: "Plan", *, include_fixed: bool, json: bool) -> None:
    """Print the fields that a request may set, or all fields of a plan, with the values that they allow."""
    shown = [f for name, f in sorted(plan.declarations.items()) if include_fixed or name in plan.settable]
    if json:
        common.print_json([_encode_field(plan, f) for f in shown])
    else:
        common.print_result(_format_table([_format_row(plan, f) for f in shown]))


def _encode_field(plan: "Plan", field: "Field") -> dict[str, Any]:
    return {
        "name": field.name,
        "settable": field.name in plan.settable,
        "description": field.description,
        "default": field.default,
        "value": field.value,
        "required": field.name in plan.required,
        "minimum": field.minimum,
        "maximum": field.maximum,
        "type": field.type,
        "pattern": field.pattern_text,
        "when": field.when,
        "requires": field.requires,
        "tags": {tag.name: tag.value for tag in field.tags},
        "cases": [_encode_case(case) for case in plan.cases if case.name == field.name],
        "place": str(field.location),
    }


def _encode_case(case: "Field") -> dict[str, Any]:
    selection = case.selection
    return {
        "field": selection and selection.field,
        "value": selection and selection.value,
        "default": case.default,
        "minimum": case.minimum,
        "maximum": case.maximum,
        "pattern": case.pattern_text,
        "place": str(case.location),
    }


def _format_row(plan: "Plan", field: "Field") -> tuple[str, str, str]:
    from osprofile.incarnation.cases import format_case
    from osprofile.incarnation.field_rules import format_range

    if field.value is not None:
        value = f"= {field.value!r} (fixed{f', when {field.when} has a value' if field.when else ''})"
    elif field.name in plan.required:
        value = "must be given"
    else:
        value = f"= {field.default or ''!r}"
    allowed = [field.type or "", format_range(field)]
    allowed += [f"tags: {common.format_tag_names(field)}"] if field.tags else []
    if field.pattern_text is not None:
        allowed.append(f"pattern: {field.pattern_text}")
    if field.requires is not None:
        allowed.append(f"requires {field.requires}")
    allowed += [format_case(case) for case in plan.cases if case.name == field.name]
    return f"{field.name} {value}", "; ".join(filter(None, allowed)), field.description


def _format_table(rows: list[tuple[str, str, str]]) -> str:
    """Return a block per field: the name and value, then the description, then what is allowed."""
    import textwrap
    from shutil import get_terminal_size

    width = max(get_terminal_size().columns, 40)
    lines = []
    for name, allowed, description in rows:
        lines.append(escape_unprintable(name))
        for text in map(escape_unprintable, filter(None, (description, allowed))):
            lines += textwrap.wrap(
                text, width, initial_indent="    ", subsequent_indent="    ", break_long_words=False
            )
    return "\n".join(lines)
