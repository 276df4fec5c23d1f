"""The form in a browser: by hand and by keyboard, what it asks, what it shows, what it forgives."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, PROFILES, profile_file, url_of, watched
from tests.page.conftest import Served, served

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page, Route


def field(name: str) -> str:
    """Give the locator of a field's input that is shown."""
    return f"[data-name='{name}']:visible"


def says(page: Page, text: str) -> None:
    expect(page.locator("#status")).to_have_text(text)


def choose(page: Page, script: str) -> None:
    """Choose another script, behind the page: users need only that of a job."""
    page.evaluate("document.getElementById('choice').open = true")
    page.get_by_label("Script", exact=True).select_option(script)


def script(page: Page) -> str:
    """Give the script as a reader would copy it."""
    text: str = page.evaluate("document.getElementById('script').textContent")
    return text


def test_a_change_shows_what_it_changed(browser: Browser, site: Served) -> None:
    with watched(browser, url_of(site)) as page:
        says(page, "The script has 10 lines.")
        page.fill(field("WALLTIME"), "90")
        says(page, "Time limit changed lines 4 and 5 of 10.")
        assert page.locator(".line.changed").all_text_contents() == [
            "#PBS -l walltime=00:01:30\n",
            "# at most 2 minutes\n",
        ]
        assert page.locator(".changed-by h4").all_text_contents() == ["Time limit"]
        page.fill(field("NODES"), "all")
        says(page, "Nodes changed line 8 of 10.")
        assert page.locator("#command").text_content() == (
            "incarnate START --profile site --set WALLTIME=90 --set NODES=all"
        )
        page.fill(field("QUEUE"), "")
        says(page, "Queue took 1 line away; the script has 9 lines.")
        asked = site.ask(template="START", fields={"WALLTIME": "90", "NODES": "all", "QUEUE": ""})
        assert script(page) == asked["text"]


def test_what_is_selected_is_the_script(browser: Browser, site: Served) -> None:
    with watched(browser, url_of(site)) as page:
        selected = page.evaluate(
            "(getSelection().selectAllChildren(document.getElementById('script')), getSelection().toString())"
        )
        assert selected.strip("\n").replace("\n\n", "\n") == script(page).strip("\n")


def test_a_refusal_stands_at_its_field(browser: Browser, site: Served) -> None:
    with watched(browser, url_of(site)) as page:
        nodes = page.locator(field("NODES"))
        nodes.fill("21")
        says(page, "No script: field NODES: '21' is above the Max of 20")
        expect(nodes).to_have_attribute("aria-invalid", "true")
        told = page.locator("#field-NODES .problem")
        expect(told).to_have_text(
            "field NODES: '21' is above the Max of 20. Allowed: 1 to 20. (site/site.xml:23)"
        )
        assert (told.get_attribute("id") or "?") in (nodes.get_attribute("aria-describedby") or "")
        expect(page.locator("#script")).to_have_class("old")
        nodes.fill("20")
        says(page, "Nodes changed line 8 of 10.")
        expect(told).to_be_hidden()
        assert nodes.get_attribute("aria-invalid") is None
        expect(page.locator("#script")).not_to_have_class("old")


def test_a_number_that_is_none(browser: Browser, site: Served) -> None:
    with watched(browser, url_of(site)) as page:
        walltime = page.locator(field("WALLTIME"))
        walltime.press("End")
        walltime.press_sequentially("e")  # what a field of numbers lets one type
        says(page, "No script: field WALLTIME: this is not a number")
        walltime.press("Escape")
        says(page, "Time limit changed nothing in the script (10 lines).")
        assert walltime.input_value() == "60"


def test_another_script_has_its_own_fields(browser: Browser, site: Served) -> None:
    with watched(browser, url_of(site)) as page:
        assert page.locator(".field:visible h4").all_text_contents() == [
            "Program", "Time limit", "Queue", "Nodes",
        ]  # fmt: skip
        choose(page, "ASK")
        says(page, "Job id must be given before there is a script.")
        assert page.locator(".field:visible h4").all_text_contents() == ["Job id"]
        expect(page.locator("#field-JOB_ID .problem")).to_have_text("The script needs a value here.")
        assert page.locator(field("JOB_ID")).get_attribute("aria-invalid") == "false"
        expect(page.get_by_label("Application", exact=True)).to_be_hidden()
        expect(page.locator(".script pre")).to_be_hidden()
        page.fill(field("JOB_ID"), "12")
        says(page, "The script has 1 line.")
        assert script(page) == "ask '12'\n"
        page.fill(field("JOB_ID"), "")
        expect(page.locator("#field-JOB_ID .problem")).to_contain_text("It has no Default")
        choose(page, "ASK, MINE")
        says(page, "The script has 1 line.")
        expect(page.locator("#filter-count")).to_have_text("no field has these words")


def test_another_application_and_back_to_the_defaults(browser: Browser, pbs: Served) -> None:
    with watched(browser, url_of(pbs)) as page:
        plain = script(page)
        page.get_by_label("Application", exact=True).select_option("MPI")
        expect(page.locator("#script")).to_contain_text("gpe_run_mpi")
        assert page.locator("#command").text_content() == "incarnate START --profile pbs --application MPI"
        page.locator("#group-1 > summary").click()
        page.fill(field("ENVIRONMENT"), "export A='1'\nexport B='it'\\''s'\n")
        expect(page.locator(".changed").filter(has_text="gpe_run_mpi A=")).not_to_have_count(0)
        page.fill(field("EXECUTABLE"), "/bin/date")
        expect(page.locator(".changed").filter(has_text="/bin/date")).not_to_have_count(0)
        page.get_by_role("button", name="Back to the defaults").click()
        expect(page.locator("#command")).to_have_text("incarnate START --profile pbs --application MPI")
        assert page.locator(field("EXECUTABLE")).input_value() == "hostname"
        page.get_by_label("Application", exact=True).select_option("Executable")
        expect(page.locator("#command")).to_have_text("incarnate START --profile pbs")
        assert script(page) == plain


def test_a_line_that_comes_and_goes(browser: Browser, tmp_path: Path) -> None:
    body = r"""<idb:Template name="START"><idb:Invocation><idb:Body><![CDATA[one
<LINES/(?s)^(.+)\z/$1
>two
three
]]></idb:Body></idb:Invocation><idb:Field name="LINES" ext:pattern="[a-z\n]*"><idb:Default></idb:Default></idb:Field>
</idb:Template>"""
    body = body.replace("/(?s)^(.+)\\z/$1\n>", ">")
    with (
        served("-p", str(profile_file(tmp_path, "p", body))) as running,
        watched(browser, url_of(running)) as page,
    ):
        says(page, "The script has 3 lines.")
        page.fill(field("LINES"), "a\nb\nc\n")
        says(page, "Lines changed lines 2, 3 and 4 of 6.")
        page.fill(field("LINES"), "a\nc\n")
        says(page, "Lines took 1 line away; the script has 5 lines.")
        expect(page.locator(".cut")).to_have_text("c")
        assert script(page) == "one\na\nc\ntwo\nthree\n"
        page.fill(field("LINES"), "")
        says(page, "Lines took 2 lines away; the script has 3 lines.")
        assert script(page) == "one\ntwo\nthree\n"


def test_a_choice_and_words(browser: Browser, tmp_path: Path) -> None:
    body = """<idb:Template name="START"><idb:Invocation><idb:Body>&lt;A> &lt;B></idb:Body></idb:Invocation>
    <idb:Field name="A" ext:pattern="(red|green)"><idb:Tag name="leaf">green</idb:Tag><idb:Default>red</idb:Default></idb:Field>
    <idb:Field name="B"><idb:Tag name="fast">-O3</idb:Tag><idb:Default/></idb:Field></idb:Template>"""
    with (
        served("-p", str(profile_file(tmp_path, "p", body))) as running,
        watched(browser, url_of(running)) as page,
    ):
        choice = page.locator(field("A"))
        assert choice.locator("option").all_text_contents() == ["leaf", "red", "green"]
        choice.select_option("leaf")
        says(page, "A changed line 1 of 1.")
        page.fill(field("B"), "fast")
        expect(page.locator("#script")).to_have_text("green -O3")
        assert page.locator("#words-B option").get_attribute("value") == "fast"


# By keyboard


def test_by_keyboard_alone(browser: Browser, site: Served) -> None:
    with watched(browser, url_of(site)) as page:
        focused = "document.activeElement.id || document.activeElement.textContent"
        page.keyboard.press("Tab")
        assert page.evaluate(focused) == "Skip to the options"
        box = page.locator(".skip").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate(focused) == "Back to the defaults"
        seen = []
        while (now := page.evaluate(focused)) != "in-QUEUE":
            seen.append(now)
            page.keyboard.press("Tab")
        assert seen == [
            "Back to the defaults",
            "filter",
            "in-EXECUTABLE",
            "Rules of Program",
            "in-WALLTIME",
            "Rules of Time limit",
        ]
        page.keyboard.press("Control+a")
        page.keyboard.type("long")
        says(page, "Queue changed line 3 of 10.")
        page.keyboard.press("Escape")
        expect(page.locator(".line.changed")).to_have_text("#PBS -q short")
        assert page.input_value("#in-QUEUE") == "fast"
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Rules of Queue"
        for _ in range(3):
            page.keyboard.press("Shift+Tab")
        page.keyboard.press("ArrowUp")
        expect(page.locator("#script")).to_contain_text("walltime=00:01:01")


def test_enter_asks_at_once_and_leaves_no_page(browser: Browser, site: Served) -> None:
    with watched(browser, url_of(site)) as page:
        page.evaluate("window.here = true")
        for name in ("EXECUTABLE", "QUEUE", "WALLTIME"):
            with page.expect_response("**/render"):
                page.locator(field(name)).press("Enter")
        page.locator("#filter").fill("wall")
        page.locator("#filter").press("Enter")
        assert page.evaluate("window.here") is True


@pytest.mark.parametrize("size", ["phone", "desktop"])
def test_each_stop_of_the_tab_key_is_seen(browser: Browser, site: Served, size: str) -> None:
    settings = {"viewport": PHONE} if size == "phone" else {}
    with watched(browser, url_of(site), reduced_motion="reduce", **settings) as page:
        stops = []
        for _ in range(80):
            page.keyboard.press("Tab")
            found = page.evaluate(
                """() => {
                  const e = document.activeElement;
                  if (e === document.body) return null;
                  const [box] = e.getClientRects(); /* of several, if it goes on in the next line */
                  const [x, y] = [box.left + Math.min(box.width / 2, 20), box.top + Math.min(box.height / 2, 20)];
                  const top = document.elementFromPoint(x, y);
                  const style = getComputedStyle(e);
                  return [e.id || e.textContent.slice(0, 40), e.contains(top), style.outlineStyle !== "none"
                    && parseFloat(style.outlineWidth) >= 2, box.top];
                }"""
            )
            if found is None:
                break
            stops.append(found)
        assert [stop for stop in stops if not stop[1]] == []  # nothing covers it
        assert [stop for stop in stops if not stop[2]] == []
        names = [stop[0] for stop in stops]
        assert len(names) == len(stops) >= 20
        assert [n for n in names if n.startswith("in-")] == [
            "in-EXECUTABLE",
            "in-WALLTIME",
            "in-QUEUE",
            "in-NODES",
        ]


# Finding


def test_finding_fields(browser: Browser, static: str) -> None:
    with watched(browser, static) as page:
        box = page.get_by_label("Find an option")
        box.fill("SECONDS")
        assert page.locator(".field:visible h4").all_text_contents() == [
            "Time limit",
            "Limit of the CPU time",
        ]
        expect(page.locator("#filter-count")).to_have_text("2 of 34")
        assert page.locator("#group-job").is_visible()
        box.fill("processor seconds")
        assert page.locator(".field:visible h4").all_text_contents() == ["Limit of the CPU time"]
        box.fill("no such field")
        expect(page.locator("#filter-count")).to_have_text("no field has these words")
        box.press("Escape")
        assert page.locator("#fields details.group[open]").count() == 0
        page.evaluate("document.querySelectorAll('details.group').forEach((d) => { d.open = true; })")
        assert page.locator(".field:visible").count() == 34
        expect(page.locator("#filter-count")).to_have_text("34 of 34")


def test_links_to_fields(browser: Browser, static: str, site: Served) -> None:
    with watched(browser, f"{static}#field-WALLTIME") as page:
        expect(page.locator("#field-WALLTIME")).to_be_in_viewport()
        box = page.get_by_label("Find an option")
        box.fill("nothing at all")
        page.evaluate("location.hash = '#field-QUEUE'")
        expect(page.locator("#field-QUEUE")).to_be_in_viewport()
        assert box.input_value() == ""
        page.evaluate("location.hash = '#%E0%A4%A'")  # no text at all
    with watched(browser, f"{url_of(site)}#field-TEXT") as page:
        expect(page.locator("#field-TEXT")).to_be_in_viewport()
        assert page.get_by_label("Script", exact=True).input_value() == "3"
        page.evaluate("document.getElementById('scripts').open = true")
        page.locator("#scripts a", has_text="JOB_ID").click()
        expect(page.locator("#in-JOB_ID")).to_be_in_viewport()
        says(page, "Job id must be given before there is a script.")


# What goes wrong on the way


def test_the_last_of_many_keys_counts(browser: Browser, site: Served) -> None:
    with watched(browser, url_of(site)) as page:
        first = True

        def late(route: Route) -> None:
            nonlocal first
            if first:
                first = False
                time.sleep(0.3)  # the answer to an earlier question comes last
            route.continue_()

        page.route("**/render", late)
        page.locator(field("EXECUTABLE")).press("End")
        page.locator(field("EXECUTABLE")).press_sequentially("-abcdef", delay=60)
        expect(page.locator("#script")).to_contain_text("hostname-abcdef")
        page.wait_for_timeout(400)
        assert "hostname-abcdef'" in script(page)


def test_a_profile_that_changes_or_breaks_meanwhile(browser: Browser, tmp_path: Path) -> None:
    good = (PROFILES / "base.xml").read_text()
    file = tmp_path / "base.xml"
    file.write_text(good)
    with served("-p", str(file)) as running, watched(browser, url_of(running)) as page:
        file.write_text(good.replace("<idb:Max>3600<", "<idb:Max>60<"))
        page.fill(field("WALLTIME"), "61")
        expect(page.locator("#stale")).to_be_visible()
        says(page, "No script: field WALLTIME: '61' is above the Max of 60 (1m)")
        file.write_text(good.replace("<idb:Max>3600<", "<idb:Max>x<"))
        page.fill(field("WALLTIME"), "62")
        expect(page.locator("#refusal")).to_contain_text("the profile does not load: base/base.xml:12:16")
        file.write_text(good.replace("<idb:Max>3600<", "<idb:Max>70<"))
        page.fill(field("WALLTIME"), "63")
        says(page, "Time limit changed lines 4 and 5 of 10.")
        page.get_by_role("button", name="Load it again").click()
        expect(page.locator("#field-WALLTIME")).to_contain_text("1 to 70")
        expect(page.locator("#stale")).to_be_hidden()
        assert page.input_value("#in-WALLTIME") == "60"  # what was typed before is not kept


def test_a_server_that_has_gone(browser: Browser) -> None:
    context = browser.new_context()
    with served("-p", "linux") as running:
        page = context.new_page()
        page.goto(url_of(running))
        expect(page.locator("#status")).to_contain_text("lines")
    page.fill(field("JOB_NAME"), "long")
    says(page, "No script: the server does not answer")
    expect(page.locator("#refusal")).to_contain_text("Start incarnate page --serve again")
    context.close()


def test_the_script_is_copied(browser: Browser, site: Served) -> None:
    settings = {"permissions": ["clipboard-read", "clipboard-write"]}
    with watched(browser, url_of(site), **settings) as page:
        page.get_by_role("button", name="Copy the script").click()
        says(page, "The script is copied.")
        assert page.evaluate("navigator.clipboard.readText()") == script(page)
