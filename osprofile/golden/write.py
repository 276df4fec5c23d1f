"""Golden files taken anew, and cases put behind those that a file has."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from osprofile.errors import CasesError, OSProfileError
from osprofile.golden import files, toml
from osprofile.golden.cases import parse
from osprofile.golden.check import WRITTEN, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from osprofile.golden.cases import Case, Cases
    from osprofile.golden.check import Result
    from osprofile.golden.generate import Generated
    from osprofile.profile.model import Profile


def renew(results: Iterable[Result]) -> list[Result]:
    """Write the golden files that differ or are missing, remove the stale ones; give the results.

    Each file is written as a whole or not at all. Raises `OSError`.
    """
    done = []
    for result in results:
        if result.kind in WRITTEN:
            files.write(result.file, result.made.data)
            done.append(result)
        elif result.kind is Kind.STALE:
            with contextlib.suppress(FileNotFoundError):  # somebody else was quicker
                os.unlink(result.file)
            done.append(result)
    return done


def add(profile: Profile, have: Cases, generated: Generated) -> Cases:
    """Write generated cases behind those of the file, which stay as they are; give them all.

    Raises `CasesError` where the file is written in a way that has no room for more, `OSError`.
    """
    data = document(profile, generated).encode()
    if have.source is not None:
        old = have.source.data
        end = b"\r\n" if b"\r\n" in old else b"\n"
        gap = b"" if old.endswith(b"\n") or not old else end
        new = (line.encode() for line in case_lines(generated))
        data = old + gap + b"".join(line + end for line in new)
    try:
        cases = parse(have.file, data)
    except CasesError:
        message = f"{have.file}: no table can be added behind its last line"
        hint = "write its cases as tables of their own: [case.NAME]"
        raise CasesError([OSProfileError(message, hint=hint)]) from None
    files.write(have.file, data)
    return cases


def document(profile: Profile, generated: Generated) -> str:
    """Give a new `cases.toml`."""
    lines = [
        f"# Golden cases of the profile {profile.name}: NAME.txt has what the case NAME gives.",
        "# `incarnate check` tells what differs; with --update that is golden from then on.",
        "",
        "[context]",
        *(f"{toml.key(name)} = {toml.string(v)}" for name, v in generated.context.items()),
        *case_lines(generated),
    ]
    return "\n".join([*lines, ""])


def case_lines(generated: Generated) -> Iterator[str]:
    """Give the lines of the cases, each case behind an empty line."""
    for case in generated.cases:
        yield ""
        yield from _lines(case, generated)


def _lines(case: Case, generated: Generated) -> Iterator[str]:
    yield f"[{toml.key('case', case.name)}]"
    yield f"template = {toml.string(case.template)}"
    if case.variation:
        yield f"variation = {toml.string(case.variation)}"
    own = {n: v for n, v in case.context.items() if generated.context.get(n) != v}
    for what, values in (("fields", case.fields), ("context", own)):
        yield from (f"{toml.key(what, n)} = {toml.string(v)}" for n, v in values.items())
