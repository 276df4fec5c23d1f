"""The entry point of `incarnate`. What usual commands need is imported by `quick`, everything else by `command_line`."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from osprofile.cli import quick, streams


def main() -> None:
    """Run the command line of this process and exit with the verb's exit code."""
    # Searches for garbage take a seventh of the time of a short command, most of it at its end.
    gc.set_threshold(50_000)
    atexit.register(gc.freeze)
    _require_utf8()
    streams.open_missing_streams()
    words = sys.argv[1:]
    code = quick.run(words)
    if code is None:
        from osprofile.cli.command_line import run_command_line

        code = run_command_line(words)
    sys.exit(code)


def _require_utf8() -> None:
    """Start this process again if its words are not decoded as UTF-8, whatever the locale is."""
    if sys.getfilesystemencoding() != "utf-8" and not sys.flags.utf8_mode:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606
