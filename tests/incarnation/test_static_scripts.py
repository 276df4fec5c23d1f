"""Static scripts: OS Profile 0.3, 2.2; docs/language.md, Static scripts; deployed by real shells."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from osprofile import (
    InvalidProfileError,
    MissingValueError,
    NotSettableError,
    StaticScriptFile,
    TemplateNotFoundError,
    deployment_script,
    incarnate,
)
from osprofile.incarnation.incarnate import static_scripts
from osprofile.incarnation.static_scripts import compute_folder_name
from tests.hunting import rounds
from tests.incarnation.parts import bin_template
from tests.strategies import XML_CHARACTERS, default, field, invocation, profile, static, template_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BIN = bin_template('"$HOME"/.gpe/bin', '"$HOME"/.gpe/bin/<FILE_NAME>', "sh <TARGET> <ARGUMENTS>")
LISTING = '#!/bin/sh\nls -- "$@" # <PATH>\n'
FOLDER = compute_folder_name({"ls.sh": LISTING})
"""The folder of the scripts of a profile with this one alone."""
LS = f"{FOLDER}/ls.sh"
LIST = template_of("LIST", static(LISTING, "ls.sh", "-- '<PATH/'/'\\\\''>'"), field("PATH", default(".")))


# What an incarnation of one is (OS Profile 0.3, 2.2)


def test_a_static_script_is_run_with_its_arguments() -> None:
    found = incarnate(profile(LIST, BIN), "LIST", fields={"PATH": "it's"})
    assert found.text == f"sh \"$HOME\"/.gpe/bin/{LS} -- 'it'\\''s'"
    (script,) = found.static_scripts
    assert script == StaticScriptFile(
        path=f'"$HOME"/.gpe/bin/{LS}',
        body=LISTING,  # as it is: no replacement is one in there
        directory='"$HOME"/.gpe/bin',
        folder=FOLDER,
    )
    assert script.mode == 0o700
    assert list(found.fields) == ["PATH"]


def test_a_body_names_the_paths_of_static_scripts() -> None:
    both = template_of("RUN", invocation("<BIN:ls.sh> <BIN:true.sh>"))
    other = template_of("OTHER", static("true\n", "true.sh"))
    found = incarnate(profile(both, LIST, other, BIN), "RUN")
    paths = [script.path for script in found.used_scripts]
    assert found.text == " ".join(paths)
    assert [path.rpartition("/")[2] for path in paths] == ["ls.sh", "true.sh"]
    one = incarnate(profile(both, LIST, other, BIN), "OTHER")
    assert [script.path for script in one.used_scripts] == paths[1:]
    assert [script.path for script in one.static_scripts] == paths
    assert one.comparable_text.strip() == 'sh "$HOME"/.gpe/bin/DIGEST/true.sh'


def test_a_path_in_a_body_is_replaced_and_not_settable() -> None:
    runner = template_of("RUN", invocation("sh <BIN:ls.sh> -- /; cat <BIN:ls.sh/bin/BIN> # <BIN:ls.sh>"))
    made = profile(runner, LIST, BIN)
    found = incarnate(made, "RUN")
    path = f'"$HOME"/.gpe/bin/{LS}'
    assert found.text == f"sh {path} -- /; cat {path.replace('bin', 'BIN')} # {path}"
    assert [script.path for script in found.static_scripts] == [path]
    assert list(found.fields) == []
    unknown = r"<BIN:sl\.sh> names a static script that profile p does not have"
    with pytest.raises(InvalidProfileError, match=unknown):
        incarnate(profile(runner.replace("ls.sh", "sl.sh"), LIST, BIN), "RUN")
    with pytest.raises(NotSettableError, match="BIN:ls"):
        incarnate(made, "RUN", fields={"BIN:ls.sh": "/tmp/x"})
    assert incarnate(made, "RUN", context={"BIN:ls.sh": "/tmp/x"}).text == found.text


def test_bodies_of_bin_may_end_their_line() -> None:
    found = incarnate(profile(LIST, bin_template("/b\n", "/b/<FILE_NAME>\n")), "LIST")
    assert found.text == f"/b/{LS} -- '.'"
    assert (found.static_scripts[0].path, found.static_scripts[0].directory) == (f"/b/{LS}", "/b")


def test_replacements_apply_to_what_the_engine_supplies() -> None:
    path, run = "/b/<FILE_NAME/\\.sh/>-<USER_NAME>", "run <TARGET/\\//:> (<ARGUMENTS/-- />)"
    made = profile(LIST, bin_template("/b", path, run))
    found = incarnate(made, "LIST", context={"USER_NAME": "u"})
    assert found.text == f"run :b:{FOLDER}:ls-u ('.')"
    with pytest.raises(MissingValueError, match="template BIN, variation STATIC_SCRIPT uses it"):
        incarnate(made, "LIST")


HOSTILE_ARGUMENTS = ["<TARGET>", "<ARGUMENTS>", "<FILE_NAME>", "; rm -rf ~", "$(id)", "a\nb", "\\"]


@pytest.mark.parametrize("value", HOSTILE_ARGUMENTS)
def test_arguments_are_values(value: str) -> None:
    found = incarnate(profile(LIST, BIN), "LIST", fields={"PATH": value})
    assert found.text == f"sh \"$HOME\"/.gpe/bin/{LS} -- '{value}'"


@pytest.mark.parametrize("name", ["TARGET", "ARGUMENTS", "FILE_NAME"])
def test_what_the_engine_supplies_to_bin_is_nobody_elses(name: str) -> None:
    declared = (
        field("TARGET", default("x")),
        field("ARGUMENTS", default("x")),
        field("FILE_NAME", default("x")),
    )
    made = profile(LIST, bin_template("/b", "/b/<FILE_NAME>", "<TARGET> <ARGUMENTS>", *declared))
    assert incarnate(made, "LIST", fields={name: "evil"}, strict=False).text == f"/b/{LS} -- '.'"
    for variation in ("", "STATIC_SCRIPT", "RUN_STATIC_SCRIPT"):
        with pytest.raises(NotSettableError):
            incarnate(made, "BIN", variation=variation, fields={name: "evil"})


def test_a_template_may_have_a_field_of_the_same_name() -> None:
    script = static("x", "x.sh", "<ARGUMENTS> <TARGET>")
    made = profile(template_of("RUN", script, field("ARGUMENTS"), field("TARGET")), BIN)
    found = incarnate(made, "RUN", fields={"ARGUMENTS": "a", "TARGET": "t"}, strict=True)
    assert found.text == f'sh "$HOME"/.gpe/bin/{compute_folder_name({"x.sh": "x"})}/x.sh a t'


def test_without_bin() -> None:
    with pytest.raises(TemplateNotFoundError, match="profile p has no template 'BIN'"):
        incarnate(profile(LIST), "LIST")
    with pytest.raises(TemplateNotFoundError, match="has no variation 'STATIC_SCRIPT'"):
        incarnate(profile(LIST, template_of("BIN", invocation("/b"))), "LIST")


def test_bin_cannot_be_a_static_script_itself() -> None:
    made = profile(LIST, "\n" + template_of("BIN", static("x", name="STATIC_SCRIPT")))
    with pytest.raises(InvalidProfileError) as caught:
        incarnate(made, "LIST")
    assert str(caught.value).split("\n")[0] == (
        "p.xml:8:26: error OSP502 the variation 'STATIC_SCRIPT' of BIN runs or names static "
        "scripts and cannot be one"
    )


# All of a profile's scripts


def test_all_static_scripts_of_a_profile() -> None:
    made = profile(
        LIST,
        template_of("A", static("a"), static("b", "b.sh", "<NEEDED>", "V"), field("NEEDED")),
        template_of("B", static("a")),  # the same file again, and the same body
        BIN,
    )
    scripts = static_scripts(made)
    assert [(s.path.rpartition("/")[2], s.body) for s in scripts] == [
        ("ls.sh", LISTING), ("s.sh", "a"), ("b.sh", "b"),
    ]  # fmt: skip
    assert {s.path.split("/")[-2] for s in scripts} == {s.folder for s in scripts} == {
        compute_folder_name({"b.sh": "b", "ls.sh": LISTING, "s.sh": "a"})
    }  # fmt: skip
    assert static_scripts(profile(BIN)) == ()
    assert incarnate(profile(template_of("T", invocation("x")), BIN), "T").static_scripts == ()


def test_all_static_scripts_need_what_their_paths_need() -> None:
    made = profile(LIST, bin_template("/b/<USER_NAME>", "/b/<USER_NAME>/<FILE_NAME>"))
    assert static_scripts(made, {"USER_NAME": "u"})[0].path == f"/b/u/{LS}"
    with pytest.raises(MissingValueError, match="field USER_NAME has no value: template BIN"):
        static_scripts(made)


def test_two_bodies_for_one_file() -> None:
    made = profile(template_of("A", static("a")), template_of("B", static("b")), BIN)
    with pytest.raises(InvalidProfileError) as caught:
        static_scripts(made)
    (problem,) = caught.value.problems
    assert (problem.code, problem.message) == (
        "OSP504", "two static scripts are written to the same file s.sh",
    )  # fmt: skip


def test_the_name_of_the_folder_tells_the_names_and_the_content_of_all() -> None:
    sets = [{"s": "a"}, {"s": "b"}, {"t": "a"}, {"s": ""}, {"s": "a", "t": "b"}, {"s": "b", "t": "a"}]
    folders = {compute_folder_name(bodies) for bodies in sets}
    assert len(folders) == len(sets)
    assert all(re.fullmatch("[0-9a-f]{16}", folder) for folder in folders)
    assert compute_folder_name({"t": "b", "s": "a"}) in folders


def test_digest() -> None:
    script = StaticScriptFile("p", "body", "d", "f")
    assert script.digest == "230d8358dc8e8890b4c58deeb62912ee2f20357ae92a5cc861b98e68fe31acb5"
    assert script.digest != StaticScriptFile("p", "body\n", "d", "f").digest


# Deployment, through real shells

SHELLS = [name for name in ("dash", "bash", "busybox") if shutil.which(name)]


def command(shell: str) -> list[str]:
    return [shell, "sh"] if shell == "busybox" else [shell]


def run(
    shell: str, script: str, home: Path | None, path: str = os.environ["PATH"]
) -> subprocess.CompletedProcess[str]:
    """Run a script as a remote shell gets it: on standard input."""
    environment = {"PATH": path} | ({} if home is None else {"HOME": str(home)})
    return subprocess.run(
        command(shell), input=script, env=environment, capture_output=True, text=True, check=False
    )


def script_file(body: str, name: str = "s.sh", directory: str = '"$HOME"/bin') -> StaticScriptFile:
    return StaticScriptFile(f"{directory}/{FOLDER}/{name}", body, directory, FOLDER)


def deploy(shell: str, home: Path, *scripts: StaticScriptFile) -> subprocess.CompletedProcess[str]:
    return run(shell, deployment_script(scripts), home)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def deployed(shell: str, home: Path, *scripts: StaticScriptFile) -> list[Path]:
    done = deploy(shell, home, *scripts)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [path.name for path in (home / "bin").iterdir()] == [FOLDER]  # nothing is left
    return sorted((home / "bin" / FOLDER).iterdir())


def test_round_trip(shell: str, tmp_path: Path) -> None:
    body = "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"
    (path,) = deployed(shell, tmp_path, script_file(body))
    assert path.read_bytes() == body.encode()
    assert [mode(p) for p in (path, path.parent, path.parent.parent)] == [0o700] * 3
    told = subprocess.run([path, "a b", "$x"], capture_output=True, text=True, check=True).stdout
    assert told == "a b\n$x\n"


BODIES = {
    "empty": "",
    "no line end": "x",
    "many line ends": "\n\nx\n\n\n",
    "quotes": "'\"`'' '\\'' \"",
    "backslashes": "\\ \\\\ \\n \\0 \\c \\",
    "percent": "%s %d %% %",
    "dollar": "$HOME $(id) ${x} `id` $'x'",
    "leading dash": "-n -e",
    "here-document": "cat <<EOF\nEOF\n",
    "blanks": " \t x \t ",
    "carriage returns": "a\r\nb\r",
    "UTF-8": "é\u2028\x85\U0001f40d\ufeff",
    "history": "!! !x ^a^b",
    "globs": "* ? [a] ~ {a,b}",
    "control": "\x01\x1b[31m\x7f",
    "large": "x'\n" * 100_000,
}


def test_every_body_arrives_byte_by_byte(shell: str, tmp_path: Path) -> None:
    scripts = [script_file(body, name.replace(" ", "-")) for name, body in BODIES.items()]
    found = {path.name: path.read_bytes() for path in deployed(shell, tmp_path, *scripts)}
    assert found == {name.replace(" ", "-"): body.encode() for name, body in BODIES.items()}


@settings(max_examples=12)
@given(
    bodies=st.lists(
        st.text(XML_CHARACTERS | st.sampled_from("'\\$`\"\r\n%-"), max_size=60), min_size=8, max_size=8
    )
)
def test_any_body_arrives(bodies: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("home")
    for shell in SHELLS[:2]:
        scripts = [script_file(body, f"{shell}{i}") for i, body in enumerate(bodies)]
        deployed(shell, home, *scripts)
        for i, body in enumerate(bodies):
            assert (home / "bin" / FOLDER / f"{shell}{i}").read_bytes() == body.encode()


def test_deployment_is_idempotent(shell: str, tmp_path: Path) -> None:
    (path,) = deployed(shell, tmp_path, script_file("x"))
    os.utime(path, (1, 1))
    before = path.stat()
    assert deployed(shell, tmp_path, script_file("x")) == [path]
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


BREAKS = {
    "a file is gone": lambda folder: (folder / "a.sh").unlink(),
    "a file is empty": lambda folder: (folder / "a.sh").write_text(""),
    "a file is cut": lambda folder: (folder / "b.sh").write_text("whol"),
    "a file more": lambda folder: (folder / "c.sh").touch(),
    "a link": lambda folder: (
        (folder / "a.sh").rename(folder.parent / "other"),
        (folder / "a.sh").symlink_to(folder.parent / "other"),
    ),
    "a directory in the way": lambda folder: ((folder / "a.sh").unlink(), (folder / "a.sh").mkdir()),
    "a link in place of the folder": lambda folder: (
        folder.rename(folder.parent.parent / "elsewhere"),
        folder.symlink_to(folder.parent.parent / "elsewhere"),
    ),
    "a file in place of the folder": lambda folder: (shutil.rmtree(folder), folder.touch()),
}


@pytest.mark.parametrize("break_folder", BREAKS.values(), ids=BREAKS)
def test_a_folder_that_is_not_whole_is_replaced(
    break_folder: Callable[[Path], object], shell: str, tmp_path: Path
) -> None:
    scripts = script_file("whole\n", "a.sh"), script_file("whole\n", "b.sh")
    (first, _second) = deployed(shell, tmp_path, *scripts)
    with first.open() as reader:  # who reads the old one reads it to its end
        break_folder(first.parent)
        (tmp_path / "bin/other").unlink(missing_ok=True)
        assert [path.name for path in deployed(shell, tmp_path, *scripts)] == ["a.sh", "b.sh"]
        assert reader.read() in {"whole\n", ""}
    assert not first.parent.is_symlink()
    assert {(path.read_text(), mode(path), path.is_symlink()) for path in first.parent.iterdir()} == {
        ("whole\n", 0o700, False)
    }


def test_modes_are_mended(shell: str, tmp_path: Path) -> None:
    (path,) = deployed(shell, tmp_path, script_file("x"))
    for wrong in (0o777, 0o600, 0o400):
        path.chmod(wrong)
        deployed(shell, tmp_path, script_file("x"))
        assert mode(path) == 0o700


def test_others_lose_the_right_to_write_in_the_directory(shell: str, tmp_path: Path) -> None:
    (path,) = deployed(shell, tmp_path, script_file("x"))
    for directory in path.parents[:2]:
        directory.chmod(0o777)
    deployed(shell, tmp_path, script_file("x"))
    assert [mode(directory) for directory in path.parents[:2]] == [0o700, 0o755]


def test_directories_above_are_owner_only_too(shell: str, tmp_path: Path) -> None:
    done = deploy(shell, tmp_path, script_file("x", directory='"$HOME"/a/b'))
    assert done.returncode == 0
    assert [mode(tmp_path / d) for d in ("a", "a/b", f"a/b/{FOLDER}/s.sh")] == [0o700] * 3


def test_a_file_where_the_directory_should_be(shell: str, tmp_path: Path) -> None:
    (tmp_path / "bin").write_text("")
    done = deploy(shell, tmp_path, script_file("x"))
    assert done.returncode != 0
    assert "bin" in done.stderr


def test_a_directory_that_cannot_be_written(shell: str, tmp_path: Path) -> None:
    done = deploy(shell, tmp_path, script_file("x", directory="/proc"))
    assert done.returncode != 0
    assert done.stderr


def test_a_path_that_is_not_in_the_folder(shell: str, tmp_path: Path) -> None:
    """Of a BIN that does not write <FILE_NAME> as it is: the folder is replaced, so it must be nobody else's."""
    other = StaticScriptFile('"$HOME"/bin/s.sh', "x", '"$HOME"/bin', FOLDER)
    for scripts in ((other,), (script_file("x"), other)):
        done = deploy(shell, tmp_path, *scripts)
        assert (done.returncode, done.stdout) == (1, "")
        assert "bin/s.sh" in done.stderr
    assert not (tmp_path / "bin" / FOLDER).exists()


def test_paths_with_blanks_and_dashes(shell: str, tmp_path: Path) -> None:
    home = tmp_path / "-a b' $x\n*"
    home.mkdir()
    (path,) = deployed(shell, home, script_file("x"))
    assert path.read_text() == "x"
    script = deployment_script([script_file("x", directory="-d")])
    subprocess.run([*command(shell), "-c", script], cwd=tmp_path, check=True)
    assert (tmp_path / "-d" / FOLDER / "s.sh").read_text() == "x"


@pytest.mark.race
def test_twenty_deployments_at_once(shell: str, tmp_path: Path) -> None:
    scripts = [script_file(f"body {i} " * 2000, f"f{i}") for i in range(3)]
    with ThreadPoolExecutor(20) as pool:
        done = list(pool.map(lambda _: deploy(shell, tmp_path, *scripts), range(20)))
    assert {(d.returncode, d.stdout, d.stderr) for d in done} == {(0, "", "")}
    assert [p.name for p in (tmp_path / "bin").iterdir()] == [FOLDER]  # nothing is left
    assert [(tmp_path / "bin" / FOLDER / f"f{i}").read_text() for i in range(3)] == [s.body for s in scripts]


def test_two_profiles_whose_scripts_have_one_name_run_their_own(shell: str, tmp_path: Path) -> None:
    """Each deploys and runs at the same time, as two batch systems of one home do."""
    scripts = []
    for word in ("one", "two"):
        found = incarnate(profile(template_of("A", static(f"echo {word}", "s.sh")), BIN), "A")
        scripts.append(f"({deployment_script(found.static_scripts)}) && {found.text}")
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda script: run(shell, script, tmp_path), scripts * rounds(40, 5)))
    said = [one.stdout + one.stderr for one in done]
    assert said == ["one\n", "two\n"] * rounds(40, 5)


def test_a_deployment_of_nothing(shell: str, tmp_path: Path) -> None:
    done = deploy(shell, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_shell_without_a_home(shell: str) -> None:
    done = run(shell, deployment_script([script_file("x")]), None)
    assert done.returncode != 0
    assert "HOME" in done.stderr


@pytest.mark.race
def test_a_killed_deployment_leaves_no_half_of_a_folder(tmp_path: Path) -> None:
    """A signal in the middle: the temporary folder goes."""
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "sync").write_text('#!/bin/sh\nkill -TERM "$PPID"\n')
    (slow / "sync").chmod(0o755)
    for name in SHELLS[:2]:
        done = run(name, deployment_script([script_file("x")]), tmp_path, f"{slow}:{os.environ['PATH']}")
        assert done.returncode != 0
        assert list((tmp_path / "bin").iterdir()) == []


def test_the_incarnation_runs_what_was_deployed(shell: str, tmp_path: Path) -> None:
    show = static("printf '[%s]' \"$@\"\n", "show.sh", "'<A/'/'\\\\''>' x")
    made = profile(template_of("SHOW", show, field("A")), BIN)
    value = "it's $HOME `id`\n* \\"
    found = incarnate(made, "SHOW", fields={"A": value})
    assert deploy(shell, tmp_path, *found.static_scripts).returncode == 0
    done = run(shell, found.text, tmp_path)
    assert (done.returncode, done.stdout) == (0, f"[{value}][x]")
