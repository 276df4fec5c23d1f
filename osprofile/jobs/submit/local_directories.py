"""Directories of new jobs on this machine, prepared here: START's program then starts nothing for each but the batch system's command.

What is done here is what profiles/linux/submit.sh does itself for another machine or user, or where a directory is not new
or not safe, and what it would leave is what is left: see there. The mark, the submission and the id are the program's.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import posixpath
import stat
from typing import TYPE_CHECKING, Final, final

from osprofile.jobs.shell.process import get_environment
from osprofile.late import NamedTuple, compile_late

if TYPE_CHECKING:
    from collections.abc import Sequence

    from osprofile.incarnation.static_scripts import StaticScriptFile

_PART_PATTERNS: Final = {
    "container": compile_late("gpe_container"),
    "parallel": compile_late("gpe_run_(?:mpi|processes)"),
    "names": compile_late("STD(?:OUT|ERR)_NAME="),
    "staging": compile_late(r'gpe_stage "\$@"'),
    "array": compile_late("gpe_array="),
    "waiting": compile_late("gpe_(?:dependency|start_time)="),
}
"""Which job-NAME.sh a job script needs: as copy_scripts of submit.sh."""
_COMMENT: Final = compile_late("(?m)^ *#.*\n")
_BEGINNING: Final = compile_late("(?m)^gpe_begin_job")
_MAX_LINKS: Final = 40
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_LEFT_FILES: Final = ("answer", "error", "id.told")
"""What a submission that has succeeded leaves in .gpe for nobody."""


@final
class JobPrograms:
    """The functions of job scripts, by the static scripts of a profile."""

    def __init__(self, scripts: Sequence[StaticScriptFile]) -> None:
        self._texts = {posixpath.basename(script.path): script.body for script in scripts}
        self.option = next((f" --job {s.path}" for s in scripts if s.path.endswith("/job.sh")), "")
        """The option by which START names them; empty if there are none."""
        self._functions: dict[str, str] = {}

    def write_scripts(self, directory: str, script: str) -> str:
        """Write the scripts of a job into its .gpe; return what copy_scripts of submit.sh prints of them."""
        parts = [f"job-{name}.sh" for name, pattern in _PART_PATTERNS.items() if pattern.search(script)]
        _write_new(f"{directory}/job.sh", "".join(map(self._get_functions, ["job.sh", *parts])))
        _write_new(f"{directory}/script", script)
        is_own, last_line = _BEGINNING.search(script) is None, script[:-1].rpartition("\n")[2]
        return f"{is_own:d}{last_line}"

    def _get_functions(self, name: str) -> str:
        if name not in self._functions:
            self._functions[name] = _COMMENT.sub("", self._texts.get(name, ""))
        return self._functions[name]


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
            _remove(_get_mark(directory))
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Let the lock go, and remove it unless a program still has it."""
        os.close(self.lock)
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
    if not os.path.isabs(_get_home()):
        return None
    links, path, lock = f"{_get_home()}/jobs/{link_directory}", _get_lock_path(directories), None
    try:
        _make_directory(links)
        _make_directory(f"{_get_home()}/submitting")
        if any(os.path.lexists(_get_mark(directory)) for directory in directories):
            return None
        for directory in directories:
            _make_directory(directory)
            os.mkdir(f"{directory}/.gpe", 0o700)
            if not _is_safe(directory):
                return None
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for directory in directories:  # whoever comes next waits for our lock
            _write_new(f"{directory}/.gpe/lock", f"{path}\n", is_locked=True)
        told = [
            programs.write_scripts(f"{directory}/.gpe", script)
            for directory, script in zip(directories, scripts, strict=True)
        ]
        prepared = LocalDirectories(directories, lock, told, links)
    except OSError:
        return None
    else:
        lock = None
        return prepared
    finally:
        if lock is not None:
            os.close(lock)
            _remove(path)


def _get_lock_path(directories: Sequence[str]) -> str:
    return f"{directories[0]}/.gpe/several"


def _get_home() -> str:
    return f"{(get_environment() or os.environ).get('HOME', '')}/.gpe"


def _get_mark(directory: str) -> str:
    return f"{_get_home()}/submitting/{posixpath.basename(directory.rstrip('/'))}"


def _make_directory(path: str) -> None:
    """Make a directory, and those above it, for the owner alone, whatever the umask says."""
    if not os.path.isdir(path):
        _make_directory(os.path.dirname(path))
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)


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


def _is_safe(directory: str) -> bool:
    """Return whether nobody else can replace a directory, or anything that its path leads through: as check_paths of submit.sh."""
    user, links = os.geteuid(), 0
    path, waiting = "/", [name for name in directory.split("/") if name][::-1]
    entry = os.lstat(path)
    while True:
        is_link = stat.S_ISLNK(entry.st_mode)
        is_closed = is_link or not entry.st_mode & _OTHERS_WRITE or entry.st_mode & stat.S_ISVTX
        if entry.st_uid not in {0, user} or not is_closed:
            return False
        if is_link:
            if not waiting:
                return False
            links += 1
            target = os.readlink(path)
            path = "/" if target[0] == "/" else os.path.dirname(path)
            waiting += [name for name in target.split("/") if name not in {"", "."}][::-1]
            if links > _MAX_LINKS or ".." in waiting:  # rare: START looks at it
                return False
            entry = os.lstat(path)
            continue
        if not waiting:
            break
        path = posixpath.join(path, waiting.pop())
        entry = os.lstat(path)
    return stat.S_ISDIR(entry.st_mode) and entry.st_uid == user and not entry.st_mode & _OTHERS_WRITE
