"""What is made when it is first used."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
import typing

import pytest

from osprofile.late import NamedTuple, compile_late


class Pair(NamedTuple):
    """Two values."""

    first: int
    """The first."""
    second: str | None = None

    @property
    def both(self) -> str:
        """Both values."""
        return f"{self.first}{self.second}"

    def add(self, number: int) -> Pair:
        """Return another pair."""
        return self._replace(first=self.first + number)

    @staticmethod
    def make() -> Pair:
        """Return a pair."""
        return Pair(0)


class TypingPair(typing.NamedTuple):
    """Two values."""

    first: int
    second: str | None = None


def test_a_named_tuple_is_that_of_typing() -> None:
    pair = Pair(1, second="x")
    assert (tuple(pair), repr(pair), hash(pair)) == ((1, "x"), "Pair(first=1, second='x')", hash((1, "x")))
    assert (pair.both, pair.add(2), Pair.make(), Pair.__doc__) == ("1x", (3, "x"), (0, None), "Two values.")
    assert pickle.loads(pickle.dumps(pair)) == copy.copy(pair) == pair  # noqa: S301  # our own
    for name in ("_fields", "_field_defaults", "__match_args__", "__module__"):
        assert getattr(Pair, name) == getattr(TypingPair, name)
    assert typing.get_type_hints(Pair) == typing.get_type_hints(TypingPair)
    with pytest.raises(TypeError):
        Pair()  # type: ignore[call-arg]


def test_a_late_pattern_is_that_of_re() -> None:
    pattern = compile_late(r"(?P<a>x+)", re.IGNORECASE)
    assert [m["a"] for m in pattern.finditer("aXx xb")] == ["Xx", "x"]
    assert (pattern.pattern, pattern.groups, pattern.sub("-", "xax")) == (r"(?P<a>x+)", 1, "-a-")
    with pytest.raises(re.error):
        compile_late("(").match("")


@pytest.mark.parametrize("first", ["from asyncio.events import get_running_loop", "import asyncio.events"])
def test_a_module_of_a_late_package_is_the_package_s_own(first: str) -> None:
    code = (
        f"import sys; from osprofile.late import import_late; import_late('asyncio', 'json'); {first}\n"
        "import asyncio, json.decoder; print(asyncio.events is sys.modules['asyncio.events'],"
        " asyncio.get_running_loop is asyncio.events.get_running_loop, json.JSONDecodeError is json.decoder.JSONDecodeError,"
        " asyncio.run(asyncio.sleep(0, 3)), asyncio.events.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True True True 3 asyncio.events\n", "")


def test_a_command_imports_late_what_it_does_not_need() -> None:
    code = (
        "import sys; from osprofile.late import import_late; import_late('asyncio', 'shlex', 'no_such_module');"
        "import asyncio, shlex; print('asyncio.events' in sys.modules, 'deque' in vars(shlex)); print(shlex.quote('a b'));"
        "print(asyncio.run(asyncio.sleep(0, 3)), 'asyncio.events' in sys.modules, type(asyncio).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("False False\n'a b'\n3 True module\n", "")
