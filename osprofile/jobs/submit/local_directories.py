"""Directories of new jobs on this machine, prepared here: START's program then starts nothing for each but the batch system's command.

What is done here is what profiles/linux/submit.sh does itself for another machine or user, or where a directory is not new
or not safe, and what it would leave is what is left: see there. The mark, the submission and the id are the program's.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import posixpath
import re
from typing import TYPE_CHECKING, Final, final

from osprofile.jobs.files.directory import is_safe_path, make_directory
from osprofile.jobs.shell.process import get_environment
from osprofile.late import NamedTuple, compile_late

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.incarnation.static_scripts import StaticScriptFile

_COMMENT: Final = compile_late("(?m)^ *#.*\n")
_NEED: Final = compile_late("# Needed by: (.*)")
"""The first line of a program job-NAME.sh: a pattern of awk's and Python's form, for a line of the job scripts that need it."""
_BEGINNING: Final = compile_late("(?m)^gpe_begin_job")
_locks: Final[set[int]] = set()
"""The locks that are open: a child that is forked meanwhile has none of them, as it would keep them until it ends."""
_LEFT_FILES: Final = ("answer", "error", "id.told")
"""What a submission that has succeeded leaves in .gpe for nobody."""


@final
class JobPrograms:
    """The functions of job scripts, by the static scripts of a profile."""

    def __init__(self, scripts: Sequence[StaticScriptFile]) -> None:
        self.option, self._functions = "", ""
        """The option by which START names them; empty if there are none."""
        self._parts: list[tuple[str, str]] = []
        """A pattern, and what the job scripts need in which it is found."""
        for script in scripts:
            text = _COMMENT.sub("", script.body)
            if script.path.endswith("/job.sh"):
                self.option, self._functions = f" --job {script.path}", text
            elif match := _NEED.match(script.body):
                self._parts.append((match[1], text))

    def write_scripts(self, directory: str, script: str) -> str:
        """Write the scripts of a job into its .gpe; return what copy_scripts of submit.sh prints of them."""
        parts = [text for pattern, text in self._parts if re.search(pattern, script)]
        _write_new(f"{directory}/job.sh", "".join([self._functions, *parts]))
        _write_new(f"{directory}/script", script)
        is_own, last_line = _BEGINNING.search(script) is None, script[:-1].rpartition("\n")[2]
        return f"{is_own:d}{last_line}"


@final
class LocalDirectories(NamedTuple):
    """The directories of new jobs, each with its lock, and its scripts."""

    directories: Sequence[str]
    lock: int
    """The file descriptor of the lock for all of them, which the shell gets as its input."""
    told: Sequence[str]
    """What submit.sh is told of the scripts of each."""
    links: str
    """The directory of the links to jobs."""
    marks: str
    """The directory of the marks of submissions."""

    def complete(self, directory: str, job_id: str) -> bool:
        """Do what remains after a submission; return whether that is done, else START does it when it is repeated."""
        link = f"{self.links}/{job_id}"
        try:
            try:
                os.symlink(directory, link)
            except FileExistsError:  # of an older job
                os.symlink(directory, new := f"{directory}/.gpe/link")
                os.replace(new, link)
            for name in _LEFT_FILES:
                _remove(f"{directory}/.gpe/{name}")
            _remove(_get_mark(self.marks, directory))
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Let the lock go, and remove it unless a program still has it."""
        _close_lock(self.lock)
        with contextlib.suppress(OSError):
            lock = os.open(path := _get_lock_path(self.directories), os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(path)
            finally:
                os.close(lock)


def prepare_directories(
    directories: Sequence[str], scripts: Sequence[str], programs: JobPrograms, link_directory: str
) -> LocalDirectories | None:
    """Make and lock the directories, and write the scripts; return None where START is to do all of it by itself."""
    home = (get_environment() or os.environ).get("HOME", "")
    if not os.path.isabs(home):
        return None
    links, marks = f"{home}/.gpe/jobs/{link_directory}", f"{home}/.gpe/submitting"
    path, lock = _get_lock_path(directories), None
    try:
        make_directory(links)
        make_directory(marks)
        if any(os.path.lexists(_get_mark(marks, directory)) for directory in directories):
            return None
        for directory in directories:
            make_directory(directory)
            os.mkdir(f"{directory}/.gpe", 0o700)
            if not is_safe_path(directory):
                return None
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        _locks.add(lock)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for directory in directories:  # whoever comes next waits for our lock
            _write_new(f"{directory}/.gpe/lock", f"{path}\n", is_locked=True)
        told = [
            programs.write_scripts(f"{directory}/.gpe", script)
            for directory, script in zip(directories, scripts, strict=True)
        ]
        prepared = LocalDirectories(directories, lock, told, links, marks)
    except OSError:
        return None
    else:
        lock = None
        return prepared
    finally:
        if lock is not None:
            _close_lock(lock)
            _remove(path)


def _close_lock(lock: int) -> None:
    _locks.discard(lock)
    os.close(lock)


def _close_locks() -> None:
    while _locks:
        os.close(_locks.pop())


os.register_at_fork(after_in_child=_close_locks)


def _get_lock_path(directories: Sequence[str]) -> str:
    return f"{directories[0]}/.gpe/several"


def _get_mark(marks: str, directory: str) -> str:
    return f"{marks}/{posixpath.basename(directory.rstrip('/'))}"


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _write_new(path: str, text: str, *, is_locked: bool = False) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        if is_locked:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        view = memoryview(text.encode("utf-8", "surrogateescape"))
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)
