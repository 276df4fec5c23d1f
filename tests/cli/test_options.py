"""The two parsers of a command line: typer reads as the quick one does whatever that one understands."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import typer.main
from hypothesis import given, settings
from hypothesis import strategies as st

from osprofile.cli import command_line, common, options
from osprofile.cli.app import build_app, run_app
from tests.hunting import rounds

ENVIRONMENT = {"OSPROFILE_PROFILE": "p", "OSPROFILE_STORE": "s"}
VALUES = ["", "-", "--", "a", "x=1", "-b", "--json", "--help", "--a=b", "\u00e9 \U0001f40d", "\udcff"]
APPS = {verb: build_app({verb: command_line.load_verb(verb)}, "1") for verb in common.list_verbs()}
get_command = cache(typer.main.get_command)
"""To make a parser takes typer three times as long as to use it."""


def check(verb: str, words: list[str], environment: dict[str, str]) -> dict[str, Any] | None:
    """Return what the quick parser reads; fail if it is something else than typer reads."""
    quick = options.parse_arguments(command_line.load_verb(verb), words, environment)
    if quick is None:
        return None
    seen: list[dict[str, Any]] = []

    def record(_verb: options.Verb, arguments: dict[str, Any]) -> int:
        seen.append(arguments)
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(common, "call_verb", record)
        patch.setattr(typer.main, "get_command", get_command)
        for name in ENVIRONMENT:
            patch.delenv(name, raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        code = run_app(APPS[verb], [*verb.split(), *words])
    assert (code, seen) == (0, [quick]), words
    return quick


def list_flags(verb: str) -> list[tuple[options.Parameter, str]]:
    parameters = options.read_parameters(command_line.load_verb(verb))
    return [(p, flag) for p in parameters if isinstance(p.spec, options.Option) for flag in p.spec.flags]


@pytest.mark.parametrize("verb", common.list_verbs())
def test_every_flag_is_read_by_both(verb: str) -> None:
    given = [w for p, flag in list_flags(verb) for w in ([flag] if p.is_switch else [flag, "x=1"])]
    positional = [
        "A"
        for p in options.read_parameters(command_line.load_verb(verb))
        if isinstance(p.spec, options.Argument)
    ]
    quick = check(verb, [*given, *positional], ENVIRONMENT)
    assert quick is not None
    assert all(quick[p.keyword] is not p.default for p, _ in list_flags(verb))
    assert check(verb, [*given, "--", *positional], {}) == quick


@cache
def command_lines(verb: str) -> st.SearchStrategy[list[str]]:
    """Return the words of command lines, right and wrong."""
    flag, value = st.sampled_from(list_flags(verb)), st.sampled_from(VALUES)
    right = st.builds(lambda f, v: [f[1]] if f[0].is_switch else [f[1], v], flag, value)
    joined = st.builds(lambda f, v, sign: [f"{f[1]}{sign}{v}"], flag, value, st.sampled_from(["=", ""]))
    groups = st.lists(st.one_of(right, right, joined, value.map(lambda v: [v]), st.just(["a"])), max_size=8)
    return groups.map(lambda groups: [word for group in groups for word in group])


ENVIRONMENTS = st.fixed_dictionaries(dict.fromkeys(ENVIRONMENT, st.sampled_from(["", "p"])))


@pytest.mark.parametrize("verb", common.list_verbs())
@given(data=st.data())
@settings(max_examples=rounds(500, 60), deadline=None)
def test_what_one_parser_reads_so_does_the_other(verb: str, data: st.DataObject) -> None:
    check(verb, data.draw(command_lines(verb)), data.draw(ENVIRONMENTS))
