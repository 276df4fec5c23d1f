"""A profile and a user who mean harm: nothing runs, nothing leaves, nothing hides."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, profile_file, url_of, watched, written
from tests.browser.test_looks import faults
from tests.page.conftest import served

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

EVIL = [
    "<script>window.pwned = 1</script>",
    "</script><script>window.pwned = 2</script>",
    "</style></title></textarea></code></pre><img src=x onerror='window.pwned = 3'>",
    "\" onfocus='window.pwned = 4' autofocus x='",
    "<!-- <svg onload=window.pwned=5> --!>",
    "&lt;script&gt;window.pwned = 6&lt;/script&gt; &amp;",
    "javascript:window.pwned=7",
    "http://evil.example/x.png <link rel=stylesheet href=http://evil.example/x.css>",
    "a\u2028b\u2029c \u202edlo\u202c \u2066x\u2069 \ufeff \u0080",
    "W" * 400,
]
BODY = """<idb:Template name="START"><idb:Description>{x}</idb:Description>
<idb:Invocation><idb:Description>{x}</idb:Description><idb:Body>echo &lt;A> &lt;C> &lt;B>
</idb:Body></idb:Invocation><idb:Invocation name="{a}"><idb:Description>{x}</idb:Description><idb:Body>x</idb:Body></idb:Invocation>
<idb:Field name="A" ext:pattern="(?s).*"><idb:Description>{x}</idb:Description><idb:Tag name="{a}">{x}</idb:Tag>
<idb:Default>{x}</idb:Default></idb:Field>
<idb:Field name="B" isSettable="false"><idb:Description>{x}</idb:Description><idb:Value>{x}</idb:Value></idb:Field>
<idb:Field name="C" ext:pattern="[a-z]+"><idb:Description>{x}</idb:Description><idb:Default>c</idb:Default></idb:Field></idb:Template>
<idb:Template name="{a}"><idb:Description>{x}</idb:Description><idb:Invocation><idb:Body>x &lt; y</idb:Body></idb:Invocation></idb:Template>
<osp:Application name="{a}" template="{a}"><osp:ApplicationName>{x}</osp:ApplicationName>
<osp:ApplicationVersion>{x}</osp:ApplicationVersion><osp:Description>{x}</osp:Description></osp:Application>
"""


def escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("{", "&#123;")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Give the file of a profile whose every text is an attack."""
    text = escaped(" ".join(EVIL))
    return profile_file(tmp_path, "hostile", BODY.format(x=text, a=text))


NOTHING_RAN = "window.pwned === undefined && !document.querySelector('img, [onerror], [onfocus], [onload]')"
KINDS = ("wide", "overlaps", "nameless")


def test_the_static_page_of_a_hostile_profile(browser: Browser, hostile: Path, tmp_path: Path) -> None:
    with watched(browser, written(str(hostile), tmp_path)) as page:
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        for size in ({"width": 1280, "height": 900}, PHONE):
            page.set_viewport_size(size)
            assert {k: f for k in KINDS if (f := faults(page, k))} == {}
        assert page.evaluate(NOTHING_RAN)
        assert page.locator("script").count() == 1
        meaning = page.locator("#field-A .meaning").inner_text()
        assert all(evil in meaning for evil in EVIL[:8])
        assert "U+202E" in meaning  # seen, not obeyed
        assert "\u202e" not in page.content()


def test_the_served_page_of_a_hostile_profile(browser: Browser, hostile: Path) -> None:
    with served("-p", str(hostile)) as running, watched(browser, url_of(running)) as page:
        assert {k: f for k in KINDS if (f := faults(page, k))} == {}
        for evil in EVIL:
            page.locator("#in-A").fill(evil)
            expect(page.locator("#command")).to_contain_text("incarnate START")
            page.locator("#in-C").fill(evil)
            expect(page.locator("#field-C .problem")).to_be_visible()
            page.locator("#in-C").fill("c")
            expect(page.locator("#field-C .problem")).to_be_hidden()
            page.locator("#filter").fill(evil)
            page.locator("#filter").fill("")
        assert page.locator("#script").inner_text().count("window.pwned") >= 1
        page.evaluate("document.getElementById('choice').open = true")
        choices = page.get_by_label("Script", exact=True).locator("option").count()
        for number in range(choices):
            page.get_by_label("Script", exact=True).select_option(index=number)
            expect(page.locator("#status")).to_contain_text("line")
        assert page.evaluate(NOTHING_RAN)
        assert page.locator("script").count() == 2


def test_a_value_that_turns_text_around_is_shown_as_it_is(browser: Browser, hostile: Path) -> None:
    with served("-p", str(hostile)) as running, watched(browser, url_of(running)) as page:
        page.locator("#in-A").fill("x\u202ey")
        expect(page.locator(".line.changed .odd").first).to_have_text("U+202E")
        expect(page.locator("#command .odd").first).to_have_text("U+202E")


def said(server: socket.socket) -> list[bytes]:
    """Give what was sent to a server: Chromium may connect for a frame before it asks the policy."""
    found = []
    while True:
        try:
            connection = server.accept()[0]
        except BlockingIOError:
            return [data for data in found if data]
        with connection:
            connection.settimeout(0.5)
            try:
                found.append(connection.recv(100))
            except TimeoutError:
                continue


def test_what_the_policy_is_for(browser: Browser, hostile: Path, tmp_path: Path) -> None:
    """Were a text not escaped, it would not run either, nor could it call out."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(written(str(hostile), tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        url = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/"
        page.evaluate(
            """(url) => {
              const made = document.createElement("script");
              made.textContent = "window.pwned = 1";
              document.body.append(made);
              document.body.insertAdjacentHTML("beforeend", `<img src="${url}a" onerror="window.pwned = 2">`
                + `<iframe src="${url}b"></iframe><link rel=stylesheet href="${url}c"><b style="color: red" id=styled>x</b>`);
            }""",
            url,
        )
        sent = page.evaluate("(url) => fetch(url).then(() => 'sent', () => 'refused')", url)
        page.wait_for_timeout(200)
        elsewhere.setblocking(False)
        assert said(elsewhere) == []
    assert sent == "refused"
    assert page.evaluate("window.pwned") is None
    colour = page.evaluate("getComputedStyle(document.getElementById('styled')).color")
    assert colour != "rgb(255, 0, 0)"
    context.close()


def test_another_page_cannot_ask_the_server(browser: Browser, tmp_path: Path) -> None:
    other = tmp_path / "other.html"
    other.write_text("<!DOCTYPE html><title>x</title><p>x")
    with served("-p", "linux") as running, served("-p", "linux") as stranger:
        context = browser.new_context(bypass_csp=True)
        page = context.new_page()
        for origin in (other.as_uri(), url_of(stranger)):
            page.goto(origin)
            for kind in ("application/json", "text/plain"):
                answer = page.evaluate(
                    """([url, kind]) => fetch(url, { method: "POST", headers: { "Content-Type": kind },
                         body: '{"template": "START"}' }).then((r) => r.text(), () => "refused")""",
                    [f"{url_of(running)}render", kind],
                )
                assert answer == "refused"
            framed = page.evaluate(
                """(url) => new Promise((done) => { const frame = document.createElement("iframe");
                     frame.onload = () => { let seen = null; try { seen = frame.contentDocument?.title; } catch {} done(seen); };
                     frame.src = url; document.body.append(frame); })""",
                url_of(running),
            )
            assert framed in {None, ""}
        context.close()


GUIDE = r"""<idb:Template>
<idb:Field name="QUEUE" ext:pattern="(?s).*"><idb:Description>{x}</idb:Description><idb:Tag name="{x}">{x}</idb:Tag>
<idb:Default>{x}</idb:Default></idb:Field>
<idb:Field name="PROJECT" ext:pattern="(?s).*"><idb:Description>{x}</idb:Description></idb:Field>
<idb:Field name="STDOUT" ext:pattern="(?s).*"><idb:Default>{x}</idb:Default></idb:Field></idb:Template>
<idb:Template name="START"><idb:Invocation><idb:Body>&lt;JOB_SCRIPT></idb:Body></idb:Invocation></idb:Template>
<idb:Template name="JOB_DIRECTIVES"><idb:Invocation><idb:Body><![CDATA[#!/bin/sh
#X -q <QUEUE> -p <PROJECT> <STDOUT> <WALLTIME>
]]></idb:Body></idb:Invocation>
<idb:Field name="DIRECTIVE_PREFIX" isSettable="false"><idb:Value>#X</idb:Value></idb:Field>
<idb:Field name="SUBMIT_COMMAND" isSettable="false"><idb:Value>{x}</idb:Value></idb:Field>
<idb:Field name="SUBMIT_DIRECTORY" isSettable="false"><idb:Value>{x}</idb:Value></idb:Field></idb:Template>
<osp:Application name="{x}" template="EXECUTABLE"><osp:ApplicationName>{x}</osp:ApplicationName>
<osp:ApplicationVersion>{x}</osp:ApplicationVersion><osp:Description>{x}</osp:Description></osp:Application>
"""


def test_the_guide_of_a_hostile_profile(browser: Browser, tmp_path: Path) -> None:
    text = GUIDE.format(x=escaped(" ".join(EVIL)))
    file = profile_file(tmp_path, "hostile", text)
    file.write_text(file.read_text().replace('name="hostile"', 'name="hostile" extends="linux"'))
    with watched(browser, written(str(file), tmp_path)) as page:
        assert page.locator("#own").count() == 1
        assert page.locator("#queues tbody tr").count() == 1
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        for size in ({"width": 1280, "height": 900}, {"width": 960, "height": 900}, PHONE):
            page.set_viewport_size(size)
            assert {k: f for k in KINDS if (f := faults(page, k))} == {}
        assert page.evaluate(NOTHING_RAN)
        for part in ("#queues tbody", "#applications tbody", "#submit", "#own-script", "#script-command"):
            assert EVIL[0] in (page.locator(part).text_content() or ""), part
        assert "\u202e" not in page.content()
