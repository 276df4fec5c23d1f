"""Record a script in a terminal, and write it as an animated SVG: record.py FILE SCRIPT [ARGUMENT...].

The terminal is narrow, so that the picture can be read on a phone. Each line of the picture appears when it did in the
terminal. What cannot animate shows the last screen.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time
from copy import copy
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

import pyte

COLUMNS, ROWS = 59, 13
CELL_WIDTH, LINE_HEIGHT, MARGIN = 7.8, 18, 10
ALTERNATE_SCREEN = 1049
BACKGROUND, FOREGROUND = "#161b22", "#e6edf3"
COLOURS = {
    "red": "#ff7b72",
    "green": "#7ee787",
    "brown": "#e3b341",
    "yellow": "#e3b341",
    "blue": "#79c0ff",
    "magenta": "#d2a8ff",
    "cyan": "#76e3ea",
}
DIM = "#8b949e"
STYLE = f"""text {{ font: 13px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: {FOREGROUND}; white-space: pre }}
.last {{ animation: appear .01s backwards }}
.passing {{ visibility: hidden; animation: pass linear }}
@keyframes appear {{ from {{ visibility: hidden }} }}
@keyframes pass {{ from, to {{ visibility: visible }} }}
@media (prefers-reduced-motion: reduce) {{ text {{ animation: none !important }} }}"""


class Run(NamedTuple):
    """Cells of a line that look alike."""

    column: int
    text: str
    colour: str
    is_bold: bool


class Version(NamedTuple):
    """What a line showed from a moment on, in seconds since the beginning."""

    since: float
    runs: tuple[Run, ...]


def record_screen(command: list[str]) -> list[list[Version]]:
    """Run a command in a terminal, and return the versions of each line of its screen."""
    screen = Terminal(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.pop("NO_COLOR", None)
        os.environ["TERM"] = "xterm-256color"
        os.execvp(command[0], command)  # noqa: S606  # no shell
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    lines: list[list[Version]] = [[] for _ in range(ROWS)]
    start = time.monotonic()
    while True:
        select.select([terminal], [], [])
        try:
            data = os.read(terminal, 65536)
        except OSError:  # Linux: the other end is closed
            break
        stream.feed(data)
        for row in range(ROWS):
            runs = tuple(read_runs(screen, row))
            if runs != (lines[row][-1].runs if lines[row] else ()):
                lines[row].append(Version(time.monotonic() - start, runs))
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != 0:
        raise SystemExit(f"{' '.join(command)} has failed ({status})")
    while lines and not (lines[-1] and lines[-1][-1].runs):
        del lines[-1]
    return lines


class Terminal(pyte.Screen):
    """A screen with what pyte does not know: dim text, here in italics, and the alternate screen of a live view."""

    def set_mode(self, *modes: int, **arguments: bool) -> None:
        """Turn modes on; for the alternate screen, keep what is shown."""
        super().set_mode(*modes, **arguments)
        if ALTERNATE_SCREEN in modes:
            self._kept = {row: copy(line) for row, line in self.buffer.items()}
            self.save_cursor()
            self.erase_in_display(2)

    def reset_mode(self, *modes: int, **arguments: bool) -> None:
        """Turn modes off; after the alternate screen, show again what was kept."""
        super().reset_mode(*modes, **arguments)
        if ALTERNATE_SCREEN in modes:
            self.buffer.clear()
            self.buffer.update(self._kept)
            self.restore_cursor()

    def select_graphic_rendition(self, *attributes: int, **arguments: bool) -> None:
        """Set the look of the following cells."""
        super().select_graphic_rendition(
            *(3 if number == 2 else number for number in attributes), **arguments
        )


def read_runs(screen: pyte.Screen, row: int) -> list[Run]:
    """Return what a line of the screen shows."""
    runs, column = [], 0
    cells = [screen.buffer[row][column] for column in range(COLUMNS)]
    for (colour, is_bold), group in groupby(cells, key=choose_look):
        text = "".join(cell.data for cell in group)
        if text.strip():
            lead = len(text) - len(text.lstrip())
            runs.append(Run(column + lead, text.strip(), colour, is_bold))
        column += len(text)
    return runs


def choose_look(cell: pyte.screens.Char) -> tuple[str, bool]:
    """Return the colour of a cell, and whether it is bold."""
    return DIM if cell.italics else COLOURS.get(cell.fg.removeprefix("bright"), FOREGROUND), cell.bold


def format_svg(lines: list[list[Version]]) -> str:
    """Return the picture."""
    width, height = COLUMNS * CELL_WIDTH + 2 * MARGIN, len(lines) * LINE_HEIGHT + 2 * MARGIN
    texts = []
    for row, versions in enumerate(lines):
        for number, version in enumerate(versions):
            following = versions[number + 1 : number + 2]
            look = f'class="last" style="animation-delay:{version.since:.2f}s"'
            if following:
                duration = following[0].since - version.since
                look = (
                    f'class="passing" style="animation-delay:{version.since:.2f}s;'
                    f'animation-duration:{duration:.2f}s"'
                )
            texts += [format_run(run, row, look) for run in version.runs]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}">',
            f"<style>{STYLE}</style>",
            f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
            *texts,
            "</svg>\n",
        ]
    )


def format_run(run: Run, row: int, look: str) -> str:
    """Return the SVG element of a run; its length keeps columns in line with every font."""
    x, y = MARGIN + run.column * CELL_WIDTH, MARGIN + (row + 0.75) * LINE_HEIGHT
    length = f' textLength="{len(run.text) * CELL_WIDTH:.1f}" lengthAdjust="spacingAndGlyphs"'
    style = f"fill:{run.colour};" + "font-weight:bold;" * run.is_bold
    look = look.replace('style="', f'style="{style}')
    return f'<text x="{x:.1f}" y="{y:.1f}"{length} {look} xml:space="preserve">{escape(run.text)}</text>'


if __name__ == "__main__":
    file, *script = sys.argv[1:]
    Path(file).write_text(format_svg(record_screen(["sh", *script])), encoding="utf-8")
