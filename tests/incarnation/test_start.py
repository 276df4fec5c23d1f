"""START's script and applications: OS Profile 0.3, 2.5 and 4; docs/language-jobs.md, Applications and the job script."""

from __future__ import annotations

import gc
import re
import shutil
import subprocess
import weakref
from typing import Any

import pytest

from osprofile import (
    ApplicationNotFoundError,
    IncarnationError,
    InvalidProfileError,
    MissingValueError,
    Profile,
    TemplateNotFoundError,
    UnknownFieldError,
    ValueRefusedError,
    incarnate,
    new_context,
    storage_path,
    working_directory,
)
from osprofile.incarnation import context as contexts
from osprofile.incarnation import plan as plans
from osprofile.incarnation.evaluate import choose_end_word
from tests.incarnation.parts import bin_template, job_parts
from tests.strategies import (
    application,
    default,
    field,
    fixed,
    invocation,
    profile,
    static,
    tag,
    template,
    template_of,
)

START = template("START", "run '<JOB_SCRIPT/'/'\\\\''>' <QUEUE>", field("QUEUE", default("q")))
PROLOGUE = template("JOB_PROLOGUE", "cd <DIR>\n", field("DIR", default("/d")))
EPILOGUE = template("JOB_EPILOGUE", "exit $?\n")
EXECUTABLE = template("RUN", "<EXE>", field("EXE", default("hostname")))
APPLICATIONS = (
    application("default", "Executable", "1", "RUN")
    + application("b19", "BLAST", "1.9", "OLD")
    + application("b110", "BLAST", "1.10", "NEW")
    + application("slash", "N/A", "2/1", "RUN")
    + application("slash2", "N", "A", "OLD")
)
OTHERS = template("OLD", "old <DB>", field("DB", default("nr"))) + template("NEW", "new")


def started(*content: str) -> Profile:
    return profile(START, PROLOGUE, EXECUTABLE, OTHERS, EPILOGUE, *content, APPLICATIONS)


MADE = started()


DOCUMENT = "cat <<'<JOB_SCRIPT:END>'\n<JOB_SCRIPT>\n<JOB_SCRIPT:END>\necho ended"
SHELLS = [s for s in ("dash", "bash", "busybox", "ksh93", "mksh", "yash", "zsh") if shutil.which(s)]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "value",
    ["", "a'b\"c$(id)`id`\\", "END_OF_JOB\nJOB_SCRIPT:END\nEOF\n", "x\n\n", "y" * 100_000, "$x\n\t\\\n"],
    ids=["nothing", "quotes", "delimiters", "line ends", "long", "tabs"],
)
def test_the_job_script_in_a_here_document(shell: str, value: str) -> None:
    made = profile(template("START", DOCUMENT), PROLOGUE, EXECUTABLE, EPILOGUE, OTHERS, APPLICATIONS)
    # As if the value knew the word: that of the text with the word is another one.
    word = choose_end_word(incarnate(made, "START", fields={"EXE": value + "x"}).job_script or "")
    start = incarnate(made, "START", fields={"EXE": f"{value}\n{word}\n\t{word}"})
    command = [shell, "sh", "-s"] if shell == "busybox" else [shell, "-s"]
    ended = subprocess.run(command, input=start.text.encode(), capture_output=True, check=True)
    assert ended.stdout.decode() == f"{start.job_script}\nended\n"


def test_the_end_word_is_no_line_of_the_text() -> None:
    first = choose_end_word("x")
    assert first == choose_end_word("x") != choose_end_word("y")
    with pytest.MonkeyPatch.context() as patch:  # as if the first two digests were those of the text itself
        digests = iter([first, first, "0" * 64])
        patch.setattr("osprofile.incarnation.evaluate.compute_digest", lambda _: next(digests))
        assert choose_end_word(f"x\nEND_OF_JOB_{first[:12]}\ny") == f"END_OF_JOB_{'0' * 12}"
        digests = iter([first, "1" * 64])
        assert choose_end_word(f"\t\tEND_OF_JOB_{first[:12]}") == f"END_OF_JOB_{'1' * 12}"


# JOB_PROLOGUE, the application, JOB_EPILOGUE: each its lines; a replacement applies to all of them.
@pytest.mark.parametrize(
    ("executable", "job_script", "text"),
    [
        ("hostname", "cd /d\nhostname\nexit $?", "run 'cd /d\nhostname\nexit $?' q"),
        ("it's", "cd /d\nit's\nexit $?", "run 'cd /d\nit'\\''s\nexit $?' q"),
    ],
)
def test_the_job_script(executable: str, job_script: str, text: str) -> None:
    found = incarnate(MADE, "START", fields={"EXE": executable})
    assert (found.job_script, found.text) == (job_script, text)
    assert incarnate(MADE, "RUN", context={"JOB_SCRIPT": "x"}).job_script is None


# JOB_DIRECTIVES, an optional first part; the text of the job script without prologue and payload.
DIRECTIVES = [
    ("#!/bin/sh\n", "#!/bin/sh"),
    ("#!/bin/sh", "#!/bin/sh"),
    ("#!/bin/sh\n#Q <Q>\n", "#!/bin/sh\n#Q "),
    ("#!/bin/sh\n<OQ>\n<R/^/#R >\n<Q/^x/y>\n#E\n", "#!/bin/sh\n#R r\n#E"),
    ("#!/bin/sh\n<OQ>\n<OQ>", "#!/bin/sh"),
    ("#!/bin/sh\n<OQ><OR>\n<R><OQ>\n<Q><OQ><Q>\n#E\n", "#!/bin/sh\nr\nr\n#E"),
    ("#!/bin/sh\n\n<OQ> \n <OQ>\n#E", "#!/bin/sh\n\n \n \n#E"),  # literal text stays
    ("<R>\n<OQ>\n#E\n", "r\n#E"),
    ("<OQ>\n#E\n", "#E"),
    (
        "#S\ncat << END\n<Q>\n<Q/x/y>\n<Q><Q>\nEND\n#E\n",
        "#S\ncat << END\n\n\n\nEND\n#E",
    ),  # so does a line of plain ones
    ("#S\n<N>\n#E\n", "#S\na\n\nb\n\n#E"),  # a value with line ends is itself no empty line
]


def _expand(body: str) -> str:
    r"""Write <OX> as <X/(?s)^(.+)\z/$1>, which is nothing without a value."""
    return re.sub("<O(.)>", r"<\1/(?s)^(.+)\\z/$1>", body)


@pytest.mark.parametrize(("body", "text"), DIRECTIVES)
def test_directives(body: str, text: str) -> None:
    fields = field("Q", default("")), field("R", default("r")), field("N", default("a\n\nb\n"))
    made = started(template("JOB_DIRECTIVES", _expand(body), *fields))
    assert incarnate(made, "START").job_script == f"{text}\ncd /d\nhostname\nexit $?"
    assert incarnate(made, "JOB_DIRECTIVES").text.removesuffix("\n") == text


def test_empty_lines_of_other_parts() -> None:
    """Those of START, JOB_PROLOGUE and JOB_EPILOGUE are left out; an application's stay."""
    empty = template_of("", field("Q", default("")), field("V", default("v")))
    start = _expand("<OQ>\nrun '\n<JOB_SCRIPT/'/'\\''>'\n<Q><OV>\n<OQ> \n\n<OQ>\n")
    parts = {"prologue": "<OQ>\np\n<OQ>\n", "run": "<OQ>\nhostname", "epilogue": "<OQ>\n<V>\n<OQ>"}
    parts = {name: _expand(text) for name, text in parts.items()}
    made = profile(job_parts(empty, start=start, **parts))
    found = incarnate(made, "START")
    assert found.job_script == "p\n\nhostname\nv"
    assert found.text == "run '\np\n\nhostname\nv'\nv\n \n\n"
    assert incarnate(made, "START", fields={"Q": "q"}).job_script == "q\np\nq\nq\nhostname\nq\nv\nq"


def test_values_inside_the_job_script_are_not_scanned() -> None:
    found = incarnate(MADE, "START", fields={"EXE": "<QUEUE>", "DIR": "<JOB_SCRIPT>"})
    assert found.text == "run 'cd <JOB_SCRIPT>\n<QUEUE>\nexit $?' q"


def test_the_fields_are_the_union_of_the_parts() -> None:
    request = {"QUEUE": "long", "DIR": "/x", "EXE": "date"}
    found = incarnate(MADE, "START", fields=request, strict=True)
    assert found.text == "run 'cd /x\ndate\nexit $?' long"
    assert set(found.fields) == {"QUEUE", "DIR", "EXE"}
    with pytest.raises(UnknownFieldError) as caught:  # a field of an application that is not run
        incarnate(MADE, "START", fields={"DB": "x"}, strict=True)
    assert caught.value.message == (
        "field DB is not used by template START of profile p, with application Executable"
    )
    found = incarnate(MADE, "START", fields={"DB": "x"}, application="BLAST/1.9", strict=True)
    assert found.text == "run 'cd /d\nold x\nexit $?' q"


# What is asked for, and the application that runs. A name may itself hold a `/`.
ASKED = [
    (None, "hostname"), ("", "hostname"), ("Executable", "hostname"), ("Executable/1", "hostname"),
    ("BLAST", "new"), ("BLAST/1.10", "new"), ("BLAST/1.9", "old nr"),
    ("N/A", "hostname"),  # the name goes before name and version
    ("N", "old nr"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "payload"), ASKED)
def test_applications(asked: str | None, payload: str) -> None:
    found = incarnate(MADE, "START", application=asked)
    assert found.text == f"run 'cd /d\n{payload}\nexit $?' q"


NOT_FOUND = {
    "BLSAT": "profile p has no application 'BLSAT'\n    hint: did you mean BLAST?",
    "BLAST/2": "profile p has no version '2' of application BLAST\n    hint: there is 1.9, 1.10",
    "BLAST/": "profile p has no version '' of application BLAST\n    hint: there is 1.9, 1.10",
    "BLSAT/1": "profile p has no application 'BLSAT/1'\n    hint: did you mean BLAST?",
    "default": "profile p has no application 'default'\n    hint: known: BLAST, Executable, N, N/A",
    "../x": "profile p has no application '../x'\n    hint: known: BLAST, Executable, N, N/A",
}


@pytest.mark.parametrize(("asked", "told"), NOT_FOUND.items(), ids=NOT_FOUND)
@pytest.mark.parametrize("name", ["START", "RUN"])  # RUN needs none; a wrong one is told all the same
def test_unknown_applications(asked: str, told: str, name: str) -> None:
    with pytest.raises(ApplicationNotFoundError) as caught:
        incarnate(MADE, name, application=asked)
    assert str(caught.value) == told


def test_unknown_names_leave_nothing_behind() -> None:
    made = started()
    for asked in ("x", "BLAST/7"):
        with pytest.raises(ApplicationNotFoundError):
            incarnate(made, "RUN", application=asked)
    with pytest.raises(TemplateNotFoundError):
        incarnate(made, "X")
    with pytest.raises(TemplateNotFoundError):
        incarnate(made, "RUN", variation="X")
    assert plans._PLANS[id(made)] == {}


def test_plans_are_kept_as_long_as_their_profile() -> None:
    made = started()
    first = plans.get_plan(made, "START", "", None)
    assert plans.get_plan(made, "START", "", None) is first
    assert plans.get_plan(started(), "START", "", None) is not first
    reference = weakref.ref(made)
    del made
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize("missing", ["JOB_PROLOGUE", "JOB_EPILOGUE", "Executable"])
def test_a_part_that_is_missing_is_named(missing: str) -> None:
    parts = {"JOB_PROLOGUE": PROLOGUE, "JOB_EPILOGUE": EPILOGUE}
    parts.pop(missing, None)
    runs = application("a", "Other", "1", "RUN") if missing == "Executable" else APPLICATIONS
    made = profile(START, EXECUTABLE, OTHERS, *parts.values(), runs)
    with pytest.raises((TemplateNotFoundError, ApplicationNotFoundError), match=missing):
        incarnate(made, "START")


def test_the_parts_use_their_default_variation() -> None:
    made = profile(
        template_of("START", invocation("a <JOB_SCRIPT>", "V")),
        template_of("JOB_PROLOGUE", invocation("p"), invocation("pV", "V")),
        EPILOGUE, EXECUTABLE, OTHERS, APPLICATIONS,
    )  # fmt: skip
    assert incarnate(made, "START", variation="V").text == "a p\nhostname\nexit $?"


@pytest.mark.parametrize("ends", ["", "\n", "\n\n"])
def test_each_part_ends_its_line_once(ends: str) -> None:
    made = profile(job_parts(prologue="p" + ends, run="r" + ends, epilogue="e" + ends))
    rest = ends[1:]  # all line ends but the last are the part's own
    assert incarnate(made, "START").text == f"p{rest}\nr{rest}\ne{rest}"


def test_job_script_elsewhere_is_an_undeclared_field() -> None:
    made = profile(START, PROLOGUE, EPILOGUE, OTHERS, template("RUN", "<JOB_SCRIPT>"), APPLICATIONS)
    with pytest.raises(MissingValueError, match="field JOB_SCRIPT has no value: template RUN"):
        incarnate(made, "START")
    recursive = profile(START, PROLOGUE, EPILOGUE, application("a", "Executable", "1", "START"))
    with pytest.raises(MissingValueError, match="field JOB_SCRIPT has no value: template START"):
        incarnate(recursive, "START")


def test_a_static_script_gets_the_job_script_as_an_argument() -> None:
    start = template_of("START", static("submit", "start.sh", "'<JOB_SCRIPT/'/'\\\\''>'"))
    made = profile(start, PROLOGUE, EXECUTABLE, OTHERS, EPILOGUE, bin_template(), APPLICATIONS)
    found = incarnate(made, "START", fields={"EXE": "it's"})
    (script,) = found.static_scripts
    assert found.text == f"/b/{script.folder}/start.sh 'cd /d\nit'\\''s\nexit $?'"


# The same field in two of the templates


def test_the_same_declaration_twice_is_one_field() -> None:
    twice = template("RUN", "<DIR>", field("DIR", "<idb:Description>x</idb:Description>" + default("/d")))
    made = profile(START, PROLOGUE, twice, OTHERS, EPILOGUE, APPLICATIONS)
    assert incarnate(made, "START", fields={"DIR": "/e"}).text == "run 'cd /e\n/e\nexit $?' q"


CONFLICTS = [
    field("DIR", default("/x")), field("DIR", fixed("/d")),
    field("DIR", default("/d"), 'isSettable="false"'),
    field("DIR", tag("a", "/a")), field("DIR", "", 'ext:pattern=".+"'),
]  # fmt: skip
"""Beside what the prologue declares: Default /d, the tag h, the pattern .*"""


@pytest.mark.parametrize("uses", ["<DIR>", "only the prologue uses it"])
@pytest.mark.parametrize("declared", CONFLICTS)
def test_conflicting_declarations(declared: str, uses: str) -> None:
    ruled = field("DIR", tag("h", "/h") + default("/d"), 'ext:pattern=".*"')
    prologue = template("JOB_PROLOGUE", "cd <DIR>\n", ruled)
    made = profile(START, prologue, template("RUN", uses, "\n" + declared), OTHERS, EPILOGUE, APPLICATIONS)
    with pytest.raises(InvalidProfileError) as caught:
        incarnate(made, "START")
    (problem,) = caught.value.problems
    assert (problem.code, str(problem.location)) == ("OSP304", "p.xml:8:18")
    assert problem.message == (
        "field DIR is declared differently in templates JOB_PROLOGUE and RUN, which are used together"
    )
    assert problem.hint == (
        "the other declaration is at p.xml:6:32; "
        "only limits and type may differ, and the strictest ones apply"
    )


def test_a_conflict_that_nothing_uses_is_none() -> None:
    unused = template("RUN", "x", field("DIR", fixed("other")))
    made = profile(START, template("JOB_PROLOGUE", "p"), unused, OTHERS, EPILOGUE, APPLICATIONS)
    assert incarnate(made, "START").text == "run 'p\nx\nexit $?' q"


# An application narrows what the job's templates declare (OS Profile 0.3, 2.3: "no more than 10 nodes")


def limits(low: int | None = None, high: int | None = None) -> str:
    low_element = "" if low is None else f"<idb:Min>{low}</idb:Min>"
    return low_element + ("" if high is None else f"<idb:Max>{high}</idb:Max>")


INTEGER = 'ext:type="integer"'
PREFIXED = 'ext:pattern="[1-4].*"'
NARROWED = {
    # what the job declares, what the application does: values that pass, values that do not
    "by a Max": (field("N", limits(1, 64) + default("1"), INTEGER), field("N", limits(high=10)), ["1", "10"], ["0", "11", "x"]),
    "by both": (
        field("N", limits(1) + default("2"), INTEGER), field("N", limits(2, 10) + default("2"), INTEGER),
        ["2", "10"], ["1", "11", "2.5"],
    ),
    "not widened": (field("N", limits(2, 10) + default("2"), INTEGER), field("N", limits(1, 64)), ["2", "10"], ["1", "11", "2.5"]),
    "by a type": (field("N", default("1")), field("N", "", INTEGER), ["1"], ["x", "1.5"]),
    "of a type that is stricter": (field("N", default("1"), INTEGER), field("N", "", 'ext:type="number"'), ["1"], ["1.5"]),
    "by a pattern": (field("N", default("1"), INTEGER), field("N", "", PREFIXED), ["10"], ["5", "1x"]),
    "of a pattern": (field("N", default("1"), PREFIXED), field("N", "", INTEGER), ["10"], ["5", "1x"]),
    "of tags": (field("N", tag("few", "4") + tag("all", "64") + default("1")), field("N", limits(high=10)), ["few"], ["all"]),
}  # fmt: skip


@pytest.mark.parametrize("uses", ["run <N>", "run"])
@pytest.mark.parametrize("shared", [True, False], ids=["global", "of the prologue"])
@pytest.mark.parametrize("case", NARROWED)
def test_an_application_narrows_a_field(case: str, shared: bool, uses: str) -> None:
    job, narrower, passing, refused = NARROWED[case]
    made = profile(
        template_of("", job if shared else ""), START, OTHERS, EPILOGUE,
        template("JOB_PROLOGUE", "cd <N>\n", "" if shared else job), template("RUN", uses, narrower),
        APPLICATIONS,
    )  # fmt: skip
    for value in passing:
        text = incarnate(made, "START", fields={"N": value}, strict=True).text
        assert f"cd {'4' if value == 'few' else value}\n" in text
    for value in refused:
        with pytest.raises(ValueRefusedError, match="field N: "):
            incarnate(made, "START", fields={"N": value})
    found = incarnate(made, "START", application="BLAST" if shared else None)
    assert f"cd {2 if '<idb:Default>2' in job else 1}\n" in found.text


def test_where_the_limit_stands_that_an_application_sets() -> None:
    made = profile(
        template_of("", field("N", limits(1, 64) + default("1"), INTEGER)), START, OTHERS, EPILOGUE,
        template("JOB_PROLOGUE", "cd <N>\n"),
        template("RUN", "x", "\n" + field("N", "\n" + limits(2, 10))), APPLICATIONS,
    )  # fmt: skip
    for value, line, message, hint in (
        ("1", 13, "field N: '1' is below the Min of 2", "allowed: 2 to 10"),
        ("11", 13, "field N: '11' is above the Max of 10", "allowed: 2 to 10"),
        ("x", 4, "field N: 'x' is not an integer", "digits only"),
    ):
        with pytest.raises(ValueRefusedError) as caught:
            incarnate(made, "START", fields={"N": value})
        assert (caught.value.message, caught.value.hint) == (message, hint)
        assert caught.value.location is not None
        assert caught.value.location.line == line
    assert incarnate(made, "START", application="BLAST", fields={"N": "11"})


@pytest.mark.parametrize("names", [("JOB_PROLOGUE", "RUN"), ("RUN", "JOB_PROLOGUE")])
def test_a_field_derived_in_one_and_declared_in_another(names: tuple[str, str]) -> None:
    derived = template(names[0], "<W:HMS>", field("W", default("60")))
    declared = template(names[1], "<W:HMS>", field("W:HMS", default("own")))
    made = profile(START, derived, declared, OTHERS, EPILOGUE, APPLICATIONS)
    with pytest.raises(InvalidProfileError) as caught:
        incarnate(made, "START")
    assert [p.code for p in caught.value.problems] == ["OSP304"]
    assert "field W:HMS is declared in" in caught.value.message


# Storages (OS Profile 0.3, 3) and the context of a job (OS Profile 0.3, 1 and 2.3.1)


def test_storage_path() -> None:
    made = profile(
        template("HOME_PATH", "/home/<USER_NAME>"), template("ROOT", "/"), template("LINE", "/a b \n"),
        '<osp:Storage name="HOME" template="HOME_PATH"/><osp:Storage name="ROOT" template="ROOT"/>',
        '<osp:Storage name="LINE" template="LINE"/>',
    )  # fmt: skip
    assert storage_path(made, "ROOT") == "/"
    assert storage_path(made, "LINE") == "/a b "
    assert storage_path(made, "HOME", {"USER_NAME": "u"}) == "/home/u"
    with pytest.raises(MissingValueError, match="field USER_NAME has no value"):
        storage_path(made, "HOME")


DIRECTORIES = [
    ("/u", "/", "/u/me/j1"), ("/", "/", "/me/j1"), ("/u/", "/", "/u/me/j1"), ("C:\\u", "\\", "C:\\u\\me\\j1"),
]  # fmt: skip


@pytest.mark.parametrize(("root", "delimiter", "path"), DIRECTORIES)
def test_working_directory(root: str, delimiter: str, path: str) -> None:
    assert working_directory(profile(root=root, delimiter=delimiter), "me", "j1") == path


AT_HOME: Any = {
    # the user's home: the path of a job's directory, or the error
    "plain": ("/home/me", "/home/me/.gpe/work/me/j1"),
    "slashes": ("//home//me/", "/home/me/.gpe/work/me/j1"),
    "hostile": ("/it's $(id) %j ", "/it's $(id) %j /.gpe/work/me/j1"),
    "none": ("", "UspaceRoot ~/.gpe/work begins with the user's home, and field USER_HOME has no value"),
    "root": ("/", "the user's home is '/', in which no jobs can work"),
    "relative": ("home", "the user's home is 'home', in which no jobs can work"),
    "NUL": ("/home/\0", "field USER_HOME: '/home/\\x00' has a NUL character"),
}


@pytest.mark.parametrize("case", AT_HOME)
def test_a_uspace_root_below_the_home(case: str) -> None:
    """`~` is the home in the context, for WORKING_DIRECTORY and USPACE_ROOT alike."""
    home, expected = AT_HOME[case]
    made = profile(template("T", "root='<USPACE_ROOT/'/'\\\\''>'"), root="~/.gpe/work")
    if expected.startswith("/"):
        assert working_directory(made, "me", "j1", home) == expected
        script = incarnate(made, "T", context={"USER_HOME": home}).text
        shown = subprocess.check_output(["sh", "-c", f'{script}; printf %s "$root"'], text=True)
        assert shown == expected.removesuffix("/me/j1")
        return
    for act in (
        lambda: working_directory(made, "me", "j1", home),
        lambda: incarnate(made, "T", context={"USER_HOME": home}),
        lambda: incarnate(
            profile(template("T", "<WORKING_DIRECTORY>"), root="~/x"), "T", context={"USER_HOME": home}
        ),
    ):
        with pytest.raises(IncarnationError) as caught:
            act()
        assert caught.value.message == expected.replace(".gpe/work", "x") or caught.value.message == expected


def test_new_context_is_fresh_for_each_job() -> None:
    found = [new_context(MADE) for _ in range(200)]
    directories = {context["WORKING_DIRECTORY"] for context in found}
    assert len(directories) == 200
    user = found[0]["USER_NAME"]
    assert all(path.startswith(f"/u/{user}/") for path in directories)
    assert set(found[0]) == {"USER_NAME", "WORKING_DIRECTORY"}


def test_a_user_without_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 987654)
    assert contexts.get_user_name() == "987654"
