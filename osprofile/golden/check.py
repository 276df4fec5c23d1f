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
    tell,
)
from osprofile.golden import files
from osprofile.golden.cases import NAME
from osprofile.incarnation.incarnate import incarnate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from osprofile.golden.cases import Case, Cases
    from osprofile.profile.model import Profile


@final
class Kind(StrEnum):
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


WRITTEN: Final = frozenset({Kind.DIFFERENT, Kind.MISSING})
"""What is mended by writing the golden file anew; the rest but STALE is for people to judge."""


@final
class Made(NamedTuple):
    """What a profile makes of a case: the bytes of its golden file, or why there are none.

    For a case that is to be refused, the bytes are the error's words, without a place: that is
    another on each machine. `error` is there where a script was wanted and refused.
    """

    data: bytes
    error: OSProfileError | None = None
    warnings: tuple[str, ...] = ()
    accepted: bool = False


@final
class Result(NamedTuple):
    """One case, or one golden file of none: what was found. `old` is None where there is no file."""

    name: str
    kind: Kind
    file: str
    case: Case | None
    old: bytes | None
    made: Made


_NOTHING: Final = Made(b"")


def make(profile: Profile, case: Case) -> Made:
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
        if not case.refused:
            return Made(b"", error)
        return Made((tell(error.message, hint=error.hint) + "\n").encode())
    return Made(found.text.encode(), None, found.warnings, case.refused)


def judge(case: Case, file: str, made: Made, old: bytes | None) -> Result:
    """Compare what a profile makes of a case with the content of its golden file."""
    if made.error is not None:
        kind = Kind.REFUSED
    elif made.accepted:
        kind = Kind.ACCEPTED
    elif old is None:
        kind = Kind.MISSING
    else:
        kind = Kind.SAME if old == made.data else Kind.DIFFERENT
    return Result(case.name, kind, file, case, old, made)


def check(
    profile: Profile, cases: Cases, chosen: Callable[[str], bool] = lambda _name: True
) -> list[Result]:
    """Give the result of every case that is chosen by its name, then the stale golden files.

    Raises `CasesError` for cases that name what the profile lacks and for golden files that cannot
    be read, with all of them; `InvalidProfileError`.
    """
    results, errors = list[Result](), list[OSProfileError]()
    for case in cases.cases.values():
        if chosen(case.name):
            file = cases.golden(case.name)
            try:
                results.append(judge(case, file, make(profile, case), files.read(file)))
            except NotFoundError as error:
                message = f"case {case.name}: {error.message}"
                errors.append(OSProfileError(message, place=case.place, hint=error.hint))
            except CasesError as error:
                errors += error.errors
    if errors:
        raise CasesError(errors)
    return [*results, *_stale(cases, chosen)]


def _stale(cases: Cases, chosen: Callable[[str], bool]) -> Iterable[Result]:
    for name in files.golden_files(cases.folder):
        # What is called as no case can be is somebody else's.
        if name not in cases.cases and NAME.fullmatch(name) and chosen(name):
            yield Result(name, Kind.STALE, cases.golden(name), None, None, _NOTHING)
