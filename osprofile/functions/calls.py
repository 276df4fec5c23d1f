"""What goes to a job of functions, and what comes back.

The functions and arguments of a job are blocks of pickled bytes in one text: first the function, then the calls of
each task. A small text is a part of the job's environment; a large one is the file `calls` in the directory
DIRECTORY of the job, where each task writes its result file `result.INDEX`.
"""

from __future__ import annotations

import base64
import itertools
import os
import pickle
import site
import struct
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Sequence

    import osprofile

DIRECTORY: Final = ".functions"
"""In the job's working directory."""
VARIABLE: Final = "OSPROFILE_FUNCTIONS"
MAX_INLINE_SIZE: Final = 8000
"""Bytes of the calls that are a part of the job's environment."""
IDLE_TIME: Final = 300
"""Seconds after which workers that have nothing to do end."""
COMMAND: Final = (
    "import os,zlib,base64;"
    f'exec(zlib.decompress(base64.b64decode(os.environ.pop("{VARIABLE}"))),{{"__name__":"osprofile"}})'
)
"""The text that an interpreter gets by its option -c: it runs what VARIABLE has."""


@final
class RemoteTraceback(Exception):  # noqa: N818  # as concurrent.futures' own; it is the cause of the exception
    """The traceback of an exception on the target system, which is its `__cause__`."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


@final
class Outcome(NamedTuple):
    """How a call ended: `result` or `error` with a pickled value, `refused`, or `ended` with a cause; see `remote`."""

    kind: str
    data: bytes
    text: str


@final
class TaskResult(NamedTuple):
    """The content of a result file."""

    outcomes: Sequence[Outcome]
    """Of the calls; empty if one of them left by `os._exit(0)`."""
    run: int
    """How often the job has begun."""


def pack_calls(function: bytes, calls: Sequence[bytes]) -> bytes:
    """Return the function and the calls of each task as one text: a table of offsets, then the blocks."""
    blocks = [function, *calls]
    begin = 8 * (len(blocks) + 1)
    offsets = itertools.accumulate(map(len, blocks), initial=begin)
    return b"".join([struct.pack(f">{len(blocks) + 1}Q", *offsets), *blocks])


def build_program(calls: bytes | None, *, is_local: bool, workers: int = 0) -> str:
    """Return the value of VARIABLE: the text of `remote`, and the calls unless they are in a file, or for workers.

    On this machine, modules of the program's own directories can be imported as here.
    """
    import cloudpickle  # late: the package can be imported without it

    settings = {
        "directory": DIRECTORY,
        "interpreter": sys.implementation.cache_tag,
        "path": _list_own_directories() if is_local else [],
        "cloudpickle": cloudpickle.__version__,
        "calls": calls,
        "workers": workers,
        "idle": IDLE_TIME,
    }
    source = Path(__file__).with_name("remote.py").read_text(encoding="utf-8")
    text = f"{source}\nrun_{'workers' if workers else 'task'}({settings!r})\n"
    return base64.b64encode(zlib.compress(text.encode())).decode()


def _list_own_directories() -> list[str]:
    """Return the directories of sys.path that are not those of the interpreter."""
    own = {*site.getsitepackages(), site.getusersitepackages()}
    prefixes = tuple(os.path.join(prefix, "lib") + os.sep for prefix in (sys.prefix, sys.base_prefix))
    paths = [os.path.abspath(path) for path in sys.path if not path.endswith(".zip")]
    return [path for path in paths if path not in own and not path.startswith(prefixes)]


def read_result(file: osprofile.JobFile) -> TaskResult | None:
    """Return the content of a result file of this machine; None if there is none. Raises what unpickling does."""
    try:
        with file.open() as opened:
            content: dict[str, Any] = pickle.load(opened)  # noqa: S301  # of the user's own job: docs/security.md
    except FileNotFoundError:
        return None
    return TaskResult([Outcome(*outcome) for outcome in content["outcomes"]], content["run"])


def load_value(outcome: Outcome) -> Any:  # noqa: ANN401  # what a function returns
    """Return the result, or the exception, of a call. Raises what unpickling does."""
    return pickle.loads(outcome.data)  # noqa: S301  # of the user's own job: docs/security.md
