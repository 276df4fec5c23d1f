"""`incarnate render --trace`: follows each value from its source to its position in the script."""

from typing import TYPE_CHECKING, Any

from osprofile.cli import common
from osprofile.cli.terminal import (
    Report,
    excerpt_line,
    format_location,
    quote_value,
    truncate_text,
)
from osprofile.text import escape_unprintable, pluralize, quote_name, suggest_names

if TYPE_CHECKING:
    from osprofile.authoring.trace import FieldLink, FieldTrace, UseTrace, ValuePosition
    from osprofile.incarnation.incarnate import Incarnation


def print_trace(
    profile: str, incarnation: "Incarnation", names: list[str], *, full: bool, json: bool
) -> None:
    """Print the trace of an incarnation, of the fields `names` or of all; `full` does not fold shell."""
    from osprofile.authoring.trace import trace_fields

    selected = _select_fields(trace_fields(incarnation), names, incarnation.template)
    if json:
        common.print_json(_encode_trace(profile, incarnation, selected))
    else:
        common.print_result(_format_report(profile, incarnation, selected, full=full or bool(names)))


def _select_fields(traces: "tuple[FieldTrace, ...]", names: list[str], template: str) -> "list[FieldTrace]":
    known = {t.name for t in traces}
    for name in names:
        if name not in known:
            message = f"--field {quote_name(name)}: {template} does not use a field of that name"
            raise common.UsageError(message, hint=suggest_names(name, known))
    return [t for t in traces if not names or t.name in names]


# For people


def _format_report(
    profile: str, incarnation: "Incarnation", traces: "list[FieldTrace]", *, full: bool
) -> str:
    from osprofile.authoring.outline import count_lines, is_shell

    report = Report()
    variation = f" variation {incarnation.variation}" if incarnation.variation else ""
    lines = count_lines(incarnation.text)
    title = escape_unprintable(f"{incarnation.template}{variation} of profile {profile}: ")
    report.add_line(title, "title")
    report.lines[-1] += f"{pluralize(len(traces), 'value')}, {pluralize(lines, 'line')}"
    folded = [
        t
        for t in traces
        if t.origin == "fixed"
        and (is_shell(t.value) or t.is_switched_off)
        and not (full or t.is_in_directive)
    ]
    shown = [t for t in traces if t not in folded]
    for field_trace in sorted(shown, key=lambda t: (t.origin != "request", not t.is_in_directive)):
        report.add_line()
        _add_field(report, field_trace)
    if folded:
        report.add_line()
    for field_trace in folded:
        unmet = [link.other for link in field_trace.links if field_trace.is_switched_off]
        text = f" is empty, as {unmet[0]} is" if unmet else f" = ... {count_lines(field_trace.value)} lines"
        location = format_location(field_trace.sources[0].location)
        report.add_heading(escape_unprintable(field_trace.name), text, location)
    return str(report)


def _add_field(report: "Report", field_trace: "FieldTrace") -> None:
    value = quote_value(field_trace.value, report.width - len(field_trace.name) - 3)
    report.add_heading(
        escape_unprintable(field_trace.name), f" = {value}", format_location(field_trace.location)
    )
    for number, source in enumerate(field_trace.sources):
        suffix = " (overridden)" if number else ""
        shown = quote_value(source.value, report.text_width - len(suffix))
        report.add_row(source.origin, shown + suffix, format_location(source.location))
    if field_trace.origin == "engine":
        report.add_row("engine", "supplied by the engine")
    if field_trace.tag is not None:
        name = field_trace.tag.name or "''"
        shown = f"{truncate_text(name, report.text_width // 2)} stands for "
        shown += quote_value(field_trace.tag.value, report.text_width - len(shown))
        report.add_row("tag", shown, format_location(field_trace.tag.location))
    if field_trace.choice:
        report.add_row("choice", f"{field_trace.choice}: the first value that the request fits")
    for check in field_trace.checks:
        report.add_row(
            check.name, truncate_text(check.constraint, report.text_width), format_location(check.location)
        )
    for link in field_trace.links:
        _add_link(report, field_trace, link)
    for use in field_trace.uses:
        _add_use(report, field_trace, use)


def _add_link(report: "Report", field_trace: "FieldTrace", link: "FieldLink") -> None:
    if field_trace.name == link.other:
        text = f"{link.name} depends on it"
    elif link.kind == "requires":
        text = link.other
    else:
        text = f"{link.other} has a value" if link.is_met else f"{link.other} is empty, and so is this field"
    report.add_row(link.kind, truncate_text(text, report.text_width), format_location(link.location))


def _add_use(report: "Report", field_trace: "FieldTrace", use: "UseTrace") -> None:
    report.add_row("used", truncate_text(use.source_form, report.text_width), format_location(use.location))
    value = field_trace.value
    if use.derived_value is not None:
        report.add_row("", f"derived: {quote_value(use.derived_value, report.text_width - 9)}")
        value = use.derived_value
    if use.pattern is not None:
        result = "unchanged" if use.after == value else quote_value(use.after, report.text_width - 8)
        report.add_row("", f"result: {result}")
    if use.is_omitted:
        from osprofile.profile.model import JOB_DIRECTIVES

        what = "directive" if use.template == JOB_DIRECTIVES else "line"
        report.add_row("", f"no {what} (empty)")
        return
    where = _format_position(use.position)
    content = excerpt_line(
        use.position.line_text, use.position.column - 1, report.text_width - len(where) - 2
    )
    report.add_row("directive" if use.is_directive else "", f"{where}: {content}".removesuffix(": "))


def _format_position(position: "ValuePosition") -> str:
    script = (
        f"line {position.script_position[0]}:{position.script_position[1]}"
        if position.script_position
        else ""
    )
    if not position.text:
        return script
    within = f"{position.text} {position.line}:{position.column}"
    return f"{script} ({within})" if script else within


# For programs


def _encode_trace(profile: str, incarnation: "Incarnation", traces: "list[FieldTrace]") -> dict[str, object]:
    return {
        "profile": profile,
        "template": incarnation.template,
        "variation": incarnation.variation,
        "fields": [_encode_field(field_trace) for field_trace in traces],
        "warnings": list(incarnation.warnings),
    }


def _encode_field(field_trace: "FieldTrace") -> dict[str, Any]:
    tag = field_trace.tag
    return {
        "name": field_trace.name,
        "place": common.encode_location(field_trace.location),
        "origin": field_trace.origin,
        "given": field_trace.raw_value,
        "value": field_trace.value,
        "offers": [
            {"origin": s.origin, "value": s.value, "place": common.encode_location(s.location)}
            for s in field_trace.sources
        ],
        "tag": tag and {"name": tag.name, "value": tag.value, "place": common.encode_location(tag.location)},
        "choice": field_trace.choice or None,
        "links": [_encode_link(k) for k in field_trace.links],
        "checks": [
            {"rule": c.name, "allows": c.constraint, "place": common.encode_location(c.location)}
            for c in field_trace.checks
        ],
        "uses": [_encode_use(use) for use in field_trace.uses],
    }


def _encode_link(link: "FieldLink") -> dict[str, Any]:
    place = common.encode_location(link.location)
    return {
        "kind": link.kind,
        "field": link.name,
        "depends_on": link.other,
        "met": link.is_met,
        "place": place,
    }


def _encode_use(use: "UseTrace") -> dict[str, Any]:
    position = use.position
    line, column = position.script_position or (None, None)
    return {
        "template": use.template,
        "variation": use.variation,
        "written": use.source_form,
        "place": common.encode_location(use.location),
        "derived": use.derived_value,
        "pattern": use.pattern,
        "replacement": use.replacement,
        "before": use.before,
        "after": use.after,
        "text": position.text,
        "line": position.line,
        "column": position.column,
        "script_line": line,
        "script_column": column,
    }
