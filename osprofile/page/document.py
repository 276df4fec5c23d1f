"""The page as a document: head, sections, and what of it is for a form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from osprofile.page import fields
from osprofile.page.drawing import PLURAL, drawing
from osprofile.page.files import SCRIPTS, STYLE, policy, text_of
from osprofile.page.markup import Node, node, visible, write

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from osprofile.page.model import Count, Example, Level, Page, Script, Supplied

MOST_LINKS: Final = 12
"""Links to fields in one cell; the fields themselves are below."""
LONGEST: Final = 80
"""A fixed value with more characters, or with line ends, is folded."""


def html(page: Page, *, version: str = "") -> str:
    """Give the page as one HTML document: the same page gives the same bytes.

    With `version`, the page of a server: it has the form, whose scripts the server makes, and says
    so when the profile has another version by then. Without, it needs nothing but itself.
    """
    live = bool(version and page.targets)  # without a script there is nothing to fill in
    body = node(
        "body",
        node("a", "Skip to the fields", href="#fields", class_="skip"),
        _header(page, live=live),
        node("main", *_sections(page, live=live), id="main"),
        node("footer", node("p", "Written by ", node("code", "incarnate page"), ".")),
        *(node("script", text_of(name)) for name in SCRIPTS[: 2 if live else 1]),
        data_version=version or None,
    )
    return f"<!DOCTYPE html>\n{write(node('html', head(f'{page.profile}: what a job may ask for', live=live), body, lang='en'))}"


def problem_html(title: str, text: str) -> str:
    """Give the page that a server shows while the profile does not load."""
    told = node("pre", node("code", *visible(text)), tabindex=0)
    hint = node("p", "The server goes on: mend the profile, then load this page again.")
    body = node("body", node("main", node("h1", title), told, hint))
    return f"<!DOCTYPE html>\n{write(node('html', head(title, live=False), body, lang='en'))}"


def head(title: str, *, live: bool) -> Node:
    """Give a page's head; what the page may load and run is in its policy: itself."""
    return node(
        "head",
        node("meta", charset="utf-8"),
        node("meta", http_equiv="Content-Security-Policy", content=policy(live=live)),
        node("meta", name="viewport", content="width=device-width, initial-scale=1"),
        node("meta", name="color-scheme", content="light dark"),
        node("meta", name="referrer", content="no-referrer"),
        node("title", title),
        node("link", rel="icon", href="data:,"),
        node("style", text_of(STYLE)),
    )


def _header(page: Page, *, live: bool) -> Node:
    chain = " extends ".join(level.name for level in page.levels)
    lead = f"A job may set {_counted(page.jobs, 'field')}."
    if len(page.applications) > 1:
        lead = f"{lead[:-1]} and run one of {len(page.applications)} applications."
    titles = [
        ("applications", "Applications", page.applications),
        ("fields", "Fields", True),
        ("examples", "Examples", page.examples and not live),
        ("scripts", "Scripts", True),
        ("supplied", "Supplied values", True),
        ("origin", "Where it comes from", True),
    ]
    links = [node("li", node("a", title, href=f"#{key}")) for key, title, there in titles if there]
    return node(
        "header",
        node("h1", page.profile),
        node("p", f"{lead} Jobs work below ", node("code", *visible(page.directory)), ".", class_="lead"),
        node("p", chain, class_="chain") if len(page.levels) > 1 else None,
        node("nav", node("ul", *links), aria_label="Sections"),
    )  # fmt: skip


def _sections(page: Page, *, live: bool) -> Iterable[Node]:
    if page.applications:
        yield _section("applications", "Applications", _applications(page))
    yield fields.section(page, live=live)
    if not live and page.examples:
        yield _section("examples", "Examples", *_examples(page.examples))
    yield _section("scripts", "Scripts", *_scripts(page))
    yield _section("supplied", "Supplied values", *_supplied(page.supplied))
    bars = node("p", "A bar shows how much of all that is in force a profile says.")
    yield _section(
        "origin", "Where it comes from", bars, drawing(page.levels), _levels(page.levels)
    )


def _section(key: str, title: str, *children: Node) -> Node:
    return node(
        "section", node("h2", title, id=f"{key}-title"), *children,
        id=key, aria_labelledby=f"{key}-title",
    )  # fmt: skip


def _table(caption: str, columns: Sequence[str], rows: Iterable[tuple[str, list[Node]]]) -> Node:
    """Give a table that becomes cards on a narrow screen: each cell knows its column."""
    heads = [node("th", column, scope="col", role="columnheader") for column in columns]
    body = [
        node("tr", *map(_labelled, cells, columns), id=key or None, role="row")
        for key, cells in rows
    ]
    return node(
        "table",
        node("caption", caption, class_="unseen"),
        node("thead", node("tr", *heads, role="row"), role="rowgroup"),
        node("tbody", *body, role="rowgroup"),
        role="table",
    )


def _labelled(cell: Node, column: str) -> Node:
    # A block that stands in the place of a cell loses the cell's meaning: the role says it again.
    role = "rowheader" if cell.name == "th" else "cell"
    return Node(
        cell.name, (*cell.attributes, ("data-column", column), ("role", role)), cell.children
    )


def _cell(*children: Node | str | None, class_: str | None = None) -> Node:
    return node("td", *children, class_=class_)


def _row_head(*children: Node | str | None) -> Node:
    return node("th", *children, scope="row")


def _applications(page: Page) -> Node:
    rows = []
    for number, told in enumerate(page.applications, 1):
        asked: Node | str = (
            node("code", *visible(told.wanted)) if told.wanted else "a nearer one has its name"
        )
        default = "; the default" if told.default else ""
        own = _links(told.own, page)
        cells = [
            _row_head(*visible(told.name)),
            _cell(*visible(told.version)),
            _cell(
                *visible(told.description),
                " Fields of its own: " if own else None,
                *own,
                class_="wide",
            ),
            _cell(asked, default),
            _cell(*fields.places([told.origin]), class_="place"),
        ]
        rows.append((f"application-{number}", cells))
    columns = ("Application", "Version", "What it runs", "Asked for as", "Stands in")
    return _table("The applications that a job may run", columns, rows)


def _links(keys: Sequence[str], page: Page) -> list[Node | str]:
    """Give links to fields, by their names."""
    names = {setting.key: setting.name for setting in page.settings}
    links = [node("a", names[key], href=f"#field-{key}") for key in keys[:MOST_LINKS]]
    told = [part for link in links for part in (link, ", ")][:-1]
    return [*told, f" and {len(keys) - MOST_LINKS} more"] if len(keys) > MOST_LINKS else told


def _examples(examples: Sequence[Example]) -> Iterable[Node]:
    yield node("p", "Each script as it is where nothing is set. The form with which it changes: ",
               node("code", "incarnate page --serve"), ".")  # fmt: skip
    for number, example in enumerate(examples):
        if example.refusal:
            shown = node("p", *visible(example.refusal), class_="problem")
        else:
            shown = node(
                "pre", node("code", *visible(example.text)), tabindex=0, role="region",
                aria_label=f"Script of {example.title}",
            )  # fmt: skip
        command = node("p", node("code", *visible(example.command)), class_="command")
        lines = example.text.count("\n") + (example.text[-1:] not in {"", "\n"})
        summary = node("summary", *visible(example.title), f" ({_counted(lines, 'line')})")
        yield node("details", summary, command, shown, open=not number)


def _scripts(page: Page) -> Iterable[Node]:
    asked = [(_key(s.name), _script_cells(s, page)) for s in page.scripts if not s.part]
    parts = [("", _script_cells(s, None)) for s in page.scripts if s.part]
    if asked:
        columns = ("Script", "What it does", "Takes", "Stands in")
        yield _table("The scripts of this profile", columns, asked)
    if parts:
        title = "Parts of other scripts"
        table = _table(title, ("Part", "What it does", "Stands in"), parts)
        yield node("details", node("summary", title), table)


def _script_cells(told: Script, page: Page | None) -> list[Node]:
    """Give the cells of a template; without a page, of one that nobody asks for by itself."""
    named = [_variation(*v) for v in told.variations if v[0]]
    variations = node("ul", *named) if named else None
    return [
        _row_head(*visible(told.name)),
        _cell(*visible(told.description), variations, class_="wide"),
        *([_cell(*_takes(told, page))] if page is not None else ()),
        _cell(*fields.places([told.origin]), class_="place"),
    ]


def _takes(told: Script, page: Page) -> list[Node | str]:
    if any(t.application for t in page.targets if t.template == told.name):
        return [node("a", "the fields of a job", href="#fields")]
    return _links(told.fields, page) or ["nothing"]


def _key(template: str) -> str:
    """Give a template's own place in the page, for links; none where the name cannot be one."""
    return f"template-{template}" if re.fullmatch(r"[A-Za-z0-9_.-]+", template) else ""


def _variation(name: str, description: str) -> Node:
    return node(
        "li", node("code", *visible(name)), ": " if description else None, *visible(description)
    )


def _supplied(supplied: Sequence[Supplied]) -> Iterable[Node]:
    told = {
        "context": "The machine says these for each job; no request sets them.",
        "fixed": "The profile alone decides these.",
        "engine": "osprofile fills these in when it makes a script.",
    }
    for source, sentence in told.items():
        found = [s for s in supplied if s.source == source]
        if found:
            rows = [("", _supplied_cells(s)) for s in found]
            table = _table(sentence, ("Name", "What it is", "Value", "Stands in"), rows)
            folded = source != "context" and len(found) > 3
            shown = node("details", node("summary", sentence), table) if folded else None
            yield shown or node("div", node("p", sentence), table)


def _supplied_cells(told: Supplied) -> list[Node]:
    return [
        _row_head(node("code", *visible(told.name))),
        _cell(*visible(told.description), class_="wide"),
        _cell(*_value(told)),
        _cell(*(fields.places([told.origin]) if told.origin else ["the context"]), class_="place"),
    ]


def _value(told: Supplied) -> list[Node | str]:
    if told.tags and told.value is None:
        return [fields.tag_list(told.tags)]
    if told.value is None:
        return ["by the context" if told.source == "context" else "by the engine"]
    if "\n" not in told.value and len(told.value) <= LONGEST:
        return [node("code", *visible(told.value)) if told.value else "empty"]
    lines = told.value.count("\n") + (told.value[-1:] != "\n")
    what = _counted(lines, "line") if lines > 1 else _counted(len(told.value), "character")
    text = node(
        "pre",
        node("code", *visible(told.value)),
        tabindex=0,
        role="region",
        aria_label=f"Value of {told.name}",
    )
    return [node("details", node("summary", what), text)]


def _levels(levels: Sequence[Level]) -> Node:
    kinds = [c.kind for c in levels[0].counts]
    rows = []
    for level in levels:
        cells = [_row_head(level.name), _cell(node("code", *visible(level.label)), class_="place")]
        rows.append(("", [*cells, *(_cell(_told(count)) for count in level.counts)]))
    columns = ("Profile", "File", *(PLURAL[kind].capitalize() for kind in kinds))
    return _table("What each profile of the chain says", columns, rows)


def _told(count: Count) -> str:
    if not count.new + count.replacing:
        return "none"
    parts = [(count.new, "new"), (count.replacing, "replaced"), (count.in_force, "in force")]
    return ", ".join(f"{number} {word}" for number, word in parts if number)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
