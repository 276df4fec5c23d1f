"""Rules for replacements in texts (OS Profile 0.3, 2.1): unknown fields, syntax, unused fields."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from osprofile.errors import InvalidProfileError
from osprofile.incarnation import body as bodies
from osprofile.incarnation import field_rules
from osprofile.incarnation.plan import BIN_TEMPLATE, JOB_SCRIPT_PARTS
from osprofile.jobs.fields import JOB_FIELDS
from osprofile.lint.declarations import list_declared_fields
from osprofile.lint.engine_fields import ENGINE_FIELDS, TIME_LIMIT_FIELD
from osprofile.lint.rules import make_problem
from osprofile.profile.model import FIELD_NAME_PATTERN, JOB_DIRECTIVES
from osprofile.text import suggest_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from osprofile.errors import Problem
    from osprofile.incarnation.body import Replacement
    from osprofile.lint.profile_view import ProfileView, TemplateText
    from osprofile.profile.model import Field, StaticScript, Template

_NAME_PATTERN: Final = re.compile(FIELD_NAME_PATTERN)
_SIMILAR: Final = 0.75
"""How similar a field's name is to an inherited one if it is probably misspelt: WALTIME, QUEUES."""
_REPLACEMENT_START: Final = re.compile(rf"(?<!<)<({FIELD_NAME_PATTERN})")


def check_replacements(view: ProfileView) -> Iterator[Problem]:
    """Check every replacement of a resolved profile."""
    for text, replacement in view.list_replacements():
        if not is_known_name(view, text, replacement.name):
            yield _make_undeclared_problem(view, text, replacement)
        else:
            yield from _check_derived(view, text, replacement)
        try:
            bodies.compile_replacement(text.body, replacement)
        except InvalidProfileError as error:
            yield from error.problems
    for text in view.texts:
        yield from _check_unfinished(view, text)
    for template, script in view.profile.list_static_scripts():
        yield from _check_static_script(view, template, script)


def is_known_name(view: ProfileView, text: TemplateText, name: str) -> bool:
    """Return whether a replacement of that name can have a value in a text."""
    if name in text.engine_fields or view.find_field(text, name) is not None:
        return True
    if name in field_rules.ENGINE_FIELDS:
        return not _is_part_of_job_script(view, text)
    if name.startswith(field_rules.PROGRAM_PREFIX):
        return name in _list_program_names(view)
    return field_rules.is_special_field(name)


def _is_part_of_job_script(view: ProfileView, text: TemplateText) -> bool:
    name = text.template.name
    applications = view.profile.applications.values()
    return name in JOB_SCRIPT_PARTS or name == BIN_TEMPLATE or any(a.template == name for a in applications)


def list_known_names(view: ProfileView, text: TemplateText) -> set[str]:
    """Return the names to suggest for a replacement in a text."""
    declared = {*view.profile.global_fields, *text.template.fields}
    return declared | field_rules.SPECIAL_FIELDS | text.engine_fields | _list_program_names(view)


def _list_program_names(view: ProfileView) -> set[str]:
    return {field_rules.PROGRAM_PREFIX + s.file_name for _, s in view.profile.list_static_scripts()}


def _make_undeclared_problem(view: ProfileView, text: TemplateText, replacement: Replacement) -> Problem:
    name, where = replacement.name, f"template {text.template.name}"
    location = text.body.locate_replacement(replacement)
    if name in field_rules.ENGINE_FIELDS:
        message = f"<{name}> in {where}, which is itself a part of the job's script"
        return make_problem("OSP301", message, location, "only START can hold it")
    if text.invocation.name:
        where += f", variation {text.invocation.name}"
    message = f"<{name}> is not a field of {where}, a global field or a special field"
    return make_problem("OSP301", message, location, _suggest_remedy(view, text, name))


def _suggest_remedy(view: ProfileView, text: TemplateText, name: str) -> str:
    for template in view.profile.templates.values():
        if name in template.fields:
            location = template.fields[name].location
            return f"template {template.name} declares it for itself, at {location}; declare it here, too"
    return (
        f"{suggest_names(name, list_known_names(view, text))}; a field of the user's profile is declared with "
        f'isSettable="false"; a shell\'s redirection has a blank: < {name}'
    )


def _check_derived(view: ProfileView, text: TemplateText, replacement: Replacement) -> Iterator[Problem]:
    """Check that the base of `<X:HMS>` or `<X:MINUTES>` is an integer."""
    base = view.find_field(text, replacement.name)
    if base is None or base.name == replacement.name or base.type == "integer":
        return
    if field_rules.is_quoted_form(replacement.name) or field_rules.is_program_form(replacement.name):
        return
    message = f"<{replacement.name}> is computed from field {base.name}, which is not an integer"
    hint = f'give the field at {base.location} ext:type="integer"'
    yield make_problem("OSP314", message, text.body.locate_replacement(replacement), hint)


def _check_unfinished(view: ProfileView, text: TemplateText) -> Iterator[Problem]:
    """Report `<NAME` of a known field that does not end like a replacement."""
    starts = {replacement.start for replacement in text.body.replacements}
    source = text.body.source
    for match in _REPLACEMENT_START.finditer(source.text):
        if match.start() in starts or not is_known_name(view, text, match[1]):
            continue
        message = f"<{match[1]} begins like a replacement of field {match[1]} but does not end"
        hint = "write <NAME> or <NAME/FROM/TO> on one line; put a blank after a literal <"
        yield make_problem("OSP303", message, source.get_location(match.start()), hint)


def _check_static_script(view: ProfileView, template: Template, script: StaticScript) -> Iterator[Problem]:
    """Report replacements in a static script's body, which is written unchanged."""
    fields = {*view.profile.global_fields, *template.fields}
    for replacement in bodies.parse_body(script.body).replacements:
        if replacement.name not in fields and not field_rules.is_special_field(replacement.name):
            continue
        message = f"<{replacement.name}> in the body of static script {script.file_name} is not replaced"
        hint = "pass the value in the attribute arguments; the script gets it as $1, ..."
        yield make_problem("OSP503", message, script.body.get_location(replacement.start), hint)


def find_unused_fields(view: ProfileView) -> Iterator[Problem]:
    """Report unused fields that the document itself declares, not inherited ones."""
    used_fields = {
        used
        for text, replacement in view.list_replacements()
        for used in _list_used_fields(view, text, replacement)
    }
    inherited_names = _list_inherited_names(view)
    for template in view.own_document.templates.values():
        engine_reads = {*ENGINE_FIELDS.get(template.name, ()), TIME_LIMIT_FIELD}
        related_names = [t.name for t in view.list_related_templates(template)]
        for field in template.fields.values():
            is_used = field.name in engine_reads or any((n, field.name) in used_fields for n in related_names)
            if not is_used and _NAME_PATTERN.fullmatch(field.name):
                where = f"no variation of template {template.name}"
                yield _make_unused_problem(field, where, inherited_names)
    used_names = {name for _, name in used_fields} | JOB_FIELDS
    used_names |= {TIME_LIMIT_FIELD, *(name for names in ENGINE_FIELDS.values() for name in names)}
    used_names |= {field.pattern_field for _, field in list_declared_fields(view) if field.pattern_field}
    for field in view.own_document.global_fields.values():
        if field.name not in used_names:
            prefix = view.find_directive_prefix() if JOB_DIRECTIVES in view.profile.templates else ""
            remedy = f', or give it ext:directive="{prefix} --option=$1"' if prefix else ""
            where = "no template of the resolved profile"
            problem = _make_unused_problem(field, where, inherited_names, remedy)
            is_sites_own = inherited_names and field.name not in inherited_names.values() and field.settable
            yield problem._replace(severity="error") if is_sites_own else problem


def _list_used_fields(
    view: ProfileView, text: TemplateText, replacement: Replacement
) -> Iterator[tuple[str, str]]:
    """Yield the template and the name of the field that a replacement uses, and of those that it depends on."""
    field = view.find_field(text, replacement.name)
    name = field.name if field is not None else replacement.name
    return ((text.template.name, n) for n in (name, *view.profile.list_linked_names(text.template, name)))


def _list_inherited_names(view: ProfileView) -> dict[str, str]:
    """Return the names of all fields that the parents declare, by their case-folded forms."""
    fields = (d.global_fields.values() for d in view.profile.documents[1:])
    own_fields = (t.fields.values() for d in view.profile.documents[1:] for t in d.templates.values())
    return {field.name.casefold(): field.name for group in (*fields, *own_fields) for field in group}


def _make_unused_problem(
    field: Field, where: str, inherited_names: Mapping[str, str], remedy: str = ""
) -> Problem:
    message = f"{where} uses field {field.name}"
    hint = f"write <{field.name}> where its value is needed{remedy}, or remove the field"
    similar = get_close_matches(field.name.casefold(), inherited_names, n=1, cutoff=_SIMILAR)
    problem = make_problem("OSP302", message, field.element.locate_attribute("name"), hint)
    if not similar:
        return problem
    problem = problem._replace(hint=f"did you mean {inherited_names[similar[0]]}? Else {hint}")
    limit = next((name for name in ("Min", "Max") if field.find_child(name) is not None), "")
    limit = limit or ("pattern" if field.pattern_text is not None else "")
    if limit:  # the site believes that its limit holds
        return problem._replace(message=f"{message}, so its {limit} limits nothing", severity="error")
    return problem
