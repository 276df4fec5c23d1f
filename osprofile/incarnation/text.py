"""Compiled texts: literals and slots that alternate, and which use of which field each slot is.

To fill a text is one slice assignment. What a slot stands for is only read by those who explain a
text (`trace`), never by those who make one.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from osprofile.language.body import Body, Replacement
    from osprofile.profile.model import Invocation, Template
    from osprofile.source import Place

Values = dict[str, str]


@final
class Use(NamedTuple):
    """One place where a body uses a field."""

    name: str
    template: Template
    invocation: Invocation
    body: Body
    replacement: Replacement

    @property
    def place(self) -> Place:
        """Where the replacement begins."""
        return self.body.place(self.replacement)


@final
class Slot(NamedTuple):
    """What fills one gap of a text.

    `field` names the field, the empty string where the engine supplies the value; `before` is the
    key of the value that FROM and TO are applied to: the field's, of `<X:HMS>` the derived one.
    """

    field: str
    before: str
    use: Use


@final
class Text:
    """A compiled text: literals, keys into the values, and nested texts that stand in them."""

    __slots__ = ("_getter", "_keys", "_literals", "_slots")

    def __init__(
        self, parts: Sequence[str], keys: Sequence[str], slots: Sequence[Slot] = ()
    ) -> None:
        """Take parts with a literal at each even place; `keys` go to the odd ones, in order."""
        self._literals = list(parts)
        self._keys = tuple(keys)
        self._slots = tuple(slots)
        self._getter = itemgetter(*keys) if len(keys) > 1 else None

    def with_keys(self, keys: Mapping[str, str]) -> Text:
        """Give the same text with other keys in the place of some."""
        return Text(self._literals, [keys.get(key, key) for key in self._keys], self._slots)

    def fill(self, values: Mapping[str, str]) -> str:
        """Give the text; raise KeyError for a key that has no value."""
        parts = self._literals.copy()
        if self._getter is not None:
            parts[1::2] = self._getter(values)
        elif self._keys:
            parts[1] = values[self._keys[0]]
        return "".join(parts)

    def line(self, values: Mapping[str, str]) -> str:
        """Give the text without the line end that closes it: a path, a part of a script."""
        return self.fill(values).removesuffix("\n")

    def spans(self, values: Mapping[str, str]) -> Iterator[tuple[Slot, int, str]]:
        """Give each slot, the offset in the text at which its value begins, and that value."""
        offset = 0
        for index, (slot, key) in enumerate(zip(self._slots, self._keys, strict=True)):
            offset += len(self._literals[2 * index])
            yield slot, offset, values[key]
            offset += len(values[key])


@final
class Step(NamedTuple):
    """Work that fills one key: `values[key] = make(values)`, in the order of the steps.

    Where the value is nested texts, they are its `parts`, to which `make` is `joined`.
    """

    key: str
    make: Callable[[Values], str]
    parts: tuple[Text, ...] = ()

    def spans(self, values: Mapping[str, str]) -> Iterator[tuple[Slot, int, str]]:
        """Give the slots of all parts, as `Text.spans` does; offsets count in the joined text."""
        start = 0
        for part in self.parts:
            for slot, offset, value in part.spans(values):
                yield slot, start + offset, value
            start += len(part.line(values)) + len(JOINT)


JOINT = "\n"


def nested(key: str, parts: tuple[Text, ...]) -> Step:
    """Give the step that joins texts, each ending its last line but the last."""

    def make(values: Values) -> str:
        return JOINT.join([part.line(values) for part in parts])

    return Step(key, make, parts)
