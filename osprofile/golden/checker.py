"""Compares golden files with the scripts that a profile gives now."""

from __future__ import annotations

from enum import StrEnum
from os import path as paths
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.errors import (
    CasesError,
    IncarnationError,
    JavaRegexTimeoutError,
    NotFoundError,
    OSProfileError,
    TargetError,
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
    """The outcome of a case; the values are part of the output of `incarnate check`."""

    SAME = "same"
    DIFFERENT = "different"
    MISSING = "missing"
    """The case has no golden file."""
    REFUSED = "refused"
    """The request is refused, but should give a script."""
    ACCEPTED = "accepted"
    """The request gives a script, but should be refused."""
    STALE = "stale"
    """A golden file without a case."""


REWRITABLE: Final = frozenset({CaseOutcome.DIFFERENT, CaseOutcome.MISSING})
"""The outcomes for which `--update` writes the golden file; it removes STALE ones."""


@final
class CaseOutput(NamedTuple):
    """The output of a profile for a case: the content of its golden file, or an error.

    The content for a case that must be refused is the error message, without its location, which differs
    between machines. `error` is set if a request is refused that should not be.
    """

    data: bytes
    error: OSProfileError | None = None
    warnings: tuple[str, ...] = ()
    wrongly_accepted: bool = False


@final
class CaseResult(NamedTuple):
    """The result of a case, or of a golden file without one.

    `golden_data` is None if the file is missing; `inherited_data` is what it has for a profile that this one extends,
    which counts if this one has no file of its own.
    """

    name: str
    outcome: CaseOutcome
    file: str
    case: Case | None
    golden_data: bytes | None
    output: CaseOutput
    inherited_data: bytes | None = None

    @property
    def is_inherited(self) -> bool:
        """Whether the output is what the golden file of a profile that this one extends has: no other is needed."""
        return self.case is not None and self.output.data == self.inherited_data


_NO_OUTPUT: Final = CaseOutput(b"")


def incarnate_case(profile: Profile, case: Case) -> CaseOutput:
    """Return the output of a profile for a case.

    Raises `NotFoundError` for an unknown template, variation or application, and `InvalidProfileError`
    for an error in the profile.
    """
    try:
        incarnation = incarnate(
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
    return CaseOutput(incarnation.comparable_text.encode(), None, incarnation.warnings, case.must_be_refused)


def read_states_case(profile: Profile, suite: CaseSuite, case: Case) -> CaseOutput:
    """Return how a profile understands the captured output of a case.

    Raises `CasesError` if there is no such file, and what `read_capture` raises, except a `TargetError`.
    """
    from osprofile.golden.captures import format_jobs, read_capture

    path = paths.join(suite.folder, case.states)
    data = files.read_file(path)
    if data is None:
        hint = "it has the output of a command of the batch system"
        raise files.make_error(f"case {case.name}: there is no file {path}", hint, case.location)
    try:
        return CaseOutput(format_jobs(read_capture(profile, data)).encode())
    except TargetError as error:
        return CaseOutput(b"", error)


def compare_case(
    case: Case, file: str, output: CaseOutput, golden_data: bytes | None, inherited_data: bytes | None = None
) -> CaseResult:
    """Compare the output for a case with the content of its golden file, or else with what is inherited."""
    expected_data = inherited_data if golden_data is None else golden_data
    if output.error is not None:
        outcome = CaseOutcome.REFUSED
    elif output.wrongly_accepted:
        outcome = CaseOutcome.ACCEPTED
    elif expected_data is None:
        outcome = CaseOutcome.MISSING
    else:
        outcome = CaseOutcome.SAME if expected_data == output.data else CaseOutcome.DIFFERENT
    return CaseResult(case.name, outcome, file, case, golden_data, output, inherited_data)


def list_inherited_folders(profile: Profile, suite: CaseSuite) -> list[str]:
    """Return the folders of golden cases of the profiles that a profile extends, the nearest first.

    They count only if they lie beside its own folder: who has one has the other.
    """
    directory = paths.realpath(paths.join(suite.folder, "../.."))
    folders = [paths.dirname(document.element.source.name) for document in profile.documents[1:]]
    return [files.locate_folder(f) for f in folders if paths.dirname(paths.realpath(f or ".")) == directory]


def read_inherited_file(folders: Iterable[str], name: str) -> bytes | None:
    """Return what the golden file of a case has in the first folder that has it, or None."""
    contents = (files.read_file(paths.join(folder, name + files.GOLDEN_SUFFIX)) for folder in folders)
    return next((data for data in contents if data is not None), None)


def check_cases(
    profile: Profile, suite: CaseSuite, is_selected: Callable[[str], bool] = lambda _name: True
) -> list[CaseResult]:
    """Return the results of the cases with selected names, then of the stale golden files.

    Raises `CasesError` with all unknown templates, variations and applications, and all golden files that
    cannot be read; raises `InvalidProfileError`.
    """
    results, errors = list[CaseResult](), list[OSProfileError]()
    inherited_folders = list_inherited_folders(profile, suite)
    for case in suite.cases.values():
        if is_selected(case.name):
            file = suite.get_golden_path(case.name)
            try:
                output = (
                    read_states_case(profile, suite, case) if case.states else incarnate_case(profile, case)
                )
                inherited_data = read_inherited_file(inherited_folders, case.name)
                results.append(compare_case(case, file, output, files.read_file(file), inherited_data))
            except NotFoundError as error:
                message = f"case {case.name}: {error.message}"
                errors.append(OSProfileError(message, location=case.location, hint=error.hint))
            except CasesError as error:
                errors += error.errors
    if errors:
        raise CasesError(errors)
    return [*results, *_list_stale_files(suite, is_selected)]


def _list_stale_files(suite: CaseSuite, is_selected: Callable[[str], bool]) -> Iterable[CaseResult]:
    for name in files.list_golden_files(suite.folder):
        # A file whose name no case can have is not a golden file.
        if name not in suite.cases and CASE_NAME.fullmatch(name) and is_selected(name):
            yield CaseResult(name, CaseOutcome.STALE, suite.get_golden_path(name), None, None, _NO_OUTPUT)
