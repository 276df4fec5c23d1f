"""BatchExtraSubmitArgs: options of the batch system's command, those that a site takes.

    { "--qos" = "QOS", "-C" = "FEATURES", "--exclusive" = "SHARED=no" }

is such a site's list: an option and the field of the profile that its value goes to, or an option without a
value, and what the field gets. So a value is checked as any other, and where it stands in a script
is the profile's business.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from osprofile.errors import quote_value

if TYPE_CHECKING:
    from collections.abc import Mapping


def parse_submit_options(text: str, accepted: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return for each option of a text, whose words are a shell's, its field and its value.

    A value stands behind `=` or a blank, or at once behind an option of one letter. ValueError
    for what is not among the accepted ones.
    """
    found = {}
    words = iter(shlex.split(text))
    for word in words:
        option, value = _split_option(word, accepted)
        field, equals, fixed = accepted[option].partition("=")
        if equals and value is not None:
            message = f"the option {option} has no value, and {quote_value(word, 40)} gives one"
            raise ValueError(message)
        if not equals and value is None and (value := next(words, None)) is None:
            message = f"the option {option} needs a value"
            raise ValueError(message)
        found[option] = (field, fixed if equals else str(value))
    return found


def _split_option(word: str, accepted: Mapping[str, str]) -> tuple[str, str | None]:
    """Return an option, and the value that stands in the same word."""
    name, equals, value = word.partition("=")
    if name in accepted:
        return name, value if equals else None
    if word[:2] in accepted:
        return word[:2], word[2:]
    message = f"{quote_value(word, 40)} is no option"
    if word.startswith("-"):
        message = f"the option {name} is not taken here"
    raise ValueError(message)
