"""Read the files with texts of a document: the attribute `ext:src` of Body, Value and StaticScript.

A file is in the folder of the document, in a folder below it, or in that of a profile beside it
(`../linux/record.sh`). Several files are joined. Their bytes are read as XML would read
them: UTF-8, CR LF becomes LF, and only characters that XML allows, so that the resolved profile can be
written as one document.
"""

from __future__ import annotations

import os
import stat
from os import path as paths
from typing import TYPE_CHECKING, Final, NoReturn, final

from osprofile.errors import InvalidProfileError, Problem
from osprofile.late import compile_late
from osprofile.profile import tree
from osprofile.profile.model import FILE_SAFE_NAME_HINT, FILE_SAFE_NAME_PATTERN, SOURCE_FILE_ATTRIBUTE
from osprofile.source import Source
from osprofile.text import quote_value, suggest_names

if TYPE_CHECKING:
    from osprofile.profile.tree import Element

_CONTROL_CHARACTERS: Final = bytes(n for n in range(1, 32) if n not in b"\t\n\r")
_OTHERS_NOT_IN_XML: Final = ("\ufffe".encode(), "\uffff".encode())
_XML_WHITE_SPACE: Final = " \t\r\n"
_CODE: Final = "OSP111"
_SAFE_NAME: Final = FILE_SAFE_NAME_PATTERN.pattern
_FILE_NAME: Final = compile_late(rf"(?:\.\./{_SAFE_NAME}/)?{_SAFE_NAME}(?:/{_SAFE_NAME})*")


@final
class TextFileReader:
    """Reads the files that one document names; together they have at most `tree.MAX_BYTES`.

    `folder` is that of the document, None for a document in memory.
    """

    def __init__(self, folder: str | None) -> None:
        self.sources: list[Source] = []
        self._folder = folder
        self._real_folders: dict[str, str] = {}
        self._read: dict[str, tuple[bytes, str]] = {}  # half of the names are of files that were named before
        self._remaining_size = tree.MAX_BYTES

    def load_text(self, element: Element) -> None:
        """Set the text of an element to that of its files (`ext:src`); a Value loses a last line end.

        Raises `InvalidProfileError`.
        """
        name = element.attributes[SOURCE_FILE_ATTRIBUTE]
        names = name.split() or [name]
        for part in names:
            if not _FILE_NAME.fullmatch(part):
                message = f"{quote_value(part)} is not the name of a file in the profile's folder"
                hint = f"as in submit.sh, scripts/submit.sh or ../linux/submit.sh: {FILE_SAFE_NAME_HINT}"
                _raise_problem(element, message, hint)
        if element.text.strip(_XML_WHITE_SPACE):
            message = f"<{element.name}> has a text of its own beside the one in {name}"
            _raise_problem(
                element, message, f"remove one of them: <{element.name} ... ext:src={quote_value(name)}/>"
            )
        if self._folder is None:
            hint = "load the profile from its file, or write the text into the element"
            _raise_problem(element, "this document is in memory: it has no folder with files", hint)
        text = ""
        for part in names:
            source, part_text = self._read_text(element, self._folder, part)
            element.text_files.append((len(text), source))
            text += part_text
            self.sources.append(source)
        element.text = text.removesuffix("\n") if element.name == "Value" else text

    def _read_text(self, element: Element, own_folder: str, name: str) -> tuple[Source, str]:
        """Return a file as a source of the element, and its text with the line ends of XML."""
        path = paths.join(own_folder, name)
        if path in self._read:
            data, text = self._read[path]
            self._count_bytes(element, path, len(data))
            return Source(path, data, element.location), text
        folder = paths.join(own_folder, *name.split("/")[:2]) if name.startswith("../") else own_folder
        source = Source(path, self._read_file(element, path, folder), element.location)
        text = tree.decode_text(source, _CODE).replace("\r\n", "\n").replace("\r", "\n")
        _refuse_characters(source)
        self._read[path] = source.data, text
        return source, text

    def _count_bytes(self, element: Element, path: str, size: int) -> None:
        if size > self._remaining_size:
            message = f"with {path}, the files of this document have more than {tree.MAX_BYTES} bytes"
            _raise_problem(element, message, "a script has some thousand: is this the right file?")
        self._remaining_size -= size

    def _read_file(self, element: Element, path: str, folder: str) -> bytes:
        """Return a file's bytes, without a byte order mark."""
        try:
            descriptor = _open_without_waiting(self._resolve_path(element, path, folder))
            try:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    _raise_problem(element, f"{path} is not a regular file", "name a file with the text")
                self._count_bytes(element, path, status.st_size)
                data = os.read(descriptor, status.st_size)
            finally:
                os.close(descriptor)
        except OSError as error:
            _raise_problem(element, f"{path} cannot be read: {error.strerror}", _suggest_file(path, error))
        return data.removeprefix(tree.BYTE_ORDER_MARK)

    def _resolve_path(self, element: Element, path: str, folder: str) -> str:
        """Return the path of a file without links; refuse one that is not in the folder of its profile."""
        if paths.islink(path):
            real_path = paths.realpath(path)
        else:
            real_path = paths.join(self._resolve_folder(paths.dirname(path)), paths.basename(path))
        if not real_path.startswith(paths.join(self._resolve_folder(folder), "")):
            message = f"{path} is a link out of the profile's folder, to {real_path}"
            _raise_problem(element, message, "put the file itself there, or link the whole folder")
        return real_path

    def _resolve_folder(self, folder: str) -> str:
        """Return a folder's path without links: once for all files in it, since it takes long."""
        if folder not in self._real_folders:
            self._real_folders[folder] = paths.realpath(folder)
        return self._real_folders[folder]


def _open_without_waiting(path: str) -> int:
    """Open a file: a named pipe would wait for a writer, and a link may have been put there meanwhile."""
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)


def _raise_problem(element: Element, message: str, hint: str) -> NoReturn:
    location = element.locate_attribute(SOURCE_FILE_ATTRIBUTE)
    raise InvalidProfileError([Problem(_CODE, message, location, hint)])


def _suggest_file(path: str, error: OSError) -> str:
    folder, name = paths.split(path)
    try:
        names = os.listdir(folder or paths.curdir) if isinstance(error, FileNotFoundError) else []
    except OSError:
        names = []
    similar = suggest_names(name, names)
    return (
        similar
        if similar.startswith("did you mean")
        else "a text's file is beside the profile's XML file, or below"
    )


def _refuse_characters(source: Source) -> None:
    """Refuse the characters that XML cannot contain."""
    data = source.data
    is_allowed = len(data.translate(None, _CONTROL_CHARACTERS)) == len(data)
    if not is_allowed or any(c in data for c in _OTHERS_NOT_IN_XML):
        characters = (*(bytes([c]) for c in _CONTROL_CHARACTERS), *_OTHERS_NOT_IN_XML)
        offset = min(o for o in map(data.find, characters) if o >= 0)
        character = data[offset : offset + 3].decode("utf-8", "ignore")[:1]
        message = f"a profile cannot contain the character U+{ord(character):04X}"
        hint = "write it as an escape, as in printf '\\033'"
        tree.raise_problem(source, offset, _CODE, message, hint)
