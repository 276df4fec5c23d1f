"""Golden cases against what a profile makes of them now."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import (
    CasesError,
    IncarnationError,
    JavaRegexTimeoutError,
    NotFoundError,
    OSProfileError,
    format_message,
)
from osprofile.golden import files
from osprofile.golden.cases import CASE_NAME
from osprofile.incarnation.incarnate import incarnate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from osprofile.golden.cases import Case, CaseSuite
    from osprofile.profile.model import Profile


@final
class CaseOutcome(StrEnum):
    """What became of a case; the values are words for people and programs."""

    SAME = "same"
    DIFFERENT = "different"
    MISSING = "missing"
    """It has no golden file."""
    REFUSED = "refused"
    """It gives no script, and was to give one."""
    ACCEPTED = "accepted"
    """It gives a script, and was to be refused."""
    STALE = "stale"
    """A golden file of no case."""


REWRITABLE: Final = frozenset({CaseOutcome.DIFFERENT, CaseOutcome.MISSING})
"""What is mended by writing the golden file anew; the rest but STALE is for people to judge."""


@final
class CaseOutput(NamedTuple):
    """What a profile makes of a case: the bytes of its golden file, or why there are none.

    For a case that is to be refused, the bytes are the error's words, without a place: that is
    another on each machine. `error` is there where a script was wanted and refused.
    """

    data: bytes
    error: OSProfileError | None = None
    warnings: tuple[str, ...] = ()
    wrongly_accepted: bool = False


@final
class CaseResult(NamedTuple):
    """One case, or one golden file of none: what was found. `golden_data` is None where there is no file."""

    name: str
    outcome: CaseOutcome
    file: str
    case: Case | None
    golden_data: bytes | None
    output: CaseOutput


_NO_OUTPUT: Final = CaseOutput(b"")


def incarnate_case(profile: Profile, case: Case) -> CaseOutput:
    """Incarnate a case.

    Raises `NotFoundError` for a template, variation or application that the profile lacks,
    `InvalidProfileError` for a fault in it.
    """
    try:
        found = incarnate(
            profile,
            case.template,
            variation=case.variation,
            application=case.application,
            fields=case.fields,
            context=case.context,
            strict=True,
        )
    except (IncarnationError, JavaRegexTimeoutError) as error:
        if not case.must_be_refused:
            return CaseOutput(b"", error)
        return CaseOutput((format_message(error.message, hint=error.hint) + "\n").encode())
    return CaseOutput(found.text.encode(), None, found.warnings, case.must_be_refused)


def compare_case(
    case: Case, file: str, output: CaseOutput, golden_data: bytes | None
) -> CaseResult:
    """Compare what a profile makes of a case with the content of its golden file."""
    if output.error is not None:
        kind = CaseOutcome.REFUSED
    elif output.wrongly_accepted:
        kind = CaseOutcome.ACCEPTED
    elif golden_data is None:
        kind = CaseOutcome.MISSING
    else:
        kind = CaseOutcome.SAME if golden_data == output.data else CaseOutcome.DIFFERENT
    return CaseResult(case.name, kind, file, case, golden_data, output)


def check_cases(
    profile: Profile, cases: CaseSuite, is_selected: Callable[[str], bool] = lambda _name: True
) -> list[CaseResult]:
    """Give the result of every case that is chosen by its name, then the stale golden files.

    Raises `CasesError` for cases that name what the profile lacks and for golden files that cannot
    be read, with all of them; `InvalidProfileError`.
    """
    results, errors = list[CaseResult](), list[OSProfileError]()
    for case in cases.cases.values():
        if is_selected(case.name):
            file = cases.golden_path(case.name)
            try:
                results.append(
                    compare_case(case, file, incarnate_case(profile, case), files.read_file(file))
                )
            except NotFoundError as error:
                message = f"case {case.name}: {error.message}"
                errors.append(OSProfileError(message, location=case.location, hint=error.hint))
            except CasesError as error:
                errors += error.errors
    if errors:
        raise CasesError(errors)
    return [*results, *_list_stale_files(cases, is_selected)]


def _list_stale_files(cases: CaseSuite, is_selected: Callable[[str], bool]) -> Iterable[CaseResult]:
    for name in files.list_golden_files(cases.folder):
        # What is called as no case can be is somebody else's.
        if name not in cases.cases and CASE_NAME.fullmatch(name) and is_selected(name):
            yield CaseResult(
                name, CaseOutcome.STALE, cases.golden_path(name), None, None, _NO_OUTPUT
            )
