"""Turn request, context and template into text: `incarnate`.

The first of these sources that has a value for a field wins: the template's fixed Value, the
request, the context, the template's Default. Then tags are applied, then checks are made
(OS Profile 0.3, 2.3; docs/language.md, Where a value comes from). Nothing here reads a clock, a
file or the environment: the same input gives the same text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, final

from osprofile.errors import MissingValueError, NotSettableError, UnknownFieldError, ValueRefusedError
from osprofile.incarnation import field_rules as rules
from osprofile.incarnation.cases import ActiveCases
from osprofile.incarnation.evaluate import (
    USER_HOME,
    USPACE_ROOT,
    UnusualError,
    evaluate,
    fill_text,
    join_simple_values,
)
from osprofile.incarnation.lengths import check_length
from osprofile.incarnation.plan import DEFAULT_APPLICATION, get_plan, plan_static_scripts, specialise_plan
from osprofile.incarnation.static_scripts import StaticScriptFile, hide_folder
from osprofile.late import NamedTuple
from osprofile.profile.model import REQUIRES_ATTRIBUTE
from osprofile.text import quote_name, suggest_names

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence
    from typing import NoReturn

    from osprofile.incarnation.compiled_text import CompiledText, FieldUse
    from osprofile.incarnation.evaluate import Text, Values
    from osprofile.incarnation.plan import Plan
    from osprofile.profile.model import Field, Profile
    from osprofile.source import Location

ValueOrigin = Literal["fixed", "request", "context", "default"]
_EMPTY_MAPPING: Mapping[str, str] = {}


@final
class FieldValue(NamedTuple):
    """The value of a field in the text, and its origin."""

    name: str
    """The name of the field."""
    value: str
    """The value in the text."""
    raw_value: str
    """The value before a tag was applied."""
    origin: ValueOrigin
    """Where the value comes from."""
    location: Location | None
    """Where the profile declares the field; None if it does not."""


@final
class Incarnation:
    """A template turned into text.

    `text` is the script; `static_scripts` must be deployed for it to run; `warnings` are sentences
    for the caller's log; `fields` has the origin of each value. Treat it as immutable.
    """

    __slots__ = ("_inputs", "text", "warnings")

    def __init__(
        self,
        text: Text,
        plan: Plan,
        values: Values,
        request: Mapping[str, str],
        context: Mapping[str, str],
        *,
        cases: ActiveCases | None,
    ) -> None:
        """Fill `text`, that of one of the plan's two; raise `KeyError` with the name of a missing value."""
        self.text = fill_text(text, values)
        """The script."""
        self.warnings: tuple[str, ...] = ()
        """Sentences for the caller's log; empty unless `strict=False`, or a field has a fixed value."""
        self._inputs = (plan, values, request, context, text, cases)

    def __repr__(self) -> str:
        return f"<Incarnation of {self.template}, {len(self.text)} characters>"

    def __str__(self) -> str:
        return self.text

    @property
    def template(self) -> str:
        """The template's name."""
        return self._inputs[0].template.name

    @property
    def static_scripts(self) -> tuple[StaticScriptFile, ...]:
        """The files that must be deployed for the script to run: all of the profile, as one may read another."""
        return _render_static_scripts(self._inputs[0], self._inputs[1])

    @property
    def used_scripts(self) -> tuple[StaticScriptFile, ...]:
        """Those of `static_scripts` that the text itself names."""
        plan, values, *_ = self._inputs
        return _render_static_scripts(plan, values, plan.used_scripts) if plan.used_scripts else ()

    @property
    def comparable_text(self) -> str:
        """The text without the digest of all static scripts, which differs with scripts that this one does not run."""
        return hide_folder(self.text, self._inputs[0].script_folder)

    @property
    def variation(self) -> str:
        """The variation's name, empty for the default one."""
        return self._inputs[0].variation

    @property
    def fields(self) -> Mapping[str, FieldValue]:
        """Every field that the text uses, by name."""
        return {name: self._describe_field(name) for name in self._inputs[0].uses}

    def get_value(self, name: str) -> str:
        """Return the value of a field that the text uses; the empty text for any other."""
        plan, values, *_ = self._inputs
        return values[name] if name in plan.uses else ""

    @property
    def job_script(self) -> str | None:
        """The text of JOB_SCRIPT where the template uses it (START), else None."""
        plan, values, *_ = self._inputs
        return values[rules.JOB_SCRIPT] if plan.application else None

    @property
    def trace_inputs(self) -> tuple[Plan, CompiledText, Values]:
        """The plan, the one of its two texts that was filled, and the values, for `trace`."""
        plan, values, request, context, text, _cases = self._inputs
        unquoted = plan.unquoted_text
        if plan.specialised:  # that computes only what the text needs
            values, _ = evaluate(plan, request, context, None)
        return plan, unquoted if unquoted is not None and unquoted.text is text else plan.text, values

    @property
    def cases(self) -> Sequence[Field]:
        """The declarations that applied for a value of another field (`ext:for`)."""
        cases = self._inputs[-1]
        return cases.cases if cases is not None else ()

    @property
    def choices(self) -> Mapping[str, str]:
        """What was taken for the value `auto`, by field."""
        cases = self._inputs[-1]
        return cases.choices if cases is not None else _EMPTY_MAPPING

    def list_sources(self, name: str) -> Iterator[tuple[ValueOrigin, str, Field | None]]:
        """Yield all sources that have a value for a field, in order of precedence: the first wins.

        Each with the declaration of the field, or the case of it, that applies there.
        """
        plan, _values, request, context, _text, cases = self._inputs
        declaration, case = (
            plan.declarations.get(name),
            cases.defaults.get(name) if cases is not None else None,
        )
        if name in plan.fixed:
            yield "fixed", plan.fixed[name], declaration
        if name in request:
            yield "request", request[name], declaration
        if name in context:
            yield "context", context[name], declaration
        if case is not None:
            yield "default", case.default or "", case
        if name in plan.defaults:
            yield "default", plan.defaults[name], declaration

    def _describe_field(self, name: str) -> FieldValue:
        origin, raw_value, declaration = next(self.list_sources(name))
        location = declaration and declaration.location
        return FieldValue(name, self._inputs[1][name], raw_value, origin, location)


def incarnate(
    profile: Profile,
    template: str,
    *,
    fields: Mapping[str, str] | None = None,
    variation: str = "",
    application: str | None = None,
    context: Mapping[str, str] | None = None,
    strict: bool = True,
) -> Incarnation:
    """Return the script of a template of a resolved profile (OS Profile 0.3, 2).

    `fields` is the request: values by field name, not trusted. `context` holds the special fields
    (USER_NAME, WORKING_DIRECTORY, `TargetSystemInfo:XXX`, `SSH:HOST`, `SSH:PORT`) and those of the
    user's profile. `application` is `NAME` or `NAME/VERSION`, for templates that use JOB_SCRIPT.
    A field in the request that no template uses is an error; with `strict=False`, it is one of
    `Incarnation.warnings`, and ignored.

    Raises `NotFoundError` (template, variation, application), `InvalidProfileError` (an error in a
    body), `IncarnationError` (the request), `JavaRegexTimeoutError`.
    """
    plan = get_plan(profile, template, variation, application)
    request = dict(fields) if fields else _EMPTY_MAPPING
    context = dict(context) if context else _EMPTY_MAPPING
    if plan.limited_fields and ("" in request.values() or "" in context.values()):
        request, context = (_drop_empty_values(plan, values) for values in (request, context))
    warnings: tuple[str, ...] = ()
    if not plan.settable.issuperset(request):
        warnings = _check_request_names(plan, request, strict=strict)
        request = {name: value for name, value in request.items() if name in plan.settable}
    joined = join_simple_values(request, context)
    if joined is None:
        _validate_values(plan, request, context)
    cases = ActiveCases(plan, {*context, *request, *plan.fixed}) if plan.cases else None
    try:
        is_special = plan.unquoted_text is None and cases is None  # a small one is as fast as it is
        selected = specialise_plan(plan, request, context) if is_special else plan
        values, text = evaluate(selected, request, context, joined, cases)
        incarnation = Incarnation(text, plan, values, request, context, cases=cases)
    except UnusualError as error:
        _explain(plan, profile, error, context)
    except KeyError as error:
        if error.args[0] == "WORKING_DIRECTORY":  # is it the home that cannot be used?
            rules.expand_home(profile.uspace_root, context.get(USER_HOME, ""))
        _raise_missing_value(plan, error.args[0], context)
    if warnings:
        incarnation.warnings = warnings
    return incarnation


def _drop_empty_values(plan: Plan, values: Mapping[str, str]) -> Mapping[str, str]:
    """Leave out the empty values of fields with limits: no limit allows them, so the Default is used."""
    return {name: value for name, value in values.items() if value != "" or name not in plan.limited_fields}


def storage_path(profile: Profile, name: str, context: Mapping[str, str] | None = None) -> str:
    """Return the path of a storage's directory (OS Profile 0.3, 3): its template, incarnated.

    The last line end of the template's text is not part of the path. Raises
    `StorageNotFoundError` and what `incarnate` raises.
    """
    text = incarnate(profile, profile.get_storage(name).template, context=context).text
    return text.removesuffix("\n")


def static_scripts(
    profile: Profile, context: Mapping[str, str] | None = None
) -> tuple[StaticScriptFile, ...]:
    """Return all static scripts of a profile, for `deployment_script` (OS Profile 0.3, 2.2).

    Raises what `incarnate` raises.
    """
    plan, context = plan_static_scripts(profile), dict(context) if context else _EMPTY_MAPPING
    joined = join_simple_values(_EMPTY_MAPPING, context)
    if joined is None:
        _validate_values(plan, context)
    try:
        return _render_static_scripts(plan, evaluate(plan, _EMPTY_MAPPING, context, joined)[0])
    except KeyError as error:
        _raise_missing_value(plan, error.args[0], context)


def _validate_values(plan: Plan, *sources: Mapping[str, str]) -> None:
    names = {*plan.uses, *([USER_HOME] if USPACE_ROOT in plan.fixed else [])}
    for name, value in (item for values in sources for item in values.items() if item[0] in names):
        rules.validate_text(name, value)
        check_length(name, value, plan.declarations.get(name))


def _check_request_names(plan: Plan, request: Mapping[str, str], *, strict: bool) -> tuple[str, ...]:
    """Raise an error for a field that a request may not set; return warnings about fields without effect."""
    warnings = []
    for name in request:
        declaration = plan.find_declaration(name)
        if rules.is_special_field(name) or plan.is_engine_field(name):
            _refuse_special_field(name)
        if declaration is not None and not declaration.settable:
            message = f"field {name} of template {plan.template.name} is not settable"
            hint = "the profile alone decides it; leave it out of the request"
            raise NotSettableError(message, field=name, location=declaration.location, hint=hint)
        if name in plan.uses and name not in plan.declarations:
            use = plan.uses[name]
            message = (
                f"field {name} is not declared in template {use.template.name}: only the context can give it"
            )
            hint = f'declare it there to let requests set it: <Field name="{name}">'
            raise NotSettableError(message, field=name, location=use.location, hint=hint)
        if name in plan.fixed:
            location = plan.declarations[name].locate_child("Value")
            warnings.append(f"{location}: field {name} has a fixed Value, which overrides the request")
        elif name not in plan.settable:
            message = _describe_unused_field(plan, name, declaration is not None)
            if strict:
                hint = suggest_names(name, plan.settable) or "it has no settable field"
                if declaration is not None:
                    hint = "this profile does nothing with it: leave it out, or use a profile whose batch system has it"
                declared_at = declaration and declaration.location
                raise UnknownFieldError(message, field=name, location=declared_at, hint=hint)
            warnings.append(message)
    return tuple(warnings)


def _refuse_special_field(name: str) -> NoReturn:
    message = f"field {quote_name(name)} is supplied by the engine or the context, not by a request"
    hint = f"leave it out, or give it as context ({quote_name(name)}=...)"
    if name in rules.ENGINE_FIELDS:
        hint = "it consists of JOB_DIRECTIVES, JOB_PROLOGUE, the application's template and JOB_EPILOGUE"
    raise NotSettableError(message, field=name, hint=hint)


def _explain(plan: Plan, profile: Profile, error: UnusualError, context: Mapping[str, str]) -> NoReturn:
    """Raise the error that says why a request cannot be evaluated."""
    if error.args[0] == USPACE_ROOT:
        rules.expand_home(profile.uspace_root, context.get(USER_HOME, ""))
    _refuse_alone(plan, *error.args)


def _refuse_alone(plan: Plan, name: str, other: str) -> NoReturn:
    location = (
        plan.declarations[name].find_declaration("requires").element.locate_attribute(REQUIRES_ATTRIBUTE)
    )
    hint = f"give {other} a value, too, or leave {name} out"
    raise ValueRefusedError(f"field {name} needs field {other}", field=name, location=location, hint=hint)


def _describe_unused_field(plan: Plan, name: str, is_declared: bool) -> str:
    user = f"template {plan.template.name}"
    if plan.variation:
        user += f", variation {plan.variation},"
    user += f" of profile {plan.profile_name}"
    application = plan.application.application_name if plan.application is not None else ""
    if application and not (is_declared and application == DEFAULT_APPLICATION):  # another may have the field
        user += f", with application {application}"
    return f"field {quote_name(name)} is not used by {user}"


def _raise_missing_value(plan: Plan, name: str, context: Mapping[str, str]) -> NoReturn:
    use: FieldUse = plan.uses[name] if name in plan.uses else next(iter(plan.uses.values()))
    declaration = plan.declarations.get(name)
    variation = f", variation {use.invocation.name}" if use.invocation.name else ""
    message = f"field {name} has no value: template {use.template.name}{variation} uses it"
    description = None
    if declaration is not None and declaration.settable and not rules.is_special_field(name):
        hint = f"it has no Default: set {name} to something that is not empty"
        if description := declaration.description:
            hint += f" ({description})"
    elif name in context:
        hint = "the context gives it as the empty string, which means: not given"
    elif declaration is not None or rules.is_special_field(name):
        hint = f"the context must supply it: {name}=..."
    else:
        known_names = {*plan.global_fields, *use.template.fields, *rules.SPECIAL_FIELDS, *context}
        message = f"<{name}> is not declared in template {use.template.name}{variation}, nor a global field"
        hint = f"{suggest_names(name, known_names)}; a shell's input redirection is written with a blank: < {name}"
    error = MissingValueError(message, field=name, location=use.location, hint=hint)
    error.description = description
    raise error


def _render_static_scripts(
    plan: Plan, values: Values, names: Container[str] | None = None
) -> tuple[StaticScriptFile, ...]:
    return tuple(
        StaticScriptFile(
            path.fill_line(values), script.body.text, directory.fill_line(values), plan.script_folder
        )
        for script, path, directory in plan.static_scripts
        if names is None or script.file_name in names
    )
