"""Writes golden files, and appends cases to `cases.toml`."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from osprofile.errors import CasesError
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
    """Write the golden files that differ or are missing; remove stale ones, and copies of what is inherited.

    Return their results. Each file is replaced in one step. Raises `OSError`.
    """
    updated = []
    for result in results:
        if result.outcome is CaseOutcome.STALE or (result.is_inherited and result.golden_data is not None):
            with contextlib.suppress(FileNotFoundError):  # another process has removed it
                os.unlink(result.file)
            updated.append(result)
        elif result.outcome in REWRITABLE:
            files.write_file(result.file, result.output.data)
            updated.append(result)
    return updated


def add_cases(profile: Profile, suite: CaseSuite, generated: GeneratedCases) -> CaseSuite:
    """Append generated cases to the file, whose text is kept, and return all cases.

    Raises `CasesError` if the file's syntax does not allow it, as if `case` is an inline table; raises
    `OSError`.
    """
    data = format_cases_file(profile, generated).encode()
    if suite.source is not None:
        current_data = suite.source.data
        line_end = b"\r\n" if b"\r\n" in current_data else b"\n"
        last_line_end = b"" if current_data.endswith(b"\n") or not current_data else line_end
        new_lines = (line.encode() for line in format_cases(generated))
        data = current_data + last_line_end + b"".join(line + line_end for line in new_lines)
    # Parsed before it is written: the file must not become invalid.
    try:
        cases = parse_cases(suite.cases_path, data)
    except CasesError:
        message = f"{suite.cases_path}: no table can be appended"
        hint = "write its cases as separate tables: [case.NAME]"
        raise files.make_error(message, hint) from None
    files.write_file(suite.cases_path, data)
    return cases


def format_cases_file(profile: Profile, generated: GeneratedCases) -> str:
    """Return the text of a new `cases.toml`."""
    lines = [
        f"# Golden cases of the profile {profile.name}: NAME.txt has the script of the case NAME.",
        "# `incarnate check` shows what differs; with --update it writes the golden files.",
        "",
        "[context]",
        *(f"{toml.format_key(name)} = {toml.format_string(v)}" for name, v in generated.context.items()),
        *format_cases(generated),
    ]
    return "\n".join([*lines, ""])


def format_cases(generated: GeneratedCases) -> Iterator[str]:
    """Yield the lines of the cases, with an empty line before each case."""
    for case in generated.cases:
        yield ""
        yield from _format_case(case, generated)


def _format_case(case: Case, generated: GeneratedCases) -> Iterator[str]:
    yield f"[{toml.format_key('case', case.name)}]"
    yield f"template = {toml.format_string(case.template)}"
    if case.variation:
        yield f"variation = {toml.format_string(case.variation)}"
    extra = {n: v for n, v in case.context.items() if generated.context.get(n) != v}
    for table, values in (("fields", case.fields), ("context", extra)):
        yield from (f"{toml.format_key(table, n)} = {toml.format_string(v)}" for n, v in values.items())
