"""Everything that is wrong with a profile, in one pass.

What a profile inherits is judged by its author's own run of the linter: of a resolved profile's
problems those are told that its parent, resolved, does not have too. So a child that redeclares a
field hears of the inherited script in which the new declaration is not safe.
"""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import InvalidProfileError, Problem, ProfileNotFoundError
from osprofile.lint.declarations import declarations
from osprofile.lint.engine_data import engine_data
from osprofile.lint.replacements import replacements, unused
from osprofile.lint.required import required, static_scripts
from osprofile.lint.rules import problem
from osprofile.lint.script import View
from osprofile.lint.scripts import characters, scripts
from osprofile.lint.together import together
from osprofile.lint.waivers import Waived, settle
from osprofile.profile import reader
from osprofile.profile.model import Profile
from osprofile.profile.repository import bytes_of, dangling
from osprofile.source import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from osprofile.profile.model import Document
    from osprofile.profile.repository import Repository

    RuleOf = Callable[[View], Iterable[Problem]]

NO_RULES: Final[Mapping[str, RuleOf]] = MappingProxyType({})

_DOCUMENT_RULES: Final = (declarations, characters)
"""What can be said of a document whose parents are not known, or that is not valid."""

_PROFILE_RULES: Final = (
    *_DOCUMENT_RULES, replacements, unused, required, static_scripts, together, engine_data,
    scripts,
)  # fmt: skip


@final
class Findings(NamedTuple):
    """What the linter found in a file: its problems, and those that a waiver covers."""

    file: str
    problems: list[Problem]
    waived: list[Waived]


def lint_file(path: str | Path, repository: Repository) -> list[Problem]:
    """Give every problem of a profile's file; parents are looked up in `repository`.

    A directory stands for the `profile.xml` in it. Whatever is wrong with the file, or with what it
    extends, is in the list, but what a waiver in the file covers; a file that cannot be read is one
    problem without a place. The file's own problems come first, in the order of the document.
    """
    return examine(path, repository).problems


def examine(
    path: str | Path, repository: Repository, further: Mapping[str, RuleOf] = NO_RULES
) -> Findings:
    """Give what `lint_file` gives, and what was waived.

    `further` has rules of other tools', by what their codes begin with (`SC`).
    """
    file = str(Path(path, "profile.xml") if Path(path).is_dir() else path)
    try:
        document, problems = reader.judge(file, bytes_of(file))
    except InvalidProfileError as error:
        return Findings(file, [*error.problems], [])
    except ProfileNotFoundError as error:
        return Findings(file, _problems_of(error), [])
    problems += _line_ends(document)
    profile = _resolved(document, problems, file, repository)
    if profile is None:
        problems += _run(Profile([document]), _DOCUMENT_RULES)
        ran = list[str]()  # not all of them
    else:
        problems += [*dangling(profile), *lint_profile(profile, further.values())]
        ran = ["OSP", *further]
    documents = profile.documents if profile else [document]
    kept, waived = settle(_in_order(problems, documents), document.element.source, ran=ran)
    return Findings(file, _in_order(kept, documents), waived)


def _resolved(
    document: Document, problems: list[Problem], file: str, repository: Repository
) -> Profile | None:
    """Give a document with what it extends; where that cannot be, add why to the problems."""
    if any(found.code == "OSP104" for found in problems):
        return None
    try:
        return Profile(repository.chain(document, file))
    except (InvalidProfileError, ProfileNotFoundError) as error:
        problems += _problems_of(error)
        return None


def _problems_of(error: InvalidProfileError | ProfileNotFoundError) -> list[Problem]:
    """Give the problems of a profile that is wrong, or whose file cannot be read."""
    if isinstance(error, InvalidProfileError):
        return [*error.problems]
    return [Problem("OSP101", error.message, hint=error.hint)]


def lint_profile(profile: Profile, further: Iterable[RuleOf] = ()) -> list[Problem]:
    """Give the problems of a resolved profile that are its own: see the module.

    A problem in an inherited document carries that document's place. Nothing is raised. Waivers do
    not count here: they are a file's.
    """
    rules = (*_PROFILE_RULES, *further)
    found = [*_run(profile, rules)]
    inherited = set[tuple[object, ...]]()
    own = profile.documents[0].element.source
    if any(p.place is None or p.place.source is not own for p in found) and profile.documents[1:]:
        inherited = {_key(p) for p in _run(Profile(profile.documents[1:]), rules)}
    return _in_order([p for p in found if _key(p) not in inherited], profile.documents)


def _run(profile: Profile, rules: Iterable[RuleOf]) -> Iterator[Problem]:
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
