"""The fields of a page: what a reader learns of each, and in a served page where he sets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.page.markup import Node, node, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from osprofile.page.model import Origin, Page, Setting, Tag, Target

_TYPES = {"integer": "a whole number", "number": "a number", "text": "text"}


def section(page: Page, *, live: bool) -> Node:
    """Give the section of all fields: with the form and its script, or to be read."""
    jobs = page.settings[: page.jobs]
    others = page.settings[page.jobs :]
    groups = [_group("job", "Fields of a job", jobs, page, live=live)] if jobs else []
    if others:
        title = "Fields of the other scripts" if jobs else "Fields of the scripts"
        groups.append(_group("other", title, others, page, live=live))
    heading = node("h2", "Fields", id="fields-title")
    filter_box = _filter(len(page.settings))
    if not live:
        return node(
            "section", heading, filter_box, *groups, id="fields", aria_labelledby="fields-title"
        )
    form = node("form", _chooser(page), filter_box, *groups, id="form", class_="still", autocomplete="off",
                autocapitalize="off", spellcheck="false", novalidate=True, aria_label="Values for the script")  # fmt: skip
    work = node("div", form, _script_panel(page), class_="work")
    return node("section", heading, work, id="fields", aria_labelledby="fields-title")


def _filter(number: int) -> Node:
    """Give the box that narrows the fields down; without JavaScript it is not there."""
    return node(
        "div",
        node("label", "Find a field", for_="filter"),
        node("input", id="filter", type="search", aria_describedby="filter-count", spellcheck="false",
             autocapitalize="off"),
        node("span", f"{number} of {number}", id="filter-count", role="status"),
        class_="filter",
        hidden=True,
    )  # fmt: skip


def _chooser(page: Page) -> Node:
    """Give what chooses the script: its template, and for a job's script the application."""
    titles = list(dict.fromkeys((t.template, t.variation, t.title) for t in page.targets))
    scripts = [
        node("option", *_plain(title), value=f"{number}", data_template=template, data_variation=variation)
        for number, (template, variation, title) in enumerate(titles)
    ]  # fmt: skip
    names = list(dict.fromkeys(t.application for t in page.targets if t.application))
    applications = [node("option", *_plain(name), value=name) for name in names]
    return node(
        "div",
        node("p", node("label", "Script", for_="script-choice"), node("select", *scripts, id="script-choice")),
        node("p", node("label", "Application", for_="application-choice"),
             node("select", *applications, id="application-choice"), hidden=not names),
        node("p", node("button", "Back to the defaults", type="reset")),
        node("ul", *map(_target, page.targets), id="targets", hidden=True),
        class_="chooser",
        hidden=True,
    )  # fmt: skip


def _target(target: Target) -> Node:
    """Give a script as data for the form, whose fields name it by its number."""
    return node("li", data_template=target.template, data_variation=target.variation or None,
                data_application=target.application or None)  # fmt: skip


def _script_panel(page: Page) -> Node:
    """Give the place of the script, with the first one in it: nobody waits for that."""
    first = page.examples[0] if page.examples else None
    ready = first is not None and first.text.endswith("\n") and visible(first.text) == (first.text,)
    lines = first.text.splitlines(keepends=True) if first and ready else []
    told = f"The script has {len(lines)} {'line' if len(lines) == 1 else 'lines'}." if lines else ""
    shown = (node("span", line, class_="line") for line in lines)
    return node(
        "section",
        node("h3", "The script", id="script-title"),
        node("p", "The form needs JavaScript. From a shell: ", node("code", "incarnate START --set NAME=VALUE"),
             id="needed"),
        node("div", node("p", told, id="status", role="status"), node("a", "Script", href="#script-title"),
             class_="bar"),
        node("p", "The profile has changed since this page was loaded. ",
             node("button", "Load it again", type="button", id="reload"), id="stale", class_="problem", hidden=True),
        node("p", id="refusal", class_="problem", hidden=True),
        node("ul", id="warnings", hidden=True),
        node("pre", node("code", *shown, id="script"), tabindex=0, role="region",
             aria_label="The script's text", hidden=not lines),
        node("div", node("p", node("code", *visible(first.command if first else ""), id="command"), class_="command"),
             node("button", "Copy the script", type="button", id="copy"), id="tools", hidden=not lines),
        class_="script",
        aria_labelledby="script-title",
    )  # fmt: skip


def _group(key: str, title: str, settings: Sequence[Setting], page: Page, *, live: bool) -> Node:
    cards = [card(setting, page.targets, live=live) for setting in settings]
    return node("div", node("h3", title), *cards, class_="group", id=f"group-{key}")


def card(setting: Setting, targets: Sequence[Target], *, live: bool) -> Node:
    """Give a field: name, meaning, in a live page its input, and what is known of its value."""
    key = setting.key
    name = (
        node("label", setting.name, for_=f"in-{key}")
        if live
        else node("a", setting.name, href=f"#field-{key}")
    )
    asked = _control(setting) if live else None
    return node(
        "section",
        node("h4", name),
        node(
            "p",
            *(visible(setting.description) or ["It has no description."]),
            class_="meaning",
            id=f"meaning-{key}" if live else None,
            dir="auto",
        ),
        asked,
        node("dl", *_facts(setting, targets)),
        class_="field",
        id=f"field-{key}",
        data_targets=" ".join(map(str, setting.targets)) if live else None,
    )


def _control(setting: Setting) -> Node:
    """Give the input that suits a field; what it has in the beginning, a request need not set."""
    common: dict[str, str | bool | None] = {
        "id": f"in-{setting.key}",
        "data_name": setting.name,
        "aria_describedby": f"meaning-{setting.key}",
    }
    value = setting.default or ""
    if setting.control == "choice":
        choices = list(setting.choices)
        known = choices if value in choices else [value, *choices]
        options = [
            node("option", *(_plain(v) or ["(nothing)"]), value=v, selected=v == value)
            for v in known
        ]
        return node("select", *options, **common)
    if setting.control == "lines":
        return node("textarea", value, rows="3", **common)
    if setting.control == "number":
        step = "1" if setting.type == "integer" else "any"
        return node("input", type="number", step=step, min=setting.minimum or None,
                    max=setting.maximum or None, value=value, **common)  # fmt: skip
    if not setting.tags:
        return node("input", type="text", value=value, **common)
    words = node("datalist", *(node("option", *_plain(t.value), value=t.name) for t in setting.tags),
                 id=f"words-{setting.key}")  # fmt: skip
    return node(
        "div", node("input", type="text", value=value, list=f"words-{setting.key}", **common), words
    )


def _plain(text: str) -> list[str]:
    """Give a text for an option, which holds no elements: what is odd in it by its number."""
    told = [part if isinstance(part, str) else f"[{part.children[0]}]" for part in visible(text)]
    return ["".join(told)] if told else []


def _facts(setting: Setting, targets: Sequence[Target]) -> Iterator[Node]:
    default = setting.default
    if default is None:
        yield _fact("Default", node("strong", "none: it must be given"))
    elif default:
        yield _fact("Default", node("code", *visible(default)))
    else:
        yield _fact("Default", "empty: not given")
    allowed = ", ".join(filter(None, (_TYPES.get(setting.type, ""), setting.limits)))
    if allowed:
        yield _fact("Allowed", allowed)
    if setting.choices:
        yield _fact("One of", *_listed(filter(None, setting.choices)))
    elif setting.pattern is not None:
        yield _fact("Must match", node("code", *visible(setting.pattern)))
    if setting.tags:
        yield node("div", node("dt", "Words for it"), node("dd", tag_list(setting.tags)))
    used = _used_by(setting, targets)
    if used:
        yield _fact("Used by", used)
    yield _fact("Stands in", *places(setting.origins), class_="place")


def _fact(what: str, *told: Node | str, class_: str | None = None) -> Node:
    return node("div", node("dt", what), node("dd", *told), class_=class_)


def _listed(values: Iterable[str]) -> list[Node | str]:
    parts: list[Node | str] = []
    for value in values:
        parts += [node("code", *visible(value)), " "]
    return parts[:-1]


def _used_by(setting: Setting, targets: Sequence[Target]) -> str:
    """Say who uses a field, unless it is every script of a job."""
    mine = [targets[i] for i in setting.targets]
    jobs = [t for t in targets if t.application]
    others = list(dict.fromkeys(t.template for t in mine if not t.application))
    applications = [t.application for t in mine if t.application]
    if not mine:
        return "no script that can be asked for by itself"
    if len(applications) == len(jobs) > 0:
        return ", ".join(["every job", *others]) if others else ""
    return ", ".join([*applications, *others])


def tag_list(tags: Sequence[Tag]) -> Node:
    """Give the words of a field with what each stands for."""
    rows = []
    for tag in tags:
        value = node("code", *visible(tag.value)) if tag.value else "nothing"
        rows.append(node("li", node("code", *visible(tag.name)), " stands for ", value))
    return node("ul", *rows, class_="tags")


def places(origins: Sequence[Origin]) -> list[Node | str]:
    """Give where something stands, and what it replaces there."""
    parts: list[Node | str] = []
    for origin in origins:
        replaced = f", in the place of {', '.join(origin.replaces)}" if origin.replaces else ""
        parts += ["; " if parts else "", node("code", *visible(origin.place)), *visible(replaced)]
    return [part for part in parts if part]
