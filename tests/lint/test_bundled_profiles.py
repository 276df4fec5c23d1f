"""The bundled profiles are clean; with a quote taken away anywhere, they are not."""

from __future__ import annotations

import re
from collections import Counter
from copy import copy
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.incarnation.body import parse_body
from osprofile.lint import lint_file
from osprofile.lint.profile_view import ProfileView, TemplateText
from osprofile.lint.scripts import check_scripts
from osprofile.profile.data_directories import get_bundled_directory
from osprofile.profile.repository import Repository
from osprofile.source import SourceText
from tests.hunting import rounds

if TYPE_CHECKING:
    from collections.abc import Iterator

PROFILES = Path(get_bundled_directory())
NAMES = sorted(path.parent.name for path in PROFILES.glob("*/profile.xml"))
QUOTED = re.compile(r"'<([A-Z_:]+)/'/'\\\\''>'")


@pytest.mark.parametrize("name", NAMES)
def test_clean(name: str) -> None:
    found = lint_file(PROFILES / name, Repository([PROFILES], use_standard_path=False))
    assert [str(problem) for problem in found] == []


def list_changed_texts(text: TemplateText) -> Iterator[tuple[str, TemplateText]]:
    """Yield a text with one quoted value changed, and what stands there: each value in three wrong ways."""
    source = text.body.source
    for match in QUOTED.finditer(source.text):
        for instead in (f'"<{match[1]}>"', f"<{match[1]}>", f"'<{match[1]}>'"):
            changed = source.text[: match.start()] + instead + source.text[match.end() :]
            body = parse_body(SourceText(changed, source.source, source.anchors))
            yield instead, replace(text, body=body)


def count_problems(view: ProfileView, text: TemplateText) -> Counter[str]:
    """Count the problems of the first script that a text is in; the other scripts are not read."""
    scripts = [texts for texts, _ in view.list_script_texts() if text in texts]
    view = copy(view)
    view.texts = scripts[0] if scripts else [text]
    return Counter(f"{problem.code} {problem.message}" for problem in check_scripts(view))


STRICT = {
    "JOB_ID", "JOB_NAME", "QUEUE", "PROJECT", "PE", "PE_NODES", "ARRAY", "DEPENDENCY", "START_TIME", "GPU_TYPE", "QOS",
    "CONSTRAINT", "RESERVATION", "EXCLUSIVE", "PRIORITY", "NOTIFY", "NOTIFY_EVENTS", "REQUEUE",
}  # fmt: skip
"""Fields of directives and ids, which have strict patterns; CONSTRAINT's is safe in double quotes alone."""


@pytest.mark.parametrize("name", NAMES)
def test_every_quote_matters(name: str) -> None:
    """Each quoted value of a bundled profile, in wrong quotes or without any, is a problem.

    Integers, a profile's own Values and values with a strict pattern are safe anywhere.
    """
    profile = Repository([PROFILES], use_standard_path=False).load(name)
    view = ProfileView(profile)
    own_source = profile.documents[0].element.source
    tried, missed = 0, set[str]()
    for index, text in enumerate(view.texts):
        if text.invocation.element.source is not own_source:
            continue
        waived = count_problems(view, text)
        for instead, changed in islice(list_changed_texts(text), 0, None, rounds(1, 15)):
            view.texts[index] = changed
            tried += 1
            if not count_problems(view, changed) - waived:
                missed.add(instead)
        view.texts[index] = text
    assert tried or profile.documents[1].name == "batch"  # which quotes them
    harmless = {
        name
        for name, field in profile.global_fields.items()
        if field.type == "integer" or field.value is not None or name in STRICT
    }
    # Words with single spaces between them are safe in any quotes.
    missed -= {f"{q}<{name}>{q}" for q in "'\"" for name in ("MODULES", "JOB_IDS")}
    assert {instead.strip("'\"<>").partition(":")[0] for instead in missed} <= harmless
