"""The built manual in a real browser: no request to another host, a search that finds, two palettes."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESKTOP, PHONE, Watched
from tests.docs.building import build

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the address of the site."""
    directory = tmp_path_factory.mktemp("manual")
    build(directory)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=directory)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@contextmanager
def opened(browser: Browser, manual: str, path: str = "", **settings: object) -> Iterator[Page]:
    """Open a page of the manual; fail where it complained or asked another host."""
    context = browser.new_context(**{"viewport": DESKTOP, **settings})  # type: ignore[arg-type]
    try:
        page = context.new_page()
        watch = Watched(page, manual)
        page.goto(manual + path)
        page.wait_for_load_state("networkidle")
        yield page
        watch.judge()
        assert watch.requests
    finally:
        context.close()


@pytest.mark.parametrize(
    "path",
    [
        "",
        "tasks/coming-from/",
        "tutorial/",
        "language/",
        "profiles/slurm/",
        "rules/",
        "commands/job/",
        "architecture/",
    ],
)
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_page_asks_no_other_host_and_fits(
    browser: Browser, manual: str, path: str, size: dict[str, int]
) -> None:
    with opened(browser, manual, path, viewport=size) as page:
        expect(page.locator("h1")).to_be_visible()
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0


def search(page: Page, words: str) -> None:
    """Search for words at once.

    For a part of a word, such as s, the theme's search may complain: lunr takes some terms with digits
    for one another.
    """
    page.keyboard.press("/")
    expect(page.locator(".md-search-result__meta")).to_contain_text("Type to start searching", timeout=60_000)
    replace_words(page, words)


def replace_words(page: Page, words: str) -> None:
    """Search for other words."""
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(words)
    page.keyboard.press("End")  # the search waits for a key


def test_the_search_finds_a_field(browser: Browser, manual: str) -> None:
    with opened(browser, manual) as page:
        search(page, "OSP605")
        found = page.locator(".md-search-result__link").first
        expect(found).to_contain_text("The rules of")
        page.keyboard.press("Escape")


def test_a_new_batch_system_is_the_first_hit(browser: Browser, manual: str) -> None:
    with opened(browser, manual) as page:
        search(page, "new batch system")
        found = page.locator(".md-search-result__link").first
        expect(found).to_contain_text("A new batch system")
        expect(found).to_have_attribute("href", re.compile("new-batch-system/"))
        page.keyboard.press("Escape")


FIRST_HITS = {
    "cancel a job": "tasks/cancel/",
    "GPU": "tasks/gpus/",
    "array": "tasks/many/",
    "time limit": "tasks/resources/",
    "sbatch script": "tasks/coming-from/",
    "why did my job fail": "tasks/why/",
    "MPI": "tasks/mpi/",
    "container": "tasks/containers/",
    "submit a job": "tasks/submit/",
    "follow": "tasks/follow/",
    "ssh": "tasks/ssh/",
    "memory": "tasks/resources/",
    "qsub": "tasks/coming-from/",
    "queue": "tasks/resources/",
    "many jobs": "tasks/many/",
    "wait for a job": "tasks/follow/",
    "walltime": "tasks/resources/",
    "exit code": "tasks/follow/",
    "job failed": "tasks/why/",
    "dependencies": "tasks/many/",
}
"""The page that a query finds first. Two that follow each other have different pages, so an old result is not taken."""


def test_the_search_finds_the_page_of_a_task_first(browser: Browser, manual: str) -> None:
    with opened(browser, manual) as page:
        search(page, "")
        found = page.locator(".md-search-result__link").first
        for words, path in FIRST_HITS.items():
            replace_words(page, words)
            expect(found, words).to_have_attribute("href", re.compile(re.escape(path)))
        page.keyboard.press("Escape")


@pytest.mark.parametrize(("scheme", "shown"), [("light", "default"), ("dark", "slate")])
def test_the_palette_is_the_readers(browser: Browser, manual: str, scheme: str, shown: str) -> None:
    with opened(browser, manual, color_scheme=scheme) as page:
        expect(page.locator("body")).to_have_attribute("data-md-color-scheme", shown)
