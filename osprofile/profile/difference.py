"""What differs between two resolved profiles, item by item, each with both places.

A profile is laid out as items, each at a path: a template, its variations and fields, a field's
limits and tags. Two items are the same where they say the same: where they stand, and in which
document of the chain, makes no difference. What has come or gone is told once, not with all that
is in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from osprofile.profile.model import Application, Field, Invocation, Profile, Storage, Template
    from osprofile.profile.tree import Element
    from osprofile.source import Place

Kind = Literal["added", "removed", "changed"]


@final
class Part(NamedTuple):
    """A step of a path: what it is (`template`, `tag`), and its name; some have none (`Default`)."""

    what: str
    name: str = ""


Path = tuple[Part, ...]


@final
class Item(NamedTuple):
    """Something that a profile says: `value` is None where only its parts say something."""

    value: str | None
    place: Place


@final
class Change(NamedTuple):
    """One difference. Of what was added there is no `old`, of what was removed no `new`."""

    kind: Kind
    path: Path
    old: Item | None
    new: Item | None


def difference(
    old: Profile,
    new: Profile,
    *,
    templates: Collection[str] | None = None,
    global_fields: Collection[str] = (),
    root: bool = True,
) -> tuple[Change, ...]:
    """Give what differs, in the order of `old`; what only `new` has stands with its like, or last.

    With `templates`, only those, of the global fields only `global_fields`, and UspaceRoot and
    Delimiter with `root`; storages and applications are left out then.
    """
    wanted: dict[str, Collection[str]] | None = None
    if templates is not None:
        head = {"UspaceRoot": [""], "Delimiter": [""]} if root else {}
        wanted = {"template": templates, "global field": global_fields, **head}
    mine, others = (_items_of(p, wanted) for p in (old, new))
    gone = {path for path in mine if path not in others}
    come = {path for path in others if path not in mine}
    changes = []
    for path in _merged(list(mine), list(others)):
        if path[:-1] in gone or path[:-1] in come:
            continue  # told by what it is a part of
        first, second = mine.get(path), others.get(path)
        if first is None or second is None:
            changes.append(Change("added" if first is None else "removed", path, first, second))
        elif first.value != second.value:
            changes.append(Change("changed", path, first, second))
    return tuple(changes)


def _merged(first: list[Path], second: list[Path]) -> list[Path]:
    """Give all paths: those of the first, and behind its nearest predecessor each further one.

    What has gone from the same place stands before what has come there, as in any difference.
    """
    kept, index = set(second), {path: i for i, path in enumerate(first)}
    behind: dict[int, list[Path]] = {}
    at = -1
    for path in second:
        if path in index:
            at = index[path]
            continue
        parent = path[:-1]
        while at + 1 < len(first) and _gone(first[at + 1], kept, parent):
            at += 1
        behind.setdefault(at, []).append(path)
    merged = behind.pop(-1, [])
    for i, path in enumerate(first):
        merged += [path, *behind.get(i, ())]
    return merged


def _gone(path: Path, kept: set[Path], parent: Path) -> bool:
    return path not in kept and path[: len(parent)] == parent


def _items_of(profile: Profile, wanted: Mapping[str, Collection[str]] | None) -> dict[Path, Item]:
    found: dict[Path, Item] = {}
    for path, item in _items(profile):
        if wanted is None or path[0].name in wanted.get(path[0].what, ()):
            found.setdefault(path, item)  # of two tags of one name, the first counts
    return found


def _items(profile: Profile) -> Iterator[tuple[Path, Item]]:
    root = profile.documents[0].element
    yield (Part("UspaceRoot"),), Item(profile.uspace_root, _place(root, "UspaceRoot"))
    yield (Part("Delimiter"),), Item(profile.delimiter, _place(root, "Delimiter"))
    for field in profile.global_fields.values():
        yield from _field((Part("global field", field.name),), field)
    for template in profile.templates.values():
        yield from _template((Part("template", template.name),), template)
    for storage in profile.storages.values():
        yield from _storage((Part("storage", storage.name),), storage)
    for application in profile.applications.values():
        yield from _application((Part("application", application.name),), application)


def _template(path: Path, template: Template) -> Iterator[tuple[Path, Item]]:
    yield path, Item(None, template.place)
    yield from _description(path, template.description, template.element)
    for invocation in template.invocations.values():
        yield from _invocation((*path, Part("variation", invocation.name)), invocation)
    for field in template.fields.values():
        yield from _field((*path, Part("field", field.name)), field)


def _invocation(path: Path, invocation: Invocation) -> Iterator[tuple[Path, Item]]:
    yield path, Item(None, invocation.place)
    yield from _description(path, invocation.description, invocation.element)
    if invocation.body is not None:
        yield (*path, Part("body")), Item(invocation.body.text, invocation.body.place())
    script = invocation.static_script
    if script is not None:
        yield (*path, Part("static script")), Item(script.body.text, script.body.place())
        name = script.element.attribute_place("fileName")
        yield (*path, Part("file name")), Item(script.file_name, name)
        yield (*path, Part("arguments")), Item(script.arguments.text, script.arguments.place())


def _field(path: Path, field: Field) -> Iterator[tuple[Path, Item]]:
    yield path, Item(None, field.place)
    yield from _description(path, field.description, field.element)
    settable = "yes" if field.settable else "no"
    yield (*path, Part("settable")), Item(settable, field.element.attribute_place("isSettable"))
    if field.type is not None:
        yield (*path, Part("type")), Item(field.type, field.place)
    if field.pattern is not None:
        yield (*path, Part("pattern")), Item(field.pattern.text, field.pattern.place())
    for name, limit in (("Min", field.minimum), ("Max", field.maximum)):
        if limit is not None:
            text = repr(limit).removesuffix(".0")
            yield (*path, Part("limit", name)), Item(text, field.place_of(name))
    for tag in field.tags:
        yield (*path, Part("tag", tag.name)), Item(tag.value, tag.place)
    for name, value in (("Default", field.default), ("Value", field.value)):
        if value is not None:
            yield (*path, Part(name)), Item(value, field.place_of(name))


def _storage(path: Path, storage: Storage) -> Iterator[tuple[Path, Item]]:
    yield path, Item(None, storage.place)
    place = storage.element.attribute_place("template")
    yield (*path, Part("made by template")), Item(storage.template, place)


def _application(path: Path, application: Application) -> Iterator[tuple[Path, Item]]:
    element = application.element
    yield path, Item(None, application.place)
    yield from _description(path, application.description, element)
    place = element.attribute_place("template")
    yield (*path, Part("run by template")), Item(application.template, place)
    for what, value in (
        ("ApplicationName", application.application_name),
        ("ApplicationVersion", application.application_version),
    ):
        yield (*path, Part(what)), Item(value, _place(element, what))


def _description(path: Path, text: str, element: Element) -> Iterator[tuple[Path, Item]]:
    if text:
        yield (*path, Part("description")), Item(text, _place(element, "Description"))


def _place(element: Element, name: str) -> Place:
    child = element.child(name)
    return child.place if child is not None else element.place
