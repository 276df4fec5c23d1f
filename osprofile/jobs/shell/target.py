"""The shell of a target system: it renders a profile's templates, runs the scripts there, and says how each has ended."""

from __future__ import annotations

import contextlib
import os
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar, final

from osprofile.errors import (
    JobNotFoundError,
    OSProfileError,
    OutcomeUnknownError,
    OutputError,
    ScriptError,
    ScriptFailedError,
    TargetError,
    ValueRefusedError,
)
from osprofile.incarnation.context import has_group_cases, needs_home
from osprofile.incarnation.evaluate import USER_HOME
from osprofile.incarnation.incarnate import incarnate, static_scripts
from osprofile.incarnation.plan import BIN_TEMPLATE
from osprofile.incarnation.static_scripts import deployment_script
from osprofile.jobs.arrays import parse_array
from osprofile.jobs.record.names import format_target_name
from osprofile.jobs.shell.loop import Turns, need_loop
from osprofile.jobs.shell.output import START_TEMPLATE, get_time_limit
from osprofile.jobs.shell.process import exchange, run_process
from osprofile.jobs.shell.scripts import (
    SHELL_TEMPLATE,
    SSH_VARIATION,
    SUDO_VARIATION,
    build_script,
    extract_exit_status,
    extract_rest,
    find_shell_variation,
    generate_mark,
    get_shell_command,
    lacks_static_script,
    mark_exit_status,
    wrap_locked_script,
    wrap_script,
)
from osprofile.late import compile_late
from osprofile.metrics import TargetMetrics
from osprofile.profile.model import USER_GROUPS
from osprofile.text import quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from osprofile.jobs.shell.process import Channel, ProcessResult
    from osprofile.jobs.shell.session import ShellSessionPool
    from osprofile.profile.model import Profile

T = TypeVar("T")
TASK_ID_TEMPLATE: Final = "TASK_ID"
_LOCAL_SHELL: Final = ["sh", "-s"]
NOTHING_DONE_STATUS: Final = 73
"""The exit status (EX_CANTCREAT) of a START that did nothing, or of any script whose programs cannot be deployed."""
_MIN_TRANSFER_RATE: Final = 64 * 1024
"""Bytes per second: a transfer may take its size divided by this, in addition to the usual time limit."""
_MAX_ERROR_LINES: Final = 20
"""Lines of a script's output that an error message has: the output may be a list of all jobs."""
_SSH_FAILURE_EXIT_STATUS: Final = 255  # see ssh(1)
_HOST_NOT_FOUND: Final = compile_late(rb"ssh: Could not resolve hostname [^\r\n]*\s*")
"""All that ssh prints if it has no address of the host: if a connection breaks, it says so in further words."""
_FAILURE_STATUS_BY_VARIATION: Final[Mapping[str, int | None]] = MappingProxyType(
    {SSH_VARIATION: _SSH_FAILURE_EXIT_STATUS, SUDO_VARIATION: 1, "": None}
)
"""The exit status of a command that has started no shell, by the variation of SHELL; None: scripts tell none of their own."""

# $PWD, unlike $HOME, has no slash at its end and no two in a row
_HOME_SCRIPT: Final = """\
cd -- "${HOME:-/}" 2> /dev/null && [ "$PWD" != / ] && [ -w . ] || {
  printf 'jobs cannot work in the home of %s, %s: %s\n' "$(id -un)" "'${HOME:-}'" \
    'HOME must be a directory that the user can write; a profile can name another one for jobs as UspaceRoot' >&2
  exit 73
}
printf %s "$PWD"
"""
# with _ for a blank in a name, where id has -z
_GROUPS_SCRIPT: Final = """\
g=$(id -Gnz 2> /dev/null | tr ' \\000' '_ ' | grep . || id -Gn)
printf %s "${g% }"
"""


@final
class TargetShell:
    """Runs scripts on one host, for one user, by SHELL of a profile.

    `context` is that of every job: USER_NAME; if given, SSH:HOST, SSH:PORT or SUDO:USER, and the user profile's fields.
    `time_limit` (s) is for a script whose template has no TIME_LIMIT. At most `max_parallel_scripts`
    scripts run at the same time, beside those that need no slot; a START that waits lets others go first. The methods
    that run scripts raise `ScriptError`, `ScriptFailedError` and `OutputError`.
    """

    def __init__(
        self, profile: Profile, context: Mapping[str, str], *, time_limit: float, max_parallel_scripts: int
    ) -> None:
        self.profile = profile
        self.context = dict(context)
        self._user_turn = Turns()
        self.metrics = TargetMetrics(format_target_name(profile, self.context))
        """The numbers of the target system."""
        self._time_limit = time_limit
        self._free_slots = Turns(max_parallel_scripts)
        # No more STARTs wait for a slot at a time: any other script is not behind hundreds of them.
        self._start_turns = Turns(max_parallel_scripts)
        self._local_context: Mapping[str, str] | None = None
        """The context for which SHELL is known to be the shell of this machine: it is not incarnated for each script."""
        command = self._build_shell_command()
        self.is_here = command == _LOCAL_SHELL and not find_shell_variation(self.context)
        """Whether scripts run on this machine, as the user of this process."""
        self._failure_status = _FAILURE_STATUS_BY_VARIATION[find_shell_variation(self.context)]
        self._sessions: ShellSessionPool | None = None
        """The open shells of another host or user; None: each script starts a shell of its own."""
        if self._failure_status is not None:
            from osprofile.jobs.shell.session import ShellSessionPool, find_shell  # late: it needs asyncio

            if find_shell(command) is not None:
                self._sessions = ShellSessionPool(self._build_shell_command)
                self.metrics.gauges["osprofile_open_sessions"] = self._sessions.count_open

    async def close(self) -> None:
        """Close the connections to another host or user."""
        if self._sessions is not None:
            await self._sessions.close()

    def _build_shell_command(self) -> list[str]:
        if self.context == self._local_context:
            return [*_LOCAL_SHELL]
        command = get_shell_command(self.profile, self.context)
        self._local_context = {**self.context} if command == _LOCAL_SHELL else None
        return command

    def render_script(self, template: str, variation: str = "", **fields: str) -> str:
        """Incarnate a template, and return its script. Raises what `incarnate` does, and `JobNotFoundError` for a malformed JOB_ID."""
        # Not strict: not every batch system's script needs all of the fields, for instance the job's id.
        try:
            return build_script(
                incarnate(
                    self.profile,
                    template,
                    fields=fields,
                    variation=variation,
                    context=self.context,
                    strict=False,
                )
            )
        except ValueRefusedError as error:
            if error.field != "JOB_ID" or "JOB_ID" not in fields:
                raise
            message = f"there is no job {quote_name(fields['JOB_ID'])}: {error.message}"
            raise JobNotFoundError(message, hint="job ids of this target system have another form") from error

    def render_task_ids(self, array_id: str, array: str) -> dict[int, str]:
        """Return the ids of an array's tasks by index; none if `array`, the value of ARRAY, is empty."""
        indices = parse_array(array).indices if array else ()
        return {index: self.render_task_id(array_id, str(index)) for index in indices}

    def render_task_id(self, array_id: str, index: str) -> str:
        """Return the id of an array's task. Raises what `incarnate` does."""
        context = {**self.context, "JOB_ID": array_id, "ARRAY_INDEX": index}
        return incarnate(self.profile, TASK_ID_TEMPLATE, context=context).text.strip()

    async def find_user(self) -> None:
        """Ask the target, once, for what the profile needs to know of the user, by one script.

        That is the home, if jobs work below it, and the groups, if there are cases for them (`ext:for`). Raises
        `ScriptFailedError` for a home in which no jobs can work, `TargetError` if the connection fails.
        """
        async with self._user_turn:
            scripts = {}
            if USER_HOME not in self.context and needs_home(self.profile):
                scripts[USER_HOME] = _HOME_SCRIPT
            if USER_GROUPS not in self.context and has_group_cases(self.profile):
                scripts[USER_GROUPS] = _GROUPS_SCRIPT
            if scripts:
                script = "printf '\\0'\n".join(scripts.values())
                try:
                    result = await self.run_to_end(SHELL_TEMPLATE, script, label="looking up the user")
                except OutcomeUnknownError as error:
                    raise TargetError(f"{error.message}; nothing was submitted", hint="repeat it") from None
                values = result.stdout.decode("utf-8", "replace").split("\0")
                self.context.update(zip(scripts, values, strict=True))

    async def run_script(self, template: str, script: str) -> str:
        """Run a script and return its output."""
        return (await self.run_to_end(template, script)).stdout.decode("utf-8", "replace")

    async def run_to_end(
        self,
        template: str,
        script: str,
        *,
        script_count: int = 1,
        label: str = "",
        limit: float | None = None,
        stdout: int | None = None,
        needs_slot: bool = True,
        mark: str = "",
        lock: int | None = None,
    ) -> ProcessResult:
        """Run a script to its end and return its result; errors name `label` (default: the template).

        If a static script is not deployed, deploy those of the profile and run the script again: nothing else is sent
        where they are there. Of joined scripts, all run again, so each of them can be repeated.
        A shell of this machine has the file of `lock`, which is locked, open as 3; only itself is ended then, and not what it runs.
        `mark` is that of `join_scripts`; only the error output behind the last one is that of a script that was cut.
        """
        label = label or template
        script, status_mark = self._mark_exit_status(script)
        if limit is None:
            limit = get_time_limit(self.profile, template, self._time_limit) * script_count
        slot = self._free_slots if needs_slot else contextlib.nullcontext()
        turn = self._start_turns if template == START_TEMPLATE else contextlib.nullcontext()
        with self.metrics.count_result("osprofile_scripts_total", template=template):
            async with turn, slot:
                try:
                    with self.metrics.time("osprofile_script_duration_seconds", template=template):
                        result = await self._run_in_shell(script, limit, stdout, lock)
                        if lacks_static_script(result):
                            await self.deploy_static_scripts(limit)
                            result = await self._run_in_shell(script, limit, stdout, lock)
                except (ScriptError, OutputError) as error:
                    error.message = f"{label}: {error.message}"
                    if isinstance(error, OutcomeUnknownError) and (
                        output := _decode_rest(error.stderr, mark)
                    ):
                        error.message += f"; its error output: {output}"
                    raise
            return self._check_end(template, label, result, status_mark, mark=mark)

    def _mark_exit_status(self, script: str) -> tuple[str, str]:
        """Return a script that tells its exit status, and the mark of this; both as they are where it need not."""
        if self._failure_status is None:
            return script, ""
        mark = generate_mark()
        return mark_exit_status(script, mark), mark

    def _check_end(
        self, template: str, label: str, result: ProcessResult, status_mark: str, *, mark: str = ""
    ) -> ProcessResult:
        """Return the result of a script that ended with 0; raise the error of any other (see `check_result`).

        Raises `ScriptError` if sudo has started no shell, or ssh has not found the host: nothing has run.
        """
        status: int | None = result.exit_code
        if status_mark:
            result, status = extract_exit_status(result, status_mark)
        if status is None and result.exit_code == self._failure_status != _SSH_FAILURE_EXIT_STATUS:
            message = f"{label}: sudo has not started a shell: {_decode_rest(result.stderr, '')}"
            raise ScriptError(
                message, hint="a rule of sudoers must allow the words of SHELL's variation SUDO"
            )
        is_of_ssh = status is None and result.exit_code == _SSH_FAILURE_EXIT_STATUS
        if is_of_ssh and _HOST_NOT_FOUND.fullmatch(result.stdout + result.stderr):
            message = f"{label}: the host is not found: {_decode_rest(result.stderr, '')}"
            raise ScriptError(message, hint="nothing was done; check its name with: ssh HOST true")
        return check_result(template, label, result, status, mark=mark)

    async def run_transfer(self, label: str, script: str, size: int, stdout: int | None = None) -> bytes:
        """Run a script that copies `size` bytes, and return its output; errors name `label`."""
        limit = self._time_limit + size / _MIN_TRANSFER_RATE
        result = await self.run_to_end(SHELL_TEMPLATE, script, label=label, limit=limit, stdout=stdout)
        return result.stdout

    async def exchange(
        self, label: str, script: str, transfer: Callable[[Channel], T]
    ) -> tuple[ProcessResult, T]:
        """Run a script in a shell of its own, whose input and output a thread writes and reads.

        It must end with `exit`. Raises the error of a file of this machine rather than that of the script which this ends.
        """
        script, status_mark = self._mark_exit_status(script)
        data = f"{{ :\n{script}\n}}\n".encode("utf-8", "surrogateescape")
        await need_loop()
        with self.metrics.count_result("osprofile_scripts_total", template=SHELL_TEMPLATE):
            async with self._free_slots:
                try:
                    result, outcome = await exchange(
                        self._build_shell_command(), data, self._time_limit, transfer
                    )
                except (ScriptError, OutputError) as error:
                    error.message = f"{label}: {error.message}"
                    raise
            if isinstance(outcome, OSProfileError) and not isinstance(outcome, OutputError):
                raise outcome
            result = self._check_end(SHELL_TEMPLATE, label, result, status_mark)
            if isinstance(outcome, OSProfileError):
                outcome.message = f"{label}: {outcome.message}"
                raise outcome
            return result, outcome

    async def deploy_static_scripts(self, limit: float | None = None) -> None:
        """Deploy the static scripts of the profile; `limit` is in seconds.

        Raises `ScriptError`, or `ScriptFailedError` with NOTHING_DONE_STATUS: the script that needs them has not run.
        """
        script = deployment_script(static_scripts(self.profile, self.context))
        result = await self._run_in_shell(script, limit or self._time_limit)
        status = None if result.exit_code == _SSH_FAILURE_EXIT_STATUS else result.exit_code
        try:
            check_result(BIN_TEMPLATE, "deploying the static scripts", result, status)
        except ScriptFailedError as error:
            error.exit_status = NOTHING_DONE_STATUS
            raise

    async def _run_in_shell(
        self, script: str, limit: float, stdout: int | None = None, lock: int | None = None
    ) -> ProcessResult:
        """Run a script in an open shell, or, if its output goes to a file, in a shell of its own."""
        if lock is not None:
            try:
                os.ftruncate(lock, 0)
                os.pwrite(lock, wrap_locked_script(script), 0)
                os.lseek(lock, 0, os.SEEK_SET)
            except OSError as error:  # a full disk
                raise ScriptError(f"the script cannot be written: {error.strerror}") from error
            return await run_process(self._build_shell_command(), lock, limit, ends_group=False)
        if self._sessions is not None and stdout is None:
            await need_loop()
            return await self._sessions.run(wrap_script(script), limit)
        return await run_process(self._build_shell_command(), wrap_script(script), limit, stdout=stdout)


def check_result(
    template: str, label: str, result: ProcessResult, status: int | None, *, mark: str = ""
) -> ProcessResult:
    """Return the result of a script that ended with 0; raise `OutcomeUnknownError` or `ScriptFailedError` for any other.

    `status` is the exit status that the script itself has told; None if it has told none.
    """
    # ssh exits with 255 if the connection fails; a script that exits with 255 has printed this status.
    if status is None and 128 < result.exit_code != _SSH_FAILURE_EXIT_STATUS:
        # of another shell: 128, or in some shells 256 or 384, and the signal
        result = result._replace(killing_signal=result.exit_code & 0x7F)
    if result.killing_signal or (
        result.exit_code == _SSH_FAILURE_EXIT_STATUS and status != _SSH_FAILURE_EXIT_STATUS
    ):
        raise _build_interruption_error(label, result, mark)
    if result.exit_code != 0:
        raise build_failure_error(template, label, result)
    return result


def _decode_rest(stderr: bytes, mark: str) -> str:
    rest = extract_rest(stderr, mark) if mark else stderr
    return rest.decode("utf-8", "replace").replace("\r\n", "\n").strip()  # as ssh writes


def _build_interruption_error(label: str, result: ProcessResult, mark: str) -> OutcomeUnknownError:
    output = _decode_rest(result.stderr, mark)
    cause = f"its shell was killed by signal {result.killing_signal}"
    if not result.killing_signal:
        cause = "the connection failed"
    message = f"{label}: {cause}: {output}" if output else f"{label}: {cause}"
    if "Permission denied (" in output:  # of ssh, which was not let in
        message += " (use a key or an agent, or log in once with: incarnate login HOST)"
    error = OutcomeUnknownError(message, hint="it is not known whether it did its work; it can be repeated")
    error.stdout, error.stderr = result.stdout, result.stderr
    return error


def build_failure_error(template: str, label: str, result: ProcessResult) -> ScriptFailedError:
    """Return the error of a script that failed, with what it printed."""
    # Some batch systems print errors to stdout.
    lines = (result.stderr.strip() or result.stdout.strip()).decode("utf-8", "replace").splitlines()
    if len(lines) > _MAX_ERROR_LINES:
        lines[_MAX_ERROR_LINES:] = ["..."]
    output = "\n".join(lines)
    message = f"{label} failed (exit status {result.exit_code})"
    message += f": {output}" if output else " without output"
    return ScriptFailedError(message, template=template, exit_status=result.exit_code, output=output)
