"""The commands of Torque and PBS Pro but `qsub` and `qstat`. Sources: their manual pages; OpenPBS 23."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any, Final

from osprofile.errors import JobNotFoundError, OSProfileError
from osprofile.job_scripts.command_line import Option, UsageError, parse_words, select_options
from osprofile.jobs.state import NodeState
from osprofile.shim.command import (
    MEMORY_OF_ENDED_JOBS,
    MEMORY_OF_HISTORY,
    Command,
    is_own_name,
    print_error,
    print_lines,
)
from osprofile.shim.facts import Facts
from osprofile.shim.programs import PBS_SERVER, PBS_VERSION, format_id
from osprofile.text import quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from osprofile.job_scripts.command_line import CommandLine
    from osprofile.jobs.shell.output import NodeStatus
    from osprofile.shim.client import Client, Entry

UNKNOWN_JOB_CODE: Final = 153
"""The exit code for a job that is not known: PBSE_UNKJOBID, 15001, of which a byte remains."""
_BAD_STATE_CODE: Final = 170
"""The exit code of Torque for a job that has ended: PBSE_BADSTATE, 15018."""
HISTORY_CODE: Final = 35
"""The exit code of PBS Pro for a job that has ended: PBSE_HISTJOBID, 15139."""
_QSELECT_TABLE: Final = (
    Option("name", ("-N",), "NAME"),
    Option("queue", ("-q",), "NAME"),
    Option("states", ("-s",), "LETTERS", "as in QR; default: jobs that have not ended"),
    Option("user", ("-u",), "NAMES"),
    Option("history", ("-x",), "", "jobs that have ended, too", system="pbspro"),
)
_QDEL_TABLE: Final = (
    Option("history", ("-x",), "", "jobs that have ended are no error", system="pbspro"),
    Option("force", ("-W",), "force|SECONDS", "changes nothing: a job is ended in any case"),
)
_HOLD_TABLE: Final = (Option("kind", ("-h",), "u", "the user's hold"),)
_QALTER_TABLE: Final = (
    Option("change", tuple(f"-{letter}" for letter in "aAcehjJklmMNopPqrStuvW"), "VALUE"),
)
_PBSNODES_TABLE: Final = (
    Option("all", ("-a",), "", "all nodes, as without a name"),
    Option("list", ("-l",), "", "only those that are down"),
    Option("verbose", ("-v",), "", "changes nothing", system="pbspro"),
    Option("format", ("-F",), "json", "JSON", system="pbspro"),
    Option("xml", ("-x",), "", "XML", system="torque"),
)
_NODE_WORDS: Final = {
    NodeState.UP: "free",
    NodeState.DOWN: "down",
    NodeState.ERROR: "offline",
    NodeState.UNKNOWN: "state-unknown",
}
_ID: Final = re.compile(r"([0-9]{1,18})(?:\[([0-9]{0,7})\])?(?:\.osprofile)?")
ID_BEGIN: Final = re.compile(r"[0-9-]")
"""How a word begins that is an id, and not the name of a queue."""
NO_JOB: Final = (-1, None)


def parse_id(word: str) -> tuple[int, int | None] | None:
    """Return the number, and the index of a task, of an id such as `12`, `12.osprofile`, `12[]` or `12[3]`."""
    match = _ID.fullmatch(word)
    return None if match is None else (int(match[1]), int(match[2]) if match[2] else None)


def format_unknown(word: str) -> str:
    """Return the message for a job that is not known."""
    return f"Unknown Job Id {word if '.' in word else f'{word}.{PBS_SERVER}'}"


def select_user(client: Client, entries: list[Entry], line: CommandLine) -> list[Entry]:
    """Return the jobs that the option -u selects."""
    user = line.get_text("user")
    own = user is None or any(is_own_name(client, name.partition("@")[0]) for name in user.split(","))
    return entries if own else []  # the record has the jobs of one user


def format_entry_id(entry: Entry) -> str:
    """Return the id of a job, or of a task."""
    return format_id(entry.number, entry.index, is_array=bool(entry.tasks))


# Records of attributes

_NESTED: Final = (
    "Resource_List",
    "resources_used",
    "resources_max",
    "resources_available",
    "resources_assigned",
    "Variable_List",
)
"""The attributes that are objects in JSON."""
_TEXTS: Final = frozenset(
    {"Job_Name", "queue", "comment", "Variable_List.PBS_O_LOGNAME", "Variable_List.PBS_O_WORKDIR"}
)
_WHOLE_NUMBER: Final = re.compile("-?[0-9]{1,15}")


def format_records(records: Mapping[str, dict[str, str]], delimiter: str | None) -> Iterable[str]:
    """Return the lines of -f, or with a delimiter those of -F dsv."""
    for title, attributes in records.items():
        joined = _join_variables(attributes)
        if delimiter is not None:
            yield delimiter.join([title, *(f"{n}={v}" for n, v in joined.items())])
        else:
            yield from (title, *(f"    {n} = {v}" for n, v in joined.items()), "")


def _join_variables(attributes: dict[str, str]) -> dict[str, str]:
    """Return the attributes with all variables in one."""
    prefix = "Variable_List."
    variables = [f"{n.removeprefix(prefix)}={v}" for n, v in attributes.items() if n.startswith(prefix)]
    others = {name: value for name, value in attributes.items() if not name.startswith(prefix)}
    return {**others, "Variable_List": ",".join(variables)} if variables else others


def format_json(kind: str, found: object) -> list[str]:
    """Return the text of JSON with records of a kind by their names."""
    head = {"timestamp": int(time.time()), "pbs_version": PBS_VERSION, "pbs_server": PBS_SERVER}
    return [json.dumps({**head, kind: found}, indent=4)]


def nest_attributes(attributes: dict[str, str]) -> dict[str, object]:
    """Return the attributes as OpenPBS writes them in JSON: lists are objects, and whole numbers are numbers."""
    nested: dict[str, Any] = {}
    for name, text in attributes.items():
        value = int(text) if _WHOLE_NUMBER.fullmatch(text) and name not in _TEXTS else text
        element, dot, part = name.partition(".")
        if dot and element in _NESTED:
            nested.setdefault(element, {})[part] = value
        else:
            nested[name] = value
    return nested


def format_xml(kind: str, records: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the line of XML that Torque prints with -x."""
    from xml.sax.saxutils import escape

    def format_element(name: str, text: str) -> str:
        return f"<{name}>{text}</{name}>"

    found = []
    for record in records:
        lists: dict[str, str] = {}
        for name, value in record.items():
            element, _, part = name.partition(".")
            text = format_element(part, escape(value)) if part else escape(value)
            lists[element] = lists.get(element, "") + text
        found.append(format_element(kind, "".join(format_element(*item) for item in lists.items())))
    return [format_element("Data", "".join(found))]


# The other commands


def _apply(
    client: Client, program: str, words: Sequence[str], action: Callable[[int, int | None], bool]
) -> int:
    """Call `action` for each id in `words`; return the exit code. It returns False for a job that has ended."""
    if not words:
        raise UsageError("no job is given", hint=f"as in {program} 12.{PBS_SERVER}")
    code = 0
    for word in words:
        parsed = parse_id(word)
        if parsed is None and ID_BEGIN.match(word):
            parsed = NO_JOB
        if parsed is None:
            print_error(program, f"illegally formed job identifier: {quote_value(word)}")
            code = code or 2
            continue
        message, job_code = _apply_to_job(client, word, parsed, action)
        if message:
            print_error(program, message)
        code = code or job_code
    return code


def _apply_to_job(
    client: Client, word: str, parsed: tuple[int, int | None], action: Callable[[int, int | None], bool]
) -> tuple[str, int]:
    """Return the error, empty for none, and the exit code; `word` is the id as given."""
    try:
        if action(*parsed):
            return "", 0
    except JobNotFoundError:
        return format_unknown(word), UNKNOWN_JOB_CODE
    except OSProfileError as error:
        return str(error), error.exit_code
    if client.system == "pbspro":
        return f"Job has finished {word if '.' in word else f'{word}.{PBS_SERVER}'}", HISTORY_CODE
    return f"Request invalid for state of job {format_id(*parsed)}", _BAD_STATE_CODE


def _run_qdel(client: Client, words: Sequence[str]) -> int:
    line = parse_words(select_options(_QDEL_TABLE, client.system), words, ends_at_operand=False)
    if "history" in line:
        return _apply(client, "qdel", line.operands, lambda *parsed: client.remove_job(*parsed) or True)
    return _apply(client, "qdel", line.operands, client.remove_job)


def _run_qhold(client: Client, words: Sequence[str]) -> int:
    operands = _parse_holds(words)
    return _apply(client, "qhold", operands, client.hold_job)


def _run_qrls(client: Client, words: Sequence[str]) -> int:
    operands = _parse_holds(words)
    return _apply(client, "qrls", operands, client.release_job)


def _parse_holds(words: Sequence[str]) -> Sequence[str]:
    """Return the ids of a command line with the option -h."""
    line = parse_words(_HOLD_TABLE, words, ends_at_operand=False)
    kind = line.get("kind")
    if kind is not None and kind.text != "u":
        raise UsageError(
            f"{kind.flag}: {quote_value(kind.text)} is not supported", hint="u, the user's hold, is"
        )
    return line.operands


def _run_qalter(client: Client, words: Sequence[str]) -> int:
    """Refuse: a job cannot be changed."""
    line = parse_words(_QALTER_TABLE, words, ends_at_operand=False)

    def refuse(number: int, index: int | None) -> bool:
        client.find_id(number, index)
        raise UsageError("a submitted job cannot be changed", hint="remove it by qdel, and submit it again")

    return _apply(client, "qalter", line.operands, refuse)


def _run_pbsnodes(client: Client, words: Sequence[str]) -> int:
    line = parse_words(select_options(_PBSNODES_TABLE, client.system), words, ends_at_operand=False)
    nodes = client.run(lambda target: target.list_nodes())
    unknown = [name for name in line.operands if name not in {node.name for node in nodes}]
    for name in unknown:
        print_error("pbsnodes", f"{name}: Unknown node")
    nodes = [node for node in nodes if not line.operands or node.name in line.operands]
    if "list" in line:
        down = (node for node in nodes if node.state is not NodeState.UP)
        print_lines(f"{node.name:20} {_NODE_WORDS[node.state]}" for node in down)
        return 1 if unknown else 0
    records = {node.name: _list_node_attributes(client, node) for node in nodes}
    if "xml" in line:
        print_lines(format_xml("Node", [{"name": name, **found} for name, found in records.items()]))
    elif (form := line.get("format")) is not None:
        if form.text != "json":
            raise UsageError(f"{form.flag}: {quote_value(form.text)} is not supported", hint="json is")
        print_lines(format_json("nodes", {name: nest_attributes(found) for name, found in records.items()}))
    else:
        print_lines(text.replace("    ", "     ", 1) for text in format_records(records, None))
    return 1 if unknown else 0


def _list_node_attributes(client: Client, node: NodeStatus) -> dict[str, str]:
    state, cpus = _NODE_WORDS[node.state], node.cpus or ""
    kilobytes = "" if node.memory is None else f"{node.memory * 1024}kb"
    if client.system == "pbspro":
        attributes = {
            "Mom": node.name,
            "state": state,
            "ntype": "PBS",
            "pcpus": f"{cpus}",
            "resources_available.host": node.name,
            "resources_available.mem": kilobytes,
            "resources_available.ncpus": f"{cpus}",
            "resources_available.vnode": node.name,
        }
    else:
        status = f"ncpus={cpus},physmem={kilobytes},totmem={kilobytes},state={state}" if cpus else ""
        attributes = {"state": state, "np": f"{cpus}", "ntype": "cluster", "status": status}
    return {name: value for name, value in attributes.items() if value}


def _run_qselect(client: Client, words: Sequence[str]) -> int:
    line = parse_words(select_options(_QSELECT_TABLE, client.system), words, ends_at_operand=False)
    if line.operands:
        raise UsageError(f"{quote_value(line.operands[0])} is not an option", hint="leave it out")
    states, name, queue = line.get("states"), line.get_text("name"), line.get_text("queue")
    names: set[str] = set()
    if name is not None:
        from osprofile.jobs.request import build_job_name

        names = {name, build_job_name(name)}
    if states is not None and not re.fullmatch("[BCEFHMQRSTUWX]+", states.text):
        message = f"{states.flag}: {quote_value(states.text)} is not a list of states"
        raise UsageError(message, hint="letters of C E F H Q R S T W, as in QR")
    has_history = "history" in line
    letters = states.text if states is not None else f"BHQRS{'F' if has_history else ''}"
    entries = [
        entry
        for entry in client.list_recent(MEMORY_OF_HISTORY if has_history else MEMORY_OF_ENDED_JOBS)
        if Facts(client, entry).letter in letters
        and (name is None or entry.record.name in names)
        and (queue is None or client.may_be_in_queue(entry, [queue]))
    ]
    print_lines(map(format_entry_id, select_user(client, entries, line)))
    return 0


QALTER: Final = Command(_QALTER_TABLE, "ID...", _run_qalter)
QDEL: Final = Command(_QDEL_TABLE, "ID...", _run_qdel)
QHOLD: Final = Command(_HOLD_TABLE, "ID...", _run_qhold)
QRLS: Final = Command(_HOLD_TABLE, "ID...", _run_qrls)
QSELECT: Final = Command(_QSELECT_TABLE, "", _run_qselect)
PBSNODES: Final = Command(_PBSNODES_TABLE, "[NODE...]", _run_pbsnodes)
