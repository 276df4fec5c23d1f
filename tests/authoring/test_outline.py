"""The outline of a profile: how directives read, what each template is for, what counts as shell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.authoring.outline import (
    count_lines,
    group_templates,
    is_shell,
    list_directives,
    list_own_directives,
)
from osprofile.profile.data_directories import get_bundled_directory
from osprofile.profile.repository import Repository
from tests.strategies import document, field, fixed, template

if TYPE_CHECKING:
    from osprofile import Profile

BUNDLED = [path.parent.name for path in sorted(Path(get_bundled_directory()).glob("*/profile.xml"))]


def load(body: str, prefix: str = "#$", *fields: str) -> Profile:
    """Load a profile whose job script begins with `body`."""
    declared = field("DIRECTIVE_PREFIX", fixed(prefix), 'isSettable="false"')
    return read_document(template("JOB_PROLOGUE", body, declared, *fields), "linux")


def read_document(content: str, parent: str) -> Profile:
    return Repository([]).load_bytes(document(content, extends=parent).encode(), "p.xml")


def read(profile: Profile) -> list[str]:
    return [directive.text for directive in list_directives(profile)]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("#$ -S /bin/sh", "#$ -S /bin/sh"),
        ("#$ -N <JOB_NAME>", "#$ -N <JOB_NAME>"),
        (r"#$ -N <JOB_NAME/^\z/job>", "#$ -N <JOB_NAME or job>"),
        (r"<QUEUE/(?s)^(.+)\z/#\$ -q $1>", "#$ -q <QUEUE>"),
        (r"<MEMORY/(?s)^(.+)\z/#\$ -l mem=$1M>", "#$ -l mem=<MEMORY>M"),
        (r"<WALLTIME:HMS/(?s)^(.+)\z/#\$ -l h_rt=$1>", "#$ -l h_rt=<WALLTIME:HMS>"),
        ("<QUEUE>", "<QUEUE>"),
        # anything else is shown as it is written
        (r"<QUEUE/^([a-z]).*/#\$ -q $1>", r"<QUEUE/^([a-z]).*/#\$ -q $1>"),
        (r"#$ -N <JOB_NAME/^\z/a$0>", r"#$ -N <JOB_NAME/^\z/a$0>"),
    ],
)
def test_how_a_directive_reads(line: str, text: str) -> None:
    assert read(load(f"#!/bin/sh\n{line}\n")) == [text]


def test_a_directive_on_a_condition() -> None:
    attributes = 'isSettable="false" ext:when="QUEUE"'
    fields = field("WHOLE", fixed("#$ -l whole"), attributes), field("PART", fixed("p"), attributes)
    made = load("#!/bin/sh\n<WHOLE>\n#$ -l x=<PART>\n", "#$", *fields)
    assert read(made) == ["#$ -l whole (when QUEUE has a value)", "#$ -l x=<PART>"]


def test_directives_end_at_the_first_command() -> None:
    profile = load("#!/bin/sh\n# a comment\n\n#$ -q a\n#$ -P b\numask 077\n#$ -l c\n<QUEUE>\n")
    assert read(profile) == ["#$ -q a", "#$ -P b"]
    directives = [*list_own_directives(profile, profile.get_template("JOB_PROLOGUE"))]
    assert [d.location.source.get_line_text(d.location.line) for d in directives] == ["#$ -q a", "#$ -P b"]


SITE = """<idb:Template>
<idb:Field name="PROJECT" isSettable="false"><idb:Value>phys</idb:Value></idb:Field>
<idb:Field name="QUEUE" isSettable="false"><idb:Value/></idb:Field>
<idb:Field name="WALLTIME" isSettable="false"><idb:Value>90</idb:Value></idb:Field>
<idb:Field name="LICENSES" ext:pattern="[a-z]+" ext:directive="#SBATCH --licenses=$1"><idb:Default/></idb:Field>
<idb:Field name="LEVEL" ext:directive="#SBATCH --wckey=$1"><idb:Tag name="a">low</idb:Tag><idb:Value>a</idb:Value></idb:Field>
<idb:Field name="EXTRA_DIRECTIVES" isSettable="false"><idb:Value>#SBATCH --mail-type=NONE
# not a directive
#SBATCH --exclusive{}</idb:Value></idb:Field>
</idb:Template>"""


def test_what_the_profile_fixes_is_shown_with_its_location() -> None:
    found = {d.text: d.location for d in list_directives(read_document(SITE.format(""), "slurm"))}
    assert [t for t in found if "<" not in t] == [
        "#SBATCH --wckey=low",
        "#SBATCH --output=/dev/null",
        "#SBATCH --account=phys",
        "#SBATCH --time=2",
        "#SBATCH --mail-type=NONE",
        "#SBATCH --exclusive",
    ]
    assert str(found["#SBATCH --licenses=<LICENSES>"]).startswith("p.xml:8:")
    assert str(found["#SBATCH --wckey=low"]).startswith("p.xml:9:")
    assert str(found["#SBATCH --mail-type=NONE"]) == "p.xml:10:66"
    assert str(found["#SBATCH --exclusive"]) == "p.xml:12:1"
    assert not {"QUEUE", "PROJECT", "EXTRA_DIRECTIVES"} & {t.strip(">").partition("<")[2] for t in found}


def test_a_fixed_command_ends_the_directives() -> None:
    profile = read_document(SITE.format("\numask 077\n#SBATCH --late"), "slurm")
    assert read(profile)[-1] == "#SBATCH --exclusive"


def test_a_fixed_value_that_cannot_be_filled_in_is_shown_as_without_it() -> None:
    text = SITE.format("").replace(">90<", ">x<")
    assert "#SBATCH --time=<WALLTIME:MINUTES>" in read(read_document(text, "slurm"))


def test_no_prefix_no_directives() -> None:
    assert read(load("#!/bin/sh\n#$ -q a\n", prefix="")) == []
    assert read(Repository([]).load("linux")) == []


@pytest.mark.parametrize("name", BUNDLED)
def test_each_template_of_a_bundled_profile_has_a_purpose(name: str) -> None:
    profile = Repository([]).load(name)
    groups = group_templates(profile)
    assert list(groups) == ["jobs", "files", "the machine"]
    assert sorted(t.name for ts in groups.values() for t in ts) == sorted(profile.templates)


@pytest.mark.parametrize(
    ("text", "number"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n", 1), ("\n\n", 2)]
)
def test_count_lines(text: str, number: int) -> None:
    assert count_lines(text) == number


@pytest.mark.parametrize(
    ("value", "folded"), [(None, False), ("", False), ("a\n" * 3, False), ("a\n" * 4, True)]
)
def test_what_is_folded(value: str | None, folded: bool) -> None:
    assert is_shell(value) is folded
