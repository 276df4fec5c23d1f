"""Tables whose columns the caller chooses: `squeue -o '%.18i %j'`, `sinfo -O 'nodes:6,cpus'`. Sources: their manual pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, final

from osprofile.job_scripts.command_line import OptionValue, UsageError
from osprofile.late import NamedTuple
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from osprofile.job_scripts.command_line import CommandLine
    from osprofile.shim.facts import Style

_PIECE: Final = re.compile(r"%(\.?)([0-9]{0,3})(.?)", re.DOTALL)
_LONG_PIECE: Final = re.compile(r"([A-Za-z_-]+)(?::(\.?)([0-9]{0,3})(.*))?", re.DOTALL)
_LONG_WIDTH: Final = 20  # of a column of squeue -O without a width


@final
class Column(NamedTuple):
    """A column, with the text before and behind it; width 0: as long as its text."""

    before: str
    header: str
    value: str
    width: int = 0
    is_right: bool = False
    behind: str = ""

    def fit(self, text: str) -> str:
        """Return a cell."""
        if self.width:
            text = text[: self.width]
            text = text.rjust(self.width) if self.is_right else text.ljust(self.width)
        return f"{self.before}{text}{self.behind}"


@final
class ColumnTable:
    """The columns that a command has: a row has the name for --Format, the letter for --format, the header, and the value.

    A value is a text with facts, as of `Style.fill`; no letter is `-`.
    """

    def __init__(self, rows: str) -> None:
        lines = (row.split(maxsplit=3) for row in rows.strip().splitlines())
        self._rows = {name: (letter, *rest, "", "")[:3] for name, letter, *rest in lines}
        self._names = {letter: name for name, (letter, _, _) in self._rows.items() if letter != "-"}

    def choose(self, line: CommandLine, default: str) -> list[Column]:
        """Return the columns that --format or --Format choose. Raises `UsageError` for those that are not supported."""
        form, long_form = line.get("format"), line.get("long_format")
        if long_form is None:
            return self._parse(form or OptionValue("--format", default))
        if form is not None:
            message = f"{long_form.flag} and {form.flag} exclude each other"
            raise UsageError(message, hint="leave one of them out")
        return self._parse_long(long_form)

    def _parse(self, option: OptionValue) -> list[Column]:
        columns, end, before = [], 0, ""
        for match in _PIECE.finditer(option.text):
            dot, width, letter = match.groups()
            before += option.text[end : match.start()]
            end = match.end()
            if letter == "%":
                before += "%"
                continue
            if letter not in self._names:
                hint = f"supported are {' '.join(f'%{name}' for name in sorted(self._names))}"
                raise UsageError(f"{option.flag}: {quote_value(match[0])} is not supported", hint=hint)
            _, header, value = self._rows[self._names[letter]]
            columns.append(Column(before, header, value, int(width or 0), bool(dot)))
            before = ""
        tail = before + option.text[end:]
        return [*columns, Column(tail, "", "")] if tail else columns

    def _parse_long(self, option: OptionValue) -> list[Column]:
        columns = []
        for piece in filter(None, option.text.split(",")):
            match = _LONG_PIECE.fullmatch(piece)
            row = self._rows.get(match[1].lower()) if match else None
            if match is None or row is None:
                hint = f"supported are {', '.join(self._rows)}, as in JobID:12,State"
                raise UsageError(f"{option.flag}: {quote_value(piece)} is not supported", hint=hint)
            width = _LONG_WIDTH if match[3] is None else int(match[3] or 0)
            columns.append(Column("", row[1], row[2], width, bool(match[2]), match[4] or ""))
        return columns


def format_rows(
    columns: Iterable[Column], style: Style, rows: Iterable[object], *, has_header: bool
) -> list[str]:
    """Return the lines of a table; `rows` are the objects that have the facts."""
    columns = list(columns)
    lines = ["".join(c.fit(c.header) for c in columns)] if has_header else []
    return lines + ["".join(c.fit(style.fill(c.value, row)) for c in columns) for row in rows]
