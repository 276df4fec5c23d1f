"""START and what belongs to it: incarnated, run for one job or many, and asked afterwards what it has submitted."""

from __future__ import annotations

import contextlib
import itertools
import logging
import posixpath
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import (
    OSProfileError,
    OutcomeUnknownError,
    OutputError,
    ScriptError,
    ScriptFailedError,
    TemplateNotFoundError,
    ValueRefusedError,
)
from osprofile.incarnation.context import add_directory, generate_unique_name
from osprofile.incarnation.evaluate import END_WORD_PREFIX
from osprofile.incarnation.incarnate import incarnate, static_scripts
from osprofile.incarnation.plan import find_directive_template
from osprofile.jobs.arrays import ARRAY_FIELD, parse_array
from osprofile.jobs.files.directory import build_entering_commands
from osprofile.jobs.record.names import format_link_directory
from osprofile.jobs.request import build_request, explain_units, format_passed_options
from osprofile.jobs.shell.loop import has_loop
from osprofile.jobs.shell.output import (
    PREPARED_OPTION_FIELD,
    SEVERAL_OPTION_FIELD,
    START_TEMPLATE,
    build_output_error,
    get_batch_system_name,
    get_job_id_pattern,
    parse_job_id,
)
from osprofile.jobs.shell.scripts import (
    SHELL_TEMPLATE,
    SOURCE_PROGRAM,
    build_script,
    extract_exit_status,
    generate_mark,
    join_scripts,
    mark_exit_status,
    split_results,
)
from osprofile.jobs.shell.target import NOTHING_DONE_STATUS, TASK_ID_TEMPLATE, check_result
from osprofile.jobs.submit.gatherer import StartGatherer
from osprofile.jobs.submit.local_directories import JobPrograms, prepare_directories
from osprofile.late import NamedTuple, compile_late
from osprofile.profile.model import PASSED
from osprofile.text import quote_shell_word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from osprofile.incarnation.incarnate import Incarnation
    from osprofile.jobs.fields import JobDescription
    from osprofile.jobs.shell.target import TargetShell
    from osprofile.jobs.submit.local_directories import LocalDirectories

log: Final = logging.getLogger("osprofile.jobs")
FIND_TEMPLATE: Final = "FIND_JOB"
_MAX_JOINED_SIZE: Final = 1 << 20
"""Characters of START's scripts that go into one script: a shell reads all of it before it runs the first."""
_START_SCRIPT: Final = compile_late(
    rf"(?P<head>[^\0]*)<<'(?P<end>{END_WORD_PREFIX}[0-9a-z]+)'\n(?P<job>[^\0]*\n)(?P=end)\n*"
)
_LAST_PROGRAM: Final = compile_late(r"(?P<before>(?:[^\0]*\n)?)sh (?P<command>[^\n]*)")
"""The begin of a script whose last line, which its program reads, runs this by `sh`."""
_JOB_ID_FILE: Final = ".gpe/id"
"""START writes the job's id to this file in the working directory."""
_PRINT_FILE_SCRIPT: Final = """\
t=$(LC_ALL=C cat -- "$f" 2>&1) && printf '%s\\n' "$t" && exit
case $t in *'No such file or directory' | *'Not a directory') exit 0 ;; esac
printf '%s\\n' "$t" >&2
exit 1"""
"""Prints the file $f. If it is missing, prints nothing; fails if it cannot be read."""


@final
class PreparedSubmission(NamedTuple):
    """START's script for one job, the job's working directory, and the values of ARRAY, STDOUT and STDERR."""

    directory: str
    script: str
    array: str = ""
    stdout: str = ""
    stderr: str = ""


@final
class NewStart(NamedTuple):
    """A START that has not run before, and its working directory."""

    directory: str
    script: str


@final
class StartScripts:
    """The scripts of START and FIND_JOB on one target. What runs one raises what `TargetShell` and `incarnate` do."""

    def __init__(self, shell: TargetShell) -> None:
        self.shell, self.profile = shell, shell.profile
        self.batch_system = get_batch_system_name(shell.profile)
        """The name of the batch system in messages; empty if there is none."""
        self.has_find_template = FIND_TEMPLATE in shell.profile.templates
        """Whether `find_submitted_job` is certain that there is no job if it finds none."""
        self._job_id_pattern = get_job_id_pattern(shell.profile)
        self._several_option, self._prepared_option = (
            shell.profile.get_value(START_TEMPLATE, name)
            for name in (SEVERAL_OPTION_FIELD, PREPARED_OPTION_FIELD)
        )
        self._job_programs: JobPrograms | None = None
        self._gatherer = StartGatherer(self.run_start_scripts)

    def prepare_submission(
        self, description: JobDescription, *, strict: bool = True, request: Mapping[str, str] | None = None
    ) -> PreparedSubmission:
        """Incarnate START for a job, without running it; `request`: what `build_request` has returned for it."""
        directory, start = self.incarnate_start(description, strict=strict, request=request)
        array, stdout, stderr = map(start.get_value, (ARRAY_FIELD, "STDOUT", "STDERR"))
        if array:
            parse_array(array)
            if TASK_ID_TEMPLATE not in self.profile.templates:
                message = f"profile {self.profile.name} has no template {TASK_ID_TEMPLATE}, which arrays need"
                hint = "without it, the ids of an array's tasks are not known: leave ARRAY out"
                raise TemplateNotFoundError(message, hint=hint)
        return PreparedSubmission(directory, build_script(start), array, stdout, stderr)

    def incarnate_start(
        self, description: JobDescription, *, strict: bool = True, request: Mapping[str, str] | None = None
    ) -> tuple[str, Incarnation]:
        """Return the working directory of a job, and START for it."""
        if self.profile.refusal is not None:
            raise self.profile.refusal
        directory = description.working_directory or self.new_job_directory()
        passed = format_passed_options(self.profile, description)
        context = {**self.shell.context, "WORKING_DIRECTORY": directory, PASSED: passed}
        if request is None:
            request = build_request(description)
        try:
            start = incarnate(
                self.profile,
                START_TEMPLATE,
                fields=request,
                application=description.application,
                context=context,
                strict=strict,
            )
        except ValueRefusedError as error:
            explain_units(error, request)
            raise
        return directory, start

    async def test_job(self, description: JobDescription) -> str:
        """Return what the batch system says about a job, which is not submitted.

        Raises `ScriptFailedError` if it would refuse the job, and `TemplateNotFoundError` if it cannot be asked.
        """
        template = find_directive_template(self.profile)
        if template is None or not template.test_command:
            message = (
                f"profile {self.profile.name} cannot ask its batch system about a job before it is submitted"
            )
            raise TemplateNotFoundError(message, hint="it has no TEST_COMMAND")
        start, mark = self.incarnate_start(description)[1], generate_mark()
        script = f"{template.test_command} <<'{mark}'\n{start.job_script}\n{mark}\n"
        result = await self.shell.run_to_end(START_TEMPLATE, script)
        return (result.stdout + result.stderr).decode("utf-8", "replace")

    def new_job_directory(self) -> str:
        """Return a path for the working directory of a new job."""
        return add_directory(self.profile, {**self.shell.context}, generate_unique_name())[
            "WORKING_DIRECTORY"
        ]

    async def run_start_script(self, script: str) -> str:
        """Run START's script and return the job's id."""
        return self._parse_job_id(START_TEMPLATE, await self.shell.run_script(START_TEMPLATE, script))

    async def run_new_start(self, start: NewStart) -> str:
        """Run START's script for the first time and return the job's id, perhaps together with others that wait."""
        if self._several_option and has_loop():  # without an event loop, there are no others
            return await self._gatherer.submit(start)
        (answer,) = await self.run_start_scripts([start])
        if isinstance(answer, OSProfileError):
            raise answer
        return answer

    async def run_start_scripts(self, starts: Sequence[NewStart]) -> list[str | OSProfileError]:
        """Run the new STARTs of several jobs, in as few scripts as their size allows.

        Return for each what `run_start_script` returns or raises; if a script is cut, that is an `OutcomeUnknownError` for
        every job whose result has not arrived.
        """
        answers: list[str | OSProfileError] = []
        while len(answers) < len(starts):
            rest = starts[len(answers) :]
            sizes = itertools.accumulate(len(start.script) for start in rest)
            count = max(sum(size <= _MAX_JOINED_SIZE for size in sizes), 1)
            answers += await self._run_joined_start_scripts(rest[:count])
        return answers

    async def _run_joined_start_scripts(self, starts: Sequence[NewStart]) -> list[str | OSProfileError]:
        common = split_starts(starts) if self._several_option else None
        local = self._prepare_directories(common) if common is not None else None
        if common is None or (local is None and len(starts) == 1):
            return await self._run_separate_scripts(starts)
        mark = generate_mark()
        if local is None:
            script = common.build_script(self._several_option, mark)
            answers = await self._run_marked_script(script, mark, len(starts))
        else:
            script = common.build_script(self._several_option, mark, (self._prepared_option, local.told))
            try:
                answers = await self._run_marked_script(script, mark, len(starts), lock=local.lock)
            finally:
                local.close()
        for position, (start, answer) in enumerate(zip(starts, answers, strict=True)):
            if isinstance(answer, ScriptFailedError) and answer.exit_status == NOTHING_DONE_STATUS:
                answers[position] = await self._try_start(start)  # by itself, it tells why
            elif isinstance(answer, str) and local and not local.complete(start.directory, answer):
                again = await self._try_start(start)
                if isinstance(again, OSProfileError):  # whatever it says, there is a job
                    log.warning("job %s was submitted, but: %s", answer, again)
        return answers

    async def _run_separate_scripts(self, starts: Sequence[NewStart]) -> list[str | OSProfileError]:
        if len(starts) == 1:
            return [await self._try_start(starts[0])]
        mark, status_mark = generate_mark(), generate_mark()
        script = join_scripts((mark_exit_status(start.script, status_mark) for start in starts), mark)
        return await self._run_marked_script(script, mark, len(starts), status_mark=status_mark)

    async def _run_marked_script(
        self, script: str, mark: str, count: int, *, status_mark: str = "", lock: int | None = None
    ) -> list[str | OSProfileError]:
        """Run a script that submits several jobs, and return the answer for each, by the mark after it."""
        failure: OSProfileError = OutcomeUnknownError(f"{START_TEMPLATE}: it has not reported how it ended")
        stdout = stderr = b""
        try:
            result = await self.shell.run_to_end(
                START_TEMPLATE, script, script_count=count, mark=mark, lock=lock
            )
            stdout, stderr = result.stdout, result.stderr
        except OutcomeUnknownError as error:
            failure, stdout, stderr = error, error.stdout, error.stderr
        except ScriptFailedError as error:  # the shell has refused the whole: each job's own script tells why
            is_nothing_done = error.exit_status == NOTHING_DONE_STATUS
            failure = error if is_nothing_done else OutcomeUnknownError(error.message)
        except (ScriptError, OutputError) as error:
            failure = error
        answers: list[str | OSProfileError] = []
        for result in split_results(stdout, stderr, mark):
            try:
                status: int | None = result.exit_code
                if status_mark:
                    result, status = extract_exit_status(result, status_mark)  # noqa: PLW2901
                ended = check_result(START_TEMPLATE, START_TEMPLATE, result, status)
                answers.append(self._parse_job_id(START_TEMPLATE, ended.stdout.decode("utf-8", "replace")))
            except OSProfileError as error:
                answers.append(error)
        return answers + [failure] * (count - len(answers))

    async def _try_start(self, start: NewStart) -> str | OSProfileError:
        try:
            return await self.run_start_script(start.script)
        except OSProfileError as error:
            return error

    def _prepare_directories(self, common: CommonStart) -> LocalDirectories | None:
        """Do here what START's program would do for each new directory; None where it does that itself."""
        if not self._prepared_option or not self.shell.is_here:
            return None
        if self._job_programs is None:
            self._job_programs = JobPrograms(static_scripts(self.profile, self.shell.context))
        option = self._job_programs.option
        if not option or option not in common.end or not common.has_program:
            return None
        return prepare_directories(common.directories, common.jobs, self._job_programs, self._link_directory)

    @property
    def _link_directory(self) -> str:
        return format_link_directory(self.profile, self.shell.context)

    async def find_submitted_job(self, directory: str, start_script: str) -> str | None:
        """Return the id of the job that was submitted in a working directory; None if there is none.

        FIND_JOB prints it. A profile without FIND_JOB has only the file that START writes: if the id
        is there, START runs again, which submits nothing but creates what is missing.
        """
        if self.has_find_template:
            context = {**self.shell.context, "WORKING_DIRECTORY": directory}
            script = build_script(incarnate(self.profile, FIND_TEMPLATE, context=context))
            text = await self.shell.run_script(FIND_TEMPLATE, script)
            return self._parse_job_id(FIND_TEMPLATE, text) if text.strip() else None
        enter = f"[ -d {quote_shell_word(directory)} ] || exit 0\n{build_entering_commands(directory)}"
        text = await self.shell.run_script(START_TEMPLATE, f"{enter}f=./{_JOB_ID_FILE}\n{_PRINT_FILE_SCRIPT}")
        job_id = parse_job_id(self._job_id_pattern, text)
        if job_id is not None:
            with contextlib.suppress(OSProfileError):
                await self.run_start_script(start_script)
        return job_id

    async def delete_submission_mark(self, directory: str) -> None:
        """Delete the mark at home because of which START refuses a directory that is not there."""
        name = quote_shell_word(posixpath.basename(directory))
        script = f'rm -f -- "$HOME"/.gpe/submitting/{name}\n'
        await self.shell.run_to_end(SHELL_TEMPLATE, script, label="taking a submission over")

    def _parse_job_id(self, template: str, text: str) -> str:
        job_id = parse_job_id(self._job_id_pattern, text)
        if job_id is None:
            raise build_output_error(template, "JOB_ID_PATTERN", text)
        return job_id

    async def find_job_directory(self, job_id: str) -> str:
        """Return the working directory of a job; empty if it has none."""
        if not job_id or "/" in job_id or job_id.startswith("."):
            return ""
        link = f"{self._link_directory}/{job_id}"
        script = (
            f'd="$HOME"/.gpe/jobs/{quote_shell_word(link)}\n[ ! -d "$d" ] || {{ cd -P -- "$d" && pwd; }}\n'
        )
        return (await self.shell.run_script(START_TEMPLATE, script)).removesuffix("\n")


@final
class CommonStart(NamedTuple):
    """STARTs that differ only in their directories and job scripts: what stands before the directory, and after it."""

    begin: str
    end: str
    directories: Sequence[str]
    jobs: Sequence[str]

    @property
    def has_program(self) -> bool:
        """Whether what reads the job scripts is a program that is run by `sh`."""
        return _LAST_PROGRAM.fullmatch(self.begin) is not None

    def build_script(
        self, several_option: str, mark: str, prepared: tuple[str, Sequence[str]] | None = None
    ) -> str:
        """Return the script that submits the jobs with one program, which gets the others' directories by an option.

        `prepared`: another option, and what it says of each job. The program then takes the lock from the script's input.
        """
        others = quote_shell_word("\n".join([mark, *self.directories[1:], ""]))
        begin, options, jobs = self.begin, f"{several_option} {others}", f"{mark}\n".join(self.jobs)
        if prepared is not None and (program := _LAST_PROGRAM.fullmatch(begin)):
            option, told = prepared
            begin = f"{program['before']}{SOURCE_PROGRAM} {program['command']}"
            options, jobs = f"{option} {quote_shell_word(chr(10).join(told))} {options} 3<&3", ""
        end = generate_mark()
        return f"{begin}'{self.directories[0]}' {options}{self.end}<<'{end}'\n{jobs}{end}\n"


def split_starts(starts: Sequence[NewStart]) -> CommonStart | None:
    """Return what STARTs have in common; None if they differ in more than their directories and job scripts."""
    jobs: list[str] = []
    heads: set[tuple[str, ...]] = set()
    for start in starts:
        if (script := _START_SCRIPT.fullmatch(start.script)) is None:
            return None
        heads.add(tuple(script["head"].split(f"'{start.directory}'")))
        jobs.append(script["job"])
    head = heads.pop()
    if heads or len(head) != 2:  # what stands before the directory, and after it
        return None
    return CommonStart(*head, [start.directory for start in starts], jobs)
