"""Why a job failed: the last lines of its error output, and the likely cause in a sentence."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import OSProfileError, ScriptFailedError
from osprofile.jobs.record.names import parse_target_name
from osprofile.jobs.state import EndCause
from osprofile.late import NamedTuple
from osprofile.text import format_signal_name, quote_name, quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from osprofile.jobs.files.directory import JobFile
    from osprofile.jobs.state import JobStatus
    from osprofile.jobs.target_system import TargetSystem

log: Final = logging.getLogger("osprofile.jobs")
_MAX_LINES: Final = 10  # shown; the cause of an error is on its last lines
_MAX_SIZE: Final = 4096
"""Bytes of the end of the error output that are read."""
_OUT_OF_MEMORY: Final = "it ran out of memory {where}: {memory} gives it more"
_OUT_OF_TIME: Final = "it ran longer than its time limit: {walltime} gives it more"
_NO_COMMAND: Final = "the command {name} is not found {where}: give its path, or load the module that has it"
_NO_DIRECTORY: Final = "its node does not see the directory of the job: {new_profile}"
_KILLED: Final = "it was killed by {signal} {where}: often it used too much memory"
_CRASHED: Final = "the program crashed ({signal}) {where}"
_BY_CAUSE: Final[Mapping[EndCause, str]] = {
    EndCause.TIME: _OUT_OF_TIME,
    EndCause.MEMORY: _OUT_OF_MEMORY,
    EndCause.LIMIT: "it exceeded a limit of the batch system; the reason says which, if it is known",
    EndCause.PREEMPTED: "another job preempted it: {rerun} runs it again",
    EndCause.NODE: "the machine failed, and not the program: {rerun} runs it again",
    EndCause.SITE_SETUP: "the site's own lines before the program failed: report this to the site",
    EndCause.FILES: "a file, directory, module or container that it names cannot be used {where}",
    EndCause.DEPENDENCY: "a job that it depends on failed: {show} tells why",
}
"""With a remedy; what is known of any other cause is its description."""
_BY_OUTPUT: Final = tuple(
    (re.compile(pattern), sentence)
    for pattern, sentence in (
        (r"oom[-_ ]kill|[Oo]ut [Oo]f [Mm]emory|OutOfMemoryError|\bMemoryError\b|bad_alloc", _OUT_OF_MEMORY),
        (r"[Cc]annot allocate memory|_ArrayMemoryError\b", _OUT_OF_MEMORY),
        (r"DUE TO TIME LIMIT|walltime \d+ exceeded limit|TERM_RUNLIMIT", _OUT_OF_TIME),
        (
            r"\bmodule: (?:command )?not found",
            "the command module is not defined {where}: read the file that defines it before, in the job's script",
        ),
        (
            r"(?:locate a modulefile for|module\(s\) are unknown:)\s*['\"]?([^'\"\s]+)",
            "the environment module {name} does not exist {where}: module avail lists their names",
        ),
        (
            r"ModuleNotFoundError: No module named '?([\w.]+)",
            "Python does not find the module {name} {where}: activate the environment that has it, in the job",
        ),
        (
            r"error while loading shared libraries: ([^:\s]+)",
            "the program needs the library {name}, which is not found {where}: load the module that has it",
        ),
        (
            r"\^M: bad interpreter|\\r'?: (?:command not found|No such file)",
            "the script has line ends of DOS: tr -d '\\r' removes them",
        ),
        (r"([^\s:'\"]+)['\"]?: (?:command )?not found\s*$", _NO_COMMAND),
        (r"command not found: (\S+)", _NO_COMMAND),
        (r"\benv: \W?([^\s:]+?)\W?: No such file", _NO_COMMAND),
        (
            r"Exec format error",
            "the program was built for another kind of machine, or is a script whose first line is not #!",
        ),
        (r"No space left on device", "a disk is full {where}"),
        (r"[Dd]isk quota exceeded", "your quota on a disk is used up"),
        (
            r"([^\s:'\"]+)['\"]?: Permission denied",
            "{name} may not be read or run {where}: ls -l shows its mode",
        ),
        (r"can't open file '([^']+)'", "the file {name} does not exist {where}"),
        (r"No such file or directory: '([^']+)'", "the file {name} does not exist {where}"),
        (r"([^\s:'\"]+)['\"]?: No such file or directory", "the file {name} does not exist {where}"),
    )
)
"""What a line of the error output means; the first pattern that a line matches counts. Its group is {name}."""
_BY_EXIT_CODE: Final[Mapping[int | None, str]] = {
    126: "the program cannot be run {where}: it is not executable, or of another kind of machine",
    127: "the program, or a command in it, is not found {where}: give its path, or load the module that has it",
}
_BY_SIGNAL: Final[Mapping[int | None, str]] = {
    4: _CRASHED,
    6: _CRASHED,
    7: _CRASHED,
    8: _CRASHED,
    9: _KILLED,
    11: _CRASHED,
    15: "it was ended by {signal} {where}: somebody cancelled it, or it exceeded a limit",
    24: "it used up its processor time ({signal})",
    25: "it wrote a file that is larger than it may be ({signal})",
}


@final
class Remedies(NamedTuple):
    """What the sentences name as a remedy, in the words of whoever reads them; these are those of the command line."""

    memory: str = "--memory"
    walltime: str = "--walltime"
    rerun: str = "incarnate job rerun"
    show: str = "incarnate job show OTHER"
    new_profile: str = (
        "a profile names one that all nodes see, incarnate new NAME --extends {profile} --workspace DIR"
    )


_COMMANDS: Final = Remedies()
_SETUP_FIELD: Final = "SITE_SETUP"
_SETUP_FAILED: Final = "the site's own lines before the program printed {line}: report this to the site"


@final
class Diagnosis(NamedTuple):
    """What is known of a failure: the last lines of the error output, and the likely cause; each may be empty.

    `setup_lines` are the last lines that the site's own lines, SITE_SETUP, have printed, also if the job did not fail.
    """

    lines: Sequence[str] = ()
    cause: str = ""
    setup_lines: Sequence[str] = ()


async def diagnose(
    target: TargetSystem | None,
    status: JobStatus,
    tasks: Iterable[JobStatus] = (),
    *,
    target_name: str = "",
    remedies: Remedies = _COMMANDS,
) -> Diagnosis:
    """Return why a job failed; of an array with these `tasks`, the first of them that failed.

    No cause is known of a job that did not fail. Without `target`, or if that does not answer, there are no lines.
    """
    status = next((task for task in tasks if task.has_failed), status)
    if not status.state.is_terminal:
        return Diagnosis()
    setup_lines: list[str] = []
    setup = target.profile.global_fields.get(_SETUP_FIELD) if target is not None else None
    if target is not None and setup is not None and setup.value:
        setup_lines = await _try_to_read_lines(target, status.job_id, _find_setup_output)
    if not (status.has_failed or status.cause):
        return Diagnosis(setup_lines=setup_lines)
    lines = []
    if target is not None:
        lines = await _try_to_read_lines(
            target, status.job_id, lambda t, job: t.find_output_file(job, "stderr")
        )
    return Diagnosis(
        lines, explain_failure(status, lines, target_name, remedies, setup_lines=setup_lines), setup_lines
    )


def _find_setup_output(target: TargetSystem, job_id: str) -> JobFile:
    """Return the file of what the job's own shell prints, beside the program's output."""
    record = target.find_record(job_id)
    is_task = record is not None and record.array_id is not None
    task = f".gpe/tasks/{record.array_index}/" if record is not None and is_task else ""
    return target.find_output_file(job_id, "stderr")._replace(name=f"{task}.gpe/output")


async def _try_to_read_lines(
    target: TargetSystem, job_id: str, find_file: Callable[[TargetSystem, str], JobFile]
) -> list[str]:
    """Return the last lines of a file of a job; none if it was deleted, or the target does not answer."""
    try:
        return await _read_last_lines(target, find_file(target, job_id))
    except OSProfileError as error:
        if isinstance(error, ScriptFailedError) and error.is_unsafe_directory:
            log.warning("%s", error.message)
        return []


async def _read_last_lines(target: TargetSystem, file: JobFile) -> list[str]:
    """Return the last lines of a file; none if there is no such file."""
    end = await target.files.read_file_part(file, last_lines=0)
    if end is None:
        return []
    begin = max(0, end.position.offset - _MAX_SIZE)
    part = await target.files.read_file_part(file, end.position._replace(offset=begin))
    if part is None:
        return []
    lines = part.data.decode("utf-8", "replace").rstrip().split("\n")
    if begin and len(lines) > 1:
        del lines[0]  # its beginning was not read
    # Of a line that was overwritten, as by a progress bar, a terminal shows the end.
    shown = [line.rstrip("\r").rpartition("\r")[2] for line in lines[-_MAX_LINES:]]
    return shown if any(shown) else []


def explain_failure(
    status: JobStatus,
    lines: Sequence[str] = (),
    target: str = "",
    remedies: Remedies = _COMMANDS,
    *,
    setup_lines: Sequence[str] = (),
) -> str:
    """Return the likely cause of a failure in a sentence, by what is known most exactly; empty if nothing is.

    A program that failed after an error of SITE_SETUP has probably failed because of that.
    """
    if status.cause in {None, EndCause.SIGNAL, EndCause.SITE_SETUP, EndCause.FILES}:
        for line in setup_lines:
            if any(pattern.search(line) for pattern, _ in _BY_OUTPUT):
                return _SETUP_FAILED.format(line=quote_value(line))
    sentence, name = _choose_sentence(status, lines)
    host = status.hosts[0] if status.hosts else target.partition("@")[2]
    new_profile = remedies.new_profile.format(profile=parse_target_name(target)[0]) if target else ""
    return sentence.format(
        where=f"on {host}" if host else "where it ran",
        name=quote_name(name),
        signal="" if (number := _find_signal(status)) is None else format_signal_name(number),
        **remedies._replace(new_profile=new_profile)._asdict(),
    )


def _choose_sentence(status: JobStatus, lines: Sequence[str]) -> tuple[str, str]:
    """Return the sentence for a failure, and the name that it has; both may be empty."""
    if status.native_state.endswith("/no-directory"):  # explain.sh of the profiles prints it
        return _NO_DIRECTORY, ""
    if status.cause not in {None, EndCause.SIGNAL, EndCause.FILES}:
        return _BY_CAUSE.get(status.cause, status.cause.description), ""
    for pattern, sentence in _BY_OUTPUT:
        for line in reversed(lines):
            if match := pattern.search(line):
                return sentence, match[1] if match.lastindex else ""
    if status.cause is EndCause.FILES:
        return _BY_CAUSE[status.cause], ""
    return _BY_EXIT_CODE.get(status.exit_code) or _BY_SIGNAL.get(_find_signal(status), ""), ""


def _find_signal(status: JobStatus) -> int | None:
    if status.signal is None and status.exit_code is not None and status.exit_code > 128:
        return status.exit_code - 128  # of a shell whose command was killed
    return status.signal
