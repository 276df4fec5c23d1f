"""`incarnate check`: golden cases that lie in a profile's folder, against what the profile gives now."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, final

from osprofile.cli import common
from osprofile.cli.options import Argument, JsonOption, Option, ProfilesOption

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import NoReturn

    from osprofile.cli.terminal import Report
    from osprofile.golden.cases import Case, CaseSuite
    from osprofile.golden.checker import CaseResult
    from osprofile.profile.model import Profile
    from osprofile.profile.repository import Repository

SAME, DIFFERENT, NO_CASES, BAD_CASES = 0, 1, 2, 3
_DIFF_STYLES = {"+": "added", "-": "removed", "@": "word"}
_UPDATABLE = frozenset({"different", "missing", "stale"})
_SUMMARY_ORDER = (
    "same",
    "different",
    "missing",
    "refused",
    "accepted",
    "stale",
    "written",
    "removed",
)
_ACTION_WORDS = {"different": "written", "missing": "written", "stale": "removed"}
_OUTCOME_SENTENCES = {
    "different": " differs",
    "missing": " has no golden file",
    "refused": " gives no script",
    "accepted": " gives a script, and was to be refused",
    "stale": " is of no case",
}


@final
class ProfileFolder(NamedTuple):
    """A profile's folder, as it was given or found, and where what the profile extends is found."""

    folder: str
    repository: "Repository"


@final
class CheckReport(NamedTuple):
    """What was found of one profile, and what was done: `fixed_files` has the files written and removed.

    `added` has the names of the cases that were added, `skipped` why others could not be.
    """

    folder: str
    profile: "Profile"
    cases: "CaseSuite"
    results: "Sequence[CaseResult]"
    fixed_files: frozenset[str]
    added: tuple[str, ...]
    skipped: "Mapping[str, str]"

    @property
    def open_results(self) -> "list[CaseResult]":
        """The results that are not as they should be, and were not mended."""
        return [r for r in self.results if r.outcome != "same" and r.file not in self.fixed_files]


def check(
    *,
    folders: Annotated[
        list[str],
        Argument(
            "Profiles: folders with a profile.xml, folders of such folders, or names [.].",
            "[DIR|NAME]...",
            "profiles",
        ),
    ] = [],
    case: Annotated[
        list[str],
        Option(
            ("--case", "-c"),
            "Take the cases of such names, as in 'START.*'; may be given again.",
            "GLOB",
            "cases",
        ),
    ] = [],
    update: Annotated[
        bool, Option(("--update",), "Take the scripts as they are now as golden.")
    ] = False,
    add: Annotated[
        bool,
        Option(
            ("--add",),
            "Add a default and a hostile case for each template that has none.",
        ),
    ] = False,
    profiles: ProfilesOption = [],
    json: JsonOption = False,
) -> int:
    """Tell where profiles no longer give the scripts that lie in their folders.

    In a profile's folder golden/cases.toml has requests, each with a name, and golden/NAME.txt has the
    script that the profile gave for it. --add makes cases to start from: with default values, and with
    values that a careless script would take for something else.

    Ends with 0 where all scripts are the same, 1 where something differs, 2 on wrong usage or where
    there is no case, 3 for a bad profile or bad cases.

    Examples:
      incarnate check mysite --add
      incarnate check mysite
      incarnate check profiles --case 'START.*'
      incarnate check mysite --update
    """
    suites = _collect_folders(folders or ["."], profiles)
    chosen = _CaseFilter(case)
    checked, bad = _check_folders(suites, chosen, update=update, add=add)
    if not bad:
        chosen.require_matches(c.cases.cases for c in checked)
    for found in checked:
        _print_notes(found)
    if json and checked:
        common.print_json([_encode_report(found) for found in checked])
    elif not json:
        common.print_result(_format_report(checked))
    if any(result.outcome in _UPDATABLE for found in checked for result in found.open_results):
        common.print_message(
            "    hint: with --update, what the profile gives is golden from then on"
        )
    if bad:
        return BAD_CASES
    if any(found.open_results for found in checked):
        return DIFFERENT
    return SAME if any(found.results for found in checked) else NO_CASES


# Which profiles, which cases


def _collect_folders(words: list[str], profiles: list[str]) -> list[ProfileFolder]:
    """Give the profiles' folders; of one that is given twice, one."""
    from os import path

    repository = common.open_repository(profiles)
    found = dict[str, ProfileFolder]()
    for word in words:
        for suite in _expand_folder(word, profiles, repository):
            found.setdefault(path.realpath(suite.folder), suite)
    return [*found.values()]


def list_case_names(words: list[str], profiles: list[str]) -> list[str]:
    """Give the names of all cases of profiles: for the shell's completion."""
    from osprofile.golden import cases

    suites = _collect_folders(words or ["."], profiles)
    return sorted({name for suite in suites for name in cases.load_cases(suite.folder).cases})


def _expand_folder(
    word: str, profiles: list[str], repository: "Repository"
) -> "Iterator[ProfileFolder]":
    from os import path

    if not common.is_profile_path(word) and not path.exists(word):
        word = repository.find_file(word)
    if not path.isdir(word):
        if path.basename(word) != "profile.xml":
            _raise_no_profile(word)
        yield ProfileFolder(path.dirname(word) or ".", repository)
    elif path.isfile(path.join(word, "profile.xml")):
        yield ProfileFolder(word, repository)
    else:
        inside = _list_profile_folders(word)
        if not inside:
            _raise_no_profile(word)
        # They may extend each other.
        together = common.open_repository([*profiles, word])
        yield from (ProfileFolder(folder, together) for folder in inside)


def _list_profile_folders(directory: str) -> list[str]:
    import os
    from os import path

    inside = "" if directory == "." else directory
    folders = [path.join(inside, name) for name in sorted(os.listdir(directory))]
    return [f for f in folders if path.isfile(path.join(f, "profile.xml"))]


def _raise_no_profile(word: str) -> "NoReturn":
    from os import path

    from osprofile.errors import quote_name

    if not path.exists(word):
        hint = "give the folder of a profile, a folder of such folders, or a name"
        raise common.UsageError(f"there is no folder {quote_name(word)}", hint=hint)
    if path.isdir(word):
        message = f"there is no profile.xml in {quote_name(word)} nor in a folder of it"
        raise common.UsageError(message, hint="give the folder of a profile")
    message = f"{quote_name(word)} has no folder of its own, where golden cases could lie"
    raise common.UsageError(message, hint="make it the profile.xml of a folder")


class _CaseFilter:
    """Says whether a case is asked for, and remembers which of the globs met one."""

    def __init__(self, globs: list[str]) -> None:
        self.globs = globs
        self.matched = set[str]()

    def __call__(self, name: str) -> bool:
        from fnmatch import fnmatchcase

        met = {glob for glob in self.globs if fnmatchcase(name, glob)}
        self.matched |= met
        return bool(met) or not self.globs

    def require_matches(self, suites: "Iterable[Mapping[str, Case]]") -> None:
        """Raise for a glob that met no case: it is a slip."""
        from osprofile.errors import quote_name, suggest_names

        names = {name for cases in suites for name in cases}
        for glob in self.globs:
            if glob not in self.matched:
                message = f"--case {quote_name(glob)}: no case has such a name"
                raise common.UsageError(message, hint=suggest_names(glob, names))


# The work


def _check_folders(
    suites: list[ProfileFolder], case_filter: _CaseFilter, *, update: bool, add: bool
) -> tuple[list[CheckReport], bool]:
    """Check each profile; tell of those that cannot be, and say whether there are any."""
    from osprofile.errors import CasesError, InvalidProfileError

    checked, bad = list[CheckReport](), False
    for suite in suites:
        try:
            checked.append(_check_folder(suite, case_filter, update=update, add=add))
        except (InvalidProfileError, CasesError) as error:
            common.print_error(error)
            bad = True
    return checked, bad


def _check_folder(
    folder: ProfileFolder, case_filter: _CaseFilter, *, update: bool, add: bool
) -> CheckReport:
    from osprofile.golden import cases, writer
    from osprofile.golden import checker as golden
    from osprofile.golden.generator import generate_cases

    profile = folder.repository.load_file(folder.folder)
    have = cases.load_cases(folder.folder, allow_missing=add)
    added, left_out = tuple[str, ...](), dict[str, str]()
    is_new = have.source is None
    if add:
        generated = generate_cases(profile, have).select_cases(case_filter)
        left_out = dict(generated.skipped)
        added = tuple(case.name for case in generated.cases)
        have = writer.add_cases(profile, have, generated) if added else have
    results = golden.check_cases(profile, have, case_filter) if have.cases else []
    wanted = [r for r in results if _should_write(r, added, update=update, is_new=is_new)]
    done = frozenset(r.file for r in writer.update_files(wanted))
    return CheckReport(folder.folder, profile, have, results, done, added, left_out)


def _should_write(
    result: "CaseResult", added: tuple[str, ...], *, update: bool, is_new: bool
) -> bool:
    """Say whether a golden file is to be written or removed where it is not as it should be."""
    if result.outcome == "stale":
        return update and not is_new  # beside no cases yet, files of that name may be anybody's
    return update or (result.outcome == "missing" and result.name in added)


# For people


def _print_notes(report: CheckReport) -> None:
    """Tell what is no difference: warnings, and what there could be."""
    for result in report.results:
        for warning in result.output.warnings:
            common.print_message(f"warning: case {result.name}: {warning}")
    for name, reason in report.skipped.items():
        common.print_message(f"no case {name} was added: {reason}\n    hint: write it by hand")
    if not report.cases.cases:
        hint = f"incarnate check {report.folder} --add writes some to start from"
        common.print_message(f"profile {report.profile.name} has no golden cases\n    hint: {hint}")


def _format_report(checked: "Sequence[CheckReport]") -> str:
    from osprofile.cli.terminal import Report, pluralize

    report = Report(indent=4, label_width=1)
    for found in checked:
        if found.added:
            cases = pluralize(len(found.added), "case")
            report.add_line(f"added     {_format_path(found.cases.cases_path)} ({cases})")
        for result in found.results:
            if result.file in found.fixed_files:
                report.add_line(f"{_ACTION_WORDS[result.outcome]:<9} {_format_path(result.file)}")
    for found in checked:
        for result in found.open_results:
            _add_result(report, result)
    if any(found.results for found in checked):
        report.add_line(_format_summary(checked), "title")
    return str(report)


def _format_summary(checked: "Sequence[CheckReport]") -> str:
    from collections import Counter

    from osprofile.cli.terminal import pluralize

    kinds = Counter[str]()
    for found in checked:
        for result in found.results:
            kinds[
                _ACTION_WORDS[result.outcome]
                if result.file in found.fixed_files
                else result.outcome
            ] += 1
    stale = kinds["stale"] + kinds["removed"]
    told = ", ".join(f"{kinds[kind]} {kind}" for kind in _SUMMARY_ORDER if kinds[kind])
    profiles = pluralize(sum(bool(found.results) for found in checked), "profile")
    return f"{profiles}, {pluralize(kinds.total() - stale, 'case')}: {told}"


def _add_result(report: "Report", result: "CaseResult") -> None:
    from osprofile.cli.diff import format_diff
    from osprofile.cli.terminal import format_location
    from osprofile.errors import escape_unprintable

    place = (
        _format_path(result.file) if result.case is None else format_location(result.case.location)
    )
    report.add_heading(
        escape_unprintable(result.name), _OUTCOME_SENTENCES[result.outcome], place, "changed"
    )
    error = result.output.error
    if error is not None:
        report.add_row(
            "!", escape_unprintable(error.message), format_location(error.location), "removed"
        )
        if error.hint:
            report.add_row("", f"hint: {escape_unprintable(error.hint)}")
    if result.outcome == "different" and result.golden_data is not None:
        names = _format_path(result.file), "what the profile gives"
        for line in format_diff(
            _decode_output(result.golden_data), _decode_output(result.output.data), names
        ):
            report.add_line(line, _DIFF_STYLES.get(line[:1], ""))
    report.add_line()


def _decode_output(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _format_path(file: str) -> str:
    """Give a path; of a file below the working directory, its path from there."""
    import os

    from osprofile.errors import escape_unprintable

    return escape_unprintable(os.path.normpath(file).removeprefix(os.getcwd() + os.sep))


# For programs


def _encode_report(report: CheckReport) -> dict[str, Any]:
    return {
        "profile": report.profile.name,
        "folder": report.folder,
        "different": bool(report.open_results),
        "added": list(report.added),
        "not_added": dict(report.skipped),
        "cases": [
            _encode_result(result, result.file in report.fixed_files) for result in report.results
        ],
    }


def _encode_result(result: "CaseResult", done: bool) -> dict[str, Any]:
    from osprofile.cli.diff import format_diff

    case, error, difference = result.case, result.output.error, list[str]()
    if result.outcome == "different" and result.golden_data is not None:
        names = result.file, "what the profile gives"
        difference = list(
            format_diff(
                _decode_output(result.golden_data), _decode_output(result.output.data), names
            )
        )
    return {
        "name": result.name,
        "result": result.outcome.value,
        "done": _ACTION_WORDS[result.outcome] if done else None,
        "file": result.file,
        "place": str(case.location) if case is not None and case.location is not None else None,
        "template": case and case.template,
        "variation": case and case.variation,
        "error": error and error.message,
        "error_place": str(error.location)
        if error is not None and error.location is not None
        else None,
        "difference": difference,
    }
