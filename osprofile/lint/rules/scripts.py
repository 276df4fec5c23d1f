"""Rules about scripts (6xx): quoting, and the lines that a batch system reads."""

from __future__ import annotations

from typing import Final

from osprofile.lint.rules.rule import (
    Rule,
    format_bin_template,
    format_directive_field,
    format_field,
    format_fixed_field,
    format_profile,
    format_template,
)

_WHY_FIELD: Final = format_field("WHY")
_QUOTED_WHY: Final = "'<WHY/'/'\\\\''>'"


def _format_hold(body: str) -> str:
    return format_template(body, _WHY_FIELD)


def _format_start(body: str) -> str:
    return format_template(body, format_fixed_field("JOB_ID_PATTERN", "(?<id>.+)"), name="START")


def _format_prologue(body: str, *fields: str) -> str:
    return format_template(body, format_fixed_field("DIRECTIVE_PREFIX", "#PBS"), *fields, name="JOB_PROLOGUE")


def _format_queue_field(attributes: str) -> str:
    return format_field("QUEUE", "<idb:Default/>", attributes)


_SAFE_PATTERN: Final = ' ext:pattern="[A-Za-z0-9_.@:+-]*"'


_LIMIT: Final = "<idb:Min>1</idb:Min><idb:Default>1</idb:Default>"

RULES: Final = (
    Rule(
        "OSP601", "error", "an unquoted settable value",
        "The shell would execute what the value contains: `x; rm -r .` or `$(...)`. Put it into "
        "single quotes, with each ' in it escaped: '<NAME/'/'\\\\''>'. Integers, and fields whose "
        "pattern allows only harmless characters, are safe without quotes.",
        _format_hold("hold -w<WHY>"),
        _format_hold(f"hold -w{_QUOTED_WHY}"),
    ),
    Rule(
        "OSP602", "error", "a settable value in double quotes",
        'In double quotes $, ` and " keep their meaning: `$(...)` in the value is executed.',
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
        "A line of the value can end the here-document, and the lines after it are executed; if the "
        "delimiter is not quoted, $ and ` in the value are evaluated, too.",
        _format_hold("cat <<'END'\n<WHY>\nEND\n"),
        _format_hold(f"printf '%s\\n' {_QUOTED_WHY}"),
    ),
    Rule(
        "OSP605", "error", "a settable value that may be read as an option",
        "A value that begins with - is read as an option, even in quotes. Put a -- before it, attach "
        "it to its option (-q'...', --queue='...'), or forbid a leading - in its pattern.",
        _format_hold(f"hold {_QUOTED_WHY}"),
        _format_hold(f"hold -- {_QUOTED_WHY}"),
    ),
    Rule(
        "OSP606", "error", "a settable value in an arithmetic expression",
        "Shells evaluate variables there, and some evaluate commands in their subscripts. An "
        'integer (ext:type="integer") is safe.',
        format_template("hold $((<N> * 2))", format_field("N")),
        format_template("hold $((<N> * 2))", format_field("N", "", ' ext:type="integer"')),
    ),
    Rule(
        "OSP607", "error", "a settable value in a comment",
        "A line end in the value ends the comment, and the text after it is executed.",
        _format_hold("# <WHY>\nhold"),
        _format_hold(f"hold -w{_QUOTED_WHY}"),
    ),
    Rule(
        "OSP608", "error", "the job script, not quoted safely",
        "JOB_SCRIPT contains whatever the job's values contain. Write it into a here-document that ends with "
        "JOB_SCRIPT:END, or put it into single quotes, escaped, as an argument of printf '%s\\n'.",
        _format_start("cat > .gpe/script <<EOF\n<JOB_SCRIPT>\nEOF\nqsub .gpe/script"),
        _format_start("cat > .gpe/script <<'<JOB_SCRIPT:END>'\n<JOB_SCRIPT>\n<JOB_SCRIPT:END>\nqsub .gpe/script"),
    ),
    Rule(
        "OSP609", "warning", "a value from the context, not quoted safely",
        "USER_NAME, WORKING_DIRECTORY and fields of the user's profile may contain blanks and quotes.",
        _format_start("cd <WORKING_DIRECTORY>"),
        _format_start("cd '<WORKING_DIRECTORY/'/'\\\\''>'"),
    ),
    Rule(
        "OSP610", "error", "a settable value in program text",
        "eval, sh -c, awk, sed, printf (its format) and ssh read such an argument as code, however it "
        "is quoted for the shell.",
        _format_hold(f"awk '$1 == \"'{_QUOTED_WHY}'\"' jobs"),
        _format_hold(f"why={_QUOTED_WHY} awk '$1 == ENVIRON[\"why\"]' jobs"),
    ),
    Rule(
        "OSP611", "warning", "quotes that shells read differently",
        "Single quotes inside \"${x#'...'}\" protect the value in some shells and are text in others.",
        _format_hold(f'hold -w "${{x#{_QUOTED_WHY}}}"'),
        _format_hold(f'why={_QUOTED_WHY}\nhold -w "${{x#"$why"}}"'),
    ),
    Rule(
        "OSP612", "error", "an unclosed quote or parenthesis",
        "The script is not a complete shell script; its quoting can be checked only when it is.",
        _format_hold(f"echo 'held\nhold -w{_QUOTED_WHY}").replace(_QUOTED_WHY, "").replace(_WHY_FIELD, ""),
        format_template("echo 'held'"),
    ),
    Rule(
        "OSP613", "error", "a settable value in backquotes",
        "A backquote in the value ends the command, whatever quotes are around it.",
        _format_hold(f"x=`hold -w{_QUOTED_WHY}`"),
        _format_hold(f"x=$(hold -w{_QUOTED_WHY})"),
    ),
    Rule(
        "OSP614", "error", "shell words in quotes",
        "In BIN's RUN_STATIC_SCRIPT the engine supplies TARGET and ARGUMENTS as shell words that are "
        "already quoted where necessary.",
        format_bin_template('sh "<TARGET>" <ARGUMENTS>'),
        format_bin_template("sh <TARGET> <ARGUMENTS>"),
    ),
    Rule(
        "OSP615", "warning", "a variable with a settable value is evaluated",
        "eval, sh -c, awk and printf's format read the text of a variable as code, and shells evaluate "
        "it in $((...)). This is a warning, since the script may check the value before.",
        format_template("n='<N/'/'\\\\''>'\nhold $((n * 2))", format_field("N")),
        format_template("n='<N/'/'\\\\''>'\nhold $((n * 2))", format_field("N", "", ' ext:type="integer"')),
    ),
    Rule(
        "OSP616", "warning", "a variable with a settable value that may be read as an option",
        "A value that begins with - is read as an option there, too. This is a warning, since the "
        "script may check the value before.",
        _format_hold(f'why={_QUOTED_WHY}\nhold "$why"'),
        _format_hold(f'why={_QUOTED_WHY}\nhold -- "$why"'),
    ),
    Rule(
        "OSP617", "warning", "input is run as code",
        "Nobody can know what a file, a pipe or the output of a batch system contains: the name of a "
        "job or a user may be in it. Do not pass it to eval, sh -c or awk as code.",
        format_template('status | while read -r line; do eval "$line"; done'),
        format_template('status | while read -r line; do hold -- "$line"; done'),
    ),
    Rule(
        "OSP621", "error", "a settable field without a pattern in a directive",
        "Directives have no quoting: a line end in the value adds a directive, a blank adds an option. "
        "List the allowed characters in the field's pattern.",
        _format_prologue("#!/bin/sh\n#PBS -q <QUEUE>\n{\n", _format_queue_field("")),
        _format_prologue("#!/bin/sh\n#PBS -q <QUEUE>\n{\n", _format_queue_field(_SAFE_PATTERN)),
    ),
    Rule(
        "OSP622", "error", "a pattern that is not strict enough for a directive",
        "The pattern allows line ends, blanks or quotes; or, where the value is the whole directive, any "
        "option of the batch system.",
        _format_prologue("#!/bin/sh\n#PBS -q <QUEUE>\n{\n", _format_queue_field(' ext:pattern="[^;]*"')),
        _format_prologue("#!/bin/sh\n#PBS -q <QUEUE>\n{\n", _format_queue_field(_SAFE_PATTERN)),
    ),
    Rule(
        "OSP623", "error", "a directive after the first command",
        "Every batch system stops looking for directives at the first command.",
        _format_prologue("#!/bin/sh\numask 077\n#PBS -j oe\n{\n"),
        _format_prologue("#!/bin/sh\n#PBS -j oe\numask 077\n{\n"),
    ),
    Rule(
        "OSP624", "warning", "a directive that is not at the beginning of its line",
        "Batch systems read it as a comment.",
        _format_prologue("#!/bin/sh\n  #PBS -j oe\n{\n"),
        _format_prologue("#!/bin/sh\n#PBS -j oe\n{\n"),
    ),
    Rule(
        "OSP625", "error", "a #! that is not at the very beginning",
        "The kernel and Slurm look for #! in the first two bytes of a file; a line end after "
        "<![CDATA[ is enough to hide it.",
        _format_prologue("\n#!/bin/sh\n{\n"),
        _format_prologue("#!/bin/sh\n{\n"),
    ),
    Rule(
        "OSP626", "error", "an optional directive that may turn into a command",
        "If FROM does not match a value, the line is the value itself, and is run as a command. Use a "
        "FROM that matches every value: (?s)^(.+)\\z.",
        _format_prologue("#!/bin/sh\n<QUEUE/^([a-z]+)$/#PBS -q $1>\n{\n", _format_queue_field(_SAFE_PATTERN)),
        _format_prologue("#!/bin/sh\n<QUEUE/(?s)^(.+)\\z/#PBS -q $1>\n{\n", _format_queue_field(_SAFE_PATTERN)),
    ),
    Rule(
        "OSP627", "warning", "a copied JOB_PROLOGUE where JOB_DIRECTIVES is inherited",
        "In a profile with JOB_DIRECTIVES, JOB_PROLOGUE only prepares the job. A copy of it misses later "
        "changes: write directives in JOB_DIRECTIVES and shell lines in SITE_SETUP, and delete the copy.",
        format_profile(format_template("{\n", name="JOB_PROLOGUE"), 'name="example" extends="directives"'),
        format_profile(
            format_template("#!/bin/sh\n#PBS -V\n", name="JOB_DIRECTIVES"), 'name="example" extends="directives"'
        ),
    ),
    Rule(
        "OSP628", "error", "a line of a field that the batch system would not read as a directive",
        "An ext:directive, or a line of EXTRA_DIRECTIVES, must begin with the profile's DIRECTIVE_PREFIX, or "
        "the shell would run it as a command. For an ext:directive the profile must also have a template "
        "JOB_DIRECTIVES, to which it is added.",
        format_directive_field("-W x=$1"),
        format_directive_field("#PBS -W x=$1"),
    ),
    Rule(
        "OSP629", "warning", "an ext:directive without the field's value",
        "Every value but the empty one gives the same line. $1 stands for the value.",
        format_directive_field("#PBS -W x=1"),
        format_directive_field("#PBS -W x=$1"),
    ),
    Rule(
        "OSP630", "warning", "a number in a directive that may have a fraction",
        "A field with limits and without ext:type accepts 1.5 and 1e0, which few options of batch systems do.",
        _format_prologue("#!/bin/sh\n#PBS -l nodes=<QUEUE>\n{\n", format_field("QUEUE", _LIMIT)),
        _format_prologue(
            "#!/bin/sh\n#PBS -l nodes=<QUEUE>\n{\n", format_field("QUEUE", _LIMIT, ' ext:type="integer"')
        ),
    ),
)  # fmt: skip
