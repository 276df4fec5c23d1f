"""Read a file with one job a line, CSV or JSON lines: `incarnate job submit --from FILE`."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
import shlex
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.cli.common import UsageError
from osprofile.cli.job.placeholders import check_columns, check_values, fill_arguments
from osprofile.cli.job.quantities import parse_amount
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE, FIELDS, JobDescription, Kind
from osprofile.late import NamedTuple
from osprofile.text import quote_name, quote_path, quote_value, suggest_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

STANDARD_INPUT: Final = "standard input"
"""How messages name the file `-`."""
_KEY: Final = "key"
_ENVIRONMENT: Final = "environment"
_PLACEHOLDER: Final = "placeholder"
_NO_PLACEHOLDERS: Final[Mapping[str, str]] = {}
_VARIABLE_PREFIX: Final = "env:"
_ATTRIBUTES: Final = FIELDS.keys() - {"fields", _ENVIRONMENT}
_FIELD_NAME: Final = re.compile(r"[A-Z][A-Z0-9_:.]*\Z")
_KNOWN_COLUMNS: Final = (
    "known are the attributes of a job, such as name, arguments and walltime; key; env:NAME; "
    "the profile's fields in capitals"
)
_DEFAULTS: Final = JobDescription()


@final
class LineError(NamedTuple):
    """What is wrong with a line of a file."""

    line: int
    message: str
    hint: str = ""


@final
class JobFileError(UsageError):
    """A file that is malformed; `errors` has what is wrong, in the order of the lines."""

    def __init__(self, errors: Sequence[LineError]) -> None:
        super().__init__(errors[0].message, hint=errors[0].hint)
        self.errors = list(errors)


@final
@dataclasses.dataclass(slots=True)
class JobLine:
    """What a line of a file gives for its job: values of attributes, fields of the profile, variables, and a key.

    `columns` has the name of the column, or key of the JSON object, for each field that has a value. `placeholders` has
    the values of the columns that placeholders name.
    """

    number: int
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
    fields: dict[str, str] = dataclasses.field(default_factory=dict)
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    key: str | None = None
    columns: dict[str, str] = dataclasses.field(default_factory=dict)
    placeholders: dict[str, str] = dataclasses.field(default_factory=dict)

    def apply_to(self, base: JobDescription) -> JobDescription:
        """Return the job's description: that of all jobs, with this line's values in place of its own.

        Arguments come behind those of all jobs, whose placeholders are filled in; variables are added to theirs.
        """
        # A value replaces that of all jobs, whether it came from an option or from --set.
        changes: dict[str, Any] = {
            attribute: getattr(_DEFAULTS, attribute)
            for attribute, field in FIELDS.items()
            if field.name in self.fields
        }
        environment = changes.get(_ENVIRONMENT, base.environment)
        changes |= self.attributes
        if "ARGUMENTS" not in self.fields:
            filled = fill_arguments(base.arguments, self.placeholders)
            changes["arguments"] = [*filled, *self.attributes.get("arguments", ())]
        changes[_ENVIRONMENT] = {**environment, **self.environment}
        changes["fields"] = {n: v for n, v in base.fields.items() if n not in self.columns} | self.fields
        return dataclasses.replace(base, **changes)


def read_job_file(path: str, placeholders: Mapping[str, str] = _NO_PLACEHOLDERS) -> list[JobLine]:
    """Return the jobs of a file, at least one; `-` is standard input. `placeholders`: see `list_placeholders`.

    Raises `JobFileError` for a malformed file, and `UsageError` for one that cannot be read.
    """
    is_json: bool | None = None
    if path != "-":
        is_json = {".csv": False, ".jsonl": True}.get(path[path.rfind(".") :].lower())
        if is_json is None:
            hint = "rename the file, or give - and let standard input read it: --from - < FILE"
            raise UsageError(f"--from {quote_path(path)} is neither a .csv nor a .jsonl file", hint=hint)
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                data = file.read()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        hint = "give the path of a file that you can read"
        raise UsageError(f"--from {quote_path(path)}: {reason}", hint=hint) from None
    return parse_jobs(data, is_json=is_json, placeholders=placeholders)


def parse_jobs(
    data: bytes, *, is_json: bool | None = None, placeholders: Mapping[str, str] = _NO_PLACEHOLDERS
) -> list[JobLine]:
    """Return the jobs of a file's content, at least one. Raises `JobFileError`.

    With `is_json` None, it is JSON lines if the first character that is no blank is a `{`, else CSV.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise JobFileError([LineError(line, "this is not UTF-8", "save the file as UTF-8")]) from None
    if is_json is None:
        is_json = text.lstrip()[:1] == "{"
    reader = _Reader(placeholders)
    if is_json:
        reader.read_json_lines(text)
    else:
        reader.read_csv(text)
    if reader.errors:
        raise JobFileError(sorted(reader.errors))
    return reader.lines


@final
class _Number(str):
    """A number of a JSON text, as it is written there: 1.50 is not 1.5."""

    __slots__ = ()


@final
class _Column(NamedTuple):
    """What a column is for: sets `name`, of the attributes, fields or variables, or the key; `text` is its own name."""

    text: str
    kind: str
    name: str

    @property
    def target(self) -> tuple[str, str]:
        """What two columns may not set both: a field, a variable or the key."""
        if self.kind == "attribute":
            return "field", FIELD_BY_ATTRIBUTE.get(self.name, self.name)
        return self.kind, self.name


@final
class _Reader:
    """Collects the jobs of a file, and what is wrong in it."""

    def __init__(self, placeholders: Mapping[str, str]) -> None:
        self._placeholders = placeholders
        self.lines: list[JobLine] = []
        self.errors: list[LineError] = []
        self._known: dict[tuple[str, str], int] = {}
        """The lines of keys and working directories."""

    def read_csv(self, text: str) -> None:
        # The limit of the module is for all readers of the process, and smaller than a long list of arguments.
        old_limit = csv.field_size_limit(max(len(text), 1))
        try:
            self._read_rows(text)
        finally:
            csv.field_size_limit(old_limit)

    def _read_rows(self, text: str) -> None:
        columns: list[_Column] | None = None
        number = 1
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        while True:
            number = reader.line_num + 1
            try:
                row = next(reader, None)
            except csv.Error as error:
                hint = (
                    'a cell with quotes, commas or line ends stands in "...", with each quote in it doubled'
                )
                self.errors.append(LineError(number, f"malformed CSV: {error}", hint))
                return
            if row is None:
                break
            if not row:
                continue
            if columns is None:
                columns = self._read_header(number, row)
                if columns is None:
                    return
            elif len(row) != len(columns):
                message = f"{len(row)} cells, but the first row names {len(columns)} columns"
                hint = 'a cell with a comma stands in quotes: "a,b"'
                if len(row) < len(columns):
                    hint = "write the commas of empty cells, too; if this is the last line, the file may be not complete"
                self.errors.append(LineError(number, message, hint))
            else:
                self._add_line(number, ((c, cell) for c, cell in zip(columns, row, strict=True) if cell))
        if not self.lines and not self.errors:
            what = "the names of the columns" if columns is None else "a row for each job"
            self.errors.append(LineError(number, "there is no job", f"write {what}, as in: name,arguments"))

    def _read_header(self, number: int, row: Sequence[str]) -> list[_Column] | None:
        columns: list[_Column] = []
        with self._collect_error(number):
            check_columns(self._placeholders, map(str.strip, row))
        if self.errors:  # what a misspelled placeholder leaves unused is no error of its own
            return None
        for position, cell in enumerate(row, 1):
            if not cell.strip():
                hint = "name it, or delete the comma"
                self.errors.append(LineError(number, f"column {position} has no name", hint))
                continue
            with self._collect_error(number):
                columns.append(self._parse_column(cell.strip()))
        with self._collect_error(number):
            _check_columns(columns)
        return None if self.errors else columns

    def read_json_lines(self, text: str) -> None:
        number = 0
        for number, content in enumerate(text.split("\n"), 1):
            if not content.strip(" \t\r"):
                continue
            with self._collect_error(number):
                pairs = _parse_object(content)
                check_columns(self._placeholders, pairs, "name")
                columns = [self._parse_column(name, in_json=True) for name in pairs]
                values = zip(columns, pairs.values(), strict=True)
                given = [(c, v) for c, value in values if value is not None for c, v in _unfold(c, value)]
                _check_columns([column for column, _ in given])
                self._add_line(number, given)
        if not self.lines and not self.errors:
            message, hint = (
                "there is no job",
                'write an object for each job, as in: {"arguments": ["-n", "3"]}',
            )
            self.errors.append(LineError(max(number, 1), message, hint))

    def _add_line(self, number: int, values: Iterator[tuple[_Column, object]] | Sequence[Any]) -> None:
        line, old_count = JobLine(number), len(self.errors)
        for column, value in values:
            with self._collect_error(number):
                _set_value(line, column, value)
                if column.text in self._placeholders:
                    line.placeholders[column.text] = _parse_plain(column.text, value)
        if len(self.errors) == old_count:
            with self._collect_error(number):
                check_values(self._placeholders, line.placeholders)
        for what, text in ((_KEY, line.key), ("working_directory", line.attributes.get("working_directory"))):
            if text is not None and self._known.setdefault((what, text), number) != number:
                message = f"{what} {quote_value(text)} is also that of line {self._known[what, text]}"
                self.errors.append(LineError(number, message, "give each job its own, or leave it out"))
        self.lines.append(line)

    def _parse_column(self, text: str, *, in_json: bool = False) -> _Column:
        """Return what a column is for: that of a placeholder alone need not mean anything else."""
        try:
            return _parse_column(text, in_json=in_json)
        except UsageError:
            if text not in self._placeholders:
                raise
            return _Column(text, _PLACEHOLDER, text)

    def _collect_error(self, number: int) -> _ErrorCollector:
        return _ErrorCollector(self.errors, number)


@final
class _ErrorCollector:
    """A context that adds a `UsageError` to the errors of a file, and goes on behind the block."""

    def __init__(self, errors: list[LineError], number: int) -> None:
        self._errors, self._number = errors, number

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if not isinstance(error, UsageError):
            return False
        self._errors.append(LineError(self._number, error.message, error.hint))
        return True


def _parse_column(text: str, *, in_json: bool = False) -> _Column:
    """Return what the name of a column, or of a member of a JSON object, means; raise `UsageError` for any other."""
    _check_text("a name", text)
    if text.startswith(_VARIABLE_PREFIX):
        return _Column(text, "variable", text.removeprefix(_VARIABLE_PREFIX))
    name = text.replace("-", "_")
    if name in _ATTRIBUTES:
        return _Column(text, "attribute", name)
    if name == _KEY:
        return _Column(text, _KEY, _KEY)
    if name == _ENVIRONMENT and in_json:
        return _Column(text, _ENVIRONMENT, _ENVIRONMENT)
    if _FIELD_NAME.match(text):
        return _Column(text, "field", text)
    what = "name" if in_json else "column"
    if name == _ENVIRONMENT:
        hint = "give each variable a column of its own, as in env:LANG"
    elif not in_json and any(separator in text for separator in ";\t|"):
        hint = "commas separate the columns"
    elif not in_json and text[:1] in "{[":
        hint = "for JSON lines, give the file a name that ends in .jsonl"
    else:
        similar = suggest_names(name, [*_ATTRIBUTES, _KEY])
        hint = f"{similar} {_KNOWN_COLUMNS}" if similar.startswith("did you mean") else _KNOWN_COLUMNS
    raise UsageError(f"{what} {quote_name(text)} is not known", hint=hint)


def _check_columns(columns: Sequence[_Column]) -> None:
    """Raise `UsageError` if two columns set the same."""
    seen: dict[tuple[str, str], _Column] = {}
    for column in columns:
        other = seen.setdefault(column.target, column)
        if other is not column:
            also = "" if other.text == column.text else f", also as {quote_name(other.text)}"
            raise UsageError(f"{quote_name(column.text)} is given twice{also}", hint="leave one of them out")


def _parse_object(text: str) -> dict[str, object]:
    """Return the members of a JSON object; raise `UsageError` for anything else."""

    def reject_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
        members: dict[str, object] = {}
        for name, value in pairs:
            if name in members:
                raise UsageError(f"{quote_name(name)} is given twice", hint="leave one of them out")
            members[name] = value
        return members

    def reject_constant(word: str) -> object:
        raise UsageError(f"invalid JSON: {word} is not a number", hint="give a number, or null")

    hint = 'each line is one object, as in {"name": "first", "arguments": ["-n", "3"]}'
    try:
        value = json.loads(
            text,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=reject_constant,
            object_pairs_hook=reject_duplicates,
        )
    except json.JSONDecodeError as error:
        raise UsageError(f"invalid JSON in column {error.colno}: {error.msg}", hint=hint) from None
    except RecursionError:
        raise UsageError("invalid JSON: too deeply nested", hint=hint) from None
    if not isinstance(value, dict):
        raise UsageError("this is not a JSON object", hint=hint)
    return value


def _unfold(column: _Column, value: object) -> Iterator[tuple[_Column, object]]:
    """Yield a member of a JSON object, and those of the object `environment` as variables."""
    if column.kind != _ENVIRONMENT:
        yield column, value
        return
    if not isinstance(value, dict):
        message = f"{column.text}: {_describe(value)} is not an object"
        raise UsageError(message, hint='as in {"LANG": "C"}')
    for name, text in value.items():
        if text is not None:
            yield _Column(f"{column.text} {quote_name(name)}", "variable", name), text


def _set_value(line: JobLine, column: _Column, value: object) -> None:
    if column.kind == "attribute":
        line.attributes[column.name] = _PARSERS[FIELDS[column.name].kind](column.text, value)
        if name := FIELDS[column.name].name:
            line.columns.setdefault(name, column.text)
    elif column.kind == "field":
        line.fields[column.name] = _parse_plain(column.text, value)
        line.columns[column.name] = column.text
    elif column.kind == "variable":
        _check_text(column.text, column.name)
        line.environment[column.name] = _parse_plain(column.text, value)
        line.columns.setdefault(FIELD_BY_ATTRIBUTE[_ENVIRONMENT], column.text)
    elif column.kind == _KEY:
        line.key = _parse_text(column.text, value) or None


def _check_text(column: str, text: str) -> str:
    if "\0" in text:
        message = f"{quote_name(column)}: {quote_value(text)} has a NUL character"
        raise UsageError(message, hint="no program can get it: leave it out")
    try:
        text.encode()
    except UnicodeEncodeError:
        message = f"{quote_name(column)}: {quote_value(text)} has half a surrogate pair"
        raise UsageError(message, hint="write the character itself, as UTF-8") from None
    return text


def _describe(value: object) -> str:
    if isinstance(value, str):
        return f"the number {quote_value(value)}" if isinstance(value, _Number) else quote_value(value)
    words = {bool: json.dumps(value) if isinstance(value, bool) else "", list: "a list", dict: "an object"}
    return words.get(type(value), "null")


def _parse_plain(column: str, value: object) -> str:
    """Return a text, or a number as it is written."""
    if not isinstance(value, str):
        message = f"{quote_name(column)}: {_describe(value)} is neither a string nor a number"
        raise UsageError(message, hint='write it as a string: "..."')
    return str(_check_text(column, value))


def _parse_text(column: str, value: object) -> str:
    if not isinstance(value, str) or isinstance(value, _Number):
        message = f"{quote_name(column)}: {_describe(value)} is not a string"
        raise UsageError(message, hint='write it as a string: "..."')
    return _check_text(column, value)


def _parse_words(column: str, value: object) -> list[str]:
    """Return the strings of a list, or the words of a text, split as a shell does."""
    if isinstance(value, list):
        return [_parse_text(column, word) for word in value]
    if not isinstance(value, str) or isinstance(value, _Number):
        message = f"{quote_name(column)}: {_describe(value)} is neither a list of strings nor a string"
        raise UsageError(message, hint='as in ["-n", "3"]')
    try:
        return shlex.split(_check_text(column, value))
    except ValueError as error:
        message = f"{quote_name(column)}: {quote_value(value)}: {str(error).lower()}"
        hint = 'these are words as for a shell: quote \' " and \\, as in "it\'s"'
        raise UsageError(message, hint=hint) from None


def _parse_retries(column: str, value: object) -> object:
    """Return rules as `JobDescription.retry` takes them: a text, a list, or an object."""
    if isinstance(value, dict):
        return {name: _parse_plain(column, rest) for name, rest in value.items()}
    return _parse_words(column, value) if isinstance(value, list) else _parse_text(column, value)


def _parse_switch(column: str, value: object) -> bool:
    words = {"true": True, "false": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise UsageError(f"{quote_name(column)}: {_describe(value)} is neither true nor false", hint="as in true")


def _parse_amount(kind: Kind, column: str, value: object) -> int | str | None:
    """Return a number of JSON, or a text, as the option of the command line takes it."""
    return parse_amount(kind, column, _parse_plain(column, value))


_PARSERS: Final[Mapping[Kind, Callable[[str, object], object]]] = {
    Kind.TEXT: _parse_text,
    Kind.SIGNAL: _parse_text,
    Kind.SWITCH: _parse_switch,
    Kind.WORDS: _parse_words,
    Kind.RULES: _parse_retries,
    Kind.JOBS: _parse_words,
    **{k: partial(_parse_amount, k) for k in (Kind.COUNT, Kind.INTEGER, Kind.DURATION, Kind.MEMORY)},
}
