"""`incarnate lint`: everything that is wrong with profiles, in one pass."""

from typing import TYPE_CHECKING, Annotated, Any

from osprofile.cli import common
from osprofile.cli.options import Argument, JsonOption, Option, ProfilesOption
from osprofile.errors import nearest

if TYPE_CHECKING:
    from osprofile.errors import Problem
    from osprofile.lint import Findings

BAD_PROFILE = 3
FORMATS = ("text", "json", "github", "sarif")


def lint(
    *,
    files: Annotated[
        list[str], Argument("Profiles: files, folders, or names.", "FILE...", "profiles")
    ],
    profiles: ProfilesOption = [],
    format: Annotated[  # noqa: A002  # the option's name
        str | None,
        Option(
            ("--format",),
            "How problems are told: text, json, github (workflow commands) or sarif (2.1.0).",
            "FORMAT",
            "formats",
        ),
    ] = None,
    select: Annotated[
        list[str],
        Option(
            ("--select",),
            "Tell only these codes, or those that begin so, as in OSP6,SC; may be given again.",
            "CODES",
            "codes",
        ),
    ] = [],
    ignore: Annotated[
        list[str],
        Option(("--ignore",), "Do not tell these codes; may be given again.", "CODES", "codes"),
    ] = [],
    shellcheck: Annotated[
        bool,
        Option(("--shellcheck",), "Let shellcheck judge the scripts, made with default values."),
    ] = False,
    json: JsonOption = False,
) -> int:
    """Check profiles; exit with 3 if there are errors.

    Each problem is told as FILE:LINE:COLUMN: SEVERITY CODE MESSAGE, with its line and a hint. A
    comment <!-- lint-waive CODE: REASON --> waives the problems of the element that follows it, or of
    the line that it ends. What keeps a profile from loading is always told.

    Examples:
      incarnate lint mysite/profile.xml
      incarnate lint pbs slurm --json
      incarnate lint mysite --shellcheck --format sarif > mysite.sarif
    """
    from osprofile.lint.formats import selected

    told_as = _format(format, json)
    wanted, unwanted = _codes(select, "--select"), _codes(ignore, "--ignore")
    found = [*selected(_examined(files, profiles, shellcheck), wanted, unwanted)]
    _put(found, told_as)
    problems = [p for f in found for p in f.problems]
    errors = sum(problem.severity == "error" for problem in problems)
    if problems and told_as == "text":
        common.tell(f"{_count(errors, 'error')}, {_count(len(problems) - errors, 'warning')}")
    return BAD_PROFILE if errors else 0


def _format(given: str | None, json: bool) -> str:
    if given is not None and given not in FORMATS:
        raise common.UsageError(f"--format {given!r} is not known", hint=nearest(given, FORMATS))
    if json and given not in {None, "json"}:
        raise common.UsageError(f"--json and --format {given} do not fit together")
    return "json" if json else given or "text"


def _codes(words: list[str], option: str) -> tuple[str, ...]:
    """Give what codes begin with."""
    from osprofile.lint import RULES
    from osprofile.lint.rules import is_code

    found = tuple(part.strip() for word in words for part in word.split(","))
    for code in found:
        known = any(rule.startswith(code) for rule in RULES) or "SC".startswith(code)
        if not code or not (known or is_code(code.ljust(6, "0"))):
            hint = nearest(code, RULES) if code else "give codes, as in OSP601,OSP3"
            raise common.UsageError(f"{option} {code!r}: no code begins so", hint=hint)
    return found


def _examined(files: list[str], profiles: list[str], shellcheck: bool) -> "list[Findings]":
    from osprofile.lint import examine

    repository = common.repository(profiles)
    further = {}
    if shellcheck:
        from osprofile.lint import shellcheck as tool

        further = {tool.CODES: tool.rule(tool.find())}
    found = []
    for name in files:
        is_name = not common.is_path(name) and not _exists(name)
        found.append(examine(repository.path(name) if is_name else name, repository, further))
    return found


def _exists(name: str) -> bool:
    from pathlib import Path

    return Path(name).exists()


def _put(found: "list[Findings]", told_as: str) -> None:
    from osprofile import __version__
    from osprofile.lint import formats

    problems = [p for f in found for p in f.problems]
    if told_as == "json":
        common.put_json([_told(problem) for problem in problems])
    elif told_as == "sarif":
        common.put_json(formats.sarif(found, __version__))
    elif told_as == "github":
        common.put(formats.github(found))
    else:
        common.put("\n".join(map(str, problems)))


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
