"""`golden/cases.toml`: what the golden cases of a profile ask for.

The table `[context]` has what all cases have. A case is a table `[case.NAME]`: `template`, where
needed `variation` and `application`, the request in `fields`, more context in `context`, and
`refused = true` where the request has to be refused. `golden/NAME.txt` has what the case gives.
"""

from __future__ import annotations

import re
import tomllib
from os import path as paths
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from osprofile.errors import CasesError, OSProfileError, quote_name, quote_value, suggest_names
from osprofile.golden import files, toml
from osprofile.incarnation.field_rules import validate_text
from osprofile.source import Location, Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.golden.toml import KeyPath

CASE_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
"""What a case may be called: a file of that name lies in one folder, and is not hidden there."""


@final
class Case(NamedTuple):
    """One case: what is asked for, in full, and whether it is to be refused."""

    name: str
    template: str
    variation: str
    application: str | None
    fields: Mapping[str, str]
    context: Mapping[str, str]
    must_be_refused: bool
    location: Location | None


@final
class CaseSuite(NamedTuple):
    """The cases of a profile, by name, and the context that all of them have.

    `folder` is where their golden files lie; `source` is what they were read from, None where there
    is no such file yet.
    """

    folder: str
    cases: Mapping[str, Case]
    context: Mapping[str, str]
    source: Source | None = None

    @property
    def cases_path(self) -> str:
        """The path of the file that has the cases."""
        return paths.join(self.folder, files.CASES_FILE)

    def golden_path(self, name: str) -> str:
        """Give the path of a case's golden file."""
        return paths.join(self.folder, name + files.GOLDEN_SUFFIX)


def load_cases(profile: str, *, allow_missing: bool = False) -> CaseSuite:
    """Give the cases that lie in a profile's folder; none where it has no folder `golden_path`.

    A folder without cases is wrong too, unless it `allow_missing` them, since some are to be added.
    Raises `CasesError` with everything that is wrong.
    """
    folder = files.locate_folder(profile)
    file = paths.join(folder, files.CASES_FILE)
    data = files.read_file(file)
    if data is not None:
        return parse_cases(file, data, allow_missing=allow_missing)
    if paths.isdir(folder) and not allow_missing:
        raise CasesError([OSProfileError(f"there is no file {file}", hint=_ADD_HINT)])
    return CaseSuite(folder, {}, {})


_ADD_HINT: Final = "incarnate check --add writes cases to it"


def parse_cases(file: str, data: bytes, *, allow_missing: bool = False) -> CaseSuite:
    """Give the cases of a file's content; see `load_cases`."""
    source = Source(file, data)
    reader = _CaseReader(source, _decode_toml(source))
    found = reader.read_cases()
    if not found and not reader.errors and not allow_missing:
        raise CasesError([OSProfileError(f"{file} has no case", hint=_ADD_HINT)])
    if reader.errors:
        at = {id(error): error.location.offset if error.location else 0 for error in reader.errors}
        raise CasesError(sorted(reader.errors, key=lambda e: at[id(e)]))
    return CaseSuite(paths.dirname(file), found, reader.context, source)


_ERROR_POSITION: Final = re.compile(r" \((?:at line (\d+), column (\d+)|at end of document)\)\Z")


def _decode_toml(source: Source) -> dict[str, Any]:
    """Give what tomllib makes of it, or raise what it says, at the place that it tells."""
    try:
        return tomllib.loads(source.data.decode("utf-8"))
    except UnicodeDecodeError as error:
        hint = "save the file as UTF-8"
        raise _make_error("this is not UTF-8", Location(source, error.start), hint) from None
    except RecursionError:
        raise _make_error("the values are nested too deeply", Location(source, 0)) from None
    except ValueError as error:
        hint = "the file is TOML 1.0"
        if source.data.startswith(b"\xef\xbb\xbf"):
            hint = "save it without a byte order mark"
        message = f"not TOML: {_ERROR_POSITION.sub('', str(error))}"
        raise _make_error(message, _locate_toml_error(source, str(error)), hint) from None


def _locate_toml_error(source: Source, message: str) -> Location:
    """Give the place that tomllib tells in a message: it has it nowhere else before 3.14."""
    found = _ERROR_POSITION.search(message)
    if found is None:
        return Location(source, 0)
    if not found[1]:
        return Location(source, len(source.data))
    lines = source.data.split(b"\n")
    number, column = int(found[1]), int(found[2])
    before = lines[number - 1].decode()[: column - 1].encode()
    return Location(source, sum(len(line) + 1 for line in lines[: number - 1]) + len(before))


def _make_error(message: str, location: Location, hint: str = "") -> CasesError:
    return CasesError([OSProfileError(message, location=location, hint=hint)])


_TYPE_NAMES: Final[dict[type, str]] = {str: "a string", dict: "a table", bool: "true or false"}
_CASE_KEYS: Final[dict[str, type]] = {
    "template": str,
    "variation": str,
    "application": str,
    "fields": dict,
    "context": dict,
    "refused": bool,
}
_TOP_KEYS: Final[dict[str, type]] = {"context": dict, "case": dict}


class _CaseReader:
    """Makes cases of what tomllib gives, and collects what is wrong."""

    def __init__(self, source: Source, document: dict[str, Any]) -> None:
        self.source = source
        self.text = source.data.decode("utf-8")
        self.key_offsets = toml.locate_keys(self.text)
        self.errors: list[OSProfileError] = []
        self.tables = self.filter_keys(document, _TOP_KEYS, ())
        self.context = self.read_strings(self.tables.get("context", {}), ("context",))

    def read_cases(self) -> dict[str, Case]:
        found: dict[str, Case] = {}
        folded = dict[str, str]()
        for name, content in self.tables.get("case", {}).items():
            path = ("case", name)
            if not CASE_NAME.fullmatch(name):
                hint = "a letter, digit or _, then letters, digits, _ . -; at most 200: it names a file"
                self.add_error(f"the name {quote_value(name)} is not allowed", path, hint)
            elif self.check_type(dict, content, path):
                other = folded.setdefault(name.casefold(), name)
                if other != name:
                    message = f"the names {other} and {name} differ in upper and lower case alone"
                    self.add_error(message, path, "some file systems take them for the same file")
                found[name] = self.read_case(name, content, path)
        return found

    def read_case(self, name: str, content: dict[str, Any], path: KeyPath) -> Case:
        get = self.filter_keys(content, _CASE_KEYS, path).get
        if "template" not in content:
            hint = 'say which template it asks for, as in template = "START"'
            self.add_error(f"case {name} has no template", path, hint)
        return Case(
            name=name,
            template=get("template", ""),
            variation=get("variation", ""),
            application=get("application"),
            fields=self.read_strings(get("fields", {}), (*path, "fields")),
            context=self.context | self.read_strings(get("context", {}), (*path, "context")),
            must_be_refused=get("refused", False),
            location=self.locate_key(path),
        )

    def filter_keys(
        self, content: dict[str, Any], allowed: Mapping[str, type], path: KeyPath
    ) -> dict[str, Any]:
        """Give what is known and of its type; report the rest."""
        found = {}
        for name, value in content.items():
            if name not in allowed:
                self.report_unknown_key(name, value, allowed, path)
            elif self.check_type(allowed[name], value, (*path, name)):
                found[name] = value
        return found

    def report_unknown_key(
        self, name: str, value: object, allowed: Mapping[str, type], path: KeyPath
    ) -> None:
        hint = suggest_names(name, allowed)
        is_case = isinstance(value, dict) and "template" in value
        if is_case and path:
            whole = ".".join((*path[1:], name))
            hint = f"a case's name with a dot stands in quotes: [{toml.format_key('case', whole)}]"
        elif is_case:
            hint = f"write [{toml.format_key('case', name)}]"
        self.add_error(f"unknown key {quote_name(name)}", (*path, name), hint)

    def read_strings(self, content: dict[str, Any], path: KeyPath) -> dict[str, str]:
        """Give a table of strings; report what is none, or what no script can carry."""
        found = {}
        for name, value in content.items():
            if self.check_type(str, value, (*path, name)):
                try:
                    validate_text(name, value)
                except OSProfileError as error:
                    self.add_error(error.message, (*path, name), "leave it out")
                found[name] = value
        return found

    def check_type(self, expected: type, value: object, path: KeyPath) -> bool:
        """Say whether a value is of a type; report where it is not."""
        if isinstance(value, expected):
            return True
        key = toml.format_key(*(path[2:] or path if path[0] == "case" else path))
        hint = f'write {key} = "{value}"' if expected is str and _is_short_number(value) else ""
        self.add_error(f"{quote_name(key)} is not {_TYPE_NAMES[expected]}", path, hint)
        return False

    def locate_key(self, path: KeyPath) -> Location:
        offset = toml.nearest_offset(self.key_offsets, path)
        return Location(self.source, len(self.text[:offset].encode()))

    def add_error(self, message: str, path: KeyPath, hint: str) -> None:
        self.errors.append(OSProfileError(message, location=self.locate_key(path), hint=hint))


def _is_short_number(value: object) -> bool:
    """Say whether a value is a number that is not too long for a line."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**18
