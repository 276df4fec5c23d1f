"""The facts of `incarnate new --batch-system`: from options, or asked for on a terminal."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.authoring.batch_system import (
    NO_OWN_ID,
    STATES,
    BatchSystem,
    Reading,
    ends_with_script,
    list_programs,
    read_answer_sample,
    read_list_sample,
    render_batch_system,
)
from osprofile.cli import common
from osprofile.cli.options import Option, Parameter
from osprofile.text import escape_unprintable, pluralize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


@final
class _Fact(NamedTuple):
    """A fact: its option's help and metavar, the question for it, and its value without an answer; None: it is needed."""

    help: str
    metavar: str
    question: str = ""
    default: str | None = None


FACTS: Final[Mapping[str, _Fact]] = {
    "submit": _Fact(
        "The command that submits {script}; {options} is where options go.",
        "COMMAND",
        "The command that submits a script, with {script} in the script's place",
    ),
    "answer": _Fact(
        "The line that it prints, with {id} in the place of the id.",
        "TEXT",
        "What it prints, with {id} in the place of the job's id",
        "{id}",
    ),
    "id_pattern": _Fact(
        "What an id looks like [default: [0-9]+].",
        "REGEX",
        "What an id looks like, as an extended regular expression",
        "[0-9]+",
    ),
    "list_jobs": _Fact(
        "The command that lists the user's jobs.",
        "COMMAND",
        "The command that lists your jobs, without asking for anything",
    ),
    "line": _Fact(
        "A line of its output: {id}, {state}, {exit} are columns, any other word is another column. "
        "{script} at the end: the line ends with the script's path.",
        "TEXT",
        "A line of its output, with {id}, {state}, and if there are such columns {exit} and {script}",
    ),
    "list_ended": _Fact(
        "The command that prints such a line of an ended job {id} that the list leaves out [default: none].",
        "COMMAND",
        default="",
    ),
    "own_id": _Fact(
        "How a job finds its own id; without it, {script} in --line.",
        "$VARIABLE|COMMAND",
        "How a job learns its own id: $VARIABLE, or a command; empty if a line ends with {script}",
        "",
    ),
    "queued": _Fact(
        "Its words for jobs that wait.", "WORD,...", "Its words for a job that waits, separated by commas"
    ),
    "running": _Fact("... that run.", "WORD,...", "... for one that runs"),
    "held": _Fact("... that are held.", "WORD,...", "... for one that is held", ""),
    "done": _Fact(
        "... that ended by themselves, with any exit code.",
        "WORD,...",
        "... for one that ended by itself",
        "",
    ),
    "failed": _Fact("... that failed.", "WORD,...", "... for one that failed", ""),
    "limit": _Fact("... that exceeded a limit.", "WORD,...", "... for one that exceeded a limit", ""),
    "removed": _Fact("... that were removed.", "WORD,...", "... for one that was removed", ""),
    "cancel": _Fact(
        "The command that removes the job {id}; may be repeated: the first that succeeds counts.",
        "COMMAND",
        "The command that removes a job, with {id}",
    ),
    "hold": _Fact(
        "The command that holds the job {id} [default: none].",
        "COMMAND",
        "The command that holds a job; empty if there is none",
        "",
    ),
    "resume": _Fact(
        "The command that releases it [default: none].", "COMMAND", "The command that releases it", ""
    ),
    "directive": _Fact(
        "How a line with options begins in a script [default: none, options are on the command line].",
        "PREFIX",
        "How a line with options begins in a script, as #PBS; empty if it has none",
        "",
    ),
}
SAMPLES: Final = {
    "sample_submit": ("the submit command", "--answer"),
    "sample_list": ("the list command", "--line"),
    "sample_ended": ("the command for ended jobs", "--line"),
}
"""Files with samples of output: what printed it, and the option that is tried on it."""


def list_options() -> list[Parameter]:
    """Return the options for the facts and the samples; only `--cancel` may be repeated."""
    options = [(name, Option((_flag(name),), fact.help, fact.metavar)) for name, fact in FACTS.items()]
    for name, (command, option) in SAMPLES.items():
        options.append((name, Option((_flag(name),), f"Try {option} on this output of {command}.", "FILE|-")))
    return [
        Parameter(name, option, list[str], [])
        if name == "cancel"
        else Parameter(name, option, str | None, None)
        for name, option in options
    ]


_UNTOLD: Final = {
    "submit": "x", "list_jobs": "x", "line": "{id} {state}", "cancel": "x", "own_id": "$x",
}  # fmt: skip
"""Facts with which the others can be checked before these are told."""


def collect_facts(given: Mapping[str, str | None], cancel: Sequence[str]) -> BatchSystem:
    """Return the facts; ask for what is missing if stdin is a terminal, else raise UsageError."""
    told = {name: value for name, value in given.items() if value is not None}
    missing = [
        name
        for name, fact in FACTS.items()
        if fact.question and name not in told and not (name == "cancel" and cancel)
    ]
    if sys.stdin.isatty():
        return _ask_for_facts(told, list(cancel), missing)
    if needed := [name for name in missing if FACTS[name].default is None]:
        flags = ", ".join(_flag(name) for name in needed)
        hint = "these are needed; on a terminal, the command asks for them"
        raise common.UsageError(f"the batch system is not described completely: {flags}", hint=hint)
    return _build(told, cancel)


def _build(told: Mapping[str, str], cancel: Sequence[str]) -> BatchSystem:
    """Return the facts, with the defaults of those that are not told."""
    facts = {name: told.get(name, fact.default or "") for name, fact in FACTS.items() if name != "cancel"}
    words = {key: _split_words(facts.pop(key)) for key in STATES}
    return BatchSystem(words=words, cancel=cancel, **facts)


def _ask_for_facts(told: dict[str, str], cancel: list[str], missing: Sequence[str]) -> BatchSystem:
    """Ask for the facts that are missing; each answer is checked together with what is told so far."""

    def check(name: str, answer: str) -> None:
        if name == "own_id" and not answer:
            return  # it is checked with the line, which may be asked for again
        commands = [*cancel, *([answer] if name == "cancel" and answer else [])]
        facts = {**_UNTOLD, **told, **({name: answer} if name else {})}
        render_batch_system("x", _build(facts, commands or [_UNTOLD["cancel"]]))

    try:
        check("", "")
    except ValueError as error:
        raise common.UsageError(str(error)) from None
    pending = [*missing]
    while pending:
        name = pending.pop(0)
        if name == "resume" and not told.get("hold"):
            continue
        answer = _ask(FACTS[name].question, name, FACTS[name].default, check)
        if name == "own_id" and not answer and not ends_with_script(told["line"]):
            common.print_message(f"{NO_OWN_ID}; both are asked for again")
            pending[:0] = ["line", "own_id"]
            continue
        if name != "cancel":
            told[name] = answer
        while name == "cancel" and answer:
            cancel.append(answer)
            answer = _ask("... if that one fails; empty if there is no other", name, "", check)
    return _build(told, cancel)


def ask_for_samples(system: BatchSystem, files: Mapping[str, str | None]) -> list[str | None]:
    """Return the files of the samples; ask for those that are missing if stdin is a terminal."""
    if not sys.stdin.isatty():
        return [*files.values()]

    def check(name: str, answer: str) -> None:
        if answer:
            read_samples(system, *(answer if name == asked else None for asked in SAMPLES))

    return [
        _ask(f"A file with what {command} printed; empty if there is none", name, "", check) or None
        if files[name] is None and (name != "sample_ended" or system.list_ended)
        else files[name]
        for name, (command, _) in SAMPLES.items()
    ]


def _flag(name: str) -> str:
    return "--list" if name == "list_jobs" else f"--{name.replace('_', '-')}"


def _split_words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _ask(question: str, name: str, default: str | None, check: Callable[[str, str], None]) -> str:
    """Return the answer to a question on the terminal; ask again, and say why, until it is usable."""
    shown = f" [{default}]" if default else ""
    while True:
        sys.stderr.write(f"{question} ({_flag(name)}){shown}: ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            raise common.UsageError(f"{_flag(name)} was not answered")
        answer = line.strip() or default
        if answer is None:
            common.print_message("an answer is needed")
            continue
        try:
            check(name, answer)
        except (ValueError, common.UsageError) as error:
            common.print_message(str(error))
        else:
            return answer


def read_samples(
    system: BatchSystem, answer_file: str | None, list_file: str | None, ended_file: str | None
) -> dict[str, list[Reading]]:
    """Return what is read from the samples; raise UsageError for one that tells nothing about a job."""
    readers = (
        ("answer", answer_file, read_answer_sample),
        ("list", list_file, read_list_sample),
        ("ended", ended_file, read_list_sample),
    )
    found = {}
    for name, file, read in readers:
        if file is not None:
            found[name] = read(system, _read_sample(file))
            if not any(reading.job_id for reading in found[name]):
                fault, hint = "is understood", f"the option --{'answer' if name == 'answer' else 'line'}"
                hint += _format_other_ids(system, found[name])
            elif name != "answer" and not any(reading.state for reading in found[name]):
                fault, hint = "has a state that an option names", "--line, and --queued and the like"
            else:
                continue
            report = "\n".join(format_readings({name: found[name]}))
            message = f"no line of the sample {file} {fault}\n{report}"
            raise common.UsageError(message, hint=f"compare it with {hint}")
    return found


def _format_other_ids(system: BatchSystem, readings: Sequence[Reading]) -> str:
    """Return that the id pattern may be the fault: it does not match what is in the place of the ids."""
    found = [escape_unprintable(r.no_id) for r in readings if r.no_id]
    return f", and --id-pattern {system.id_pattern} with {found[-1]}" if found else ""


def _read_sample(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        with open(file, encoding="utf-8", errors="replace") as sample:
            return sample.read()
    except OSError as error:
        raise common.UsageError(f"the sample {file} cannot be read: {error.strerror}") from None


def format_readings(samples: Mapping[str, Sequence[Reading]]) -> Iterator[str]:
    """Yield a line for each line of the samples: what was read from it, or that it was not understood."""
    for name, readings in samples.items():
        for r in readings:
            if not r.job_id:
                told = f"not understood: {escape_unprintable(r.text)}"
            elif name == "answer":
                told = f"id {r.job_id}"
            else:
                state = r.state or "WARNING: no option names this state"
                told = f"id {r.job_id}, state {escape_unprintable(r.word)}: {state}"
            told += f", exit code {r.exit_code}" if r.exit_code else ""
            yield f"{name}:{r.number}: {told}"


def list_warnings(system: BatchSystem, samples: Mapping[str, Sequence[Reading]]) -> Iterator[str]:
    """Yield which programs this machine does not have, and what the samples show to be missing from the facts."""
    for program in list_programs(system):
        if shutil.which(program) is None:
            yield f"{program} is not found on this machine"
    listed = [*samples.get("list", ()), *samples.get("ended", ())]
    if words := [r.word for r in listed if r.job_id and not r.state]:
        names = ", ".join(escape_unprintable(word) for word in dict.fromkeys(words))
        yield f"{pluralize(len(words), 'line')} of the list with a state that no option names: {names}"
    done = {word.partition("/")[0] for word in system.words.get("done", ())}
    ended = [r for r in listed if r.state and r.word.partition("/")[0] in done]
    if "{exit}" in system.line and ended and not any(r.exit_code for r in ended):
        yield "no exit code in any line of the list: compare {exit} in --line with its columns"
