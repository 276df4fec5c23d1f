"""`incarnate check`: compares a profile's golden files with the scripts that it gives now.

With --states, it shows how a profile understands captured output of its batch system.
"""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, final

from osprofile.cli import common
from osprofile.cli.options import Argument, JsonOption, Option, ProfilesOption
from osprofile.cli.terminal import Report, format_diff, format_location, format_path
from osprofile.errors import CasesError, InvalidProfileError
from osprofile.text import escape_unprintable, pluralize, quote_name, suggest_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import NoReturn

    from osprofile.golden.cases import Case, CaseSuite
    from osprofile.golden.checker import CaseResult
    from osprofile.jobs.state import JobStatus
    from osprofile.profile.model import Profile
    from osprofile.profile.repository import Repository

_UPDATABLE = frozenset({"different", "missing", "stale"})
_SUMMARY_ORDER = ("same", "different", "missing", "refused", "accepted", "stale", "written", "removed")
_NEW_SIDE = "what the profile gives"
_OUTCOME_SENTENCES = {
    "different": " differs",
    "missing": " has no golden file",
    "refused": " is refused, but should give a script",
    "accepted": " gives a script, but should be refused",
    "stale": " belongs to no case",
}


@final
class ProfileFolder(NamedTuple):
    """A profile's folder, and the repository that has the profiles that it extends."""

    folder: str
    repository: "Repository"


@final
class CheckReport(NamedTuple):
    """The results of one profile's cases.

    `fixed_files` has the files that were written or removed, `added` the names of the cases that were
    added, and `skipped` the reasons why others could not be, by name.
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
        """The results that differ and were not updated."""
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
            "Check only cases with matching names, as in 'START.*'; may be repeated.",
            "GLOB",
            "cases",
        ),
    ] = [],
    update: Annotated[
        bool, Option(("--update",), "Write the golden files from the scripts as they are now.")
    ] = False,
    add: Annotated[
        bool, Option(("--add",), "Add a default and a hostile case for each template without cases.")
    ] = False,
    states: Annotated[
        str | None,
        Option(
            ("--states",),
            "Show how one profile understands FILE, captured output of squeue, qstat or the like.",
            "FILE",
        ),
    ] = None,
    profiles: ProfilesOption = [],
    json: JsonOption = False,
) -> int:
    """Compare the scripts of profiles with those that were recorded before, the golden files.

    In a profile's folder, golden/cases.toml holds named requests, and golden/NAME.txt the script that
    the profile gave for the request NAME. --add creates cases to start from: with default values, and
    with values that break a careless script.

    --states prints the state of each job in captured output, as the profile's scripts and tags read it.
    Words that have no tag are reported.

    Exit codes: 0 all scripts are the same; 1 something differs, or a word has no tag; 2 wrong usage, or
    there are no cases; 3 invalid profile or invalid cases.

    Examples:
      incarnate check mysite --add
      incarnate check mysite
      incarnate check profiles --case 'START.*'
      incarnate check mysite --update
      incarnate check slurm --states squeue.out
    """
    excludes = {"--case": case, "--update": update, "--add": add}
    common.check_option("--states", states is not None, excludes=excludes)
    if states is not None:
        return _show_states(_collect_folders(folders or ["."], profiles), states, json=json)
    case_filter = _CaseFilter(case)
    reports, any_invalid = _check_folders(
        _collect_folders(folders or ["."], profiles), case_filter, update=update, add=add
    )
    if not any_invalid:
        case_filter.require_matches(report.cases.cases for report in reports)
    for report in reports:
        _print_notes(report)
    if json and reports:
        common.print_json([_encode_report(report) for report in reports])
    elif not json:
        common.print_result(_format_reports(reports))
    if any(result.outcome in _UPDATABLE for report in reports for result in report.open_results):
        common.print_message("    hint: --update writes the golden files from these scripts")
    if any_invalid:
        return common.INVALID_PROFILE
    if any(report.open_results for report in reports):
        return common.DIFFERENT
    return common.SUCCESS if any(report.results for report in reports) else common.NO_CASES


# Selecting profiles and cases


def _collect_folders(words: list[str], profiles: list[str]) -> list[ProfileFolder]:
    """Return the profiles' folders, without duplicates."""
    from os import path

    repository = common.open_repository(profiles, uses_cache=False)
    by_path = dict[str, ProfileFolder]()
    for word in words:
        for folder in _expand_folder(word, profiles, repository):
            by_path.setdefault(path.realpath(folder.folder), folder)
    return [*by_path.values()]


def list_case_names(words: list[str], profiles: list[str]) -> list[str]:
    """Return the names of all cases of profiles, for the shell's completion."""
    from osprofile.golden.cases import load_cases
    from osprofile.golden.generator import add_generated_cases

    names = set[str]()
    for folder, repository in _collect_folders(words or ["."], profiles):
        suite = load_cases(folder)
        if suite.has_generated:  # else the profile is not loaded
            suite = add_generated_cases(repository.load_file(folder), suite)
        names |= suite.cases.keys()
    return sorted(names)


def _expand_folder(word: str, profiles: list[str], repository: "Repository") -> "Iterator[ProfileFolder]":
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
        folders = _list_profile_folders(word)
        if not folders:
            _raise_no_profile(word)
        # They may extend each other.
        repository = common.open_repository([*profiles, word], uses_cache=False)
        yield from (ProfileFolder(folder, repository) for folder in folders)


def _list_profile_folders(directory: str) -> list[str]:
    import os
    from os import path

    parent = "" if directory == "." else directory
    folders = [path.join(parent, name) for name in sorted(os.listdir(directory))]
    return [f for f in folders if path.isfile(path.join(f, "profile.xml"))]


def _raise_no_profile(word: str) -> "NoReturn":
    from os import path

    if not path.exists(word):
        hint = "use the folder of a profile, a folder of such folders, or a profile's name"
        raise common.UsageError(f"there is no folder {quote_name(word)}", hint=hint)
    if path.isdir(word):
        message = f"there is no profile.xml in {quote_name(word)} or in a folder in it"
        raise common.UsageError(message, hint="use the folder of a profile")
    message = f"profile {quote_name(word)} does not have a folder of its own for golden cases"
    raise common.UsageError(message, hint="move it to a folder, as profile.xml")


class _CaseFilter:
    """Selects cases by the globs of --case, and remembers which globs have matched."""

    def __init__(self, globs: list[str]) -> None:
        self.globs = globs
        self.matched = set[str]()

    def __call__(self, name: str) -> bool:
        from fnmatch import fnmatchcase

        matching = {glob for glob in self.globs if fnmatchcase(name, glob)}
        self.matched |= matching
        return bool(matching) or not self.globs

    def require_matches(self, suites: "Iterable[Mapping[str, Case]]") -> None:
        """Raise `UsageError` for a glob that has matched no case: it is a typing error."""
        names = {name for cases in suites for name in cases}
        for glob in self.globs:
            if glob not in self.matched:
                message = f"--case {quote_name(glob)} matches no case"
                raise common.UsageError(message, hint=suggest_names(glob, names))


# Checking


def _check_folders(
    folders: list[ProfileFolder], case_filter: _CaseFilter, *, update: bool, add: bool
) -> tuple[list[CheckReport], bool]:
    """Return the reports of the valid profiles, and whether there are invalid ones, whose errors are printed."""
    loaded: list[tuple[Profile, str]] = []
    reports: dict[str, CheckReport] = {}
    for folder, repository in folders:
        try:
            loaded.append((repository.load_file(folder), folder))
        except InvalidProfileError as error:
            common.print_error(error)
    # What is extended comes first: its golden files are those of the others, too.
    for profile, folder in sorted(loaded, key=lambda pair: len(pair[0].documents)):
        try:
            reports[folder] = _check_folder(profile, folder, case_filter, update=update, add=add)
        except (InvalidProfileError, CasesError) as error:
            common.print_error(error)
    return [reports[folder] for folder, _ in folders if folder in reports], len(reports) < len(folders)


def _check_folder(
    profile: "Profile", folder: str, case_filter: _CaseFilter, *, update: bool, add: bool
) -> CheckReport:
    from osprofile.golden import checker, writer
    from osprofile.golden.cases import load_cases
    from osprofile.golden.generator import add_generated_cases, generate_cases

    suite = add_generated_cases(profile, load_cases(folder, allow_missing=add))
    added, skipped = tuple[str, ...](), dict[str, str]()
    is_new = suite.source is None
    if add:
        generated = generate_cases(profile, suite).select_cases(case_filter)
        skipped = dict(generated.skipped)
        added = tuple(case.name for case in generated.cases)
        suite = writer.add_cases(profile, suite, generated) if added else suite
    results = checker.check_cases(profile, suite, case_filter) if suite.cases else []
    to_write = [r for r in results if _should_write(r, added, update=update, is_new=is_new)]
    fixed_files = frozenset(r.file for r in writer.update_files(to_write))
    return CheckReport(folder, profile, suite, results, fixed_files, added, skipped)


def _should_write(result: "CaseResult", added: tuple[str, ...], *, update: bool, is_new: bool) -> bool:
    """Return whether the golden file of a result that differs is to be written or removed."""
    if result.outcome == "stale":
        return update and not is_new  # before the first case, such files are not golden files
    return update or (result.outcome == "missing" and result.name in added)


# For people


def _print_notes(report: CheckReport) -> None:
    """Print warnings, the cases that could not be added, and a hint if there are none."""
    for result in report.results:
        for warning in result.output.warnings:
            common.print_message(f"warning: case {result.name}: {warning}")
    for name, reason in report.skipped.items():
        common.print_message(f"case {name} was not added: {reason}\n    hint: write it by hand")
    if not report.cases.cases:
        common.print_message(_explain_missing_cases(report.profile.name, report.folder))


def _explain_missing_cases(name: str, folder: str) -> str:
    from osprofile.profile.data_directories import is_bundled

    if is_bundled(folder):
        text = f"the golden cases of the bundled profile {name} are not installed: they are in the source of osprofile"
        return f"{text}\n    hint: in a clone or an unpacked sdist of this version, run incarnate check profiles/{name}"
    hint = f"incarnate check {folder} --add creates some to start from"
    return f"profile {name} has no golden cases\n    hint: {hint}"


def _format_reports(reports: "Sequence[CheckReport]") -> str:
    output = Report(indent=4, label_width=1)
    for report in reports:
        if report.added:
            cases = pluralize(len(report.added), "case")
            output.add_line(f"added     {format_path(report.cases.cases_path)} ({cases})")
        for result in report.results:
            if result.file in report.fixed_files:
                output.add_line(f"{_name_action(result):<9} {format_path(result.file)}")
    for report in reports:
        for result in report.open_results:
            _add_result(output, result)
    if any(report.results for report in reports):
        output.add_line(_format_summary(reports), "title")
    return str(output)


def _name_action(result: "CaseResult") -> str:
    return "removed" if result.outcome == "stale" or result.is_inherited else "written"


def _format_summary(reports: "Sequence[CheckReport]") -> str:
    from collections import Counter

    kinds = Counter(
        _name_action(result) if result.file in report.fixed_files else result.outcome
        for report in reports
        for result in report.results
    )
    stale = sum(result.case is None for report in reports for result in report.results)
    counts = ", ".join(f"{kinds[kind]} {kind}" for kind in _SUMMARY_ORDER if kinds[kind])
    profiles = pluralize(sum(bool(report.results) for report in reports), "profile")
    return f"{profiles}, {pluralize(kinds.total() - stale, 'case')}: {counts}"


def _add_result(report: "Report", result: "CaseResult") -> None:
    file = format_path(result.file)
    location = file if result.case is None else format_location(result.case.location)
    report.add_heading(
        escape_unprintable(result.name), _OUTCOME_SENTENCES[result.outcome], location, "changed"
    )
    error = result.output.error
    if error is not None:
        report.add_row("!", escape_unprintable(error.message), format_location(error.location), "removed")
        if error.hint:
            report.add_row("", f"hint: {escape_unprintable(error.hint)}")
    report.add_diff(_list_differences(result, file))
    report.add_line()


def _list_differences(result: "CaseResult", file: str) -> "Iterator[str]":
    """Yield the lines of the difference between a golden file and the output."""
    if result.outcome == "different" and result.golden_data is not None:
        old, new = (d.decode("utf-8", "backslashreplace") for d in (result.golden_data, result.output.data))
        yield from format_diff(old, new, (file, _NEW_SIDE))


# Captured output


def _show_states(folders: list[ProfileFolder], file: str, *, json: bool) -> int:
    """Print how a profile understands the captured output in a file, and each word that it does not know."""
    from pathlib import Path

    from osprofile.golden import captures

    if len(folders) != 1:
        raise common.UsageError(
            "--states is for one profile", hint="name it: incarnate check NAME --states FILE"
        )
    profile = folders[0].repository.load_file(folders[0].folder)
    statuses = captures.read_capture(profile, Path(file).read_bytes())
    if json:
        common.print_json([_encode_status(status) for status in statuses])
    else:
        common.print_result(captures.format_jobs(statuses))
    unknown = [status for status in statuses if status.unknown_word]
    for word in dict.fromkeys(status.native_state for status in unknown):
        _report_word(profile, [status for status in unknown if status.native_state == word])
    return common.DIFFERENT if unknown else common.SUCCESS


def _report_word(profile: "Profile", statuses: "list[JobStatus]") -> None:
    """Print that the profile does not know the word of these jobs, and what to do."""
    word, count = escape_unprintable(statuses[0].native_state), len(statuses)
    jobs = f"job {quote_name(statuses[0].job_id)}" + (f" and {count - 1} more" if count > 1 else "")
    field = profile.find_field(profile.get_template("GET_JOB_STATUS"), "STATE")
    message = (
        f"word {word} of {jobs} has no tag in STATE of profile {profile.name}: it is {statuses[0].state}"
    )
    place = f" at {format_location(field.location)}" if field is not None else ""
    hint = f'add <idb:Tag name="{word}">...</idb:Tag>{place}, with the state that it means'
    common.print_message(f"incarnate: {message}\n    hint: {hint}")


# For programs


def _encode_status(status: "JobStatus") -> dict[str, Any]:
    return {
        "id": status.job_id,
        "native_state": status.native_state,
        "known": not status.unknown_word,
        "state": status.state,
        "exit_code": status.exit_code,
        "signal": status.signal,
        "cause": status.cause,
        "reason": status.reason or None,
    }


def _encode_report(report: CheckReport) -> dict[str, Any]:
    return {
        "profile": report.profile.name,
        "folder": report.folder,
        "different": bool(report.open_results),
        "added": list(report.added),
        "not_added": dict(report.skipped),
        "cases": [_encode_result(result, result.file in report.fixed_files) for result in report.results],
    }


def _encode_result(result: "CaseResult", done: bool) -> dict[str, Any]:
    case, error = result.case, result.output.error
    return {
        "name": result.name,
        "result": result.outcome.value,
        "done": _name_action(result) if done else None,
        "file": result.file,
        "place": case and common.encode_location(case.location),
        "template": case and case.template,
        "variation": case and case.variation,
        "error": error and error.message,
        "error_place": error and common.encode_location(error.location),
        "difference": list(_list_differences(result, result.file)),
    }
