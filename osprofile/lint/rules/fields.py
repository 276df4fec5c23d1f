"""Rules about fields (3xx), about what the engine reads (4xx) and about static scripts (5xx)."""

from __future__ import annotations

from typing import Final

from osprofile.jobs.state import JOB_STATE_TAGS, LIVE_STATE_TAGS, NODE_STATE_TAGS, QUEUE_STATE_TAGS
from osprofile.lint.rules.rule import (
    Rule,
    format_bin_template,
    format_field,
    format_fixed_field,
    format_global_fields,
    format_profile,
    format_static_script,
    format_template,
    format_variations,
)

_QUOTED_N: Final = "hold -n '<N/'/'\\\\''>'"


def _format_number_template(content: str, attributes: str = "") -> str:
    return format_template("hold -n <N>", format_field("N", content, ' ext:type="integer"' + attributes))


def _format_list_template(*fields: str) -> str:
    return format_variations("LIST", {"FILE": "ls", "DIR": "ls"}, *fields)


def _format_status_template(word: str) -> str:
    state = f'<idb:Field name="STATE" isSettable="false"><idb:Tag name="R">{word}</idb:Tag></idb:Field>'
    pattern = format_fixed_field("STATUS_PATTERN", r"(?<id>\d+) (?<state>\w)")
    end = format_fixed_field("STATUS_END", "#end")
    return format_variations("GET_JOB_STATUS", {"": "qstat", "ALL": "qstat"}, pattern, state, end)


def _format_shared_field(default: str, other: str) -> str:
    """Return two templates that declare the same number N with these defaults."""
    first = format_field("N", f"<idb:Default>{default}</idb:Default>", ' ext:type="integer"')
    second = format_field("N", f"<idb:Default>{other}</idb:Default>", ' ext:type="integer"')
    parts = (
        format_template(")\n: <N>\n", first, name="JOB_EPILOGUE"),
        format_template("(\n: <N>\n", second, name="JOB_PROLOGUE"),
    )
    return "\n".join(parts)


def _format_listed_memory(tag: str) -> str:
    """Return a global field MEMORY, which a parent has, too, with a list of its values."""
    content = f"{tag}<idb:Default>2000</idb:Default>"
    return format_global_fields(format_field("MEMORY", content, ' ext:pattern="2000|4000"'))


_DEBUG_QUEUE: Final = (
    format_field("QUEUE", "<idb:Default>debug</idb:Default>", ' ext:pattern="debug|long"') + "\n"
)
_INTEGER: Final = ' ext:type="integer"'
_ENTRY_PATTERN: Final = r"(?<type>.)(?<mode>\S+) (?<size>\d+) (?<mtime>\d+) (?<name>.*)"

_SSH_BODY = "ssh -- '<SSH:HOST/'/'\\\\''>' sh -s"


def _format_start_template(id_pattern: str, *fields: str) -> str:
    return format_template("submit", format_fixed_field("JOB_ID_PATTERN", id_pattern), *fields, name="START")


RULES: Final = (
    Rule(
        "OSP301", "error", "a replacement of an undeclared field",
        "The name is not a field of the template, a global field or a special field. Write a shell's "
        "redirection that looks like a replacement (`cmd <data/in >out`) with a blank: `< data`. "
        "Declare a field of the user's profile with isSettable=\"false\" and no value.",
        format_template("cat <data/in/x.txt >out"),
        format_template("cat < data/in/x.txt >out"),
    ),
    Rule(
        "OSP302", "warning", "an unused field",
        "A value that is set for it has no effect, and is an error in strict requests. It is an error if a site adds "
        "the field to the settable ones of a profile that it extends: its jobs set it, and run without it.",
        format_template("true", format_field("WHY")),
        format_template("printf '%s\\n' '<WHY/'/'\\\\''>'", format_field("WHY")),
    ),
    Rule(
        "OSP303", "error", "a replacement that does not end",
        "`<NAME` of a field, without the > that would end it on the same line: the shell would read "
        "it as a redirection.",
        format_template("hold -n <N /", format_fixed_field("N", "1")).replace("<N /", "<N/a/b\n<N>"),
        format_template("hold -n <N/a/b>", format_fixed_field("N", "1")),
    ),
    Rule(
        "OSP304", "error", "a field declared differently in templates that are used together",
        "START, JOB_PROLOGUE, the application's template and JOB_EPILOGUE share their fields: a "
        "request sets one value, which has one Default, one set of tags, and one pattern. Limits and "
        "type may differ: the strictest apply. What one declaration omits is taken from the other.",
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
        "The Value overrides what a request sets (OS Profile 0.3, 2.3), so that setting it has no "
        "effect. The Hello example of OS Profile 0.3, 2.4, has such a field: its text means a Default.",
        format_template("hold -n <N>", format_field("N", "<idb:Value>1</idb:Value>")),
        _format_number_template("<idb:Default>1</idb:Default>"),
    ),
    Rule(
        "OSP307", "error", "Min is above Max",
        "No number is within the limits: every request would be refused.",
        _format_number_template("<idb:Min>5</idb:Min><idb:Max>4</idb:Max>"),
        _format_number_template("<idb:Min>4</idb:Min><idb:Max>5</idb:Max>"),
    ),
    Rule(
        "OSP308", "error", "limits on a text",
        'Min and Max make a field a number, but ext:type="text" says that it is not.',
        format_template(_QUOTED_N, format_field("N", "<idb:Min>1</idb:Min>", ' ext:type="text"')).replace(
            "-n '", "-n'"),
        format_template(_QUOTED_N, format_field("N", "", ' ext:type="text"')).replace("-n '", "-n'"),
    ),
    Rule(
        "OSP309", "error", "a Default, Value or tag that the field's own rules refuse",
        "Type, limits and pattern are checked after tags: every use of the value would be an error.",
        _format_number_template("<idb:Max>8</idb:Max><idb:Default>9</idb:Default>"),
        _format_number_template("<idb:Max>8</idb:Max><idb:Default>8</idb:Default>"),
    ),
    Rule(
        "OSP310", "error", "two tags with the same name",
        "Only the first of them would ever be used.",
        _format_number_template('<idb:Tag name="few">1</idb:Tag><idb:Tag name="few">2</idb:Tag>'),
        _format_number_template('<idb:Tag name="one">1</idb:Tag><idb:Tag name="two">2</idb:Tag>'),
    ),
    Rule(
        "OSP311", "warning", "a tag that hides a value",
        "Tags are applied only once. If a tag's value is the name of another tag, the other tag is not "
        "applied; if a tag's name is a number, that number cannot be requested.",
        _format_number_template('<idb:Tag name="1">2</idb:Tag>'),
        _format_number_template('<idb:Tag name="one">1</idb:Tag>'),
    ),
    Rule(
        "OSP312", "warning", "a settable field without a Description",
        "`incarnate show --fields`, forms and error messages show it to people who set the field.",
        format_template("hold -n <N>", '<idb:Field name="N" ext:type="integer"/>'),
        _format_number_template(""),
    ),
    Rule(
        "OSP313", "warning", "a settable field of START without a Default",
        "START should make a script that runs when no field is set. The Default may be the empty "
        "string.",
        format_template("{\n#<N>", format_field("N", "", ' ext:type="integer"'), name="JOB_PROLOGUE"),
        format_template("{\n#<N>", format_field("N", "<idb:Default/>", ' ext:type="integer"'),
                 name="JOB_PROLOGUE"),
    ),
    Rule(
        "OSP314", "error", "a duration computed from a field that is not an integer",
        "`<X:HMS>` and `<X:MINUTES>` are computed from field X, in seconds.",
        format_template("hold -t <N:HMS>", format_field("N")),
        format_template("hold -t <N:HMS>", format_field("N", "", ' ext:type="integer"')),
    ),
    Rule(
        "OSP315", "warning", "a special field that is declared settable",
        "USER_NAME, WORKING_DIRECTORY and the like are supplied by the context or the engine: a "
        'request that sets them is an error. Declare them with isSettable="false"; then a pattern '
        "can restrict them.",
        format_template("hold -u'<USER_NAME>'", format_field("USER_NAME", "", ' ext:pattern="[a-z]+"')),
        format_template(
            "hold -u'<USER_NAME>'",
            format_field("USER_NAME", "", ' ext:pattern="[a-z]+" isSettable="false"'),
        ),
    ),
    Rule(
        "OSP316", "warning", "a pattern and a Default that an empty value bypasses",
        "A request may set the field to nothing, as in --set QUEUE=. That passes the pattern, and is not replaced by "
        "the Default, as it is for a field with Min or Max. A tag with an empty name replaces it; one that is empty "
        "itself says that the field may be empty. The rule is about inherited fields that a profile gives a Default "
        "and a new pattern that lists the values, as physics|chem does.",
        _format_listed_memory(""),
        _format_listed_memory('<idb:Tag name="">2000</idb:Tag>'),
    ),
    Rule(
        "OSP317", "warning", "a case that changes nothing, or that no request reaches",
        "A case (ext:for) is checked in addition to the field itself: a Max above the field's own, or a Min below it, "
        "allows nothing more. A value that the pattern or the tags of the deciding field do not have never comes.",
        format_global_fields(
            _DEBUG_QUEUE + format_field("MEMORY", "<idb:Max>500</idb:Max>", ' ext:for="QUEUE=debugg"')
        ),
        format_global_fields(
            _DEBUG_QUEUE + format_field("MEMORY", "<idb:Max>500</idb:Max>", ' ext:for="QUEUE=debug"')
        ),
    ),
    Rule(
        "OSP318", "warning", "a limit that allows more than the inherited one",
        "A field replaces the inherited one of its name, whole, with its limits: a Max above the inherited Max, or a Min "
        "below the inherited Min, allows what the parent's site refuses.",
        format_global_fields(format_field("MEMORY", "<idb:Max>9999999999</idb:Max><idb:Default/>", _INTEGER)),
        format_global_fields(format_field("MEMORY", "<idb:Max>64000</idb:Max><idb:Default/>", _INTEGER)),
    ),
    Rule(
        "OSP401", "error", "a bad Java regular expression",
        "FROM, TO, ext:pattern and the patterns that the engine reads use Java's syntax: what Java "
        "refuses, or what cannot be matched exactly as in Java, is an error.",
        format_template("hold '-n<N/[/x>'", format_fixed_field("N", "1")),
        format_template("hold '-n<N/[0]/x>'", format_fixed_field("N", "1")),
    ),
    Rule(
        "OSP402", "error", "a pattern without a group that the engine reads",
        "STATUS_PATTERN needs the groups id and state; NODE_PATTERN and QUEUE_PATTERN name and state; "
        "ENTRY_PATTERN type, mode, size, mtime and name; EVENT_ID_PATTERN id.",
        _format_list_template(format_fixed_field("ENTRY_PATTERN", _ENTRY_PATTERN.replace("(?<mode>", "("))),
        _format_list_template(format_fixed_field("ENTRY_PATTERN", _ENTRY_PATTERN)),
    ),
    Rule(
        "OSP403", "error", "a field that the engine reads is missing",
        "The engine reads what the scripts print by JOB_ID_PATTERN, STATUS_PATTERN and STATE of "
        "GET_JOB_STATUS, ENTRY_PATTERN of LIST, NODE_PATTERN and NODE_STATE of LIST_NODES, "
        "QUEUE_PATTERN and QUEUE_STATE of LIST_QUEUES. Patterns have fixed Values, states have tags. "
        "STATUS_PATTERN is not needed if JOB_ID_PATTERN is the form of an id alone.",
        _format_list_template(),
        _format_list_template(format_fixed_field("ENTRY_PATTERN", _ENTRY_PATTERN)),
    ),
    Rule(
        "OSP404", "error", "a tag whose value is not a state",
        f"Tags of STATE have the values {' '.join(JOB_STATE_TAGS)}; tags of NODE_STATE have {' '.join(NODE_STATE_TAGS)}, tags of "
        f"QUEUE_STATE have {' '.join(QUEUE_STATE_TAGS)}. A word without a tag is UNKNOWN; the tag * of STATE gives such words a state, "
        f"{', '.join(LIVE_STATE_TAGS)}: what nobody knows is no end.",
        _format_status_template("RUNS"),
        _format_status_template("RUNNING"),
    ),
    Rule(
        "OSP405", "warning", "a group that the engine does not read",
        "Besides the required groups, STATUS_PATTERN may have substate, exit, signal, host, queue, "
        "elapsed, cpu, memory, energy, cpus, allocated, ended and reason; NODE_PATTERN and QUEUE_PATTERN "
        "substate; NODE_PATTERN cpus and memory (MiB); QUEUE_PATTERN default and limits. A "
        "misspelled group would be ignored silently.",
        _format_list_template(format_fixed_field("ENTRY_PATTERN", _ENTRY_PATTERN + "(?<owner> .*)?")),
        _format_list_template(format_fixed_field("ENTRY_PATTERN", _ENTRY_PATTERN + "(?: .*)?")),
    ),
    Rule(
        "OSP406", "error", "a time that is not a number of seconds",
        "TIME_LIMIT is a fixed field of a template, or a global one: a script that takes longer is killed. "
        "POLL_INTERVAL and MAX_POLL_INTERVAL of GET_JOB_STATUS are the shortest and the longest time between two queries for all jobs.",
        format_template("hold", format_fixed_field("TIME_LIMIT", "1m")),
        format_template("hold", format_fixed_field("TIME_LIMIT", "60")),
    ),
    Rule(
        "OSP407", "error", "the form of an id that grep reads differently from Java",
        "JOB_ID_PATTERN without a group id is the form of an id alone. The engine uses it as a Java "
        "regular expression, and scripts in grep -Ex: write what both read alike. An id is one word.",
        _format_start_template(r"\d+"),
        _format_start_template("[0-9]+"),
    ),
    Rule(
        "OSP408", "error", "a rule of the site that cannot be read",
        "SUBMIT_RATE and MAX_QUEUED of START limit how fast, and how many, jobs are submitted; ENERGY_PRICE is the price of a kWh. "
        "What cannot be read would be left out in silence.",
        _format_start_template("[0-9]+", format_fixed_field("SUBMIT_RATE", "1 per second")),
        _format_start_template("[0-9]+", format_fixed_field("SUBMIT_RATE", "60/min, 10 at once")),
    ),
    Rule(
        "OSP501", "error", "a static script without the template BIN",
        "BIN says in which directory static scripts are, and how they are run (OS Profile 0.3, 2.2).",
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
        "The body is written unchanged. Pass values in the attribute `arguments`.",
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
        "OSP504", "error", "two static scripts with the same file name",
        "Static scripts of all templates are written to one directory; identical ones may share a file.",
        format_static_script("T", "list", "ls") + "\n" + format_static_script("U", "list", "ls -l"),
        format_static_script("T", "list", "ls") + "\n" + format_static_script("U", "list-long", "ls -l"),
    ),
    Rule(
        "OSP505", "error", "BIN does not use a field that the engine supplies",
        "STATIC_SCRIPT makes a path from <FILE_NAME>; RUN_STATIC_SCRIPT runs <TARGET> with "
        "<ARGUMENTS>.",
        format_bin_template("sh <TARGET>"),
        format_bin_template("sh <TARGET> <ARGUMENTS>"),
    ),
    Rule(
        "OSP506", "error", "a command of SHELL or EVENTS that is empty or cannot be split into words",
        "The text is split into words, as a shell would do it, and run without a shell.",
        format_variations("SHELL", {"": "", "SSH": _SSH_BODY}),
        format_variations("SHELL", {"": "sh -s", "SSH": _SSH_BODY}),
    ),
)  # fmt: skip
