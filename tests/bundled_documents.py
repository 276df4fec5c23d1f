"""Read each bundled profile once in a process: no test changes one, and a command takes a fifth of its time for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from osprofile.profile import repository
from osprofile.profile.data_directories import is_bundled

if TYPE_CHECKING:
    from osprofile.profile.model import Document


def keep_bundled_documents() -> None:
    """Have all repositories of this process, and of its forks, share what they have read of bundled profiles."""
    load = repository.load_document
    kept: dict[tuple[str, bytes], Document] = {}

    def load_document(file_name: str, data: bytes, *arguments: Any, **options: Any) -> Document:  # noqa: ANN401
        if not is_bundled(file_name):
            return load(file_name, data, *arguments, **options)
        key = file_name, data
        if key not in kept:
            kept[key] = load(file_name, data, *arguments, **options)
        return kept[key]

    repository.load_document = load_document  # type: ignore[assignment]
