"""What a page tells of a profile: every field once, with its place and what it replaces."""

from __future__ import annotations

import html
from pathlib import Path

import pytest

import osprofile
from osprofile.authoring.outline import list_directives
from osprofile.incarnation.plan import get_plan
from osprofile.page.collector import choose_control, collect_page
from osprofile.page.document import render_page
from osprofile.page.drawing import describe_level, draw_levels
from osprofile.page.markup import render_node
from osprofile.page.model import Origin, Tag, Target
from osprofile.profile.repository import Repository

PROFILES = Path(__file__).parent.parent / "cli" / "profiles"
HEAD = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
 xmlns:ext="urn:osprofile:extension" name="{}"{}>
<osp:UspaceRoot>/w</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>{}</osp:Profile>"""
BUNDLED = ["linux", "pbs", "torque", "slurm", "sge", "lsf"]


def load(body: str, name: str = "p", extends: str = "") -> osprofile.Profile:
    extended = f' extends="{extends}"' if extends else ""
    return Repository([PROFILES]).load_bytes(HEAD.format(name, extended, body).encode(), "/x/p.xml")


def field(rest: str, inside: str = "") -> str:
    return f'<idb:Field name="F"{rest}>{inside}</idb:Field>'


def application(name: str, version: str) -> str:
    return (
        f'<osp:Application name="{name}{version}" template="MPI"><osp:ApplicationName>{name}</osp:ApplicationName>'
        f"<osp:ApplicationVersion>{version}</osp:ApplicationVersion></osp:Application>"
    )


@pytest.fixture(scope="module")
def site() -> osprofile.Profile:
    return Repository([PROFILES]).load("site")


def test_a_field_has_its_origin_and_what_it_replaces(site: osprofile.Profile) -> None:
    page = collect_page(site)
    settings = {s.key: s for s in page.settings}
    queue = settings["QUEUE"]
    assert queue.origins == (Origin("site", "site/site.xml:6", ("base/base.xml:6",)),)
    assert (queue.default, queue.tags, queue.pattern) == ("fast", (Tag("fast", "short"),), "[a-z]*")
    assert settings["WALLTIME"].origins == (Origin("base", "base/base.xml:10"),)
    nodes = settings["NODES"]
    assert nodes.origins[0].replaces == ("base/base.xml:38",)
    assert (nodes.type, nodes.limits, nodes.minimum, nodes.maximum) == ("number", "1 to 20", "1", "20")
    assert settings["JOB_ID"].default is None
    assert [s.name for s in page.settings[: page.jobs]] == ["QUEUE", "WALLTIME", "EXECUTABLE", "NODES"]
    assert {s.name for s in page.settings[page.jobs :]} == {"JOB_ID", "TEXT", "PROJECT"}
    assert settings["PROJECT"].targets == ()  # nothing uses it


@pytest.mark.parametrize("name", BUNDLED)
def test_every_field_and_directive_of_a_bundled_profile_is_on_its_page(name: str) -> None:
    profile = osprofile.load(name)
    page = collect_page(profile)
    names = {s.name for s in page.settings} | {s.name for s in page.supplied}
    declared = {f for t in profile.templates.values() for f in t.fields} | {*profile.global_fields}
    assert declared <= names
    assert len({s.key for s in page.settings}) == len(page.settings)
    for index, target in enumerate(page.targets):
        plan = get_plan(profile, target.template, target.variation, target.application or None)
        assert {s.name for s in page.settings if index in s.targets} == plan.settable
    assert {s.name for s in page.scripts} == {*profile.templates}
    assert not [e.refusal for e in page.examples if e.refusal]
    assert [d.text for d in page.directives] == [d.text for d in list_directives(profile)]
    section = render_page(page).partition('<details id="directives"')[2].partition("</details>")[0]
    assert bool(section) == bool(page.directives)
    for directive in page.directives:
        assert html.escape(directive.text) in section
        assert directive.origin.place.rpartition(":")[0] in {level.label for level in page.levels}


def test_applications_with_a_field_of_their_own_and_one_that_is_hidden() -> None:
    body = """
    <idb:Template name="MPI"><idb:Invocation><idb:Body>mpirun -n &lt;RANKS></idb:Body></idb:Invocation>
      <idb:Field name="RANKS"><idb:Default>1</idb:Default></idb:Field></idb:Template>"""
    body += application("MPI", "2.0") + application("MPI", "1.0") + application("Executable", "1.0")
    page = collect_page(load(body, extends="base"))
    applications = {(a.name, a.version, a.origin.profile): a for a in page.applications}
    assert applications["Executable", "1.0", "p"].default
    assert applications["Executable", "1.0", "base"].wanted == ""
    assert applications["MPI", "2.0", "p"].wanted == "MPI"
    assert applications["MPI", "1.0", "p"].wanted == "MPI/1.0"
    starts = [t.application for t in page.targets if t.template == "START"]
    assert starts == ["Executable", "MPI", "MPI/1.0"]
    assert Target("ASK", "ALL", "") in page.targets


def test_an_application_that_narrows_a_field_of_all_jobs() -> None:
    body = """
    <idb:Template name="MPI"><idb:Invocation><idb:Body>mpirun x</idb:Body></idb:Invocation>
      <idb:Field name="WALLTIME"><idb:Max>60</idb:Max></idb:Field></idb:Template>"""
    page = collect_page(load(body + application("MPI", "1"), extends="base"))
    settings = {s.key: s for s in page.settings if s.name == "WALLTIME"}
    assert {key: (s.maximum, s.default) for key, s in settings.items()} == {
        "WALLTIME": ("3600", "60"),
        "WALLTIME~2": ("60", "60"),
    }
    applications = {key: [page.targets[i].application for i in s.targets] for key, s in settings.items()}
    assert applications == {"WALLTIME": ["Executable"], "WALLTIME~2": ["MPI"]}
    assert [o.place for o in settings["WALLTIME~2"].origins] == ["base/base.xml:10", "p/p.xml:5"]


def test_two_fields_of_one_name_that_differ_have_keys_of_their_own() -> None:
    one = '<idb:Template name="{}"><idb:Invocation><idb:Body>&lt;F></idb:Body></idb:Invocation>{}</idb:Template>'
    body = one.format("A", field("", "<idb:Default>1</idb:Default>"))
    body += one.format("B", field("", "<idb:Default>2</idb:Default>"))
    body += one.format("C", field("", "<idb:Default>1</idb:Default>"))
    page = collect_page(load(body))
    assert [(s.key, s.default, s.targets) for s in page.settings] == [("F", "1", (0, 2)), ("F~2", "2", (1,))]
    assert [o.place for o in page.settings[0].origins] == ["p/p.xml:3", "p/p.xml:3"]


def test_a_script_whose_context_is_unknown_is_described_but_not_a_target() -> None:
    body = '<idb:Template name="A"><idb:Invocation><idb:Body>&lt;SSH:HOST></idb:Body></idb:Invocation></idb:Template>'
    assert collect_page(load(body)).targets == ()
    assert collect_page(load(body), {"SSH:HOST": "h"}).targets == (Target("A", "", ""),)
    assert [s.name for s in collect_page(load(body)).scripts] == ["A"]


def test_a_profile_without_a_script_has_no_form() -> None:
    page = collect_page(load(f"<idb:Template>{field('')}</idb:Template>"))
    served = render_page(page, version="1")
    assert served == render_page(page).replace("<body>", '<body data-version="1">')
    assert "<form" not in served
    assert 'id="field-F"' in served


def test_an_example_that_cannot_be_made_says_why() -> None:
    body = """<idb:Template name="START"><idb:Invocation><idb:Body>run &lt;F></idb:Body></idb:Invocation>
    <idb:Field name="F"><idb:Description>What to run.</idb:Description></idb:Field></idb:Template>"""
    [example] = collect_page(load(body)).examples
    assert example.text == ""
    assert example.refusal == (
        "field F has no value: template START uses it. "
        "It has no Default: set F to something that is not empty (What to run.)"
    )


CONTROLS = {
    "plain": (field(""), "text", ()),
    "integer": (field(' ext:type="integer"', "<idb:Default>1</idb:Default>"), "number", ()),
    "limited": (field("", "<idb:Min>1</idb:Min><idb:Default/>"), "number", ()),
    "a number with words": (field("", '<idb:Min>1</idb:Min><idb:Tag name="all">9</idb:Tag>'), "text", ()),
    "a number that begins with a word": (field(' ext:type="integer"', "<idb:Default>x</idb:Default>"), "text", ()),
    "words": (field(' ext:pattern="a|b-c"'), "choice", ("a", "b-c")),
    "words in a group": (field(' ext:pattern="(?:a|b)"', "<idb:Default></idb:Default>"), "choice", ("", "a", "b")),
    "words with tags": (field(' ext:pattern="(a|b)"', '<idb:Tag name="best">b</idb:Tag>'), "choice", ("best", "a", "b")),
    "no group at all": (field(' ext:pattern="(a|b"'), "text", ()),
    "a part of a group": (field(' ext:pattern="(a|b)c"'), "text", ()),
    "a dot is any character": (field(' ext:pattern="a.|b"'), "text", ()),
    "lines by pattern": (field(r' ext:pattern="(x\n)*"'), "lines", ()),
    "no lines by pattern": (field(r' ext:pattern="[^\n]*"'), "text", ()),
    "lines by default": (field("", "<idb:Default>a\nb</idb:Default>"), "lines", ()),
}  # fmt: skip


@pytest.mark.parametrize("case", CONTROLS)
def test_controls(case: str) -> None:
    declared, control, choices = CONTROLS[case]
    profile = load(f"<idb:Template>{declared}</idb:Template>")
    assert choose_control(profile.global_fields["F"]) == (control, choices)


def test_the_chain_counts_what_is_new_replaced_and_in_force(site: osprofile.Profile) -> None:
    own, base = collect_page(site).levels
    assert describe_level(own) == (
        "site: 6 fields: 1 new, 5 replaced, 6 in force; 3 templates: 1 new, 2 replaced, 3 in force."
    )
    assert describe_level(base) == (
        "base: 7 fields: 7 new, 2 in force; 7 templates: 7 new, 5 in force; 1 application: 1 new, 1 in force."
    )
    svg = render_node(draw_levels(collect_page(load("", name="n" * 200)).levels))
    assert "n" * 35 + "..." in svg  # a long name does not leave its box
    assert f">{'n' * 200}<" not in svg
    svg = render_node(draw_levels((own, base)))
    assert '<title id="drawing-title">Inheritance: site extends base</title>' in svg
    assert svg.count('class="box"') == 2
    assert svg.count(">extends<") == 1


def test_a_profile_that_extends_its_own_name_has_another_label(tmp_path: Path) -> None:
    file = tmp_path / "base.xml"
    file.write_text(HEAD.format("base", ' extends="base"', f"<idb:Template>{field('')}</idb:Template>"))
    page = collect_page(Repository([tmp_path, PROFILES]).load("base"))
    assert [level.label for level in page.levels] == ["base/base.xml", "base (2)/base.xml"]
    places = [s.origins[0].place for s in page.settings if s.name in {"F", "QUEUE"}]
    assert places == ["base (2)/base.xml:6", "base/base.xml:3"]


def test_an_application_with_very_many_fields_of_its_own_links_to_the_first() -> None:
    names = [f"F{n}" for n in range(15)]
    uses = " ".join(f"&lt;{name}>" for name in names)
    declared = "".join(f'<idb:Field name="{n}"><idb:Default/></idb:Field>' for n in names)
    body = f'<idb:Template name="MPI"><idb:Invocation><idb:Body>{uses}</idb:Body></idb:Invocation>{declared}</idb:Template>'
    page = collect_page(load(body + application("MPI", "1"), extends="base"))
    assert next(a for a in page.applications if a.name == "MPI").own == tuple(names)
    text = render_page(page).partition('id="fields"')[0]
    assert 'href="#field-F11"' in text
    assert 'href="#field-F12"' not in text
    assert "and 3 more" in text
