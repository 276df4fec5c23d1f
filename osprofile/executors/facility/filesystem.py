"""Files of a target system by the API's operations: LIST, DELETE, the file transfer and the file programs of `TargetFiles`.

A path is absolute and has no part `..`, as DELETE has it. LIST is asked for each path before it is read or written, so that
a profile that limits the field PATH of LIST limits all operations.
"""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import io
import os
import posixpath
import stat
import tempfile
from typing import TYPE_CHECKING, Any, Final

from osprofile.errors import OSProfileError, RequestError, ScriptFailedError
from osprofile.executors.facility.problems import ProblemError, refuse
from osprofile.text import quote_path

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from osprofile.jobs.shell.output import FileEntry
    from osprofile.jobs.target_system import TargetSystem

MAX_SIZE: Final = 5 << 20
"""Bytes that are uploaded, or read by one operation."""
_MAX_PATH_LENGTH: Final = 4095
_MISSING_OPTIONS: Final = {
    "ls": ("recursive", "dereference"),
    "stat": ("dereference",),
    "compress": ("match_pattern",),
}
"""What LIST, or tar, cannot do."""
_TAR_OPTIONS: Final = {"none": "", "gzip": "z", "bzip2": "j", "xz": "J"}
_TYPE_NAMES: Final = {
    "f": "file", "d": "directory", "l": "link", "b": "block device", "c": "character device", "p": "pipe", "s": "socket",
}  # fmt: skip
_TYPE_BITS: Final = {
    "f": stat.S_IFREG, "d": stat.S_IFDIR, "l": stat.S_IFLNK, "b": stat.S_IFBLK, "c": stat.S_IFCHR, "p": stat.S_IFIFO,
    "s": stat.S_IFSOCK,
}  # fmt: skip


def check_path(path: str, name: str = "path") -> str:
    """Return a path that means the same wherever a script runs. Raises `ProblemError`."""
    if not path.startswith("/"):
        raise refuse(name, "give an absolute path: it begins with /")
    if ".." in path.split("/"):
        raise refuse(name, "a path has no part ..")
    if any("\ud800" <= character <= "\udfff" or character < " " or character == "\x7f" for character in path):
        raise refuse(name, "a path has no control characters")
    if len(path.encode()) > _MAX_PATH_LENGTH:
        raise refuse(name, f"a path has at most {_MAX_PATH_LENGTH} bytes")
    return path


def check_request(command: str, args: Mapping[str, Any]) -> None:
    """Refuse what cannot be done before a task begins. Raises `ProblemError`."""
    for name in ("path", "target_path", "link_path"):
        if name in args:
            check_path(args[name], name)
    for name in _MISSING_OPTIONS.get(command, ()):
        if args.get(name):
            raise ProblemError("not-implemented", f"{command}: {name} is not available", hint="leave it out")
    if command == "chown" and not (args.get("owner") or args.get("group")):
        raise refuse("owner", "give an owner, or a group")
    if command in {"head", "tail"} and (args.get("bytes") is None) == (args.get("lines") is None):
        raise refuse("lines", "give either bytes or lines")


def run_operation(target: TargetSystem, command: str, args: Mapping[str, Any]) -> Awaitable[Any]:
    """Return the output of an operation, as JSON."""
    return _OPERATIONS[command](target, args["path"], args)


async def upload(target: TargetSystem, path: str, content: bytes) -> str:
    """Write a file, for its owner only; it appears when it is complete."""
    entry = await _find(target, path)
    if entry is not None and entry.type == "d":
        raise RequestError(f"{quote_path(path)} is a directory", hint="add the name of the file")
    await target.files.upload_file(io.BytesIO(content), path)
    return "File uploaded successfully"


async def _list(target: TargetSystem, path: str, args: Mapping[str, Any]) -> list[dict[str, Any]]:
    try:
        entries = await target.files.list_directory(path)
    except ScriptFailedError:
        entry = await target.files.stat_file(path)
        if entry.type == "d":
            raise
        entries = [entry]
    hides = not args.get("showHidden")
    return [_format_entry(entry) for entry in entries if not (hides and entry.name.startswith("."))]


async def _stat(target: TargetSystem, path: str, _args: Mapping[str, Any]) -> dict[str, Any]:
    entry = await target.files.stat_file(path)
    return {"mode": _TYPE_BITS.get(entry.type, 0) | entry.mode, "size": entry.size, "mtime": entry.mtime}


async def _get_type(target: TargetSystem, path: str, _args: Mapping[str, Any]) -> str:
    entry = await target.files.stat_file(path)
    return _TYPE_NAMES.get(entry.type, "unknown")


async def _view(target: TargetSystem, path: str, args: Mapping[str, Any]) -> dict[str, Any]:
    offset = args.get("offset") or 0
    data = await _read_range(target, path, offset, args.get("size") or MAX_SIZE)
    return _format_content(data, "bytes", offset, offset + len(data))


async def _head(target: TargetSystem, path: str, args: Mapping[str, Any]) -> dict[str, Any]:
    count: int | None = args.get("bytes")
    lines, skips = args.get("lines", 0), args.get("skipTrailing")
    if count is not None and not skips:
        return _format_content(data := await _read_range(target, path, 0, count), "bytes", 0, len(data))
    data = await _read_whole(target, path) if skips else await _read_range(target, path, 0, MAX_SIZE)
    if count is not None:
        data = data[: max(len(data) - count, 0)]
        return _format_content(data, "bytes", 0, len(data))
    found = _split_lines(data)
    chosen = found[: max(len(found) - lines, 0)] if skips else found[:lines]
    return _format_content(b"".join(chosen), "lines", 0, len(chosen))


async def _tail(target: TargetSystem, path: str, args: Mapping[str, Any]) -> dict[str, Any]:
    count: int | None = args.get("bytes")
    lines, skips = args.get("lines", 0), args.get("skipHeading")
    if count is not None and not skips:
        end = await _find_size(target, path)
        begin = max(end - count, 0)
        data = await _read_range(target, path, begin, count)
        return _format_content(data, "bytes", begin, begin + len(data))
    if skips:
        data = await _read_whole(target, path)
        if count is not None:
            return _format_content(data[count:], "bytes", min(count, len(data)), len(data))
        found = _split_lines(data)
        return _format_content(b"".join(found[lines:]), "lines", min(lines, len(found)), len(found))
    await target.files.stat_file(path)
    part = await target.files.read_file_part(path, last_lines=lines)
    data = b"" if part is None else part.data
    if len(data) > MAX_SIZE:
        raise _build_size_error(path)
    return _format_content(data, "lines", 0, len(_split_lines(data)))


async def _download(target: TargetSystem, path: str, _args: Mapping[str, Any]) -> str:
    return base64.b64encode(await _read_whole(target, path)).decode("ascii")


async def _remove(target: TargetSystem, path: str, _args: Mapping[str, Any]) -> str:
    await target.files.stat_file(path)  # DELETE takes a missing file for a deleted one
    await target.files.delete_path(path)
    return "File or directory deleted successfully"


async def _find(target: TargetSystem, path: str) -> FileEntry | None:
    """Return a file; None if there is none. Raises `IncarnationError` for a path that the profile does not allow."""
    try:
        return await target.files.stat_file(path)
    except ScriptFailedError:
        return None


async def _checksum(target: TargetSystem, path: str, _args: Mapping[str, Any]) -> dict[str, str]:
    if (await target.files.stat_file(path)).type != "f":
        raise RequestError(f"{quote_path(path)} is not a regular file", hint="give the path of a file")
    output = await target.files.run_file_program(["sha256sum", "--", path])
    # It puts a backslash in front for a path that has one.
    return {"algorithm": "SHA-256", "checksum": output.decode("latin-1").lstrip("\\").split()[0]}


async def _change(target: TargetSystem, path: str, words: list[str]) -> dict[str, Any]:
    """Run a program, and return the file that it has made or changed."""
    await target.files.run_file_program(words)
    return _format_entry(await target.files.stat_file(path))


async def _make_directory(target: TargetSystem, path: str, args: Mapping[str, Any]) -> dict[str, Any]:
    await _find(target, path)
    return await _change(target, path, ["mkdir", *(["-p"] if args.get("parent") else []), "--", path])


async def _set_mode(target: TargetSystem, path: str, args: Mapping[str, Any]) -> dict[str, Any]:
    await target.files.stat_file(path)
    return await _change(target, path, ["chmod", args["mode"], "--", path])


async def _set_owner(target: TargetSystem, path: str, args: Mapping[str, Any]) -> dict[str, Any]:
    await target.files.stat_file(path)
    owner, group = args.get("owner") or "", args.get("group") or ""
    return await _change(target, path, ["chown", f"{owner}:{group}" if group else owner, "--", path])


async def _link(target: TargetSystem, path: str, args: Mapping[str, Any]) -> dict[str, Any]:
    await _find(target, path)
    await _find(target, args["link_path"])
    return await _change(target, args["link_path"], ["ln", "-s", "--", path, args["link_path"]])


async def _copy(target: TargetSystem, path: str, args: Mapping[str, Any]) -> dict[str, Any]:
    await target.files.stat_file(path)
    await _find(target, args["target_path"])
    links = "-L" if args.get("dereference") else "-P"
    return await _change(
        target, args["target_path"], ["cp", "-R", "-p", links, "--", path, args["target_path"]]
    )


async def _move(target: TargetSystem, path: str, args: Mapping[str, Any]) -> dict[str, Any]:
    await target.files.stat_file(path)
    await _find(target, args["target_path"])
    return await _change(target, args["target_path"], ["mv", "-f", "--", path, args["target_path"]])


async def _compress(target: TargetSystem, path: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Write an archive, which has its name when it is complete."""
    await target.files.stat_file(path)
    await _find(target, args["target_path"])
    directory, name = posixpath.split(path.rstrip("/"))
    options = f"-c{_get_tar_option(args)}{'h' if args.get('dereference') else ''}f"
    new = f"{args['target_path']}.{os.urandom(6).hex()}.new"
    try:
        # The name of an archive with a colon would be that of a host.
        await target.files.run_file_program(
            ["tar", "--force-local", options, new, "-C", directory or "/", "--", name or "."]
        )
        return await _change(target, args["target_path"], ["mv", "-f", "--", new, args["target_path"]])
    except OSProfileError:
        with contextlib.suppress(OSProfileError):
            await target.files.run_file_program(["rm", "-f", "--", new])
        raise


async def _extract(target: TargetSystem, path: str, args: Mapping[str, Any]) -> dict[str, Any]:
    await target.files.stat_file(path)
    await _find(target, args["target_path"])
    await target.files.run_file_program(["mkdir", "-p", "--", args["target_path"]])
    options = f"-xo{_get_tar_option(args)}f"
    return await _change(
        target, args["target_path"], ["tar", "--force-local", options, path, "-C", args["target_path"]]
    )


def _get_tar_option(args: Mapping[str, Any]) -> str:
    return _TAR_OPTIONS[args.get("compression", "gzip").rpartition(":")[2]]


_OPERATIONS: Final[Mapping[str, Callable[[TargetSystem, str, Mapping[str, Any]], Awaitable[Any]]]] = {
    "ls": _list,
    "stat": _stat,
    "file": _get_type,
    "view": _view,
    "head": _head,
    "tail": _tail,
    "download": _download,
    "rm": _remove,
    "checksum": _checksum,
    "chmod": _set_mode,
    "chown": _set_owner,
    "compress": _compress,
    "cp": _copy,
    "extract": _extract,
    "mkdir": _make_directory,
    "mv": _move,
    "symlink": _link,
}
OPERATIONS: Final = tuple(_OPERATIONS)
"""All operations but the upload."""


async def _read_range(target: TargetSystem, path: str, offset: int, count: int) -> bytes:
    """Return at most `count` bytes of a file from `offset` on."""
    await target.files.stat_file(path)
    with tempfile.TemporaryFile() as file:
        await target.files.download_file(path, file.fileno(), offset, count)
        file.seek(0)
        return file.read()


def _split_lines(data: bytes) -> list[bytes]:
    r"""Return the lines with their ends, as head(1) has them: `\r` is no end."""
    return list(io.BytesIO(data))


async def _read_whole(target: TargetSystem, path: str) -> bytes:
    data = await _read_range(target, path, 0, MAX_SIZE + 1)
    if len(data) > MAX_SIZE:
        raise _build_size_error(path)
    return data


async def _find_size(target: TargetSystem, path: str) -> int:
    """Return the size of a file; of a link, that of the file it leads to."""
    await target.files.stat_file(path)
    part = await target.files.read_file_part(path, last_lines=0)
    return 0 if part is None else part.position.offset


def _build_size_error(path: str) -> RequestError:
    return RequestError(
        f"{quote_path(path)} has more than {MAX_SIZE} bytes", hint="read parts of it with view"
    )


def _format_content(data: bytes, unit: str, begin: int, end: int) -> dict[str, Any]:
    content = data.decode("utf-8", "replace")
    return {"content": content, "content_type": unit, "start_position": begin, "end_position": end}


def _format_time(timestamp: float) -> str:
    """Return a time as text; of a file, whose time may be any number, the nearest that has a year of four digits."""
    first, last = dt.datetime(1, 1, 1, tzinfo=dt.UTC), dt.datetime(9999, 12, 31, tzinfo=dt.UTC)
    within = min(max(timestamp, first.timestamp()), last.timestamp())
    return dt.datetime.fromtimestamp(within, dt.UTC).isoformat()


def _format_entry(entry: FileEntry) -> dict[str, Any]:
    """Return a file as JSON; LIST does not print its owner."""
    return {
        "name": os.fsencode(posixpath.basename(entry.name.rstrip("/")) or entry.name).decode(
            "utf-8", "backslashreplace"
        ),
        "type": _TYPE_NAMES.get(entry.type, "unknown"),
        "link_target": None,
        "user": "",
        "group": "",
        "permissions": stat.filemode(entry.mode)[1:],
        "last_modified": _format_time(entry.mtime),
        "size": str(entry.size),
    }
