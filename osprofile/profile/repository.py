"""Find profiles by name and resolve what they extend (OS Profile 0.3, 1).

The search path, in which the first match wins: the directories of `--profiles`, `$OSPROFILE_PATH`, the user's
configuration, `/etc/osprofile/profiles`, installed packages with an entry point of the group
`osprofile.profiles`, the bundled profiles. In a directory, the profile `pbs` is
`pbs/profile.xml` or `pbs.xml`.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from os import path as paths  # importing pathlib takes a tenth of a command's start
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import InvalidProfileError, Problem, ProfileNotFoundError
from osprofile.profile import tree
from osprofile.profile.data_directories import get_bundled_directory
from osprofile.profile.model import (
    FILE_SAFE_NAME_HINT,
    FILE_SAFE_NAME_PATTERN,
    FOR_ATTRIBUTE,
    PATTERN_FIELD_ATTRIBUTE,
    REQUIRES_ATTRIBUTE,
    USER_FIELDS,
    USER_GROUPS,
    WHEN_ATTRIBUTE,
    Document,
    Profile,
    is_removal,
)
from osprofile.profile.reader import load_document
from osprofile.text import quote_value, suggest_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from os import PathLike

    from osprofile.profile.model import Application, Field, Storage, Template

SITE_DIRECTORY: Final = "/etc/osprofile"
"""The directory of a site's configuration, for all users of a machine."""
ENTRY_POINT_GROUP: Final = "osprofile.profiles"
"""Each entry point names a package whose directory has profiles (`mine = "site_profiles"`)."""
_ENTRY_POINTS_FILE: Final = "entry_points.txt"


def iter_search_path(directories: Iterable[str | PathLike[str]] = ()) -> Iterator[str]:
    """Yield the directories of the search path in order; `directories` come first.

    They need not exist.
    """
    yield from (os.fspath(directory) for directory in directories)
    yield from filter(None, os.environ.get("OSPROFILE_PATH", "").split(os.pathsep))
    if (directory := get_config_directory()) is not None:
        yield paths.join(directory, "profiles")
    yield paths.join(SITE_DIRECTORY, "profiles")
    yield from _entry_point_directories()
    yield get_bundled_directory()


def get_config_directory() -> str | None:
    """Return the directory of the user's own configuration, which need not exist; None for a user without a home.

    It has the user's profiles, in `profiles`.
    """
    # Relative paths are to be ignored (XDG Base Directory Specification 0.8).
    config = os.environ.get("XDG_CONFIG_HOME", "")
    base = config if config.startswith("/") else paths.expanduser("~/.config")
    # "~": there is no HOME, and no entry for this uid
    return None if base.startswith("~") else paths.join(base, "osprofile")


def _entry_point_directories() -> Iterator[str]:
    if not has_entry_points():
        return
    from importlib.metadata import entry_points
    from importlib.util import find_spec

    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda p: p.name):
        try:
            spec = find_spec(point.module)
        except Exception:  # noqa: BLE001, S112  # a parent package may raise anything when it is imported
            continue  # the remains of an uninstalled package must not hide the others
        yield from (spec.submodule_search_locations or ()) if spec else ()


def has_entry_points() -> bool:
    """Return whether there may be entry points: importing importlib.metadata doubles a command's start."""
    group = ENTRY_POINT_GROUP.encode()
    for path in iter_metadata_paths():
        if not path.endswith(_ENTRY_POINTS_FILE):
            if paths.isfile(path):
                return True  # a zip archive on the path: only importlib.metadata can read it
            continue
        try:
            with open(path, "rb") as file:
                if group in file.read():
                    return True
        except OSError:
            continue
    return False


def iter_metadata_paths() -> Iterator[str]:
    """Yield the paths on which `has_entry_points` depends: what is imported from, and a file of each distribution there."""
    for import_path in sys.path:
        yield import_path or paths.curdir
        with suppress(OSError), os.scandir(import_path or paths.curdir) as entries:
            for entry in entries:
                if entry.name.endswith((".dist-info", ".egg-info")):
                    yield paths.join(entry.path, _ENTRY_POINTS_FILE)


@final
class Repository:
    """The profiles of a search path; documents are read once and cached.

    `directories` come before the standard search path; `use_standard_path=False` leaves that out.
    """

    def __init__(
        self, directories: Iterable[str | PathLike[str]] = (), *, use_standard_path: bool = True
    ) -> None:
        self.created = time.time()
        """When it was made, in s since 1970: nothing was read before."""
        self.probed = set[str]()
        """All paths at which a profile was looked for, found or not."""
        own_directories = [os.fspath(directory) for directory in directories]
        self._remaining_directories = (
            iter_search_path(own_directories) if use_standard_path else iter(own_directories)
        )
        self._known_directories: list[str] = []
        self._documents: dict[str, Document] = {}
        self._profiles: dict[str, Profile] = {}

    def iter_directories(self) -> Iterator[str]:
        """Yield the directories of the search path lazily: looking for entry points takes long."""
        index = 0
        while True:
            if index == len(self._known_directories):
                directory = next(self._remaining_directories, None)
                if directory is None:
                    return
                self._known_directories.append(directory)
            yield self._known_directories[index]
            index += 1

    def list_names(self) -> list[str]:
        """Return the names of all profiles that can be found, sorted."""
        names: set[str] = set()
        for directory in self.iter_directories():
            names.update(entry.removesuffix(".xml") for entry in _list_directory(directory))
        return sorted(name for name in names if next(self._iter_candidates(name), None))

    def find_file(self, name: str) -> str:
        """Return the file of the profile of that name. Raises `ProfileNotFoundError`."""
        path = next(self._iter_candidates(name), None)
        if path is None:
            message = f"there is no profile {quote_value(name)}"
            raise ProfileNotFoundError(message, hint=self._format_missing_hint(name))
        return path

    def load(self, name: str) -> Profile:
        """Return the resolved profile of that name; a path is refused, so a name may come from a request.

        Raises `ProfileNotFoundError`, and `InvalidProfileError` with all problems.
        """
        profile = self._profiles.get(name)
        if profile is None:
            path = self.find_file(name)
            document = self._read_named_document(path, name)
            profile = self._profiles[name] = self.resolve_document(document, path)
        return profile

    def load_file(self, path: str | PathLike[str]) -> Profile:
        """Return the resolved profile of a file; the path must be trusted, not part of a request.

        A directory stands for its `profile.xml`. Raises `ProfileNotFoundError`,
        `InvalidProfileError`.
        """
        file = os.fspath(path)
        file = paths.join(file, "profile.xml") if paths.isdir(file) else file
        return self.resolve_document(self.read_document(file), file)

    def load_bytes(self, data: bytes, name: str = "<memory>") -> Profile:
        """Return the resolved profile of a document in memory. Raises `InvalidProfileError`."""
        return self.resolve_document(load_document(name, data), None)

    def read_document(self, path: str) -> Document:
        """Return the document in a file. Raises `ProfileNotFoundError`, `InvalidProfileError`."""
        if path not in self._documents:
            self._documents[path] = load_document(path, read_profile_bytes(path), paths.dirname(path))
        return self._documents[path]

    def resolve_document(self, document: Document, path: str | None) -> Profile:
        """Return the profile of a document and all that it extends.

        `path` is the document's file, None for one in memory. Raises `InvalidProfileError`.
        """
        problems = find_reference_problems(profile := Profile(self.resolve_chain(document, path)))
        if problems:
            raise InvalidProfileError(problems)
        return profile

    def resolve_chain(self, document: Document, path: str | None) -> list[Document]:
        """Return a document and all that it extends, nearest first; arguments as of `resolve_document`.

        A document that extends its own name extends the next one of that name on the search path.
        Raises `InvalidProfileError`.
        """
        chain = [document]
        files = {_get_file_identity(path): path} if path else {}
        while chain[-1].extends is not None:
            parent_path = self._find_parent(chain, files)
            chain.append(self._read_named_document(parent_path, chain[-1].extends))
            files[_get_file_identity(parent_path)] = parent_path
        return chain

    def _find_parent(self, chain: Sequence[Document], files: Mapping[object, str]) -> str:
        child, extends = chain[-1], chain[-1].extends or ""
        candidates = self._iter_candidates(extends)
        if child.name == extends:
            candidates = iter(_list_later_candidates(list(candidates), files))
        path = next(candidates, None)
        location = child.element.locate_attribute("extends")
        if path is None:
            further, hint = "", self._format_missing_hint(extends)
            if child.name == extends:
                further = "further "
                hint = "remove the attribute extends: the search path has no other profile of this name"
            message = (
                f"profile {child.name} extends {quote_value(extends)}, and there is no {further}"
                f"profile of that name: {_format_chain(chain)} -> {extends}"
            )
            raise InvalidProfileError([Problem("OSP201", message, location, hint)])
        if _get_file_identity(path) in files:
            hint = "one of them must not extend the other, directly or through a third"
            message = f"profiles extend each other: {_format_chain(chain)} -> {extends}"
            raise InvalidProfileError([Problem("OSP202", message, location, hint)])
        return path

    def _read_named_document(self, path: str, name: str) -> Document:
        document = self.read_document(path)
        if document.name != name:
            raise InvalidProfileError([_make_name_problem(document, name)])
        return document

    def find_name_problem(self, document: Document, file: str, name: str = "") -> Problem | None:
        """Return the problem with a profile whose name is not `name`, by which it was found, if any.

        Without `name`, it is the folder's of a `profile.xml`. Outside of the search path that is a warning:
        the profile is probably installed with its folder.
        """
        directory, folder_name = paths.split(paths.dirname(paths.abspath(file)))
        if paths.basename(file) == "profile.xml":
            name = name or folder_name
        if name in {"", document.name} or not FILE_SAFE_NAME_PATTERN.fullmatch(name):
            return None
        problem, identity = _make_name_problem(document, name), _get_file_identity(directory)
        if name != folder_name or any(_get_file_identity(d) == identity for d in self.iter_directories()):
            return problem
        message = f"the folder of this file is {name!r}, but the profile's name is {document.name!r}"
        return problem._replace(message=message, severity="warning")

    def _iter_candidates(self, name: str) -> Iterator[str]:
        if not FILE_SAFE_NAME_PATTERN.fullmatch(name):
            return
        for directory in self.iter_directories():
            for file in (f"{name}/profile.xml", f"{name}.xml"):
                path = paths.join(directory, file)
                self.probed.add(path)
                if paths.isfile(path):
                    yield path

    def _format_missing_hint(self, name: str) -> str:
        if not FILE_SAFE_NAME_PATTERN.fullmatch(name):
            return FILE_SAFE_NAME_HINT
        searched = ", ".join(filter(paths.isdir, self.iter_directories()))
        return f"{suggest_names(name, self.list_names())} (looked in {searched})".lstrip()


def _make_name_problem(document: Document, name: str) -> Problem:
    message = f"this file was found as profile {name!r}, but its name is {document.name!r}"
    hint = f'write name="{name}", or rename the file'
    return Problem("OSP108", message, document.element.locate_attribute("name"), hint)


def _list_directory(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _list_later_candidates(candidates: list[str], files: Mapping[object, str]) -> list[str]:
    """Return the candidates after a file that extends its own name.

    `files` is the chain, that file last. A file that is not on the search path comes before it.
    """
    identities = [_get_file_identity(c) for c in candidates]
    current = next(reversed(files), None)
    index = identities.index(current) if current in identities else -1
    return [c for c, i in list(zip(candidates, identities, strict=True))[index + 1 :] if i not in files]


def _get_file_identity(path: str) -> object:
    """Return a key that is equal for two paths of the same file."""
    try:
        status = os.stat(path)
    except OSError:
        return path
    return status.st_dev, status.st_ino


def _format_chain(chain: Sequence[Document]) -> str:
    return " -> ".join(f"{d.name} ({d.element.location})" for d in chain)


def _format_names(chain: Sequence[Document]) -> str:
    return " -> ".join(document.name for document in chain)


def read_profile_bytes(path: str) -> bytes:
    """Return the bytes of a document. Raises `ProfileNotFoundError`.

    Reads at most one byte more than `tree.MAX_BYTES`, so that the reader refuses a larger document.
    """
    try:
        with open(path, "rb") as file:
            return file.read(tree.MAX_BYTES + 1)
    except FileNotFoundError:
        hint = "give the path of a profile's file or folder, or the name of a profile"
        raise ProfileNotFoundError(f"there is no file {path}", hint=hint) from None
    except OSError as error:
        raise ProfileNotFoundError(f"{path} cannot be read: {error.strerror}") from None


def find_reference_problems(profile: Profile) -> list[Problem]:
    """Return the problems with what a resolved profile refers to: templates, patterns, what it removes."""
    return [
        *_find_missing_templates(profile),
        *_find_missing_patterns(profile),
        *_find_missing_links(profile),
        *_find_missing_cases(profile),
        *_find_needless_removals(profile),
    ]


def _find_needless_removals(profile: Profile) -> Iterator[Problem]:
    """Yield a problem for each entity that removes what its document does not inherit."""
    for kind in ("templates", "storages", "applications"):
        inherited = dict[str, object]()
        for document in reversed(profile.documents):
            entities: Mapping[str, Template | Storage | Application] = getattr(document, kind)
            absent = [entity for entity in entities.values() if is_removal(entity.element)]
            for entity in absent:
                if entity.name not in inherited:
                    what = f"{type(entity).__name__.lower()} {quote_value(entity.name)}"
                    message = f"profile {document.name} removes {what}, which it does not inherit"
                    location = entity.element.locate_attribute("name")
                    yield Problem("OSP210", message, location, suggest_names(entity.name, inherited))
            inherited.update(entities)
            for entity in absent:
                del inherited[entity.name]


def _find_missing_patterns(profile: Profile) -> Iterator[Problem]:
    """Yield a problem for each field whose ext:patternField names no fixed global field."""
    for fields in (profile.global_fields, *(t.fields for t in profile.templates.values())):
        for field in fields.values():
            name = field.pattern_field
            if name is None or field.pattern_value is not None:
                continue
            named = profile.global_fields.get(name)
            message = f"field {field.name} takes its pattern from {quote_value(name)}, which "
            if named is None:
                message += f"is no global field of profile {_format_names(profile.documents)}"
                hint = suggest_names(
                    name, [n for n, f in profile.global_fields.items() if f.value is not None]
                )
            else:
                message += "has no fixed Value"
                hint = f"give it a Value, not a Default; it is declared at {named.location}"
            location = field.element.locate_attribute(PATTERN_FIELD_ATTRIBUTE)
            yield Problem("OSP209", message, location, hint)


def _find_missing_links(profile: Profile) -> Iterator[Problem]:
    """Yield a problem for each field whose ext:when or ext:requires names no field, or one that depends on it."""
    names = {*profile.global_fields, *(n for t in profile.templates.values() for n in t.fields)}
    owners: list[tuple[Template | None, Mapping[str, Field]]] = [
        (None, profile.global_fields),
        *((t, t.fields) for t in profile.templates.values()),
    ]
    for template, fields in owners:
        for field in fields.values():
            for code, attribute, name in (
                ("OSP213", WHEN_ATTRIBUTE, field.when),
                ("OSP214", REQUIRES_ATTRIBUTE, field.requires),
            ):
                if name is None:
                    continue
                location = field.element.locate_attribute(attribute)
                if name not in names:
                    by = "ext:when" if code == "OSP213" else "ext:requires"
                    message = f"field {field.name} depends, by {by}, on {quote_value(name)}, which is no field of profile "
                    message += _format_names(profile.documents)
                    yield Problem(code, message, location, suggest_names(name, names))
                elif code == "OSP213" and _depends_on_itself(profile, template, field):
                    message = f"field {field.name} depends on itself: its ext:when names {quote_value(name)}"
                    yield Problem(code, message, location, "name a field that a request or the context sets")


def _find_missing_cases(profile: Profile) -> Iterator[Problem]:
    """Yield a problem for each case (`ext:for`) of a field, or for a value of a field, that the profile does not have."""
    names = {*profile.global_fields, *(n for t in profile.templates.values() for n in t.fields)}
    for case in profile.cases:
        if case.selection is None or not case.selection.value:
            continue  # the reader has reported it
        selector = case.selection.field
        known, message, hint = {*names, USER_GROUPS}, "", ""
        if case.name not in known:
            message = f"{quote_value(case.name)} is no field of profile {_format_names(profile.documents)}"
            message, hint = f"a case for {case.selection}: {message}", suggest_names(case.name, known)
        elif selector not in {*known, *USER_FIELDS}:
            message = f"{quote_value(selector)} is no field of profile {_format_names(profile.documents)}"
            message = f"field {case.name} has a case for {case.selection}, but {message}"
            hint = suggest_names(selector, {*known, *USER_FIELDS})
        elif selector not in USER_FIELDS and any(
            c.name == selector and c.selection is not None and c.selection.field not in USER_FIELDS
            for c in profile.cases
        ):
            message = f"field {case.name} depends on {selector}, which depends on another field itself"
            hint = f"only {' and '.join(USER_FIELDS)} may decide about {selector}"
        if message:
            yield Problem("OSP215", message, case.element.locate_attribute(FOR_ATTRIBUTE), hint)


def _depends_on_itself(profile: Profile, template: Template | None, field: Field) -> bool:
    seen, name = {field.name}, field.when
    while name is not None and name not in seen:
        seen.add(name)
        declared = template.fields.get(name) if template is not None else None
        declared = declared or profile.global_fields.get(name)
        name = declared.when if declared is not None else None
    return name == field.name


def _find_missing_templates(profile: Profile) -> list[Problem]:
    """Return a problem for each storage or application whose template the profile lacks."""
    chain = _format_chain(profile.documents)
    entities: list[Storage | Application] = [*profile.storages.values(), *profile.applications.values()]
    return [
        Problem(
            "OSP203",
            f"{type(e).__name__} {e.name} names template {e.template!r}, which profile {chain} does not have",
            e.element.locate_attribute("template"),
            profile.explain_missing_template(e.template),
        )
        for e in entities
        if e.template not in profile.templates
    ]
