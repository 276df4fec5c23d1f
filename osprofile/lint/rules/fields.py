"""Rules about fields (3xx), about what the engine reads (4xx) and about static scripts (5xx)."""

from __future__ import annotations

from typing import Final

from osprofile.lint.rules.rule import (
    Rule,
    format_bin_template,
    format_field,
    format_fixed_field,
    format_profile,
    format_static_script,
    format_template,
    format_variations,
)

_QUOTED_N: Final = "hold -n '<N/'/'\\\\''>'"


def _format_number_template(content: str, attributes: str = "") -> str:
    """Give a template that uses a number N."""
    return format_template(
        "hold -n <N>", format_field("N", content, ' ext:type="integer"' + attributes)
    )


def _format_list_template(*fields: str) -> str:
    return format_variations("LIST", {"FILE": "ls", "DIR": "ls"}, *fields)


def _format_status_template(word: str) -> str:
    state = (
        f'<idb:Field name="STATE" isSettable="false"><idb:Tag name="R">{word}</idb:Tag></idb:Field>'
    )
    pattern = format_fixed_field("STATUS_PATTERN", r"(?<id>\d+) (?<state>\w)")
    return format_variations("GET_JOB_STATUS", {"": "qstat", "ALL": "qstat"}, pattern, state)


def _format_shared_field(default: str, other: str) -> str:
    """Give two templates that use a number N and declare it with these defaults."""
    first = format_field("N", f"<idb:Default>{default}</idb:Default>", ' ext:type="integer"')
    second = format_field("N", f"<idb:Default>{other}</idb:Default>", ' ext:type="integer"')
    parts = (
        format_template(")\n: <N>\n", first, name="JOB_EPILOGUE"),
        format_template("(\n: <N>\n", second, name="JOB_PROLOGUE"),
    )
    return "\n".join(parts)


_ENTRY_PATTERN: Final = r"(?<type>.)(?<mode>\S+) (?<size>\d+) (?<mtime>\d+) (?<name>.*)"

_SSH_BODY = "ssh -- '<SSH:HOST/'/'\\\\''>' sh -s"

RULES: Final = (
    Rule(
        "OSP301", "error", "a replacement of no field",
        "The name is no field of the template, no global field, no special field. A shell's "
        "redirection that looks like one (`cmd <data/in >out`) is written with a blank: `< data`. A "
        "field of the user's profile is declared with isSettable=\"false\" and no value.",
        format_template("cat <data/in/x.txt >out"),
        format_template("cat < data/in/x.txt >out"),
    ),
    Rule(
        "OSP302", "warning", "a field that nothing uses",
        "A value given for it would go nowhere, and with strict requests is an error.",
        format_template("true", format_field("WHY")),
        format_template("printf '%s\\n' '<WHY/'/'\\\\''>'", format_field("WHY")),
    ),
    Rule(
        "OSP303", "error", "a replacement that does not end",
        "`<NAME` of a field, in a line without the > that would end it: the shell would take it "
        "for a redirection.",
        format_template("hold -n <N /", format_fixed_field("N", "1")).replace("<N /", "<N/a/b\n<N>"),
        format_template("hold -n <N/a/b>", format_fixed_field("N", "1")),
    ),
    Rule(
        "OSP304", "error", "one field, declared differently in templates that are used together",
        "START, JOB_PROLOGUE, the application's template and JOB_EPILOGUE share their fields: a "
        "request gives one value, which has one Default, one set of tags, and one pattern. Limits and "
        "type may differ, and what one declaration leaves out is the other's: the strictest count.",
        _format_shared_field("1", "2"),
        _format_shared_field("1", "1"),
    ),
    Rule(
        "OSP305", "warning", "both Value and Default",
        "The fixed Value is always used, the Default never.",
        format_template("hold -n <N>", format_fixed_field("N", "1").replace("<idb:Value>", "<idb:Default/><idb:Value>")),
        format_template("hold -n <N>", format_fixed_field("N", "1")),
    ),
    Rule(
        "OSP306", "warning", "a settable field with a fixed Value",
        "The Value overrides what a request sets (OS Profile, 2.3), so that setting it has no "
        "effect. The Hello example of OS Profile is of this kind: its text means a Default.",
        format_template("hold -n <N>", format_field("N", "<idb:Value>1</idb:Value>")),
        _format_number_template("<idb:Default>1</idb:Default>"),
    ),
    Rule(
        "OSP307", "error", "Min is above Max",
        "No number is inside the limits: every request would be refused.",
        _format_number_template("<idb:Min>5</idb:Min><idb:Max>4</idb:Max>"),
        _format_number_template("<idb:Min>4</idb:Min><idb:Max>5</idb:Max>"),
    ),
    Rule(
        "OSP308", "error", "limits of a text",
        'Min and Max make a field a number, ext:type="text" says that it is none.',
        format_template(_QUOTED_N, format_field("N", "<idb:Min>1</idb:Min>", ' ext:type="text"')).replace(
            "-n '", "-n'"),
        format_template(_QUOTED_N, format_field("N", "", ' ext:type="text"')).replace("-n '", "-n'"),
    ),
    Rule(
        "OSP309", "error", "a Default, Value or tag that the field's own rules refuse",
        "Type, limits and pattern are checked after tags: every use of it would be an error.",
        _format_number_template("<idb:Max>8</idb:Max><idb:Default>9</idb:Default>"),
        _format_number_template("<idb:Max>8</idb:Max><idb:Default>8</idb:Default>"),
    ),
    Rule(
        "OSP310", "error", "two tags of one name",
        "Only the first of them would ever be used.",
        _format_number_template('<idb:Tag name="few">1</idb:Tag><idb:Tag name="few">2</idb:Tag>'),
        _format_number_template('<idb:Tag name="one">1</idb:Tag><idb:Tag name="two">2</idb:Tag>'),
    ),
    Rule(
        "OSP311", "warning", "a tag that hides a value",
        "Tags are applied once. A tag whose value is another tag's name does not lead on to that "
        "one's value; a tag named like a number makes this number impossible to ask for.",
        _format_number_template('<idb:Tag name="1">2</idb:Tag>'),
        _format_number_template('<idb:Tag name="one">1</idb:Tag>'),
    ),
    Rule(
        "OSP312", "warning", "a settable field without a Description",
        "`incarnate fields`, forms and error messages show it to the people who set the field.",
        format_template("hold -n <N>", '<idb:Field name="N" ext:type="integer"/>'),
        _format_number_template(""),
    ),
    Rule(
        "OSP313", "warning", "a settable field of START without a Default",
        "START alone, without any field set, should make a script that runs. The Default may be "
        "the empty string.",
        format_template("{\n#<N>", format_field("N", "", ' ext:type="integer"'), name="JOB_PROLOGUE"),
        format_template("{\n#<N>", format_field("N", "<idb:Default/>", ' ext:type="integer"'),
                 name="JOB_PROLOGUE"),
    ),
    Rule(
        "OSP314", "error", "a duration computed from what is no integer",
        "`<X:HMS>` and `<X:MINUTES>` are computed from field X, in seconds.",
        format_template("hold -t <N:HMS>", format_field("N")),
        format_template("hold -t <N:HMS>", format_field("N", "", ' ext:type="integer"')),
    ),
    Rule(
        "OSP315", "warning", "a special field that is declared settable",
        "USER_NAME, WORKING_DIRECTORY and the like are supplied by the context or the engine: a "
        'request that sets them is an error. Declared with isSettable="false", a pattern can '
        "restrict them.",
        format_template("hold -u'<USER_NAME>'", format_field("USER_NAME", "", ' ext:pattern="[a-z]+"')),
        format_template(
            "hold -u'<USER_NAME>'",
            format_field("USER_NAME", "", ' ext:pattern="[a-z]+" isSettable="false"'),
        ),
    ),
    Rule(
        "OSP401", "error", "a bad Java regular expression",
        "FROM, TO, ext:pattern and the patterns that the engine reads are Java's: what Java "
        "refuses, or what cannot be honoured exactly, is an error.",
        format_template("hold '-n<N/[/x>'", format_fixed_field("N", "1")),
        format_template("hold '-n<N/[0]/x>'", format_fixed_field("N", "1")),
    ),
    Rule(
        "OSP402", "error", "a pattern without a group that the engine reads",
        "JOB_ID_PATTERN has the group id; STATUS_PATTERN id and state; NODE_PATTERN and "
        "QUEUE_PATTERN name and state; ENTRY_PATTERN type, mode, size, mtime and name.",
        _format_list_template(format_fixed_field("ENTRY_PATTERN", _ENTRY_PATTERN.replace("(?<mode>", "("))),
        _format_list_template(format_fixed_field("ENTRY_PATTERN", _ENTRY_PATTERN)),
    ),
    Rule(
        "OSP403", "error", "a field that the engine reads is missing",
        "By JOB_ID_PATTERN of START, STATUS_PATTERN and STATE of GET_JOB_STATUS, ENTRY_PATTERN of "
        "LIST, NODE_PATTERN and NODE_STATE of LIST_NODES, QUEUE_PATTERN and QUEUE_STATE of "
        "LIST_QUEUES the engine understands what the scripts print. They have fixed Values.",
        _format_list_template(),
        _format_list_template(format_fixed_field("ENTRY_PATTERN", _ENTRY_PATTERN)),
    ),
    Rule(
        "OSP404", "error", "a tag that gives no state",
        "STATE gives QUEUED RUNNING HELD DONE FAILED REMOVED LOST, and FAILED/LIMIT for a job that "
        "a limit of the system ended; NODE_STATE UP DOWN ERROR; QUEUE_STATE OPEN STOPPED. A word "
        "without a tag is UNKNOWN.",
        _format_status_template("RUNS"),
        _format_status_template("RUNNING"),
    ),
    Rule(
        "OSP405", "warning", "a group that the engine does not read",
        "STATUS_PATTERN may have, beside id and state, substate, exit, signal, host, queue, elapsed and reason; "
        "NODE_PATTERN and QUEUE_PATTERN substate, QUEUE_PATTERN default. A misspelled one would "
        "silently be nothing.",
        _format_list_template(format_fixed_field("ENTRY_PATTERN", _ENTRY_PATTERN + "(?<owner> .*)?")),
        _format_list_template(format_fixed_field("ENTRY_PATTERN", _ENTRY_PATTERN + "(?: .*)?")),
    ),
    Rule(
        "OSP406", "error", "a time limit that is no number of seconds",
        "TIME_LIMIT is a fixed field of a template, or of all: a script that takes longer is ended.",
        format_template("hold", format_fixed_field("TIME_LIMIT", "1m")),
        format_template("hold", format_fixed_field("TIME_LIMIT", "60")),
    ),
    Rule(
        "OSP501", "error", "a static script without the template BIN",
        "BIN says in which directory static scripts are, and how they are run (OS Profile, 2.2).",
        format_profile(format_static_script("T", "list", "ls"), 'name="example"'),
        format_static_script("T", "list", "ls"),
    ),
    Rule(
        "OSP502", "error", "a variation of BIN is itself a static script",
        "BIN's variations say where static scripts are and how they are run.",
        format_bin_template("sh <TARGET> <ARGUMENTS>").replace(
            '<idb:Body><![CDATA["$HOME"/bin]]></idb:Body>',
            '<idb:StaticScript fileName="bin" arguments="">pwd</idb:StaticScript>'),
        format_bin_template("sh <TARGET> <ARGUMENTS>"),
    ),
    Rule(
        "OSP503", "warning", "a replacement in the body of a static script",
        "That body is written as it is. Values are handed over in the attribute `arguments`.",
        format_template("hold -n <N>", format_fixed_field("N", "1"), name="T").replace(
            "</idb:Invocation>",
            '</idb:Invocation>\n  <idb:Invocation name="X"><idb:StaticScript fileName="x" '
            'arguments=""><![CDATA[hold <N>]]></idb:StaticScript></idb:Invocation>'),
        format_template("hold -n <N>", format_fixed_field("N", "1"), name="T").replace(
            "</idb:Invocation>",
            '</idb:Invocation>\n  <idb:Invocation name="X"><idb:StaticScript fileName="x" '
            'arguments="&lt;N&gt;"><![CDATA[hold "$1"]]></idb:StaticScript></idb:Invocation>'),
    ),
    Rule(
        "OSP504", "error", "two static scripts in one file",
        "Static scripts of all templates are written to one directory; equal ones may share a file.",
        format_static_script("T", "list", "ls") + "\n" + format_static_script("U", "list", "ls -l"),
        format_static_script("T", "list", "ls") + "\n" + format_static_script("U", "list-long", "ls -l"),
    ),
    Rule(
        "OSP505", "error", "BIN does not use what the engine gives it",
        "STATIC_SCRIPT makes a path of <FILE_NAME>, RUN_STATIC_SCRIPT runs <TARGET> with "
        "<ARGUMENTS>.",
        format_bin_template("sh <TARGET>"),
        format_bin_template("sh <TARGET> <ARGUMENTS>"),
    ),
    Rule(
        "OSP506", "error", "a text of SHELL or EVENTS that gives no words",
        "Their text is split into words, as a shell would, and started without a shell.",
        format_variations("SHELL", {"": "", "SSH": _SSH_BODY}),
        format_variations("SHELL", {"": "sh -s", "SSH": _SSH_BODY}),
    ),
)  # fmt: skip
