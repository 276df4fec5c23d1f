"""`incarnate lint`: everything that is wrong with profiles, in one pass."""

from typing import TYPE_CHECKING, Annotated, Any

from osprofile.cli import common
from osprofile.cli.options import Argument, JsonOption, ProfilesOption

if TYPE_CHECKING:
    from osprofile.errors import Problem

BAD_PROFILE = 3


def lint(
    *,
    files: Annotated[
        list[str], Argument("Profiles: files, folders, or names.", "FILE...", "profiles")
    ],
    profiles: ProfilesOption = [],
    json: JsonOption = False,
) -> int:
    """Check profiles; exit with 3 if there are errors.

    Each problem is told as FILE:LINE:COLUMN: SEVERITY CODE MESSAGE, with its line and a hint.

    Examples:
      incarnate lint mysite/profile.xml
      incarnate lint pbs slurm --json
    """
    from osprofile.lint import lint_file
    from osprofile.profile.repository import Repository

    repository = Repository(profiles)
    found: list[Problem] = []
    for name in files:
        is_name = not common.is_path(name) and not _exists(name)
        found += lint_file(repository.path(name) if is_name else name, repository)
    if json:
        common.put_json([_told(problem) for problem in found])
    else:
        common.put("\n".join(map(str, found)))
    errors = sum(problem.severity == "error" for problem in found)
    if found and not json:
        common.tell(f"{_count(errors, 'error')}, {_count(len(found) - errors, 'warning')}")
    return BAD_PROFILE if errors else 0


def _exists(name: str) -> bool:
    from pathlib import Path

    return Path(name).exists()


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _told(problem: "Problem") -> dict[str, Any]:
    place = problem.place
    return {
        "file": place.file if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
        "severity": problem.severity,
        "code": problem.code,
        "message": problem.message,
        "hint": problem.hint,
    }
