"""The facts of `incarnate new --batch-system`: from options, or asked for on a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, NamedTuple, final

from osprofile.cli import common
from osprofile.errors import escape_unprintable
from osprofile.profile.batch_system import (
    STATES,
    BatchSystem,
    Reading,
    read_answer_sample,
    read_list_sample,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


@final
class _Fact(NamedTuple):
    """A fact: the question for it, and its value if nobody tells one; None: it is needed."""

    question: str
    default: str | None = None


FACTS: Final[Mapping[str, _Fact]] = {
    "submit": _Fact("The command that submits a script, with {script} in the script's place"),
    "answer": _Fact("What it prints, with {id} in the place of the job's id", "{id}"),
    "id_pattern": _Fact("What an id looks like, as an extended regular expression", "[0-9]+"),
    "list_jobs": _Fact("The command that lists your jobs, without asking for anything"),
    "line": _Fact(
        "A line of its output, with {id}, {state}, and if there are such columns {exit} and {script}"
    ),
    "queued": _Fact("Its words for a job that waits, separated by commas"),
    "running": _Fact("... for one that runs"),
    "held": _Fact("... for one that is held", ""),
    "done": _Fact("... for one that has ended by itself", ""),
    "failed": _Fact("... for one that failed", ""),
    "limit": _Fact("... for one that exceeded a limit", ""),
    "removed": _Fact("... for one that was removed", ""),
    "cancel": _Fact("The command that removes a job, with {id}"),
    "hold": _Fact("The command that holds a job; empty if there is none", ""),
    "resume": _Fact("The command that releases it", ""),
    "directive": _Fact("How a line with options begins in a script, as #PBS; empty if it has none", ""),
    "own_id": _Fact(
        "How a job learns its own id: $VARIABLE, or a command; empty if a line ends with {script}", ""
    ),
}


def collect_facts(given: Mapping[str, str | None], cancel: Sequence[str]) -> BatchSystem:
    """Return the facts; ask for what is missing if stdin is a terminal, else raise UsageError."""
    told = {name: value for name, value in given.items() if value is not None}
    if cancel:
        told["cancel"] = ""
    missing = [name for name in FACTS if name not in told]
    if sys.stdin.isatty():
        told |= {name: _ask(name) for name in missing}
    elif needed := [name for name in missing if FACTS[name].default is None]:
        flags = ", ".join(_flag(name) for name in needed)
        hint = "these are needed; on a terminal, the command asks for them"
        raise common.UsageError(f"the batch system is not described completely: {flags}", hint=hint)
    facts = {name: told.get(name, fact.default or "") for name, fact in FACTS.items()}
    return BatchSystem(
        submit=facts["submit"],
        answer=facts["answer"],
        id_pattern=facts["id_pattern"],
        list_jobs=facts["list_jobs"],
        line=facts["line"],
        words={key: _split_words(facts[key]) for key in STATES},
        cancel=cancel or [facts["cancel"]],
        hold=facts["hold"],
        resume=facts["resume"],
        directive_prefix=facts["directive"],
        own_id=facts["own_id"],
    )


def _flag(name: str) -> str:
    return "--list" if name == "list_jobs" else f"--{name.replace('_', '-')}"


def _split_words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _ask(name: str) -> str:
    """Return the answer to a question on the terminal; ask again until it has what is needed."""
    fact = FACTS[name]
    default = f" [{fact.default}]" if fact.default else ""
    while True:
        sys.stderr.write(f"{fact.question} ({_flag(name)}){default}: ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            raise common.UsageError(f"{_flag(name)} was not answered")
        answer = line.strip() or fact.default
        if answer is not None:
            return answer


def read_samples(
    system: BatchSystem, answer_file: str | None, list_file: str | None
) -> dict[str, list[Reading]]:
    """Return what is read from the samples; raise UsageError for one in which nothing is understood."""
    readers = (("answer", answer_file, read_answer_sample), ("list", list_file, read_list_sample))
    found = {}
    for name, file, read in readers:
        if file is not None:
            found[name] = read(system, _read_sample(file))
            if not any(reading.job_id for reading in found[name]):
                report = "\n".join(format_readings({name: found[name]}))
                hint = f"compare it with the option --{'answer' if name == 'answer' else 'line'}"
                raise common.UsageError(f"no line of the sample {file} is understood\n{report}", hint=hint)
    return found


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
                state = r.state or "no option has this word"
                told = f"id {r.job_id}, state {escape_unprintable(r.word)}: {state}"
            told += f", exit code {r.exit_code}" if r.exit_code else ""
            yield f"{name}:{r.number}: {told}"
