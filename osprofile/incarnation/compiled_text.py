"""Compiled texts: alternating literals and slots, each slot filled by one use of a field.

A text is filled by one slice assignment, since this takes most of the time of an incarnation. Only
`trace` reads what a slot stands for.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from osprofile.incarnation.body import Replacement, TemplateBody
    from osprofile.profile.model import Invocation, Template
    from osprofile.source import Location

Values = dict[str, str]

LINE_END = "\n"


@final
class FieldUse(NamedTuple):
    """One replacement in a body that uses a field."""

    name: str
    template: Template
    invocation: Invocation
    body: TemplateBody
    replacement: Replacement

    @property
    def location(self) -> Location:
        """The location of the replacement."""
        return self.body.locate_replacement(self.replacement)


@final
class TextSlot(NamedTuple):
    """A slot of a text.

    `field_name` is the field's name, empty if the engine supplies the value; `input_key` is the key
    of the value that FROM and TO are applied to: the field's, or for `<X:HMS>` the derived one.
    """

    field_name: str
    input_key: str
    use: FieldUse


@final
class CompiledText:
    """Literals that alternate with keys, whose values fill the slots between the literals."""

    __slots__ = ("_getter", "_keys", "_literals", "_slots")

    def __init__(self, parts: Sequence[str], keys: Sequence[str], slots: Sequence[TextSlot] = ()) -> None:
        """Take the parts, with literals at even indexes and slots at odd ones, and the key of each slot."""
        self._literals = list(parts)
        self._keys = tuple(keys)
        self._slots = tuple(slots)
        # With a single key, itemgetter would return a value instead of a tuple.
        self._getter = itemgetter(*keys) if len(keys) > 1 else None

    def replace_keys(self, keys: Mapping[str, str]) -> CompiledText:
        """Return the same text with some keys replaced."""
        return CompiledText(self._literals, [keys.get(key, key) for key in self._keys], self._slots)

    def fill_slots(self, values: Mapping[str, str]) -> str:
        """Return the text; raise `KeyError` for a key that has no value."""
        parts = self._literals.copy()
        if self._getter is not None:
            parts[1::2] = self._getter(values)
        elif self._keys:
            parts[1] = values[self._keys[0]]
        return "".join(parts)

    def fill_line(self, values: Mapping[str, str]) -> str:
        """Return the text without its last line end: for a path or a part of a script."""
        return self.fill_slots(values).removesuffix("\n")

    def locate_slots(self, values: Mapping[str, str]) -> Iterator[tuple[TextSlot, int, str | None]]:
        """Yield each slot, the offset in the text at which its value begins, and that value.

        A key that ends with a line end has a value with the end of its line, which is not yielded.
        The value is None if its line is omitted.
        """
        offset, omitted = 0, self._find_omitted_slots(values)
        for index, (slot, key) in enumerate(zip(self._slots, self._keys, strict=True)):
            offset += len(self._literals[2 * index])
            value = values[key].removesuffix(LINE_END) if key.endswith(LINE_END) else values[key]
            yield slot, offset, None if index in omitted else value
            offset += len(values[key])

    def _find_omitted_slots(self, values: Mapping[str, str]) -> set[int]:
        """Return the indexes of the slots on omitted lines: the value of such a line's last key is empty."""
        omitted = set[int]()
        for index in reversed(range(len(self._keys))):
            is_line_end = self._keys[index].endswith(LINE_END)
            is_before_omitted = index + 1 in omitted and not self._literals[2 * index + 2]
            if not values[self._keys[index]] if is_line_end else is_before_omitted:
                omitted.add(index)
        return omitted


@final
class ValueStep(NamedTuple):
    """The computation of one value: `values[key] = compute_value(values)`, in the order of the steps.

    `parts` are the nested texts that `compute_value` joins, if it joins any.
    """

    key: str
    compute_value: Callable[[Values], str]
    parts: tuple[CompiledText, ...] = ()

    def locate_slots(self, values: Mapping[str, str]) -> Iterator[tuple[TextSlot, int, str | None]]:
        """Yield the slots of all parts like `CompiledText.locate_slots`, with offsets in the joined text."""
        start = 0
        for part in self.parts:
            for slot, offset, value in part.locate_slots(values):
                yield slot, start + offset, value
            start += len(part.fill_line(values)) + len(LINE_END)


def create_join_step(key: str, parts: tuple[CompiledText, ...]) -> ValueStep:
    """Return the step that joins texts with line ends."""

    def compute_value(values: Values) -> str:
        return LINE_END.join([part.fill_line(values) for part in parts])

    return ValueStep(key, compute_value, parts)
