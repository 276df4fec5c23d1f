"""The texts of all parts: names and values in messages, words of a shell, durations and sizes.

Durations are in seconds, amounts of memory in MiB, unless a function says otherwise.
"""

from __future__ import annotations

# Type checkers take it for True. Whatever starts fast imports this module: it imports the others where it needs them.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Final

_SURROGATE: Final = r"(?<!\\)((?:\\\\)*)\\udc([89a-f][0-9a-f])"
"""In a text of repr(), where a backslash of the value is doubled."""
DURATION_HINT: Final = "use seconds, or 90m, 1h30m, 2d, 01:30:00 (hours, minutes, seconds), 2-12:00:00"
MEMORY_HINT: Final = "as in 4G, 512M, or 4096, which is MiB; the units are K, M, G and T"
# The numbers of digits are limited: int() raises ValueError for more than 4300.
_WHOLE_NUMBER: Final = r"[0-9]{1,12}\Z"
_UNIT_DURATION: Final = (
    r"(?=[0-9])(?:([0-9]{1,6})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,12})s)?\Z"
)
_CLOCK_DURATION: Final = r"(?:([0-9]{1,6})-)?([0-9]{1,9}):([0-5][0-9]):([0-5][0-9])\Z"
_MEMORY: Final = r"(?ai)([0-9]{1,12})(?:([kmgt])(?:i?b)?)?\Z"
_KIBIBYTES: Final = {"k": 1, "m": 1 << 10, "g": 1 << 20, "t": 1 << 30}
_TIME_UNITS: Final = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
_MEMORY_UNITS: Final = ((1024 * 1024, "TiB"), (1024, "GiB"), (1, "MiB"))
_SIZE_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB")


# Messages


def replace_unprintable(text: str, keep: str = "") -> str:
    """Return `text` with U+FFFD for each unprintable character that is not in `keep`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else "\ufffd" for c in text)


def escape_unprintable(text: str, keep: str = "") -> str:
    """Return `text` with a Python escape for each unprintable character that is not in `keep`."""
    return "".join(c if c.isprintable() or c in keep else repr(c)[1:-1] for c in text)


def quote_value(value: str, max_length: int = 80) -> str:
    r"""Return a value quoted for a message: on one line, escaped, and truncated if it is long.

    A byte that is not UTF-8, which Python keeps as a surrogate, is written as `\xf6`.
    """
    quoted = repr(value[:max_length])
    if "\\udc" in quoted:
        import re

        quoted = re.sub(_SURROGATE, r"\1\\x\2", quoted)
    return quoted if len(value) <= max_length else f"{quoted}... ({len(value)} characters)"


def quote_path(path: str) -> str:
    """Return the path of a file quoted for a message: whole, since the reader must find the file."""
    return quote_value(path, max_length=4096)  # PATH_MAX


def quote_name(name: str) -> str:
    """Return a name for a message: as it is if it is printable and has no blanks, else quoted."""
    return name if name.isprintable() and " " not in name and 0 < len(name) <= 80 else quote_value(name)


def pluralize(number: int, word: str) -> str:
    """Return a number with a noun: `1 line`, `2 lines`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def suggest_names(name: str, candidates: Iterable[str]) -> str:
    """Return a hint with the candidates similar to `name`, or with all (up to 30) if none is similar.

    Return the empty string if there are no candidates.
    """
    from difflib import get_close_matches  # late: needed only for errors, and slow to import

    names = sorted(set(candidates))
    name_by_casefold = {n.casefold(): n for n in names}
    close_matches = get_close_matches(name.casefold(), name_by_casefold, n=3, cutoff=0.6)
    if close_matches:
        return f"did you mean {_join_with_or([name_by_casefold[c] for c in close_matches])}?"
    if len(names) > 30:
        return f"there are {len(names)}: {', '.join(names[:30])}, ..."
    return f"known: {', '.join(names)}" if names else ""


def _join_with_or(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


# Shells


def quote_shell_word(value: str) -> str:
    """Return a value quoted as one word of a POSIX shell."""
    return "'" + value.replace("'", "'\\''") + "'"


# Durations and sizes


def parse_memory(text: str) -> int | None:
    """Return an amount of memory in MiB, rounded up; None for a text that is none.

    `4096`, `4G`, `4GiB`, `512K`; a number alone is MiB.
    """
    import re

    match = re.match(_MEMORY, text)
    return -(-int(match[1]) * _KIBIBYTES[(match[2] or "m").lower()] // 1024) if match else None


def describe_number(text: str) -> str:
    """Return the hint for a text that is no number: how one is written, and which one a time or a size is."""
    if (seconds := parse_duration(text)) is not None:
        return f"a number without a unit; {text} is {seconds} seconds, as in WALLTIME"
    if (mebibytes := parse_memory(text)) is not None:
        return f"a number without a unit; {text} is {mebibytes} MiB, as in MEMORY"
    return "as in 10, -3, 1.5 or 2e6"


def parse_duration(text: str) -> int | None:
    """Return a duration in seconds; None for a text that is none.

    `600`, `1h30m`, `2d`, `01:30:00`, `2-12:00:00`. `10:00` is none: batch systems differ on whether it means
    hours or minutes.
    """
    import re

    if re.match(_WHOLE_NUMBER, text):
        return int(text)
    match = re.match(_UNIT_DURATION, text) or re.match(_CLOCK_DURATION, text)
    if match is None:
        return None
    parts = zip(match.groups(default="0"), _TIME_UNITS, strict=True)
    return sum(int(number) * seconds for number, (seconds, _) in parts)


def format_clock(seconds: float) -> str:
    """Return a duration as `HH:MM:SS`; hours have at least two digits."""
    minutes, second = divmod(max(0, int(seconds)), 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{second:02}"


def format_duration_words(seconds: int) -> str:
    """Return a time as people say it: `24 hours`, `1 hour 30 minutes`, `2 days`."""
    parts, rest = [], seconds
    for size, unit in _TIME_UNITS:
        if unit == "day" and seconds <= size:
            continue  # 24 hours, not 1 day
        number, rest = divmod(rest, size)
        if number:
            parts.append(pluralize(number, unit))
    return " ".join(parts) or "0 seconds"


def format_duration_option(seconds: int) -> str:
    """Return a duration as an option takes it: `1h30m`, `2d`, `45s`."""
    parts = []
    for size, unit in _TIME_UNITS:
        number, seconds = divmod(seconds, size)
        parts += [f"{number}{unit[0]}"] if number else []
    return "".join(parts) or "0"


def format_memory(mebibytes: int) -> str:
    """Return an amount of memory: `192 GiB`, `1.5 GiB`; `1,000 MiB` where the larger unit does not fit."""
    for size, unit in _MEMORY_UNITS:
        if mebibytes >= size and not mebibytes * 2 % size:
            return f"{mebibytes // size:,}{'.5' if mebibytes % size else ''} {unit}"
    return "0 MiB"


def format_memory_option(mebibytes: int) -> str:
    """Return an amount of memory as an option takes it: `4G`, `1536M`."""
    return f"{mebibytes // 1024}G" if mebibytes and not mebibytes % 1024 else f"{mebibytes}M"


DURATION_FIELDS: Final = frozenset({"WALLTIME", "CPUTIME"})
"""The fields whose values are seconds."""
_FORMAT_BY_FIELD: Final = {
    **dict.fromkeys(DURATION_FIELDS, format_duration_option),
    "MEMORY": format_memory_option,
}


def format_amount(field: str, value: str) -> str:
    """Return a field's value as an option takes it: `2h` for 7200 in WALLTIME, `4G` for 4096 in MEMORY, others as is."""
    import re

    convert = _FORMAT_BY_FIELD.get(field)
    return convert(int(value)) if convert is not None and re.match(_WHOLE_NUMBER, value) else value


def format_amount_words(field: str, value: str) -> str:
    """Return a field's value with its meaning, where that is easier to read: `7200 (2h)`, but `45`, `999999999`."""
    amount = format_amount(field, value)
    is_easier = amount[:-1] != value and len(amount) <= len(value) + 1
    return f"{value} ({amount})" if is_easier and amount != value else value


def format_size(size: float) -> str:
    """Return a number of bytes with the unit that fits: `1.5 GiB`."""
    for unit in _SIZE_UNITS[:-1]:
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} {_SIZE_UNITS[-1]}"


def format_signal_name(number: int) -> str:
    """Return a signal's name, as SIGKILL; SIG and its number if it has none."""
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


# Tables for people


def format_grid(grid: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, whose columns are as wide as their longest texts."""
    widths = [max(map(count_columns, column)) for column in zip(*grid, strict=True)]
    return ["  ".join(map(fit_columns, cells, widths)).rstrip() for cells in grid]


def count_columns(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def fit_columns(text: str, width: int) -> str:
    """Return a text that takes `width` columns: with blanks behind it, or cut."""
    if len(text) <= width and text.isascii():
        return text.ljust(width)
    if count_columns(text) > width:
        text = text[:width]
        while text and count_columns(text) >= width:
            text = text[:-1]
        text += "\N{HORIZONTAL ELLIPSIS}"
    return text + " " * (width - count_columns(text))
