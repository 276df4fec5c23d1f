"""The profile that a site starts from: valid, as its parent is, with every comment opened or not."""

from __future__ import annotations

import itertools
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.authoring.skeleton import render_skeleton, write_skeleton
from osprofile.errors import NotFoundError
from osprofile.incarnation.incarnate import incarnate
from osprofile.lint import lint_file
from osprofile.profile.data_directories import get_bundled_directory
from osprofile.profile.repository import Repository
from tests.strategies import document

if TYPE_CHECKING:
    from osprofile import Profile

BUNDLED = Repository([get_bundled_directory()], use_standard_path=False)
CONTEXT = {"USER_NAME": "alice", "WORKING_DIRECTORY": "/var/tmp/alice/1"}
OPENED = re.compile(r"^ *<!--\n(.*?)\n *-->$", re.MULTILINE | re.DOTALL)
DELIMITER = re.compile(r"\bEND_OF_JOB_[0-9a-f]+")


def with_own(folder: Path) -> Repository:
    """Return the profiles of a folder and the bundled ones."""
    return Repository([folder, get_bundled_directory()], use_standard_path=False)


def lints(tmp_path: Path, name: str, text: str) -> list[str]:
    (tmp_path / name).mkdir(exist_ok=True)
    (tmp_path / name / "profile.xml").write_text(text)
    return [str(p) for p in lint_file(tmp_path / name, with_own(tmp_path))]


def of_parent(script: str, name: str, parent: str) -> str:
    """Return a script with the parent's name in the place of the profile's own."""
    for before in ("gpe_profile=", "--profile "):
        script = script.replace(f"{before}'{name}'", f"{before}'{parent}'")
    return DELIMITER.sub("END", script)


def assert_same_start(profile: Profile, parent: str) -> None:
    own, inherited = (
        incarnate(p, "START", context=CONTEXT).comparable_text for p in (profile, BUNDLED.load(parent))
    )
    assert of_parent(own, profile.name, parent) == DELIMITER.sub("END", inherited)


@pytest.mark.parametrize(
    ("name", "parent"),
    [
        *itertools.product(["mysite"], BUNDLED.list_names()),
        *itertools.product(["{}", "a--b---", "0"], ["slurm"]),
    ],
)
def test_lints_clean_and_changes_nothing(tmp_path: Path, parent: str, name: str) -> None:
    name = name.format(parent)
    text = render_skeleton(name, BUNDLED.load(parent))
    assert lints(tmp_path, name, text) == []
    assert_same_start(with_own(tmp_path).load(name), parent)


@pytest.mark.parametrize("parent", BUNDLED.list_names())
def test_with_every_comment_opened_it_lints_clean_too(tmp_path: Path, parent: str) -> None:
    text = render_skeleton("mysite", BUNDLED.load(parent))
    opened = OPENED.sub(r"\1", text)
    fields = BUNDLED.load(parent).global_fields.values()
    places = {"SITE_SETUP", "SITE_CLEANUP", "EXTRA_DIRECTIVES", "MODULES", "SETUP", "KEPT_VARIABLES"}
    places |= {"CLUSTER"} & {field.name for field in fields}
    places |= {"BATCH_SYSTEM"} if parent == "linux" else set()
    wanted = {f.name for f in fields if f.settable and f.default is not None} | places
    examples = {"GREETED", "SITE_NAME", "SITE_CONTACT", "SITE_CONFIRM"} | (
        {"FEATURES"} if parent != "linux" else set()
    )
    assert set(re.findall('<idb:Field name="([^"]*)"', opened)) == wanted | examples
    assert not re.search(r"<idb:M(?:in|ax)>[0-9]*\.0<", text)
    assert lints(tmp_path, "mysite", opened) == []
    profile = with_own(tmp_path).load("mysite")
    assert "SIGNAL" not in profile.templates
    if parent != "linux":
        prefix = profile.templates["JOB_DIRECTIVES"].fields["DIRECTIVE_PREFIX"].value
        job = incarnate(profile, "START", fields={"FEATURES": "big"}, context=CONTEXT).job_script
        assert f"\n{prefix} -l big\n" in (job or "")
    start = incarnate(profile, "START", application="Greeting", fields={"GREETED": "it's"}, context=CONTEXT)
    assert "printf 'Greetings, %s, from %s\\n' 'it'\\''s' \"$(hostname)\"" in (start.job_script or "")
    assert_same_start(profile, parent)


HOSTILE_ROOT = "/a <b> & c-->"


def test_a_parent_with_hostile_texts(tmp_path: Path) -> None:
    fields = """
<idb:Field name="A" ext:type="integer"><idb:Description>--&gt;&lt;oops/&gt;&lt;!--</idb:Description></idb:Field>
<idb:Field name="B" ext:type="integer"><idb:Description>a ]]&gt; b -</idb:Description><idb:Default>1</idb:Default></idb:Field>
"""
    content = document(
        f"<idb:Template>{fields}</idb:Template>", name="parent", extends="linux", root=HOSTILE_ROOT
    )
    (tmp_path / "parent.xml").write_text(content)
    parent = with_own(tmp_path).load("parent")
    text = render_skeleton("child", parent)
    assert '"A"' not in text  # no comment can hold it
    assert '<idb:Field name="B"' in text
    codes = {line.split()[2] for p in lints(tmp_path, "child", text) for line in p.splitlines()[:1]}
    assert codes <= {"OSP302"}  # the parent's own, of fields that nothing uses
    child = with_own(tmp_path).load("child")
    assert child.uspace_root == parent.uspace_root == HOSTILE_ROOT


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]*", fullmatch=True))
def test_any_name(name: str) -> None:
    text = render_skeleton(name, BUNDLED.load("linux"))
    if name != "linux":
        assert BUNDLED.load_bytes(text.encode()).name == name


@pytest.mark.parametrize("name", ["", "-x", "a/b", "..", "a b", "é", "x\n", "<x>", "\x1b"])
def test_a_name_that_no_profile_may_have(name: str) -> None:
    with pytest.raises(NotFoundError) as error:
        render_skeleton(name, BUNDLED.load("linux"))
    assert error.value.message == f"profile name {name!r} is not allowed"


def test_write(tmp_path: Path) -> None:
    file = write_skeleton(str(tmp_path / "new"), "x", "<é/>\n")
    assert file == str(tmp_path / "new" / "x" / "profile.xml")
    assert Path(file).read_bytes() == "<é/>\n".encode()


@pytest.mark.parametrize("kind", ["file", "dangling link", "directory"])
def test_what_is_there_stays(tmp_path: Path, kind: str) -> None:
    (tmp_path / "x").mkdir()
    file = tmp_path / "x" / "profile.xml"
    if kind == "file":
        file.write_text("mine")
    elif kind == "directory":
        file.mkdir()
    else:
        file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        write_skeleton(str(tmp_path), "x", "new")
    assert kind != "file" or file.read_text() == "mine"
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("directory", ["d", "a b--c's", "on/path"])
def test_the_introductions_commands_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, directory: str
) -> None:
    monkeypatch.setenv("OSPROFILE_PATH", str(tmp_path / "on" / "path"))
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-m", "osprofile"]
    made = subprocess.run(
        [*command, "new", "x--y", "--extends", "slurm", "--directory", directory],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    text = Path(made.stdout.strip()).read_text()
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("incarnate ")]
    commands = [re.split(" {3,}", line)[0].removeprefix("incarnate ") for line in lines]
    assert len(commands) == 3
    assert ("/" in commands[0]) == (directory != "on/path")
    for words in map(shlex.split, commands):
        subprocess.run([*command, *words], capture_output=True, cwd="/", check=True)
