"""Rules for what a profile inherits and should not: scripts of another batch system, a job script's parts.

See docs/language.md, "Inheritance".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from osprofile.lint.requirements import REQUIRED_TEMPLATES
from osprofile.lint.rules import make_problem
from osprofile.profile.model import JOB_DIRECTIVES, Profile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from osprofile.errors import Problem
    from osprofile.lint.profile_view import ProfileView
    from osprofile.profile.model import Document

BATCH_SYSTEM_TEMPLATES: Final = (
    "GET_JOB_STATUS", "HOLD", "RESUME", "SIGNAL", "ABORT", "FIND_JOB", "LIST_NODES", "LIST_QUEUES", "EVENTS",
)  # fmt: skip
"""The templates whose scripts ask a batch system about its jobs or its machine."""


def check_inheritance(view: ProfileView) -> Iterator[Problem]:
    """Check which documents of the chain the resolved profile's templates come from."""
    yield from _check_batch_system(view)
    yield from _check_prologue(view.profile)


def _check_batch_system(view: ProfileView) -> Iterator[Problem]:
    """Report scripts from beyond the document that says what an id of this batch system looks like.

    A script with lines of shell code that come from a nearer document is for this batch system.
    """
    profile = view.profile
    declared = (n for n, d in enumerate(profile.documents) if "JOB_ID_PATTERN" in d.global_fields)
    number = next(declared, len(profile.documents))
    for name in BATCH_SYSTEM_TEMPLATES:
        origin = _find_origin(profile, name)
        if origin is None or origin <= number or _has_lines_from(view, name, profile.documents[: number + 1]):
            continue
        own, other = profile.documents[number], profile.documents[origin]
        message = f"template {name} is inherited from {other.name}, which describes another batch system"
        hint = f"{own.name} declares JOB_ID_PATTERN, and is for ids of its own: define {name} there"
        if name not in REQUIRED_TEMPLATES:
            hint += f', or remove it: <idb:Template name="{name}" ext:absent="true"/>'
        yield make_problem("OSP211", message, own.global_fields["JOB_ID_PATTERN"].location, hint)


def _has_lines_from(view: ProfileView, name: str, documents: Sequence[Document]) -> bool:
    """Return whether a line of a template's scripts is a fixed field that one of these documents declares."""
    declared = {name for document in documents for name in document.global_fields}
    texts = (text for text in view.texts if text.template.name == name)
    return any(field.name in declared for text in texts for field, _ in view.list_fixed_lines(text))


def _check_prologue(profile: Profile) -> Iterator[Problem]:
    """Report a JOB_PROLOGUE that replaces one which goes with JOB_DIRECTIVES."""
    origin = _find_origin(profile, "JOB_PROLOGUE")
    parents = profile.documents[origin + 1 :] if origin is not None else ()
    if not parents or JOB_DIRECTIVES not in Profile(parents).templates:
        return
    message = "JOB_PROLOGUE replaces the inherited one, to which JOB_DIRECTIVES belongs"
    hint = "write directives in JOB_DIRECTIVES and shell lines in SITE_SETUP, and delete this template"
    yield make_problem("OSP627", message, profile.templates["JOB_PROLOGUE"].location, hint)


def _find_origin(profile: Profile, name: str) -> int | None:
    """Return the number of the document from which a resolved profile has a template, None without it."""
    if name not in profile.templates:
        return None
    return next(n for n, document in enumerate(profile.documents) if name in document.templates)
