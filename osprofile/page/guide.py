"""What a user needs first, in words: how to submit a job, which queues, applications and limits there are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from osprofile.incarnation.cases import AUTO
from osprofile.jobs.fields import JOB_FIELDS
from osprofile.page.markup import Node, make_node, mark_invisible
from osprofile.page.submission import QUEUE, list_choices
from osprofile.page.submit_options import PROGRAM_FIELD, SUBMIT_OPTIONS
from osprofile.page.tables import build_cell, build_code, build_row_head, build_table, get_name_class
from osprofile.page.words import (
    QUANTITIES,
    describe_amount,
    describe_case,
    describe_limits,
    describe_value,
    has_own_pattern,
)
from osprofile.text import format_amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from osprofile.page.model import Page, Setting, Submission

_OPTION_START: Final = re.compile(r" (?=-|\./)")
MAX_LINKS: Final = 12
"""Links to fields in one cell, so that a table stays readable."""


def build_guide(page: Page) -> Iterator[tuple[str, str, list[Node]]]:
    """Yield the sections: id, title and content of each."""
    if page.submission is not None:
        yield "submit", "Submit a job", list(_build_submission(page, page.submission))
    queues = [s for s in page.settings[: page.jobs] if s.name == QUEUE]
    if queues:
        yield "queues", "Queues", list(_build_queues(page, queues))
    if page.applications:
        yield "applications", "Applications", [_build_applications(page)]
    if page.jobs:
        yield "limits", "Limits", list(_build_limits(page))


# How to submit


def _build_submission(page: Page, submission: Submission) -> Iterator[Node]:
    settings = {s.name: s for s in reversed(page.settings[: page.jobs])}
    yield build_copyable(
        "submit-command", "The command that submits a job", *_build_command(submission.command)
    )
    yield make_node(
        "p", *mark_invisible(_describe_example(submission, settings)), " Leave out an option, and its default applies: see ",
        make_node("a", "all options", href="#fields"), ".",
    )  # fmt: skip
    for name in submission.placeholders:
        meaning = settings[name].description
        yield make_node(
            "p", "Replace ", build_code(name), ": " if meaning else " by its value.",
            *mark_invisible(meaning), class_="note",
        )  # fmt: skip
    if submission.script:
        yield _build_own_script(submission)
    yield from _build_afterwards(page, settings)


def _describe_example(submission: Submission, settings: dict[str, Setting]) -> str:
    """Return what the example asks for in words."""
    fields = dict(submission.fields)
    words = f"It runs {fields.get(PROGRAM_FIELD, 'the program of the profile')}"
    words += " in the current directory" if "DIRECTORY" in settings else ""
    if QUEUE in fields:
        words += f", in the queue {fields[QUEUE]}"
    asked = [describe_amount(settings[n], v) for n, v in fields.items() if n in QUANTITIES and n in settings]
    if asked:
        words += ", with " + " and ".join(filter(None, [", ".join(asked[:-1]), asked[-1]]))
    return f"{words}. It prints the job's id."


def _build_own_script(submission: Submission) -> Node:
    command = submission.script_command
    file = re.search(r"[A-Za-z0-9_.-]+\.sh\b", command)
    parts = [
        make_node("p", "The same without osprofile: a script", *(_name_file(file[0]) if file else [":"]))
    ]
    parts.append(build_copyable("own-script", "The script", *mark_invisible(submission.script)))
    if command:
        parts.append(make_node("p", "Submit it with"))
        parts.append(
            build_copyable("script-command", "The command that submits the script", *mark_invisible(command))
        )
    else:
        parts.append(make_node("p", "Submit it with the batch system's own command."))
    if submission.outside:
        options = (SUBMIT_OPTIONS.get(name, name).partition(" ")[0] for name in submission.outside)
        codes = _join_nodes([build_code(option) for option in options])
        reason = "which osprofile passes on in another way. Use the batch system's own options."
        parts.append(make_node("p", "It has no directive for ", *codes, f", {reason}", class_="note"))
    program = f", for {command.split()[0]}" if command else ""
    return make_node("details", make_node("summary", f"As a script of your own{program}"), *parts, id="own")


def _name_file(file: str) -> list[Node | str]:
    return [", for instance in the file ", make_node("code", file), ":"]


def _build_afterwards(page: Page, settings: dict[str, Setting]) -> Iterator[Node]:
    rows = [
        ("incarnate job list", "shows your jobs, their states and exit codes."),
        ("incarnate job output JOB", "prints what it has written; with -f, also what it will write."),
        ("incarnate job wait JOB", "waits for the job with this id, and exits with its exit code."),
        ("incarnate job cancel JOB", "cancels it."),
    ]
    items = [make_node("div", make_node("dt", build_code(c)), make_node("dd", w)) for c, w in rows]
    yield make_node("h3", "Afterwards")
    yield make_node("dl", *items, class_="commands")
    directory = make_node("code", *mark_invisible(page.directory))
    files = [settings[name].default for name in ("STDOUT", "STDERR") if name in settings]
    codes = _join_nodes([make_node("code", *mark_invisible(file)) for file in files if file])
    where: list[Node | str] = ["Each job has a directory of its own below ", directory, "."]
    if codes:
        where += [" Its output is there, in the files ", *codes, "."]
    where += [" ", build_code("incarnate job show JOB"), " names the directory, and all else about the job."]
    yield make_node("p", *where)


def _join_nodes(nodes: Sequence[Node]) -> list[Node | str]:
    """Return nodes with commas between them, and `and` before the last one."""
    parts: list[Node | str] = []
    for number, node in enumerate(nodes, 1):
        separator = "" if number == 1 else " and " if number == len(nodes) else ", "
        parts += [separator, node] if separator else [node]
    return parts


def build_copyable(key: str, label: str, *children: Node | str) -> Node:
    """Return a text with a button that copies it, which is hidden without JavaScript."""
    shown = make_node(
        "pre", make_node("code", *children, id=key), tabindex=0, role="region", aria_label=label
    )
    button = make_node("button", "Copy", type="button", data_copies=key, hidden=True)
    return make_node("div", shown, button, class_="copyable")


def _build_command(command: str) -> Iterator[Node | str]:
    """Yield the parts of a command, whose lines are broken before an option, not within it."""
    for number, part in enumerate(_OPTION_START.split(command)):
        yield from [" "] if number else []
        yield make_node("span", *mark_invisible(part), class_=get_name_class(part, spaces=True))


# Queues


def _build_queues(page: Page, queues: Sequence[Setting]) -> Iterator[Node]:
    for queue in queues:
        if len(queues) > 1:
            yield make_node("h3", *mark_invisible("With " + ", ".join(_list_applications(page, queue))))
        if queue.description:
            yield make_node("p", *mark_invisible(queue.description), dir="auto")
        if list_choices(queue):
            yield _build_queue_table(page, queue)
        yield from _describe_other_queues(queue)
    if _describe_cases(page, QUEUE):
        command = make_node("code", f"incarnate job submit --help -p {page.profile}")
        yield make_node("p", command, " prints the limits of each queue, too.")


def _describe_other_queues(queue: Setting) -> Iterator[Node]:
    """Yield what holds for a job whose queue is none of those that are listed."""
    option = build_code("--queue")
    if queue.default is None:
        yield make_node("p", "A job must name its queue, with ", option, ".")
    elif not list_choices(queue):
        default: list[Node | str] = ["the batch system's default queue"]
        if queue.default:
            default = ["the queue ", make_node("code", *mark_invisible(queue.default))]
        yield make_node(
            "p", "A job names its queue with ", option, "; without it, it goes to ", *default, "."
        )
    elif not queue.choices:
        yield make_node("p", "Other queues of the batch system can be named with ", option, ", too.")


def _build_queue_table(page: Page, queue: Setting) -> Node:
    values = {tag.name: tag.value for tag in queue.tags}
    limits = _describe_cases(page, queue.name)
    rows = []
    for name in sorted(list_choices(queue), key=lambda name: name in values):
        notes = ["the default"] if name == queue.default else []
        notes += [f"another name for {values[name]}"] if values.get(name, name) != name else []
        option = build_code(f"--queue {name}")
        cells = [build_row_head(name), build_cell(option)]
        if limits:
            cells.append(build_cell(*mark_invisible("; ".join(limits.get(values.get(name, name), [])))))
        rows.append(("", [*cells, build_cell(*mark_invisible(", ".join(notes)))]))
    if limits:
        note = build_cell("the first of those with limits that the job fits")
        rows.append(
            ("", [build_row_head(AUTO), build_cell(build_code(f"--queue {AUTO}")), build_cell(), note])
        )
    columns = ("Queue", "Option", "Limits", "Note") if limits else ("Queue", "Option", "Note")
    return build_table("The queues", columns, rows)


def _describe_cases(page: Page, selector: str) -> dict[str, list[str]]:
    """Return what holds for each value of a field that decides about others, as of the queue, in words."""
    words: dict[str, list[str]] = {}
    for setting in page.settings[: page.jobs]:
        for case in setting.cases:
            if case.selector == selector and (text := describe_case(setting, case)):
                words.setdefault(case.value, []).append(text)
    for case in page.group_cases:
        if case.selector == selector and case.pattern:
            words.setdefault(case.value, []).append(f"for the groups {' and '.join(case.pattern.split('|'))}")
    return words


def _list_applications(page: Page, setting: Setting) -> list[str]:
    return [page.targets[i].application for i in setting.targets if page.targets[i].application]


# Applications


def _build_applications(page: Page) -> Node:
    rows = []
    for number, application in enumerate(page.applications, 1):
        option: list[Node | str] = ["not by its name: another one has it"]
        if application.default:
            option = ["the default"]
        elif application.wanted:
            option = [build_code(f"--application {application.wanted}")]
        links = build_links(application.own, page, by_title=True)
        cells = [
            build_row_head(application.name),
            build_cell(*mark_invisible(application.version)),
            build_cell(
                *mark_invisible(application.description or "It has no description."),
                " Options of its own: " if links else None, *links, class_="wide",
            ),
            build_cell(*option),
        ]  # fmt: skip
        rows.append((f"application-{number}", cells))
    columns = ("Application", "Version", "What it runs", "Option")
    return build_table("The applications that a job may run", columns, rows)


def build_links(keys: Sequence[str], page: Page, *, by_title: bool = False) -> list[Node | str]:
    """Return links to fields, separated by commas."""
    names = {setting.key: setting.title if by_title else setting.name for setting in page.settings}
    links = [make_node("a", names[key], href=f"#field-{key}") for key in keys[:MAX_LINKS]]
    parts = [part for link in links for part in (link, ", ")][:-1]
    return [*parts, f" and {len(keys) - MAX_LINKS} more"] if len(keys) > MAX_LINKS else parts


# Limits


def _build_limits(page: Page) -> Iterator[Node]:
    jobs = page.settings[: page.jobs]
    limited = list(_list_limited(jobs))
    if limited:
        columns = ("What a job may ask for", "Limit", "Without the option", "Option")
        yield build_table("The limits of a job", columns, _build_limit_rows(page, limited))
    names = {s.name for s in jobs} - {s.name for s in limited} - {s.name for s in jobs if has_own_pattern(s)}
    names -= {s.name for s in jobs if s.cases}  # their limits are with the queues
    unlimited = [words for name, words in QUANTITIES.items() if name in names]
    if unlimited:
        only = " else" if limited else ""
        yield make_node(
            "p",
            f"Nothing{only} is limited here ({', '.join(unlimited)}); the batch system may have limits of its own.",
        )
    if page.confirmed:
        amounts = [f"{QUANTITIES.get(n, n)} {format_amount(n, str(v))}" for n, v in page.confirmed.items()]
        yield make_node(
            "p",
            f"The site wants to be sure before a job with more than this: {', '.join(amounts)}. ",
            "The command asks at the terminal; without one, give ",
            build_code("--yes"),
            ".",
        )


def _build_limit_rows(page: Page, limited: Sequence[Setting]) -> Iterator[tuple[str, list[Node]]]:
    """Yield a row for each limit; applications that limit a field in the same way share one."""
    groups: dict[tuple[str, str, str | None], list[Setting]] = {}
    for setting in limited:
        groups.setdefault((setting.name, describe_limits(setting), setting.default), []).append(setting)
    jobs = {i for i, target in enumerate(page.targets) if target.application}
    for (field, limits, _), settings in groups.items():
        name = QUANTITIES.get(field)
        head = name[0].upper() + name[1:] if name is not None else settings[0].title
        using = jobs & {i for s in settings for i in s.targets}
        if 2 * len(using) <= len(jobs):  # the rule of most applications needs no names
            head += f" (with {', '.join(a for s in settings for a in _list_applications(page, s))})"
        setting = settings[0]
        option = make_node("a", build_code(setting.option), href=f"#field-{setting.key}")
        default = describe_default(setting)
        yield "", [build_row_head(head), build_cell(limits), build_cell(*default), build_cell(option)]


def _list_limited(settings: Iterable[Setting]) -> Iterator[Setting]:
    """Yield the fields with a limit: what a job uses first, then the site's own fields."""
    order = list(QUANTITIES)
    found = [s for s in settings if describe_limits(s) and (s.name in order or s.name not in JOB_FIELDS)]
    yield from sorted(found, key=lambda s: order.index(s.name) if s.name in order else len(order))


def describe_default(setting: Setting) -> list[Node | str]:
    """Return what holds for a job that does not set a field."""
    if setting.default is None:
        return [make_node("strong", "it must be given")]
    if not setting.default:
        return ["as the batch system decides" if setting.name in QUANTITIES else "not set"]
    words = describe_value(setting, setting.default)
    if words != setting.default:
        return [words]
    return [make_node("code", *mark_invisible(setting.default))]
