"""Grid Engine: the reporting file, `$SGE_ROOT/$SGE_CELL/common/reporting`, with `.0`, `.1` behind it.

Fields between colons, at least 14. The first is the time: seconds since 1970, of which ten
characters count (Univa writes milliseconds). The second is the kind of line:

    acct      job in field 8, task in 38 (0 where there is none), failed in 14, exit status in 15
              failed is not 0       failed, its number
              exit status -1        nothing: a job that goes on
              else                  done, the exit status
    job_log   event in field 4, job in 5, task in 6
              pending               pending
              delivered             active
              deleted               done, 0: also behind a job's own end

With `--extended` a deleted job says failed, 0, and only if it was never delivered, and not when the
scheduler forgets a job that ended; and job_log also tells:

    restart, migrate, released      pending
    held, suspended                 suspended
    unsuspended                     active

Without a timestamp everything is replayed.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import EventError
from osprofile.events.clock import Seconds
from osprofile.events.sources.base import Endings, LogSource, SharedLines, TimedLines, integer
from osprofile.events.sources.fork import older_wanted
from osprofile.events.tail import Chain, Starts, open_regular

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.events.sources.base import Options, Source

TABLE: Final = {"pending": ";1;0\n", "delivered": ";2;0\n", "deleted": ";8;0\n"}
"""The events of job_log, by their beginnings."""
MORE: Final = {
    "restart": ";1;0\n",
    "migrate": ";1;0\n",
    "released": ";1;0\n",
    "held": ";16;0\n",
    "suspended": ";16;0\n",
    "unsuspended": ";2;0\n",
}
_F: Final = ":[^:\\n]*+"
_LINE: Final = (
    r"\n([0-9]{10}|[0-9]{1,9}(?=:))[^:\n]*+:(?:"
    rf"job_log{_F}:(EVENTS)(?=:):([^:\n]*+):([^:\n]*+){_F * 2}INITIATOR{_F * 5}"
    rf"|acct{_F * 5}:([^:\n]*+){_F * 5}:([^:\n]*+{_F})(?:{_F * 22}:([^:\n]*+))?+)"
)
_FIRST: Final = re.compile(rb"^([0-9]{1,10})[^:\n]*:(?:[^:\n]*:){12}", re.MULTILINE)
_SETTING: Final = re.compile(
    r"^\s*(?:export\s+)?(SGE_ROOT|SGE_CELL)=[\"']?([^\s\"';]*)", re.MULTILINE
)

Found = tuple[str, str, str, str, str, str, str]
"""Time; event, job and task of job_log; job, failed:exit and task of acct."""


def open_source(options: Options) -> Source:
    """Open the reporting file and the rotated ones that are needed."""
    wanted = older_wanted(_FIRST, options.since)
    log = Chain(options.path(_reporting(options.settings)), 0, Starts(wanted))
    kind = Extended if options.extended else Lines
    return LogSource([(log, kind(Seconds(options.since)))])


def _reporting(settings: Mapping[str, str]) -> str:
    """Give the place that Grid Engine's own settings name; empty where they do not say.

    They are sge_root and sge_cell of the configuration, else those of the file sge_config, else
    the environment's. Raises `EventError` if that file cannot be read.
    """
    known = {"SGE_CELL": "default"} | {k: v for k, v in os.environ.items() if k.startswith("SGE_")}
    path = settings.get("sge_config", "")
    if path and os.path.exists(path):
        try:
            with open(open_regular(path), encoding="utf-8", errors="surrogateescape") as file:
                known |= dict(_SETTING.findall(file.read()))
        except OSError as error:
            raise EventError(f"{path} (sge_config) cannot be read: {error.strerror}") from error
    for name in ("SGE_ROOT", "SGE_CELL"):
        given = settings.get(name.lower(), "undefined")
        if given and given != "undefined":
            known[name] = given
    root = known.get("SGE_ROOT")
    return f"{root}/{known['SGE_CELL']}/common/reporting" if root else ""


def _account(words: str) -> str | None:
    """Read failed:exit; None where it tells of nothing, being no numbers, or of a job that goes on."""
    failed_words, _, code_words = words.partition(":")
    failed, code = integer(failed_words), integer(code_words)
    if failed is None or code is None or code_words.startswith("-1"):
        return None
    return f";4;{failed}\n" if failed else f";8;{code}\n"


@final
class Lines(SharedLines):
    """What the original tells."""

    pattern = re.compile(_LINE.replace("EVENTS", "|".join(TABLE)).replace("INITIATOR", _F))

    def __init__(self, stamps: Seconds) -> None:
        super().__init__(stamps)
        self._account = Endings({}, _account)

    def fast(self, found: list[Found]) -> str:
        """Give the events of all lines; odd are bad numbers, and jobs that go on."""
        stamps, account = self.stamps, self._account
        return "".join(
            [
                f"{stamps[when]}{job}.{task}{TABLE[event]}"
                if event
                else f"{stamps[when]}{ended}.{its_task or '0'}{account[how]}"
                for when, event, job, task, ended, how, its_task in found
            ]
        )

    def slow(self, found: Found) -> str:
        """Give the event of one line."""
        when, event, job, task, ended, how, its_task = found
        stamp = self.stamps.slow(when)
        ending = TABLE[event] if event else _account(how)
        if not stamp or not ending:
            return ""
        return (
            f"{stamp}{job}.{task}{ending}" if event else f"{stamp}{ended}.{its_task or '0'}{ending}"
        )


@final
class Extended(TimedLines):
    """What the original tells, and what it drops; remembers which jobs were delivered."""

    pattern = re.compile(
        _LINE.replace("EVENTS", "|".join([*TABLE, *MORE])).replace("INITIATOR", r":([^:\n]*+)")
    )

    def __init__(self, stamps: Seconds) -> None:
        super().__init__(stamps)
        self._running: set[str] = set()

    def fast(self, found: list[tuple[str, ...]]) -> str:
        """Take each line by itself: what it means depends on those before it."""
        return "".join(map(self.slow, found))

    def slow(self, found: tuple[str, ...]) -> str:
        """Give the event of one line."""
        when, event, job, task, initiator, ended, how, its_task = found
        name = f"{job}.{task}" if event else f"{ended}.{its_task or '0'}"
        ending = self._ending(name, event, initiator) if event else _account(how)
        if ending and not event:
            self._running.discard(name)
        stamp = self.stamps.slow(when)
        return f"{stamp}{name}{ending}" if stamp and ending else ""

    def _ending(self, name: str, event: str, initiator: str) -> str:
        if event == "deleted":
            gone = name in self._running or initiator == "scheduler"
            return "" if gone else ";4;0\n"
        if event == "delivered":
            self._running.add(name)
        elif event in ("restart", "migrate"):
            self._running.discard(name)
        return TABLE.get(event) or MORE[event]
