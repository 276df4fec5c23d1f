"""Wait for what another process does."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PATIENCE = 150.0
"""Seconds after which it does not happen any more."""


def wait_until(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait until a function returns something true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, condition
        time.sleep(0.02)


def wait_for_file(path: Path) -> None:
    """Wait until a file is there."""
    wait_until(path.exists)


async def wait_until_async(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait until a function returns something true, while other coroutines run."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
