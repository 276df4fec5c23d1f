"""A submit ad, read and asked for the values of its attributes.

What is wrong with an attribute is an `AttributeRefusedError` that names it: HTCondor shows its text
to the user, as the reason why the job is held.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeVar, final

from osprofile.errors import AttributeRefusedError, ClassAdError, shown
from osprofile.executors.blah import splitting
from osprofile.executors.blah.classad import UNDEFINED, Evaluator, Failure, Value, read_ad
from osprofile.executors.blah.classad.values import type_name
from osprofile.executors.blah.classad.writer import constant
from osprofile.executors.blah.jobids import NAME

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.executors.blah.classad import Ad

_T = TypeVar("_T")

LONGEST_AD: Final = 1024 * 1024
"""Characters of a submit ad. The real daemon ends itself at a longer line (page, fault 1)."""

_LARGEST: Final = 2**63 - 1
_YES, _NO = frozenset({"true", "yes", "1"}), frozenset({"false", "no", "0"})


@final
class SubmitAd:
    """The attributes of a submit ad, by their names in any case.

    Expressions are evaluated. An attribute that is missing, or undefined, is None.
    """

    def __init__(self, ad: Ad) -> None:
        self.ad = ad
        self.evaluator = Evaluator(ad)
        self.warnings: list[str] = []

    @classmethod
    def read(cls, text: str) -> SubmitAd:
        """Read the text of BLAH_JOB_SUBMIT. `ClassAdError` for what is no ad.

        Text behind the ad is ignored, with a warning: the seed's own example has some.
        """
        if len(text) > LONGEST_AD:
            message = f"the ad is longer than {LONGEST_AD} characters"
            raise ClassAdError(message, text, LONGEST_AD)
        ad, rest = read_ad(text)
        found = cls(ad)
        if rest.strip():
            found.warnings.append(f"text behind the ad is ignored: {shown(rest.strip(), 40)}")
        return found

    @property
    def gridtype(self) -> str:
        """GridType: it names a profile, and can be nothing but a name."""
        name = self.text("GridType")
        if not name:
            message = "attribute GridType is missing: it names the batch system"
            raise AttributeRefusedError(message, attribute="GridType")
        if not NAME.match(name):
            raise self.refused("GridType", f"{shown(name)} is no name of a batch system")
        return name

    def names(self) -> list[str]:
        """Give the names of the attributes as they are written."""
        return [attribute.name for attribute in self.ad.attributes.values()]

    def value(self, name: str) -> Value | None:
        """Give an attribute's value."""
        value = self.evaluator.attribute(name)
        if isinstance(value, Failure):
            raise self.refused(name, value.why or "its value is an error")
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str) and not _is_unicode(text):
                raise self.refused(name, f"{shown(text)} is not valid UTF-8")
        return None if value is UNDEFINED else value

    def text(self, name: str) -> str | None:
        """Give an attribute as text; numbers and booleans as they are written."""
        value = self.value(name)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, bool | int | float):
            return constant(value)
        raise self.refused(name, f"its value is {type_name(value)}, and no text")

    def flag(self, name: str) -> bool | None:
        """Give an attribute as a boolean; the words "TRUE" and "FALSE" are two as well."""
        value = self.value(name)
        if value is None or isinstance(value, bool):
            return value
        word = str(value).strip().lower()
        if word in _YES | _NO:
            return word in _YES
        raise self.refused(name, f"{_shown(value)} is neither true nor false")

    def count(self, name: str) -> int | None:
        """Give an attribute as a number of things; 0 is None: as many as the site gives."""
        number = self._number(name)
        if number is not None and number != math.floor(number):
            raise self.refused(name, f"{number} is no whole number")
        return None if not number else int(number)

    def amount(self, name: str) -> int | None:
        """Give an attribute as an amount, rounded up; 0 is None: as much as the site gives."""
        return math.ceil(self._number(name) or 0) or None

    def parsed(self, name: str, parse: Callable[[str], _T]) -> _T | None:
        """Give an attribute's text as one of the functions in `splitting` reads it."""
        text = self.text(name)
        if text is None:
            return None
        try:
            return parse(text)
        except ValueError as error:
            raise self.refused(name, str(error)) from None

    def files(self, name: str) -> list[str]:
        """Give an attribute as names of files: a text with commas, or a list."""
        value = self.value(name)
        if isinstance(value, tuple):
            if all(isinstance(item, str) for item in value):
                return list(dict.fromkeys(str(item) for item in value if item))
            raise self.refused(name, "its list has other elements than strings")
        return self.parsed(name, splitting.file_list) or []

    def refused(self, name: str, why: str, hint: str = "") -> AttributeRefusedError:
        """Make the error about an attribute."""
        return AttributeRefusedError(f"attribute {name}: {why}", attribute=name, hint=hint)

    def _number(self, name: str) -> int | float | None:
        value = self.value(name)
        if value is None or value == "":
            return None
        try:
            number = float(value) if isinstance(value, str) else value
        except ValueError:
            number = None
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise self.refused(name, f"{_shown(value)} is no number")
        if not 0 <= number <= _LARGEST:
            raise self.refused(name, f"{number} is no number from 0 to {_LARGEST}")
        return number


def _is_unicode(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _shown(value: Value) -> str:
    if isinstance(value, str):
        return shown(value)
    return constant(value) if isinstance(value, bool | int | float) else type_name(value)
