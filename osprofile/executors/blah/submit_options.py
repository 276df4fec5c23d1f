"""BatchExtraSubmitArgs: the options of the batch system's submit command that a site accepts.

    { "--qos" = "QOS", "-C" = "FEATURES", "--exclusive" = "SHARED=no" }

is an example of a site's setting. An option maps to the field of the profile that gets its value,
an option without a value to FIELD=VALUE. So a value is checked like that of any other field, and
the profile decides where it stands in a script.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Mapping


def parse_submit_options(text: str, accepted: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the field and the value of each option in a text, which is split as by a shell.

    A value follows `=` or a blank, or directly an option of one letter. Raises ValueError for an
    option that is not accepted, and for a missing or superfluous value.
    """
    options = {}
    words = iter(shlex.split(text))
    for word in words:
        option, value = _split_option(word, accepted)
        field, equals, fixed_value = accepted[option].partition("=")
        if equals and value is not None:
            message = f"the option {option} takes no value, but {quote_value(word, 40)} has one"
            raise ValueError(message)
        if not equals and value is None and (value := next(words, None)) is None:
            message = f"the option {option} needs a value"
            raise ValueError(message)
        options[option] = (field, fixed_value if equals else str(value))
    return options


def _split_option(word: str, accepted: Mapping[str, str]) -> tuple[str, str | None]:
    """Return an option, and the value in the same word (None: there is none)."""
    name, equals, value = word.partition("=")
    if name in accepted:
        return name, value if equals else None
    if word[:2] in accepted:
        return word[:2], word[2:]
    message = f"{quote_value(word, 40)} is not an option"
    if word.startswith("-"):
        message = f"the option {name} is not accepted here"
    raise ValueError(message)
