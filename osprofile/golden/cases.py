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

from osprofile.errors import CasesError, OSProfileError, nearest, shown, told
from osprofile.golden import files, toml
from osprofile.incarnation.fields import carriable
from osprofile.source import Place, Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.golden.toml import Path

NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
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
    refused: bool
    place: Place | None


@final
class Cases(NamedTuple):
    """The cases of a profile, by name, and the context that all of them have.

    `folder` is where their golden files lie; `source` is what they were read from, None where there
    is no such file yet.
    """

    folder: str
    cases: Mapping[str, Case]
    context: Mapping[str, str]
    source: Source | None = None

    @property
    def file(self) -> str:
        """The path of the file that has the cases."""
        return paths.join(self.folder, files.CASES)

    def golden(self, name: str) -> str:
        """Give the path of a case's golden file."""
        return paths.join(self.folder, name + files.SUFFIX)


def load(profile: str, *, may_lack: bool = False) -> Cases:
    """Give the cases that lie in a profile's folder; none where it has no folder `golden`.

    A folder without cases is wrong too, unless it `may_lack` them, since some are to be added.
    Raises `CasesError` with everything that is wrong.
    """
    folder = files.folder_of(profile)
    file = paths.join(folder, files.CASES)
    data = files.read(file)
    if data is not None:
        return parse(file, data, may_lack=may_lack)
    if paths.isdir(folder) and not may_lack:
        raise CasesError([OSProfileError(f"there is no file {file}", hint=_ADD)])
    return Cases(folder, {}, {})


_ADD: Final = "incarnate check --add writes cases to it"


def parse(file: str, data: bytes, *, may_lack: bool = False) -> Cases:
    """Give the cases of a file's content; see `load`."""
    source = Source(file, data)
    reader = _Reader(source, _read(source))
    found = reader.cases()
    if not found and not reader.errors and not may_lack:
        raise CasesError([OSProfileError(f"{file} has no case", hint=_ADD)])
    if reader.errors:
        at = {id(error): error.place.offset if error.place else 0 for error in reader.errors}
        raise CasesError(sorted(reader.errors, key=lambda e: at[id(e)]))
    return Cases(paths.dirname(file), found, reader.context, source)


_POSITION: Final = re.compile(r" \((?:at line (\d+), column (\d+)|at end of document)\)\Z")


def _read(source: Source) -> dict[str, Any]:
    """Give what tomllib makes of it, or raise what it says, at the place that it tells."""
    try:
        return tomllib.loads(source.data.decode("utf-8"))
    except UnicodeDecodeError as error:
        hint = "save the file as UTF-8"
        raise _error("this is not UTF-8", Place(source, error.start), hint) from None
    except RecursionError:
        raise _error("the values are nested too deeply", Place(source, 0)) from None
    except ValueError as error:
        hint = "the file is TOML 1.0"
        if source.data.startswith(b"\xef\xbb\xbf"):
            hint = "save it without a byte order mark"
        message = f"not TOML: {_POSITION.sub('', str(error))}"
        raise _error(message, _place_told(source, str(error)), hint) from None


def _place_told(source: Source, message: str) -> Place:
    """Give the place that tomllib tells in a message: it has it nowhere else before 3.14."""
    found = _POSITION.search(message)
    if found is None:
        return Place(source, 0)
    if not found[1]:
        return Place(source, len(source.data))
    lines = source.data.split(b"\n")
    number, column = int(found[1]), int(found[2])
    before = lines[number - 1].decode()[: column - 1].encode()
    return Place(source, sum(len(line) + 1 for line in lines[: number - 1]) + len(before))


def _error(message: str, place: Place, hint: str = "") -> CasesError:
    return CasesError([OSProfileError(message, place=place, hint=hint)])


_TYPES: Final[dict[type, str]] = {str: "a string", dict: "a table", bool: "true or false"}
_KEYS: Final[dict[str, type]] = {
    "template": str,
    "variation": str,
    "application": str,
    "fields": dict,
    "context": dict,
    "refused": bool,
}
_TOP: Final[dict[str, type]] = {"context": dict, "case": dict}


class _Reader:
    """Makes cases of what tomllib gives, and collects what is wrong."""

    def __init__(self, source: Source, document: dict[str, Any]) -> None:
        self.source = source
        self.text = source.data.decode("utf-8")
        self.places = toml.places(self.text)
        self.errors: list[OSProfileError] = []
        self.top = self.known_keys(document, _TOP, ())
        self.context = self.values(self.top.get("context", {}), ("context",))

    def cases(self) -> dict[str, Case]:
        found: dict[str, Case] = {}
        folded = dict[str, str]()
        for name, content in self.top.get("case", {}).items():
            path = ("case", name)
            if not NAME.fullmatch(name):
                hint = "a letter, digit or _, then letters, digits, _ . -; at most 200: it names a file"
                self.report(f"the name {shown(name)} is not allowed", path, hint)
            elif self.is_a(dict, content, path):
                other = folded.setdefault(name.casefold(), name)
                if other != name:
                    message = f"the names {other} and {name} differ in upper and lower case alone"
                    self.report(message, path, "some file systems take them for the same file")
                found[name] = self.case(name, content, path)
        return found

    def case(self, name: str, content: dict[str, Any], path: Path) -> Case:
        get = self.known_keys(content, _KEYS, path).get
        if "template" not in content:
            hint = 'say which template it asks for, as in template = "START"'
            self.report(f"case {name} has no template", path, hint)
        return Case(
            name=name,
            template=get("template", ""),
            variation=get("variation", ""),
            application=get("application"),
            fields=self.values(get("fields", {}), (*path, "fields")),
            context=self.context | self.values(get("context", {}), (*path, "context")),
            refused=get("refused", False),
            place=self.place(path),
        )

    def known_keys(
        self, content: dict[str, Any], known: Mapping[str, type], path: Path
    ) -> dict[str, Any]:
        """Give what is known and of its type; report the rest."""
        found = {}
        for name, value in content.items():
            if name not in known:
                self.unknown(name, value, known, path)
            elif self.is_a(known[name], value, (*path, name)):
                found[name] = value
        return found

    def unknown(self, name: str, value: object, known: Mapping[str, type], path: Path) -> None:
        hint = nearest(name, known)
        is_case = isinstance(value, dict) and "template" in value
        if is_case and path:
            whole = ".".join((*path[1:], name))
            hint = f"a case's name with a dot stands in quotes: [{toml.key('case', whole)}]"
        elif is_case:
            hint = f"write [{toml.key('case', name)}]"
        self.report(f"unknown key {told(name)}", (*path, name), hint)

    def values(self, content: dict[str, Any], path: Path) -> dict[str, str]:
        """Give a table of strings; report what is none, or what no script can carry."""
        found = {}
        for name, value in content.items():
            if self.is_a(str, value, (*path, name)):
                try:
                    carriable(name, value)
                except OSProfileError as error:
                    self.report(error.message, (*path, name), "leave it out")
                found[name] = value
        return found

    def is_a(self, wanted: type, value: object, path: Path) -> bool:
        """Say whether a value is of a type; report where it is not."""
        if isinstance(value, wanted):
            return True
        key = toml.key(*(path[2:] or path if path[0] == "case" else path))
        hint = f'write {key} = "{value}"' if wanted is str and _is_number(value) else ""
        self.report(f"{told(key)} is not {_TYPES[wanted]}", path, hint)
        return False

    def place(self, path: Path) -> Place:
        offset = toml.nearest_place(self.places, path)
        return Place(self.source, len(self.text[:offset].encode()))

    def report(self, message: str, path: Path, hint: str) -> None:
        self.errors.append(OSProfileError(message, place=self.place(path), hint=hint))


def _is_number(value: object) -> bool:
    """Say whether a value is a number that is not too long for a line."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**18
