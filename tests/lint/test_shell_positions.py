"""The lexer of `sh`: how a placeholder is quoted, and what part of a command it is."""

from __future__ import annotations

import pytest

from osprofile.lint.shell.lexer import LexedScript, lex_script
from osprofile.lint.shell.position import EXPANSION_MARK, PLACEHOLDER_MARK


class Marker:
    """A placeholder; `@` in the tests' scripts."""


def lex(script: str) -> LexedScript[Marker]:
    return lex_script([Marker() if char == "@" else char for char in script])


def format_positions(script: str) -> list[str]:
    """Return quote, role, preceding words and prefix of each placeholder."""
    lines = []
    for _marker, at in lex(script).placeholders:
        words = (
            " ".join((*at.preceding_words, at.prefix))
            .replace(PLACEHOLDER_MARK, "@")
            .replace(EXPANSION_MARK, "$")
        )
        marks = [
            "backquoted" * at.is_backquoted, "computed" * at.feeds_arithmetic,
            "" if at.here_delimiter is None else f"until {at.here_delimiter}",
        ]  # fmt: skip
        lines.append(" ".join([f"{at.quote} {at.role}: {words}|", *filter(None, marks)]))
    return lines


CASES = [
    # Quotes
    ("x @", ["unquoted argument: x |"]),
    ("x '@'", ["single argument: x |"]),
    ('x "@"', ["double argument: x |"]),
    ("x a'b'\"c\"@", ["unquoted argument: x abc|"]),
    (r"x \'@", ["unquoted argument: x '|"]),
    (r"x '\'@", ["unquoted argument: x \\|"]),
    (r'x "\"@"', ['double argument: x "|']),
    (r"x \@", ["unquoted argument: x |"]),
    ("x $'@'", ["dollar-single argument: x |"]),
    ('x "$\'@\'"', ["double argument: x $'|"]),
    ("x $@", ["after-dollar argument: x |"]),
    ("x 'it'\\''s @'", ["single argument: x it's |"]),
    ("x 'a\n@'", ["single argument: x a\n|"]),
    ("x \\\n  @", ["unquoted argument: x |"]),
    # Words and what they are
    ("@", ["unquoted command: |"]),
    ("a=@ b=@ c d=@", ["unquoted assignment: a=|", "unquoted assignment: b=|", "unquoted argument: c d=|"]),
    ("a-b=@", ["unquoted command: a-b=|"]),
    ("x a b; y @", ["unquoted argument: y |"]),
    ("x | y @ && z @", ["unquoted argument: y |", "unquoted argument: z |"]),
    ("x & @", ["unquoted command: |"]),
    ("x @ '@'", ["unquoted argument: x |", "single argument: x @ |"]),
    ("x $y ${z} $(w) @", ["unquoted argument: x $ $ $ |"]),
    ("! x @", ["unquoted argument: x |"]),
    ("'if' @", ["unquoted argument: if |"]),
    # Redirections
    ("x > @ y", ["unquoted redirection: |"]),
    ("x 2>'@' @", ["single redirection: |", "unquoted argument: x |"]),
    ("x2>@ @", ["unquoted redirection: |", "unquoted argument: x2 |"]),
    ("x >& @ <> @ >| @", ["unquoted redirection: |"] * 3),
    ("< @ x @", ["unquoted redirection: |", "unquoted argument: x |"]),
    ("x 2>&1 @", ["unquoted argument: x |"]),
    ("\u0662>x @", ["unquoted argument: \u0662 |"]),
    # Compound commands
    ("if x @; then y @; else z @; fi", [f"unquoted argument: {c} |" for c in "xyz"]),
    ("while x @; do y @; done > @", ["unquoted argument: x |", "unquoted argument: y |", "unquoted redirection: |"]),
    ("{ x @; }; ( y @ ); z @", [f"unquoted argument: {c} |" for c in "xyz"]),
    ("f() { x @; }\nf @", ["unquoted argument: x |", "unquoted argument: f |"]),
    ("for i in a '@' @; do x @; done", ["single for-item: i |", "unquoted for-item: i |", "unquoted argument: x |"]),
    ("for i\ndo x @; done", ["unquoted argument: x |"]),
    ("for i do x @; done", ["unquoted argument: x |"]),
    ("case '@' in a|@) x @ ;; (b) y @ ;; *) z @; esac; w @", [
        "single case-subject: |", "unquoted case-pattern: |", *[f"unquoted argument: {c} |" for c in "xyzw"]]),
    ("case x in esac @", ["unquoted command: |"]),
    ("case $x in # it's\n a) ;; # )\n b) x @;; esac", ["unquoted argument: x |"]),
    ("case a in a) case b in b) x @ ;; esac ;; c) y @ ;; esac", [f"unquoted argument: {c} |" for c in "xy"]),
    # Comments
    ("# it's @\nx @", ["comment non-word: |", "unquoted argument: x |"]),
    ("x a#b '@' # '", ["single argument: x a#b |"]),
    # Substitutions
    ("x $(y '@') @", ["single argument: y |", "unquoted argument: x $ |"]),
    ('x "$(y \'@\' "@")" "@"', [
        "single argument: y |", "double argument: y @ |", "double argument: x $ |"]),
    ("x $(case a in a) y @;; esac) @", ["unquoted argument: y |", "unquoted argument: x $ |"]),
    ("x $(y # )\n) @", ["unquoted argument: x $ |"]),
    ("x `y '@'` @", ["single argument: y | backquoted", "unquoted argument: x $ |"]),
    (r"x `y \`z '@'\` @`", ["single argument: z | backquoted", "unquoted argument: y $ | backquoted"]),
    (r'x "`y \"@\"`"', ["double argument: y | backquoted"]),
    ("x $((1 + @)) @", ["arithmetic non-word: |", "unquoted argument: x $ |"]),
    ("x $(( $(y '@') ))", ["single argument: y | computed"]),
    ("x $(( (1 + 2) * @ ))", ["arithmetic non-word: |"]),
    ("x $((y '@'); z)", ["shell-dependent argument: y |"]),
    ("x $( (y '@') )", ["single argument: y |"]),
    # Parameters
    ("x ${y:-'@'}", ["single argument: x |"]),
    ("x ${y:-@} @", ["unquoted argument: x |", "unquoted argument: x $ |"]),
    ("x \"${y:-'@'}\"", ["double argument: x '|"]),
    ("x \"${y#'@'}\"", ["shell-dependent argument: x |"]),
    ('x "${y:-"@"}"', ["double argument: x |"]),
    ("x ${y:+-q '@'}", ["single argument: x -q |"]),
    ("x ${#y} $# ${#} $* @", ["unquoted argument: x $ $ $ $ |"]),
    ("x ${y:-${z:-'@'}} @", ["single argument: x |", "unquoted argument: x $ |"]),
    # Here-documents
    ("x <<E\n'@'\nE\ny @", ["here-document non-word: '| until E", "unquoted argument: y |"]),
    ("x <<'E'\n@\n$(\nE\ny @", ["literal-here-document non-word: | until E", "unquoted argument: y |"]),
    ("x <<-\\E\n\t@\n\tE\ny @", ["literal-here-document non-word: | until E", "unquoted argument: y |"]),
    ("x <<E <<'F' @\n@\nE\n@\nF\ny @", [
        "unquoted argument: x |", "here-document non-word: | until E", "literal-here-document non-word: | until F",
        "unquoted argument: y |"]),
    ("x <<E\n$(y '@')\nE", ["single argument: y | until E"]),
    ("x $(y <<E\n'\nE\n) @", ["unquoted argument: x $ |"]),
    ("x <<@\n@", ["unquoted here-delimiter: |", "here-document non-word: | until \uffff"]),
    ("x <<< '@'", ["single redirection: |"]),
    ("x << E\n@\n E\n@\nE\ny @", [
        "here-document non-word: | until E", "here-document non-word: @\n E\n| until E", "unquoted argument: y |"]),
]  # fmt: skip


@pytest.mark.parametrize(("script", "expected"), CASES, ids=[case[0] for case in CASES])
def test_position(script: str, expected: list[str]) -> None:
    assert format_positions(script) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("x 'y", [(2, "a single quote")]),
        ('x "y', [(2, "a double quote")]),
        ("x `y", [(2, "a backquote")]),
        ("x $(y", [(2, "a $(")]),
        ("x ${y", [(2, "a ${")]),
        ("( x", [(0, "a (")]),
        ("case x in a) y", [(4, "a case")]),
        ("x <<E\ny", [(6, "the here-document E")]),
        ("x <<E", []),
        ("x ) y", []),
        ("", []),
        ("$", []),
        ("\\", []),
    ],
)
def test_unclosed(script: str, expected: list[tuple[int, str]]) -> None:
    assert lex(script).unclosed == expected


def test_comments_functions_and_variables() -> None:
    found = lex("f() { x; } # a\n#b\ny '# c' $v $((w + $u)) ${t:-'# d'}")
    assert found.comment_offsets == {11, 15}
    assert found.functions == {"f"}
    assert [(name, at.quote) for (_, name), uses in found.variable_uses.items() for at in uses] == [
        ("v", "unquoted"), ("w", "arithmetic"), ("u", "arithmetic"), ("t", "unquoted"),
    ]  # fmt: skip


@pytest.mark.parametrize("opening", ["$(", "(", "${x:-", '"$(', "case x in a) ", "$((", "`"])
def test_deep_nesting_is_reported_and_not_an_error(opening: str) -> None:
    found = lex(opening * 5001 + "'@'")
    assert found.unclosed
