"""Keep what commands learned of patterns in the user's cache: for usual values, the next ones need no parser and no engine.

Whatever is wrong with the file, it is as if there were none. Only a program that calls `use_kept_patterns` uses it.
"""

from __future__ import annotations

import os
import sys
import time

from osprofile.files import compute_digest, have_settled, make_stamp, read_cached_data, write_cached_data

TYPE_CHECKING = False  # to import this module takes no time
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Facts: TypeAlias = tuple[Any, ...]

_MAX_PATTERNS = 500
_MAX_LENGTH = 4000
"""Characters of a pattern that is kept."""
_kept: dict[str, Facts] = {}
_noted: dict[str, Facts] = {}
_is_used = False
_begin = 0.0


def use_kept_patterns() -> None:
    """Take from now on what is kept, and note what `keep_patterns` writes."""
    global _is_used, _begin
    if _is_used:
        return
    _is_used, _begin = True, time.time()
    try:
        _kept.update(read_cached_data(_make_name()))
    except Exception:  # noqa: BLE001  # whatever it is, patterns are parsed
        return


def find_facts(pattern: str) -> Facts | None:
    """Return what was noted of a pattern, by this program or an earlier one; None if nothing was."""
    return _kept.get(pattern)


def note_facts(pattern: str, facts: Facts) -> None:
    """Note what is known of a pattern, as plain data."""
    if _is_used and len(pattern) <= _MAX_LENGTH:
        _noted[pattern] = facts


def keep_patterns() -> None:
    """Keep what was noted, beside what is kept."""
    if not _noted:
        return
    try:
        if not have_settled((stamp for _, stamp in _list_stamps()), _begin):
            return
        _kept.update(_noted)
        _noted.clear()
        write_cached_data(_make_name(), dict(list(_kept.items())[-_MAX_PATTERNS:]))
    except Exception:  # noqa: BLE001  # a full disk, for instance
        return


def _make_name() -> str:
    """Return the name of the file: another one for another version of this package or of Python."""
    return f"patterns-{compute_digest(repr((sys.version, _list_stamps())).encode())[:32]}"


def _list_stamps() -> list[tuple[str, tuple[int, ...]]]:
    folder = os.path.dirname(__file__)
    names = sorted(name for name in os.listdir(folder) if name.endswith(".py"))
    stamps = ((name, make_stamp(os.path.join(folder, name))) for name in names)
    return [(name, stamp) for name, stamp in stamps if stamp is not None]
