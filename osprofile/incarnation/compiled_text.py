"""Compiled texts: alternating literals and slots, each slot filled by one use of a field.

`evaluate` fills the text; only `trace` reads what a slot stands for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from osprofile.incarnation.evaluate import LINE_END, fill_text, make_text
from osprofile.late import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from osprofile.incarnation.body import Replacement, TemplateBody
    from osprofile.profile.model import Invocation, Template
    from osprofile.source import Location


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

    __slots__ = ("_slots", "text")

    def __init__(self, parts: Sequence[str], keys: Sequence[str], slots: Sequence[TextSlot] = ()) -> None:
        """Take the parts, with literals at even indexes and slots at odd ones, and the key of each slot."""
        self.text = make_text(parts, keys)
        self._slots = tuple(slots)

    def replace_keys(self, keys: Mapping[str, str]) -> CompiledText:
        """Return the same text with some keys replaced."""
        literals, _, own_keys = self.text
        return CompiledText(literals, [keys.get(key, key) for key in own_keys], self._slots)

    def fill_slots(self, values: Mapping[str, str]) -> str:
        """Return the text; raise `KeyError` for a key that has no value."""
        return fill_text(self.text, values)

    def fill_line(self, values: Mapping[str, str]) -> str:
        """Return the text without its last line end: for a path or a part of a script."""
        return self.fill_slots(values).removesuffix(LINE_END)

    def locate_slots(self, values: Mapping[str, str]) -> Iterator[tuple[TextSlot, int, str | None]]:
        """Yield each slot, the offset in the text at which its value begins, and that value.

        A key that ends with a line end has a value with the end of its line, which is not yielded.
        The value is None if its line is omitted.
        """
        (literals, _, keys), offset, omitted = self.text, 0, self._find_omitted_slots(values)
        for index, (slot, key) in enumerate(zip(self._slots, keys, strict=True)):
            offset += len(literals[2 * index])
            value = values[key].removesuffix(LINE_END) if key.endswith(LINE_END) else values[key]
            yield slot, offset, None if index in omitted else value
            offset += len(values[key])

    def _find_omitted_slots(self, values: Mapping[str, str]) -> set[int]:
        """Return the indexes of the slots on omitted lines: the value of such a line's last key is empty."""
        (literals, _, keys), omitted = self.text, set[int]()
        for index in reversed(range(len(keys))):
            is_line_end = keys[index].endswith(LINE_END)
            is_before_omitted = index + 1 in omitted and not literals[2 * index + 2]
            if not values[keys[index]] if is_line_end else is_before_omitted:
                omitted.add(index)
        return omitted


def locate_joined_slots(
    texts: Sequence[CompiledText], values: Mapping[str, str]
) -> Iterator[tuple[TextSlot, int, str | None]]:
    """Yield the slots of texts that are joined with line ends, with offsets in the joined text."""
    start = 0
    for text in texts:
        for slot, offset, value in text.locate_slots(values):
            yield slot, start + offset, value
        start += len(text.fill_line(values)) + len(LINE_END)
