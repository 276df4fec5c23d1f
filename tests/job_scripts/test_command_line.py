"""Words, directives and scripts."""

from __future__ import annotations

import inspect
import re
import shlex
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from osprofile.job_scripts import bsub, qsub, sbatch, script_request, sge
from osprofile.job_scripts.command_line import (
    Option,
    OptionValue,
    UsageError,
    make_script,
    parse_words,
    read_directives,
    refuse_options,
    split_list,
    split_words,
)

if TYPE_CHECKING:
    from types import ModuleType

TABLE = (
    Option("number", ("-n", "--number"), "N"),
    Option("header", ("-h", "--header")),
    Option("raw", ("-r",)),
    Option("mode", ("--mode",), "M", is_optional=True),
    *refuse_options("--nothing --headless"),
)
LINES = [
    ("-n 1", {"number": ["1"]}, []),
    ("-n1", {"number": ["1"]}, []),
    ("-n=1", {"number": ["=1"]}, []),
    ("--number 1", {"number": ["1"]}, []),
    ("--number=1", {"number": ["1"]}, []),
    ("--number=", {"number": [""]}, []),
    ("--number=a=b", {"number": ["a=b"]}, []),
    ("-n 1 -n 2", {"number": ["1", "2"]}, []),
    ("-hr", {"header": [""], "raw": [""]}, []),
    ("-hn1", {"header": [""], "number": ["1"]}, []),
    ("-hn 1", {"header": [""], "number": ["1"]}, []),
    ("-n -1", {"number": ["-1"]}, []),
    ("--mode", {"mode": [""]}, []),
    ("--mode=x", {"mode": ["x"]}, []),
    ("--mode x", {"mode": [""]}, ["x"]),
    ("--num 1", {"number": ["1"]}, []),
    ("--nu=1", {"number": ["1"]}, []),
    ("--m=x", {"mode": ["x"]}, []),
    ("--heade", {"header": [""]}, []),
    ("--header", {"header": [""]}, []),
    ("-- -h", {}, ["-h"]),
    ("- -h", {}, ["-", "-h"]),
    ("a -h", {}, ["a", "-h"]),
    ("a -- -h", {}, ["a", "--", "-h"]),
]


@pytest.mark.parametrize(("line", "options", "operands"), LINES)
def test_lines(line: str, options: dict[str, list[str]], operands: list[str]) -> None:
    parsed = parse_words(TABLE, line.split(), ends_at_operand=True)
    assert {name: [value.text for value in values] for name, values in parsed.options.items()} == options
    assert parsed.operands == operands


def test_options_behind_operands() -> None:
    parsed = parse_words(TABLE, ["a", "-h", "b"], ends_at_operand=False)
    assert ("header" in parsed, parsed.operands) == (True, ["a", "b"])


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("--numbers 1", "--numbers"),
        ("--headers=1", "--headers"),
        ("--not=1", "--nothing"),
        ("-x", "-x"),
        ("-hx", "-x"),
        ("-h1", "-1"),
    ],
)
def test_unknown_options_are_refused_by_name(line: str, name: str) -> None:
    with pytest.raises(UsageError, match=f"option {name} is not supported") as refusal:
        parse_words(TABLE, line.split(), ends_at_operand=True)
    assert refusal.value.hint


def test_an_abbreviation_of_two_options_is_ambiguous() -> None:
    with pytest.raises(UsageError, match="option --head is ambiguous") as refusal:
        parse_words(TABLE, ["--head"], ends_at_operand=True)
    assert refusal.value.hint == "it may be --header, --headless: write it in full"


@pytest.mark.parametrize("line", ["-n", "--number", "-hn", "--header=1"])
def test_values_that_are_missing_or_too_many(line: str) -> None:
    with pytest.raises(UsageError, match="value"):
        parse_words(TABLE, line.split(), ends_at_operand=True)


SCRIPT = """\
#!/bin/bash
#SBATCH -J first
##SBATCH -J no
# SBATCH -J no
#SBATCHED no
#SBATCH\t--output='a b' # a comment
\t
   \t
#SBATCH
# text
#SBATCH -c 4
  # indented
#SBATCH -n 4
echo
#SBATCH -J late
"""


def test_directives_up_to_the_first_command() -> None:
    directives = read_directives(SCRIPT, "#SBATCH", "{}".format)
    assert [(int(d.where), d.words) for d in directives] == [
        (2, ["-J", "first"]),
        (6, ["--output=a b"]),
        (9, []),
        (11, ["-c", "4"]),
        (13, ["-n", "4"]),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a  b\tc", ["a", "b", "c"]),
        ("'a b' \"c d\" e\\ f", ["a b", "c d", "e f"]),
        ("a'b'\"c\"", ["abc"]),
        ("'' \"\"", ["", ""]),
        ("a#b # c", ["a#b"]),
        ("'#a' \\#b", ["#a", "#b"]),
        (r'"a\"b" \\', ['a"b', "\\"]),
        ("a\\", ["a\\"]),
        ("-o /w/it\\'s\\ me/.command.log", ["-o", "/w/it's me/.command.log"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert split_words(text) == words


@given(st.lists(st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]), max_size=8)))
def test_quoted_words_come_back(words: list[str]) -> None:
    assert split_words(shlex.join(words)) == words


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from(["#PBS ", "-N ", "'", '"', "\\", "\n", "#", "a", " "])).map("".join)
)
@example("#PBS -N 'a")
@example("#PBS #PBS\\\n #PBS")
def test_directives_never_fail_otherwise(text: str) -> None:
    try:
        directives = read_directives(text, "#PBS", str)
    except UsageError as error:
        assert re.search("is not closed$|begins with #PBS$", error.message)  # noqa: PT017
    else:
        assert all(isinstance(word, str) for d in directives for word in d.words)


@given(
    st.lists(
        st.sampled_from(
            ["-n", "-h", "--number", "--number=1", "--mode", "--", "-", "a", "-hr", "--x", "-z", ""]
        )
    )
)
def test_command_lines_never_fail_otherwise(words: list[str]) -> None:
    try:
        parsed = parse_words(TABLE, words, ends_at_operand=False)
    except UsageError as error:
        assert error.hint  # noqa: PT017
    else:
        assert parsed.options.keys() <= {option.name for option in TABLE}


def test_lists() -> None:
    assert split_list(OptionValue("-v", "A=1,B='x,y',C=\"p,q\",D")) == ["A=1", "B=x,y", "C=p,q", "D"]
    with pytest.raises(UsageError):
        split_list(OptionValue("-v", "A='1"))


@pytest.mark.parametrize(
    ("content", "interpreter"),
    [
        (b"echo\n", ("/bin/sh",)),
        (b"#!/bin/bash\necho\n", ("/bin/bash",)),
        (b"#! /usr/bin/env  python3 -u \necho\n", ("/usr/bin/env", "python3 -u ")),
        (b"#!\necho\n", ("/bin/sh",)),
        (b"#!/bin/bash", ("/bin/bash",)),
    ],
)
def test_interpreters(content: bytes, interpreter: tuple[str, ...]) -> None:
    found = make_script(content, "x").interpreter
    assert tuple(map(str.rstrip, found)) == tuple(map(str.rstrip, interpreter))


@pytest.mark.parametrize(
    "content", [b"", b" \n\n", b"#!/bin/sh\r\necho\r\n", b"echo \0", b"#!/a=b/sh\necho\n"]
)
def test_scripts_that_no_shell_runs(content: bytes) -> None:
    with pytest.raises(UsageError) as refusal:
        make_script(content, "x")
    assert refusal.value.hint


@pytest.mark.parametrize(
    "module", [sbatch, qsub, bsub, sge], ids=lambda module: module.__name__.rpartition(".")[2]
)
def test_each_option_with_a_name_is_read(module: ModuleType) -> None:
    """Else it is lost without a word."""
    (table,) = (value for name, value in vars(module).items() if name.endswith("_TABLE"))
    source = inspect.getsource(module) + inspect.getsource(script_request)
    elsewhere = {"wrap", "here", "notify.begin", "notify.end", "notify.fail"}
    names = {option.name for option in table if option.name} - elsewhere
    assert [name for name in sorted(names) if source.count(f'"{name}"') < 2] == []
