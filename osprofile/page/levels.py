"""The chain of documents: what each declares anew, what it replaces, and what of it is in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.page.model import Count, Level
from osprofile.profile.model import is_removal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from osprofile.page.labels import DocumentLabels
    from osprofile.profile.model import Application, Document, Field, Profile, Storage, Template
    from osprofile.source import Source

Item = tuple[str, ...]

KINDS = ("field", "template", "application", "storage")


def build_levels(profile: Profile, labels: DocumentLabels) -> tuple[Level, ...]:
    """Return the documents of the chain, the profile's own first."""
    declared = [{kind: set(_list_items(d, kind)) for kind in KINDS} for d in profile.documents]
    levels = []
    for index in range(len(profile.documents)):
        counts = []
        for kind in KINDS:
            own = declared[index][kind] - set(_list_removed(profile.documents[index], kind))
            inherited = set[Item]().union(*(d[kind] for d in declared[index + 1 :]))
            hidden = set[Item]().union(*(d[kind] for d in declared[:index]))
            if kind == "field":  # a template is replaced with all its fields
                templates = set[Item]().union(*(d["template"] for d in declared[:index]))
                hidden |= {i for i in own if (i[0],) in templates}
            counts.append(Count(kind, len(own - inherited), len(own & inherited), len(own - hidden)))
        levels.append(Level(labels.names[index], labels.files[index], tuple(counts)))
    return tuple(levels)


def _list_items(document: Document, kind: str) -> Iterator[Item]:
    if kind == "field":
        yield from (
            (template, name) for template, fields in _list_declared_fields(document) for name in fields
        )
        return
    yield from ((name,) for name in _get_entities(document, kind))


def _list_removed(document: Document, kind: str) -> Iterator[Item]:
    """Yield the items that a document only removes (`ext:absent`)."""
    yield from ((name,) for name, e in _get_entities(document, kind).items() if is_removal(e.element))


def _get_entities(document: Document, kind: str) -> Mapping[str, Template | Application | Storage]:
    entities: dict[str, Mapping[str, Template | Application | Storage]] = {
        "template": document.templates,
        "application": document.applications,
        "storage": document.storages,
    }
    return entities.get(kind, {})


def _list_declared_fields(document: Document) -> Iterator[tuple[str, Mapping[str, Field]]]:
    """Yield the fields of each template by its name, the global ones by the empty name."""
    yield "", document.global_fields
    yield from ((name, template.fields) for name, template in document.templates.items())


def find_replaced_fields(profile: Profile, field: Field) -> Iterator[Field]:
    """Yield the inherited fields that a field replaces, nearest first."""
    owner = _find_owner(profile, field)
    own: Source = field.location.source
    is_parent = False
    for document in profile.documents:
        template = document.templates.get(owner)
        fields = document.global_fields if not owner else (template.fields if template else {})
        if is_parent and field.name in fields:
            yield fields[field.name]
        is_parent = is_parent or document.location.source is own


def _find_owner(profile: Profile, field: Field) -> str:
    """Return the name of the template that declares a field, empty for a global field."""
    for document in profile.documents:
        for template_name, fields in _list_declared_fields(document):
            declared = fields.get(field.name)
            # The profile's field may have another pattern than the document's: `ext:patternField`.
            if declared is not None and declared.element is field.element:
                return template_name
    return ""
