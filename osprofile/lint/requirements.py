"""Rules for what a resolved profile must contain (OS Profile 0.3, 2.5).

See docs/language-jobs.md, "Required templates".
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from osprofile.incarnation import body as bodies
from osprofile.incarnation.plan import BIN_FIELDS, BIN_TEMPLATE, DEFAULT_APPLICATION
from osprofile.jobs.shell.output import STATUS_END_FIELD, STATUS_TEMPLATE
from osprofile.lint.rules import make_problem
from osprofile.profile.model import JOB_DIRECTIVES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from osprofile.errors import Problem
    from osprofile.lint.profile_view import ProfileView
    from osprofile.profile.model import Application, Invocation, StaticScript, Storage, Template

REQUIRED_TEMPLATES: Final[dict[str, tuple[str, ...]]] = {
    "START": ("",),
    "JOB_PROLOGUE": ("",),
    "JOB_EPILOGUE": ("",),
    "GET_JOB_STATUS": ("",),
    "HOLD": ("",),
    "RESUME": ("",),
    "ABORT": ("",),
    "DELETE": ("",),
    "LIST": ("FILE", "DIR"),
    BIN_TEMPLATE: ("", "STATIC_SCRIPT", "RUN_STATIC_SCRIPT"),
    "SHELL": ("", "SSH"),
}
"""The templates and variations that a resolved profile must have; `""` is the default variation."""

OPTIONAL_TEMPLATES: Final[dict[str, tuple[str, ...]]] = {JOB_DIRECTIVES: ("",)}
"""The variations that a template must have if the profile has it."""

RECOMMENDED_VARIATIONS: Final = {"GET_JOB_STATUS": ("ALL",)}
"""Variations without which the engine works, but slower."""


def check_requirements(view: ProfileView) -> Iterator[Problem]:
    """Report what the resolved profile lacks."""
    yield from _check_templates(view)
    yield from _check_variations(view)
    yield from _check_applications(view)
    yield from _check_commands(view)


def _check_commands(view: ProfileView) -> Iterator[Problem]:
    """Check the templates whose text is a command that is run without a shell."""
    for name in ("SHELL", "EVENTS"):
        template = view.profile.templates.get(name)
        for invocation in template.invocations.values() if template else ():
            if invocation.body is None:
                continue
            segments = bodies.parse_body(invocation.body).segments
            text = "".join(s if isinstance(s, str) else "x" for s in segments)
            try:
                reason = "" if shlex.split(text) else "it is empty"
            except ValueError as error:
                reason = str(error).lower()
            if reason:
                message = f"the text of {name} cannot be split into words: {reason}"
                yield make_problem("OSP506", message, invocation.location, "as in: sh -s")


def _check_templates(view: ProfileView) -> Iterator[Problem]:
    missing = [name for name in REQUIRED_TEMPLATES if name not in view.profile.templates]
    if not missing:
        return
    message = f"the resolved profile has no template {', '.join(missing)}"
    hint = "write them, or inherit them: extends=... in the root element"
    if view.own_document.extends:
        hint = f"write them; no profile that {view.own_document.name} extends has them"
    removed = [t for d in view.profile.documents for n, t in d.templates.items() if n in missing]
    if removed:
        hint = f"the inherited {removed[0].name} is removed at {removed[0].location}; write what replaces it"
    yield make_problem("OSP204", message, view.own_document.location, hint)


def _check_variations(view: ProfileView) -> Iterator[Problem]:
    required = REQUIRED_TEMPLATES | OPTIONAL_TEMPLATES
    for name, template in view.profile.templates.items():
        missing = [v for v in required.get(name, ()) if v not in template.invocations]
        if missing:
            hint = _describe_variations(template)
            message = _format_missing(template, missing)
            yield make_problem("OSP205", message, template.location, hint)
        absent = [v for v in RECOMMENDED_VARIATIONS.get(name, ()) if v not in template.invocations]
        if absent:
            hint = "with it, one call of the batch system returns the states of all jobs"
            yield make_problem("OSP206", _format_missing(template, absent), template.location, hint)
        elif name == STATUS_TEMPLATE and not view.profile.get_value(name, STATUS_END_FIELD):
            message = (
                f"{name} ALL does not print a last line, so an answer that is cut is a list without some jobs"
            )
            hint = (
                'print one if all went well: <idb:Field name="STATUS_END" isSettable="false"><idb:Value>#end<'
            )
            yield make_problem("OSP216", message, template.get_invocation("ALL").location, hint)


def _format_missing(template: Template, variations: list[str]) -> str:
    names = ", ".join(v or "the default one (without a name)" for v in variations)
    return f"template {template.name} lacks variation {names}"


def _describe_variations(template: Template) -> str:
    names = ", ".join(name or "the default one" for name in template.invocations)
    return f"a template replaces all of the inherited one; it has {names or 'none'}"


def _check_applications(view: ProfileView) -> Iterator[Problem]:
    applications = view.profile.applications.values()
    if all(a.application_name != DEFAULT_APPLICATION for a in applications):
        message = f"the resolved profile has no application {DEFAULT_APPLICATION}"
        hint = "START runs it if a request names no application"
        yield make_problem("OSP207", message, view.own_document.location, hint)
    entities: list[Application | Storage] = [*applications, *view.profile.storages.values()]
    for entity in entities:
        template = view.profile.templates.get(entity.template)
        if template is None or "" in template.invocations:
            continue
        kind = type(entity).__name__.lower()
        message = f"{kind} {entity.name} uses the default variation of template {template.name}, "
        message += "which has none"
        location = entity.element.locate_attribute("template")
        yield make_problem("OSP208", message, location, f"the template is at {template.location}")


# Static scripts


def check_static_scripts(view: ProfileView) -> Iterator[Problem]:
    """Check static scripts, and BIN, which says where they are and how they run (OS Profile 0.3, 2.2)."""
    scripts = [*view.profile.list_static_scripts()]
    bin_template = view.profile.templates.get(BIN_TEMPLATE)
    if bin_template is None:
        for template, script in scripts:
            message = f"template {template.name} has a static script, but the profile has no BIN"
            hint = "BIN says where static scripts are and how they run"
            yield make_problem("OSP501", message, script.location, hint)
    else:
        yield from _check_bin(bin_template)
    yield from _check_file_names([script for _, script in scripts])


def _check_bin(template: Template) -> Iterator[Problem]:
    for name in REQUIRED_TEMPLATES[BIN_TEMPLATE]:
        invocation = template.invocations.get(name)
        if invocation is None:
            continue
        if invocation.static_script is not None:
            message = f"variation {name!r} of BIN is itself a static script"
            hint = "BIN says where static scripts are and how they run: give it a Body"
            yield make_problem("OSP502", message, invocation.static_script.location, hint)
        else:
            yield from _check_bin_fields(invocation)


def _check_bin_fields(invocation: Invocation) -> Iterator[Problem]:
    if invocation.body is None:
        return
    used_names = {replacement.name for replacement in bodies.parse_body(invocation.body).replacements}
    for name in sorted(BIN_FIELDS.get(invocation.name, frozenset()) - used_names):
        message = f"variation {invocation.name} of BIN does not use <{name}>"
        hint = "the engine supplies the script's file or arguments there (OS Profile 0.3, 2.2)"
        yield make_problem("OSP505", message, invocation.location, hint)


def _check_file_names(scripts: list[StaticScript]) -> Iterator[Problem]:
    first_scripts = dict[str, "StaticScript"]()
    for script in scripts:
        first_script = first_scripts.setdefault(script.file_name, script)
        if first_script.body.text != script.body.text:
            message = f"two static scripts are written to the same file {script.file_name}"
            hint = f"the other one is at {first_script.location}; give one of them another fileName"
            location = script.element.locate_attribute("fileName")
            yield make_problem("OSP504", message, location, hint)
