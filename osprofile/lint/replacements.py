"""What is wrong with replacements: of no field, not finished, bad regular expressions (seed, 2.1)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from osprofile.errors import InvalidProfileError, nearest
from osprofile.incarnation import fields as engine
from osprofile.incarnation.plan import BIN, START_PARTS
from osprofile.language import body as bodies
from osprofile.language.body import NAME
from osprofile.lint.engine_data import ENGINE_FIELDS, TIME_LIMIT
from osprofile.lint.rules import problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.errors import Problem
    from osprofile.language.body import Replacement
    from osprofile.lint.script import Text, View
    from osprofile.profile.model import Field, StaticScript

_NAME: Final = re.compile(NAME)
_BEGINNING: Final = re.compile(rf"(?<!<)<({NAME})")


def replacements(view: View) -> Iterator[Problem]:
    """Judge every replacement of a resolved profile."""
    for text, found in view.uses():
        if not is_known(view, text, found.name):
            yield _undeclared(view, text, found)
        else:
            yield from _derived(view, text, found)
        try:
            bodies.compile_replacement(text.body, found)
        except InvalidProfileError as error:
            yield from error.problems
    for text in view.texts:
        yield from _unfinished(view, text)
    for template in view.profile.templates.values():
        for invocation in template.invocations.values():
            if invocation.static_script is not None:
                yield from _in_static_script(view, template.name, invocation.static_script)


def is_known(view: View, text: Text, name: str) -> bool:
    """Say whether a replacement of that name can have a value in a text."""
    if name in text.engine_fields or view.field(text, name) is not None:
        return True
    if name == engine.JOB_SCRIPT:
        return not _is_part_of_job_script(view, text)
    return engine.is_special(name)


def _is_part_of_job_script(view: View, text: Text) -> bool:
    name = text.template.name
    applications = view.profile.applications.values()
    return name in START_PARTS or name == BIN or any(a.template == name for a in applications)


def known_names(view: View, text: Text) -> set[str]:
    """Give the names that a replacement in a text may have."""
    declared = {*view.profile.global_fields, *text.template.fields}
    return declared | engine.SPECIAL_NAMES | text.engine_fields


def _undeclared(view: View, text: Text, found: Replacement) -> Problem:
    name, where = found.name, f"template {text.template.name}"
    if name == engine.JOB_SCRIPT:
        message = f"<{name}> in {where}, which is itself a part of the job's script"
        return problem("OSP301", message, text.body.place(found), "only START can hold it")
    if text.invocation.name:
        where += f", variation {text.invocation.name}"
    message = f"<{name}> is no field of {where}, no global and no special field"
    return problem("OSP301", message, text.body.place(found), _remedy(view, text, name))


def _remedy(view: View, text: Text, name: str) -> str:
    for template in view.profile.templates.values():
        if name in template.fields:
            place = template.fields[name].place
            return f"template {template.name} declares it, at {place}, for itself; declare it here, too"
    return (
        f"{nearest(name, known_names(view, text))}; a field of the user's profile is declared with "
        f'isSettable="false"; a shell\'s redirection has a blank: < {name}'
    )


def _derived(view: View, text: Text, found: Replacement) -> Iterator[Problem]:
    """Check that the base of `<X:HMS>` is an integer."""
    base = view.field(text, found.name)
    if base is None or base.name == found.name or base.type == "integer":
        return
    message = f"<{found.name}> is computed from field {base.name}, which is no integer"
    hint = f'give the field at {base.place} ext:type="integer"'
    yield problem("OSP314", message, text.body.place(found), hint)


def _unfinished(view: View, text: Text) -> Iterator[Problem]:
    """Find `<NAME` of a known field that is no replacement."""
    starts = {found.start for found in text.body.replacements}
    source = text.body.source
    for match in _BEGINNING.finditer(source.text):
        if match.start() in starts or not is_known(view, text, match[1]):
            continue
        message = f"<{match[1]} begins like a replacement of field {match[1]} and does not end"
        hint = "write <NAME> or <NAME/FROM/TO> in one line; a literal < is followed by a blank"
        yield problem("OSP303", message, source.place(match.start()), hint)


def _in_static_script(view: View, template: str, script: StaticScript) -> Iterator[Problem]:
    """Find replacements in a static script's body, which is written as it is."""
    fields = {*view.profile.global_fields, *view.profile.templates[template].fields}
    for found in bodies.parse(script.body).replacements:
        if found.name not in fields and not engine.is_special(found.name):
            continue
        message = f"<{found.name}> in the body of static script {script.file_name} is not replaced"
        hint = "hand the value over in the attribute arguments; the script gets it as $1, ..."
        yield problem("OSP503", message, script.body.place(found.start), hint)


def unused(view: View) -> Iterator[Problem]:
    """Find the document's own fields that nothing uses (of inherited ones, its author hears)."""
    used = {name for text, found in view.uses() for name in _names(view, text, found)}
    for template in view.own.templates.values():
        engine_reads = {*ENGINE_FIELDS.get(template.name, ()), TIME_LIMIT}
        partners = [t.name for t in view.partners(template)]
        for field in template.fields.values():
            known = field.name in engine_reads or any((n, field.name) in used for n in partners)
            if not known and _NAME.fullmatch(field.name):
                where = f"no variation of template {template.name}"
                yield _unused(field, where)
    every = {name for _, name in used}
    every |= {TIME_LIMIT, *(name for names in ENGINE_FIELDS.values() for name in names)}
    for field in view.own.global_fields.values():
        if field.name not in every:
            yield _unused(field, "no template of the resolved profile")


def _names(view: View, text: Text, found: Replacement) -> Iterator[tuple[str, str]]:
    field = view.field(text, found.name)
    yield text.template.name, field.name if field is not None else found.name


def _unused(field: Field, where: str) -> Problem:
    message = f"{where} uses field {field.name}"
    hint = f"write <{field.name}> where its value belongs, or remove the field"
    return problem("OSP302", message, field.element.attribute_place("name"), hint)
