"""The linter's findings in the formats of other tools: GitHub's workflow commands, and SARIF.

Texts from a profile are escaped, so that they cannot break a format.
"""

from __future__ import annotations

import os.path
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from osprofile.lint.rules import RULES, UNLOADABLE
from osprofile.text import replace_unprintable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from osprofile.errors import Problem
    from osprofile.lint.linter import Findings
    from osprofile.lint.waivers import WaivedProblem

Json = dict[str, Any]

SARIF_SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
SARIF_VERSION: Final = "2.1.0"
SHELLCHECK_WIKI: Final = "https://www.shellcheck.net/wiki/"

_DATA_ESCAPES: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY_ESCAPES: Final = _DATA_ESCAPES | str.maketrans({":": "%3A", ",": "%2C"})
"""Escapes for the message and for the properties of a command, which GitHub's runner decodes."""


def _make_printable(text: str) -> str:
    return replace_unprintable(text, keep="\n")


def format_github(findings: Iterable[Findings]) -> str:
    """Return a workflow command per problem: `::error file=...,line=...,col=...,title=CODE::message`.

    GitHub shows them beside the lines of a change. Each problem is one line.
    """
    return "\n".join(_format_command(f.file, p) for f in findings for p in f.problems)


def _format_command(file: str, problem: Problem) -> str:
    properties = {"file": problem.location.file if problem.location else file}
    if problem.location:
        line, column = problem.location.source.get_line_and_column(problem.location.offset)
        properties |= {"line": str(line), "col": str(column)}
    properties["title"] = problem.code
    encoded = ",".join(
        f"{n}={_make_printable(v).translate(_PROPERTY_ESCAPES)}" for n, v in properties.items()
    )
    return f"::{problem.severity} {encoded}::{_make_printable(_format_message(problem)).translate(_DATA_ESCAPES)}"


def _format_message(problem: Problem) -> str:
    return f"{problem.message}\n{problem.hint}" if problem.hint else problem.message


def format_sarif(findings: Iterable[Findings], version: str) -> Json:
    """Return a SARIF 2.1.0 log with one run; `version` is the linter's.

    A waived problem is a result that is suppressed in the source (SARIF 2.1.0, 3.27.23). Paths below
    the current directory are kept, relative to the root of the sources; others become URIs.
    """
    findings = [*findings]
    results: list[tuple[str, Problem, WaivedProblem | None]] = []
    results += [(f.file, p, None) for f in findings for p in f.problems]
    results += [(f.file, w.problem, w) for f in findings for w in f.waived]
    codes = sorted({problem.code for _, problem, _ in results})
    rule_indices = {code: n for n, code in enumerate(codes)}
    run: Json = {
        "tool": {"driver": _build_driver(version, codes)},
        "columnKind": "unicodeCodePoints",
        "results": [_build_result(file, problem, rule_indices, waived) for file, problem, waived in results],
    }
    return {"$schema": SARIF_SCHEMA, "version": SARIF_VERSION, "runs": [run]}


def _build_driver(version: str, codes: Sequence[str]) -> Json:
    return {"name": "osprofile", "version": version, "rules": [*map(_build_rule, codes)]}


def _build_rule(code: str) -> Json:
    """Return a reportingDescriptor (SARIF 2.1.0, 3.49)."""
    rule = RULES.get(code)
    if rule is None:  # shellcheck's
        return {"id": code, "helpUri": SHELLCHECK_WIKI + code}
    return {
        "id": code,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.why}\nMore: incarnate lint --explain {code}"},
        "defaultConfiguration": {"level": rule.severity},
    }


def _build_result(
    file: str, problem: Problem, rule_indices: Mapping[str, int], waived: WaivedProblem | None
) -> Json:
    result: Json = {
        "ruleId": problem.code,
        "ruleIndex": rule_indices[problem.code],
        "level": problem.severity,
        "message": {"text": _make_printable(_format_message(problem))},
        "locations": [{"physicalLocation": _build_location(file, problem)}],
    }
    if waived is not None:
        reason = _make_printable(waived.waiver.reason)
        result["suppressions"] = [{"kind": "inSource", "justification": reason}]
    return result


def _build_location(file: str, problem: Problem) -> Json:
    """Return a physicalLocation (SARIF 2.1.0, 3.29), without a region for an unreadable file."""
    if problem.location is None:
        return {"artifactLocation": {"uri": format_uri(file)}}
    line, column = problem.location.source.get_line_and_column(problem.location.offset)
    return {
        "artifactLocation": {"uri": format_uri(problem.location.file)},
        "region": {"startLine": line, "startColumn": column},
    }


def format_uri(file: str) -> str:
    """Return a path as a URI reference: a relative one, or one with the scheme `file`.

    A relative path that leads upwards becomes absolute, since the root of the sources is not known.
    """
    path = os.path.normpath(file)
    if os.path.isabs(path) or path.split(os.sep, 1)[0] == os.pardir:
        return Path(os.path.abspath(path)).as_uri()
    return quote(path.encode("utf-8", "surrogateescape"))


def select_findings(
    findings: Iterable[Findings], select: Sequence[str], ignore: Sequence[str]
) -> Iterator[Findings]:
    """Yield the findings whose codes begin with one of `select`, and with none of `ignore`.

    An empty `select` selects all codes. Problems that keep a profile from loading are always selected.
    """

    def is_selected(problem: Problem) -> bool:
        if problem.code in UNLOADABLE:
            return True
        return problem.code.startswith(tuple(select or [""])) and not (problem.code.startswith(tuple(ignore)))

    for file_findings in findings:
        yield file_findings._replace(
            problems=[p for p in file_findings.problems if is_selected(p)],
            waived=[w for w in file_findings.waived if is_selected(w.problem)],
        )
