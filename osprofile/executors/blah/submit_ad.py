"""A submit ad and the values of its attributes.

A wrong attribute raises an `AttributeRefusedError` that names it: HTCondor shows its text to the
user, as the reason why the job is held.
"""

from __future__ import annotations

import math
import posixpath
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeVar, final

from osprofile.executors.blah import attribute_syntax
from osprofile.executors.blah.classad import (
    UNDEFINED,
    Evaluator,
    Failure,
    Value,
    describe_type,
    format_constant,
    parse_ad_prefix,
)
from osprofile.executors.errors import AttributeRefusedError, ClassAdError
from osprofile.executors.failures import make_refusal
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.executors.blah.classad import Ad

_T = TypeVar("_T")

MAX_AD_LENGTH: Final = 1024 * 1024
"""In characters, of a submit ad; blahpd exits at a longer one (docs/protocols/blah.md, 7.1)."""

_MAX_INTEGER: Final = 2**63 - 1
_MAX_PATH_SIZE: Final = 4096  # PATH_MAX of Linux
_TRUE_WORDS, _FALSE_WORDS = frozenset({"true", "yes", "1"}), frozenset({"false", "no", "0"})


@final
class SubmitAd:
    """The attributes of a submit ad; their names are case-insensitive.

    The getters evaluate expressions and return None for an attribute that is missing or undefined.
    """

    def __init__(self, ad: Ad) -> None:
        self.class_ad = ad
        self.evaluator = Evaluator(ad)
        self.warnings: list[str] = []

    @classmethod
    def parse(cls, text: str) -> SubmitAd:
        """Parse the argument of BLAH_JOB_SUBMIT. Raises `ClassAdError` for a malformed ad.

        Text after the ad is ignored, with a warning: the example of docs/protocols/blah.md, 2.3,
        has some.
        """
        if len(text) > MAX_AD_LENGTH:
            message = f"the ad is longer than {MAX_AD_LENGTH} characters"
            raise ClassAdError(message, text, MAX_AD_LENGTH)
        ad, rest = parse_ad_prefix(text)
        submit_ad = cls(ad)
        if rest.strip():
            submit_ad.warnings.append(f"text after the ad is ignored: {quote_value(rest.strip(), 40)}")
        return submit_ad

    @property
    def grid_type(self) -> str:
        """GridType, the name of the batch system; it is mandatory."""
        name = self.get_text("GridType")
        if not name:
            message = "attribute GridType is missing: it names the batch system"
            raise AttributeRefusedError(message, attribute="GridType")
        return name

    @cached_property
    def iwd(self) -> str | None:
        """Iwd, the absolute path at which relative paths begin."""
        path = self.get_text("Iwd") or None
        if path is not None and not path.startswith("/"):
            raise make_refusal("Iwd", f"{quote_value(path)} is not an absolute path")
        return path

    @property
    def stages_executable(self) -> bool:
        """StageCmd: whether the executable is to be copied to the job; it is the default."""
        return self.get_flag("StageCmd") is not False

    def list_names(self) -> list[str]:
        """Return the names of the attributes as they are written."""
        return [attribute.name for attribute in self.class_ad.attributes.values()]

    def get_value(self, name: str) -> Value | None:
        """Return an attribute's value."""
        value = self.evaluator.evaluate_attribute(name)
        if isinstance(value, Failure):
            raise make_refusal(name, value.reason or "its value is an error")
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, str) and not _is_encodable(item):
                raise make_refusal(name, f"{quote_value(item)} is not valid UTF-8")
        return None if value is UNDEFINED else value

    def get_text(self, name: str) -> str | None:
        """Return an attribute as text; a number or boolean becomes its text in a ClassAd."""
        value = self.get_value(name)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, bool | int | float):
            return format_constant(value)
        raise make_refusal(name, f"its value is {describe_type(value)}, not a text")

    def get_flag(self, name: str) -> bool | None:
        """Return an attribute as a boolean; the words "TRUE" and "FALSE" are accepted as well."""
        value = self.get_value(name)
        if value is None or isinstance(value, bool):
            return value
        word = str(value).strip().lower()
        if word in _TRUE_WORDS | _FALSE_WORDS:
            return word in _TRUE_WORDS
        raise make_refusal(name, f"{_format_value(value)} is neither true nor false")

    def get_count(self, name: str) -> int | None:
        """Return an attribute as an integer; None for 0, which means the site's default."""
        number = self._get_number(name)
        if number is not None and number != math.floor(number):
            raise make_refusal(name, f"{number} is not an integer")
        return None if not number else int(number)

    def get_rounded_amount(self, name: str) -> int | None:
        """Return an attribute as an integer, rounded up; None for 0, which means the site's default."""
        return math.ceil(self._get_number(name) or 0) or None

    def parse_value(self, name: str, parse: Callable[[str], _T]) -> _T | None:
        """Return what `parse` makes of an attribute's text; its ValueError becomes a refusal."""
        text = self.get_text(name)
        if text is None:
            return None
        try:
            return parse(text)
        except ValueError as error:
            raise make_refusal(name, str(error)) from None

    def get_file_names(self, name: str) -> list[str]:
        """Return an attribute as file names; its value may be a comma-separated text or a list."""
        value = self.get_value(name)
        if isinstance(value, tuple):
            if all(isinstance(item, str) for item in value):
                return list(dict.fromkeys(str(item) for item in value if item))
            raise make_refusal(name, "its list has other elements than strings")
        return self.parse_value(name, attribute_syntax.split_file_list) or []

    def get_path(self, name: str) -> str | None:
        """Return an attribute as a path; a relative one is joined to Iwd."""
        path = self.get_text(name)
        return self.resolve_path(name, path) if path else None

    def resolve_path(self, name: str, path: str) -> str:
        """Return a path joined to Iwd if it is relative; `name` is the attribute, for the error."""
        resolved = posixpath.join(self.iwd, path) if self.iwd else path
        if len(resolved.encode()) >= _MAX_PATH_SIZE:
            raise make_refusal(name, f"a path of {len(resolved)} characters is too long")
        return resolved

    def _get_number(self, name: str) -> int | float | None:
        value = self.get_value(name)
        if value is None or value == "":
            return None
        try:
            number = float(value) if isinstance(value, str) else value
        except ValueError:
            number = None
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise make_refusal(name, f"{_format_value(value)} is not a number")
        if not 0 <= number <= _MAX_INTEGER:
            raise make_refusal(name, f"{number} is not a number from 0 to {_MAX_INTEGER}")
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
