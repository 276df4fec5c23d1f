"""`incarnate check`: golden cases that lie in a profile's folder, against what the profile gives now."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, final

from osprofile.cli import common
from osprofile.cli.options import Argument, JsonOption, Option, ProfilesOption

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import NoReturn

    from osprofile.cli.terminal import Report
    from osprofile.golden.cases import Case, Cases
    from osprofile.golden.check import Result
    from osprofile.profile.model import Profile
    from osprofile.profile.repository import Repository

SAME, DIFFERENT, NO_CASES, BAD = 0, 1, 2, 3
_STYLES = {"+": "added", "-": "removed", "@": "word"}
_MENDED = frozenset({"different", "missing", "stale"})
_COUNTED = ("same", "different", "missing", "refused", "accepted", "stale", "written", "removed")
_DONE = {"different": "written", "missing": "written", "stale": "removed"}
_SAID = {
    "different": " differs",
    "missing": " has no golden file",
    "refused": " gives no script",
    "accepted": " gives a script, and was to be refused",
    "stale": " is of no case",
}


@final
class Suite(NamedTuple):
    """A profile's folder, as it was given or found, and where what the profile extends is found."""

    folder: str
    repository: "Repository"


@final
class Checked(NamedTuple):
    """What was found of one profile, and what was done: `done` has the files written and removed.

    `added` has the names of the cases that were added, `left_out` why others could not be.
    """

    folder: str
    profile: "Profile"
    cases: "Cases"
    results: "Sequence[Result]"
    done: frozenset[str]
    added: tuple[str, ...]
    left_out: "Mapping[str, str]"

    @property
    def open(self) -> "list[Result]":
        """The results that are not as they should be, and were not mended."""
        return [r for r in self.results if r.kind != "same" and r.file not in self.done]


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
    suites = _suites(folders or ["."], profiles)
    chosen = _Chosen(case)
    checked, bad = _checked(suites, chosen, update=update, add=add)
    if not bad:
        chosen.must_have_met(c.cases.cases for c in checked)
    for found in checked:
        _tell(found)
    if json and checked:
        common.put_json([_told(found) for found in checked])
    elif not json:
        common.put(_text(checked))
    if any(result.kind in _MENDED for found in checked for result in found.open):
        common.tell("    hint: with --update, what the profile gives is golden from then on")
    if bad:
        return BAD
    if any(found.open for found in checked):
        return DIFFERENT
    return SAME if any(found.results for found in checked) else NO_CASES


# Which profiles, which cases


def _suites(words: list[str], profiles: list[str]) -> list[Suite]:
    """Give the profiles' folders; of one that is given twice, one."""
    from os import path

    repository = common.repository(profiles)
    found = dict[str, Suite]()
    for word in words:
        for suite in _suites_of(word, profiles, repository):
            found.setdefault(path.realpath(suite.folder), suite)
    return [*found.values()]


def names_of_cases(words: list[str], profiles: list[str]) -> list[str]:
    """Give the names of all cases of profiles: for the shell's completion."""
    from osprofile.golden import cases

    suites = _suites(words or ["."], profiles)
    return sorted({name for suite in suites for name in cases.load(suite.folder).cases})


def _suites_of(word: str, profiles: list[str], repository: "Repository") -> "Iterator[Suite]":
    from os import path

    if not common.is_path(word) and not path.exists(word):
        word = repository.path(word)
    if not path.isdir(word):
        if path.basename(word) != "profile.xml":
            _no_profile(word)
        yield Suite(path.dirname(word) or ".", repository)
    elif path.isfile(path.join(word, "profile.xml")):
        yield Suite(word, repository)
    else:
        inside = _folders_with_a_profile(word)
        if not inside:
            _no_profile(word)
        # They may extend each other.
        together = common.repository([*profiles, word])
        yield from (Suite(folder, together) for folder in inside)


def _folders_with_a_profile(directory: str) -> list[str]:
    import os
    from os import path

    inside = "" if directory == "." else directory
    folders = [path.join(inside, name) for name in sorted(os.listdir(directory))]
    return [f for f in folders if path.isfile(path.join(f, "profile.xml"))]


def _no_profile(word: str) -> "NoReturn":
    from os import path

    from osprofile.errors import told

    if not path.exists(word):
        hint = "give the folder of a profile, a folder of such folders, or a name"
        raise common.UsageError(f"there is no folder {told(word)}", hint=hint)
    if path.isdir(word):
        message = f"there is no profile.xml in {told(word)} nor in a folder of it"
        raise common.UsageError(message, hint="give the folder of a profile")
    message = f"{told(word)} has no folder of its own, where golden cases could lie"
    raise common.UsageError(message, hint="make it the profile.xml of a folder")


class _Chosen:
    """Says whether a case is asked for, and remembers which of the globs met one."""

    def __init__(self, globs: list[str]) -> None:
        self.globs = globs
        self.met = set[str]()

    def __call__(self, name: str) -> bool:
        from fnmatch import fnmatchcase

        met = {glob for glob in self.globs if fnmatchcase(name, glob)}
        self.met |= met
        return bool(met) or not self.globs

    def must_have_met(self, known: "Iterable[Mapping[str, Case]]") -> None:
        """Raise for a glob that met no case: it is a slip."""
        from osprofile.errors import nearest, told

        names = {name for cases in known for name in cases}
        for glob in self.globs:
            if glob not in self.met:
                message = f"--case {told(glob)}: no case has such a name"
                raise common.UsageError(message, hint=nearest(glob, names))


# The work


def _checked(
    suites: list[Suite], chosen: _Chosen, *, update: bool, add: bool
) -> tuple[list[Checked], bool]:
    """Check each profile; tell of those that cannot be, and say whether there are any."""
    from osprofile.errors import CasesError, InvalidProfileError

    checked, bad = list[Checked](), False
    for suite in suites:
        try:
            checked.append(_check(suite, chosen, update=update, add=add))
        except (InvalidProfileError, CasesError) as error:
            common.tell_error(error)
            bad = True
    return checked, bad


def _check(suite: Suite, chosen: _Chosen, *, update: bool, add: bool) -> Checked:
    from osprofile.golden import cases, write
    from osprofile.golden import check as golden
    from osprofile.golden.generate import generate

    profile = suite.repository.load_file(suite.folder)
    have = cases.load(suite.folder, may_lack=add)
    added, left_out = tuple[str, ...](), dict[str, str]()
    is_new = have.source is None
    if add:
        generated = generate(profile, have).chosen(chosen)
        left_out = dict(generated.left_out)
        added = tuple(case.name for case in generated.cases)
        have = write.add(profile, have, generated) if added else have
    results = golden.check(profile, have, chosen) if have.cases else []
    wanted = [r for r in results if _is_wanted(r, added, update=update, is_new=is_new)]
    done = frozenset(r.file for r in write.renew(wanted))
    return Checked(suite.folder, profile, have, results, done, added, left_out)


def _is_wanted(result: "Result", added: tuple[str, ...], *, update: bool, is_new: bool) -> bool:
    """Say whether a golden file is to be written or removed where it is not as it should be."""
    if result.kind == "stale":
        return update and not is_new  # beside no cases yet, files of that name may be anybody's
    return update or (result.kind == "missing" and result.name in added)


# For people


def _tell(found: Checked) -> None:
    """Tell what is no difference: warnings, and what there could be."""
    for result in found.results:
        for warning in result.made.warnings:
            common.tell(f"warning: case {result.name}: {warning}")
    for name, reason in found.left_out.items():
        common.tell(f"no case {name} was added: {reason}\n    hint: write it by hand")
    if not found.cases.cases:
        hint = f"incarnate check {found.folder} --add writes some to start from"
        common.tell(f"profile {found.profile.name} has no golden cases\n    hint: {hint}")


def _text(checked: "Sequence[Checked]") -> str:
    from osprofile.cli.terminal import Report, counted

    report = Report(indent=4, label=1)
    for found in checked:
        if found.added:
            cases = counted(len(found.added), "case")
            report.line(f"added     {_path(found.cases.file)} ({cases})")
        for result in found.results:
            if result.file in found.done:
                report.line(f"{_DONE[result.kind]:<9} {_path(result.file)}")
    for found in checked:
        for result in found.open:
            _result(report, result)
    if any(found.results for found in checked):
        report.line(_summary(checked), "title")
    return str(report)


def _summary(checked: "Sequence[Checked]") -> str:
    from collections import Counter

    from osprofile.cli.terminal import counted

    kinds = Counter[str]()
    for found in checked:
        for result in found.results:
            kinds[_DONE[result.kind] if result.file in found.done else result.kind] += 1
    stale = kinds["stale"] + kinds["removed"]
    told = ", ".join(f"{kinds[kind]} {kind}" for kind in _COUNTED if kinds[kind])
    profiles = counted(sum(bool(found.results) for found in checked), "profile")
    return f"{profiles}, {counted(kinds.total() - stale, 'case')}: {told}"


def _result(report: "Report", result: "Result") -> None:
    from osprofile.cli.diff import unified
    from osprofile.cli.terminal import harmless, place_text

    place = _path(result.file) if result.case is None else place_text(result.case.place)
    report.heading(harmless(result.name), _SAID[result.kind], place, "changed")
    error = result.made.error
    if error is not None:
        report.row("!", harmless(error.message), place_text(error.place), "removed")
        if error.hint:
            report.row("", f"hint: {harmless(error.hint)}")
    if result.kind == "different" and result.old is not None:
        names = _path(result.file), "what the profile gives"
        for line in unified(_decoded(result.old), _decoded(result.made.data), names):
            report.line(line, _STYLES.get(line[:1], ""))
    report.line()


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _path(file: str) -> str:
    """Give a path; of a file below the working directory, its path from there."""
    import os

    from osprofile.cli.terminal import harmless

    return harmless(os.path.normpath(file).removeprefix(os.getcwd() + os.sep))


# For programs


def _told(found: Checked) -> dict[str, Any]:
    return {
        "profile": found.profile.name,
        "folder": found.folder,
        "different": bool(found.open),
        "added": list(found.added),
        "not_added": dict(found.left_out),
        "cases": [_told_result(result, result.file in found.done) for result in found.results],
    }


def _told_result(result: "Result", done: bool) -> dict[str, Any]:
    from osprofile.cli.diff import unified

    case, error, difference = result.case, result.made.error, list[str]()
    if result.kind == "different" and result.old is not None:
        names = result.file, "what the profile gives"
        difference = list(unified(_decoded(result.old), _decoded(result.made.data), names))
    return {
        "name": result.name,
        "result": result.kind.value,
        "done": _DONE[result.kind] if done else None,
        "file": result.file,
        "place": str(case.place) if case is not None and case.place is not None else None,
        "template": case and case.template,
        "variation": case and case.variation,
        "error": error and error.message,
        "error_place": str(error.place) if error is not None and error.place is not None else None,
        "difference": difference,
    }
