"""The linter: all problems of a profile, in one pass.

A problem that the resolved parent has as well is not reported again for a child. A child that
redeclares a field is warned about an inherited script in which the new declaration is unsafe.
"""

from __future__ import annotations

import os.path
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import InvalidProfileError, Problem, ProfileNotFoundError
from osprofile.lint.declarations import check_declarations
from osprofile.lint.engine_fields import check_engine_fields, check_id_forms
from osprofile.lint.inheritance import check_inheritance
from osprofile.lint.profile_view import ProfileView
from osprofile.lint.replacements import check_replacements, find_unused_fields
from osprofile.lint.requirements import check_requirements, check_static_scripts
from osprofile.lint.rules import make_problem
from osprofile.lint.scripts import check_characters, check_scripts
from osprofile.lint.shared_fields import check_shared_fields
from osprofile.lint.waivers import WaivedProblem, apply_waivers
from osprofile.profile import reader
from osprofile.profile.model import Profile
from osprofile.profile.repository import find_reference_problems, read_profile_bytes
from osprofile.source import Location

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from osprofile.profile.model import Document
    from osprofile.profile.repository import Repository

    RuleFunction = Callable[[ProfileView], Iterable[Problem]]

NO_EXTRA_RULES: Final[Mapping[str, RuleFunction]] = MappingProxyType({})

_DOCUMENT_RULES: Final = (check_declarations, check_characters)
"""The rules for a document that is invalid, or whose parents cannot be loaded."""

_PROFILE_RULES: Final = (
    *_DOCUMENT_RULES, check_replacements, find_unused_fields, check_requirements,
    check_static_scripts, check_shared_fields, check_engine_fields, check_id_forms,
    check_inheritance, check_scripts,
)  # fmt: skip


@final
class Findings(NamedTuple):
    """The problems of a file, and those that a waiver covers."""

    file: str
    problems: list[Problem]
    waived: list[WaivedProblem]


def lint_file(path: str | Path, repository: Repository) -> list[Problem]:
    """Return all problems of a profile's file; its parents are looked up in `repository`.

    For a directory, the file is the `profile.xml` in it. The list includes problems with the profiles
    that it extends, and excludes those that a waiver in the file covers. A file that cannot be read is
    one problem without a location. The file's own problems come first, in the order of the document.
    """
    return examine_file(path, repository).problems


def examine_file(
    path: str | Path,
    repository: Repository,
    extra_rules: Mapping[str, RuleFunction] = NO_EXTRA_RULES,
    name: str = "",
) -> Findings:
    """Return the problems that `lint_file` returns, and the waived ones.

    `name` is the name by which the file was found on the search path.

    `extra_rules` are rules of other tools, by the prefix of their codes (`SC`).
    """
    file = str(Path(path, "profile.xml") if Path(path).is_dir() else path)
    try:
        data = read_profile_bytes(file)
        document, problems = reader.parse_with_problems(file, data, os.path.dirname(file))
    except InvalidProfileError as error:
        return Findings(file, [*error.problems], [])
    except ProfileNotFoundError as error:
        return Findings(file, _problems_from_error(error), [])
    problems += _check_line_ends(document)
    name_problem = repository.find_name_problem(document, file, name) if document.name else None
    problems += [name_problem] if name_problem else []
    profile = _resolve_document(document, problems, file, repository)
    if profile is None:
        problems += _run_rules(Profile([document]), _DOCUMENT_RULES)
        active_prefixes = list[str]()  # an unused waiver may be for a rule that did not run
    else:
        problems += [*find_reference_problems(profile), *lint_profile(profile, extra_rules.values())]
        active_prefixes = ["OSP", *extra_rules]
    documents = profile.documents if profile else [document]
    kept, waived = apply_waivers(
        _sort_problems(problems, documents), document.element.source, active_prefixes=active_prefixes
    )
    return Findings(file, _sort_problems(kept, documents), waived)


def _resolve_document(
    document: Document, problems: list[Problem], file: str, repository: Repository
) -> Profile | None:
    """Return the resolved profile of a document; on errors, add them to the problems."""
    if any(problem.code in {"OSP104", "OSP111"} for problem in problems):
        return None
    try:
        return Profile(repository.resolve_chain(document, file))
    except (InvalidProfileError, ProfileNotFoundError) as error:
        problems += _problems_from_error(error)
        return None


def _problems_from_error(error: InvalidProfileError | ProfileNotFoundError) -> list[Problem]:
    if isinstance(error, InvalidProfileError):
        return [*error.problems]
    return [Problem("OSP101", error.message, hint=error.hint)]


def lint_profile(profile: Profile, extra_rules: Iterable[RuleFunction] = ()) -> list[Problem]:
    """Return the problems of a resolved profile that its parent does not have.

    A problem in an inherited document has a location in that document. Waivers are not applied:
    they belong to a file, see `lint_file`. Raises nothing.
    """
    rules = (*_PROFILE_RULES, *extra_rules)
    problems = [*_run_rules(profile, rules)]
    inherited = set[tuple[object, ...]]()
    own_source = profile.documents[0].element.source
    # The parents are linted only if a problem may be theirs: it doubles the time.
    parents = profile.documents[1:]
    if parents and any(
        p.location is None or p.location.in_document.source is not own_source for p in problems
    ):
        inherited = {_get_problem_key(p) for p in _run_rules(Profile(parents), rules)}
    return _sort_problems([p for p in problems if _get_problem_key(p) not in inherited], profile.documents)


def _run_rules(profile: Profile, rules: Iterable[RuleFunction]) -> Iterator[Problem]:
    view = ProfileView(profile)
    return (problem for rule in rules for problem in rule(view))


def _get_problem_key(problem: Problem) -> tuple[object, ...]:
    location = problem.location
    return (problem.code, problem.message, location and (id(location.source), location.offset))


def _sort_problems(problems: Iterable[Problem], documents: Sequence[Document]) -> list[Problem]:
    """Sort problems by document, nearest first, and location; drop duplicates.

    Those in a file of a document follow those of the element that names it (`ext:src`).
    """
    document_ranks = {id(document.element.source): n for n, document in enumerate(documents)}

    def sort_key(problem: Problem) -> tuple[int, str, int, int, str]:
        if problem.location is None:
            return (-1, "", 0, 0, problem.code)
        in_document = problem.location.in_document
        rank = document_ranks.get(id(in_document.source), len(document_ranks))
        offset_in_file = -1 if problem.location is in_document else problem.location.offset
        return (rank, in_document.file, in_document.offset, offset_in_file, problem.code)

    return sorted({_get_problem_key(problem): problem for problem in problems}.values(), key=sort_key)


def _check_line_ends(document: Document) -> Iterator[Problem]:
    """Report CR LF once per file."""
    for source in document.sources:
        offset = source.data.find(b"\r")
        if offset < 0:
            continue
        message = "the file's lines end with CR LF"
        hint = "save it with LF: other tools that read the file may keep the CR in scripts"
        yield make_problem("OSP109", message, Location(source, offset), hint)
