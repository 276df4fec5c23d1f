"""`incarnate lint`: reports all problems of profiles in one run."""

import os.path
from typing import TYPE_CHECKING, Annotated, Any

from osprofile.cli import common
from osprofile.cli.options import Argument, JsonOption, Option, ProfilesOption
from osprofile.text import pluralize, suggest_names

if TYPE_CHECKING:
    from osprofile.errors import Problem
    from osprofile.lint import Findings

FORMATS = ("text", "json", "github", "sarif")


def lint(
    *,
    files: Annotated[
        list[str],
        Argument("Profiles: files, folders, or names; with --explain, codes.", "[FILE...]", "linted"),
    ] = [],
    explain: Annotated[
        bool,
        Option(
            ("--explain",),
            "Explain the rules of these codes, with a wrong example and a right one; without any, list all rules.",
        ),
    ] = False,
    profiles: ProfilesOption = [],
    format: Annotated[  # noqa: A002  # the option's name
        str | None,
        Option(
            ("--format",),
            "The output format: text, json, github (workflow commands) or sarif (2.1.0).",
            "FORMAT",
            "formats",
        ),
    ] = None,
    select: Annotated[
        list[str],
        Option(
            ("--select",),
            "Report only codes that begin with these, as in OSP601,OSP3,SC; may be repeated.",
            "CODES",
            "codes",
        ),
    ] = [],
    ignore: Annotated[
        list[str],
        Option(
            ("--ignore",), "Do not report codes that begin with these; may be repeated.", "CODES", "codes"
        ),
    ] = [],
    shellcheck: Annotated[
        bool, Option(("--shellcheck",), "Run shellcheck on the scripts, rendered with default values.")
    ] = False,
    json: JsonOption = False,
) -> int:
    """Check profiles for problems, or explain the rules.

    Each problem is reported as FILE:LINE:COLUMN: SEVERITY CODE MESSAGE, with its line and a hint. A
    comment <!-- lint-waive CODE: REASON --> waives the problems of the element that follows it, or of
    the line that it ends. Problems that keep a profile from being loaded are always reported.

    Exit codes: 0 no errors; 2 wrong usage; 3 errors.

    Examples:
      incarnate lint mysite/profile.xml
      incarnate lint pbs slurm --json
      incarnate lint mysite --shellcheck --format sarif > mysite.sarif
      incarnate lint --explain OSP605
    """
    own = {"--format": format, "--select": select, "--ignore": ignore, "--shellcheck": shellcheck}
    common.check_option("--explain", explain, excludes=own)
    if explain:
        return _explain_rules(files, json=json)
    if not files:
        raise common.UsageError(
            "give a profile: a file, a folder or a name", hint="as in incarnate lint mysite/profile.xml"
        )
    from osprofile.lint.formats import select_findings

    output_format = _choose_format(format, json)
    selected, ignored = _parse_codes(select, "--select"), _parse_codes(ignore, "--ignore")
    findings = [*select_findings(_examine_files(files, profiles, shellcheck), selected, ignored)]
    _print_findings(findings, output_format)
    problems = [p for f in findings for p in f.problems]
    errors = sum(problem.severity == "error" for problem in problems)
    if problems and output_format == "text":
        warnings = pluralize(len(problems) - errors, "warning")
        common.print_message(f"{pluralize(errors, 'error')}, {warnings}")
    return common.INVALID_PROFILE if errors else common.SUCCESS


def _explain_rules(codes: list[str], *, json: bool) -> int:
    from osprofile.lint import RULES
    from osprofile.lint.explanation import find_rule, format_explanation, format_rule_list

    rules = [find_rule(code) for code in codes]
    if json:
        keys = ("code", "severity", "summary", "why", "wrong", "right")
        common.print_json([{k: getattr(r, k) for k in keys} for r in rules or RULES.values()])
    else:
        common.print_result("\n\n".join(map(format_explanation, rules)) or format_rule_list())
    return common.SUCCESS


def _choose_format(requested: str | None, json: bool) -> str:
    if requested is not None and requested not in FORMATS:
        raise common.UsageError(
            f"--format {requested!r} is not known", hint=suggest_names(requested, FORMATS)
        )
    if json and requested not in {None, "json"}:
        raise common.UsageError(f"--json and --format {requested} cannot be used together")
    return "json" if json else requested or "text"


def _parse_codes(words: list[str], option: str) -> tuple[str, ...]:
    """Return the codes, or beginnings of codes, of comma-separated lists."""
    from osprofile.lint import RULES
    from osprofile.lint.rules import is_rule_code

    codes = tuple(part.strip() for word in words for part in word.split(","))
    for code in codes:
        known = any(rule.startswith(code) for rule in RULES) or "SC".startswith(code)
        if not code or not (known or is_rule_code(code.ljust(6, "0"))):
            hint = suggest_names(code, RULES) if code else "use codes, as in OSP601,OSP3"
            raise common.UsageError(f"{option} {code!r}: no code begins with this", hint=hint)
    return codes


def _examine_files(files: list[str], profiles: list[str], shellcheck: bool) -> "list[Findings]":
    from osprofile.lint import examine_file

    repository = common.open_repository(profiles, uses_cache=False)
    extra_rules = {}
    if shellcheck:
        from osprofile.lint import shellcheck as tool

        extra_rules = {tool.CODE_PREFIX: tool.create_shellcheck_rule(tool.find_shellcheck())}
    findings = []
    for name in files:
        is_name = not common.is_profile_path(name) and not os.path.exists(name)
        file = repository.find_file(name) if is_name else name
        findings.append(examine_file(file, repository, extra_rules, name if is_name else ""))
    return findings


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


def _encode_problem(problem: "Problem") -> dict[str, Any]:
    location = problem.location
    return {
        "file": location.file if location else None,
        "line": location.line if location else None,
        "column": location.column if location else None,
        "severity": problem.severity,
        "code": problem.code,
        "message": problem.message,
        "hint": problem.hint,
    }
