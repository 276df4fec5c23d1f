"""Locations by profile name instead of path: readers of a page should not see the author's paths."""

from __future__ import annotations

from os import path
from typing import TYPE_CHECKING, final

from osprofile.page.model import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from osprofile.profile.model import Document, Profile
    from osprofile.source import Location


@final
class DocumentLabels:
    """The labels of a chain's documents: `pbs/profile.xml`; a second `pbs` is `pbs (2)`."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.names: list[str] = []
        self.files: list[str] = []
        self._by_file: dict[str, int] = {}
        self._label_by_file: dict[str, str] = {}
        for index, document in enumerate(documents):
            before = sum(name.partition(" ")[0] == document.name for name in self.names)
            name = f"{document.name} ({before + 1})" if before else document.name
            file = document.element.source.name
            self.names.append(name)
            self.files.append(f"{name}/{path.basename(file)}")
            self._by_file.setdefault(file, index)
            for source in document.sources:
                relative_file = path.relpath(source.name, path.dirname(file) or path.curdir)
                self._label_by_file.setdefault(source.name, f"{name}/{relative_file}")

    def document_index(self, location: Location) -> int:
        """Return the index in the chain of the document of a location."""
        return self._by_file[location.file]

    def format_location(self, location: Location) -> str:
        """Return `PROFILE/FILE:LINE`."""
        file = self._label_by_file.get(location.file) or path.basename(location.file)
        return f"{file}:{location.line}"

    def build_origin(self, location: Location, replaced: Iterable[Location] = ()) -> Origin:
        """Return the origin of a declaration at a location, with what it replaces."""
        profile = self.names[self.document_index(location)]
        return Origin(
            profile, self.format_location(location), tuple(self.format_location(p) for p in replaced)
        )

    def replace_paths(self, text: str) -> str:
        """Return a message with the path of each document and of its files replaced by its label."""
        for file in sorted(self._label_by_file, key=len, reverse=True):
            text = text.replace(file, self._label_by_file[file])
        return text


def build_labels(profile: Profile) -> DocumentLabels:
    """Return the labels of a profile's chain."""
    return DocumentLabels(profile.documents)


def strip_directories(text: str, directories: Sequence[str]) -> str:
    """Return a message without the paths of these directories."""
    for directory in sorted({path.normpath(d) for d in directories}, key=len, reverse=True):
        if directory not in {".", "/"}:
            text = text.replace(f"{directory}/", "").replace(directory, path.basename(directory))
    return text
