"""The profile that is made from the facts about a batch system, and what samples tell."""

from __future__ import annotations

import contextlib
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from osprofile.authoring.batch_system import (
    BatchSystem,
    read_answer_sample,
    read_list_sample,
    render_batch_system,
)
from osprofile.errors import NotFoundError
from osprofile.incarnation.incarnate import incarnate
from osprofile.lint import lint_profile
from osprofile.profile.data_directories import get_bundled_directory
from osprofile.profile.repository import Repository
from tests.hunting import rounds

if TYPE_CHECKING:
    from pathlib import Path

    from osprofile.profile.model import Profile

BUNDLED = Repository([get_bundled_directory()], use_standard_path=False)
SYSTEM = BatchSystem(
    submit="sub {script}",
    answer="{id}",
    id_pattern="[0-9]+",
    list_jobs="list",
    line="{id} {state} {exit}",
    words={"queued": ["Q"], "running": ["R"], "held": ["H"], "done": ["C"], "removed": ["X"]},
    cancel=["del {id}"],
    own_id="$MY_ID",
)
HOSTILE = [
    "$(id)", "`id`", "a'b", '"', "\\", "]]>", "<X>", "&amp;", "-->", ";id", "a b", "*", "é", "<!--", "|id", ">f",
]  # fmt: skip


def made(**facts: Any) -> Profile:  # noqa: ANN401  # a field of BatchSystem each
    """Give the resolved profile, which must lint clean."""
    profile = BUNDLED.load_bytes(render_batch_system("new", SYSTEM._replace(**facts)).encode())
    assert [str(problem) for problem in lint_profile(profile)] == []
    return profile


def commands(profile: Profile) -> str:
    (text,) = [s.body.text for _, s in profile.list_static_scripts() if s.file_name == "commands.sh"]
    return text


def run(profile: Profile, calls: str, path: Path, text: str = "", **programs: str) -> list[str]:
    """Give what calls of the profile's own functions print, with these programs in `path`."""
    for name, program in programs.items():
        (path / name).write_text(f"#!/bin/sh\n{program}\n")
        (path / name).chmod(0o700)
    script = f"PATH={path}:$PATH\n{commands(profile)}\n{calls}"
    done = subprocess.run(
        ["sh", "-c", script], cwd=path, input=text, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("value", HOSTILE)
def test_a_word_of_a_command_is_that_word(value: str, tmp_path: Path) -> None:
    """It reaches the command as it is: no shell, XML or template reads it."""
    quoted = "'" + value.replace("'", "'\\''") + "'"
    profile = made(submit=f"sub {quoted} {{script}}", hold=f"hold {quoted}", list_jobs=f"list {quoted}")
    tell = "printf '%s\\n' \"$@\""
    said = run(profile, "gpe_submit s\ngpe_hold 7\ngpe_rows", tmp_path, sub=tell, hold=tell, list=tell)
    assert said == [value, f"{tmp_path}/s", value, "7", value]
    context = {"USER_NAME": "me", "WORKING_DIRECTORY": "/var/tmp/me/1"}
    found = incarnate(profile, "HOLD", fields={"JOB_ID": "1"}, context=context)
    assert commands(profile) in {script.body for script in found.static_scripts}


@pytest.mark.parametrize(
    ("submit", "prefix", "expected"),
    [
        ("sub {script}", "", 'sub "$@" "$gpe_script"'),
        ("sub", "", 'sub "$@" "$gpe_script"'),
        ("env A=b sub {options} sh {script}", "", 'env A=b sub "$@" sh -c "$gpe_starter" "$gpe_script"'),
        ("sub -- /bin/sh {script}", "", 'sub "$@" -- /bin/sh -c "$gpe_starter" "$gpe_script"'),
        ("sub < {script}", "#SUB", 'sub < "$PWD/$1"'),
        ("sub <", "#SUB", 'sub < "$PWD/$1"'),
        ("sub {script} <", "#SUB", "sub \"$PWD/$1\" '<'"),
        ("sub < {options}", "", 'sub \'<\' "$@" "$gpe_script"'),
        ("sub --file={script} -x", "#SUB", 'sub --file="$PWD/$1" -x'),
        ("'my sub' x", "", '\'my sub\' "$@" x "$gpe_script"'),
        ("time sub", "#SUB", "'time' sub \"$PWD/$1\""),
        ("sub ''", "#SUB", "sub '' \"$PWD/$1\""),
    ],
)
def test_the_place_of_the_script(submit: str, prefix: str, expected: str) -> None:
    assert expected in commands(made(submit=submit, directive=prefix))


def test_directives() -> None:
    profile = made(directive="#$")
    assert profile.templates["JOB_DIRECTIVES"].directive_prefix == "#$"
    site = render_batch_system("new", SYSTEM._replace(directive="#$")).replace(
        "  </idb:Template>",
        '<idb:Field name="OPTIONS" ext:pattern="[a-z]+"><idb:Default/></idb:Field></idb:Template>', 1,
    )  # fmt: skip
    context = {"USER_NAME": "me", "WORKING_DIRECTORY": "/var/tmp/me/1"}
    start = incarnate(BUNDLED.load_bytes(site.encode()), "START", fields={"OPTIONS": "fast"}, context=context)
    assert (start.job_script or "").splitlines()[:2] == ["#!/bin/sh", "#$ fast"]


@pytest.mark.parametrize(
    ("answer", "text", "expected"),
    [
        ("{id}", "7\n", "7"),
        ("Job <{id}> is submitted", "Memory: 2 GB\nJob <12> is submitted to queue <9>.\n", "12"),
        ("job {id} accepted", "job 17 accepted\n", "17"),
        ("id.*[x]: {id}", "id.*[x]: 4\n", "4"),
        ("it's /{id}", "it's /4\n", "4"),
    ],
)
def test_the_id_in_the_answer(answer: str, text: str, expected: str, tmp_path: Path) -> None:
    """The sample is read as the profile itself reads the answer."""
    told = [r.job_id for r in read_answer_sample(SYSTEM._replace(answer=answer), text) if r.job_id]
    assert told == [expected]
    # Without a function of its own, a profile's answer is the id.
    assert run(made(answer=answer), "gpe_read_id", tmp_path, text, gpe_read_id="cat") == [expected]


LINES = [
    ("{id} {state} {exit}", "ID STATE X\n7 Q\n8 R 5\n9 C 3\n10 C -1\n11 C\n12 Z\n\n13\n"),
    ("{state} x {id} {} {exit}", "Q a 7\nR a 8 b 5\nC a 9 b 3\nC a 10 b -9\n"),
    ("{id}|{state}|{exit}", " 7 | Q|\n8|R|5\n9 |C | 3\n10|C|-1\na|b\n"),
    ("{id};{};{state}", "7;x y;Q\n9;;C\n"),
]


@pytest.mark.parametrize(("line", "text"), LINES)
def test_samples_are_read_as_the_profile_reads(line: str, text: str, tmp_path: Path) -> None:
    system = SYSTEM._replace(line=line)
    profile = made(line=line)
    tags = {tag.name: tag.value for tag in profile.global_fields["STATE"].tags}
    told = [(r.job_id, r.state, r.exit_code) for r in read_list_sample(system, text) if r.job_id]
    printed = []
    for words in map(str.split, run(profile, "gpe_list", tmp_path, text, list="cat")):
        if len(words) > 1 and words[0].isdigit():
            state = tags.get(words[1]) or tags.get(words[1].partition("/")[0], "")
            printed.append((words[0], state, "".join(words[2:]).removeprefix("exit=")))
    assert printed == told
    assert told


def test_what_a_sample_does_not_tell_is_said() -> None:
    readings = read_list_sample(SYSTEM, "ID STATE\n7 Q\n8 NEW\n")
    assert [(r.number, r.job_id, r.word, r.state) for r in readings] == [
        (1, "", "", ""), (2, "7", "Q", "QUEUED"), (3, "8", "NEW", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"answer": "job"}, "must contain {id} once"),
        ({"line": "{id}"}, "must contain {id} and {state} once"),
        ({"line": "{id} {state} {state}"}, "must contain {id} and {state} once"),
        ({"line": "{id} {state} {name}"}, "{name} is not known"),
        ({"line": "{id} {script} {state}"}, "{script} must be the end"),
        ({"own_id": ""}, "a job must learn its own id"),
        ({"submit": "sub 'x"}, "cannot be split into words"),
        ({"submit": " "}, "a command is empty"),
        ({"list_jobs": ""}, "is empty"),
        ({"list_jobs": "a '"}, "cannot be split"),
        ({"list_jobs": "a | b"}, "has the shell operator |"),
        ({"own_id": "a || b"}, "has the shell operator ||"),
        ({"cancel": [""]}, "a command is empty"),
        ({"submit": "sub\nid"}, "cannot be printed"),
        ({"hold": "hold \x1b"}, "cannot be printed"),
        ({"id_pattern": "("}, "is not valid"),
        ({"id_pattern": "(?<x>a)"}, "reads differently"),
        ({"id_pattern": r"\d+"}, "reads differently"),
        ({"id_pattern": "}"}, "reads differently"),
        ({"id_pattern": "a]"}, "reads differently"),
        ({"id_pattern": ".*"}, "no file's name"),
        ({"id_pattern": "[0-9/]+|a/b"}, "has a character that no id may have"),
        ({"directive": "#flux:"}, "capital letter"),
        ({"directive": "PBS"}, "capital letter"),
        ({"directive": "#P'BS <X>"}, "capital letter"),
        ({"words": {**SYSTEM.words, "held": ["a b"]}}, "is not a word"),
        ({"words": {**SYSTEM.words, "held": ["$(id)"]}}, "is not a word"),
        ({"words": {**SYSTEM.words, "held": ["Q"]}}, "two meanings"),
        ({"words": {**SYSTEM.words, "held": ["removed"]}}, "the batch system cannot use it"),
    ],
)
def test_an_unusable_fact_is_refused(facts: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        render_batch_system("new", SYSTEM._replace(**facts))
    assert message in str(error.value)


@pytest.mark.parametrize("pattern", ["[a-z%~]+", "j%[0-9]+", "~[0-9]+"])
def test_a_character_that_grep_and_java_read_alike_is_allowed(pattern: str) -> None:
    assert render_batch_system("new", SYSTEM._replace(id_pattern=pattern))


def test_a_name_that_no_profile_may_have() -> None:
    with pytest.raises(NotFoundError):
        render_batch_system("../x", SYSTEM)


@settings(max_examples=rounds(15, 5), deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20))
@example("]]>'\\''<X/a/b>")
@example("{id}{options}")
@example("-")
@example("0.")
@example("j[^0]")
@example("j[ -z]")
def test_any_text_is_a_word_or_refused(text: str) -> None:
    """As a command, an answer, a line, a pattern or a prefix: a clean profile, or an error. No third."""
    for fact in ("submit", "answer", "id_pattern", "list_jobs", "line", "hold", "directive", "own_id"):
        with contextlib.suppress(ValueError):
            made(**{fact: text})
