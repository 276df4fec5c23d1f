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
from osprofile.lint.declarations import check_declarations
from osprofile.lint.engine_fields import check_engine_fields
from osprofile.lint.profile_view import ProfileView
from osprofile.lint.replacements import check_replacements, find_unused_fields
from osprofile.lint.requirements import check_requirements, check_static_scripts
from osprofile.lint.rules import make_problem
from osprofile.lint.scripts import check_characters, check_scripts
from osprofile.lint.shared_fields import check_shared_fields
from osprofile.lint.waivers import WaivedProblem, apply_waivers
from osprofile.profile import reader
from osprofile.profile.model import Profile
from osprofile.profile.repository import find_missing_templates, read_profile_bytes
from osprofile.source import Location

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from osprofile.profile.model import Document
    from osprofile.profile.repository import Repository

    RuleFunction = Callable[[ProfileView], Iterable[Problem]]

NO_EXTRA_RULES: Final[Mapping[str, RuleFunction]] = MappingProxyType({})

_DOCUMENT_RULES: Final = (check_declarations, check_characters)
"""What can be said of a document whose parents are not known, or that is not valid."""

_PROFILE_RULES: Final = (
    *_DOCUMENT_RULES, check_replacements, find_unused_fields, check_requirements,
    check_static_scripts, check_shared_fields, check_engine_fields, check_scripts,
)  # fmt: skip


@final
class Findings(NamedTuple):
    """What the linter found in a file: its problems, and those that a waiver covers."""

    file: str
    problems: list[Problem]
    waived: list[WaivedProblem]


def lint_file(path: str | Path, repository: Repository) -> list[Problem]:
    """Give every problem of a profile's file; parents are looked up in `repository`.

    A directory stands for the `profile.xml` in it. Whatever is wrong with the file, or with what it
    extends, is in the list, but what a waiver in the file covers; a file that cannot be read is one
    problem without a place. The file's own problems come first, in the order of the document.
    """
    return examine_file(path, repository).problems


def examine_file(
    path: str | Path,
    repository: Repository,
    extra_rules: Mapping[str, RuleFunction] = NO_EXTRA_RULES,
) -> Findings:
    """Give what `lint_file` gives, and what was waived.

    `extra_rules` has rules of other tools', by what their codes begin with (`SC`).
    """
    file = str(Path(path, "profile.xml") if Path(path).is_dir() else path)
    try:
        document, problems = reader.parse_document(file, read_profile_bytes(file))
    except InvalidProfileError as error:
        return Findings(file, [*error.problems], [])
    except ProfileNotFoundError as error:
        return Findings(file, _problems_from_error(error), [])
    problems += _check_line_ends(document)
    profile = _resolve_document(document, problems, file, repository)
    if profile is None:
        problems += _run_rules(Profile([document]), _DOCUMENT_RULES)
        ran = list[str]()  # not all of them
    else:
        problems += [*find_missing_templates(profile), *lint_profile(profile, extra_rules.values())]
        ran = ["OSP", *extra_rules]
    documents = profile.documents if profile else [document]
    kept, waived = apply_waivers(
        _sort_problems(problems, documents), document.element.source, active_prefixes=ran
    )
    return Findings(file, _sort_problems(kept, documents), waived)


def _resolve_document(
    document: Document, problems: list[Problem], file: str, repository: Repository
) -> Profile | None:
    """Give a document with what it extends; where that cannot be, add why to the problems."""
    if any(found.code == "OSP104" for found in problems):
        return None
    try:
        return Profile(repository.resolve_chain(document, file))
    except (InvalidProfileError, ProfileNotFoundError) as error:
        problems += _problems_from_error(error)
        return None


def _problems_from_error(error: InvalidProfileError | ProfileNotFoundError) -> list[Problem]:
    """Give the problems of a profile that is wrong, or whose file cannot be read."""
    if isinstance(error, InvalidProfileError):
        return [*error.problems]
    return [Problem("OSP101", error.message, hint=error.hint)]


def lint_profile(profile: Profile, extra_rules: Iterable[RuleFunction] = ()) -> list[Problem]:
    """Give the problems of a resolved profile that are its own: see the module.

    A problem in an inherited document carries that document's place. Nothing is raised. Waivers do
    not count here: they are a file's.
    """
    rules = (*_PROFILE_RULES, *extra_rules)
    found = [*_run_rules(profile, rules)]
    inherited = set[tuple[object, ...]]()
    own = profile.documents[0].element.source
    if (
        any(p.location is None or p.location.source is not own for p in found)
        and profile.documents[1:]
    ):
        inherited = {_problem_key(p) for p in _run_rules(Profile(profile.documents[1:]), rules)}
    return _sort_problems([p for p in found if _problem_key(p) not in inherited], profile.documents)


def _run_rules(profile: Profile, rules: Iterable[RuleFunction]) -> Iterator[Problem]:
    view = ProfileView(profile)
    return (found for rule in rules for found in rule(view))


def _problem_key(problem: Problem) -> tuple[object, ...]:
    place = problem.location
    return (problem.code, problem.message, place and (id(place.source), place.offset))


def _sort_problems(problems: Iterable[Problem], documents: Sequence[Document]) -> list[Problem]:
    """Sort problems by document, nearest first, and place; drop what is told twice."""
    order = {id(document.element.source): n for n, document in enumerate(documents)}

    def where(found: Problem) -> tuple[int, str, int, str]:
        if found.location is None:
            return (-1, "", 0, found.code)
        rank = order.get(id(found.location.source), len(order))
        return (rank, found.location.file, found.location.offset, found.code)

    return sorted({_problem_key(found): found for found in problems}.values(), key=where)


def _check_line_ends(document: Document) -> Iterator[Problem]:
    """Find CR LF, once: XML reads it as LF."""
    source = document.element.source
    at = source.data.find(b"\r")
    if at >= 0:
        message = "the file's lines end with CR LF"
        hint = "save it with LF: other tools that read the file may keep the CR in scripts"
        yield make_problem("OSP109", message, Location(source, at), hint)
