"""The elements of HTCondor's XML logs: of any form, and fast where a form is known.

Which attributes an element has, and in which order, differs from release to release, and from one
kind of event to another; but most elements of a kind in a log have one form. The form of one that
was read is remembered: the lines with what is told, and how many others stand between them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_ATTRIBUTE_PATTERN: Final = re.compile(
    r'<a n="(\w+)">\s*<(?:[a-z] v="([^"]*)"|[a-z]+>([^<]*))', re.ASCII
)
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
"""What is told of an element, as it is written where it needs no more thought."""
_MAX_FORMS: Final = 4
"""So many forms of one kind of event are remembered."""

EntryFields = tuple[str, str, str, str, str, str, str]
"""Number, cluster, proc, sub, time; of an end, `1` where it was normal, and the return value."""


class _ElementForm(NamedTuple):
    """The lines of an element, as far as they are of use.

    `groups` are those of cluster, proc, sub, time and, of a normal end, the return value. `normal`
    is `1` or `0` of an end.
    """

    match: Callable[[str], re.Match[str] | None]
    groups: tuple[int, ...]
    number: str
    normal: str


@final
class ElementReader:
    """Finds what is told in elements; `numbers` are the kinds of events that tell something."""

    def __init__(self, numbers: Collection[int]) -> None:
        self._known_forms: dict[str, list[_ElementForm]] = {
            f"{number}</"[:3]: [] for number in numbers
        }
        self._ignored_keys = {f"{number}</"[:3] for number in range(100)} - self._known_forms.keys()

    def parse_elements(self, text: str) -> list[EntryFields]:
        """Return what is told in each of the elements of a text that may tell something."""
        forms, others, all_found = self._known_forms, self._ignored_keys, []
        for element in text.split("<c>")[1:]:
            begin = element.find(_EVENT_NUMBER_TAG) + len(_EVENT_NUMBER_TAG)
            key = element[begin : begin + 3]
            if key in others:
                continue
            for match, groups, number, normal in forms.get(key, ()):
                if found := match(element):
                    cluster, proc, sub, when, value = found.group(*groups)
                    value = value if normal == "1" else ""
                    all_found.append((number, cluster, proc, sub, when, normal, value))
                    break
            else:
                whole = element.partition("</c>")[0]
                if odd := _parse_any_form(whole):
                    all_found.append(odd)
                    self._remember_form(key, whole, odd)
        return all_found

    def _remember_form(self, key: str, element: str, fields: EntryFields) -> None:
        """Remember the form of an element, unless it has none, or its kind has many."""
        known = self._known_forms.get(key)
        if known is not None and len(known) < _MAX_FORMS:
            known.extend(_derive_forms(element, fields))


def _parse_any_form(text: str) -> EntryFields | None:
    """Return what is told in an element; None where it has no number that it must have."""
    known = {name: flag or value for name, flag, value in _ATTRIBUTE_PATTERN.findall(text)}
    names = ("EventTypeNumber", "Cluster", "Proc", "Subproc")
    number, cluster, proc, sub = (known.get(name, "").strip() for name in names)
    value = known.get("ReturnValue", "0").strip()
    if not all(map(_is_number, [number, cluster, proc, sub, value.removeprefix("-")])):
        return None
    normal = _NORMAL_FLAGS.get(known.get("TerminatedNormally", ""), "")
    when = known.get("EventTime", "").strip()[:19]
    ids = [str(int(word)) for word in (cluster, proc, sub)]
    return f"{int(number):03}", ids[0], ids[1], ids[2], when, normal, value if normal == "1" else ""


def _derive_forms(element: str, fields: EntryFields) -> list[_ElementForm]:
    """Return the form of an element, in a list; none where its lines are not an attribute each."""
    parts: list[str] = []
    names: list[str] = []
    last = 0
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
        last = len(parts)
    wanted = ["Cluster", "Proc", "Subproc", "EventTime"]
    wanted.append("ReturnValue" if fields[5] == "1" else "Cluster")
    if not set(wanted) <= set(names) or len(set(names)) < len(names):
        return []
    match = re.compile("\\n".join(parts[:last]) + "\\n").match
    groups = tuple(names.index(name) + 1 for name in wanted)
    return [_ElementForm(match, groups, fields[0], fields[5])]


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= 18
