"""`incarnate diff`: the differences between two profiles, and between the scripts that they give."""

import itertools
from typing import TYPE_CHECKING, Annotated, Any

from osprofile.cli import common
from osprofile.cli.options import (
    ApplicationOption,
    Argument,
    ContextOption,
    FieldsOption,
    JsonOption,
    Option,
    ProfilesOption,
    SetFileOption,
    SetOption,
)
from osprofile.cli.terminal import Report, format_diff, format_location, quote_value, truncate_text
from osprofile.errors import MissingValueError
from osprofile.text import escape_unprintable, pluralize, quote_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.authoring.comparison import ScriptPair
    from osprofile.authoring.difference import ItemPath, ProfileChange, ProfileItem
    from osprofile.profile.model import Profile

_CHANGE_SIGNS = {"added": "+", "removed": "-", "changed": "~"}
_UNQUOTED_KINDS = {"pattern", "limit", "type", "settable"}


def diff(
    *,
    first: Annotated[str, Argument("The first profile: a name or a path.", "A", "profiles")],
    second: Annotated[str, Argument("The second profile.", "B", "profiles")],
    template: Annotated[
        str | None, Argument("Compare only this template, and what it uses.", "[TEMPLATE]", "templates")
    ] = None,
    set: SetOption = [],  # noqa: A002  # the option's name
    set_file: SetFileOption = [],
    fields: FieldsOption = None,
    context: ContextOption = [],
    variation: Annotated[
        str | None,
        Option(("--variation", "-v"), "Compare only the scripts of this variation.", "NAME", "variations"),
    ] = None,
    application: ApplicationOption = None,
    profiles: ProfilesOption = [],
    json: JsonOption = False,
) -> int:
    """Show the differences between two profiles and their scripts.

    First come the templates, variations, fields, limits and tags that were added (+), removed (-) or
    changed (~), with their locations; then the scripts of both for the same request, line by line.
    Scripts that need a value are compared only if --set gives it. Job directories get the same name.

    Exit codes: 0 no difference; 1 something differs; 2 wrong usage, an unknown name, or both
    profiles refuse the request; 3 invalid profile.

    Examples:
      incarnate diff torque pbs
      incarnate diff pbs ./new/pbs START --set QUEUE=long --set WALLTIME=600
      incarnate diff linux slurm GET_JOB_STATUS --set JOB_ID=4711 --json
    """
    from osprofile.authoring import comparison
    from osprofile.authoring.difference import compare_profiles
    from osprofile.cli.request import read_request

    old, new = (common.open_profile(name, profiles) for name in (first, second))
    request = comparison.ComparisonRequest(read_request(fields, set_file, set), application)
    variations = comparison.find_common_variations(old, new, template, variation)
    # The same name in both contexts: a unique one would differ in every script.
    sides = [comparison.ProfileInContext(p, common.build_context(p, context, "JOB")) for p in (old, new)]
    pairs = comparison.compare_scripts(sides[0], sides[1], variations, request)
    if (
        template is not None
        and pairs
        and pairs[0].old.error is not None
        and all(p.both_failed for p in pairs)
    ):
        raise pairs[0].old.error
    if template is None:
        changes = compare_profiles(old, new)
    else:
        scope = comparison.collect_scope(old, new, template, application)
        changes = compare_profiles(
            old,
            new,
            templates=scope.templates,
            global_fields=scope.global_fields,
            include_uspace_root=scope.uses_uspace_root,
        )
    if json:
        common.print_json(_encode_comparison(old, new, changes, pairs))
    else:
        common.print_result(_format_report((first, second), changes, pairs))
    differs = bool(changes) or any(pair.differs for pair in pairs)
    return common.DIFFERENT if differs else common.SUCCESS


# For people


def _format_report(
    names: tuple[str, str], changes: "Sequence[ProfileChange]", pairs: "Sequence[ScriptPair]"
) -> str:
    report = Report(indent=4, label_width=1)
    differing = [pair for pair in pairs if pair.differs]
    refused = [pair for pair in pairs if pair.both_failed]
    report.add_line(f"{escape_unprintable(names[0])} -> {escape_unprintable(names[1])}: ", "title")
    kinds = [(sum(c.kind == kind for c in changes), kind) for kind in _CHANGE_SIGNS]
    counts = [f"{number} {kind}" for number, kind in kinds if number]
    compared = pluralize(len(pairs) - len(refused), "script")
    if len(pairs) > len(refused):
        counts += [f"{len(differing)} of {compared} differ{'s' * (len(differing) == 1)}"]
    report.lines[-1] += ", ".join(counts if changes or differing else ["no difference"])
    if changes:
        report.add_line()
    for change in changes:
        _add_change(report, change)
    for pair in differing:
        _add_script_diff(report, pair, names)
    if refused:
        _add_refused(report, refused)
    return str(report)


def _add_change(report: "Report", change: "ProfileChange") -> None:
    heading, old, new = (f"{_CHANGE_SIGNS[change.kind]} {_format_path(change.path)}", change.old, change.new)
    kind = change.path[-1].kind
    if old is None or new is None:
        item = old or new
        location = format_location(item.location) if item is not None else ""
        text = _summarize_item(kind, item, report.width - len(heading) - 1)
        report.add_heading(heading, text and f" {text}", location, change.kind)
        return
    report.add_heading(heading, "", "", change.kind)
    values = old.value or "", new.value or ""
    long = any("\n" in value for value in values)
    for mark, item, value in zip("-+", (old, new), values, strict=True):
        lines = pluralize(value.count("\n") + (value[-1:] not in {"", "\n"}), "line")
        text = lines if long else _format_contrast(kind, value, values, report.text_width)
        style = "removed" if mark == "-" else "added"
        report.add_row(mark, text, format_location(item.location), style)
    if long:
        report.add_diff(itertools.islice(format_diff(*values, ("", "")), 2, None), indent="    ")


def _summarize_item(kind: str, item: "ProfileItem | None", width: int) -> str:
    """Return the value of an item that was added or removed, or the number of its lines."""
    if item is None or item.value is None:
        return ""
    if "\n" in item.value:
        return f"({pluralize(len(item.value.splitlines()), 'line')})"
    return _format_value(kind, item.value, width)


def _format_value(kind: str, value: str, width: int) -> str:
    """Return a value in quotes, unless it is of a kind that cannot begin or end with a blank."""
    return truncate_text(value, width) if kind in _UNQUOTED_KINDS else quote_value(value, width)


def _format_contrast(kind: str, value: str, values: tuple[str, str], width: int) -> str:
    """Return one of two values; long ones begin shortly before their first difference."""
    same = next((i for i, (a, b) in enumerate(zip(*values, strict=False)) if a != b), 0)
    if max(map(len, values)) + 2 <= width or same <= width // 2:
        return _format_value(kind, value, width)
    return "..." + _format_value(kind, value[same - width // 4 :], width - 3)


def _format_path(path: "ItemPath") -> str:
    words = []
    for kind, name in path:
        shown = truncate_text(quote_name(name), 60) if name else ""
        if kind in {"variation", "tag"} and not name:
            shown = "''"
        words.append(f"{kind} {shown}".rstrip())
    return ", ".join(words)


def _add_script_diff(report: "Report", pair: "ScriptPair", names: tuple[str, str]) -> None:
    report.add_line()
    variation = f" {pair.variation}" if pair.variation else ""
    report.add_line(f"the script of {pair.template}{variation}", "title")
    for name, script in zip(names, (pair.old, pair.new), strict=True):
        if script.error is not None:
            text = escape_unprintable(f"{name} gives no script: {script.error.message}")
            report.add_row("!", text, format_location(script.error.location), "removed")
    if pair.old.error is None and pair.new.error is None:
        report.add_diff(format_diff(pair.old.text, pair.new.text, names))


def _add_refused(report: "Report", refused: "Sequence[ScriptPair]") -> None:
    import textwrap

    report.add_line()
    reasons: dict[str, list[str]] = {}
    for pair in refused:
        error = pair.old.error
        field = error.field if isinstance(error, MissingValueError) else ""
        reason = f"needs {field}" if field else escape_unprintable(error.message if error else "")
        reasons.setdefault(reason, []).append(f"{pair.template} {pair.variation}".rstrip())
    report.add_line("not compared", "title")
    for reason, names in reasons.items():
        for line in textwrap.wrap(f"{', '.join(names)}: {reason}", report.width - 4):
            report.add_line(f"    {line}")


# For programs


def _encode_comparison(
    old: "Profile", new: "Profile", changes: "Sequence[ProfileChange]", pairs: "Sequence[ScriptPair]"
) -> dict[str, Any]:
    return {
        "old": _encode_profile(old),
        "new": _encode_profile(new),
        "different": bool(changes) or any(pair.differs for pair in pairs),
        "changes": [
            {
                "kind": change.kind,
                "path": [{"what": kind, "name": name} for kind, name in change.path],
                "old": _encode_item(change.old),
                "new": _encode_item(change.new),
            }
            for change in changes
        ],
        "scripts": [_encode_pair(pair, (old.name, new.name)) for pair in pairs],
    }


def _encode_profile(profile: "Profile") -> dict[str, Any]:
    chain = [{"name": d.name, "place": str(d.location)} for d in profile.documents]
    return {"name": profile.name, "chain": chain}


def _encode_item(item: "ProfileItem | None") -> dict[str, Any] | None:
    return item and {"value": item.value, "place": str(item.location)}


def _encode_pair(pair: "ScriptPair", names: tuple[str, str]) -> dict[str, Any]:
    errors = [script.error for script in (pair.old, pair.new)]
    return {
        "template": pair.template,
        "variation": pair.variation,
        "different": pair.differs,
        "old_error": errors[0] and errors[0].message,
        "new_error": errors[1] and errors[1].message,
        "difference": list(format_diff(pair.old.text, pair.new.text, names)) if pair.differs else [],
    }
