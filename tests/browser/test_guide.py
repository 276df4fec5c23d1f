"""What a user meets first, at three widths: the order, whole names, rows that stay together, copying."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import watched, written
from tests.browser.test_looks import SIZES, faults, judge

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CLUSTER = Path(__file__).parent.parent / "page" / "cluster.xml"
PAGES = {"slurm": "slurm", "linux": "linux", "pbs": "pbs", "cluster": str(CLUSTER)}

BROKEN_WORDS = """(what) => [...document.querySelectorAll(what)].flatMap((e) => {
  const found = [];
  const walker = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    for (const word of node.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) found.push(word[0]);
    }
  return found;
})"""
APART = """() => [...document.querySelectorAll("#fields .field")].filter((field) => {
  const [box, name, meaning] = [field, field.querySelector("h4"), field.querySelector(".meaning")].map((e) => e.getBoundingClientRect());
  const beside = Math.abs(name.top - meaning.top) < 12 && meaning.left > name.right;
  const below = meaning.top >= name.bottom - 1 && meaning.top - name.bottom < 60;
  return !(beside || below) || name.bottom > box.bottom || meaning.bottom > box.bottom;
}).map((field) => field.id)"""
OPEN_ALL = "document.querySelectorAll('details').forEach((d) => { d.open = true; })"


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Give the address of each page."""
    return {name: written(profile, tmp_path_factory.mktemp(name)) for name, profile in PAGES.items()}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PAGES)
def test_what_a_user_needs_comes_first(
    browser: Browser, addresses: dict[str, str], tmp_path: Path, name: str, size: str
) -> None:
    with watched(browser, addresses[name], viewport=SIZES[size]) as page:
        judge(page, tmp_path / f"guide-{name}-{size}.png")
        assert page.locator("details[open]").count() == 0
        headings = page.locator("h1, h2").all_text_contents()
        queues = [] if name == "linux" else ["Queues"]
        assert headings == [
            f"Running jobs on {name}", "Submit a job", *queues, "Applications", "Limits", "Options",
            "Behind this page",
        ]  # fmt: skip
        # The command is in view without scrolling, and no word of it is broken.
        expect(page.locator("#submit-command")).to_be_in_viewport(ratio=1)
        assert page.locator("#own").count() == (name != "linux")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PAGES)
def test_names_are_whole_and_descriptions_stay_with_them(
    browser: Browser, addresses: dict[str, str], name: str, size: str
) -> None:
    with watched(browser, addresses[name], viewport=SIZES[size]) as page:
        for opened in (False, True):
            if opened:
                page.evaluate(OPEN_ALL)
                if name != "linux":
                    lines = page.locator("#own-script").inner_text().split("\n")
                    assert (lines[0], lines[-2:]) == ("#!/bin/sh", ["./simulate", ""])
            assert faults(page, "wide") == []
            assert (
                page.evaluate(
                    BROKEN_WORDS, "h4, .option, .whole, :is(#submit, #queues, #applications, #limits) code"
                )
                == []
            )
            assert page.evaluate(APART) == []
        names = page.locator("th.whole:visible").all_text_contents()
        assert "GET_JOB_STATUS" in names
        # No name of the bundled profiles is so long that it may be broken.
        assert page.locator("tbody th:not(.whole):not(.text)").count() == 0


def test_a_name_that_is_too_long_for_a_line_is_broken(browser: Browser, tmp_path: Path) -> None:
    long = "A" * 300
    text = CLUSTER.read_text().replace("<osp:ApplicationName>GROMACS<", f"<osp:ApplicationName>{long}<")
    file = tmp_path / "cluster.xml"
    file.write_text(text.replace('"LICENSES"', f'"{long}"'))
    with watched(browser, written(str(file), tmp_path)) as page:
        page.evaluate(OPEN_ALL)
        for size in SIZES.values():
            page.set_viewport_size(size)
            assert faults(page, "wide") == []
            assert faults(page, "overlaps") == []


def test_the_command_and_the_script_are_copied(browser: Browser, addresses: dict[str, str]) -> None:
    settings = {"permissions": ["clipboard-read", "clipboard-write"]}
    with watched(browser, addresses["cluster"], **settings) as page:
        page.locator("#submit .copyable button").first.click()
        expect(page.locator("#submit .copyable button").first).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == (
            "incarnate job submit -p cluster --project PROJECT --queue medium --cpus 4 --memory 4G "
            "--walltime 1h ./simulate"
        )
        page.locator("#own > summary").click()
        page.locator("#own .copyable button").first.click()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("#!/bin/sh\n#SBATCH --job-name=simulate\n#SBATCH --partition=medium\n")
        assert copied.endswith("\n./simulate\n")


def test_without_javascript_nothing_is_missing_but_the_buttons(
    browser: Browser, addresses: dict[str, str]
) -> None:
    with watched(browser, addresses["slurm"], java_script_enabled=False) as page:
        assert page.locator("button:visible").count() == 0
        expect(page.locator("#submit-command")).to_be_visible()
        page.locator("#own > summary").click()
        expect(page.locator("#own-script")).to_contain_text("#SBATCH --time=60")
        page.locator("#field-NODES summary").click()
        expect(page.locator("#field-NODES .rules")).to_contain_text("[1-9][0-9]*")


def test_a_link_opens_what_is_folded(browser: Browser, addresses: dict[str, str]) -> None:
    with watched(browser, f"{addresses['slurm']}#field-JOB_ID") as page:
        expect(page.locator("#field-JOB_ID")).to_be_in_viewport()


def test_printed_the_script_is_there_and_no_buttons(browser: Browser, addresses: dict[str, str]) -> None:
    with watched(browser, addresses["slurm"]) as page:
        page.emulate_media(media="print")
        assert page.locator("button:visible, nav:visible").count() == 0
        expect(page.locator("#own-script")).to_be_visible()
