"""Rules for what a profile inherits: scripts of another batch system, a job script's parts, limited fields.

See docs/language.md, "Inheritance".
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Final

from osprofile import javaregex
from osprofile.authoring.writer import escape_text
from osprofile.errors import JavaRegexError
from osprofile.incarnation import field_rules
from osprofile.lint.profile_view import is_alone_on_line
from osprofile.lint.requirements import REQUIRED_TEMPLATES
from osprofile.lint.rules import make_problem
from osprofile.profile.model import JOB_DIRECTIVES, Profile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from osprofile.errors import Problem
    from osprofile.lint.profile_view import ProfileView
    from osprofile.profile.model import Document, Field, Template

BATCH_SYSTEM_TEMPLATES: Final = (
    "GET_JOB_STATUS", "HOLD", "RESUME", "SIGNAL", "ABORT", "FIND_JOB", "LIST_NODES", "LIST_QUEUES", "EVENTS",
)  # fmt: skip
"""The templates whose scripts ask a batch system about its jobs or its machine."""


_REPETITION: Final = re.compile(r"[*+]|\{[0-9]+,\}")
"""In a pattern that says what a value looks like, as `[a-z]+` does, not which values there are."""


def check_inheritance(view: ProfileView) -> Iterator[Problem]:
    """Check which documents of the chain the resolved profile's templates come from."""
    yield from _check_batch_system(view)
    yield from _check_prologue(view.profile)
    yield from _check_empty_values(view)
    yield from _check_wider_limits(view)


def _check_batch_system(view: ProfileView) -> Iterator[Problem]:
    """Report scripts from beyond the document that says what an id of this batch system looks like.

    A script with lines of shell code that come from a nearer document is for this batch system, and so is one that runs
    a program from there.
    """
    profile = view.profile
    declared = (n for n, d in enumerate(profile.documents) if "JOB_ID_PATTERN" in d.global_fields)
    number = next(declared, len(profile.documents))
    for name in BATCH_SYSTEM_TEMPLATES:
        origin = _find_origin(profile, name)
        if origin is None or origin <= number or _has_lines_from(view, name, profile.documents[: number + 1]):
            continue
        if _runs_program_from(view, name, number):
            continue
        own, other = profile.documents[number], profile.documents[origin]
        message = f"template {name} is inherited from {other.name}, which describes another batch system"
        hint = f"{own.name} declares JOB_ID_PATTERN, and is for ids of its own: define {name} there"
        if name not in REQUIRED_TEMPLATES:
            hint += f', or remove it: <idb:Template name="{name}" ext:absent="true"/>'
        yield make_problem("OSP211", message, own.global_fields["JOB_ID_PATTERN"].location, hint)


def _has_lines_from(view: ProfileView, name: str, documents: Sequence[Document]) -> bool:
    """Return whether a line of a template's scripts is a fixed field that one of these documents declares, quoted or not."""
    declared = {n for d in documents for n, field in d.global_fields.items() if field.value is not None}
    bodies = (text.body for text in view.texts if text.template.name == name)
    return any(
        replacement.name in declared and is_alone_on_line(body.source.text, replacement)
        for body in bodies
        for replacement in body.replacements
    )


def _runs_program_from(view: ProfileView, name: str, number: int) -> bool:
    """Return whether a template's scripts run a program (`<BIN:...>`) of the document of that number, or a nearer one."""
    own = {
        field_rules.PROGRAM_PREFIX + script.file_name
        for template, script in view.profile.list_static_scripts()
        if (origin := _find_origin(view.profile, template.name)) is not None and origin <= number
    }
    texts = (text for text in view.texts if text.template.name == name)
    return any(replacement.name in own for text in texts for replacement in text.body.replacements)


def _check_prologue(profile: Profile) -> Iterator[Problem]:
    """Report a JOB_PROLOGUE that replaces one which goes with JOB_DIRECTIVES."""
    origin = _find_origin(profile, "JOB_PROLOGUE")
    parents = profile.documents[origin + 1 :] if origin is not None else ()
    if not parents or JOB_DIRECTIVES not in Profile(parents).templates:
        return
    message = "JOB_PROLOGUE replaces the inherited one, to which JOB_DIRECTIVES belongs"
    hint = "write directives in JOB_DIRECTIVES and shell lines in SITE_SETUP, and delete this template"
    yield make_problem("OSP627", message, profile.templates["JOB_PROLOGUE"].location, hint)


def _check_empty_values(view: ProfileView) -> Iterator[Problem]:
    """Report own declarations whose new limit and Default an empty value of a request bypasses."""
    for field, inherited in _list_redeclared_fields(view):
        if not field.settable or field.value is not None:
            continue
        default = field_rules.apply_tags(field, field.default or "")
        pattern = field.pattern_text
        if pattern is None or pattern == inherited.pattern_text or not _lists_values(pattern):
            continue
        if not default or field_rules.has_limit(field) or any(not tag.name for tag in field.tags):
            continue
        message = f"a request may set field {field.name} to nothing, which passes its pattern"
        hint = f'to replace it by the Default, write <idb:Tag name="">{escape_text(default)}</idb:Tag>'
        hint += ' before the Default; <idb:Tag name=""/> says that it may be empty'
        yield make_problem("OSP316", message, field.locate_child("Default"), hint)


def _check_wider_limits(view: ProfileView) -> Iterator[Problem]:
    """Report limits that allow more than the inherited ones, which they replace."""
    for field, inherited in _list_redeclared_fields(view):
        limits = (
            ("Min", field.minimum, inherited.minimum, operator.lt),
            ("Max", field.maximum, inherited.maximum, operator.gt),
        )
        for name, own, other, exceeds in limits:
            if own is not None and other is not None and exceeds(own, other):
                message = (
                    f"the {name} of field {field.name} allows more than the inherited one, which it replaces"
                )
                hint = f"the other is at {inherited.locate_child(name)}; if this is meant, waive it"
                yield make_problem("OSP318", message, field.locate_child(name), hint)


def _list_redeclared_fields(view: ProfileView) -> Iterator[tuple[Field, Field]]:
    """Yield each field of the profile's own document that is inherited, too, with the inherited one."""
    parents = view.profile.documents[1:]
    if not parents:
        return
    parent = Profile(parents)
    own = view.own_document
    declared: list[tuple[Template | None, Field]] = [(None, field) for field in own.global_fields.values()]
    declared += [
        (template, field) for template in own.templates.values() for field in template.fields.values()
    ]
    for template, field in declared:
        inherited_template = parent.templates.get(template.name) if template is not None else None
        inherited = parent.global_fields.get(field.name)
        if inherited_template is not None:
            inherited = parent.find_field(inherited_template, field.name)
        if inherited is not None:
            yield field, inherited
    cases = {(case.name, case.selection): case for case in parent.cases}
    for case in own.cases:
        if (inherited := cases.get((case.name, case.selection))) is not None:
            yield case, inherited


def _lists_values(pattern: str) -> bool:
    """Return whether a pattern accepts only a few values, such as `physics|chem`, and not the empty one."""
    try:
        return not _REPETITION.search(pattern) and not javaregex.compile(pattern).accepts("")
    except JavaRegexError:  # another rule reports it
        return False


def _find_origin(profile: Profile, name: str) -> int | None:
    """Return the number of the document from which a resolved profile has a template, None without it."""
    if name not in profile.templates:
        return None
    return next(n for n, document in enumerate(profile.documents) if name in document.templates)
