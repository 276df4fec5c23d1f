"""The agent: a client in front, a target system behind.

The conversation's rules are `protocol.Connection`'s, what the client knows is `model.Model`'s, what
is there is `view.View`'s. Commands are obeyed in their order; submissions and terminations go their
own way beside, as many as the connection lets wait. What changes while the client is slow is told in
one update when it has taken the last one, and no command is read as long as it leaves much unread:
so memory has its bounds whatever the client does. Jobs live on when the agent ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from typing import TYPE_CHECKING, Any, Final, final

from osprofile.errors import OSProfileError
from osprofile.executors.ptp.commands import Command, CommandKind, Discarded, Signal
from osprofile.executors.ptp.errors import LocalError, PTPError, RemoteError
from osprofile.executors.ptp.events import (
    Answer,
    Define,
    Element,
    Error,
    ErrorCode,
    Level,
    Message,
    Ok,
    Shutdown,
)
from osprofile.executors.ptp.filters import SECONDS, Filter, filter_of
from osprofile.executors.ptp.jobs import Jobs, fault, sentence
from osprofile.executors.ptp.model import Model
from osprofile.executors.ptp.output import Outputs
from osprofile.executors.ptp.protocol import Connection
from osprofile.executors.ptp.view import INTERVAL, View

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Sequence

    from osprofile.executors.ptp.channel import Channel
    from osprofile.executors.ptp.elements import Node
    from osprofile.executors.ptp.events import Event
    from osprofile.executors.ptp.form import Form
    from osprofile.target.system import TargetSystem

log: Final = logging.getLogger("osprofile.ptp")
MOST_UNSENT: Final = 1024 * 1024
"""Bytes that the client may leave unread before no more commands are read."""
FIRST_LOOK: Final = 10.0
"""Seconds for which the first events wait for all of the machine; then they tell what is known."""
LAST_WORDS: Final = 2.0
"""Seconds that a client has at the end to take what is unsent."""
FINISHING: Final = 10.0
"""Seconds that submissions and terminations have at the end."""
_STREAMS: Final = frozenset({"stdout", "stderr"})
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@final
class Agent:
    """One client's agent; `run` once.

    `user` is whose jobs these are; `interval` (s) is that of `View`. `seed_commands` is that of
    `Connection`.
    """

    def __init__(
        self,
        channel: Channel,
        target: TargetSystem,
        form: Form,
        *,
        user: str = "",
        interval: float = INTERVAL,
        seed_commands: bool = False,
    ) -> None:
        self._channel, self._target, self._form = channel, target, form
        self._connection = Connection(seed_commands=seed_commands)
        self._view = View(
            target,
            self._changed,
            self._warn,
            lambda record: jobs.follow(record),  # noqa: PLW0108  # which is made with the view
            user=user,
            interval=interval,
        )
        self._outputs = Outputs(target, self._tell_output, self._output_told)
        jobs = Jobs(target, form, self._view, self._outputs, self._key_of)
        self._tidy = jobs.tidy
        self._jobs = {
            CommandKind.SUBMIT_JOB: jobs.submit,
            CommandKind.TERMINATE_JOB: jobs.terminate,
            CommandKind.CHANGE_JOB: jobs.change,
            CommandKind.MOVE_JOB: jobs.move,
        }
        self._at_once = {
            CommandKind.INIT: self._init,
            CommandKind.MODEL_DEF: self._define,
            CommandKind.START_EVENTS: self._start,
            CommandKind.QUIT: self._quit,
            CommandKind.FILTER_EVENTS: self._filter,
            CommandKind.SET_FILTERS: self._set_filters,
            CommandKind.CLEAR_FILTERS: self._clear_filters,
        }
        self._model = Model(0)
        self._told_nodes: Sequence[Node] | None = None
        self._muted: set[str] = set()
        self._is_told = False
        self._dirty, self._wanted = asyncio.Event(), asyncio.Event()
        self._work: set[asyncio.Task[None]] = set()

    async def run(self) -> int:
        """Serve until QUIT, the end of the input, or a signal; give the exit code.

        It is 1 where the connection broke, or the client broke the protocol.
        """
        loop = asyncio.get_running_loop()
        reading = asyncio.ensure_future(self._read_all())
        for number in _SIGNALS:
            loop.add_signal_handler(number, reading.cancel)
        lasting = [asyncio.ensure_future(self._lasting(work)) for work in self._loops()]
        try:
            return await reading
        except asyncio.CancelledError:
            log.info("ended by a signal")
            return 0
        finally:
            await self._end(lasting)
            for number in _SIGNALS:
                loop.remove_signal_handler(number)

    def _loops(self) -> list[Callable[[], Coroutine[Any, Any, None]]]:
        view, wanted = self._view, self._wanted
        return [
            view.hear,
            lambda: view.look_on(wanted),
            lambda: self._outputs.read_on(wanted),
            self._tell_on,
        ]

    async def _lasting(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Keep something going, whatever happens to it."""
        while True:
            try:
                await work()
            except OSProfileError as error:
                log.warning("%s", error)
            except Exception as error:  # noqa: BLE001  # the session goes on
                fault(error)
            else:
                return
            await asyncio.sleep(1)

    async def _end(self, lasting: Sequence[asyncio.Task[None]]) -> None:
        """Let the client have the last words, and what is under way come to its end."""
        for task in lasting:
            task.cancel()
        await asyncio.gather(*lasting, return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                await self._channel.flush()
        await self._channel.close()
        if self._work:
            await asyncio.wait(self._work, timeout=FINISHING)
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        await self._target.close()

    # In

    async def _read_all(self) -> int:
        while True:
            data = await self._channel.receive()
            self._connection.receive_data(data)
            try:
                going = self._take_all()
            except RemoteError as error:
                log.error("the session cannot go on: %s", error)  # noqa: TRY400
                return 1
            if not going:
                return int(self._channel.is_broken)
            while self._channel.unsent > MOST_UNSENT:
                await self._channel.flush()
            await asyncio.sleep(0)

    def _take_all(self) -> bool:
        """Obey what came; say whether more may come."""
        while True:
            event = self._connection.next_event()
            if event is Signal.NEED_DATA:
                return True
            if event is Signal.CLOSED:
                return False
            if isinstance(event, Discarded):
                log.warning("discarded: %s", event.reason)
                self._channel.send(event.reply)
            elif isinstance(event, Command):
                log.info("command %s, transaction %d", event.kind, event.tid)
                self._obey(event)

    def _obey(self, command: Command) -> None:
        if command.kind in self._jobs:
            self._begin(self._beside(self._jobs[command.kind](command)))
        else:
            self._at_once.get(command.kind, self._agree)(command)
        if self._connection.wants_events:
            self._wanted.set()
        else:
            self._wanted.clear()

    def _agree(self, command: Command) -> None:
        """Answer what asks for nothing that this agent does otherwise."""
        self._answer(Ok(command.tid))

    def _init(self, command: Command) -> None:
        self._model = Model(self._connection.base_id or 0)
        self._answer(Ok(command.tid))

    def _define(self, command: Command) -> None:
        try:
            self._send(Define(command.tid, self._form.definitions))
        except LocalError as error:
            log.error("the form cannot be told: %s", error)  # noqa: TRY400
            self._answer(Error(command.tid, ErrorCode.INTERNAL, str(error)))
        else:
            self._answer(Ok(command.tid))

    def _start(self, _command: Command) -> None:
        self._model.restart()
        self._outputs.restart()
        self._told_nodes, self._is_told = None, False
        self._dirty.set()

    def _quit(self, command: Command) -> None:
        self._answer(Shutdown(command.tid))

    def _filter(self, command: Command) -> None:
        self._refilter(command, None)

    def _set_filters(self, command: Command) -> None:
        """Mute outputs; what is a filter's holds for machines and queues if it names no element."""
        streams = _STREAMS.intersection(command.arguments)
        self._muted |= streams
        if not command.attributes:
            self._answer(Ok(command.tid))
        else:
            self._refilter(command, Filter(self._model.base_id, children=True))

    def _clear_filters(self, command: Command) -> None:
        """Mute the named outputs no longer; without a name, let no filter hold any more."""
        streams = _STREAMS.intersection(command.arguments)
        self._muted -= streams or _STREAMS
        if not streams:
            self._model.unfilter()
            self._dirty.set()
        self._answer(Ok(command.tid))

    def _refilter(self, command: Command, default: Filter | None) -> None:
        """Take a filter, or say what is wrong with it; the session goes on."""
        try:
            self._model.filter(filter_of(command.arguments, default))
        except OSProfileError as error:
            log.info("transaction %d: no filter: %s", command.tid, error)
            self._answer(Error(command.tid, ErrorCode.FILTER, sentence(error)))
        else:
            self._dirty.set()
            self._answer(Ok(command.tid))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside; at the end of the session it is waited for."""
        task = asyncio.ensure_future(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def _beside(self, work: Coroutine[Any, Any, Answer]) -> None:
        """Do what takes a while, and answer; a new job is told of before its command is answered."""
        answer = await work
        if self._is_told and self._dirty.is_set() and self._connection.wants_events:
            self._update()
        self._answer(answer)

    def _key_of(self, element: Element, id_: str) -> str | None:
        return self._model.key_of(element, id_)

    # Out

    def _send(self, event: Event) -> None:
        self._channel.send(self._connection.send(event))

    def _answer(self, event: Event) -> None:
        """Answer a command; where the session is over, nobody waits for that."""
        try:
            self._send(event)
        except LocalError as error:
            log.info("not told: %s", error)

    def _warn(self, text: str) -> None:
        """Tell the client what it should know, if it listens."""
        if self._wanted.is_set():
            self._answer(Message(Level.WARNING, text))

    def _changed(self) -> None:
        self._dirty.set()

    async def _tell_on(self) -> None:
        """Tell what changed, whenever the client has taken what it was told before."""
        while True:
            await self._wanted.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FIRST_LOOK):
                    await self._view.ready.wait()
            await self._dirty.wait()
            await self._channel.flush()
            if self._connection.wants_events:
                self._update()

    def _update(self) -> None:
        self._dirty.clear()
        nodes, jobs = self._view.nodes, self._view.jobs
        try:
            for step in self._model.steps(jobs):
                events = self._model.update(
                    machine=self._view.machine,
                    nodes=None if nodes is self._told_nodes else nodes,
                    queues=self._view.queues,
                    jobs=step,
                )
                for event in events:
                    self._send(event)
        except PTPError as error:
            log.error("not told: %s", error)  # noqa: TRY400
            return
        self._told_nodes, self._is_told = nodes, True
        if self._model.gave_up():
            self._warn(f"the filters take more than {SECONDS:g} s: there are none any more")
            self._dirty.set()
        for job in jobs:
            if job.state == "COMPLETED":
                self._outputs.ended(job.key)

    async def _tell_output(self, job_id: str, stream: str, text: str) -> bool:
        """Tell what a job wrote; False where it cannot be told now."""
        await self._channel.flush()
        if not self._connection.wants_events or stream in self._muted:
            return False
        events = self._model.output(job_id, [0], **{stream: text})
        for event in events:
            self._send(event)
        return bool(events)

    def _output_told(self, job_id: str, directory: str, paths: Collection[str]) -> None:
        self._begin(self._tidy_when_taken(job_id, directory, paths))

    async def _tidy_when_taken(self, job_id: str, directory: str, paths: Collection[str]) -> None:
        """Remove what an ended job left, when the client has taken what was told of it."""
        await self._channel.flush()
        if not self._channel.is_broken:
            await self._tidy(job_id, directory, paths)
