"""`incarnate trace`: the way of each value, from where it comes from to where it stands."""

from typing import TYPE_CHECKING, Annotated, Any

from osprofile.cli import common
from osprofile.cli.options import (
    ApplicationOption,
    Argument,
    ContextOption,
    FieldsOption,
    JsonOption,
    Option,
    ProfileOption,
    ProfilesOption,
    SetFileOption,
    SetOption,
    StrictOption,
    VariationOption,
)

if TYPE_CHECKING:
    from osprofile.cli.terminal import Report
    from osprofile.incarnation.incarnate import Incarnation
    from osprofile.incarnation.trace import FieldTrace, UseTrace, ValuePosition
    from osprofile.source import Location


def trace(
    *,
    template: Annotated[str, Argument("The template, as in START.", "TEMPLATE", "templates")],
    profile: ProfileOption = None,
    set: SetOption = [],  # noqa: A002  # the option's name
    set_file: SetFileOption = [],
    fields: FieldsOption = None,
    context: ContextOption = [],
    variation: VariationOption = "",
    application: ApplicationOption = None,
    profiles: ProfilesOption = [],
    strict: StrictOption = True,
    field: Annotated[
        list[str],
        Option(("--field", "-f"), "Tell this field alone; may be given again.", "NAME", "used"),
    ] = [],
    json: JsonOption = False,
) -> int:
    """Tell how each value came into a script, with the place of each rule that acted.

    For each field: what gave the value (fixed, request, context, default), what that set aside, the
    tag that replaced it, the type, limits and pattern that it passed, and for each use what a
    regular expression made of it and where in the script it stands. Takes the words of render.

    Examples:
      incarnate trace START --profile pbs --set QUEUE=long --set WALLTIME=600
      incarnate trace START --profile slurm --set WALLTIME=600 --field WALLTIME
      incarnate trace GET_JOB_STATUS --profile slurm --set JOB_ID=4711 --json
    """
    from osprofile.cli.request import read_request
    from osprofile.incarnation import trace as traces
    from osprofile.incarnation.incarnate import incarnate

    resolved = common.open_profile(profile, profiles)
    incarnation = incarnate(
        resolved,
        template,
        fields=read_request(fields, set_file, set),
        variation=variation,
        application=application,
        context=common.build_context(resolved, context),
        strict=strict,
    )
    found = _select_fields(traces.trace_fields(incarnation), field, template)
    for warning in incarnation.warnings:
        common.print_message(f"warning: {warning}")
    if json:
        common.print_json(_encode_trace(resolved.name, incarnation, found))
    else:
        common.print_result(_format_report(resolved.name, incarnation, found))
    return 0


def _select_fields(
    traces: "tuple[FieldTrace, ...]", names: list[str], template: str
) -> "list[FieldTrace]":
    from osprofile.errors import quote_name, suggest_names

    known = {t.name for t in traces}
    for name in names:
        if name not in known:
            message = f"--field {quote_name(name)}: no text of {template} uses a field of that name"
            raise common.UsageError(message, hint=suggest_names(name, known))
    return [t for t in traces if not names or t.name in names]


# For people


def _format_report(profile: str, incarnation: "Incarnation", traces: "list[FieldTrace]") -> str:
    from osprofile.cli.terminal import Report, pluralize
    from osprofile.errors import escape_unprintable

    report = Report()
    variation = f" variation {incarnation.variation}" if incarnation.variation else ""
    lines = incarnation.text.count("\n") + (not incarnation.text.endswith("\n"))
    title = escape_unprintable(f"{incarnation.template}{variation} of profile {profile}: ")
    report.add_line(title, "title")
    report.lines[-1] += f"{pluralize(len(traces), 'value')}, {pluralize(lines, 'line')}"
    for told in traces:
        report.add_line()
        _add_field(report, told)
    return str(report)


def _add_field(report: "Report", field_trace: "FieldTrace") -> None:
    from osprofile.cli.terminal import format_location, quote_value, truncate_text
    from osprofile.errors import escape_unprintable

    value = quote_value(field_trace.value, report.width - len(field_trace.name) - 3)
    report.add_heading(
        escape_unprintable(field_trace.name), f" = {value}", format_location(field_trace.location)
    )
    for number, offer in enumerate(field_trace.sources):
        aside = " (set aside)" if number else ""
        shown = quote_value(offer.value, report.text_width - len(aside))
        report.add_row(offer.origin, shown + aside, format_location(offer.location))
    if field_trace.origin == "engine":
        report.add_row("engine", "supplied by the engine")
    if field_trace.tag is not None:
        shown = f"{truncate_text(field_trace.tag.name, report.text_width // 2)} stands for "
        shown += quote_value(field_trace.tag.value, report.text_width - len(shown))
        report.add_row("tag", shown, format_location(field_trace.tag.location))
    for check in field_trace.checks:
        report.add_row(
            check.name,
            truncate_text(check.constraint, report.text_width),
            format_location(check.location),
        )
    for use in field_trace.uses:
        _add_use(report, field_trace, use)


def _add_use(report: "Report", field_trace: "FieldTrace", use: "UseTrace") -> None:
    from osprofile.cli.terminal import excerpt_line, format_location, quote_value, truncate_text

    report.add_row(
        "used", truncate_text(use.source_form, report.text_width), format_location(use.location)
    )
    value = field_trace.value
    if use.derived_value is not None:
        report.add_row("", f"derived: {quote_value(use.derived_value, report.text_width - 9)}")
        value = use.derived_value
    if use.pattern is not None:
        made = "unchanged" if use.after == value else quote_value(use.after, report.text_width - 6)
        report.add_row("", f"made: {made}")
    where = _format_position(use.position)
    content = excerpt_line(
        use.position.line_text, use.position.column - 1, report.text_width - len(where) - 2
    )
    report.add_row("", f"{where}: {content}".removesuffix(": "))


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


def _encode_trace(
    profile: str, incarnation: "Incarnation", traces: "list[FieldTrace]"
) -> dict[str, object]:
    return {
        "profile": profile,
        "template": incarnation.template,
        "variation": incarnation.variation,
        "fields": [_encode_field(told) for told in traces],
        "warnings": list(incarnation.warnings),
    }


def _encode_field(field_trace: "FieldTrace") -> dict[str, Any]:
    tag = field_trace.tag
    return {
        "name": field_trace.name,
        "place": _encode_location(field_trace.location),
        "origin": field_trace.origin,
        "given": field_trace.raw_value,
        "value": field_trace.value,
        "offers": [
            {"origin": o.origin, "value": o.value, "place": _encode_location(o.location)}
            for o in field_trace.sources
        ],
        "tag": tag
        and {"name": tag.name, "value": tag.value, "place": _encode_location(tag.location)},
        "checks": [
            {"rule": c.name, "allows": c.constraint, "place": _encode_location(c.location)}
            for c in field_trace.checks
        ],
        "uses": [_encode_use(use) for use in field_trace.uses],
    }


def _encode_use(use: "UseTrace") -> dict[str, Any]:
    landing = use.position
    line, column = landing.script_position or (None, None)
    return {
        "template": use.template,
        "variation": use.variation,
        "written": use.source_form,
        "place": _encode_location(use.location),
        "derived": use.derived_value,
        "pattern": use.pattern,
        "replacement": use.replacement,
        "before": use.before,
        "after": use.after,
        "text": landing.text,
        "line": landing.line,
        "column": landing.column,
        "script_line": line,
        "script_column": column,
    }


def _encode_location(location: "Location | None") -> str | None:
    return str(location) if location is not None else None
