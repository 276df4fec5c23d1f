"""`incarnate lint`: everything that is wrong with profiles, in one pass."""

from typing import TYPE_CHECKING, Annotated, Any

from osprofile.cli import common
from osprofile.cli.options import Argument, JsonOption, Option, ProfilesOption
from osprofile.errors import suggest_names

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
    from osprofile.lint.formats import select_findings

    told_as = _choose_format(format, json)
    wanted, unwanted = _parse_codes(select, "--select"), _parse_codes(ignore, "--ignore")
    found = [*select_findings(_examine_files(files, profiles, shellcheck), wanted, unwanted)]
    _print_findings(found, told_as)
    problems = [p for f in found for p in f.problems]
    errors = sum(problem.severity == "error" for problem in problems)
    if problems and told_as == "text":
        common.print_message(
            f"{_pluralize(errors, 'error')}, {_pluralize(len(problems) - errors, 'warning')}"
        )
    return BAD_PROFILE if errors else 0


def _choose_format(requested: str | None, json: bool) -> str:
    if requested is not None and requested not in FORMATS:
        raise common.UsageError(
            f"--format {requested!r} is not known", hint=suggest_names(requested, FORMATS)
        )
    if json and requested not in {None, "json"}:
        raise common.UsageError(f"--json and --format {requested} do not fit together")
    return "json" if json else requested or "text"


def _parse_codes(words: list[str], option: str) -> tuple[str, ...]:
    """Give what codes begin with."""
    from osprofile.lint import RULES
    from osprofile.lint.rules import is_rule_code

    found = tuple(part.strip() for word in words for part in word.split(","))
    for code in found:
        known = any(rule.startswith(code) for rule in RULES) or "SC".startswith(code)
        if not code or not (known or is_rule_code(code.ljust(6, "0"))):
            hint = suggest_names(code, RULES) if code else "give codes, as in OSP601,OSP3"
            raise common.UsageError(f"{option} {code!r}: no code begins so", hint=hint)
    return found


def _examine_files(files: list[str], profiles: list[str], shellcheck: bool) -> "list[Findings]":
    from osprofile.lint import examine_file

    repository = common.open_repository(profiles)
    further = {}
    if shellcheck:
        from osprofile.lint import shellcheck as tool

        further = {tool.CODE_PREFIX: tool.create_rule(tool.find_shellcheck())}
    found = []
    for name in files:
        is_name = not common.is_profile_path(name) and not _path_exists(name)
        found.append(
            examine_file(repository.find_file(name) if is_name else name, repository, further)
        )
    return found


def _path_exists(name: str) -> bool:
    from pathlib import Path

    return Path(name).exists()


def _print_findings(findings: "list[Findings]", output_format: str) -> None:
    from osprofile import __version__
    from osprofile.lint import formats

    problems = [p for f in findings for p in f.problems]
    if output_format == "json":
        common.print_json([_encode_problem(problem) for problem in problems])
    elif output_format == "sarif":
        common.print_json(formats.format_sarif(findings, __version__))
    elif output_format == "github":
        common.print_result(formats.format_github(findings))
    else:
        common.print_result("\n".join(map(str, problems)))


def _pluralize(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _encode_problem(problem: "Problem") -> dict[str, Any]:
    place = problem.location
    return {
        "file": place.file if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
        "severity": problem.severity,
        "code": problem.code,
        "message": problem.message,
        "hint": problem.hint,
    }
