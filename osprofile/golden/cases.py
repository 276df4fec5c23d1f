"""Reads `golden/cases.toml`, the golden cases of a profile.

The table `[context]` is the context of all cases. A case is a table `[case.NAME]` with the keys
`template`, `variation` and `application` if needed, `fields` for the request, `context` for additional
context, and `refused = true` if the request must be refused. `golden/NAME.txt` has the expected script.

`generated = true` says that the default and the hostile case of each template count without being written here.

A case with the only key `states` is a file of the folder with captured output of the batch system; its golden file
says how the profile understands it.
"""

from __future__ import annotations

import re
import tomllib
from os import path as paths
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from osprofile.errors import CasesError, OSProfileError
from osprofile.golden import files, toml
from osprofile.incarnation.field_rules import validate_text
from osprofile.source import Location, Source
from osprofile.text import quote_name, quote_value, suggest_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.golden.toml import KeyPath

CASE_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
"""A valid name of a case: also a valid file name without a path, and not that of a hidden file.

200 characters and the suffix stay below the 255 bytes that file systems allow.
"""


@final
class Case(NamedTuple):
    """One case: a request with its context, and whether it must be refused; or a file with captured output."""

    name: str
    template: str
    variation: str
    application: str | None
    fields: Mapping[str, str]
    context: Mapping[str, str]
    must_be_refused: bool
    location: Location | None
    states: str = ""
    """The file with captured output, without a folder."""


@final
class CaseSuite(NamedTuple):
    """The cases of a profile by name, and their common context.

    `folder` contains the golden files; `source` is the file with the cases, or None if there is none yet. If it
    `has_generated`, `generator.add_generated_cases` adds these.
    """

    folder: str
    cases: Mapping[str, Case]
    context: Mapping[str, str]
    source: Source | None = None
    has_generated: bool = False

    @property
    def cases_path(self) -> str:
        """The path of the file with the cases."""
        return paths.join(self.folder, files.CASES_FILE)

    def get_golden_path(self, name: str) -> str:
        """Return the path of a case's golden file."""
        return paths.join(self.folder, name + files.GOLDEN_SUFFIX)


def load_cases(profile: str, *, allow_missing: bool = False) -> CaseSuite:
    """Return the cases in a profile's folder; there are none if it has no folder `golden`.

    A folder `golden` without cases is an error, unless `allow_missing` is set because some are to be
    added. Raises `CasesError` with all errors of the file.
    """
    folder = files.locate_folder(profile)
    file = paths.join(folder, files.CASES_FILE)
    data = files.read_file(file)
    if data is not None:
        return parse_cases(file, data, allow_missing=allow_missing)
    if paths.isdir(folder) and not allow_missing:
        raise files.make_error(f"there is no file {file}", _ADD_HINT)
    return CaseSuite(folder, {}, {})


_ADD_HINT: Final = "incarnate check --add adds cases to it"


def parse_cases(file: str, data: bytes, *, allow_missing: bool = False) -> CaseSuite:
    """Return the cases of a file's content; see `load_cases`."""
    source = Source(file, data)
    reader = _CaseReader(source, _decode_toml(source))
    cases = reader.read_cases()
    has_generated = reader.tables.get("generated", False)
    if not cases and not has_generated and not reader.errors and not allow_missing:
        raise files.make_error(f"{file} has no cases", _ADD_HINT)
    if reader.errors:
        raise CasesError(sorted(reader.errors, key=lambda e: e.location.offset if e.location else 0))
    return CaseSuite(paths.dirname(file), cases, reader.context, source, has_generated)


_ERROR_POSITION: Final = re.compile(r" \((?:at line (\d+), column (\d+)|at end of document)\)\Z")


def _decode_toml(source: Source) -> dict[str, Any]:
    """Return the parsed TOML document; raise `CasesError` at the location of a syntax error."""
    try:
        return tomllib.loads(source.data.decode("utf-8"))
    except UnicodeDecodeError as error:
        hint = "save the file as UTF-8"
        raise files.make_error("the file is not UTF-8", hint, Location(source, error.start)) from None
    except RecursionError:
        raise files.make_error("the values are nested too deeply", location=Location(source, 0)) from None
    except ValueError as error:
        hint = "the file must be TOML 1.0"
        if source.data.startswith(b"\xef\xbb\xbf"):
            hint = "save it without a byte order mark"
        message = f"invalid TOML: {_ERROR_POSITION.sub('', str(error))}"
        location = _locate_toml_error(source, str(error))
        raise files.make_error(message, hint, location) from None


def _locate_toml_error(source: Source, message: str) -> Location:
    """Return the location in a message of tomllib: before Python 3.14, the error has no attributes for it."""
    match = _ERROR_POSITION.search(message)
    if match is None:
        return Location(source, 0)
    if not match[1]:
        return Location(source, len(source.data))
    lines = source.data.split(b"\n")
    line_number, column = int(match[1]), int(match[2])
    line_prefix = lines[line_number - 1].decode()[: column - 1].encode()
    return Location(source, sum(len(line) + 1 for line in lines[: line_number - 1]) + len(line_prefix))


_TYPE_NAMES: Final[dict[type, str]] = {str: "a string", dict: "a table", bool: "true or false"}
_CASE_KEYS: Final[dict[str, type]] = {
    "template": str,
    "variation": str,
    "application": str,
    "fields": dict,
    "context": dict,
    "refused": bool,
    "states": str,
}
_TOP_KEYS: Final[dict[str, type]] = {"generated": bool, "context": dict, "case": dict}


class _CaseReader:
    """Converts a TOML document to cases, and collects all errors."""

    def __init__(self, source: Source, document: dict[str, Any]) -> None:
        self.source = source
        self.text = source.data.decode("utf-8")
        self.key_offsets = toml.locate_keys(self.text)
        self.errors: list[OSProfileError] = []
        self.tables = self.filter_keys(document, _TOP_KEYS, ())
        self.context = self.read_strings(self.tables.get("context", {}), ("context",))

    def read_cases(self) -> dict[str, Case]:
        cases: dict[str, Case] = {}
        by_folded_name = dict[str, str]()
        for name, content in self.tables.get("case", {}).items():
            path = ("case", name)
            if not CASE_NAME.fullmatch(name):
                hint = (
                    "it names a file: use a letter, digit or _, then letters, digits, _ . -; "
                    "at most 200 characters"
                )
                self.add_error(f"the name {quote_value(name)} is not allowed", path, hint)
            elif self.check_type(dict, content, path):
                first_name = by_folded_name.setdefault(name.casefold(), name)
                if first_name != name:
                    message = f"the names {first_name} and {name} differ only in upper and lower case"
                    self.add_error(message, path, "on some file systems they are the same file")
                cases[name] = self.read_case(name, content, path)
        return cases

    def read_case(self, name: str, content: dict[str, Any], path: KeyPath) -> Case:
        get = self.filter_keys(content, _CASE_KEYS, path).get
        states = get("states", "")
        if "template" not in content and not states:
            hint = 'add a template, as in template = "START"'
            self.add_error(f"case {name} has no template", path, hint)
        if states and len(content) > 1:
            self.add_error(f"case {name} has states and other keys", path, "captured output has no request")
        elif states and (not CASE_NAME.fullmatch(states) or states.endswith(files.GOLDEN_SUFFIX)):
            hint = f"it is a file beside {files.CASES_FILE}, and not a golden file: as in squeue.out"
            self.add_error(f"states: the name {quote_value(states)} is not allowed", (*path, "states"), hint)
        return Case(
            name=name,
            template=get("template", ""),
            variation=get("variation", ""),
            application=get("application"),
            fields=self.read_strings(get("fields", {}), (*path, "fields")),
            context=self.context | self.read_strings(get("context", {}), (*path, "context")),
            must_be_refused=get("refused", False),
            location=self.locate_key(path),
            states=states,
        )

    def filter_keys(
        self, content: dict[str, Any], allowed: Mapping[str, type], path: KeyPath
    ) -> dict[str, Any]:
        """Return the entries with a known key and a value of its type; report the others."""
        valid = {}
        for name, value in content.items():
            if name not in allowed:
                self.report_unknown_key(name, value, allowed, path)
            elif self.check_type(allowed[name], value, (*path, name)):
                valid[name] = value
        return valid

    def report_unknown_key(
        self, name: str, value: object, allowed: Mapping[str, type], path: KeyPath
    ) -> None:
        hint = suggest_names(name, allowed)
        is_case = isinstance(value, dict) and "template" in value
        if is_case and path:
            full_name = ".".join((*path[1:], name))
            hint = f"quote a case's name with a dot: [{toml.format_key('case', full_name)}]"
        elif is_case:
            hint = f"write [{toml.format_key('case', name)}]"
        self.add_error(f"unknown key {quote_name(name)}", (*path, name), hint)

    def read_strings(self, content: dict[str, Any], path: KeyPath) -> dict[str, str]:
        """Return a table of strings; report other values, and characters not allowed in a script."""
        strings = {}
        for name, value in content.items():
            if self.check_type(str, value, (*path, name)):
                try:
                    validate_text(name, value)
                except OSProfileError as error:
                    self.add_error(error.message, (*path, name), "remove it")
                strings[name] = value
        return strings

    def check_type(self, expected: type, value: object, path: KeyPath) -> bool:
        """Return whether a value has a type; report it if it does not."""
        if isinstance(value, expected):
            return True
        key = toml.format_key(*(path[2:] or path if path[0] == "case" else path))
        hint = f'write {key} = "{value}"' if expected is str and _is_short_number(value) else ""
        self.add_error(f"{quote_name(key)} is not {_TYPE_NAMES[expected]}", path, hint)
        return False

    def locate_key(self, path: KeyPath) -> Location:
        offset = toml.find_nearest_offset(self.key_offsets, path)
        return Location(self.source, len(self.text[:offset].encode()))

    def add_error(self, message: str, path: KeyPath, hint: str) -> None:
        self.errors.append(OSProfileError(message, location=self.locate_key(path), hint=hint))


def _is_short_number(value: object) -> bool:
    """Return whether a value is a number that is short enough for a hint."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**18
