"""The agent: it serves one client for one target system.

`protocol.Connection` has the rules of the session, `model.Model` what the client knows, and
`system_view.SystemView` what the target system has. Commands are handled in their order; those
about jobs run in tasks of their own. Changes that occur while the client is slow are sent as one
update after the client has read the last one, and no command is read while the client leaves much
unread, so that memory is bounded whatever the client does. Jobs go on when the agent ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.errors import OSProfileError
from osprofile.executors.failures import format_error
from osprofile.executors.ptp import events
from osprofile.executors.ptp.events import ErrorCode
from osprofile.executors.ptp.filters import MATCH_TIME_LIMIT, Filter, parse_filter
from osprofile.executors.ptp.job_commands import JobCommands, log_internal_error
from osprofile.executors.ptp.job_output import OutputFollower
from osprofile.executors.ptp.model import Model
from osprofile.executors.ptp.protocol import (
    JOB_COMMANDS,
    Command,
    CommandKind,
    Connection,
    DiscardedCommand,
    InputState,
)
from osprofile.executors.ptp.system_view import POLL_INTERVAL, SystemView
from osprofile.executors.ptp.wire import LocalError, PTPError, RemoteError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence

    from osprofile.executors.ptp.channel import Channel
    from osprofile.executors.ptp.elements import Attributes
    from osprofile.executors.ptp.events import Element, Event
    from osprofile.executors.ptp.form import SubmissionForm
    from osprofile.jobs.target_system import TargetSystem

log: Final = logging.getLogger("osprofile.ptp")
MAX_UNSENT_BYTES: Final = 1024 * 1024
"""Bytes that the client may leave unread before the agent stops reading commands."""
FIRST_POLL_TIMEOUT: Final = 10.0
"""Seconds to wait for the first poll before the first events are sent with what is known."""
FINAL_FLUSH_TIMEOUT: Final = 2.0
"""Seconds that a client has at the end to read what is unsent."""
FINISH_TIMEOUT: Final = 10.0
"""Seconds that running submissions and terminations have at the end."""
_OUTPUT_STREAMS: Final = frozenset({"stdout", "stderr"})
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@final
class Agent:
    """The agent of one client; call `serve_client` once.

    `user` is the jobs' owner. `interval` (seconds) is passed to `SystemView`, `draft_commands` to
    `Connection`.
    """

    def __init__(
        self,
        channel: Channel,
        target: TargetSystem,
        form: SubmissionForm,
        *,
        user: str = "",
        interval: float = POLL_INTERVAL,
        draft_commands: bool = False,
    ) -> None:
        self._channel, self._target, self._form = channel, target, form
        self._connection = Connection(draft_commands=draft_commands)
        self._model_changed, self._events_wanted = asyncio.Event(), asyncio.Event()
        self._view = SystemView(
            target,
            self._model_changed.set,
            self._warn_client,
            lambda record: self._jobs.follow_output(record),  # noqa: PLW0108  # `_jobs` needs the view
            user=user,
            interval=interval,
        )
        self._outputs = OutputFollower(target, self._send_output, self._handle_output_end)
        self._jobs = JobCommands(target, form, self._view, self._outputs, self._find_key)
        self._model = Model(0)
        self._sent_nodes: Mapping[str, Attributes] | None = None
        self._muted_streams: set[str] = set()
        self._model_was_sent = False
        self._background_tasks: set[asyncio.Task[None]] = set()

    async def serve_client(self) -> int:
        """Serve until QUIT, the end of the input, or a signal, and return the exit code.

        It is 1 if the connection broke or the client violated the protocol, else 0.
        """
        loop = asyncio.get_running_loop()
        reading = asyncio.ensure_future(self._read_commands())
        for number in _SIGNALS:
            loop.add_signal_handler(number, reading.cancel)
        loop_tasks = [asyncio.ensure_future(self._keep_running(loop)) for loop in self._list_loops()]
        try:
            return await reading
        except asyncio.CancelledError:
            log.info("ended by a signal")
            return 0
        finally:
            await self._end_session(loop_tasks)
            for number in _SIGNALS:
                loop.remove_signal_handler(number)

    def _list_loops(self) -> list[Callable[[], Coroutine[Any, Any, None]]]:
        view, wanted = self._view, self._events_wanted
        return [
            view.follow_events,
            lambda: view.poll_repeatedly(wanted),
            lambda: self._outputs.read_repeatedly(wanted),
            self._send_updates,
        ]

    async def _keep_running(self, loop: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a loop, and start it again after an error."""
        while True:
            try:
                await loop()
            except OSProfileError as error:
                log.warning("%s", error)
            except Exception as error:  # noqa: BLE001  # the session goes on
                log_internal_error(error)
            else:
                return
            await asyncio.sleep(1)

    async def _end_session(self, loop_tasks: Sequence[asyncio.Task[None]]) -> None:
        """Send what is unsent, close the channel, and wait for running commands."""
        for task in loop_tasks:
            task.cancel()
        await asyncio.gather(*loop_tasks, return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FINAL_FLUSH_TIMEOUT):
                await self._channel.flush()
        await self._channel.close()
        if self._background_tasks:
            await asyncio.wait(self._background_tasks, timeout=FINISH_TIMEOUT)
        for task in self._background_tasks:
            task.cancel()
        await asyncio.gather(*self._background_tasks, return_exceptions=True)

    # Input

    async def _read_commands(self) -> int:
        while True:
            data = await self._channel.receive()
            self._connection.receive_data(data)
            try:
                going = self._handle_received()
            except RemoteError as error:
                log.error("the session cannot go on: %s", error)  # noqa: TRY400
                return 1
            if not going:
                return int(self._channel.is_broken)
            while self._channel.unsent > MAX_UNSENT_BYTES:
                await self._channel.flush()
            await asyncio.sleep(0)  # other tasks run even if the client never stops sending

    def _handle_received(self) -> bool:
        """Handle all complete commands; return False if there will be no more."""
        while True:
            event = self._connection.next_event()
            if event is InputState.NEED_DATA:
                return True
            if event is InputState.CLOSED:
                return False
            if isinstance(event, DiscardedCommand):
                log.warning("discarded: %s", event.reason)
                self._channel.send(event.reply)
            elif isinstance(event, Command):
                log.info("command %s, transaction %d", event.kind, event.tid)
                self._dispatch_command(event)

    def _dispatch_command(self, command: Command) -> None:
        match command.kind:
            case kind if kind in JOB_COMMANDS:
                self._start_background(self._run_and_answer(command))
            case CommandKind.MODEL_DEF:
                self._define_attributes(command)
            case CommandKind.START_EVENTS:
                self._model_changed.set()  # what has changed meanwhile: the client keeps what it knew
            case CommandKind.QUIT:
                self._send_answer(events.shutdown(command.tid))
            case CommandKind.FILTER_EVENTS:
                self._apply_filter(command, None)
            case CommandKind.SET_FILTERS:
                self._handle_set_filters(command)
            case CommandKind.CLEAR_FILTERS:
                self._handle_clear_filters(command)
            case kind:  # others have no effect here
                if kind is CommandKind.INIT:
                    self._model = Model(self._connection.base_id or 0)
                self._send_answer(events.ok(command.tid))
        if self._connection.wants_events:
            self._events_wanted.set()
        else:
            self._events_wanted.clear()

    def _define_attributes(self, command: Command) -> None:
        try:
            self._send_event(events.define_attributes(command.tid, self._form.definitions))
        except LocalError as error:
            log.error("the form cannot be sent: %s", error)  # noqa: TRY400
            self._send_answer(events.command_error(command.tid, ErrorCode.INTERNAL, str(error)))
        else:
            self._send_answer(events.ok(command.tid))

    def _handle_set_filters(self, command: Command) -> None:
        """Mute outputs, and set a filter; by default it is for machines and queues."""
        streams = _OUTPUT_STREAMS.intersection(command.arguments)
        self._muted_streams |= streams
        if not command.attributes:
            self._send_answer(events.ok(command.tid))
        else:
            self._apply_filter(command, Filter(self._model.base_id, children=True))

    def _handle_clear_filters(self, command: Command) -> None:
        """Unmute the named outputs; without a name, unmute all and remove all filters."""
        streams = _OUTPUT_STREAMS.intersection(command.arguments)
        self._muted_streams -= streams or _OUTPUT_STREAMS
        if not streams:
            self._model.clear_filters()
            self._model_changed.set()
        self._send_answer(events.ok(command.tid))

    def _apply_filter(self, command: Command, default: Filter | None) -> None:
        """Set a filter, or answer what is wrong with it."""
        try:
            self._model.set_filter(parse_filter(command.arguments, default))
        except OSProfileError as error:
            log.info("transaction %d: filter refused: %s", command.tid, error)
            self._send_answer(events.command_error(command.tid, ErrorCode.FILTER, format_error(error)))
        else:
            self._model_changed.set()
            self._send_answer(events.ok(command.tid))

    def _start_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something as a task that the end of the session waits for."""
        task = asyncio.ensure_future(work)
        self._background_tasks.add(task)
        task.add_done_callback(self._background_tasks.discard)

    async def _run_and_answer(self, command: Command) -> None:
        """Run a job command and answer it; a new job is sent to the client before the answer."""
        answer = await self._jobs.run_command(command)
        if self._model_was_sent and self._model_changed.is_set() and self._connection.wants_events:
            self._send_model_update()
        self._send_answer(answer)

    def _find_key(self, element: Element, id_: str) -> str | None:
        return self._model.find_key(element, id_)

    # Output

    def _send_event(self, event: Event) -> None:
        self._channel.send(self._connection.send(event))

    def _send_answer(self, event: Event) -> None:
        """Answer a command; an answer after the end of the session is dropped."""
        try:
            self._send_event(event)
        except LocalError as error:
            log.info("not sent: %s", error)

    def _warn_client(self, text: str) -> None:
        """Send a warning to the client, if it wants events."""
        if self._events_wanted.is_set():
            self._send_answer(events.message("WARNING", text))

    async def _send_updates(self) -> None:
        """Send an update after each change, when the client has read the last update."""
        while True:
            await self._events_wanted.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FIRST_POLL_TIMEOUT):
                    await self._view.first_poll_done.wait()
            await self._model_changed.wait()
            await self._channel.flush()
            if self._connection.wants_events:
                self._send_model_update()

    def _send_model_update(self) -> None:
        self._model_changed.clear()
        nodes, jobs = self._view.nodes, self._view.jobs
        try:
            for step in self._model.plan_updates(jobs):
                changes = self._model.update_elements(
                    machine=self._view.machine,
                    nodes=None if nodes is self._sent_nodes else nodes,
                    queues=self._view.queues,
                    jobs=step,
                )
                for event in changes:
                    self._send_event(event)
        except PTPError as error:
            log.error("not sent: %s", error)  # noqa: TRY400
            return
        self._sent_nodes, self._model_was_sent = nodes, True
        if self._model.drop_slow_filters():
            self._warn_client(f"the filters take more than {MATCH_TIME_LIMIT:g} s: all are removed")
            self._model_changed.set()
        for job in jobs:
            if job.state == "COMPLETED":
                self._outputs.mark_ended(job.key)

    async def _send_output(self, job_id: str, stream: str, text: str) -> bool:
        """Send what a job wrote; return False if it cannot be sent now."""
        await self._channel.flush()
        if not self._connection.wants_events or stream in self._muted_streams:
            return False
        changes = self._model.build_output_events(job_id, [0], **{stream: text})
        for event in changes:
            self._send_event(event)
        return bool(changes)

    def _handle_output_end(self, job_id: str, directory: str, paths: Collection[str]) -> None:
        self._start_background(self._remove_files_after_flush(job_id, directory, paths))

    async def _remove_files_after_flush(self, job_id: str, directory: str, paths: Collection[str]) -> None:
        """Remove the files of an ended job after the client has read its output."""
        await self._channel.flush()
        if not self._channel.is_broken:
            await self._jobs.remove_job_files(job_id, directory, paths)
