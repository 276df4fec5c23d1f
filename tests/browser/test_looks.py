"""How a page looks, at a phone's and a desktop's width, in light and dark, and to a screen reader."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import DESKTOP, PHONE, url_of, watched, written

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.page.conftest import Served

CHECKS = (Path(__file__).parent / "looks.js").read_text()
SIZES = {"phone": PHONE, "desktop": DESKTOP, "between": {"width": 960, "height": 900}}
KINDS = ("wide", "overlaps", "pale", "small", "nameless")


def faults(page: Page, kind: str) -> list[str]:
    """Give what is wrong of that kind; the checks do not go through the page's policy."""
    page.evaluate(CHECKS)
    found: list[str] = page.evaluate(f"window.looks.{kind}()")
    return found


def judge(page: Page, picture: Path) -> None:
    assert {kind: found for kind in KINDS if (found := faults(page, kind))} == {}
    page.screenshot(path=picture)
    assert picture.stat().st_size > 10_000  # something is there
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        picture.rename(Path(folder) / picture.name)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_static_page(browser: Browser, static: str, tmp_path: Path, scheme: str) -> None:
    with watched(browser, static, color_scheme=scheme) as page:
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        for name, size in SIZES.items():
            page.set_viewport_size(size)
            judge(page, tmp_path / f"static-{name}-{scheme}.png")
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (dark == "rgb(255, 255, 255)") == (scheme == "light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_served_page(browser: Browser, pbs: Served, tmp_path: Path, scheme: str) -> None:
    with watched(browser, url_of(pbs), color_scheme=scheme, reduced_motion="reduce") as page:
        page.get_by_label("Queue", exact=True).fill("long")
        page.wait_for_selector(".line.changed")
        page.get_by_label("Nodes", exact=True).fill("0")
        page.wait_for_selector("[aria-invalid=true]")
        for name, size in SIZES.items():
            page.set_viewport_size(size)
            page.get_by_label("Nodes", exact=True).scroll_into_view_if_needed()
            judge(page, tmp_path / f"served-{name}-{scheme}.png")


SPOILT: dict[str, tuple[str, str]] = {
    "wide": ("document.querySelector('h1').style.width = '2000px'", "h1"),
    "overlaps": ("document.querySelector('.meaning').style.marginLeft = '-10rem'", "overlaps"),
    "pale": ("document.querySelector('.lead').style.color = '#999'", "a contrast of 2."),
    "small": ("document.querySelector('#filter').style.cssText = 'min-height: 0; height: 20px'", "input#filter"),
    "nameless": ("document.querySelector('label[for=filter]').remove()", "input#filter"),
    "ids": ("document.querySelectorAll('h2')[1].id = document.querySelector('h2').id", "two elements"),
    "headings": ("document.querySelector('h2').outerHTML = '<h5>x</h5>'", "follows a heading"),
    "links": ("document.querySelector('nav a').setAttribute('href', '#nowhere')", "leads nowhere"),
}  # fmt: skip


@pytest.mark.parametrize("case", SPOILT)
def test_the_checks_find_what_is_spoilt(browser: Browser, site_static: str, case: str) -> None:
    spoil, told = SPOILT[case]
    kind = case if case in KINDS else "nameless"
    with watched(browser, site_static) as page:
        page.evaluate(spoil)
        assert any(told in fault for fault in faults(page, kind))


def test_motion_only_where_it_is_liked(browser: Browser, site: Served) -> None:
    def moves(page: Page) -> Any:  # noqa: ANN401
        page.get_by_label("Program", exact=True).fill("x")
        page.wait_for_selector(".line.changed")
        return page.evaluate("getComputedStyle(document.querySelector('.line.changed')).animationName")

    with watched(browser, url_of(site), reduced_motion="reduce") as page:
        assert moves(page) == "none"
    with watched(browser, url_of(site), reduced_motion="no-preference") as page:
        assert moves(page) == "arrive"


@pytest.mark.parametrize("kind", ["static", "served"])
def test_without_javascript_it_is_a_document(browser: Browser, static: str, pbs: Served, kind: str) -> None:
    url = static if kind == "static" else url_of(pbs)
    with watched(browser, url) as page:
        count = page.locator("#fields .field").count()
    with watched(browser, url, java_script_enabled=False) as page:
        assert page.locator("#fields .field").count() == count > 30
        assert page.locator("#group-2 .field:visible").count() == 0
        page.locator("#group-2 > summary").click()  # what is folded opens without it, too
        assert page.locator("#group-2 .field:visible").count() > 3
        assert page.locator("#filter:visible, form input:visible, form select:visible").count() == 0
        assert page.get_by_text("The number of nodes.").is_visible()
        if kind == "static":
            assert "qsub" in (page.locator("#examples pre").first.text_content() or "")
        else:
            assert page.get_by_text("The form needs JavaScript.").is_visible()
            assert "qsub" in page.locator("#script").inner_text()


def test_tables_keep_their_meaning_as_cards(browser: Browser, static: str) -> None:
    with watched(browser, static, viewport=PHONE) as page:
        table = page.get_by_role("table", name="The applications that a job may run")
        assert table.get_by_role("row").count() == 4
        assert table.get_by_role("cell", name="A parallel program, by mpirun.", exact=True).is_visible()
        assert table.get_by_role("columnheader", name="What it runs").count() == 1


def test_the_drawing_says_what_it_shows(browser: Browser, tmp_path: Path) -> None:
    with watched(browser, written("torque", tmp_path)) as page:
        drawing = page.get_by_role("img", name="Inheritance: torque extends pbs extends batch extends linux")
        assert not drawing.is_visible()
        page.locator("#origin > summary").click()
        assert drawing.is_visible()
        tops = page.locator(".drawing .name").evaluate_all("e => e.map(x => x.getBoundingClientRect().top)")
        assert tops == sorted(tops)
        texts = page.locator(".drawing text").evaluate_all(
            "e => e.map(x => [x.getBoundingClientRect().right, x.closest('svg').getBoundingClientRect().right])"
        )
        assert all(right < edge for right, edge in texts)
