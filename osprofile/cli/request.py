"""The request of a command line: values from options, files and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.cli import common
from osprofile.errors import ValueRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable


def read_request(fields: str | None, set_file: Iterable[str], assignments: Iterable[str]) -> dict[str, str]:
    """Return the values of `--fields`, `--set-file` and `--set`; the later of these take precedence.

    Raises `UsageError`, `ValueRefusedError`.
    """
    request = _read_json_fields(fields) if fields else {}
    for name, path in common.parse_assignments(set_file, "--set-file").items():
        request[name] = _read_content(path, f"--set-file {name}={path}")
    return {**request, **common.parse_assignments(assignments, "--set")}


def _read_content(path: str, option: str) -> str:
    import sys
    from pathlib import Path

    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return data.decode()
    except OSError as error:
        raise common.UsageError(f"{option}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise common.UsageError(f"{option}: the content is not UTF-8") from None


def _read_json_fields(path: str) -> dict[str, str]:
    import json

    option = f"--fields {path}"

    def reject_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(dict(pairs)) < len(pairs):
            raise common.UsageError(f"{option}: a name occurs twice")
        return dict(pairs)

    try:
        # Numbers stay as they are written: 1.50 is not 1.5.
        values = json.loads(
            _read_content(path, option), parse_int=str, parse_float=str, object_pairs_hook=reject_duplicates
        )
    except (ValueError, RecursionError) as error:
        raise common.UsageError(f"{option}: invalid JSON: {error}") from None
    if not isinstance(values, dict):
        raise common.UsageError(f'{option}: not a JSON object, as in {{"QUEUE": "long"}}')
    for name, value in values.items():
        if not isinstance(value, str):
            message = f"{option}: field {name} is neither a string nor a number"
            raise ValueRefusedError(message, field=name)
    return values
