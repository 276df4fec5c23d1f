"""Kept plans: the same text as the engine's or none, and none of what has changed, is damaged or is not this user's."""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile import files
from osprofile.errors import OSProfileError
from osprofile.incarnation import plain_plan
from osprofile.incarnation.evaluate import UnusualError, add_check
from osprofile.incarnation.incarnate import incarnate
from osprofile.incarnation.kept_plans import find_plan, keep_plan
from osprofile.incarnation.plain_plan import PlainPlan, encode_plan
from osprofile.incarnation.plan import get_plan
from osprofile.profile.data_directories import get_bundled_directory
from osprofile.profile.repository import Repository
from tests.hunting import rounds
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from osprofile.profile.model import Profile

BUNDLED = Repository([get_bundled_directory()], use_standard_path=False)
PROFILE = """\
<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
  xmlns:ext="urn:osprofile:extension" name="{name}" {extends}>
  <osp:UspaceRoot>/var/tmp</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  {content}
</osp:Profile>
"""
TEMPLATE = '<idb:Template name="T"><idb:Invocation><idb:Body ext:src="t.sh"/></idb:Invocation></idb:Template>'
VALUES = (
    "", "1", "600", "a", "x y", "it's", "a\nb", "\xe9", "\0", "-1", "1.5", "/tmp/x", "/tmp/../x", "begin,end", "1-10%2",
     "2030-01-01T10:00", "true", "fast", "export A='b'\n", "'a b' c", "y" * 900, "y" * 20_000, "END_OF_JOB_x", "afterok:12",
     "/opt/it's/a b", "/", "--signal=B:USR1", "07", "9" * 19, "4G", "auto",
)  # fmt: skip
CONTEXT = {  # with the part of the requests that have it
    "USER_NAME": (0.95, ("me", "me", "", "\xe9")),
    "USER_HOME": (0.95, ("/home/a", "/home/a", "/home/a/", "/", "x", "")),
    "WORKING_DIRECTORY": (0.95, ("/tmp/1", "/tmp/2", "/tmp/./1", "tmp", "/" + 800 * "a", "/tmp/\xe9")),
    "JOB_ID": (0.95, ("1", "1.server", "-1")),
    "CLUSTER": (0.1, VALUES),
    "SSH:HOST": (0.1, VALUES),
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the cache, which is empty; files are kept that have just changed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(files, "SETTLING_TIME", -1e9)
    return tmp_path / "cache" / "osprofile"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a search path: profile `site` extends `base`, with a text in a file; the folder `first` comes first, and is empty."""
    for name, extends, content in (("site", 'extends="base"', TEMPLATE), ("base", "", "")):
        folder = tmp_path / "second" / name
        folder.mkdir(parents=True)
        (folder / "profile.xml").write_text(PROFILE.format(name=name, extends=extends, content=content))
    (tmp_path / "second" / "site" / "t.sh").write_text("echo 1\n")
    (tmp_path / "first").mkdir()
    monkeypatch.setenv("OSPROFILE_PATH", f"{tmp_path / 'first'}:{tmp_path / 'second'}")
    return tmp_path


def keep(name: str, template: str, variation: str = "") -> None:
    repository = Repository(uses_cache=False)  # only plans are kept
    profile = repository.load(name)
    keep_plan(repository, profile, get_plan(profile, template, variation, None), name, [])


def print_by_engine(
    profile: Profile, template: str, variation: str, request: Mapping[str, str], context: Mapping[str, str]
) -> str | None:
    """Return what the engine prints, None if it refuses the request."""
    try:
        made = incarnate(profile, template, variation=variation, fields=request, context=context)
    except OSProfileError:
        return None
    return add_check(made.text, next((script.path for script in made.used_scripts), ""), profile.name)


@pytest.mark.parametrize("name", BUNDLED.list_names())
def test_the_text_is_the_same_or_the_engine_is_asked(name: str) -> None:
    """With HUNT=1, 100,000 requests over all profiles: hypothesis would take twenty times as long."""
    profile, chance = BUNDLED.load(name), random.Random()
    calls = [(t.name, v) for t in profile.templates.values() for v in t.invocations]
    plans = {call: get_plan(profile, *call, None) for call in calls}
    plain_plans = {call: PlainPlan(encode_plan(profile, plan)) for call, plan in plans.items()}
    for _ in range(rounds(5000, 100)):
        call = ("START", "") if chance.random() < 0.6 else chance.choice(calls)
        names = [*sorted(plans[call].settable), *(["NONE", "JOB_SCRIPT"] if chance.random() < 0.1 else [])]
        count = min(chance.randint(0, 4), len(names))
        request = {name: chance.choice(VALUES) for name in chance.sample(names, count)}
        context = {
            name: chance.choice(values) for name, (part, values) in CONTEXT.items() if chance.random() < part
        }
        try:
            text = plain_plans[call].fill(request, context)
        except (UnusualError, KeyError, OSProfileError):
            continue
        assert text == print_by_engine(profile, *call, request, context), (call, request, context)


@pytest.mark.parametrize("name", BUNDLED.list_names())
def test_usual_requests_need_no_engine(name: str) -> None:
    profile = BUNDLED.load(name)
    plan = get_plan(profile, "START", "", None)
    plain = PlainPlan(encode_plan(profile, plan))
    context = {"USER_NAME": "me", "USER_HOME": "/home/me", "WORKING_DIRECTORY": "/home/me/.gpe/work/1"}
    usual = {
        "EXECUTABLE": "/opt/it's",
        "WALLTIME": "600",
        "JOB_NAME": "fit",
        "ARGUMENTS": "'a b' c",
        "QUEUE": "long",
    }
    usual = {name: value for name, value in usual.items() if name in plan.settable}
    if name == "cobalt":
        del usual["WALLTIME"]  # it has a pattern of its own for zero minutes
    for request in ({}, {"EXECUTABLE": "/bin/date"}, usual):
        expected = print_by_engine(profile, "START", "", request, context)
        assert expected is None or plain.fill(request, context) == expected


def test_what_is_kept_is_found(site: Path, cache: Path) -> None:
    assert find_plan("site", [], "T") is None
    keep("site", "T")
    plan = find_plan("site", [], "T")
    assert plan is not None
    assert plan.fill({}, {}) == "echo 1\n"
    (file,) = cache.iterdir()
    assert [path.stat().st_mode & 0o777 for path in (cache.parent, cache, file)] == [0o700, 0o700, 0o600]
    for other in (
        ("base", [], "T"),
        ("site", [], "START"),
        ("site", [], "T", "V"),
        ("site", [str(site)], "T"),
    ):
        assert find_plan(*other) is None


def touch(path: Path) -> None:
    os.utime(path)


CHANGES: dict[str, Callable[[Path], object]] = {
    "a profile": lambda site: touch(site / "second/site/profile.xml"),
    "its parent": lambda site: touch(site / "second/base/profile.xml"),
    "a text": lambda site: (site / "second/site/t.sh").write_text("echo 2\n"),
    "a text of the same length and time": lambda site: write_at_the_same_time(site / "second/site/t.sh"),
    "another file in its place": lambda site: replace_file(site / "second/site/t.sh"),
    "no text": lambda site: (site / "second/site/t.sh").unlink(),
    "an earlier profile": lambda site: (site / "first/site.xml").write_text("anything"),
    "an earlier parent": lambda site: (site / "first/base.xml").write_text("anything"),
    "an earlier file in the same folder": lambda site: (site / "first/site").symlink_to(site / "second/base"),
    "its mode": lambda site: (site / "second/site/profile.xml").chmod(0o640),
    "its owner": lambda site: os.chown(site / "second/site/t.sh", os.geteuid(), os.getegid()),
    "a folder that is no more": lambda site: (site / "second").rename(site / "third"),
}


def write_at_the_same_time(path: Path) -> None:
    status = path.stat()
    path.write_text("echo 3\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace_file(path: Path) -> None:
    status = path.stat()
    path.rename(path.with_name("old"))
    path.write_text("echo 4\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_after_a_change_nothing_is_found(site: Path, change: Callable[[Path], object]) -> None:
    keep("site", "T")
    assert find_plan("site", [], "T") is not None
    change(site)
    assert find_plan("site", [], "T") is None


@pytest.mark.parametrize("variable", ["OSPROFILE_PATH", "XDG_CONFIG_HOME", "HOME"])
def test_another_search_path_has_plans_of_its_own(
    site: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep("site", "T")
    monkeypatch.setenv(variable, str(site / "second"))
    assert find_plan("site", [], "T") is None


@pytest.mark.usefixtures("site")
def test_another_build_or_interpreter_has_plans_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    keep("site", "T")
    for name in ("sys.version", "osprofile.incarnation.kept_plans.FORMAT"):
        with monkeypatch.context() as patch:
            patch.setattr(name, "another")
            assert find_plan("site", [], "T") is None
    assert find_plan("site", [], "T") is not None


@pytest.mark.usefixtures("site")
def test_a_file_that_has_just_changed_is_not_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SETTLING_TIME", 3600.0)
    keep("site", "T")
    assert not list(cache.iterdir())
    monkeypatch.setattr(files, "SETTLING_TIME", 0.1)

    def is_kept() -> bool:
        keep("site", "T")
        return find_plan("site", [], "T") is not None

    wait_until(is_kept)


def test_what_is_unusual_is_not_kept(site: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = '<idb:Field name="USER_GROUPS" ext:for="A=b" ext:pattern="a"/>'
    file = site / "second/base/profile.xml"
    file.write_text(
        PROFILE.format(
            name="base", extends="", content=f'<idb:Template><idb:Field name="A"/>{case}</idb:Template>'
        )
    )
    keep("site", "T")
    file.write_text(PROFILE.format(name="base", extends="", content=""))
    package = site / "packages" / "x.dist-info"
    package.mkdir(parents=True)
    (package / "entry_points.txt").write_text("[osprofile.profiles]\nx = none\n")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(package.parent))
        keep("site", "T")
    assert not list(cache.iterdir())


def damage(data: bytes) -> list[bytes]:
    """Return contents that are not what was written."""
    cuts = [data[:n] for n in (0, 1, 63, 64, 65, len(data) // 2, len(data) - 1)]
    flips = [
        data[:n] + bytes([data[n] ^ 1]) + data[n + 1 :] for n in range(0, len(data), max(1, len(data) // 40))
    ]
    digest = files.compute_digest(b"").encode()
    return [*cuts, *flips, data + b"x", b"\0" * len(data), digest, bytes(reversed(data))]


@pytest.mark.usefixtures("site")
def test_a_damaged_file_is_as_none(cache: Path) -> None:
    keep("site", "T")
    (file,) = cache.iterdir()
    data = file.read_bytes()
    for content in damage(data):
        file.write_bytes(content)
        assert find_plan("site", [], "T") is None
    keep("site", "T")
    assert file.read_bytes() == data
    assert find_plan("site", [], "T") is not None


def link(file: Path) -> None:
    file.symlink_to(file.rename(file.with_name("elsewhere")))


def link_folder(file: Path) -> None:
    folder = file.parent
    folder.symlink_to(folder.rename(folder.with_name("elsewhere")))


FOREIGN: dict[str, Callable[[Path], object]] = {
    "readable": lambda file: file.chmod(0o644),
    "writable": lambda file: file.chmod(0o660),
    "a link": link,
    "a folder": lambda file: (file.unlink(), file.mkdir()),
    "a pipe": lambda file: (file.unlink(), os.mkfifo(file, 0o600)),
    "the folder readable": lambda file: file.parent.chmod(0o750),
    "the folder a link": link_folder,
    "not readable": lambda file: file.chmod(0) if os.geteuid() else file.unlink(),
}


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("change", FOREIGN.values(), ids=FOREIGN)
def test_what_others_may_have_written_is_as_none(cache: Path, change: Callable[[Path], object]) -> None:
    keep("site", "T")
    (file,) = cache.iterdir()
    change(file)
    assert find_plan("site", [], "T") is None


@pytest.mark.usefixtures("site")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("is_folder", [False, True])
def test_a_file_of_another_user_is_as_none(cache: Path, is_folder: bool) -> None:
    keep("site", "T")
    (file,) = cache.iterdir()
    os.chown(cache if is_folder else file, 65534, 65534)
    assert find_plan("site", [], "T") is None
    keep("site", "T")  # it replaces the file, but does not write to the folder of another
    assert (find_plan("site", [], "T") is None) is is_folder


@pytest.mark.usefixtures("site")
def test_the_file_of_another_plan_is_as_none(cache: Path) -> None:
    keep("site", "T")
    (file,) = cache.iterdir()
    keep("linux", "START")
    (other,) = set(cache.iterdir()) - {file}
    other.replace(file)
    assert find_plan("site", [], "T") is None


def test_a_place_that_cannot_be_written_is_no_error(
    site: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site / "file").write_text("")
    for place in (site / "file", site / "no" / "where", Path("/proc"), Path("/dev/full")):
        monkeypatch.setenv("XDG_CACHE_HOME", str(place))
        keep("site", "T")
        assert find_plan("site", [], "T") is None
    assert not (site / "no").exists()
    assert not cache.exists()


def test_a_plan_is_encoded_once_and_not_where_it_cannot_be_written(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded = list[str]()
    monkeypatch.setattr(plain_plan, "encode_plan", lambda *words: encoded.append("") or encode_plan(*words))
    for _ in range(3):
        keep("site", "T")
    assert len(encoded) == 1
    monkeypatch.setenv("XDG_CACHE_HOME", str(site / "none" / "cache"))
    keep("site", "T")
    assert len(encoded) == 1


@pytest.mark.usefixtures("site")
def test_writers_at_the_same_time(cache: Path) -> None:
    """Each reader gets the whole plan, or none; nothing else is left."""
    texts = set[str | None]()
    is_ended = threading.Event()

    def read() -> None:
        while not is_ended.is_set():
            plan = find_plan("site", [], "T")
            texts.add(plan and plan.fill({}, {}))

    readers = [threading.Thread(target=read) for _ in range(2)]
    writers = [
        threading.Thread(target=lambda: [keep("site", "T") for _ in range(rounds(100, 5))]) for _ in range(4)
    ]
    for thread in (*readers, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    wait_until(lambda: "echo 1\n" in texts)
    is_ended.set()
    for thread in readers:
        thread.join()
    assert texts <= {None, "echo 1\n"}
    assert len(list(cache.iterdir())) == 1


@pytest.mark.usefixtures("site")
def test_the_folder_does_not_grow(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("osprofile.files.MAX_CACHED_FILES", 3)
    for template in ("START", "GET_JOB_STATUS", "ABORT", "HOLD"):
        keep("linux", template)
    assert len(list(cache.iterdir())) == 1
    assert find_plan("linux", [], "HOLD") is not None
