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
    from osprofile.incarnation.trace import FieldTrace, Landing, UseTrace
    from osprofile.source import Place


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
    from osprofile.cli.request import request_of
    from osprofile.incarnation import trace as traces
    from osprofile.incarnation.incarnate import incarnate

    resolved = common.open_profile(profile, profiles)
    incarnation = incarnate(
        resolved,
        template,
        fields=request_of(fields, set_file, set),
        variation=variation,
        application=application,
        context=common.context_of(resolved, context),
        strict=strict,
    )
    found = _chosen(traces.trace(incarnation), field, template)
    for warning in incarnation.warnings:
        common.tell(f"warning: {warning}")
    if json:
        common.put_json(_told(resolved.name, incarnation, found))
    else:
        common.put(_text(resolved.name, incarnation, found))
    return 0


def _chosen(found: "tuple[FieldTrace, ...]", names: list[str], template: str) -> "list[FieldTrace]":
    from osprofile.errors import nearest, told

    known = {t.name for t in found}
    for name in names:
        if name not in known:
            message = f"--field {told(name)}: no text of {template} uses a field of that name"
            raise common.UsageError(message, hint=nearest(name, known))
    return [t for t in found if not names or t.name in names]


# For people


def _text(profile: str, incarnation: "Incarnation", found: "list[FieldTrace]") -> str:
    from osprofile.cli.terminal import Report, counted, harmless

    report = Report()
    variation = f" variation {incarnation.variation}" if incarnation.variation else ""
    lines = incarnation.text.count("\n") + (not incarnation.text.endswith("\n"))
    title = harmless(f"{incarnation.template}{variation} of profile {profile}: ")
    report.line(title, "title")
    report.lines[-1] += f"{counted(len(found), 'value')}, {counted(lines, 'line')}"
    for told in found:
        report.line()
        _field(report, told)
    return str(report)


def _field(report: "Report", told: "FieldTrace") -> None:
    from osprofile.cli.terminal import cut, harmless, place_text, quoted

    value = quoted(told.value, report.width - len(told.name) - 3)
    report.heading(harmless(told.name), f" = {value}", place_text(told.place))
    for number, offer in enumerate(told.offers):
        aside = " (set aside)" if number else ""
        shown = quoted(offer.value, report.room - len(aside))
        report.row(offer.origin, shown + aside, place_text(offer.place))
    if told.origin == "engine":
        report.row("engine", "supplied by the engine")
    if told.tag is not None:
        shown = f"{cut(told.tag.name, report.room // 2)} stands for "
        shown += quoted(told.tag.value, report.room - len(shown))
        report.row("tag", shown, place_text(told.tag.place))
    for check in told.checks:
        report.row(check.name, cut(check.allows, report.room), place_text(check.place))
    for use in told.uses:
        _use(report, told, use)


def _use(report: "Report", told: "FieldTrace", use: "UseTrace") -> None:
    from osprofile.cli.terminal import around, cut, place_text, quoted

    report.row("used", cut(use.written, report.room), place_text(use.place))
    value = told.value
    if use.derived is not None:
        report.row("", f"derived: {quoted(use.derived, report.room - 9)}")
        value = use.derived
    if use.pattern is not None:
        made = "unchanged" if use.after == value else quoted(use.after, report.room - 6)
        report.row("", f"made: {made}")
    where = _where(use.landing)
    content = around(use.landing.content, use.landing.column - 1, report.room - len(where) - 2)
    report.row("", f"{where}: {content}".removesuffix(": "))


def _where(landing: "Landing") -> str:
    script = f"line {landing.script[0]}:{landing.script[1]}" if landing.script else ""
    if not landing.text:
        return script
    within = f"{landing.text} {landing.line}:{landing.column}"
    return f"{script} ({within})" if script else within


# For programs


def _told(profile: str, incarnation: "Incarnation", found: "list[FieldTrace]") -> dict[str, object]:
    return {
        "profile": profile,
        "template": incarnation.template,
        "variation": incarnation.variation,
        "fields": [_told_field(told) for told in found],
        "warnings": list(incarnation.warnings),
    }


def _told_field(told: "FieldTrace") -> dict[str, Any]:
    tag = told.tag
    return {
        "name": told.name,
        "place": _place(told.place),
        "origin": told.origin,
        "given": told.given,
        "value": told.value,
        "offers": [
            {"origin": o.origin, "value": o.value, "place": _place(o.place)} for o in told.offers
        ],
        "tag": tag and {"name": tag.name, "value": tag.value, "place": _place(tag.place)},
        "checks": [
            {"rule": c.name, "allows": c.allows, "place": _place(c.place)} for c in told.checks
        ],
        "uses": [_told_use(use) for use in told.uses],
    }


def _told_use(use: "UseTrace") -> dict[str, Any]:
    landing = use.landing
    line, column = landing.script or (None, None)
    return {
        "template": use.template,
        "variation": use.variation,
        "written": use.written,
        "place": _place(use.place),
        "derived": use.derived,
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


def _place(place: "Place | None") -> str | None:
    return str(place) if place is not None else None
