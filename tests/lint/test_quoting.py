"""Where a value may stand in a script: each line is the body of a template.

`<E>` is the quoted replacement of WHY, a settable text, `<ND>` of ND, which begins with no `-`. Places are relative to the body.
"""

from __future__ import annotations

import sys
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from osprofile.lint.rules import complete_example
from osprofile.lint.rules.rule import (
    format_bin_template,
    format_field,
    format_fixed_field,
    format_static_script,
    format_template,
)

if TYPE_CHECKING:
    from tests.lint.conftest import Lint

FIELDS = (
    format_field("WHY"),
    format_field("ND", "", ' ext:pattern="(?s)[^-].*"'),
    format_field("N", "", ' ext:type="integer"'),
    format_field("ID", "", r' ext:pattern="[0-9]+(\[[0-9]*\])?"'),
    format_field("MINUS", "", ' ext:pattern="[a-z-]+"'),
    format_field("EQUAL", "", ' ext:pattern="[a-z=]+"'),
    format_field("PROFILE", "", ' isSettable="false"'),
    format_fixed_field("LT", "<"),
    format_fixed_field("DASHES", "--"),
    format_fixed_field("QUOTED", "'\"$x\"'"),
)

SAFE = [
    "ls -ld -- . '<E>'",
    "x='<E>'; ls -ld -- . \"$x\"",
    "x -- '<E>'",
    "x -y'<E>'",
    "x --y='<E>'",
    "y='<E>'; x ${y:+-y \"$y\"}",
    "export y='<E>'",
    "printf '%s\\n' '<E>'",
    "[ -n '<E>' ] || exit",
    "case '<E>' in a) ;; esac",
    "for y in '<E>'; do x -- \"$y\"; done",
    "x > '<E>'",
    "x \"$(y -- '<E>')\"",
    'x <N> "<N>" $((<N> + 1)) `x <N>` # <N>',
    "f() { x -- \"$1\"; }\nf '<E>'",
    "setsid sh -c 'x -- \"$1\"' sh '<E>'",
    "x <WHY/[^A-Za-z0-9]/_>",
    "x -y<WHY/[^A-Za-z0-9]+/>",
    "'<E>'",
    "exec -- '<E>'",
    "x '--<WHY/'/_>'",
    "cat <<EOF\nid <ID>\nEOF",
    "printf '%s\\n' '<E>' | cat",
    "printf '%s\\n' '<E>' | sh -c 'cat'",
    "printf '%s\\n' '<E>' || sh",
    "printf '%s\\n' '<E>'; sh x",
    "echo a | sh",
    "y='<E>'; z=$y; x -- \"$z\"",
    "y='<E>'; z=a; eval \"$z\"",
    "y='<E>'; case $y in a) ;; esac",
    "y='<E>'; if [ -n \"$y\" ]; then :; fi | sh",
    "y='<E>'; z=${#y}; x $((z))",
    "f() { eval \"$1\"; }; f a; x -- '<E>'",
    'f() { eval "$1"; }; g() { x -- "$1"; }; g \'<E>\'; f a',
    "printf '%s\\n' '<E>' | while read -r y; do x -- \"$y\"; done",
    "set -- '<E>'; x -- \"$1\"",
    'y=<N>; kill "$y"; x $((y + 1))',
    'y=\'<E>\'; set -- "$@" --y="$y"; x "$@"',
    'y=\'<E>\'; set -- -y "$y"; x "$@"',
    "y=a='<E>'; x \"$y\"",
    "Y='<E>' x",
    "env Y='<E>' x",
    "find ./'<E>' -delete",
    "x -- y '<E>'",
    'while read -r y; do x -- "$y"; done < z',
    "x <LT> y",
    "x <DASHES> '<E>'",
    "awk '$1 == \"<ID>\"'",
    'sed -n "s/^<ID>//p"',
    "x <N:HMS> <N:MINUTES>",
    "x -- <WHY:QUOTED>",
    r"x <WHY:QUOTED/(?s)^(.+)\z/--y=$1 >-- <WHY:QUOTED/(?s)^(.+)\z/$1>",
    r"x <ID/(?s)^(.+)\z/--id='$1' ><WHY/(?s)^.+\z/--why > $((<N/(?s)^(.+)\z/-$1>))",
    "cd -- '<WORKING_DIRECTORY/'/'\\\\''>'",
    "cd '<WORKING_DIRECTORY/'/'\\\\''>'",
    "x -u '<USER_NAME/'/'\\\\''>'",
    '"<QUOTED>"',
    "command -v -- '<E>'",
    "'<E>' '<E>'",
    "cat <<EOF\n<N>\nEOF",
    "sh -c 'x' '<E>'",
    "y='<E>' awk '{ print ENVIRON[\"y\"] }'",
    "x ${y:+-y'<E>'}",
    "set -- '<E>'",
    "[ '<E>' = x ]",
    "x -- \"$z\" '<E>'",
    "\"$z\" -- '<E>'",
    "x -- '<E>' | sh y",
    "x -- '<E>' | sh - y",
    "x -- '<E>' | python3 y.py",
    "x -- '<E>' | python3 -c 'import sys'",
    "x -- '<E>' | perl -pe's/a/b/'",
    "x -- '<E>' | perl -ne 'print'",
    "x -- '<E>' | ssh host cat",
    "x -- '<E>' | timeout 5 cat",
    "x -- '<E>' | sed -f y",
    "python3 -- y.py '<E>'",
    "timeout 5 x -- '<E>'",
    "ssh -o ConnectTimeout='<E>' host",
    "flock -- '<E>' x",
    "f() { shift; x -- \"$@\"; }; f a '<E>'",
    "f() { eval \"$1\"; }; f x '<E>'",
    'f() { eval "$1"; }; g() { shift; x -- "$1"; }; g a \'<E>\'',
    "set -- '<E>'; for a; do x -- \"$a\"; done",
]

UNSAFE = [
    ("x <ID> \"<ID>\" '<ID>'", [("OSP601", 1, 3)]),
    ("ssh -p <N> -- host ls <ID>", [("OSP601", 1, 23)]),
    ("x '<E>'", [("OSP605", 1, 4)]),
    ("x -y '<E>'", [("OSP605", 1, 7)]),
    ("x <WHY>", [("OSP601", 1, 3)]),
    ("x <WHY:QUOTED>", [("OSP605", 1, 3)]),
    ('x -- "<WHY:QUOTED>"', [("OSP602", 1, 7)]),
    ("eval <WHY:QUOTED>", [("OSP610", 1, 6)]),
    (r"x <WHY:QUOTED/(?s)^(.+)\z/'$1'>", [("OSP601", 1, 3)]),
    (r"x <WHY:QUOTED/./$0>", [("OSP601", 1, 3)]),
    (r"x <WHY/(?s)^(.+)\z/--y='$1'>", [("OSP603", 1, 3)]),
    (r"x <WHY/(?s)^(.+)\z/--y=$1>", [("OSP601", 1, 3)]),
    ("x -y<WHY>", [("OSP601", 1, 5)]),
    ("<WHY>", [("OSP601", 1, 1)]),
    ('x "<WHY>"', [("OSP602", 1, 4)]),
    ("x '<WHY>'", [("OSP603", 1, 4)]),
    ("x '<WHY/'/x'>'", [("OSP603", 1, 4)]),
    ("x -y <E>", [("OSP601", 1, 6)]),
    ("y=<WHY>", [("OSP601", 1, 3)]),
    ("x > <WHY>", [("OSP601", 1, 5)]),
    ("x # <E>", [("OSP607", 1, 5)]),
    ("cat <<EOF\n<E>\nEOF", [("OSP604", 2, 1)]),
    ("cat <<'EOF'\n<E>\nEOF", [("OSP604", 2, 1)]),
    ("cat <<1\n<N>\n1", [("OSP604", 2, 1)]),
    ("x `y -- '<E>'`", [("OSP613", 1, 10)]),
    ("echo '<E>'", [("OSP605", 1, 7)]),
    ("echo <ID>", [("OSP601", 1, 6)]),
    ("x $((<WHY>))", [("OSP606", 1, 6)]),
    ("x $<ID>", [("OSP601", 1, 4)]),
    ("x $<WHY>", [("OSP601", 1, 4)]),
    ("eval '<E>'", [("OSP610", 1, 7)]),
    ("eval \"x -- '<E>'\"", [("OSP602", 1, 13)]),
    ("sh -c '<E>'", [("OSP610", 1, 8)]),
    ("sh '<E>'", [("OSP605", 1, 5)]),
    ("awk '<E>'", [("OSP610", 1, 6)]),
    ("awk -f y '<E>'", [("OSP605", 1, 11)]),
    ("sed '<E>'", [("OSP610", 1, 6)]),
    ("sed -e '<E>'", [("OSP610", 1, 9)]),
    ("printf '<E>'", [("OSP610", 1, 9)]),
    ("trap '<E>' EXIT", [("OSP610", 1, 7)]),
    ("ssh -- host '<E>'", [("OSP610", 1, 14)]),
    ("ssh '<E>'", [("OSP605", 1, 6)]),
    ("nohup env a=b sh -c '<E>'", [("OSP610", 1, 22)]),
    ("x \"${y#'<E>'}\"", [("OSP611", 1, 9)]),
    ("x \"${y:-'<E>'}\"", [("OSP602", 1, 10)]),
    ("x $'<E>'", [("OSP603", 1, 5)]),
    ("y='<E>'; eval \"x $y\"", [("OSP615", 1, 4)]),
    ("y='<E>'; x $((y))", [("OSP615", 1, 4)]),
    ("export y='<E>'; x $(( $y + 1 ))", [("OSP615", 1, 11)]),
    ("x $((y '<E>'); z)", [("OSP611", 1, 9)]),
    ("cd <WORKING_DIRECTORY>", [("OSP609", 1, 4)]),
    ('cd "<WORKING_DIRECTORY>"', [("OSP609", 1, 5)]),
    ("cd '<WORKING_DIRECTORY>'", [("OSP609", 1, 5)]),
    ("ssh '<SSH:HOST/'/'\\\\''>'", [("OSP609", 1, 6)]),
    ("x <TargetSystemInfo:Queue>", [("OSP609", 1, 3)]),
    ("x <PROFILE>", [("OSP609", 1, 3)]),
    ("ls <MINUS>", [("OSP605", 1, 4)]),
    ("<EQUAL>", [("OSP601", 1, 1)]),
    ("exec '<E>'", [("OSP605", 1, 7)]),
    ("x ${y:+-y '<E>'}", [("OSP605", 1, 12)]),
    ("x '<WHY/^(.*)$/$1>'", [("OSP603", 1, 4)]),
    ("x -y'<WHY/'/\"'\"'\"'\"'>'", [("OSP603", 1, 6)]),
    ("set '<E>'", [("OSP605", 1, 6)]),
    ("\"$z\" '<E>'", [("OSP605", 1, 7)]),
    ("x \\<WHY>", [("OSP601", 1, 4)]),
    ("x $z'<E>'", [("OSP605", 1, 6)]),
]

FLOWS = {
    # Each body has one problem: its code, and the position of the value.
    "OSP610": [
        "printf '%s\\n' ~'<E>' | sh", "echo y | sh; printf '%s' ~'<E>' | cat | sh", "x -- ~'<E>' |\n sh -s",
        "{ x -- ~'<E>'; y; } | sh", "(x -- ~'<E>') | ssh host", "if y; then x -- ~'<E>'; fi | bash",
        "x -- ~'<E>' | xargs rm", "sh <<E\n~<WHY/[^a-z;]/>\nE", "cat <<E | sh\n~<WHY/[^a-z;]/>\nE",
        "awk -v w=~'<E>' '{ print w }'", "awk -vw=~'<E>' 1", "su -c ~'<E>'", "su me -c ~'<E>'", "x --wrap=~'<E>'",
        "x --wrap ~'<E>'", "srun -- sh -c ~'<E>'", "find . -exec sh -c ~'<E>' \\;", "find . -exec ~'<E>' \\;",
        "xargs sh -c ~'<E>'", "timeout 5 sh -c ~'<E>'", ". ~'<E>'", "source ~'<E>'",
        "s=sh; $s -c ~'<ND>'", '"${SHELL:-sh}" -c ~\'<ND>\'', "mksh -c ~'<ND>'", "ksh93 -c ~'<ND>'",
        "busybox sh -c ~'<ND>'", "sh +x -c ~'<ND>'", "sh +o posix -c ~'<ND>'", "bash -O extglob -c ~'<ND>'",
        "python3 -c ~'<ND>'", "perl -e ~'<ND>'", "perl -e~'<E>'", "perl -ne ~'<ND>'", "srun python3.12 -c ~'<ND>'",
        "env -S ~'<ND>'", "env -S~'<E>'", "flock f -c ~'<ND>'", "flock -o f -c ~'<ND>'", "su -lc ~'<ND>'",
        "ssh -o ProxyCommand=~'<E>' host", "ssh -oproxycommand=~'<E>' host", "ssh -o ~'<ND>' host",
        "sudo -u me sh -c ~'<ND>'", "nice -n 5 sh -c ~'<ND>'", "/usr/bin/env -u X sh -c ~'<ND>'",
        "x -- ~'<E>' | timeout 5 sh", "x -- ~'<E>' | timeout -k 1 5 sh", "x -- ~'<E>' | nice -n 5 sh",
        "x -- ~'<E>' | env -u X sh", "x -- ~'<E>' | env -i A=b sh", "x -- ~'<E>' | sh -", "x -- ~'<E>' | sh /dev/stdin",
        "x -- ~'<E>' | . /dev/stdin", "x -- ~'<E>' | python3", "x -- ~'<E>' | python3 -u -", "x -- ~'<E>' | perl",
        "x -- ~'<E>' | busybox sh", "x -- ~'<E>' | mksh", "x -- ~'<E>' | ssh host sh", "x -- ~'<E>' | ssh -p 22 host 'bash -s'",
        "x -- ~'<E>' | sed -f - y", "x -- ~'<E>' | awk -f /dev/stdin y",
    ],
    "OSP605": ["find -- ~'<E>' -delete", "find ~'<E>'"],
    "OSP615": [
        "y=~'<E>'; z=$y; eval \"$z\"", "f() { eval \"$1\"; }; f ~'<E>'", "f() { eval \"$@\"; }\nf -- ~'<E>'",
        "f() {\n g \"$1\"\n}\ng() { sh -c \"$2$1\"; }\nf ~'<E>'", "y=~'<E>'; f() { eval \"$y\"; }; f",
        "printf '%s' ~'<E>' | while read -r y; do eval \"$y\"; done",
        'while read -r y; do eval "$y"; done <<E\n~<WHY/[^a-z;]/>\nE',
        "y=$(printf '%s' ~'<E>'); eval \"$y\"", "eval \"$(printf '%s' ~'<E>')\"",
        "for y in ~'<E>'; do eval \"$y\"; done", "set -- ~'<E>'; eval \"$1\"", "set -- x ~'<E>'; sh -c \"$2\"",
        "y=~'<E>'; sed \"$y\" z", "y=~'<E>'; awk \"$y\" z", "y=~'<E>'; trap \"$y\" EXIT", "y=~'<E>'; ssh host \"$y\"",
        "y=~'<E>'; printf '%s' \"$y\" | sh", "y=~'<E>'; z=${y#a}; eval $z", "y=~'<E>'; z=$((y))", "PATH=~'<E>' x",
        "env PATH=~'<E>' x", "export PATH=~'<E>'", "PATH=$PATH:~'<E>'", "y=~'<E>'; PATH=$y; x",
        "f() { shift; eval \"$1\"; }; f x ~'<E>'", "f() { for a do eval \"$a\"; done; }; f ~'<E>'",
        "f() { for a; do eval \"$a\"; done; }; f x ~'<E>'", "set -- ~'<E>'; for a do eval \"$a\"; done",
        "f() { eval \"$2\"; }; set -- a ~'<E>'; f \"$@\"", "f() { g \"$@\"; }; g() { eval \"$2\"; }; f a ~'<E>'",
        "f() { eval \"${10}\"; }; f 1 2 3 4 5 6 7 8 9 ~'<E>'", "set -- 1 2 3 4 5 6 7 8 9 ~'<E>'; eval \"${10}\"",
        "f() { shift 9; eval \"${2}\"; }; f 1 2 3 4 5 6 7 8 9 x ~'<E>'",
    ],
    "OSP616": ["y=~'<E>'; ls \"$y\"", "y=~'<E>'; z=$y; find -- \"$z\" -delete", "f() { ls \"$1\"; }; f ~'<E>'"],
    "OSP617": ['while read -r y; do eval ~"$y"; done', 'read -r y < z; w=$y; sh -c ~"$w"'],
}  # fmt: skip


@pytest.mark.parametrize(("code", "body"), [(c, b) for c, bodies in FLOWS.items() for b in bodies])
def test_where_a_value_gets_to(lint: Lint, code: str, body: str) -> None:
    """The problem is reported at the value, or at the variable that is set by input."""
    before = body.partition("~")[0]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    column += 2 if code == "OSP617" else "~'" in body  # behind the quotes, and the $
    problems = [p for p in found(lint, body.replace("~", "")) if p[0] == code]
    assert problems == [(code, line, column)]
    assert {c for c, _, _ in found(lint, body.replace("~", ""))} <= {code, "OSP617"}


STATIC_SCRIPTS = [
    ('#!/bin/sh\neval "$1"\n', ["OSP615"]),
    ('#!/usr/bin/env bash\nx=$2; sh -c "$x"\n', ["OSP615"]),
    ('eval "$1"', ["OSP615"]),
    ('#!/bin/sh\nls "$1"\n', ["OSP616"]),
    ('#!/bin/sh\nx -- "$1"\n', []),
    ('#!/usr/bin/env python3\neval "$1"\n', []),
    ("#!/usr/bin/perl\nprint 'it' . qw(')\n", []),
]


@pytest.mark.parametrize(("script", "expected"), STATIC_SCRIPTS)
def test_a_static_script_gets_its_arguments(lint: Lint, script: str, expected: list[str]) -> None:
    arguments = "'&lt;WHY/'/'\\\\''>'"
    holder = format_static_script("HOLD", "a.sh", f"<![CDATA[{script}]]>", arguments)
    holder = holder.replace("</idb:Template>", f"{format_field('WHY')}</idb:Template>")
    problems = lint(complete_example(format_bin_template("<TARGET> <ARGUMENTS>") + holder))
    assert [p.code for p in problems if p.code.startswith("OSP6")] == expected


RUNS = [
    ("<TARGET> <ARGUMENTS>", []),
    ("exec -- <TARGET> <ARGUMENTS>", []),
    ("sh <TARGET> <ARGUMENTS>", []),
    ('set -- <TARGET> <ARGUMENTS>; nohup "$@"', []),
    ("eval <TARGET> <ARGUMENTS>", ["OSP610"]),
    ("ssh host <TARGET> <ARGUMENTS>", ["OSP610"]),
    ('set -- <TARGET> <ARGUMENTS>; sh -c "$*"', ["OSP615"]),
    ("echo <TARGET> <ARGUMENTS> | sh", ["OSP610"]),
    ('<TARGET> "<ARGUMENTS>"', ["OSP614"]),
]


@pytest.mark.parametrize(("run", "expected"), RUNS)
def test_how_a_static_script_is_run(lint: Lint, run: str, expected: list[str]) -> None:
    problems = lint(complete_example(format_bin_template(run)))
    assert [p.code for p in problems if p.code.startswith("OSP6")] == expected


def found(lint: Lint, body: str) -> list[tuple[str, int, int]]:
    """Return code, line and column of each problem; the first line's column counts from the body."""
    for name, meant in (("<E>", "WHY"), ("<ND>", "ND")):
        body = body.replace(name, f"<{meant}/'/'\\\\''>")
    problems = lint(complete_example(format_template(body, *FIELDS)))
    places = [(p.code, p.location) for p in problems if p.code != "OSP302" and p.location]
    return [(code, place.line - 7, place.column - (37 if place.line == 8 else 0)) for code, place in places]


def test_the_work_grows_with_the_script_alone(lint: Lint) -> None:
    """Twice as many lines with the same variables are no more than about twice the work."""

    def calls(lines: int) -> int:
        body = "y='<WHY/'/'\\\\''>'; z=$y; y=$z; x -- \"$y\"\n" * lines
        document = complete_example(format_template(body, *FIELDS))
        count = 0

        def note(_frame: object, _event: str, _argument: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(note)
        try:
            lint(document)
        finally:
            sys.setprofile(None)
        return count

    calls(2)  # what is done once in a process; what was read once is not read again
    one, forty, eighty = map(calls, (1, 40, 80))
    assert eighty - forty < 1.3 * (forty - one)


def test_many_uses_of_a_field_in_one_word_take_memory_by_their_number(lint: Lint) -> None:
    """Not by its square, which was gigabytes for a document of 200 kB."""

    def measure(count: int) -> int:
        document = complete_example(format_template("<WHY>" * count, *FIELDS))
        tracemalloc.start()
        lint(document)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    measure(10)  # what is made once in a process
    assert measure(6000) < 2.5 * measure(3000)


@pytest.mark.parametrize("body", SAFE)
def test_safe(lint: Lint, body: str) -> None:
    assert found(lint, body) == []


@pytest.mark.parametrize(("body", "expected"), UNSAFE)
def test_unsafe(lint: Lint, body: str, expected: list[tuple[str, int, int]]) -> None:
    assert found(lint, body) == expected


def test_a_command_named_by_a_variable_is_called_the_command(lint: Lint) -> None:
    script = "\"$SHELL\" -c '<WHY/'/'\\\\''>'"
    messages = [p.message for p in lint(complete_example(format_template(script, format_field("WHY"))))]
    assert messages == ["the value of settable field WHY is used in what the command reads as shell commands"]
