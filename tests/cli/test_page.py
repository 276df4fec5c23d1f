"""`incarnate page`: the page of a small profile, its JSON, where it is written, its errors."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import stat
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.page.assets import SCRIPT_FILES, STYLE_FILE, read_asset
from osprofile.page.collector import collect_page
from osprofile.page.document import render_page
from osprofile.profile.data_directories import get_bundled_directory
from osprofile.profile.repository import Repository
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from pytest_regressions.file_regression import FileRegressionFixture

    from tests.cli.conftest import Incarnate

PROFILES = Path(__file__).parent / "profiles"
SITE = ("-p", "site", "--profiles", ".")


@pytest.fixture(autouse=True)
def profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in the folder of the profiles."""
    monkeypatch.chdir(PROFILES)


def without_files(page: str) -> str:
    """Leave out style, scripts and their digests: a golden file is about the profile."""
    for name in (STYLE_FILE, *SCRIPT_FILES):
        page = page.replace(read_asset(name), f"[{name}]")
    return re.sub(r"sha256-[A-Za-z0-9+/=]+", "sha256-...", page)


@pytest.mark.parametrize("form", ["html", "json"])
def test_golden(incarnate: Incarnate, file_regression: FileRegressionFixture, form: str) -> None:
    ended = incarnate("page", *SITE, *(["--json"] if form == "json" else []))
    assert (ended.code, ended.err) == (0, "")
    text = without_files(ended.out)
    file_regression.check(text, basename="page_site", extension=f".{form}", encoding="utf-8")


def test_golden_served(file_regression: FileRegressionFixture) -> None:
    page = render_page(collect_page(Repository(["."]).load("site")), version="0123456789abcdef")
    file_regression.check(without_files(page), basename="page_served", extension=".html", encoding="utf-8")


def test_the_policy_allows_what_is_in_the_page_and_nothing_else(incarnate: Incarnate) -> None:
    page = incarnate("page", *SITE).out
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy
    allowed = {*re.findall(r"sha256-([A-Za-z0-9+/=]+)", policy[1])}
    found = re.findall(r"<(?:style|script)>(.*?)</(?:style|script)>", page, re.DOTALL)
    assert len(found) == 2
    assert {base64.b64encode(hashlib.sha256(f.encode()).digest()).decode() for f in found} == allowed
    rules = policy[1].split("; ")
    assert rules[0] == "default-src 'none'".replace("'", "&#x27;")
    assert not [r for r in rules if r.startswith("connect-src") or "unsafe" in r or "http" in r]
    assert not re.findall(r'<[^>]* (?:on\w+|style)="', page)
    assert not re.findall(r'(?:src|href)="(?!#|data:,")', page)


def test_the_same_profile_gives_the_same_bytes_from_any_directory(
    incarnate: Incarnate, tmp_path: Path
) -> None:
    first = incarnate("page", *SITE).out
    copy = tmp_path / "elsewhere"
    shutil.copytree(PROFILES, copy)
    assert incarnate("page", "-p", str(copy / "site.xml"), "--profiles", str(copy)).out == first
    assert str(tmp_path) not in first
    assert str(PROFILES) not in first
    assert os.path.expanduser("~") not in first


@pytest.mark.parametrize("name", ["linux", "pbs", "torque", "slurm", "sge", "lsf"])
def test_a_bundled_profiles_page(incarnate: Incarnate, name: str) -> None:
    ended = incarnate("page", "-p", name)
    assert (ended.code, ended.err) == (0, "")
    assert get_bundled_directory() not in ended.out
    assert ended.out.count('class="field"') >= 20
    assert ended.out.count("<summary>") >= 4


def test_a_file_is_written_whole(incarnate: Incarnate, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("old")
    file.chmod(0o640)
    ended = incarnate("page", *SITE, "-o", str(file))
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert file.read_text() == incarnate("page", *SITE, "-o", "-").out
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["page.html"]
    new = tmp_path / "new.html"
    mask = os.umask(0o027)
    try:
        assert incarnate("page", *SITE, "-o", str(new)).code == 0
    finally:
        os.umask(mask)
    assert stat.S_IMODE(new.stat().st_mode) == 0o640


def test_a_link_stays_a_link_and_a_pipe_a_pipe(incarnate: Incarnate, tmp_path: Path) -> None:
    link, goal = tmp_path / "link.html", tmp_path / "goal.html"
    link.symlink_to(goal)
    assert incarnate("page", *SITE, "-o", str(link)).code == 0
    assert link.is_symlink()
    assert goal.read_text().startswith("<!DOCTYPE html>")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    assert incarnate("page", *SITE, "-o", str(pipe)).code == 0
    reader.join(PATIENCE)
    assert got == [goal.read_bytes()]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_context_is_what_the_examples_show(incarnate: Incarnate) -> None:
    page = incarnate("page", *SITE, "--context", "USER_NAME=<alice>").out
    assert "cd &#x27;/scratch/&lt;alice&gt;/JOB&#x27;" in page
    assert "/scratch/user/JOB" in incarnate("page", *SITE).out


HOSTILE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
 xmlns:ext="urn:osprofile:extension" name="hostile">
<osp:UspaceRoot>/w/&lt;/code>&lt;script>alert(1)&lt;/script></osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
<idb:Template name="START"><idb:Description>{x}</idb:Description>
<idb:Invocation><idb:Description>{x}</idb:Description><idb:Body>echo &lt;A> {x}</idb:Body></idb:Invocation>
<idb:Invocation name="{x}"><idb:Body>echo &lt;A></idb:Body></idb:Invocation>
<idb:Field name="A" ext:pattern="(?s).*"><idb:Description>{x}</idb:Description>
<idb:Tag name="{x}">{x}</idb:Tag><idb:Default>{x}</idb:Default></idb:Field>
<idb:Field name="B" isSettable="false"><idb:Value>{x}</idb:Value></idb:Field></idb:Template>
<idb:Template name="{x}"><idb:Description>{x}</idb:Description>
<idb:Invocation><idb:Body>x</idb:Body></idb:Invocation></idb:Template>
<osp:Application name="{x}" template="{x}"><osp:ApplicationName>{x}</osp:ApplicationName>
<osp:ApplicationVersion>{x}</osp:ApplicationVersion></osp:Application>
</osp:Profile>"""
EVIL = "</script><script>alert(1)</script>\"' onclick='x' &amp;lt; <!-- ]]> \u2028 \u202e --><img src=x>"


def test_no_text_of_a_profile_becomes_markup(incarnate: Incarnate, tmp_path: Path) -> None:
    file = tmp_path / "hostile.xml"
    escaped = EVIL.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    file.write_text(HOSTILE.format(x=escaped))
    ended = incarnate("page", "-p", str(file))
    assert (ended.code, ended.err) == (0, "")
    body = without_files(ended.out)
    assert body.count("<script") == 1
    assert "<img" not in body
    assert "<!--" not in body
    assert body.count("\u202e") <= 1  # the description, which its paragraph encloses


ERRORS = {
    "no profile": (("page",), 2),
    "unknown profile": (("page", "-p", "sit"), 2),
    "a bad profile": (("page", "-p", "/dev/null"), 3),
    "a bad profile to serve": (("page", "-p", "/dev/null", "--serve"), 3),
    "a body with a fault": (("page", "-p", "{tmp}/fault.xml"), 3),
    "START without its parts": (("page", "-p", "{tmp}/parts.xml"), 2),
    "no equals sign": (("page", *SITE, "--context", "USER_NAME"), 2),
    "serve and a file": (("page", *SITE, "--serve", "-o", "x.html"), 2),
    "serve and JSON": (("page", *SITE, "--serve", "--json"), 2),
    "JSON and a file": (("page", *SITE, "--json", "-o", "x.html"), 2),
    "a port without serve": (("page", *SITE, "--port", "80"), 2),
    "a port that is no number": (("page", *SITE, "--serve", "--port", "http"), 2),
    "a port that is too large": (("page", *SITE, "--serve", "--port", "65536"), 2),
    "a directory that is not there": (("page", *SITE, "-o", "{tmp}/none/x.html"), 1),
    "a directory": (("page", *SITE, "-o", "{tmp}"), 1),
    "a file below a file": (("page", *SITE, "-o", "{tmp}/fault.xml/x"), 1),
}
FAULT = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb" name="fault">
<osp:UspaceRoot>/w</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
<idb:Template name="START"><idb:Invocation><idb:Body>{}</idb:Body></idb:Invocation>
<idb:Field name="A"/></idb:Template>
<osp:Application name="e" template="START"><osp:ApplicationName>Executable</osp:ApplicationName>
<osp:ApplicationVersion>1</osp:ApplicationVersion></osp:Application></osp:Profile>
"""


def test_each_error_in_full(
    incarnate: Incarnate, file_regression: FileRegressionFixture, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "fault.xml").write_text(FAULT.format("&lt;A/(/x>"))
    parts = FAULT.format("&lt;JOB_SCRIPT>").replace('"fault"', '"parts"')
    (folder / "parts.xml").write_text(parts)
    outputs = []
    for name, (words, code) in ERRORS.items():
        ended = incarnate(*(word.format(tmp=folder) for word in words))
        assert (name, ended.code, ended.out) == (name, code, "")
        assert "Traceback" not in ended.err
        err = ended.err.replace(str(folder), "TMP").replace(get_bundled_directory(), "BUNDLED")
        line = " ".join(("incarnate", *words)).replace("{tmp}", "TMP")
        outputs.append(f"{line}\nexit code {code}\n{err}")
    file_regression.check("\n".join(outputs), basename="page_errors", encoding="utf-8")
    assert sorted(p.name for p in folder.iterdir()) == ["fault.xml", "parts.xml"]
