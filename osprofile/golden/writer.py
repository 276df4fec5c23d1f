"""Golden files taken anew, and cases put behind those that a file has."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from osprofile.errors import CasesError, OSProfileError
from osprofile.golden import files, toml
from osprofile.golden.cases import parse_cases
from osprofile.golden.checker import REWRITABLE, CaseOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from osprofile.golden.cases import Case, CaseSuite
    from osprofile.golden.checker import CaseResult
    from osprofile.golden.generator import GeneratedCases
    from osprofile.profile.model import Profile


def update_files(results: Iterable[CaseResult]) -> list[CaseResult]:
    """Write the golden files that differ or are missing, remove the stale ones; give the results.

    Each file is written as a whole or not at all. Raises `OSError`.
    """
    done = []
    for result in results:
        if result.outcome in REWRITABLE:
            files.write_file(result.file, result.output.data)
            done.append(result)
        elif result.outcome is CaseOutcome.STALE:
            with contextlib.suppress(FileNotFoundError):  # somebody else was quicker
                os.unlink(result.file)
            done.append(result)
    return done


def add_cases(profile: Profile, existing: CaseSuite, generated: GeneratedCases) -> CaseSuite:
    """Write generated cases behind those of the file, which stay as they are; give them all.

    Raises `CasesError` where the file is written in a way that has no room for more, `OSError`.
    """
    data = format_cases_file(profile, generated).encode()
    if existing.source is not None:
        old = existing.source.data
        end = b"\r\n" if b"\r\n" in old else b"\n"
        gap = b"" if old.endswith(b"\n") or not old else end
        new = (line.encode() for line in format_cases(generated))
        data = old + gap + b"".join(line + end for line in new)
    try:
        cases = parse_cases(existing.cases_path, data)
    except CasesError:
        message = f"{existing.cases_path}: no table can be added behind its last line"
        hint = "write its cases as tables of their own: [case.NAME]"
        raise CasesError([OSProfileError(message, hint=hint)]) from None
    files.write_file(existing.cases_path, data)
    return cases


def format_cases_file(profile: Profile, generated: GeneratedCases) -> str:
    """Give a new `read_cases.toml`."""
    lines = [
        f"# Golden cases of the profile {profile.name}: NAME.txt has what the case NAME gives.",
        "# `incarnate check` tells what differs; with --update that is golden from then on.",
        "",
        "[context]",
        *(
            f"{toml.format_key(name)} = {toml.format_string(v)}"
            for name, v in generated.context.items()
        ),
        *format_cases(generated),
    ]
    return "\n".join([*lines, ""])


def format_cases(generated: GeneratedCases) -> Iterator[str]:
    """Give the lines of the cases, each case behind an empty line."""
    for case in generated.cases:
        yield ""
        yield from _format_case(case, generated)


def _format_case(case: Case, generated: GeneratedCases) -> Iterator[str]:
    yield f"[{toml.format_key('case', case.name)}]"
    yield f"template = {toml.format_string(case.template)}"
    if case.variation:
        yield f"variation = {toml.format_string(case.variation)}"
    own = {n: v for n, v in case.context.items() if generated.context.get(n) != v}
    for what, values in (("fields", case.fields), ("context", own)):
        yield from (
            f"{toml.format_key(what, n)} = {toml.format_string(v)}" for n, v in values.items()
        )
