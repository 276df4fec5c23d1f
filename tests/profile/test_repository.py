"""Finding profiles and what they extend: OS Profile 0.3, 1; docs/language.md, Inheritance."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import osprofile
from osprofile import InvalidProfileError, ProfileNotFoundError, Repository
from osprofile.profile import schema
from osprofile.profile.repository import iter_search_path
from tests.strategies import application, calls, default, document, field, template, template_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(osprofile.__file__).parent.parent


def write(directory: Path, name: str, content: str = "", **options: str) -> Path:
    """Write a profile as a folder; give its file."""
    path = directory / name / "profile.xml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document(content, name=name, **options))
    return path


def chain(repository: Repository, name: str) -> list[str]:
    return [d.element.source.name for d in repository.load(name).documents]


def alone(*directories: Path) -> Repository:
    return Repository(directories, use_standard_path=False)


# The search path


def test_search_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSPROFILE_PATH", f"{tmp_path}/a{os.pathsep}{os.pathsep}{tmp_path}/b")
    monkeypatch.setenv("XDG_CONFIG_HOME", f"{tmp_path}/config")
    own = (f"{tmp_path}/{name}" for name in ("too", "a", "b", "config/osprofile/profiles"))
    *found, bundled = iter_search_path(["given", tmp_path / "too"])
    assert found == ["given", *own, "/etc/osprofile/profiles"]
    assert Path(bundled, "linux", "profile.xml").is_file()


# XDG Base Directory 0.8: an empty or relative value is as good as none.
@pytest.mark.parametrize("value", ["", "relative/config", "~/.config"])
def test_the_users_directory(value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", value)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert next(iter_search_path()) == f"{tmp_path}/.config/osprofile/profiles"


def test_a_user_without_a_home_has_no_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert next(iter_search_path()) == "/etc/osprofile/profiles"


def test_the_first_hit_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [tmp_path / name for name in ("option", "variable", "config/osprofile/profiles")]
    monkeypatch.setenv("OSPROFILE_PATH", str(places[1]))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for place in reversed(places):
        path = write(place, "linux")
        assert Repository([places[0]]).find_file("linux") == str(path)
    assert Repository([places[0]], use_standard_path=False).list_names() == ["linux"]
    assert {"linux", "lsf", "pbs", "sge", "slurm", "torque"} <= set(Repository().list_names())


def test_a_profile_is_a_folder_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "one.xml").write_text(document(name="one"))
    write(tmp_path, "two")
    repository = alone(tmp_path)
    assert repository.list_names() == ["one", "two"]
    assert [repository.load(name).name for name in ("one", "two")] == ["one", "two"]
    folder = write(tmp_path, "one")
    assert alone(tmp_path).find_file("one") == str(folder)  # the folder goes first


def test_names_lists_only_what_can_be_loaded(tmp_path: Path) -> None:
    write(tmp_path, "good")
    (tmp_path / "-bad.xml").write_text("")
    (tmp_path / ".hidden.xml").write_text("")
    (tmp_path / "empty-folder").mkdir()
    (tmp_path / "folder.xml").mkdir()
    (tmp_path / "README.md").write_text("")
    (tmp_path / "broken.xml").write_text("<")  # there, and its fault is told when it is loaded
    assert alone(tmp_path, tmp_path / "missing").list_names() == ["broken", "good"]


def test_a_symbolic_link_to_a_directory(tmp_path: Path) -> None:
    write(tmp_path / "real", "p", template("T", "x"))
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert chain(alone(tmp_path / "link"), "p") == [f"{tmp_path}/link/p/profile.xml"]


def test_documents_are_read_once(tmp_path: Path) -> None:
    path = write(tmp_path, "p")
    repository = alone(tmp_path)
    first = repository.load("p")
    path.unlink()
    assert repository.load("p") is first
    with pytest.raises(ProfileNotFoundError):
        alone(tmp_path).load("p")


# Entry points: the distribution is real, its metadata too; another process finds it.

FOUND = """
import sys
from osprofile import Repository, errors
try:
    print(Repository().load(sys.argv[1]).documents[0].element.source.name)
except errors.OSProfileError as error:
    print(type(error).__name__)
"""


def installed(tmp_path: Path, name: str, entry_points: str) -> Path:
    """Lay a distribution out as an installer does; give what belongs on the path."""
    site = tmp_path / "site"
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
    return site


def found_in_a_process(site: Path, name: str) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-c", FOUND, name]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_an_installed_package_brings_profiles(tmp_path: Path) -> None:
    points = "[console_scripts]\nx = y:z\n\n[osprofile.profiles]\nmine = site_profiles.data\n"
    site = installed(tmp_path, "mine", points)
    path = write(site / "site_profiles" / "data", "mine")
    (site / "site_profiles" / "__init__.py").touch()
    (site / "site_profiles" / "data" / "__init__.py").touch()
    assert found_in_a_process(site, "mine") == str(path)


def test_a_single_module_package_brings_profiles_without_being_run(tmp_path: Path) -> None:
    site = installed(tmp_path, "mine", "[osprofile.profiles]\nmine = site_profiles\n")
    path = write(site / "site_profiles", "mine")
    (site / "site_profiles" / "__init__.py").write_text("raise RuntimeError\n")
    assert found_in_a_process(site, "mine") == str(path)


# Remains and faults of others' packages stop nobody.
@pytest.mark.parametrize(
    "point", ["gone", "gone.data", "broken.data", "module_only", "not a module", ":", "..x"]
)
def test_a_bad_entry_point_is_passed_over(point: str, tmp_path: Path) -> None:
    site = installed(tmp_path, "mine", f"[osprofile.profiles]\na = {point}\nb = good\n")
    path = write(site / "good", "mine")
    (site / "good" / "__init__.py").touch()
    (site / "module_only.py").touch()
    (site / "broken").mkdir()
    (site / "broken" / "__init__.py").write_text("1 / 0\n")
    assert found_in_a_process(site, "mine") == str(path)


# Names and paths


HOSTILE_NAMES = [
    "", ".", "..", "../linux", "/etc/passwd", "linux/../linux", "linux/profile", "linux/", "a b",
    "linux\n", "linux\0", "-x", "_x", ".hidden", "~", "$HOME", "linux;id", "é", "p\u0661", "C:linux",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_load_takes_names_only(name: str) -> None:
    with pytest.raises(ProfileNotFoundError) as caught:
        osprofile.load(name)
    assert str(caught.value) == (
        f"there is no profile {name!r}\n"
        "    hint: a name begins with a letter or digit and has only letters, digits, _ . -"
    )
    assert caught.value.exit_code == 2


def test_a_name_that_is_too_long_for_a_file() -> None:
    with pytest.raises(ProfileNotFoundError, match=r"there is no profile 'a+'\.\.\. \(5000 char"):
        osprofile.load("a" * 5000)


def test_an_unknown_name(tmp_path: Path) -> None:
    write(tmp_path, "my-linux")
    write(tmp_path, "other")
    with pytest.raises(ProfileNotFoundError) as caught:
        alone(tmp_path, tmp_path / "missing").load("my-linus")
    assert str(caught.value) == (
        f"there is no profile 'my-linus'\n    hint: did you mean my-linux? (looked in {tmp_path})"
    )


def test_load_file(tmp_path: Path) -> None:
    path = write(tmp_path, "p")
    repository = Repository(use_standard_path=False)
    assert repository.load_file(path).name == "p"
    assert repository.load_file(path.parent).name == "p"  # a folder stands for its profile.xml
    renamed = tmp_path / "any name at all"
    path.rename(renamed)
    assert repository.load_file(renamed).name == "p"


def test_load_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ProfileNotFoundError) as caught:
        Repository(use_standard_path=False).load_file(tmp_path / "x")
    assert str(caught.value) == (
        f"there is no file {tmp_path}/x\n"
        "    hint: give the path of a profile's file or folder, or the name of a profile"
    )
    with pytest.raises(ProfileNotFoundError, match=r"there is no file .*/profile\.xml"):
        Repository(use_standard_path=False).load_file(tmp_path)
    (tmp_path / "x").write_text("")
    with pytest.raises(ProfileNotFoundError, match="cannot be read: Not a directory"):
        Repository(use_standard_path=False).load_file(tmp_path / "x" / "y")


def test_load_bytes_finds_parents_on_the_search_path(tmp_path: Path) -> None:
    write(tmp_path, "base", template("T", "x"))
    found = alone(tmp_path).load_bytes(document(name="p", extends="base").encode(), "<request>")
    assert [d.name for d in found.documents] == ["p", "base"]
    assert found.documents[0].element.source.name == "<request>"


def test_a_file_must_be_called_like_its_profile(tmp_path: Path) -> None:
    path = write(tmp_path, "a")
    path.write_text(document(name="b"))
    with pytest.raises(InvalidProfileError) as caught:
        alone(tmp_path).load("a")
    (problem,) = caught.value.problems
    assert (problem.code, str(problem.location)) == ("OSP108", f"{path}:1:194")
    assert problem.message == "this file was found as profile 'a', but its name is 'b'"
    assert problem.hint == 'write name="a", or rename the file'


# As a user who may not read everything: root may.
AS_NOBODY = """
import difflib, os, sys
from osprofile import Repository, errors
Repository(sys.argv[2:], use_standard_path=False).load("fine")  # imports what nobody may not read
os.setgroups([]); os.setgid(65534); os.setuid(65534)
repository = Repository(sys.argv[2:], use_standard_path=False)
print(repository.list_names())
try:
    print(repository.load(sys.argv[1]))
except errors.OSProfileError as error:
    print(error)
"""


@pytest.fixture
def readable_path() -> Iterator[Path]:
    """Yield a directory that others may enter: each start of pytest closes the one above tmp_path."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_what_may_not_be_read(readable_path: Path) -> None:
    closed, opened = readable_path / "closed", readable_path / "open"
    write(closed, "hidden")
    secret = write(opened, "secret")
    write(opened, "fine")
    closed.chmod(0o700)
    secret.chmod(0o600)

    def as_nobody(name: str) -> str:
        command = [sys.executable, "-c", AS_NOBODY, name, str(closed), str(opened)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        return done.stdout

    assert as_nobody("fine") == "['fine', 'secret']\n<Profile fine>\n"
    assert as_nobody("secret") == (f"['fine', 'secret']\n{secret} cannot be read: Permission denied\n")
    assert as_nobody("hidden").startswith("['fine', 'secret']\nthere is no profile 'hidden'\n")


# Extending


def test_a_child_overrides_whole_entities(tmp_path: Path) -> None:
    """OS Profile 0.3, 1: entities of the same name override those of the parent."""
    parent = [
        template("A", "parent <X>", field("X", default("1"))), template("B", "parent B"),
        '<osp:Storage name="S" template="A"/><osp:Storage name="R" template="B"/>',
        application("one", "ONE", "1", "A"), application("two", "TWO", "1", "A"),
    ]  # fmt: skip
    child = [
        template("A", "child"), template("C", "child C"),
        '<osp:Storage name="S" template="C"/>', application("two", "TWO", "2", "B"),
    ]  # fmt: skip
    write(tmp_path, "parent", "".join(parent))
    write(tmp_path, "child", "".join(child), extends="parent", root="/child")
    found = alone(tmp_path).load("child")
    assert list(found.templates) == ["A", "B", "C"]
    assert found.get_template("A").fields == {}  # not merged with the parent's
    assert osprofile.incarnate(found, "A").text == "child"
    assert osprofile.incarnate(found, "B").text == "parent B"
    assert {s.name: s.template for s in found.storages.values()} == {"S": "C", "R": "B"}
    assert found.get_application("TWO").application_version == "2"
    assert found.get_application("ONE").template == "A"
    assert (found.uspace_root, found.delimiter) == ("/child", "/")
    assert found.get_template("B").location.file == f"{tmp_path}/parent/profile.xml"
    (above,) = found.list_overridden(found.get_template("A"))
    assert str(above.location) == f"{tmp_path}/parent/profile.xml:4:1"


def test_global_fields_merge_field_by_field(tmp_path: Path) -> None:
    parent = template_of("", field("A", default("pA")), field("B", default("pB")))
    child = template_of("", field("B", default("cB")), field("C", default("cC")))
    write(tmp_path, "parent", parent + template("T", "<A> <B> <C>", field("C", default("tC"))))
    write(tmp_path, "child", child, extends="parent")
    found = alone(tmp_path).load("child")
    assert osprofile.incarnate(found, "T").text == "pA cB tC"  # its own declaration goes first
    assert list(found.global_fields) == ["A", "B", "C"]


def test_a_sites_profile_extends_the_bundled_one_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSPROFILE_PATH", str(tmp_path))
    site = write(tmp_path, "pbs", template("SITE", "ours"), extends="pbs", root="/site")
    *_, last = Repository(use_standard_path=True).iter_directories()
    assert chain(Repository(), "pbs")[:2] == [str(site), f"{last}/pbs/profile.xml"]
    # torque extends pbs, and so the site's.
    torque = Repository().load("torque")
    assert [d.name for d in torque.documents[:3]] == ["torque", "pbs", "pbs"]
    assert osprofile.incarnate(torque, "SITE").text == "ours"


def test_profiles_of_one_name_extend_each_other_along_the_search_path(tmp_path: Path) -> None:
    a, b, c = (tmp_path / name for name in "abc")
    files = [str(write(d, "p", extends="p")) for d in (a, b)] + [str(write(c, "p"))]
    assert chain(alone(a, b, c), "p") == files
    assert chain(alone(b, c), "p") == files[1:]
    # What stands before a file on the search path is never what it extends.
    found = alone(a, b, c).load_file(b / "p")
    assert [d.element.source.name for d in found.documents] == files[1:]
    # A file from elsewhere goes before all of them.
    elsewhere = write(tmp_path / "elsewhere", "p", extends="p")
    found = alone(a, b, c).load_file(elsewhere)
    assert [d.element.source.name for d in found.documents] == [str(elsewhere), *files]


def test_the_same_directory_twice_on_the_search_path(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    first = write(tmp_path / "a", "p", extends="p")
    last = write(tmp_path / "b", "p")
    directories = (tmp_path / "a", tmp_path / "link", tmp_path / "a", tmp_path / "b")
    assert chain(alone(*directories), "p") == [str(first), str(last)]


@pytest.mark.parametrize("depth", [3, 100])
def test_depth(depth: int, tmp_path: Path) -> None:
    for level in range(depth):
        content = template(f"T{level}", str(level)) + template("T", str(level))
        # An empty `extends` is none.
        write(tmp_path, f"p{level}", content, extends=f"p{level + 1}" if level + 1 < depth else "")
    found = alone(tmp_path).load("p0")
    assert len(found.documents) == depth
    assert len(found.templates) == depth + 1
    assert osprofile.incarnate(found, "T").text == "0"
    assert osprofile.incarnate(found, f"T{depth - 1}").text == str(depth - 1)
    assert repr(found).startswith("<Profile p0 -> p1 -> p2")


# What is wrong with a chain

CYCLE = "one of them must not extend the other, directly or through a third"
# Who extends whom; the profile that is told, the message, the hint. A is where `a` is, and so on.
BROKEN: dict[str, tuple[dict[str, str], str, str, str]] = {
    "missing parent": (
        {"a": "linus", "linux": ""}, "A",
        "OSP201 profile a extends 'linus', and there is no profile of that name: a (A) -> linus",
        "did you mean linux? (looked in DIRECTORY)",
    ),
    "missing grandparent": (
        {"a": "b", "b": "c"}, "B",
        "OSP201 profile b extends 'c', and there is no profile of that name: a (A) -> b (B) -> c",
        "known: a, b (looked in DIRECTORY)",
    ),
    "itself, and none further": (
        {"a": "a"}, "A",
        "OSP201 profile a extends 'a', and there is no further profile of that name: a (A) -> a",
        "remove the attribute extends: the search path has no other profile of this name",
    ),
    "a path": (
        {"a": "../b"}, "A",
        "OSP201 profile a extends '../b', and there is no profile of that name: a (A) -> ../b",
        "a name begins with a letter or digit and has only letters, digits, _ . -",
    ),
    "cycle of two": ({"a": "b", "b": "a"}, "B", "OSP202 profiles extend each other: a (A) -> b (B) -> a", CYCLE),
    "cycle of three": ({"a": "b", "b": "c", "c": "a"}, "C", "OSP202 profiles extend each other: a (A) -> b (B) -> c (C) -> a", CYCLE),
    "cycle further up": ({"a": "b", "b": "c", "c": "b"}, "C", "OSP202 profiles extend each other: a (A) -> b (B) -> c (C) -> b", CYCLE),
}  # fmt: skip


@pytest.mark.parametrize(("extends", "where", "message", "hint"), BROKEN.values(), ids=BROKEN)
def test_broken_chain(extends: dict[str, str], where: str, message: str, hint: str, tmp_path: Path) -> None:
    for name, parent in extends.items():
        write(tmp_path, name, **({"extends": parent} if parent else {}))
    with pytest.raises(InvalidProfileError) as caught:
        alone(tmp_path).load("a")
    (problem,) = caught.value.problems
    told = f"{problem.code} {problem.message}"
    for name in "abc":
        told = told.replace(f"({tmp_path}/{name}/profile.xml:1:1)", f"({name.upper()})")
    assert (str(problem.location), told) == (f"{tmp_path}/{where.lower()}/profile.xml:1:206", message)
    assert problem.hint == hint.replace("DIRECTORY", str(tmp_path))
    assert caught.value.exit_code == 3


def test_the_work_of_a_chain_grows_with_its_length(tmp_path: Path) -> None:
    for n in range(200):
        write(tmp_path, f"p{n}", extends=f"p{n + 1}")
    write(tmp_path, "p200")
    works = [calls(lambda at=at: chain(alone(tmp_path), f"p{at}")) for at in (195, 100, 0)]  # type: ignore[misc]
    assert works[2] < 2.5 * works[1]


def test_a_parent_that_is_broken_is_told_at_its_place(tmp_path: Path) -> None:
    write(tmp_path, "a", extends="b")
    path = write(tmp_path, "b", "<idb:Feild/>")
    with pytest.raises(InvalidProfileError) as caught:
        alone(tmp_path).load("a")
    assert str(caught.value).startswith(f"{path}:4:1: error OSP104 <Feild> is not expected here")


def test_entities_may_name_templates_of_parents_and_children(tmp_path: Path) -> None:
    write(tmp_path, "parent", template("PT", "") + '<osp:Storage name="S" template="PT"/>')
    write(tmp_path, "child", '<osp:Storage name="R" template="PT"/>', extends="parent")
    assert set(alone(tmp_path).load("child").storages) == {"S", "R"}
    # What only a child defines is enough, for the child.
    write(tmp_path, "abstract", '<osp:Storage name="S" template="CT"/>')
    write(tmp_path, "concrete", template("CT", ""), extends="abstract")
    assert set(alone(tmp_path).load("concrete").storages) == {"S"}
    with pytest.raises(InvalidProfileError):
        alone(tmp_path).load("abstract")


def test_all_dangling_names_are_told_with_the_chain(tmp_path: Path) -> None:
    base = write(tmp_path, "base", template("HOME_PATH", ""))
    content = '\n<osp:Storage name="S" template="HOME_PAHT"/>\n' + application("a", "A", "1", "RUN")
    child = write(tmp_path, "child", content, extends="base")
    with pytest.raises(InvalidProfileError) as caught:
        alone(tmp_path).load("child")
    without = f"which profile child ({child}:1:1) -> base ({base}:1:1) does not have"
    assert [(str(p.location), p.message, p.hint) for p in caught.value.problems] == [
        (f"{child}:5:33", f"Storage S names template 'HOME_PAHT', {without}", "did you mean HOME_PATH?"),
        (f"{child}:6:37", f"Application a names template 'RUN', {without}", "known: HOME_PATH"),
    ]


def test_a_text_that_was_valid_is_not_validated_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = write(tmp_path, "mine")
    validated = list[str]()
    validate = schema._validate
    monkeypatch.setattr(
        schema, "_validate", lambda root: validated.append(root.source.name) or validate(root)
    )

    def load(**options: bool) -> int:
        """Return how many documents are validated."""
        count = len(validated)
        Repository([tmp_path], use_standard_path=False, **options).load("mine")
        return len(validated) - count

    assert [load(), load(), load(uses_cache=False), load()] == [1, 0, 1, 0]
    file.write_text(f"{file.read_text()}<!-- another -->")
    assert [load(), load()] == [1, 0]
    (tmp_path / "cache/osprofile").chmod(0o755)
    assert [load(), load()] == [1, 1]
    (tmp_path / "cache/osprofile").chmod(0o700)
    monkeypatch.setattr(schema, "make_stamp", lambda _path: "another schema")
    assert [load(), load()] == [1, 0]
    file.write_text(file.read_text().replace("Delimiter", "Delimeter"))
    for _ in range(2):
        with pytest.raises(InvalidProfileError):
            load()
