"""Rules about scripts (6xx): quoting, and the lines that a batch system reads."""

from __future__ import annotations

from typing import Final

from osprofile.lint.rules.rule import (
    Rule,
    format_bin_template,
    format_field,
    format_fixed_field,
    format_template,
)

_WHY_FIELD: Final = format_field("WHY")
_QUOTED_WHY: Final = "'<WHY/'/'\\\\''>'"


def _format_hold(body: str) -> str:
    """Give a HOLD that uses the settable field WHY."""
    return format_template(body, _WHY_FIELD)


def _format_start(body: str) -> str:
    return format_template(body, format_fixed_field("JOB_ID_PATTERN", "(?<id>.+)"), name="START")


def _format_prologue(body: str, *fields: str) -> str:
    return format_template(
        body, format_fixed_field("DIRECTIVE_PREFIX", "#PBS"), *fields, name="JOB_PROLOGUE"
    )


def _format_queue_field(attributes: str) -> str:
    return format_field("QUEUE", "<idb:Default/>", attributes)


_SAFE_PATTERN: Final = ' ext:pattern="[A-Za-z0-9_.@:+-]*"'

RULES: Final = (
    Rule(
        "OSP601", "error", "a settable value, unquoted",
        "The shell would execute what the value holds: `x; rm -r .` or `$(...)`. It stands in "
        "single quotes, each ' in it escaped: '<NAME/'/'\\\\''>'. Integers, and fields whose "
        "pattern has only harmless characters, may stand anywhere.",
        _format_hold("hold -w<WHY>"),
        _format_hold(f"hold -w{_QUOTED_WHY}"),
    ),
    Rule(
        "OSP602", "error", "a settable value in double quotes",
        'There $, ` and " keep their meaning: `$(...)` in the value is executed.',
        _format_hold('hold -w"<WHY>"'),
        _format_hold(f"hold -w{_QUOTED_WHY}"),
    ),
    Rule(
        "OSP603", "error", "a settable value in single quotes, not escaped",
        "A ' in the value would end the quotes. The replacement '<NAME/'/'\\\\''>' escapes it.",
        _format_hold("hold -w'<WHY>'"),
        _format_hold(f"hold -w{_QUOTED_WHY}"),
    ),
    Rule(
        "OSP604", "error", "a settable value in a here-document",
        "A line of the value can end the here-document, and what follows it is executed; without "
        "quotes around the delimiter, so are $ and `.",
        _format_hold("cat <<'END'\n<WHY>\nEND\n"),
        _format_hold(f"printf '%s\\n' {_QUOTED_WHY}"),
    ),
    Rule(
        "OSP605", "error", "a settable value where an option may stand",
        "A quoted value that begins with - is taken for an option. A -- precedes it, or it is "
        "attached to its option (-q'...', --queue='...'), or its pattern forbids a leading -.",
        _format_hold(f"hold {_QUOTED_WHY}"),
        _format_hold(f"hold -- {_QUOTED_WHY}"),
    ),
    Rule(
        "OSP606", "error", "a settable value in an arithmetic expression",
        "Shells evaluate variables there, some of them with commands in their subscripts. An "
        'integer (ext:type="integer") is safe.',
        format_template("hold $((<N> * 2))", format_field("N")),
        format_template("hold $((<N> * 2))", format_field("N", "", ' ext:type="integer"')),
    ),
    Rule(
        "OSP607", "error", "a settable value in a comment",
        "A line end in the value ends the comment, and what follows it is executed.",
        _format_hold("# <WHY>\nhold"),
        _format_hold(f"hold -w{_QUOTED_WHY}"),
    ),
    Rule(
        "OSP608", "error", "the job's script, badly quoted",
        "JOB_SCRIPT holds whatever the job's values hold. It stands in single quotes, escaped, as "
        "an argument of printf '%s\\n'.",
        _format_start("cat > .gpe_job <<EOF\n<JOB_SCRIPT>\nEOF\nqsub .gpe_job"),
        _format_start("printf '%s\\n' '<JOB_SCRIPT/'/'\\\\''>' > .gpe_job\nqsub .gpe_job"),
    ),
    Rule(
        "OSP609", "warning", "a value of the context, badly quoted",
        "USER_NAME, WORKING_DIRECTORY and fields of the user's profile may hold blanks and quotes.",
        _format_start("cd <WORKING_DIRECTORY>"),
        _format_start("cd '<WORKING_DIRECTORY/'/'\\\\''>'"),
    ),
    Rule(
        "OSP610", "error", "a settable value in the text of a program",
        "What eval, sh -c, awk, sed, printf (its format) or ssh read as code is code, however it "
        "is quoted for the shell.",
        _format_hold(f"awk '$1 == \"'{_QUOTED_WHY}'\"' jobs"),
        _format_hold(f"why={_QUOTED_WHY} awk '$1 == ENVIRON[\"why\"]' jobs"),
    ),
    Rule(
        "OSP611", "warning", "quotes that shells read differently",
        "Single quotes inside \"${x#'...'}\" protect in some shells and are text in others.",
        _format_hold(f'hold -w "${{x#{_QUOTED_WHY}}}"'),
        _format_hold(f'why={_QUOTED_WHY}\nhold -w "${{x#"$why"}}"'),
    ),
    Rule(
        "OSP612", "error", "a quote or parenthesis that does not end",
        "The script is no complete shell script; its quoting can be checked only when it is.",
        _format_hold(f"echo 'held\nhold -w{_QUOTED_WHY}").replace(_QUOTED_WHY, "").replace(_WHY_FIELD, ""),
        format_template("echo 'held'"),
    ),
    Rule(
        "OSP613", "error", "a settable value in backquotes",
        "Inside them a backquote of the value ends the command, in whatever quotes it stands.",
        _format_hold(f"x=`hold -w{_QUOTED_WHY}`"),
        _format_hold(f"x=$(hold -w{_QUOTED_WHY})"),
    ),
    Rule(
        "OSP614", "error", "shell words in quotes",
        "In BIN's RUN_STATIC_SCRIPT the engine gives TARGET and ARGUMENTS as shell words, quoted "
        "where they need it.",
        format_bin_template('sh "<TARGET>" <ARGUMENTS>'),
        format_bin_template("sh <TARGET> <ARGUMENTS>"),
    ),
    Rule(
        "OSP615", "warning", "a variable with a settable value is evaluated",
        "What eval, sh -c, awk or printf's format get from a variable is code, and in $((...)) "
        "shells evaluate a variable's text. A warning, since the script may check it before.",
        format_template("n='<N/'/'\\\\''>'\nhold $((n * 2))", format_field("N")),
        format_template("n='<N/'/'\\\\''>'\nhold $((n * 2))", format_field("N", "", ' ext:type="integer"')),
    ),
    Rule(
        "OSP616", "warning", "a variable with a settable value where an option may stand",
        "A value that begins with - is taken for an option there, too. A warning, since the script "
        "may check it before.",
        _format_hold(f'why={_QUOTED_WHY}\nhold "$why"'),
        _format_hold(f'why={_QUOTED_WHY}\nhold -- "$why"'),
    ),
    Rule(
        "OSP617", "warning", "text that is read is run as commands",
        "Nobody can know what a file, a pipe or a batch system's answer holds: a job's name, or a "
        "user's, may stand in it. What eval, sh -c or awk read as code is no place for it.",
        format_template('status | while read -r line; do eval "$line"; done'),
        format_template('status | while read -r line; do hold -- "$line"; done'),
    ),
    Rule(
        "OSP621", "error", "a settable field without a pattern in a directive",
        "Directives know no quoting: a line end in the value adds a directive line, a blank an "
        "option. The field's pattern lists what may stand.",
        _format_prologue("#!/bin/sh\n#PBS -q <QUEUE>\n{\n", _format_queue_field("")),
        _format_prologue("#!/bin/sh\n#PBS -q <QUEUE>\n{\n", _format_queue_field(_SAFE_PATTERN)),
    ),
    Rule(
        "OSP622", "error", "a pattern that lets a value out of its directive",
        "The pattern lets line ends, blanks or quotes through.",
        _format_prologue("#!/bin/sh\n#PBS -q <QUEUE>\n{\n", _format_queue_field(' ext:pattern="[^;]*"')),
        _format_prologue("#!/bin/sh\n#PBS -q <QUEUE>\n{\n", _format_queue_field(_SAFE_PATTERN)),
    ),
    Rule(
        "OSP623", "error", "a directive behind the first command",
        "Every batch system stops looking for directives at the first command.",
        _format_prologue("#!/bin/sh\numask 077\n#PBS -j oe\n{\n"),
        _format_prologue("#!/bin/sh\n#PBS -j oe\numask 077\n{\n"),
    ),
    Rule(
        "OSP624", "warning", "a directive that is not at its line's beginning",
        "Batch systems take it for a comment.",
        _format_prologue("#!/bin/sh\n  #PBS -j oe\n{\n"),
        _format_prologue("#!/bin/sh\n#PBS -j oe\n{\n"),
    ),
    Rule(
        "OSP625", "error", "#! that is not at the very beginning",
        "The kernel and Slurm look for #! in the first two bytes of a file; a line end after "
        "<![CDATA[ is enough to hide it.",
        _format_prologue("\n#!/bin/sh\n{\n"),
        _format_prologue("#!/bin/sh\n{\n"),
    ),
    Rule(
        "OSP626", "error", "an optional directive that may turn into a command",
        "Where FROM does not match a value, the value itself stands in the line, as a command. FROM "
        "matches every value: (?s)^(.+)\\z.",
        _format_prologue("#!/bin/sh\n<QUEUE/^([a-z]+)$/#PBS -q $1>\n{\n", _format_queue_field(_SAFE_PATTERN)),
        _format_prologue("#!/bin/sh\n<QUEUE/(?s)^(.+)\\z/#PBS -q $1>\n{\n", _format_queue_field(_SAFE_PATTERN)),
    ),
)  # fmt: skip
