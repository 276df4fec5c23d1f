"""Documents and exactly what is wrong with them: code, line (of the content) and column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from osprofile.lint.rules import complete_example
from osprofile.lint.rules.rule import (
    format_application,
    format_bin_template,
    format_field,
    format_fixed_field,
    format_global_fields,
    format_static_script,
    format_template,
    format_variations,
)

if TYPE_CHECKING:
    from tests.lint.conftest import Lint

INT = ' ext:type="integer"'

PROLOGUE = format_template("{\n#<N>", format_fixed_field("DIRECTIVE_PREFIX", "#X"), name="JOB_PROLOGUE")


def use_integer(content: str) -> str:
    """Return a template that uses its integer N."""
    return format_template("x <N>", format_field("N", content, INT))


CASES = [
    ("undeclared", format_template("x <NOPE> <JOB_IDS> <N/a/b>"), [("OSP301", 2, 40), ("OSP301", 2, 47), ("OSP301", 2, 57)]),
    ("undeclared redirection with FROM and TO", format_template("cat <data/in/x.txt >y"), [("OSP301", 2, 42)]),
    ("literal <", format_template("x < y <<EOF\n<=\nEOF\n[ 1 -lt 2 ]"), []),
    (
        "job script in START only",
        format_template("{\n<JOB_SCRIPT>", format_fixed_field("DIRECTIVE_PREFIX", ""), name="JOB_PROLOGUE"),
        [("OSP301", 3, 1)],
    ),
    (
        "end of the job script in START only",
        format_template(
            "{\n<JOB_SCRIPT:END>", format_fixed_field("DIRECTIVE_PREFIX", ""), name="JOB_PROLOGUE"
        ),
        [("OSP301", 3, 1)],
    ),
    ("job script in another template", format_template("printf '%s\\n' '<JOB_SCRIPT/'/'\\\\''>'", name="PREVIEW"), []),
    *(
        (f"job script in a here-document: {name}", format_template(body, *fields, name="PREVIEW"), found)
        for name, body, fields, found in (
            ("safe", "cat <<'<JOB_SCRIPT:END>'\n<JOB_SCRIPT>\n<JOB_SCRIPT:END>", (), []),
            ("tabs", "cat <<-'<JOB_SCRIPT:END>'\n<JOB_SCRIPT>\n<JOB_SCRIPT:END>", (), []),
            ("another delimiter", "cat <<'EOF'\n<JOB_SCRIPT>\nEOF", (), [("OSP608", 3, 1)]),
            (
                "changed",
                "cat <<'<JOB_SCRIPT:END>'\n<JOB_SCRIPT/x/y>\n<JOB_SCRIPT:END>",
                (),
                [("OSP608", 3, 1)],
            ),
            (
                "not alone",
                "cat <<'<JOB_SCRIPT:END>'\n_<JOB_SCRIPT>\n<JOB_SCRIPT:END>",
                (),
                [("OSP608", 3, 2)],
            ),
            (
                "another value",
                "cat <<'<JOB_SCRIPT:END>'\n<JOB_SCRIPT>\n<N>\n<JOB_SCRIPT:END>",
                (format_field("N"),),
                [("OSP604", 4, 1)],
            ),
        )
    ),
    (
        "the path of a static script",
        format_static_script("T", "count.sh", "wc")
        + format_template("sh <BIN:count.sh>; sh <BIN:cont.sh>", name="U"),
        [("OSP301", 4, 60)],
    ),
    ("FILE_NAME outside BIN", format_template("x <FILE_NAME> <TARGET>"), [("OSP301", 2, 40), ("OSP301", 2, 52)]),
    ("derived of an undeclared", format_template("x <N:HMS>"), [("OSP301", 2, 40)]),
    ("a field of the derived name", format_template("x <N:HMS>", format_fixed_field("N:HMS", "1")), []),
    ("derived of the base alone counts as use", format_template("x <N:HMS>", format_field("N", "", INT)), []),
    (
        "unfinished",
        format_template(
            "x <N /a/b>\nx <N/a\nb>\ny <N:HMS", format_field("N", "", INT), format_fixed_field("M", "")
        ),
        [("OSP303", 2, 40), ("OSP303", 3, 3), ("OSP303", 5, 3), ("OSP302", 6, 20), ("OSP302", 7, 20)],
    ),
    ("here-document named like a field", format_template("x <N> <<N\nN", format_field("N", "", INT)), []),
    ("unused", format_template("x", format_field("N", "", INT), format_fixed_field("M", "1")), [("OSP302", 3, 20), ("OSP302", 4, 20)]),
    (
        "unused global",
        format_global_fields(
            format_field("N", "", INT), format_fixed_field("STATUS_PATTERN", "(?<id>.)(?<state>.)")
        ),
        [("OSP302", 1, 32)],
    ),
    ("global used by an inherited template", format_global_fields(format_field("PATH")), []),
    ("engine field of another template", format_template("x", format_fixed_field("JOB_ID_PATTERN", "(?<id>.)")), [("OSP302", 3, 20)]),
    (
        "value and default",
        format_template(
            "x <N>",
            format_fixed_field("N", "2").replace("<idb:Value>", "<idb:Default>1</idb:Default><idb:Value>"),
        ),
        [("OSP305", 3, 55)],
    ),
    (
        "the Hello example",
        format_template(
            "echo <TEXT>", '<idb:Field name="TEXT">\n<idb:Value>Hello</idb:Value>\n</idb:Field>', name="Hello"
        ),
        [("OSP312", 3, 3), ("OSP306", 4, 12)],
    ),
    (
        "Min above Max, and no more",
        use_integer("<idb:Min>5</idb:Min><idb:Max>4</idb:Max><idb:Default>9</idb:Default>"),
        [("OSP307", 3, 97)],
    ),
    ("Min equals Max", use_integer("<idb:Min>4</idb:Min><idb:Max>4.0</idb:Max><idb:Default>4</idb:Default>"), []),
    ("Default is a tag", use_integer('<idb:Max>4</idb:Max><idb:Tag name="few">2</idb:Tag><idb:Default>few</idb:Default>'), []),
    ("Default below Min", use_integer("<idb:Min>1</idb:Min><idb:Default>0</idb:Default>"), [("OSP309", 3, 121)]),
    ("Default no integer", use_integer("<idb:Default>1.5</idb:Default>"), [("OSP309", 3, 101)]),
    (
        "Default outside pattern",
        format_template("x <N>", format_field("N", "<idb:Default>a</idb:Default>", ' ext:pattern="[0-9]+"')),
        [("OSP309", 3, 103)],
    ),
    ("empty Default", use_integer("<idb:Min>1</idb:Min><idb:Default/>"), []),
    (
        "Value outside pattern",
        format_template(
            "x <N>",
            '<idb:Field name="N" isSettable="false" ext:pattern="[0-9]+"><idb:Value>a</idb:Value></idb:Field>',
        ),
        [("OSP309", 3, 74)],
    ),
    (
        "tags outside limits, used as Default",
        use_integer(
            '<idb:Max>4</idb:Max><idb:Tag name="many">8</idb:Tag><idb:Tag name="x">y</idb:Tag><idb:Default>many</idb:Default>'
        ),
        [("OSP309", 3, 129), ("OSP309", 3, 158)],
    ),
    (
        "tags: duplicate, chained, number",
        format_template(
            "x <N>",
            format_field(
                "N",
                '<idb:Tag name="a">1</idb:Tag><idb:Tag name="a">2</idb:Tag><idb:Tag name="3">4</idb:Tag><idb:Tag name="5">5</idb:Tag>',
                INT,
            ),
            format_field(
                "T", '<idb:Tag name="a">b</idb:Tag><idb:Tag name="b">c</idb:Tag>', ' ext:pattern="[a-z]*"'
            ),
        ).replace("<N>", "<N> -<T>"),
        [("OSP310", 3, 132), ("OSP311", 3, 161), ("OSP311", 4, 108)],
    ),
    ("a number hidden outside the limits", use_integer('<idb:Max>4</idb:Max><idb:Tag name="9">4</idb:Tag>'), []),
    (
        "bad patterns",
        format_template(
            "x -y<N> <M/(/a> <M/a/$1>",
            format_field("N", "", ' ext:pattern="[a-z"'),
            format_fixed_field("M", ""),
        ),
        [("OSP401", 2, 50), ("OSP401", 2, 60), ("OSP401", 3, 39)],
    ),
    (
        "a bad pattern that engine reads",
        format_variations(
            "LIST", {"FILE": "ls", "DIR": "ls"}, format_fixed_field("ENTRY_PATTERN", "(?<type")
        ),
        [("OSP401", 4, 81)],
    ),
    (
        "special fields",
        format_template(
            "x '<USER_NAME/'/'\\\\''>'",
            format_field("USER_NAME"),
            format_field("TargetSystemInfo:X", "", ' isSettable="false"'),
        ).replace("<USER", "<TargetSystemInfo:X/'/>''<USER"),
        [("OSP315", 3, 20)],
    ),
    (
        "settable TARGET of BIN",
        format_bin_template("<TARGET> <ARGUMENTS>").replace(
            "</idb:Template>", format_field("TARGET") + "</idb:Template>"
        ),
        [("OSP315", 5, 18)],
    ),
    (
        "differs from the global one that another part uses",
        format_global_fields(format_field("N", "<idb:Default/>", INT))
        + PROLOGUE
        + "\n"
        + format_template(
            ")\n: <N>", format_field("N", "<idb:Default>1</idb:Default>", INT), name="JOB_EPILOGUE"
        ),
        [("OSP304", 9, 20)],
    ),
    (
        "an application narrows what the prologue uses",
        format_global_fields(format_field("N", "<idb:Max>64</idb:Max><idb:Default/>", INT))
        + PROLOGUE
        + format_template("x", '<idb:Field name="N"><idb:Max>10</idb:Max></idb:Field>', name="X")
        + format_application("X", "X"),
        [],
    ),
    (
        "an application with another Default than the prologue's",
        format_global_fields(format_field("N", "<idb:Max>64</idb:Max><idb:Default/>", INT))
        + PROLOGUE
        + format_template("x", format_field("N", "<idb:Default>1</idb:Default>", INT), name="X")
        + format_application("X", "X"),
        [("OSP304", 7, 20)],
    ),
    (
        "a template that runs no job narrows nothing",
        format_global_fields(format_field("N", "<idb:Default/>", INT))
        + PROLOGUE
        + format_template("x", format_field("N", "<idb:Default/>", INT), name="X"),
        [("OSP302", 7, 20)],
    ),
    (
        "no pattern, two applications",
        format_template(
            "{\n#PBS -q <QUEUE>",
            format_fixed_field("DIRECTIVE_PREFIX", "#PBS"),
            format_field("QUEUE", "<idb:Default/>"),
            name="JOB_PROLOGUE",
        )
        + format_template("x", name="X")
        + format_application("X", "X"),
        [("OSP623", 3, 1), ("OSP621", 3, 9)],
    ),
    (
        "late directives",
        format_template(
            "#!/bin/sh\n#PBS -a\n\n# comment\n#PBS -b\n(\n#PBS -c\n <N/(.+)/#PBS -d $1>\n<N/(.+)/#PBS -d $1>\ncat <<E\n#PBS -e\nE\n",
            format_fixed_field("DIRECTIVE_PREFIX", "#PBS"),
            format_field("N", "<idb:Default/>", INT),
            name="JOB_PROLOGUE",
        ),
        [("OSP623", 8, 1), ("OSP624", 9, 2), ("OSP623", 10, 1)],
    ),
    ("a directive of an application", format_template("#PBS -a\nx", name="EXECUTABLE"), [("OSP623", 2, 38)]),
    (
        "directives in quotes and of the context",
        format_template(
            '#!/bin/sh\n#PBS -N "<NAME>"\n#PBS -o <WORKING_DIRECTORY>\n#PBS -q <Q>\n(\n',
            format_fixed_field("DIRECTIVE_PREFIX", "#PBS"),
            format_field("NAME", "<idb:Default/>", ' ext:pattern="[a-z ]*"'),
            format_field("Q", "<idb:Default/>", ' ext:pattern=".*"'),
            name="JOB_PROLOGUE",
        ),
        [("OSP609", 4, 9), ("OSP622", 5, 9)],
    ),
    (
        "settable in a prologue without directives",
        format_template(
            "#!/bin/sh\n#PBS -q <Q>\n(\n",
            format_field("Q", "<idb:Default/>", ' ext:pattern=".*"'),
            name="JOB_PROLOGUE",
        ),
        [],
    ),
    (
        "no Default in a part of START",
        format_template(
            "#<N>", format_field("N", "", INT), format_field("M", "<idb:Default/>", INT), name="EXECUTABLE"
        ).replace("<N>", "<N><M>"),
        [("OSP313", 3, 3)],
    ),
    (
        "an application's own field may be required",
        format_template("x <N>", format_field("N", "", INT), name="X") + format_application("X", "X"),
        [],
    ),
    ("#! after a blank line", format_template("\n #!/bin/sh\n(\n", name="JOB_PROLOGUE"), [("OSP625", 3, 2)]),
    (
        "#! of a static script",
        format_static_script(
            "X", "x", "\n#!/bin/sh\n", "&lt;N&gt; &lt;M&gt; &lt;P&gt; '&lt;P/'/'\\\\''&gt;'"
        ).replace("</idb:Template>", format_field("N", "", INT) + format_field("P") + "</idb:Template>"),
        [("OSP301", 2, 71), ("OSP601", 2, 81), ("OSP625", 3, 1)],
    ),
    (
        "carriage returns",
        format_template("x", name="HOLD").replace("<![CDATA[x]]>", "x&#13;\ny&#13;\n")
        + format_static_script("X", "x", "x\n&#13;"),
        [("OSP110", 2, 30), ("OSP110", 7, 1)],
    ),
    (
        "START without its pattern, with a Default",
        format_template(
            "x", format_fixed_field("JOB_ID_PATTERN", "(?<id>.)").replace("Value", "Default"), name="START"
        ),
        [("OSP403", 3, 3)],
    ),
    (
        "STATE without tags",
        format_variations(
            "GET_JOB_STATUS",
            {"": "x"},
            format_fixed_field("STATUS_PATTERN", "(?<id>.)(?<stat>.)"),
            '<idb:Field name="STATE" isSettable="false"/>',
        ),
        [("OSP206", 1, 1), ("OSP402", 3, 75), ("OSP405", 3, 75), ("OSP403", 4, 3)],
    ),
    (
        "nodes without tags, queues with a word of nodes",
        format_template("x", format_fixed_field("NODE_PATTERN", "(?<name>.)(?<host>.)"), name="LIST_NODES")
        + format_template(
            "x",
            format_fixed_field("QUEUE_PATTERN", "(?<name>.)(?<state>.)(?<default>.)"),
            '<idb:Field name="QUEUE_STATE" isSettable="false"><idb:Tag name="a">UP</idb:Tag></idb:Field>',
            name="LIST_QUEUES",
        ),
        [("OSP403", 1, 1), ("OSP402", 3, 73), ("OSP405", 3, 73), ("OSP404", 7, 70)],
    ),
    (
        "an end for any other word, and a node's",
        format_variations(
            "GET_JOB_STATUS",
            {"": "x", "ALL": "x"},
            format_fixed_field("STATUS_PATTERN", "(?<id>.)(?<state>.)"),
            '<idb:Field name="STATE" isSettable="false"><idb:Tag name="*">LOST</idb:Tag></idb:Field>',
            format_fixed_field("STATUS_END", "#end"),
        )
        + format_template(
            "x",
            format_fixed_field("NODE_PATTERN", "(?<name>.)(?<state>.)"),
            '<idb:Field name="NODE_STATE" isSettable="false"><idb:Tag name="*">DOWN</idb:Tag></idb:Field>',
            name="LIST_NODES",
        ),
        [("OSP404", 5, 64)],
    ),
    (
        "rules of the site that cannot be read",
        format_template(
            "x",
            format_fixed_field("SITE_CONFIRM", "NODES>100, WALLTIME>24h"),
            format_fixed_field("SUBMIT_RATE", "60 a minute"),
            name="START",
        ),
        [("OSP403", 1, 1), ("OSP408", 3, 3), ("OSP408", 4, 3)],
    ),
    (
        "a question about a field that no job sets",
        format_global_fields(
            format_fixed_field("SITE_CONFIRM", "NODEZ>100 N>1"), format_field("N", "<idb:Default/>", INT)
        )
        + format_template("hold -n <N>"),
        [("OSP408", 1, 15)],
    ),
    (
        "a bad pattern allows nothing: no second error where it is used",
        format_template(
            "#!/bin/sh\n#PBS -q <Q>\n(\nhold -n '<Q>' <Q>",
            format_fixed_field("DIRECTIVE_PREFIX", "#PBS"),
            format_field("Q", "<idb:Default/>", ' ext:pattern="debug|(long"'),
            name="JOB_PROLOGUE",
        ),
        [("OSP401", 7, 47)],
    ),
    (
        "a group for a back-reference",
        format_variations(
            "LIST",
            {"DIR": "ls"},
            format_fixed_field(
                "ENTRY_PATTERN", r'(?<q>"?)(?<type>.)(?<mode>.)(?<size>.)(?<mtime>.)(?<name>.)\k<q>'
            ),
        ),
        [("OSP205", 1, 1)],
    ),
    ("BIN without its fields", format_variations("BIN", {"STATIC_SCRIPT": "/bin/x"}), [("OSP205", 1, 1), ("OSP505", 2, 3)]),
    (
        "storage paths are no scripts",
        format_template(
            "/home/<USER_NAME>/<GROUP>", '<idb:Field name="GROUP" isSettable="false"/>', name="HOME"
        )
        + '<osp:Storage name="HOME" template="HOME"/>',
        [],
    ),
    (
        "a path that is an application, too",
        format_template("/home/<USER_NAME>", name="HOME")
        + '<osp:Storage name="HOME" template="HOME"/>'
        + format_application("HOME", "HOME"),
        [("OSP609", 2, 44)],
    ),
    ("quote left open across the parts", format_template("(\n'", name="JOB_PROLOGUE"), [("OSP612", 26, 55)]),
]  # fmt: skip


@pytest.mark.parametrize(("content", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_case(lint: Lint, content: str, expected: list[tuple[str, int, int]]) -> None:
    problems = lint(complete_example(content))
    places = [(p.code, p.location) for p in problems if p.location]
    assert [(code, place.line - 6, place.column) for code, place in places] == expected
    assert len(places) == len(problems)
