"""A submit ad, read and asked for the values of its attributes.

What is wrong with an attribute is an `AttributeRefusedError` that names it: HTCondor shows its text
to the user, as the reason why the job is held.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeVar, final

from osprofile.errors import AttributeRefusedError, ClassAdError, quote_value
from osprofile.executors.blah import attribute_syntax
from osprofile.executors.blah.classad import UNDEFINED, Evaluator, Failure, Value, parse_ad_prefix
from osprofile.executors.blah.classad.values import describe_type
from osprofile.executors.blah.classad.writer import format_constant
from osprofile.executors.blah.job_id import PROFILE_NAME

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.executors.blah.classad import Ad

_T = TypeVar("_T")

MAX_AD_LENGTH: Final = 1024 * 1024
"""Characters of a submit ad. The real daemon ends itself at a longer line (page, fault 1)."""

_MAX_INTEGER: Final = 2**63 - 1
_TRUE_WORDS, _FALSE_WORDS = frozenset({"true", "yes", "1"}), frozenset({"false", "no", "0"})


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
    def parse(cls, text: str) -> SubmitAd:
        """Read the text of BLAH_JOB_SUBMIT. `ClassAdError` for what is no ad.

        Text behind the ad is ignored, with a warning: the seed's own example has some.
        """
        if len(text) > MAX_AD_LENGTH:
            message = f"the ad is longer than {MAX_AD_LENGTH} characters"
            raise ClassAdError(message, text, MAX_AD_LENGTH)
        ad, rest = parse_ad_prefix(text)
        found = cls(ad)
        if rest.strip():
            found.warnings.append(f"text behind the ad is ignored: {quote_value(rest.strip(), 40)}")
        return found

    @property
    def grid_type(self) -> str:
        """GridType: it names a profile, and can be nothing but a name."""
        name = self.get_text("GridType")
        if not name:
            message = "attribute GridType is missing: it names the batch system"
            raise AttributeRefusedError(message, attribute="GridType")
        if not PROFILE_NAME.match(name):
            raise self.make_refusal("GridType", f"{quote_value(name)} is no name of a batch system")
        return name

    def list_names(self) -> list[str]:
        """Give the names of the attributes as they are written."""
        return [attribute.name for attribute in self.ad.attributes.values()]

    def get_value(self, name: str) -> Value | None:
        """Give an attribute's value."""
        value = self.evaluator.evaluate_attribute(name)
        if isinstance(value, Failure):
            raise self.make_refusal(name, value.reason or "its value is an error")
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str) and not _is_encodable(text):
                raise self.make_refusal(name, f"{quote_value(text)} is not valid UTF-8")
        return None if value is UNDEFINED else value

    def get_text(self, name: str) -> str | None:
        """Give an attribute as text; numbers and booleans as they are written."""
        value = self.get_value(name)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, bool | int | float):
            return format_constant(value)
        raise self.make_refusal(name, f"its value is {describe_type(value)}, and no text")

    def get_flag(self, name: str) -> bool | None:
        """Give an attribute as a boolean; the words "TRUE" and "FALSE" are two as well."""
        value = self.get_value(name)
        if value is None or isinstance(value, bool):
            return value
        word = str(value).strip().lower()
        if word in _TRUE_WORDS | _FALSE_WORDS:
            return word in _TRUE_WORDS
        raise self.make_refusal(name, f"{_format_value(value)} is neither true nor false")

    def get_count(self, name: str) -> int | None:
        """Give an attribute as a number of things; 0 is None: as many as the site gives."""
        number = self._get_number(name)
        if number is not None and number != math.floor(number):
            raise self.make_refusal(name, f"{number} is no whole number")
        return None if not number else int(number)

    def get_amount(self, name: str) -> int | None:
        """Give an attribute as an amount, rounded up; 0 is None: as much as the site gives."""
        return math.ceil(self._get_number(name) or 0) or None

    def parse_value(self, name: str, parse: Callable[[str], _T]) -> _T | None:
        """Give an attribute's text as one of the functions in `splitting` reads it."""
        text = self.get_text(name)
        if text is None:
            return None
        try:
            return parse(text)
        except ValueError as error:
            raise self.make_refusal(name, str(error)) from None

    def get_file_names(self, name: str) -> list[str]:
        """Give an attribute as names of files: a text with commas, or a list."""
        value = self.get_value(name)
        if isinstance(value, tuple):
            if all(isinstance(item, str) for item in value):
                return list(dict.fromkeys(str(item) for item in value if item))
            raise self.make_refusal(name, "its list has other elements than strings")
        return self.parse_value(name, attribute_syntax.split_file_list) or []

    def make_refusal(self, name: str, why: str, hint: str = "") -> AttributeRefusedError:
        """Make the error about an attribute."""
        return AttributeRefusedError(f"attribute {name}: {why}", attribute=name, hint=hint)

    def _get_number(self, name: str) -> int | float | None:
        value = self.get_value(name)
        if value is None or value == "":
            return None
        try:
            number = float(value) if isinstance(value, str) else value
        except ValueError:
            number = None
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise self.make_refusal(name, f"{_format_value(value)} is no number")
        if not 0 <= number <= _MAX_INTEGER:
            raise self.make_refusal(name, f"{number} is no number from 0 to {_MAX_INTEGER}")
        return number


def _is_encodable(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _format_value(value: Value) -> str:
    if isinstance(value, str):
        return quote_value(value)
    return format_constant(value) if isinstance(value, bool | int | float) else describe_type(value)
