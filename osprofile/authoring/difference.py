"""Compare two resolved profiles item by item, with the locations in both.

A profile is a list of items, each at a path: a template, its variations and fields, a field's
limits and tags. Two items are equal if their values are: their locations, and the documents that
they come from, do not matter. An item that was added or removed is one change; its parts are not
listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, final

from osprofile.late import NamedTuple
from osprofile.profile.model import REQUIRES_ATTRIBUTE, WHEN_ATTRIBUTE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from osprofile.profile.model import Application, Field, Invocation, Profile, Template
    from osprofile.profile.tree import Element
    from osprofile.source import Location

    ItemIterator = Iterator[tuple["ItemPath", "ProfileItem"]]

ChangeKind = Literal["added", "removed", "changed"]


@final
class PathPart(NamedTuple):
    """A step of a path: its kind (`template`, `tag`), and its name; some have none (`Default`)."""

    kind: str
    name: str = ""


ItemPath = tuple[PathPart, ...]


@final
class ProfileItem(NamedTuple):
    """An item of a profile; `value` is None if it only has parts."""

    value: str | None
    location: Location


@final
class ProfileChange(NamedTuple):
    """One difference: `old` is None for an added item, `new` for a removed one."""

    kind: ChangeKind
    path: ItemPath
    old: ProfileItem | None
    new: ProfileItem | None


def compare_profiles(
    old: Profile,
    new: Profile,
    *,
    templates: Collection[str] | None = None,
    global_fields: Collection[str] = (),
    include_uspace_root: bool = True,
) -> tuple[ProfileChange, ...]:
    """Return the differences in the order of `old`; an added item follows its predecessor in `new`.

    With `templates`, compare only those, the fields `global_fields`, and with `include_uspace_root`
    UspaceRoot and Delimiter; storages and applications are left out then.
    """
    selection: dict[str, Collection[str]] | None = None
    if templates is not None:
        root_items = {"UspaceRoot": [""], "Delimiter": [""]} if include_uspace_root else {}
        selection = {"template": templates, "global field": global_fields, **root_items}
    old_items, new_items = (_collect_items(p, selection) for p in (old, new))
    removed = {path for path in old_items if path not in new_items}
    added = {path for path in new_items if path not in old_items}
    changes = []
    for path in _merge_paths(list(old_items), list(new_items)):
        if path[:-1] in removed or path[:-1] in added:
            continue  # part of an added or removed item
        old_item, new_item = old_items.get(path), new_items.get(path)
        if old_item is None or new_item is None:
            changes.append(
                ProfileChange("added" if old_item is None else "removed", path, old_item, new_item)
            )
        elif old_item.value != new_item.value:
            changes.append(ProfileChange("changed", path, old_item, new_item))
    return tuple(changes)


def _merge_paths(first: list[ItemPath], second: list[ItemPath]) -> list[ItemPath]:
    """Return the paths of both lists in the order of `first`; each other one follows its predecessor in `second`.

    At the same position, removed items precede added ones, as in the output of diff.
    """
    remaining, index_by_path = set(second), {path: i for i, path in enumerate(first)}
    inserted_after: dict[int, list[ItemPath]] = {}
    position = -1
    for path in second:
        if path in index_by_path:
            position = index_by_path[path]
            continue
        parent = path[:-1]
        while position + 1 < len(first):  # removed siblings
            following = first[position + 1]
            if following in remaining or following[: len(parent)] != parent:
                break
            position += 1
        inserted_after.setdefault(position, []).append(path)
    merged = inserted_after.pop(-1, [])
    for i, path in enumerate(first):
        merged += [path, *inserted_after.get(i, ())]
    return merged


def _collect_items(
    profile: Profile, selection: Mapping[str, Collection[str]] | None
) -> dict[ItemPath, ProfileItem]:
    items: dict[ItemPath, ProfileItem] = {}
    for path, item in _iter_items(profile):
        if selection is None or path[0].name in selection.get(path[0].kind, ()):
            items.setdefault(path, item)  # the first of two tags of one name is used
    return items


def _iter_items(profile: Profile) -> ItemIterator:
    root = profile.documents[0].element
    yield ((PathPart("UspaceRoot"),), ProfileItem(profile.uspace_root, _locate_child(root, "UspaceRoot")))
    yield (PathPart("Delimiter"),), ProfileItem(profile.delimiter, _locate_child(root, "Delimiter"))
    for field in profile.global_fields.values():
        yield from _iter_field_items((PathPart("global field", field.name),), field)
    for case in profile.cases:
        path: ItemPath = (PathPart("global field", case.name), PathPart("case", str(case.selection)))
        yield from _iter_field_items(path, case)
    for template in profile.templates.values():
        yield from _iter_template_items((PathPart("template", template.name),), template)
    for storage in profile.storages.values():
        path = (PathPart("storage", storage.name),)
        yield path, ProfileItem(None, storage.location)
        location = storage.element.locate_attribute("template")
        yield (*path, PathPart("made by template")), ProfileItem(storage.template, location)
    for application in profile.applications.values():
        yield from _iter_application_items((PathPart("application", application.name),), application)


def _iter_template_items(path: ItemPath, template: Template) -> ItemIterator:
    yield path, ProfileItem(None, template.location)
    yield from _iter_description_items(path, template.description, template.element)
    for invocation in template.invocations.values():
        yield from _iter_invocation_items((*path, PathPart("variation", invocation.name)), invocation)
    for field in template.fields.values():
        yield from _iter_field_items((*path, PathPart("field", field.name)), field)


def _iter_invocation_items(path: ItemPath, invocation: Invocation) -> ItemIterator:
    yield path, ProfileItem(None, invocation.location)
    yield from _iter_description_items(path, invocation.description, invocation.element)
    if invocation.body is not None:
        yield ((*path, PathPart("body")), ProfileItem(invocation.body.text, invocation.body.get_location()))
    script = invocation.static_script
    if script is not None:
        yield ((*path, PathPart("static script")), ProfileItem(script.body.text, script.body.get_location()))
        name = script.element.locate_attribute("fileName")
        yield (*path, PathPart("file name")), ProfileItem(script.file_name, name)
        yield (
            (*path, PathPart("arguments")),
            ProfileItem(script.arguments.text, script.arguments.get_location()),
        )


def _iter_field_items(path: ItemPath, field: Field) -> ItemIterator:
    yield path, ProfileItem(None, field.location)
    yield from _iter_description_items(path, field.description, field.element)
    settable = "yes" if field.settable else "no"
    yield ((*path, PathPart("settable")), ProfileItem(settable, field.element.locate_attribute("isSettable")))
    if field.type is not None:
        yield (*path, PathPart("type")), ProfileItem(field.type, field.location)
    if field.pattern is not None:
        yield ((*path, PathPart("pattern")), ProfileItem(field.pattern.text, field.pattern.get_location()))
    for name, linked, attribute in (
        ("when", field.when, WHEN_ATTRIBUTE),
        ("requires", field.requires, REQUIRES_ATTRIBUTE),
    ):
        if linked is not None:
            yield (*path, PathPart(name)), ProfileItem(linked, field.element.locate_attribute(attribute))
    for name, limit in (("Min", field.minimum), ("Max", field.maximum)):
        if limit is not None:
            text = repr(limit).removesuffix(".0")
            yield (*path, PathPart("limit", name)), ProfileItem(text, field.locate_child(name))
    for tag in field.tags:
        yield (*path, PathPart("tag", tag.name)), ProfileItem(tag.value, tag.location)
    for name, value in (("Default", field.default), ("Value", field.value)):
        if value is not None:
            yield (*path, PathPart(name)), ProfileItem(value, field.locate_child(name))


def _iter_application_items(path: ItemPath, application: Application) -> ItemIterator:
    element = application.element
    yield path, ProfileItem(None, application.location)
    yield from _iter_description_items(path, application.description, element)
    location = element.locate_attribute("template")
    yield (*path, PathPart("run by template")), ProfileItem(application.template, location)
    for element_name, value in (
        ("ApplicationName", application.application_name),
        ("ApplicationVersion", application.application_version),
    ):
        yield (*path, PathPart(element_name)), ProfileItem(value, _locate_child(element, element_name))


def _iter_description_items(path: ItemPath, text: str, element: Element) -> ItemIterator:
    if text:
        yield ((*path, PathPart("description")), ProfileItem(text, _locate_child(element, "Description")))


def _locate_child(element: Element, name: str) -> Location:
    child = element.find_child(name)
    return child.location if child is not None else element.location
