"""What a child's linter run says of what it inherits: only what the child itself brings about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.lint import lint_file, lint_profile
from osprofile.lint.rules.rule import (
    format_bin_template,
    format_field,
    format_fixed_field,
    format_global_fields,
    format_profile,
    format_static_script,
    format_template,
)
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from osprofile.errors import Problem


class ProfileDirectory:
    """A directory of profiles."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.write("base", '<idb:Template name="PARENT"/>')

    def write(self, name: str, content: str, extends: str | None = None) -> None:
        attributes = f'name="{name}"' + (f' extends="{extends}"' if extends else "")
        path = self.directory / f"{name}.xml"
        path.write_text(format_profile(content, attributes), encoding="utf-8")

    def find(self, name: str) -> list[Problem]:
        repository = Repository([self.directory], use_standard_path=False)
        return lint_file(self.directory / f"{name}.xml", repository)

    def lint(self, name: str) -> list[str]:
        """Return each problem as `CODE file:line`, without those of missing templates and fields."""
        missing = {"OSP204", "OSP205", "OSP206", "OSP207", "OSP403"}
        return [
            f"{p.code} {Path(p.location.file).stem}:{p.location.line - 6}"
            for p in self.find(name)
            if p.location and p.code not in missing
        ]


@pytest.fixture
def site(tmp_path: Path) -> ProfileDirectory:
    return ProfileDirectory(tmp_path)


QUEUE = "<idb:Template>" + format_field("QUEUE", "", ' ext:pattern="[a-z]*"') + "</idb:Template>"
OPEN_QUEUE = "<idb:Template>\n" + format_field("QUEUE") + "</idb:Template>"


IDS = "<idb:Template>" + format_fixed_field("JOB_ID_PATTERN", "[0-9]+") + "</idb:Template>"
OWN = IDS.replace("</idb:Template>", format_fixed_field("COMMANDS", "hold() { h; }") + "</idb:Template>")
NO_NODES = '<idb:Template name="LIST_NODES" ext:absent="true"/>'
COPIED = format_template("{\n", name="JOB_PROLOGUE")
PBS, Q = (format_fixed_field("DIRECTIVE_PREFIX", text) for text in ("#PBS", "#Q"))
CHAINS = {
    # Profiles: the name, and the parent's; the content; and what is found.
    "a parent's problems are the parent's": [
        ("parent", format_template("x <NOPE>", format_field("N")), ["OSP301 parent:2", "OSP302 parent:3"]),
        ("child parent", "", []),
    ],
    "a child that corrects its parent": [
        ("parent", OPEN_QUEUE + format_template("x -q<QUEUE>"), ["OSP601 parent:3"]),
        ("child parent", QUEUE, []),
    ],
    "unused is only what the own document declares": [
        ("parent", QUEUE + format_template("x <QUEUE>"), []),
        ("child parent", format_template("x"), []),
    ],
    "static scripts in one file, of two documents": [
        ("parent", format_bin_template("<TARGET> <ARGUMENTS>") + format_static_script("T", "x", "ls"), []),
        ("child parent", format_static_script("U", "x", "ls -l"), ["OSP504 child:2"]),
    ],
    "problems of several documents are in order": [
        ("parent", QUEUE + format_template("x -q<QUEUE>"), []),
        (
            "child parent",
            format_template("y <NOPE>", name="T") + "\n" + OPEN_QUEUE,
            ["OSP301 child:2", "OSP601 parent:2"],
        ),
    ],
    "scripts of another batch system": [
        (
            "linux",
            IDS + format_template("nodes", name="LIST_NODES") + format_template("sig", name="SIGNAL"),
            [],
        ),
        ("pbs linux", IDS + format_template("qsig", name="SIGNAL"), ["OSP211 pbs:1"]),  # LIST_NODES
        ("torque pbs", format_template("pbsnodes", name="LIST_QUEUES"), []),  # told of pbs
        ("site torque", NO_NODES, []),
        ("other torque", IDS + NO_NODES, ["OSP211 other:1"] * 2),  # SIGNAL and LIST_QUEUES
    ],
    # A base for several batch systems: its scripts run shell code that the profile itself defines.
    "a script whose lines are the profile's own": [
        ("base", OWN + format_template("<COMMANDS>\nhold", name="HOLD"), []),
        ("mine base", OWN, []),
        ("site mine", "", []),
        ("other base", IDS, ["OSP211 other:1"]),
        ("more mine", format_template("<COMMANDS>\nsig", name="SIGNAL"), []),
        ("ids more", IDS, ["OSP211 ids:1"] * 2),  # HOLD and SIGNAL run the commands of mine
    ],
    "a copied prologue": [
        ("linux", format_template("#!/bin/sh\n", name="JOB_DIRECTIVES") + COPIED, []),
        ("pbs linux", format_template("#!/bin/sh\n#PBS -V\n", name="JOB_DIRECTIVES"), []),
        ("site pbs", COPIED, ["OSP627 site:1"]),
        ("user site", "", []),
        ("old pbs", '<idb:Template name="JOB_DIRECTIVES" ext:absent="true"/>', []),
        ("copy old", COPIED, []),
    ],
    "directives have their prefix, that of JOB_DIRECTIVES": [
        (
            "both",
            format_template("#!/bin/sh\nx\n#PBS -V\n", PBS, name="JOB_DIRECTIVES")
            + format_template("{\n#Q a\n", Q, name="JOB_PROLOGUE"),
            ["OSP623 both:4", "OSP304 both:11"],
        ),
        (
            "late",
            format_template("#!/bin/sh\nx\n", name="JOB_DIRECTIVES")
            + format_template("#Q a\n", Q, name="JOB_PROLOGUE"),
            ["OSP623 late:6"],
        ),
        (
            "shebang",
            "".join(format_template("\n#!/bin/sh\n", name=f"JOB_{n}") for n in ("DIRECTIVES", "PROLOGUE")),
            ["OSP625 shebang:3"],
        ),
    ],
}


@pytest.mark.parametrize("case", CHAINS)
def test_what_each_profile_is_told(site: ProfileDirectory, case: str) -> None:
    for names, content, _ in CHAINS[case]:
        name, _, parent = names.partition(" ")
        site.write(name, content, parent or None)
    for names, _, expected in CHAINS[case]:
        assert site.lint(names.partition(" ")[0]) == expected, names


def test_a_child_is_warned_about_its_declaration_in_an_inherited_script(site: ProfileDirectory) -> None:
    site.write("parent", QUEUE + format_template("x -q<QUEUE>"))
    site.write("child", OPEN_QUEUE, "parent")
    site.write("grandchild", "", "child")
    assert site.lint("parent") == []
    assert site.lint("child") == ["OSP601 parent:2"]
    assert site.lint("grandchild") == []
    [hint] = [p.hint for p in site.find("child") if p.code == "OSP601"]
    place = f"{site.directory}/child.xml:8:1"
    assert hint == f"write '<QUEUE/'/'\\\\''>', single quotes included; field QUEUE is declared at {place}"


def test_parts_of_a_job_script_from_several_documents(site: ProfileDirectory) -> None:
    number = format_field("N", "<idb:Default>1</idb:Default>", ' ext:type="integer"')
    site.write("parent", format_template("(\n: <N>", number, name="JOB_PROLOGUE"))
    other = number.replace(">1<", ">2<")
    site.write("child", format_template(")\n: <N>", other, name="JOB_EPILOGUE"), "parent")
    assert site.lint("child") == ["OSP304 child:4"]
    site.write("child", format_template(")\n#PBS -x\n: <N>", number, name="JOB_EPILOGUE"), "parent")
    assert site.lint("child") == []
    prefix = format_fixed_field("DIRECTIVE_PREFIX", "#PBS")
    site.write("parent", format_template("(\n: <N>", number, prefix, name="JOB_PROLOGUE"))
    assert site.lint("child") == ["OSP623 child:3"]


def test_missing_templates_are_reported_at_the_child(site: ProfileDirectory) -> None:
    site.write("parent", format_template("x"))
    site.write("child", "", "parent")
    assert [(p.code, p.location and p.location.line, p.hint) for p in site.find("child")] == [
        ("OSP204", 1, "write them; no profile that child extends has them"),
        ("OSP207", 1, "START runs it if a request names no application"),
    ]


def test_a_resolved_profile_in_memory(site: ProfileDirectory) -> None:
    site.write("parent", format_template("x <NOPE>"))
    repository = Repository([site.directory], use_standard_path=False)
    resolved = repository.load("parent")
    assert [p.code for p in lint_profile(resolved)] == ["OSP204", "OSP207", "OSP301"]


def test_a_limit_that_allows_more_than_the_inherited_one(site: ProfileDirectory) -> None:
    def declare(low: int, high: int, case: int) -> str:
        limits = f"<idb:Min>{low}</idb:Min><idb:Max>{high}</idb:Max><idb:Default>5</idb:Default>"
        integer = ' ext:type="integer"'
        return format_global_fields(
            format_field("N", limits, integer),
            format_field("Q", "<idb:Default/>", ' ext:pattern="a|b"'),
            format_field("N", f"<idb:Max>{case}</idb:Max>", ' ext:for="Q=a"'),
        )

    use = format_template("x -n<N> -q'<Q/'/'\\\\''>'")
    site.write("parent", declare(2, 9, 7) + use)
    site.write("same", declare(2, 9, 7), "parent")
    site.write("narrower", declare(3, 8, 6), "parent")
    site.write("wider", declare(1, 10, 8), "parent")
    assert [site.lint(name) for name in ("parent", "same", "narrower")] == [[], [], []]
    assert site.lint("wider") == ["OSP318 wider:1"] * 3
    problem = next(p for p in site.find("wider") if p.code == "OSP318")
    assert (problem.severity, problem.message) == (
        "warning",
        "the Min of field N allows more than the inherited one, which it replaces",
    )
    assert problem.hint == f"the other is at {site.directory}/parent.xml:7:109; if this is meant, waive it"


def test_a_field_without_a_description_that_replaces_an_inherited_one(site: ProfileDirectory) -> None:
    """The declaration was meant to change one thing: the hint says what else has to be repeated."""
    site.write("parent", format_global_fields(format_field("N", "<idb:Default/>", ' ext:type="integer"')))
    own = '<idb:Field name="{}"><idb:Default/></idb:Field>'
    site.write("child", format_global_fields(own.format("N"), own.format("M")), "parent")
    hints = [p.hint for p in site.find("child") if p.code == "OSP312"]
    place = f"{site.directory}/parent.xml:7:15"
    assert hints == [
        f"it replaces the one at {place}, whole: repeat what stays, also type and Default",
        "describe its meaning and unit: commands and forms show that to users",
    ]
