"""Numbers in what clients send."""

from __future__ import annotations


def parse_digits(text: str, max_length: int) -> int | None:
    """Return the number of a text of 1 to `max_length` ASCII digits; None for any other text.

    The limit keeps `int` from the quadratic time that it takes for long texts.
    """
    is_number = text.isascii() and text.isdigit() and len(text) <= max_length
    return int(text) if is_number else None
