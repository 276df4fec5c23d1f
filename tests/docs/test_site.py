"""The built site: no warnings, nothing loaded from other hosts, no Markdown left."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from tests.docs.building import build

if TYPE_CHECKING:
    from pathlib import Path

LOADED = {"src", "srcset", "poster", "data", "action", "background"}
OUTSIDE = re.compile(r"^\s*(https?:)?//", re.IGNORECASE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("site")
    build(directory)
    return directory


class Links(HTMLParser):
    """Collect what a page loads, its comments, and the text outside of code."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.comments: list[str] = []
        self.text = ""
        self._in: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self.loaded += [value for name, value in known.items() if name in LOADED]
        if tag == "link":
            self.loaded.append(known.get("href", ""))
        if tag in {"code", "script", "style"}:
            self._in.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._in and self._in[-1] == tag:
            self._in.pop()

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        if not self._in:
            self.text += data


def pages(site: Path) -> dict[str, Links]:
    return {str(p.relative_to(site)): Links(p.read_text()) for p in site.rglob("*.html")}


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    found = pages(site)
    assert len(found) > 30
    for page, links in found.items():
        assert links.loaded
        assert [one for one in links.loaded if OUTSIDE.match(one)] == [], page
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(\s*[\"']?(https?:)?//|@import", style.read_text()), style


def test_nothing_of_the_sources_is_left(site: Path) -> None:
    for page, links in pages(site).items():
        assert links.comments == [], page
        for left in ("```", "\x02", "??? note", "<!-- run", "{ #"):
            assert left not in links.text, (page, left)
    names = {str(path.relative_to(site)) for path in site.rglob("*")}
    assert not any(name.startswith("hooks") or name.endswith((".md", ".sh", ".py")) for name in names)


def test_it_can_be_searched(site: Path) -> None:
    index = (site / "search" / "search_index.json").read_text()
    for words in ("osprofile-blahpd", "UspaceRoot", "OSP605", "JOB_PROLOGUE"):
        assert words in index
