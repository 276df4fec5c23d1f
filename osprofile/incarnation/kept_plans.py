"""Keep plans in the user's cache folder: a command that finds its plan there reads no profile.

A plan is used while every file that it was made from, and every place where another one would come first, is as it was.
Whatever is wrong with a file of the cache, it is as if there were none.
"""

from __future__ import annotations

import marshal
import os
import stat
import sys
from os import path as paths

from osprofile.incarnation.evaluate import compute_digest
from osprofile.incarnation.plain_plan import FORMAT, PlainPlan

TYPE_CHECKING = False  # to import this module takes no time
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, TypeAlias

    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Profile
    from osprofile.profile.repository import Repository

    Key: TypeAlias = tuple[Any, ...]
    Stamp: TypeAlias = tuple[int, ...] | None

SETTLING_TIME = 2.0
"""Seconds after a change in which a file may change again without another time of its change."""
MAX_FILES = 256
_DIGEST_SIZE = 64
_OTHERS = 0o077


def find_plan(
    profile: str, directories: Sequence[str], template: str, variation: str = ""
) -> PlainPlan | None:
    """Return the plan that `keep_plan` has kept for the same arguments, if it can be used.

    `profile` is a name, a path, or empty for the default one; `directories` are searched first.
    """
    try:
        key = _make_key(profile, directories, template, variation)
        data = _read_own_file(_get_path(key))
        digest, content = data[:_DIGEST_SIZE], data[_DIGEST_SIZE:]
        if digest != compute_digest(content).encode():
            return None
        kept_key, stamps, plan = marshal.loads(content)  # noqa: S302  # nobody else can write it
        is_current = kept_key == key and all(_make_stamp(path) == stamp for path, stamp in stamps)
        return PlainPlan(plan) if is_current else None
    except Exception:  # noqa: BLE001  # whatever it is, the engine does without
        return None


def keep_plan(
    repository: Repository, resolved: Profile, plan: Plan, profile: str, directories: Sequence[str]
) -> None:
    """Keep a plan of a profile that was loaded from a repository, for `find_plan` with the same arguments.

    None is kept that has cases or an application of the request, where packages may have profiles, and of files that have
    just changed.
    """
    from osprofile.incarnation.context import has_group_cases
    from osprofile.incarnation.plain_plan import encode_plan
    from osprofile.profile.repository import has_entry_points

    try:
        if plan.cases or has_group_cases(resolved) or has_entry_points():
            return
        stamps = _make_stamps(_list_paths(repository, resolved, directories), repository.created)
        if stamps:
            key = _make_key(profile, directories, plan.template.name, plan.variation)
            content = marshal.dumps((key, stamps, encode_plan(resolved, plan)))
            _write_own_file(_get_path(key), compute_digest(content).encode() + content)
    except Exception:  # noqa: BLE001  # a full disk, or what `find_plan` will not miss
        return


def _make_key(profile: str, directories: Sequence[str], template: str, variation: str) -> Key:
    is_path = "/" in profile or profile.endswith(".xml") or profile in {".", ".."}
    search_path = filter(None, os.environ.get("OSPROFILE_PATH", "").split(os.pathsep))
    return (
        FORMAT,
        __file__,
        sys.version,
        paths.abspath(profile) if is_path else profile,
        template,
        variation,
        tuple(map(paths.abspath, directories)),
        tuple(map(paths.abspath, search_path)),
        tuple(map(paths.abspath, sys.path)),
        os.environ.get("XDG_CONFIG_HOME", ""),
        paths.expanduser("~"),
    )


def _list_paths(repository: Repository, resolved: Profile, directories: Sequence[str]) -> set[str]:
    """Return the paths on which a plan depends: of profiles, settings, distributions and osprofile itself."""
    from osprofile.profile import repository as profiles
    from osprofile.profile.data_directories import INSTALLED_DATA

    settings = filter(None, (profiles.get_config_directory(), profiles.SITE_DIRECTORY))
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "osprofile"]
    return {
        *repository.probed,
        *(source.name for document in resolved.documents for source in document.sources),
        *directories,
        *(paths.join(directory, "config.toml") for directory in settings),
        *profiles.iter_metadata_paths(),
        *filter(None, (module.__file__ for module in modules)),
        INSTALLED_DATA,
    }


def _make_stamps(files: Iterable[str], begin: float) -> list[tuple[str, Stamp]]:
    """Return the stamps of files that were read after a time (s since 1970); none if one of them had just changed."""
    stamps = [(path, _make_stamp(path)) for path in sorted(set(map(paths.abspath, files)))]
    latest = max(change for _, stamp in stamps for change in (stamp or ())[3:])
    return stamps if latest < (begin - SETTLING_TIME) * 1e9 else []


def _make_stamp(path: str) -> Stamp:
    """Return what differs for another file, or after a change; None for no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _get_path(key: Key) -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "")  # a relative one is to be ignored
    cache = cache if cache.startswith("/") else paths.expanduser("~/.cache")
    return paths.join(cache, "osprofile", compute_digest(repr(key).encode("utf-8", "surrogateescape"))[:32])


def _read_own_file(path: str) -> bytes:
    _require_own(os.lstat(paths.dirname(path)), stat.S_IFDIR)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        _require_own(status, stat.S_IFREG)
        return os.read(descriptor, status.st_size)
    finally:
        os.close(descriptor)


def _write_own_file(path: str, data: bytes) -> None:
    folder = paths.dirname(path)
    cache = paths.dirname(folder)
    if not paths.isdir(cache):
        os.mkdir(cache, 0o700)
    if os.stat(cache).st_uid == os.geteuid() and not paths.lexists(folder):
        os.mkdir(folder, 0o700)
    _require_own(os.lstat(folder), stat.S_IFDIR)
    names = os.listdir(folder)
    for name in names if len(names) >= MAX_FILES else ():
        os.unlink(paths.join(folder, name))
    temporary_path = f"{path}.{os.urandom(4).hex()}"
    try:
        with open(os.open(temporary_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        os.replace(temporary_path, path)
    except BaseException:
        os.unlink(temporary_path)
        raise


def _require_own(status: os.stat_result, kind: int) -> None:
    """Raise `PermissionError` for what is not of this kind, not this user's, or not closed to others."""
    is_own = status.st_uid == os.geteuid() and not status.st_mode & _OTHERS
    if stat.S_IFMT(status.st_mode) != kind or not is_own:
        raise PermissionError
