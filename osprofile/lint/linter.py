"""Everything that is wrong with a profile, in one pass.

What a profile inherits is judged by its author's own run of the linter: of a resolved profile's
problems those are told that its parent, resolved, does not have too. So a child that redeclares a
field hears of the inherited script in which the new declaration is not safe.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from osprofile.errors import InvalidProfileError, Problem, ProfileNotFoundError
from osprofile.lint.declarations import declarations
from osprofile.lint.engine_data import engine_data
from osprofile.lint.replacements import replacements, unused
from osprofile.lint.required import required, static_scripts
from osprofile.lint.rules import problem
from osprofile.lint.script import View
from osprofile.lint.scripts import characters, scripts
from osprofile.lint.together import together
from osprofile.profile import reader
from osprofile.profile.model import Profile
from osprofile.profile.repository import bytes_of, dangling
from osprofile.source import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from osprofile.profile.model import Document
    from osprofile.profile.repository import Repository

_DOCUMENT_RULES: Final = (declarations, characters)
"""What can be said of a document whose parents are not known, or that is not valid."""

_PROFILE_RULES: Final = (
    *_DOCUMENT_RULES, replacements, unused, required, static_scripts, together, engine_data,
    scripts,
)  # fmt: skip


def lint_file(path: str | Path, repository: Repository) -> list[Problem]:
    """Give every problem of a profile's file; parents are looked up in `repository`.

    A directory stands for the `profile.xml` in it. Whatever is wrong with the file, or with what it
    extends, is in the list; a file that cannot be read is one problem without a place. The file's
    own problems come first, in the order of the document.
    """
    file = str(Path(path, "profile.xml") if Path(path).is_dir() else path)
    try:
        data = bytes_of(file)
    except ProfileNotFoundError as error:
        return _problems_of(error)
    try:
        document, problems = reader.judge(file, data)
    except InvalidProfileError as error:
        return [*error.problems]
    problems += _line_ends(document)
    if any(found.code == "OSP104" for found in problems):
        return _in_order([*problems, *_run(Profile([document]), _DOCUMENT_RULES)], [document])
    try:
        profile = Profile(repository.chain(document, file))
    except (InvalidProfileError, ProfileNotFoundError) as error:
        problems += _problems_of(error)
        return _in_order([*problems, *_run(Profile([document]), _DOCUMENT_RULES)], [document])
    return _in_order([*problems, *dangling(profile), *lint_profile(profile)], profile.documents)


def _problems_of(error: InvalidProfileError | ProfileNotFoundError) -> list[Problem]:
    """Give the problems of a profile that is wrong, or whose file cannot be read."""
    if isinstance(error, InvalidProfileError):
        return [*error.problems]
    return [Problem("OSP101", error.message, hint=error.hint)]


def lint_profile(profile: Profile) -> list[Problem]:
    """Give the problems of a resolved profile that are its own: see the module.

    A problem in an inherited document carries that document's place. Nothing is raised.
    """
    parent = Profile(profile.documents[1:]) if len(profile.documents) > 1 else None
    inherited = {_key(p) for p in _run(parent, _PROFILE_RULES)} if parent else set()
    found = _run(profile, _PROFILE_RULES)
    return _in_order([p for p in found if _key(p) not in inherited], profile.documents)


def _run(
    profile: Profile, rules: Sequence[Callable[[View], Iterable[Problem]]]
) -> Iterator[Problem]:
    view = View(profile)
    return (found for rule in rules for found in rule(view))


def _key(found: Problem) -> tuple[object, ...]:
    place = found.place
    return (found.code, found.message, place and (id(place.source), place.offset))


def _in_order(problems: Iterable[Problem], documents: Sequence[Document]) -> list[Problem]:
    """Sort problems by document, nearest first, and place; drop what is told twice."""
    order = {id(document.element.source): n for n, document in enumerate(documents)}

    def where(found: Problem) -> tuple[int, str, int, str]:
        if found.place is None:
            return (-1, "", 0, found.code)
        rank = order.get(id(found.place.source), len(order))
        return (rank, found.place.file, found.place.offset, found.code)

    return sorted({_key(found): found for found in problems}.values(), key=where)


def _line_ends(document: Document) -> Iterator[Problem]:
    """Find CR LF, once: XML reads it as LF."""
    source = document.element.source
    at = source.data.find(b"\r")
    if at >= 0:
        message = "the file's lines end with CR LF"
        hint = "save it with LF: other tools that read the file may keep the CR in scripts"
        yield problem("OSP109", message, Place(source, at), hint)
