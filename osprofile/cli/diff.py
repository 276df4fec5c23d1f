"""`incarnate diff`: what differs between two profiles, and between the scripts that they give."""

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

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from osprofile.cli.terminal import Report
    from osprofile.incarnation.comparison import Made, Pair
    from osprofile.profile.difference import Change, Item, Path
    from osprofile.profile.model import Profile

SAME, DIFFERENT = 0, 1
_SIGNS = {"added": "+", "removed": "-", "changed": "~"}
_PLAIN = {"pattern", "limit", "type", "settable"}
_STYLES = {"+": "added", "-": "removed", "@": "word"}


def diff(
    *,
    first: Annotated[str, Argument("The one profile: a name or a path.", "A", "profiles")],
    second: Annotated[str, Argument("The other profile.", "B", "profiles")],
    template: Annotated[
        str | None,
        Argument(
            "Compare this template alone, with all that goes into it.", "[TEMPLATE]", "templates"
        ),
    ] = None,
    set: SetOption = [],  # noqa: A002  # the option's name
    set_file: SetFileOption = [],
    fields: FieldsOption = None,
    context: ContextOption = [],
    variation: Annotated[
        str | None,
        Option(
            ("--variation", "-v"),
            "Compare the scripts of this variation alone.",
            "NAME",
            "variations",
        ),
    ] = None,
    application: ApplicationOption = None,
    profiles: ProfilesOption = [],
    json: JsonOption = False,
) -> int:
    """Tell what differs between two resolved profiles, and between the scripts they give.

    First templates, variations, fields, limits and tags that were added (+), removed (-) or changed
    (~), with their places; then the scripts of both for the same request, line by line. Scripts
    that need a value are compared where --set gives it. Job directories get the same name.

    Ends with 0 where nothing differs, 1 where something does, 2 on wrong usage or an unknown
    name or where neither profile takes the request, 3 for a bad profile.

    Examples:
      incarnate diff torque pbs
      incarnate diff pbs ./new/pbs START --set QUEUE=long --set WALLTIME=600
      incarnate diff linux slurm GET_JOB_STATUS --set JOB_ID=4711 --json
    """
    from osprofile.cli.request import request_of
    from osprofile.incarnation import comparison
    from osprofile.profile.difference import difference

    old, new = (common.open_profile(name, profiles) for name in (first, second))
    request = comparison.Request(request_of(fields, set_file, set), application)
    wanted = comparison.targets(old, new, template, variation)
    sides = [comparison.Side(p, _context(p, context)) for p in (old, new)]
    pairs = comparison.compare(sides[0], sides[1], wanted, request)
    _refuse(pairs if template is not None else ())
    if template is None:
        changes = difference(old, new)
    else:
        part = comparison.scope(old, new, template, application)
        changes = difference(old, new, **part._asdict())
    if json:
        common.put_json(_told(old, new, changes, pairs))
    else:
        common.put(_text((first, second), changes, pairs))
    return DIFFERENT if changes or any(pair.differs for pair in pairs) else SAME


def _context(profile: "Profile", words: list[str]) -> dict[str, str]:
    """Give a context that is the same at every call: a job's directory has no unique name here."""
    from osprofile.incarnation.context import user_name, working_directory

    given = common.assignments(words, "--context")
    user = given.get("USER_NAME") or user_name()
    directory = working_directory(profile, user, "JOB")
    return {"USER_NAME": user, "WORKING_DIRECTORY": directory, **given}


def _refuse(pairs: "Sequence[Pair]") -> None:
    """Raise what both sides say where none of the scripts that were asked for can be made."""
    if pairs and all(pair.refused for pair in pairs) and pairs[0].old.error is not None:
        raise pairs[0].old.error


# For people


def _text(names: tuple[str, str], changes: "Sequence[Change]", pairs: "Sequence[Pair]") -> str:
    from osprofile.cli.terminal import Report, counted, harmless

    report = Report(indent=4, label=1)
    differing = [pair for pair in pairs if pair.differs]
    refused = [pair for pair in pairs if pair.refused]
    report.line(f"{harmless(names[0])} -> {harmless(names[1])}: ", "title")
    kinds = [(sum(c.kind == kind for c in changes), kind) for kind in _SIGNS]
    counts = [f"{number} {kind}" for number, kind in kinds if number]
    compared = counted(len(pairs) - len(refused), "script")
    if len(pairs) > len(refused):
        counts += [f"{len(differing)} of {compared} differ{'s' * (len(differing) == 1)}"]
    report.lines[-1] += ", ".join(counts if changes or differing else ["no difference"])
    if changes:
        report.line()
    for change in changes:
        _change(report, change)
    for pair in differing:
        _pair(report, pair, names)
    if refused:
        _not_compared(report, refused)
    return str(report)


def _change(report: "Report", change: "Change") -> None:
    from osprofile.cli.terminal import counted, place_text

    heading, old, new = f"{_SIGNS[change.kind]} {_where(change.path)}", change.old, change.new
    what = change.path[-1].what
    if old is None or new is None:
        item = old or new
        place = place_text(item.place) if item is not None else ""
        text = _brief(what, item, report.width - len(heading) - 1)
        report.heading(heading, text and f" {text}", place, change.kind)
        return
    report.heading(heading, "", "", change.kind)
    values = old.value or "", new.value or ""
    long = any("\n" in value for value in values)
    for mark, item, value in zip("-+", (old, new), values, strict=True):
        lines = counted(value.count("\n") + (value[-1:] not in {"", "\n"}), "line")
        text = lines if long else _contrasted(what, value, values, report.room)
        report.row(mark, text, place_text(item.place), _STYLES[mark])
    if long:
        for line in itertools.islice(unified(*values, ("", "")), 2, None):
            report.line(f"    {line}", _STYLES.get(line[:1], ""))


def _brief(what: str, item: "Item | None", width: int) -> str:
    """Give the value of what came or went: of many lines, how many they are."""
    from osprofile.cli.terminal import counted

    if item is None or item.value is None:
        return ""
    if "\n" in item.value:
        return f"({counted(len(item.value.splitlines()), 'line')})"
    return _shown(what, item.value, width)


def _shown(what: str, value: str, width: int) -> str:
    """Give a value: quoted, but for what has no blanks at its ends anyhow."""
    from osprofile.cli.terminal import cut, quoted

    return cut(value, width) if what in _PLAIN else quoted(value, width)


def _contrasted(what: str, value: str, values: tuple[str, str], width: int) -> str:
    """Give a value; where it is too long, from a little before the values differ."""
    same = next((i for i, (a, b) in enumerate(zip(*values, strict=False)) if a != b), 0)
    if max(map(len, values)) + 2 <= width or same <= width // 2:
        return _shown(what, value, width)
    return "..." + _shown(what, value[same - width // 4 :], width - 3)


def _where(path: "Path") -> str:
    from osprofile.cli.terminal import cut
    from osprofile.errors import told

    words = []
    for what, name in path:
        plain = cut(told(name), 60) if name else ""
        if what == "variation" and not name:
            plain = "''"
        words.append(f"{what} {plain}".rstrip())
    return ", ".join(words)


def _pair(report: "Report", pair: "Pair", names: tuple[str, str]) -> None:
    report.line()
    variation = f" {pair.variation}" if pair.variation else ""
    report.line(f"the script of {pair.template}{variation}", "title")
    for name, made in zip(names, (pair.old, pair.new), strict=True):
        if made.error is not None:
            _told_error(report, f"{name} gives none: ", made)
    if pair.old.error is None and pair.new.error is None:
        for line in unified(pair.old.text, pair.new.text, names):
            report.line(line, _STYLES.get(line[:1], ""))


def _told_error(report: "Report", what: str, made: "Made") -> None:
    from osprofile.cli.terminal import harmless, place_text

    error = made.error
    if error is not None:
        place = place_text(error.place)
        report.row("!", harmless(f"{what}{error.message}"), place, "removed")


def unified(old: str, new: str, names: tuple[str, str]) -> "Iterator[str]":
    """Give two texts as a unified difference, each line harmless; whether they end a line is told."""
    from difflib import unified_diff

    from osprofile.cli.terminal import printable

    sides = [text.split("\n") for text in (old, new)]
    for side in sides:
        if side[-1]:
            side[-1] += "\n\\ no line end"
        else:
            side.pop()
    first, second = map(printable, names)
    for line in unified_diff(sides[0], sides[1], first, second, lineterm=""):
        yield from map(printable, line.split("\n"))


def _not_compared(report: "Report", refused: "Sequence[Pair]") -> None:
    import textwrap

    from osprofile.cli.terminal import harmless
    from osprofile.errors import MissingValueError

    report.line()
    reasons: dict[str, list[str]] = {}
    for pair in refused:
        error = pair.old.error
        field = error.field if isinstance(error, MissingValueError) else ""
        reason = f"needs {field}" if field else harmless(error.message if error else "")
        reasons.setdefault(reason, []).append(f"{pair.template} {pair.variation}".rstrip())
    report.line("not compared", "title")
    for reason, names in reasons.items():
        for line in textwrap.wrap(f"{', '.join(names)}: {reason}", report.width - 4):
            report.line(f"    {line}")


# For programs


def _told(
    old: "Profile", new: "Profile", changes: "Sequence[Change]", pairs: "Sequence[Pair]"
) -> dict[str, Any]:
    return {
        "old": _told_profile(old),
        "new": _told_profile(new),
        "different": bool(changes) or any(pair.differs for pair in pairs),
        "changes": [
            {
                "kind": change.kind,
                "path": [{"what": what, "name": name} for what, name in change.path],
                "old": _told_item(change.old),
                "new": _told_item(change.new),
            }
            for change in changes
        ],
        "scripts": [_told_pair(pair, (old.name, new.name)) for pair in pairs],
    }


def _told_profile(profile: "Profile") -> dict[str, Any]:
    chain = [{"name": d.name, "place": str(d.place)} for d in profile.documents]
    return {"name": profile.name, "chain": chain}


def _told_item(item: "Item | None") -> dict[str, Any] | None:
    return item and {"value": item.value, "place": str(item.place)}


def _told_pair(pair: "Pair", names: tuple[str, str]) -> dict[str, Any]:
    errors = [made.error for made in (pair.old, pair.new)]
    return {
        "template": pair.template,
        "variation": pair.variation,
        "different": pair.differs,
        "old_error": errors[0] and errors[0].message,
        "new_error": errors[1] and errors[1].message,
        "difference": list(unified(pair.old.text, pair.new.text, names)) if pair.differs else [],
    }
