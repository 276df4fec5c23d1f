"""The generated pages contain everything that the engine knows, whatever characters it has."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import markdown
import pytest
import yaml

import osprofile
from manual import batch_systems, native_options, options, profiles, rules
from manual.markdown import escape_text, format_block, format_code
from manual_hooks import TABLE_MARKS, TEST_MARKS
from osprofile.cli.common import list_verbs
from osprofile.job_scripts.command_line import Directive
from osprofile.job_scripts.reader import FAMILIES
from osprofile.job_scripts.script_request import Given
from osprofile.jobs.fields import FIELDS
from osprofile.lint.rules import RULES
from osprofile.profile.repository import Repository
from tests.docs.pages import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from osprofile.profile.model import Profile

WITHOUT_TAGS = re.sub(r"!![a-z/.:]+\S*", "", (ROOT / "mkdocs.yml").read_text())
EXTENSIONS = [
    name if isinstance(name, str) else next(iter(name))
    for name in yaml.safe_load(WITHOUT_TAGS)["markdown_extensions"]
]
COMMANDS = ROOT / "docs" / "commands"
HOSTILE = ' a | b <script>alert("x")</script> *c* _d_ `e` [f](g) \\ &amp; # <!-- h --> | {: i } ~~j~~  k'


class Reader(HTMLParser):
    """Reads HTML into items: what stands from one title or term to the next one.

    An item is its title, its text, and the texts of its pieces of code.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.items: list[tuple[str, str, list[str]]] = [("", "", [])]
        self.tags = set[str]()
        self._title = self._code = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.tags.add(tag)
        if tag in {"h1", "h2", "h3", "dt"}:
            self.items.append(("", "", []))
            self._title = True
        elif tag == "code":
            self.items[-1][2].append("")
            self._code = True

    def handle_endtag(self, tag: str) -> None:
        self._title = self._title and tag not in {"h1", "h2", "h3", "dt"}
        self._code = self._code and tag != "code"

    def handle_data(self, data: str) -> None:
        title, words, pieces = self.items[-1]
        if self._code:
            pieces[-1] += data
        self.items[-1] = (title + data if self._title else title, words + data, pieces)


def read(page: str) -> Reader:
    return Reader(markdown.markdown(page, extensions=EXTENSIONS))


def normal(value: str) -> str:
    return " ".join(value.replace("\xa0", " ").split())


def missing(profile: Profile, reader: Reader) -> Iterator[str]:
    """Yield what a page lacks about the fields of its profile."""
    for one in profiles.list_fields(profile):
        field = one.field
        values = [field.default, field.value, field.pattern_text]
        pieces = {normal(v) for v in values if v}
        maps = {normal(t.name) for t in field.tags} | {normal(t.value) for t in field.tags}
        scripts = set(profiles.list_scripts(profile, one))
        entries = [
            (normal(words), {normal(piece) for piece in [*found]})
            for title, words, found in reader.items
            if normal(title).removesuffix("¶") == field.name
        ]
        everywhere = {normal(piece) for _, _, found in reader.items for piece in found}
        if not any(
            normal(field.description) in words and pieces | scripts <= shown for words, shown in entries
        ):
            yield f"{field.name}: {field.description} {pieces} {scripts}"
        if not maps <= everywhere:
            yield f"{field.name}: tags {maps - everywhere}"


@pytest.mark.parametrize("name", profiles.list_profiles())
def test_every_field_of_every_profile_is_on_its_page(name: str) -> None:
    profile = profiles.load_profile(name)
    reader = read(profiles.format_profile(profile))
    assert list(missing(profile, reader)) == []
    words = normal(" ".join(words for _, words, _ in reader.items))
    for template in profile.templates.values():
        assert template.name in words
        assert normal(template.description) in words
        for invocation in template.invocations.values():
            assert normal(invocation.description) in words
            assert invocation.body is None or normal(invocation.body.text) in words
    for application in profile.applications.values():
        assert application.application_name in words
        assert normal(application.description) in words


def test_the_test_sees_what_is_left_out() -> None:
    profile = profiles.load_profile("slurm")
    page = profiles.format_profile(profile)
    for left_out in ("empty the default one", "JOB&#95;PROLOGUE"):
        assert list(missing(profile, read(page))) == []
        word = "The queue" if left_out.startswith("empty") else left_out
        assert list(missing(profile, read(page.replace(word, "")))) != []


def hostile(value: str) -> str:
    """Return a profile with a text in every place where text may be."""
    from xml.sax.saxutils import escape, quoteattr

    shown, attribute = escape(value), quoteattr(value)
    return f"""<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
  name="hostile" extends="linux"><osp:UspaceRoot>/var/tmp</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
  <idb:Template>
    <idb:Field name="QUEUE"><idb:Description>{shown}</idb:Description><idb:Tag name={attribute}>{shown}</idb:Tag>
      <idb:Default>{shown}</idb:Default></idb:Field>
    <idb:Field name="FIXED" isSettable="false"><idb:Description>{shown}</idb:Description><idb:Value>{shown}</idb:Value></idb:Field>
  </idb:Template>
  <idb:Template name="ODD"><idb:Description>{shown}</idb:Description>
    <idb:Invocation><idb:Description>{shown}</idb:Description><idb:Body>{shown}
```
&lt;FIXED></idb:Body></idb:Invocation></idb:Template>
</osp:Profile>"""


@pytest.mark.parametrize("value", [HOSTILE, "|", "`", "\\", "*a*", "    four", "1. one", "x" * 300])
def test_markdown_and_html_in_a_profile_stay_text(value: str, tmp_path: Path) -> None:
    path = tmp_path / "hostile.xml"
    path.write_text(hostile(value))
    profile = Repository([tmp_path, str(ROOT / "profiles")]).load("hostile")
    reader = read(profiles.format_profile(profile))
    assert list(missing(profile, reader)) == []
    assert not {"script", "em", "strong"} & reader.tags
    assert value.strip() in normal("".join(words for _, words, _ in reader.items)) or "  " in value


@pytest.mark.parametrize("value", ["a", HOSTILE, " a  b ", "|", "\n", "é", "```", "<b>", "&#65;"])
def test_text_code_and_blocks(value: str) -> None:
    page = f"| a | b |\n|---|---|\n| {escape_text(value)} | {format_code(value)} |\n\n{format_block(value)}"
    reader = read(page)
    assert reader.tags <= {"table", "thead", "tbody", "tr", "th", "td", "code", "div", "pre", "span"}
    (_, words, pieces), *more = reader.items
    assert more == []
    assert normal(value) in normal(words)
    shown = value.encode("unicode_escape").decode() if value == "\n" else value
    assert pieces[0].replace("\xa0", " ") == shown
    assert pieces[1].strip("\n") == value.strip("\n")


@pytest.mark.parametrize("verb", list_verbs())
def test_every_option_of_a_verb_is_in_its_table(verb: str) -> None:
    reader = read(options.format_options_table(verb))
    pieces = [piece.split()[0] for _, _, found in reader.items for piece in found if piece.split()]
    for parameter in options.list_parameters(verb):
        spelled = parameter.opts if parameter.param_type_name == "option" else []
        assert set(spelled) <= set(pieces)


def test_every_verb_has_its_page_and_its_table() -> None:
    index = (COMMANDS / "index.md").read_text()
    placed = set[str]()
    for page in COMMANDS.glob("*.md"):
        placed |= {found[1] for found in TABLE_MARKS.finditer(page.read_text())}
        assert page.name == "index.md" or f"]({page.name})" in index, page
    same = {"job resume": "job hold"}  # the same options: the page says so
    assert {same.get(verb, verb) for verb in list_verbs()} == placed


WITHOUT_FIELD = {
    *("attributes", "resources"),  # see their examples
    *("here", "shell", "script_arguments", "group", "wrap", "signal"),  # what is run, and where
    *("join", "open_mode"),  # how files are written
}
"""The names of options that have neither a field nor are dropped or passed on."""


@pytest.mark.parametrize("system", native_options.SYSTEMS, ids=lambda system: str(system.profile))
def test_every_option_of_a_script_is_in_a_table(system: native_options.System) -> None:
    fields = {row.name for row in FIELDS.values()}
    shown = {flag for field in fields for flags in system.list_flags(field) for flag in flags.split(", ")}
    others = {*system.list_dropped(), *system.list_passed(), *system.list_refused()}
    for option in system.table:
        assert {*option.flags} & (shown | others) or option.name in WITHOUT_FIELD, option
    assert not shown & {*system.list_dropped()}


@pytest.mark.parametrize(
    ("examples", "prefix"),
    [
        (native_options.QSUB_EXAMPLES, "#PBS"),
        (native_options.SGE_EXAMPLES, "#$"),
        (native_options.BSUB_EXAMPLES, "#BSUB"),
    ],
    ids=["qsub", "sge", "bsub"],
)
def test_an_example_sets_its_field(examples: Mapping[str, Sequence[str]], prefix: str) -> None:
    attributes = {row.name: attribute for attribute, row in FIELDS.items()}
    for field, texts in examples.items():
        for text in texts:
            family = FAMILIES[prefix]
            request = family.read(family.parse([Directive("", text.split())]), Given())
            assert request.attributes[attributes[field]], text


def test_the_tables_of_a_few_fields() -> None:
    page = batch_systems.format_effects_table(["GPUS", "CONTAINER"])
    rows = {line.split(" | ")[0]: line for line in page.splitlines()}
    assert html.unescape(rows["| [slurm](../profiles/slurm.md)"]).count("--gpus-per-node=2") == 1
    assert "refused" in rows["| [linux](../profiles/linux.md)"]
    assert "--gpus" in read(page).items[0][2]
    assert "*job script*: " in page
    assert "*variable*: " not in page


def test_marks_are_left_out() -> None:
    assert TEST_MARKS.sub("", "a\n\n<!-- run: lab; exit: 1 -->\n```console\n") == "a\n\n```console\n"


def test_every_rule_has_its_place() -> None:
    page = rules.format_rules_page()
    titles = [title.removesuffix("¶") for title, _, _ in read(page).items]
    assert [title for title in titles if title.startswith("OSP")] == list(RULES)
    for rule in RULES.values():
        assert f"](#{rule.code.lower()})" in page


def test_every_error_is_told() -> None:
    words = "".join(words for _, words, _ in read(rules.format_errors_page()).items)
    for name in dir(osprofile):
        assert not name.endswith("Error") or name in words
