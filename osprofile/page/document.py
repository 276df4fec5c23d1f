"""The page as an HTML document: head, sections, and the form of a live page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from osprofile.authoring.outline import count_lines, is_shell
from osprofile.page import fields
from osprofile.page.assets import SCRIPT_FILES, STYLE_FILE, build_policy, read_asset
from osprofile.page.drawing import draw_levels
from osprofile.page.guide import build_guide, build_links
from osprofile.page.markup import Node, make_node, mark_invisible, render_node
from osprofile.page.tables import build_cell, build_row_head, build_table
from osprofile.text import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from osprofile.page.model import Count, Directive, Example, Level, Page, Script, Supplied

INTERNALS_TITLE: Final = "Behind this page"
MAX_INLINE_LENGTH: Final = 80
"""Characters of a fixed value that is shown in its row; longer values and lines are folded."""
MAX_INLINE_TAGS: Final = 6
"""Tags of a fixed field that are shown in its row; a longer list is folded."""


def render_page(page: Page, *, version: str = "") -> str:
    """Return the page as one HTML document; the same page gives the same bytes.

    With `version`, it is a page of the server: it has a form, whose scripts the server renders, and
    warns if the profile's version has changed. Without, it is complete in itself.
    """
    live = bool(version and page.targets)  # without a script there is nothing to set
    guide = [(key, title, _build_section(key, title, *parts)) for key, title, parts in build_guide(page)]
    form = ("fields", fields.TITLE, fields.build_fields_section(page, live=live))
    sections = [form, *guide] if live else [*guide, form]  # who opens a form wants to fill it in
    links = [(key, title) for key, title, _ in sections] + [("internals", INTERNALS_TITLE)]
    words = make_node(
        "p",
        "For those who maintain this profile: what its scripts are made of, and where each part is defined.",
    )
    internals = _build_section("internals", INTERNALS_TITLE, words, *_build_internals(page, live=live))
    body = make_node(
        "body",
        make_node("a", "Skip to the options", href="#fields", class_="skip"),
        _build_header(page, links),
        make_node(
            "main",
            *(node for *_, node in sections),
            internals,
            id="main",
        ),
        make_node("footer", make_node("p", "Written by ", make_node("code", "incarnate page"), ".")),
        *(make_node("script", read_asset(name)) for name in SCRIPT_FILES[: 2 if live else 1]),
        data_version=version or None,
    )
    head = build_head(f"Running jobs on {page.site}", live=live)
    return f"<!DOCTYPE html>\n{render_node(make_node('html', head, body, lang='en'))}"


def render_problem(title: str, text: str) -> str:
    """Return the page that the server shows while the profile does not load."""
    message = make_node("pre", make_node("code", *mark_invisible(text)), tabindex=0)
    hint = make_node("p", "The server keeps running: correct the profile, then load this page again.")
    body = make_node("body", make_node("main", make_node("h1", title), message, hint))
    return (
        f"<!DOCTYPE html>\n{render_node(make_node('html', build_head(title, live=False), body, lang='en'))}"
    )


def build_head(title: str, *, live: bool) -> Node:
    """Return the head of a page; its policy allows only what is in the page."""
    return make_node(
        "head",
        make_node("meta", charset="utf-8"),
        make_node("meta", http_equiv="Content-Security-Policy", content=build_policy(live=live)),
        make_node("meta", name="viewport", content="width=device-width, initial-scale=1"),
        make_node("meta", name="color-scheme", content="light dark"),
        make_node("meta", name="referrer", content="no-referrer"),
        make_node("title", title),
        make_node("link", rel="icon", href="data:,"),
        make_node("style", read_asset(STYLE_FILE)),
    )


def _build_header(page: Page, links: Iterable[tuple[str, str]]) -> Node:
    items = [make_node("li", make_node("a", title, href=f"#{key}")) for key, title in links]
    return make_node(
        "header",
        make_node("h1", *mark_invisible(f"Running jobs on {page.site}")),
        make_node("p", "How to submit a job, and what it may ask for.", class_="lead"),
        make_node("p", *mark_invisible(page.contact), dir="auto") if page.contact else None,
        make_node("nav", make_node("ul", *items), aria_label="Sections"),
    )  # fmt: skip


def _build_internals(page: Page, *, live: bool) -> Iterable[Node]:
    """Yield what only those need who maintain the profile; all of it is folded."""
    if live:
        words = make_node("p", "The form above shows the script of this template.")
        yield _build_details("choice", "Another script in the form", words, fields.build_script_choice(page))
    if page.directives:
        yield _build_details("directives", "Directives", *_build_directives(page.directives))
    if not live and page.examples:
        yield _build_details("examples", "Whole scripts", *_build_examples(page.examples))
    if not live and page.settings[page.jobs :]:
        yield _build_details("others", "Fields of the other scripts", fields.build_other_fields(page))
    shell = [s for s in page.supplied if is_shell(s.value)]
    others = [s for s in page.supplied if not is_shell(s.value)]
    yield _build_details("supplied", "Supplied values", *_build_supplied(others))
    yield _build_details("scripts", "Scripts", *_build_scripts(page))
    if shell:
        yield _build_details("shell", "Shell that the scripts share", _build_shell(shell))
    bars = make_node("p", "A bar shows the share of all elements in force that a profile declares.")
    chain = make_node(
        "p", *mark_invisible(" extends ".join(level.name for level in page.levels)), class_="chain"
    )
    drawn = make_node("div", draw_levels(page.levels), _build_levels(page.levels), class_="levels")
    yield _build_details("origin", "Where it comes from", chain, bars, drawn)


def _build_section(key: str, title: str, *children: Node) -> Node:
    return make_node(
        "section", make_node("h2", title, id=f"{key}-title"), *children,
        id=key, aria_labelledby=f"{key}-title",
    )  # fmt: skip


def _build_details(key: str, title: str, *children: Node) -> Node:
    return make_node("details", make_node("summary", make_node("h3", title)), *children, id=key)


def _build_directives(directives: Sequence[Directive]) -> Iterable[Node]:
    yield make_node(
        "p",
        "The lines of the job script that the batch system reads. ",
        make_node("code", "<NAME>"),
        " is the value of that field; without a value, there is no such line.",
    )
    rows = [
        (
            "",
            [
                make_node(
                    "th", make_node("code", *mark_invisible(directive.text)), scope="row", class_="text"
                ),
                build_cell(*fields.build_origins([directive.origin]), class_="place"),
            ],
        )
        for directive in directives
    ]
    yield build_table("The directives of the job script", ("Directive", "Declared in"), rows)


def _build_examples(examples: Sequence[Example]) -> Iterable[Node]:
    yield make_node("p", "What START runs for each application, with no field set. For a form that shows how fields change it, run ",
               make_node("code", "incarnate page --serve"), ".")  # fmt: skip
    for example in examples:
        if example.refusal:
            shown = make_node("p", *mark_invisible(example.refusal), class_="problem")
        else:
            shown = make_node(
                "pre", make_node("code", *mark_invisible(example.text)), tabindex=0, role="region",
                aria_label=f"Script of {example.title}",
            )  # fmt: skip
        command = make_node("p", make_node("code", *mark_invisible(example.command)), class_="command")
        lines = pluralize(count_lines(example.text), "line")
        summary = make_node("summary", *mark_invisible(example.title), f" ({lines})")
        yield make_node("details", summary, command, shown)


def _build_scripts(page: Page) -> Iterable[Node]:
    requestable = [
        (_template_anchor(s.name), _build_script_cells(s, page)) for s in page.scripts if not s.part
    ]
    parts = [("", _build_script_cells(s, None)) for s in page.scripts if s.part]
    if requestable:
        columns = ("Script", "What it does", "Fields", "Declared in")
        yield build_table("The scripts of this profile", columns, requestable)
    if parts:
        title = "Parts of other scripts"
        table = build_table(title, ("Part", "What it does", "Declared in"), parts)
        yield make_node("details", make_node("summary", title), table)


def _build_script_cells(script: Script, page: Page | None) -> list[Node]:
    """Return the cells of a template; without a page, those of a part of other scripts."""
    named = [_build_variation(*v) for v in script.variations if v[0]]
    variations = make_node("ul", *named) if named else None
    return [
        build_row_head(script.name),
        build_cell(*mark_invisible(script.description), variations, class_="wide"),
        *([build_cell(*_link_inputs(script, page))] if page is not None else ()),
        build_cell(*fields.build_origins([script.origin]), class_="place"),
    ]


def _link_inputs(script: Script, page: Page) -> list[Node | str]:
    if any(t.application for t in page.targets if t.template == script.name):
        return [make_node("a", "the fields of a job", href="#fields")]
    return build_links(script.fields, page) or ["nothing"]


def _template_anchor(template: str) -> str:
    """Return the id of a template for links, empty if its name is not valid in one."""
    return f"template-{template}" if re.fullmatch(r"[A-Za-z0-9_.-]+", template) else ""


def _build_variation(name: str, description: str) -> Node:
    return make_node(
        "li",
        make_node("code", *mark_invisible(name)),
        ": " if description else None,
        *mark_invisible(description),
    )


def _build_supplied(supplied: Sequence[Supplied]) -> Iterable[Node]:
    sentences = {
        "fixed": "The profile sets these; a site changes them in a profile of its own.",
        "context": "The context supplies these for each job; no request can set them.",
        "engine": "osprofile sets these when it makes a script.",
    }
    for source, sentence in sentences.items():
        found = [s for s in supplied if s.source == source]
        if found:
            table = _build_supplied_table(sentence, found)
            folded = source == "engine" and len(found) > 3
            shown = make_node("details", make_node("summary", sentence), table) if folded else None
            yield shown or make_node("div", make_node("p", sentence), table)


def _build_shell(shell: Sequence[Supplied]) -> Node:
    return _build_supplied_table("Shell that the scripts share", shell)


def _build_supplied_table(caption: str, supplied: Sequence[Supplied]) -> Node:
    rows = [("", _build_supplied_cells(s)) for s in supplied]
    return build_table(caption, ("Name", "What it is", "Value", "Declared in"), rows)


def _build_supplied_cells(supplied: Supplied) -> list[Node]:
    return [
        build_row_head(supplied.name, is_code=True),
        build_cell(*mark_invisible(supplied.description), class_="wide"),
        build_cell(*_build_value(supplied)),
        build_cell(
            *(fields.build_origins([supplied.origin]) if supplied.origin else ["the context"]), class_="place"
        ),
    ]


def _build_value(supplied: Supplied) -> list[Node | str]:
    if supplied.tags and supplied.value is None:
        tags = fields.build_tag_list(supplied.tags)
        if len(supplied.tags) <= MAX_INLINE_TAGS:
            return [tags]
        return [make_node("details", make_node("summary", pluralize(len(supplied.tags), "word")), tags)]
    if supplied.value is None:
        return ["by the context" if supplied.source == "context" else "by the engine"]
    if "\n" not in supplied.value and len(supplied.value) <= MAX_INLINE_LENGTH:
        return [make_node("code", *mark_invisible(supplied.value)) if supplied.value else "empty"]
    lines = count_lines(supplied.value)
    what = pluralize(lines, "line") if lines > 1 else pluralize(len(supplied.value), "character")
    text = make_node(
        "pre",
        make_node("code", *mark_invisible(supplied.value)),
        tabindex=0,
        role="region",
        aria_label=f"Value of {supplied.name}",
    )
    return [make_node("details", make_node("summary", what), text)]


def _build_levels(levels: Sequence[Level]) -> Node:
    kinds = [c.kind for c in levels[0].counts]
    rows = []
    for level in levels:
        cells = [
            build_row_head(level.name),
            build_cell(make_node("code", *mark_invisible(level.label)), class_="place"),
        ]
        rows.append(("", [*cells, *(build_cell(_format_count(count)) for count in level.counts)]))
    columns = ("Profile", "File", *(f"{kind}s".capitalize() for kind in kinds))
    return build_table("What each profile of the chain declares", columns, rows)


def _format_count(count: Count) -> str:
    if not count.new + count.replacing:
        return "none"
    parts = [(count.new, "new"), (count.replacing, "replaced"), (count.in_force, "in force")]
    return ", ".join(f"{number} {word}" for number, word in parts if number)
