"""The fields of a page: a description of each, and in a live page the control that sets it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from osprofile.jobs.fields import OPTION_GROUPS
from osprofile.page.guide import describe_default
from osprofile.page.markup import Node, make_node, mark_invisible
from osprofile.page.submit_options import OTHER_GROUP, PROGRAM_FIELD, find_group
from osprofile.page.tables import build_code, get_name_class
from osprofile.page.words import QUANTITIES, describe_case, describe_limits
from osprofile.profile.model import USER_GROUPS
from osprofile.text import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from osprofile.page.model import Origin, Page, Setting, Tag, Target

TITLE: Final = "Options"
_MAX_UNFOLDED: Final = 12
"""Fields of a job up to which no group is folded."""
_TYPE_NAMES: Final = {"integer": "a whole number", "number": "a number", "text": "text"}


def build_fields_section(page: Page, *, live: bool) -> Node:
    """Return the section of a job's fields; in a live page of all fields, with the form and its script."""
    jobs = page.settings[: page.jobs]
    others = page.settings[page.jobs :] if live else ()
    groups = list(_build_job_groups(jobs, page, live=live))
    if others:
        groups.append(_build_group("other", "Fields of the other scripts", others, page, live=live))
    heading = make_node("h2", TITLE, id="fields-title")
    if not groups:
        groups = [make_node("p", "This profile cannot run a job: it has no options.")]
    filter_box = _build_filter(len(jobs) + len(others))
    if not live:
        return make_node("section", heading, filter_box, *groups, id="fields", aria_labelledby="fields-title")
    form = make_node("form", _build_chooser(page), filter_box, *groups, id="form", class_="still", autocomplete="off",
                autocapitalize="off", spellcheck="false", novalidate=True, aria_label="Values for the script")  # fmt: skip
    work = make_node("div", form, _build_script_panel(page), class_="work")
    return make_node("section", heading, work, id="fields", aria_labelledby="fields-title")


def _build_job_groups(jobs: Sequence[Setting], page: Page, *, live: bool) -> Iterator[Node]:
    """Yield the groups of a job's fields, those of the help; all but the first are folded, unless there are few fields."""
    by_title: dict[str, list[Setting]] = {title: [] for title in (*OPTION_GROUPS, OTHER_GROUP)}
    for setting in sorted(jobs, key=lambda s: find_group(s)[1]):
        by_title[find_group(setting)[0]].append(setting)
    for number, (title, settings) in enumerate(by_title.items()):
        if settings:
            is_folded = number > 0 and len(jobs) > _MAX_UNFOLDED
            key = f"{number}" if number else "job"
            yield _build_group(key, title, settings, page, live=live, is_folded=is_folded)


def build_other_fields(page: Page) -> Node:
    """Return the fields that are none of a job, for a page without a form."""
    cards = [build_card(setting, page.targets, live=False) for setting in page.settings[page.jobs :]]
    return make_node("div", *cards, class_="group")


def _build_filter(number: int) -> Node:
    """Return the box that filters the fields; it is hidden without JavaScript."""
    return make_node(
        "div",
        make_node("label", "Find an option", for_="filter"),
        make_node("input", id="filter", type="search", aria_describedby="filter-count", spellcheck="false",
             autocapitalize="off"),
        make_node("span", f"{number} of {number}", id="filter-count", role="status"),
        class_="filter",
        hidden=True,
    )  # fmt: skip


def _build_chooser(page: Page) -> Node:
    """Return the controls of a job's script: the application, and the way back to the defaults."""
    names = [a.wanted for a in page.applications if a.wanted]
    applications = [make_node("option", *_format_option(name), value=name) for name in names]
    return make_node(
        "div",
        make_node("p", make_node("label", "Application", for_="application-choice"),
             make_node("select", *applications, id="application-choice"), hidden=len(names) < 2),
        make_node("p", make_node("button", "Back to the defaults", type="reset")),
        make_node("ul", *map(_build_target, page.targets), id="targets", hidden=True),
        class_="chooser",
        hidden=True,
    )  # fmt: skip


def build_script_choice(page: Page) -> Node:
    """Return the control that chooses which script the form is for, which users do not need."""
    titles = list(dict.fromkeys((t.template, t.variation, t.title) for t in page.targets))
    scripts = [
        make_node("option", *_format_option(title), value=f"{number}", data_template=template, data_variation=variation)
        for number, (template, variation, title) in enumerate(titles)
    ]  # fmt: skip
    label = make_node("label", "Script", for_="script-choice")
    choice = make_node("p", label, make_node("select", *scripts, id="script-choice"))
    return make_node("div", choice, class_="chooser", hidden=True)


def _build_target(target: Target) -> Node:
    """Return a script as data for the form, whose fields refer to its index."""
    return make_node("li", data_template=target.template, data_variation=target.variation or None,
                data_application=target.application or None)  # fmt: skip


def _build_script_panel(page: Page) -> Node:
    """Return the panel of the script, with the first script in it, so that it is visible before JavaScript has run."""
    first = page.examples[0] if page.examples else None
    is_plain = first is not None and first.text.endswith("\n") and mark_invisible(first.text) == (first.text,)
    lines = first.text.splitlines(keepends=True) if first and is_plain else []
    status = f"The script has {pluralize(len(lines), 'line')}." if lines else ""
    shown = (make_node("span", line, class_="line") for line in lines)
    return make_node(
        "section",
        make_node("h3", "The script", id="script-title"),
        make_node("p", "The form needs JavaScript. From a shell: ", make_node("code", "incarnate START --set NAME=VALUE"),
             id="needed"),
        make_node("div", make_node("p", status, id="status", role="status"), make_node("a", "Script", href="#script-title"),
             class_="bar"),
        make_node("p", "The profile has changed since this page was loaded. ",
             make_node("button", "Load it again", type="button", id="reload"), id="stale", class_="problem", hidden=True),
        make_node("p", id="refusal", class_="problem", hidden=True),
        make_node("ul", id="warnings", hidden=True),
        make_node("pre", make_node("code", *shown, id="script"), tabindex=0, role="region",
             aria_label="The script's text", hidden=not lines),
        make_node("div", make_node("p", make_node("code", *mark_invisible(first.command if first else ""), id="command"), class_="command"),
             make_node("button", "Copy the script", type="button", id="copy"), id="tools", hidden=not lines),
        class_="script",
        aria_labelledby="script-title",
    )  # fmt: skip


def _build_group(
    key: str, title: str, settings: Sequence[Setting], page: Page, *, live: bool, is_folded: bool = False
) -> Node:
    cards = [build_card(setting, page.targets, live=live) for setting in settings]
    heading = make_node("h3", title)
    if not is_folded:
        return make_node("div", heading, *cards, class_="group", id=f"group-{key}")
    names = make_node("span", f" {', '.join(setting.title for setting in settings)}", class_="names")
    return make_node(
        "details", make_node("summary", heading, names), *cards, class_="group", id=f"group-{key}"
    )


def build_card(setting: Setting, targets: Sequence[Target], *, live: bool) -> Node:
    """Return a field: name, description, in a live page its control, and facts about its value."""
    key = setting.key
    name = (
        make_node("label", setting.title, for_=f"in-{key}")
        if live
        else make_node("a", setting.title, href=f"#field-{key}")
    )
    control = _build_control(setting) if live else None
    # The form of a live page shows START, and has its fields; another page is about the command.
    description = setting.description if live else setting.command_description or setting.description
    facts = list(_build_facts(setting, targets, live=live))
    return make_node(
        "section",
        make_node(
            "div",
            make_node("h4", name, class_=get_name_class(setting.title, spaces=True)),
            _build_option(setting.option) if setting.option else None,
            class_="names",
        ),
        make_node(
            "p",
            *(mark_invisible(description) or ["It has no description."]),
            class_="meaning",
            id=f"meaning-{key}" if live else None,
            dir="auto",
        ),
        control,
        make_node("dl", *facts) if facts else None,
        _build_rules(setting),
        class_="field",
        id=f"field-{key}",
        data_targets=" ".join(map(str, setting.targets)) if live else None,
    )


def _build_option(option: str) -> Node:
    shown = build_code(option) if option.startswith("-") else option
    return make_node("p", shown, class_="option")


def _build_rules(setting: Setting) -> Node:
    """Return what only those need whose value is refused: the exact rules, and where they are."""
    rules = [_build_fact("Field", make_node("code", setting.name))]
    for label, limit in (("Min", setting.minimum), ("Max", setting.maximum)):
        if limit:
            rules.append(_build_fact(label, make_node("code", limit)))
    if setting.pattern is not None:
        rules.append(_build_fact("Must match", make_node("code", *mark_invisible(setting.pattern))))
    rules.append(_build_fact("Declared in", *build_origins(setting.origins), class_="place"))
    summary = make_node("summary", "Rules", make_node("span", f" of {setting.title}", class_="unseen"))
    return make_node("details", summary, make_node("dl", *rules), class_="rules")


def _build_control(setting: Setting) -> Node:
    """Return the control of a field; its initial value is the default, which a request need not set."""
    common: dict[str, str | bool | None] = {
        "id": f"in-{setting.key}",
        "data_name": setting.name,
        "aria_describedby": f"meaning-{setting.key}",
    }
    value = setting.default or ""
    if setting.control == "choice":
        choices = list(setting.choices)
        values = choices if value in choices else [value, *choices]
        options = [
            make_node("option", *(_format_option(v) or ["(nothing)"]), value=v, selected=v == value)
            for v in values
        ]
        return make_node("select", *options, **common)
    if setting.control == "lines":
        return make_node("textarea", value, rows="3", **common)
    if setting.control == "number":
        step = "1" if setting.type == "integer" else "any"
        return make_node("input", type="number", step=step, min=setting.minimum or None,
                    max=setting.maximum or None, value=value, **common)  # fmt: skip
    if not any(tag.name for tag in setting.tags):
        return make_node("input", type="text", value=value, **common)
    words = make_node("datalist", *(make_node("option", *_format_option(t.value), value=t.name) for t in setting.tags if t.name),
                 id=f"words-{setting.key}")  # fmt: skip
    return make_node(
        "div", make_node("input", type="text", value=value, list=f"words-{setting.key}", **common), words
    )


def _format_option(text: str) -> list[str]:
    """Return a text for an option, which cannot hold elements, with `[U+202E]` for such a character."""
    parts = [part if isinstance(part, str) else f"[{part.children[0]}]" for part in mark_invisible(text)]
    return ["".join(parts)] if parts else []


def _build_facts(setting: Setting, targets: Sequence[Target], *, live: bool) -> Iterator[Node]:
    is_required = not live and setting.name == PROGRAM_FIELD and bool(setting.command_description)
    if (setting.default is None or setting.default) and not is_required:
        yield _build_fact("Default", *describe_default(setting))
    limits = describe_limits(setting)
    if live and limits not in {"", setting.limits}:  # the control takes the number itself
        limits = f"{setting.limits} ({limits})"
    kind = "" if setting.name in QUANTITIES and (limits or not live) else _TYPE_NAMES.get(setting.type, "")
    if kind or limits:
        yield _build_fact("Allowed", ", ".join(filter(None, (kind, limits))))
    if any(setting.choices):
        yield _build_fact("One of", *_build_value_list(filter(None, setting.choices)))
    for case in setting.cases:
        if text := describe_case(setting, case):
            name = "the group" if case.selector == USER_GROUPS else case.selector.lower()
            yield _build_fact(f"For {name} {case.value}", *mark_invisible(text))
    if setting.requires:
        yield _build_fact("Needs", make_node("code", setting.requires))
    if setting.tags:
        yield make_node("div", make_node("dt", "Aliases"), make_node("dd", build_tag_list(setting.tags)))
    used = _describe_users(setting, targets)
    if used:
        yield _build_fact("Used by", used)


def _build_fact(label: str, *content: Node | str, class_: str | None = None) -> Node:
    return make_node("div", make_node("dt", label), make_node("dd", *content), class_=class_)


def _build_value_list(values: Iterable[str]) -> list[Node | str]:
    parts: list[Node | str] = []
    for value in values:
        parts += [make_node("code", *mark_invisible(value)), " "]
    return parts[:-1]


def _describe_users(setting: Setting, targets: Sequence[Target]) -> str:
    """Return the users of a field, empty if they are exactly all jobs."""
    users = [targets[i] for i in setting.targets]
    jobs = [t for t in targets if t.application]
    others = list(dict.fromkeys(t.template for t in users if not t.application))
    applications = [t.application for t in users if t.application]
    if not users:
        return "no script that can be requested"
    if len(applications) == len(jobs) > 0:
        return ", ".join(["every job", *others]) if others else ""
    return ", ".join([*applications, *others])


def build_tag_list(tags: Sequence[Tag]) -> Node:
    """Return the tags of a field, each with its value."""
    rows = []
    for tag in tags:
        value = make_node("code", *mark_invisible(tag.value)) if tag.value else "nothing"
        name = make_node("code", *mark_invisible(tag.name)) if tag.name else "nothing"
        rows.append(make_node("li", name, " means ", value))
    return make_node("ul", *rows, class_="tags")


def build_origins(origins: Sequence[Origin]) -> list[Node | str]:
    """Return the locations of a declaration, and the locations that it replaces."""
    parts: list[Node | str] = []
    for origin in origins:
        replaced = f", replaces {', '.join(origin.replaces)}" if origin.replaces else ""
        parts += [
            "; " if parts else "",
            make_node("code", *mark_invisible(origin.place)),
            *mark_invisible(replaced),
        ]
    return [part for part in parts if part]
