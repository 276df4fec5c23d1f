"""The chain of documents: what each one says anew, what it replaces, what of it is in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.page.model import Count, Level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.page.labels import DocumentLabels
    from osprofile.profile.model import Document, Field, Profile
    from osprofile.source import Source

Item = tuple[str, ...]

KINDS = ("field", "template", "application", "storage")


def build_levels(profile: Profile, labels: DocumentLabels) -> tuple[Level, ...]:
    """Give the documents of the chain, the profile's own first."""
    said = [{kind: set(_list_items(d, kind)) for kind in KINDS} for d in profile.documents]
    levels = []
    for index in range(len(profile.documents)):
        counts = []
        for kind in KINDS:
            own = said[index][kind]
            below = set[Item]().union(*(s[kind] for s in said[index + 1 :]))
            hidden = set[Item]().union(*(s[kind] for s in said[:index]))
            if kind == "field":  # a template's fields go with the template
                templates = set[Item]().union(*(s["template"] for s in said[:index]))
                hidden |= {i for i in own if (i[0],) in templates}
            counts.append(Count(kind, len(own - below), len(own & below), len(own - hidden)))
        levels.append(Level(labels.names[index], labels.files[index], tuple(counts)))
    return tuple(levels)


def _list_items(document: Document, kind: str) -> Iterator[Item]:
    if kind == "field":
        yield from (("", name) for name in document.global_fields)
        for template in document.templates.values():
            yield from ((template.name, name) for name in template.fields)
        return
    entities = {
        "template": document.templates,
        "application": document.applications,
        "storage": document.storages,
    }
    yield from ((name,) for name in entities[kind])


def find_replaced_fields(profile: Profile, field: Field) -> Iterator[Field]:
    """Give the fields of the same name that this one replaced in documents further up, nearest first."""
    owner = _find_owner(profile, field)
    own: Source = field.location.source
    seen = False
    for document in profile.documents:
        template = document.templates.get(owner)
        fields = document.global_fields if not owner else (template.fields if template else {})
        if seen and field.name in fields:
            yield fields[field.name]
        seen = seen or document.location.source is own


def _find_owner(profile: Profile, field: Field) -> str:
    """Give the name of the template that declares a field, empty for a global one."""
    for document in profile.documents:
        if document.global_fields.get(field.name) is field:
            return ""
        for template in document.templates.values():
            if template.fields.get(field.name) is field:
                return template.name
    return ""
