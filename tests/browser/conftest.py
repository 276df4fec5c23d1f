"""A real Chromium without a screen, and pages whose every request and complaint is written down."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect, sync_playwright

from osprofile.cli import command_line
from tests.page.conftest import Served, served
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",  # as root it has none
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PHONE = {"width": 375, "height": 812}
DESKTOP = {"width": 1280, "height": 900}
READY = re.compile(r"The script has|must be given")
PROFILES = Path(__file__).parent.parent / "cli" / "profiles"

expect.set_options(timeout=1000 * PATIENCE)  # its own 5 s are too few on a busy machine

HEAD = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
 xmlns:ext="urn:osprofile:extension" name="{name}">
<osp:UspaceRoot>/w</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
{body}</osp:Profile>
"""


def pytest_configure() -> None:
    """Refuse to begin where there is no browser: tests that are left out show nothing."""
    if not os.access(CHROMIUM, os.X_OK):
        message = f"there is no {CHROMIUM}: apt-get install chromium, or set CHROMIUM to its path"
        raise pytest.UsageError(message)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield launched
        launched.close()


class Watched:
    """A page with all that it asked for and complained of; `allowed` is where it may ask."""

    def __init__(self, page: Page, allowed: str) -> None:
        self.page = page
        self.allowed = allowed
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda r: self.requests.append(f"{r.method} {r.url}"))
        page.on("console", lambda m: self.complaints.append(f"{m.type}: {m.text}"))
        page.on("pageerror", lambda e: self.complaints.append(f"error: {e}"))
        page.on("dialog", lambda d: (self.complaints.append(f"dialog: {d.message}"), d.dismiss()))
        page.set_default_timeout(1000 * PATIENCE)

    def judge(self) -> None:
        """Fail where it complained, or asked for what it may not."""
        assert self.complaints == []
        strange = [r for r in self.requests if not r.partition(" ")[2].startswith(self.allowed)]
        assert strange == []


@contextmanager
def watched(browser: Browser, url: str, **settings: object) -> Iterator[Page]:
    """Open a page in a context of its own, and judge it at the end."""
    context = browser.new_context(**{"viewport": DESKTOP, **settings})  # type: ignore[arg-type]
    try:
        page = context.new_page()
        watch = Watched(page, url.partition("#")[0])
        page.goto(url)
        if url.startswith("http") and settings.get("java_script_enabled", True):
            expect(page.locator("#status")).to_have_text(READY)
        yield page
        watch.judge()
        if url.startswith("file:"):
            assert len(watch.requests) == 1  # itself
    finally:
        context.close()


def written(profile: str, folder: Path) -> str:
    """Write a profile's static page, and give its address."""
    file = folder / "page.html"
    assert (
        command_line.run_command_line(["page", "-p", profile, "--profiles", str(PROFILES), "-o", str(file)])
        == 0
    )
    return file.as_uri()


def profile_file(folder: Path, name: str, body: str) -> Path:
    """Write a profile of one document."""
    file = folder / f"{name}.xml"
    file.write_text(HEAD.format(name=name, body=body))
    return file


def url_of(server: Served) -> str:
    return f"http://{server.host}/"


@pytest.fixture(scope="session")
def pbs() -> Iterator[Served]:
    with served("-p", "pbs") as running:
        yield running


@pytest.fixture(scope="session")
def site() -> Iterator[Served]:
    with served("-p", "site", "--profiles", str(PROFILES)) as running:
        yield running


@pytest.fixture(scope="session")
def static(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give the address of the static page of pbs."""
    return written("pbs", tmp_path_factory.mktemp("static"))


@pytest.fixture(scope="session")
def site_static(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give the address of the static page of a small profile."""
    return written("site", tmp_path_factory.mktemp("site"))
