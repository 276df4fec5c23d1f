"""Parse the elements of HTCondor's XML logs, fast if their form is known.

The attributes of an element and their order differ between releases and kinds of events, but most
elements of a kind in one log have the same form. The form of each parsed element is remembered as a
pattern: the lines that are used, and the number of other lines between them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.events.timestamps import is_number

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_ATTRIBUTE_PATTERN: Final = re.compile(r'<a n="(\w+)">\s*<(?:[a-z] v="([^"]*)"|[a-z]+>([^<]*))', re.ASCII)
_EVENT_NUMBER_TAG: Final = '<a n="EventTypeNumber"><i>'
_NORMAL_FLAGS: Final = {"t": "1", "f": "0", "true": "1", "false": "0"}
_ATTRIBUTE_LINE: Final = re.compile(
    r'([ \t]*<a n="(\w+)"><)(?:([a-z]+>)[^<]*(</[^<]*</a>)|b v="([tf])"/></a>)'
)
_INTEGER_PATTERN: Final = "0*([0-9]{1,18})"
_VALUE_PATTERNS: Final = {
    "Cluster": _INTEGER_PATTERN,
    "Proc": _INTEGER_PATTERN,
    "Subproc": _INTEGER_PATTERN,
    "EventTime": r"([^<\n]{19})[^<\n]*+",
    "ReturnValue": "(-?[0-9]{1,18})",
}
"""The attributes that are used, and patterns of values that need no conversion."""
_MAX_FORMS: Final = 4
"""Forms that are remembered per kind of event; each costs a match for every element of the kind."""

EntryFields = tuple[str, str, str, str, str, str, str]
"""Number, cluster, proc, sub, time; for an end `1` (normal) or `0`, and the return value."""


class _ElementForm(NamedTuple):
    """A pattern for the lines of an element that are used."""

    match: Callable[[str], re.Match[str] | None]
    groups: tuple[int, ...]
    """The groups of cluster, proc, sub, time and, for a normal end, the return value."""
    number: str
    normal: str
    """`1` or `0` for an end, otherwise ""."""


@final
class ElementReader:
    """Finds the fields of elements; `numbers` are the kinds of events to find."""

    def __init__(self, numbers: Collection[int]) -> None:
        # A key is the three characters after _EVENT_NUMBER_TAG, such as `5</` or `10<`.
        self._forms_by_key: dict[str, list[_ElementForm]] = {f"{number}</"[:3]: [] for number in numbers}
        self._ignored_keys = {f"{number}</"[:3] for number in range(100)} - self._forms_by_key.keys()

    def parse_elements(self, text: str) -> list[EntryFields]:
        """Return the fields of the elements that may be events."""
        forms, ignored_keys, entries = self._forms_by_key, self._ignored_keys, list[EntryFields]()
        for element in text.split("<c>")[1:]:
            begin = element.find(_EVENT_NUMBER_TAG) + len(_EVENT_NUMBER_TAG)
            key = element[begin : begin + 3]
            if key in ignored_keys:
                continue
            for match, groups, number, normal in forms.get(key, ()):
                if values := match(element):
                    cluster, proc, sub, when, value = values.group(*groups)
                    value = value if normal == "1" else ""
                    entries.append((number, cluster, proc, sub, when, normal, value))
                    break
            else:
                content = element.partition("</c>")[0]
                if fields := _parse_any_form(content):
                    entries.append(fields)
                    self._remember_form(key, content, fields)
        return entries

    def _remember_form(self, key: str, element: str, fields: EntryFields) -> None:
        forms = self._forms_by_key.get(key)
        if forms is not None and len(forms) < _MAX_FORMS:
            forms.extend(_derive_forms(element, fields))


def _parse_any_form(text: str) -> EntryFields | None:
    """Return the fields of an element; None if a number in it is missing or malformed."""
    values = {name: flag or value for name, flag, value in _ATTRIBUTE_PATTERN.findall(text)}
    names = ("EventTypeNumber", "Cluster", "Proc", "Subproc")
    number, cluster, proc, sub = (values.get(name, "").strip() for name in names)
    value = values.get("ReturnValue", "0").strip()
    if number == "22" and "NoReconnectReason" not in values:
        return None  # the job still runs; HTCondor tries to reconnect
    if not all(map(is_number, [number, cluster, proc, sub, value.removeprefix("-")])):
        return None
    normal = _NORMAL_FLAGS.get(values.get("TerminatedNormally", ""), "")
    when = values.get("EventTime", "").strip()[:19]
    ids = [str(int(digits)) for digits in (cluster, proc, sub)]
    return f"{int(number):03}", ids[0], ids[1], ids[2], when, normal, value if normal == "1" else ""


def _derive_forms(element: str, fields: EntryFields) -> list[_ElementForm]:
    """Return the form of an element in a list; [] unless each attribute has its own line."""
    parts: list[str] = []
    names: list[str] = []
    last_used = 0
    for line in element.split("\n"):
        attribute = _ATTRIBUTE_LINE.fullmatch(line)
        name = attribute[2] if attribute else ""
        if attribute and attribute[3] and name in _VALUE_PATTERNS:
            parts.append(re.escape(attribute[1] + attribute[3]) + _VALUE_PATTERNS[name])
            parts[-1] += re.escape(attribute[4])
            names.append(name)
        elif name in ("EventTypeNumber", "TerminatedNormally"):
            parts.append(re.escape(line))
        else:
            parts.append(r"[^\n]*+")
            continue
        last_used = len(parts)
    group_names = ["Cluster", "Proc", "Subproc", "EventTime"]
    group_names.append("ReturnValue" if fields[5] == "1" else "Cluster")
    # A form does not see the attribute that decides about 022.
    if fields[0] == "022" or not set(group_names) <= set(names) or len(set(names)) < len(names):
        return []
    match = re.compile("\\n".join(parts[:last_used]) + "\\n").match
    groups = tuple(names.index(name) + 1 for name in group_names)
    return [_ElementForm(match, groups, fields[0], fields[5])]
