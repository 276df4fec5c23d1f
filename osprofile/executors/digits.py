"""The parser of numbers that clients send."""

from __future__ import annotations


def parse_digits(text: str, max_length: int) -> int | None:
    """Return a number of 1 to `max_length` ASCII digits; None for any other text.

    The limit is needed because `int` takes quadratic time, and raises ValueError above 4300 digits.
    """
    is_number = text.isascii() and text.isdigit() and len(text) <= max_length
    return int(text) if is_number else None
