"""Where a value may stand in a script: each line is the body of a template.

`<E>` is the quoted replacement of WHY, a settable text. Places are relative to the body.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from osprofile.errors import Problem
from osprofile.lint.rules import document
from osprofile.lint.rules.rule import field, fixed, template

Lint = Callable[[str], list[Problem]]

FIELDS = (
    field("WHY"),
    field("N", "", ' ext:type="integer"'),
    field("ID", "", r' ext:pattern="[0-9]+(\[[0-9]*\])?"'),
    field("MINUS", "", ' ext:pattern="[a-z-]+"'),
    field("EQUAL", "", ' ext:pattern="[a-z=]+"'),
    field("PROFILE", "", ' isSettable="false"'),
    fixed("LT", "<"),
    fixed("DASHES", "--"),
    fixed("QUOTED", "'\"$x\"'"),
)

SAFE = [
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
    "awk -v w='<E>' '{ print w }'",
    "x <LT> y",
    "x <DASHES> '<E>'",
    "awk '$1 == \"<ID>\"'",
    'sed -n "s/^<ID>//p"',
    "x <N:HMS> <N:MINUTES>",
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
]

UNSAFE = [
    ("x <ID> \"<ID>\" '<ID>'", [("OSP601", 1, 3)]),
    ("ssh -p <N> -- host ls <ID>", [("OSP601", 1, 23)]),
    ("x '<E>'", [("OSP605", 1, 4)]),
    ("x -y '<E>'", [("OSP605", 1, 7)]),
    ("x <WHY>", [("OSP601", 1, 3)]),
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


def found(lint: Lint, body: str) -> list[tuple[str, int, int]]:
    """Give code, line and column of each problem; the first line's column counts from the body."""
    problems = lint(document(template(body.replace("<E>", "<WHY/'/'\\\\''>"), *FIELDS)))
    places = [(p.code, p.place) for p in problems if p.code != "OSP302" and p.place]
    return [
        (code, place.line - 7, place.column - (37 if place.line == 8 else 0))
        for code, place in places
    ]


@pytest.mark.parametrize("body", SAFE)
def test_safe(lint: Lint, body: str) -> None:
    assert found(lint, body) == []


@pytest.mark.parametrize(("body", "expected"), UNSAFE)
def test_unsafe(lint: Lint, body: str, expected: list[tuple[str, int, int]]) -> None:
    assert found(lint, body) == expected
