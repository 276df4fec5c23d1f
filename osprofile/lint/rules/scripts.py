"""Rules about scripts (6xx): quoting, and the lines that a batch system reads."""

from __future__ import annotations

from typing import Final

from osprofile.lint.rules.rule import Rule, bin_template, field, fixed, template

_WHY: Final = field("WHY")
_QUOTED: Final = "'<WHY/'/'\\\\''>'"


def _hold(body: str) -> str:
    """Give a HOLD that uses the settable field WHY."""
    return template(body, _WHY)


def _start(body: str) -> str:
    return template(body, fixed("JOB_ID_PATTERN", "(?<id>.+)"), name="START")


def _prologue(body: str, *fields: str) -> str:
    return template(body, fixed("DIRECTIVE_PREFIX", "#PBS"), *fields, name="JOB_PROLOGUE")


def _queue(attributes: str) -> str:
    return field("QUEUE", "<idb:Default/>", attributes)


_SAFE: Final = ' ext:pattern="[A-Za-z0-9_.@:+-]*"'

RULES: Final = (
    Rule(
        "OSP601", "error", "a settable value, unquoted",
        "The shell would execute what the value holds: `x; rm -r .` or `$(...)`. It stands in "
        "single quotes, each ' in it escaped: '<NAME/'/'\\\\''>'. Integers, and fields whose "
        "pattern has only harmless characters, may stand anywhere.",
        _hold("hold -w<WHY>"),
        _hold(f"hold -w{_QUOTED}"),
    ),
    Rule(
        "OSP602", "error", "a settable value in double quotes",
        'There $, ` and " keep their meaning: `$(...)` in the value is executed.',
        _hold('hold -w"<WHY>"'),
        _hold(f"hold -w{_QUOTED}"),
    ),
    Rule(
        "OSP603", "error", "a settable value in single quotes, not escaped",
        "A ' in the value would end the quotes. The replacement '<NAME/'/'\\\\''>' escapes it.",
        _hold("hold -w'<WHY>'"),
        _hold(f"hold -w{_QUOTED}"),
    ),
    Rule(
        "OSP604", "error", "a settable value in a here-document",
        "A line of the value can end the here-document, and what follows it is executed; without "
        "quotes around the delimiter, so are $ and `.",
        _hold("cat <<'END'\n<WHY>\nEND\n"),
        _hold(f"printf '%s\\n' {_QUOTED}"),
    ),
    Rule(
        "OSP605", "error", "a settable value where an option may stand",
        "A quoted value that begins with - is taken for an option. A -- precedes it, or it is "
        "attached to its option (-q'...', --queue='...'), or its pattern forbids a leading -.",
        _hold(f"hold {_QUOTED}"),
        _hold(f"hold -- {_QUOTED}"),
    ),
    Rule(
        "OSP606", "error", "a settable value in an arithmetic expression",
        "Shells evaluate variables there, some of them with commands in their subscripts. An "
        'integer (ext:type="integer") is safe.',
        template("hold $((<N> * 2))", field("N")),
        template("hold $((<N> * 2))", field("N", "", ' ext:type="integer"')),
    ),
    Rule(
        "OSP607", "error", "a settable value in a comment",
        "A line end in the value ends the comment, and what follows it is executed.",
        _hold("# <WHY>\nhold"),
        _hold(f"hold -w{_QUOTED}"),
    ),
    Rule(
        "OSP608", "error", "the job's script, badly quoted",
        "JOB_SCRIPT holds whatever the job's values hold. It stands in single quotes, escaped, as "
        "an argument of printf '%s\\n'.",
        _start("cat > .gpe_job <<EOF\n<JOB_SCRIPT>\nEOF\nqsub .gpe_job"),
        _start("printf '%s\\n' '<JOB_SCRIPT/'/'\\\\''>' > .gpe_job\nqsub .gpe_job"),
    ),
    Rule(
        "OSP609", "warning", "a value of the context, badly quoted",
        "USER_NAME, WORKING_DIRECTORY and fields of the user's profile may hold blanks and quotes.",
        _start("cd <WORKING_DIRECTORY>"),
        _start("cd '<WORKING_DIRECTORY/'/'\\\\''>'"),
    ),
    Rule(
        "OSP610", "error", "a settable value in the text of a program",
        "What eval, sh -c, awk, sed, printf (its format) or ssh read as code is code, however it "
        "is quoted for the shell.",
        _hold(f"awk '$1 == \"'{_QUOTED}'\"' jobs"),
        _hold(f"why={_QUOTED} awk '$1 == ENVIRON[\"why\"]' jobs"),
    ),
    Rule(
        "OSP611", "warning", "quotes that shells read differently",
        "Single quotes inside \"${x#'...'}\" protect in some shells and are text in others.",
        _hold(f'hold -w "${{x#{_QUOTED}}}"'),
        _hold(f'why={_QUOTED}\nhold -w "${{x#"$why"}}"'),
    ),
    Rule(
        "OSP612", "error", "a quote or parenthesis that does not end",
        "The script is no complete shell script; its quoting can be checked only when it is.",
        _hold(f"echo 'held\nhold -w{_QUOTED}").replace(_QUOTED, "").replace(_WHY, ""),
        template("echo 'held'"),
    ),
    Rule(
        "OSP613", "error", "a settable value in backquotes",
        "Inside them a backquote of the value ends the command, in whatever quotes it stands.",
        _hold(f"x=`hold -w{_QUOTED}`"),
        _hold(f"x=$(hold -w{_QUOTED})"),
    ),
    Rule(
        "OSP614", "error", "shell words in quotes",
        "In BIN's RUN_STATIC_SCRIPT the engine gives TARGET and ARGUMENTS as shell words, quoted "
        "where they need it.",
        bin_template('sh "<TARGET>" <ARGUMENTS>'),
        bin_template("sh <TARGET> <ARGUMENTS>"),
    ),
    Rule(
        "OSP615", "warning", "a variable with a settable value is evaluated",
        "What eval, sh -c, awk or printf's format get from a variable is code, and in $((...)) "
        "shells evaluate a variable's text. A warning, since the script may check it before.",
        template("n='<N/'/'\\\\''>'\nhold $((n * 2))", field("N")),
        template("n='<N/'/'\\\\''>'\nhold $((n * 2))", field("N", "", ' ext:type="integer"')),
    ),
    Rule(
        "OSP616", "warning", "a variable with a settable value where an option may stand",
        "A value that begins with - is taken for an option there, too. A warning, since the script "
        "may check it before.",
        _hold(f'why={_QUOTED}\nhold "$why"'),
        _hold(f'why={_QUOTED}\nhold -- "$why"'),
    ),
    Rule(
        "OSP617", "warning", "text that is read is run as commands",
        "Nobody can know what a file, a pipe or a batch system's answer holds: a job's name, or a "
        "user's, may stand in it. What eval, sh -c or awk read as code is no place for it.",
        template('status | while read -r line; do eval "$line"; done'),
        template('status | while read -r line; do hold -- "$line"; done'),
    ),
    Rule(
        "OSP621", "error", "a settable field without a pattern in a directive",
        "Directives know no quoting: a line end in the value adds a directive line, a blank an "
        "option. The field's pattern lists what may stand.",
        _prologue("#!/bin/sh\n#PBS -q <QUEUE>\n{\n", _queue("")),
        _prologue("#!/bin/sh\n#PBS -q <QUEUE>\n{\n", _queue(_SAFE)),
    ),
    Rule(
        "OSP622", "error", "a pattern that lets a value out of its directive",
        "The pattern lets line ends, blanks or quotes through.",
        _prologue("#!/bin/sh\n#PBS -q <QUEUE>\n{\n", _queue(' ext:pattern="[^;]*"')),
        _prologue("#!/bin/sh\n#PBS -q <QUEUE>\n{\n", _queue(_SAFE)),
    ),
    Rule(
        "OSP623", "error", "a directive behind the first command",
        "Every batch system stops looking for directives at the first command.",
        _prologue("#!/bin/sh\numask 077\n#PBS -j oe\n{\n"),
        _prologue("#!/bin/sh\n#PBS -j oe\numask 077\n{\n"),
    ),
    Rule(
        "OSP624", "warning", "a directive that is not at its line's beginning",
        "Batch systems take it for a comment.",
        _prologue("#!/bin/sh\n  #PBS -j oe\n{\n"),
        _prologue("#!/bin/sh\n#PBS -j oe\n{\n"),
    ),
    Rule(
        "OSP625", "error", "#! that is not at the very beginning",
        "The kernel and Slurm look for #! in the first two bytes of a file; a line end after "
        "<![CDATA[ is enough to hide it.",
        _prologue("\n#!/bin/sh\n{\n"),
        _prologue("#!/bin/sh\n{\n"),
    ),
    Rule(
        "OSP626", "error", "an optional directive that may turn into a command",
        "Where FROM does not match a value, the value itself stands in the line, as a command. FROM "
        "matches every value: (?s)^(.+)\\z.",
        _prologue("#!/bin/sh\n<QUEUE/^([a-z]+)$/#PBS -q $1>\n{\n", _queue(_SAFE)),
        _prologue("#!/bin/sh\n<QUEUE/(?s)^(.+)\\z/#PBS -q $1>\n{\n", _queue(_SAFE)),
    ),
)  # fmt: skip
