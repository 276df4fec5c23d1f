"""The files of a target system, as its own user has them there: copied, listed, read in parts, deleted."""

from __future__ import annotations

import asyncio
import io
import logging
import os
from functools import partial
from typing import TYPE_CHECKING, Final, final

from osprofile.errors import OutputError, ScriptFailedError
from osprofile.jobs import file_transfer, script_output
from osprofile.jobs.job_directory import JobFile, write_new_files
from osprofile.jobs.shell import SHELL_TEMPLATE, generate_mark
from osprofile.text import quote_shell_word

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import IO

    from osprofile.jobs.file_transfer import FilePart, FilePosition
    from osprofile.jobs.file_trees import FetchedFile
    from osprofile.jobs.job_directory import NewFile
    from osprofile.jobs.script_output import FileEntry
    from osprofile.jobs.store import JobFiles
    from osprofile.jobs.target_shell import TargetShell

log: Final = logging.getLogger("osprofile.jobs")
_FILE_PROGRAM_TIME_LIMIT: Final = 600.0
"""Seconds for a program that copies a directory, or reads a large file."""


@final
class TargetFiles:
    """The files of a target system, reached by scripts, so that they get everywhere that a job can get.

    A file is given by its path; one of a job as a `JobFile`, whose directory must be its user's own.
    The methods raise `TargetError`s: `ScriptFailedError` with what the target system says of a file.
    """

    def __init__(self, shell: TargetShell) -> None:
        self._shell = shell

    async def upload_file(self, source: IO[bytes], file: str | JobFile, mode: int = 0o600) -> None:
        """Write the rest of an open file to a file of the target system.

        Missing directories are created, for their owner only. The file appears, in place of an existing
        one, when it is complete.
        """
        for script in file_transfer.build_upload_scripts(source, file, mode):
            await self._shell.run_transfer(f"writing {_get_path(file)}", script, len(script))

    async def write_new_files(self, directory: str, files: Sequence[NewFile]) -> None:
        """Write files to a job's directory, as `upload_file` does; those of this machine without a shell."""
        if self._shell.is_here:
            try:
                return await asyncio.to_thread(write_new_files, directory, files)
            except OSError as error:
                log.debug("%s: %s", directory, error)  # the script says what is wrong
        uploads = (self.upload_file(io.BytesIO(f.content), JobFile(directory, f.name), f.mode) for f in files)
        await asyncio.gather(*uploads)
        return None

    async def download_file(
        self, file: str | JobFile, descriptor: int, offset: int = 0, count: int | None = None
    ) -> None:
        """Write a file of the target system to a file descriptor of this process.

        With `count`, write at most so many bytes, from `offset` on.
        """
        path = _get_path(file)
        size = (await self.stat_file(path)).size if count is None else count
        script = file_transfer.build_download_script(file, offset, count)
        await self._shell.run_transfer(f"reading {path}", script, size, stdout=descriptor)

    async def download_output(self, file: JobFile, descriptor: int) -> None:
        """Write a job's output file to a file descriptor of this process; nothing if the job has not begun."""
        script = file_transfer.build_output_script(file)
        await self._shell.run_transfer(f"reading {file.path}", script, 0, stdout=descriptor)

    async def read_file_part(
        self, file: str | JobFile, position: FilePosition | None = None, *, last_lines: int | None = None
    ) -> FilePart | None:
        """Return what a file that may grow has behind a position; None if there is no such file.

        Without a position, the part begins with the file or, if given, with its last lines. It has at
        most `file_transfer.OUTPUT_PART_SIZE` bytes: the next part begins at the position in the result.
        """
        script = file_transfer.build_part_script(file, position, last_lines)
        label = f"reading {_get_path(file)}"
        output = await self._shell.run_transfer(label, script, file_transfer.OUTPUT_PART_SIZE)
        try:
            return file_transfer.parse_part(output, position)
        except ValueError as error:
            raise OutputError(f"{label}: {error}") from None

    async def stage_inputs(self, directory: str, files: JobFiles) -> None:
        """Copy the inputs of a job into its directory.

        Those that are there are not copied again, nor any for a job that may have been submitted.
        """
        from osprofile.jobs import file_trees  # late: it imports tarfile

        label = f"copying the inputs to {directory}"
        script = file_trees.build_state_script(directory)
        present = file_trees.parse_state(await self._shell.run_transfer(label, script, 0))
        if present is None:
            return
        sizes = {name: file_trees.measure(path) for name, path in files.inputs.items()}
        missing = {
            name: path for name, path in files.inputs.items() if sizes[name].fingerprint not in present
        }
        for group in file_trees.group_inputs(missing, sizes):
            fingerprints = {name: sizes[name].fingerprint for name in group}
            build = partial(
                file_trees.build_staging_script,
                directory,
                fingerprints=fingerprints,
                output_directories=files.output_directories,
            )
            if (source := file_trees.read_from_script(group, sizes)) is not None:
                await self._shell.run_transfer(label, build(source), len(source))
                continue
            mark = generate_mark()
            send = partial(file_trees.send_archive, mark=mark, items=group)
            await self._shell.exchange(label, build(file_trees.read_from_input(mark)), send)

    async def upload(self, local: str, path: str) -> None:
        """Copy a file or directory of this machine to a path of the target system.

        It has its name when it is complete; missing directories are created, for their owner only. A file that exists is
        replaced. Links in a directory are copied as links. Raises `ScriptFailedError`, also for a directory that exists,
        and `TargetError` for what cannot be read here.
        """
        from osprofile.jobs import file_trees  # late: it imports tarfile

        mark, name = generate_mark(), os.path.basename(path.rstrip("/"))
        send = partial(file_trees.send_archive, mark=mark, items={name: local})
        await self._shell.exchange(f"writing {path}", file_trees.build_upload_script(path, mark), send)

    async def download(self, path: str, local: str) -> None:
        """Copy a file or directory of the target system to a path of this machine.

        A file has its name when it is complete. Nothing is written through a link of this machine. Raises
        `ScriptFailedError`, also if there is no such file, and `TargetError` for what cannot be written here.
        """
        directory, name = os.path.split(path.rstrip("/"))
        _, missing = await self.fetch(directory or ".", [name], local, is_single=True)
        if missing:
            message = f"reading {path}: there is no such file"
            raise ScriptFailedError(
                message, template="SHELL", exit_status=1, output="No such file or directory"
            )

    async def fetch(
        self, directory: str, patterns: Sequence[str], destination: str, *, is_single: bool = False
    ) -> tuple[list[FetchedFile], list[str]]:
        """Copy files of a job's directory into one of this machine.

        Return them, and the patterns without a file. With `is_single`, the only pattern is a name in any directory, and
        `destination` is the path of its copy.
        """
        from osprofile.jobs import file_trees  # late: it imports tarfile

        mark = generate_mark()
        script = file_trees.build_sending_script(directory, patterns, mark, is_literal=is_single)
        receive = partial(
            file_trees.receive_archives, mark=mark, destination=destination, is_single=is_single
        )
        result, files = await self._shell.exchange(f"reading {directory}", script, receive)
        unmatched, warnings = file_trees.find_unmatched(result, mark, patterns)
        if warnings:
            log.warning("reading %s: %s", directory, warnings)
        return files, unmatched

    async def has_program(self, path: str) -> bool:
        """Return whether the target system has a file of that path; for a name without a slash, such a program on its PATH."""
        script = (
            f"f={quote_shell_word(path)}\n"
            'case $f in */*) [ -e "$f" ] ;; *) command -v -- "$f" > /dev/null ;; esac && echo y\nexit 0'
        )
        return (await self._shell.run_transfer(f"looking for {path}", script, 0)).strip() == b"y"

    async def read_script(self, path: str, size: int) -> tuple[bytes, bool] | None:
        """Return the first bytes of a script, and whether it is executable; None for another file.

        A script begins with `#!`, or its name ends in `.sh`.
        """
        script = (
            f'f={quote_shell_word(path)}\n[ -f "$f" ] && [ -r "$f" ] || exit 0\n'
            "case $(head -c 2 -- \"$f\" | tr -d '\\0'):$f in '#!':* | *.sh) ;; *) exit 0 ;; esac\n"
            f'if [ -x "$f" ]; then echo x; else echo r; fi\nhead -c {size} -- "$f"'
        )
        head, _, content = (await self._shell.run_transfer(f"reading {path}", script, size)).partition(b"\n")
        return (content, head == b"x") if head and b"\0" not in content else None

    async def run_file_program(self, words: Sequence[str]) -> bytes:
        """Run a program that changes files of the target system, and return its output: `["mkdir", "--", path]`.

        Each word reaches the program as it is. Raises `ScriptFailedError` if it fails.
        """
        label, script = f"{words[0]} {words[-1]}", " ".join(map(quote_shell_word, words))
        result = await self._shell.run_to_end(
            SHELL_TEMPLATE, script, label=label, limit=_FILE_PROGRAM_TIME_LIMIT
        )
        return result.stdout

    async def delete_path(self, path: str) -> None:
        """Delete a file, or a directory with its content, on the target system."""
        await self._shell.find_user()
        await self._shell.run_script("DELETE", self._shell.render_script("DELETE", PATH=path))

    async def list_directory(self, path: str) -> list[FileEntry]:
        """Return the files in a directory of the target system."""
        return await self._query_entries(path, "DIR")

    async def stat_file(self, path: str) -> FileEntry:
        """Return the properties of a file of the target system."""
        entries = await self._query_entries(path, "FILE")
        if len(entries) != 1:
            raise script_output.build_output_error("LIST", "ENTRY_PATTERN", "")
        return entries[0]

    async def _query_entries(self, path: str, variation: str) -> list[FileEntry]:
        text = await self._shell.run_script(
            "LIST", self._shell.render_script("LIST", variation=variation, PATH=path)
        )
        pattern = script_output.get_output_pattern(
            self._shell.profile, "LIST", "ENTRY_PATTERN", script_output.ENTRY_GROUPS
        )
        return script_output.parse_entries(pattern, text)


def _get_path(file: str | JobFile) -> str:
    return file if isinstance(file, str) else file.path
