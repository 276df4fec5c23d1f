"""What the linter found, in the formats of other tools: GitHub's workflow commands, and SARIF.

Each function is pure; what a profile holds cannot break out of a format.
"""

from __future__ import annotations

import os.path
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from osprofile.errors import plain
from osprofile.lint.rules import RULES, UNLOADABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from osprofile.errors import Problem
    from osprofile.lint.linter import Findings
    from osprofile.lint.waivers import Waived

Json = dict[str, Any]

SARIF_SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
SARIF_VERSION: Final = "2.1.0"
SHELLCHECK_WIKI: Final = "https://www.shellcheck.net/wiki/"

_DATA: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY: Final = _DATA | str.maketrans({":": "%3A", ",": "%2C"})
"""What the runner of GitHub Actions undoes in the message and in the properties of a command."""


def github(findings: Iterable[Findings]) -> str:
    """Give a workflow command a problem: `::error file=...,line=...,col=...,title=CODE::message`.

    GitHub shows them beside the lines of a change. A problem is one line, whatever it holds.
    """
    return "\n".join(_command(found.file, p) for found in findings for p in found.problems)


def _command(file: str, found: Problem) -> str:
    properties = {"file": found.place.file if found.place else file}
    if found.place:
        line, column = found.place.source.locate(found.place.offset)
        properties |= {"line": str(line), "col": str(column)}
    properties["title"] = found.code
    told = ",".join(f"{n}={plain(v).translate(_PROPERTY)}" for n, v in properties.items())
    return f"::{found.severity} {told}::{plain(_message(found)).translate(_DATA)}"


def _message(found: Problem) -> str:
    return f"{found.message}\n{found.hint}" if found.hint else found.message


def sarif(findings: Iterable[Findings], version: str) -> Json:
    """Give a SARIF 2.1.0 log with one run; `version` is the linter's.

    A problem with a waiver is a result that is suppressed in the source (3.27.23). Paths below the
    current directory stand as they were given, relative to the root of the sources; others as URIs.
    """
    findings = [*findings]
    told: list[tuple[str, Problem, Waived | None]] = []
    told += [(f.file, p, None) for f in findings for p in f.problems]
    told += [(f.file, w.problem, w) for f in findings for w in f.waived]
    codes = sorted({found.code for _, found, _ in told})
    index = {code: n for n, code in enumerate(codes)}
    run: Json = {
        "tool": {"driver": _driver(version, codes)},
        "columnKind": "unicodeCodePoints",
        "results": [_result(file, found, index, waived) for file, found, waived in told],
    }
    return {"$schema": SARIF_SCHEMA, "version": SARIF_VERSION, "runs": [run]}


def _driver(version: str, codes: Sequence[str]) -> Json:
    return {"name": "osprofile", "version": version, "rules": [*map(_rule, codes)]}


def _rule(code: str) -> Json:
    """Give a reportingDescriptor (3.49)."""
    rule = RULES.get(code)
    if rule is None:  # shellcheck's
        return {"id": code, "helpUri": SHELLCHECK_WIKI + code}
    return {
        "id": code,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.why}\nMore: incarnate explain {code}"},
        "defaultConfiguration": {"level": rule.severity},
    }


def _result(file: str, found: Problem, index: Mapping[str, int], waived: Waived | None) -> Json:
    result: Json = {
        "ruleId": found.code,
        "ruleIndex": index[found.code],
        "level": found.severity,
        "message": {"text": plain(_message(found))},
        "locations": [{"physicalLocation": _location(file, found)}],
    }
    if waived is not None:
        reason = plain(waived.waiver.reason)
        result["suppressions"] = [{"kind": "inSource", "justification": reason}]
    return result


def _location(file: str, found: Problem) -> Json:
    """Give a physicalLocation (3.29): of a file that cannot be read, without a region."""
    if found.place is None:
        return {"artifactLocation": {"uri": uri(file)}}
    line, column = found.place.source.locate(found.place.offset)
    return {
        "artifactLocation": {"uri": uri(found.place.file)},
        "region": {"startLine": line, "startColumn": column},
    }


def uri(file: str) -> str:
    """Give a path as a URI reference: relative as it is, else with the scheme `file`.

    A relative path that leads upwards is made absolute: a reader of the log has another directory.
    """
    path = os.path.normpath(file)
    if os.path.isabs(path) or path.split(os.sep, 1)[0] == os.pardir:
        return Path(os.path.abspath(path)).as_uri()
    return quote(path.encode("utf-8", "surrogateescape"))


def selected(
    findings: Iterable[Findings], select: Sequence[str], ignore: Sequence[str]
) -> Iterator[Findings]:
    """Give what was found, less the codes that are not wanted.

    Both have what codes begin with; with nothing in `select` all are. What keeps a profile from
    loading is always told.
    """

    def wanted(found: Problem) -> bool:
        if found.code in UNLOADABLE:
            return True
        return found.code.startswith(tuple(select or [""])) and not (
            found.code.startswith(tuple(ignore))
        )

    for found in findings:
        yield found._replace(
            problems=[p for p in found.problems if wanted(p)],
            waived=[w for w in found.waived if wanted(w.problem)],
        )
