"""Compile templates to plans: the lookups, checks and joins of an incarnation.

A plan is compiled once for a profile, template, variation and application. Its text has a slot for
each use of a field; each distinct use (`<X>`, `<X/FROM/TO>`, `<X:HMS>`) has one key. What the engine
itself supplies (JOB_SCRIPT, a static script's TARGET and ARGUMENTS) is nested text.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, final
from weakref import WeakKeyDictionary, finalize

from osprofile import javaregex
from osprofile.errors import InvalidProfileError, JavaRegexTimeoutError, Problem
from osprofile.incarnation import body as bodies
from osprofile.incarnation import evaluate
from osprofile.incarnation import field_rules as rules
from osprofile.incarnation.compiled_text import CompiledText, FieldUse, TextSlot
from osprofile.incarnation.evaluate import USPACE_ROOT
from osprofile.incarnation.static_scripts import compute_folder_name
from osprofile.late import NamedTuple
from osprofile.profile.model import JOB_DIRECTIVES, USER_FIELDS, USER_GROUPS, Template, get_selection
from osprofile.text import suggest_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from osprofile.incarnation.body import Replacement, TemplateBody
    from osprofile.incarnation.evaluate import Step, Values
    from osprofile.profile.model import Application, Field, Invocation, Profile, StaticScript
    from osprofile.source import SourceText

BIN_TEMPLATE = "BIN"
PROGRAM_VARIATION = "PROGRAM"
"""A static script that the template's other variations run, by `<BIN:FILE_NAME>`: nobody runs it by itself."""
BIN_FIELDS = {
    "STATIC_SCRIPT": frozenset({"FILE_NAME"}),
    "RUN_STATIC_SCRIPT": frozenset({"TARGET", "ARGUMENTS"}),
}
"""The fields that only the engine supplies, by variation of BIN (OS Profile 0.3, 2.2)."""

JOB_SCRIPT_PARTS = (JOB_DIRECTIVES, "JOB_PROLOGUE", "", "JOB_EPILOGUE")
"""The templates that JOB_SCRIPT consists of; the empty name stands for the application's. A profile may
lack JOB_DIRECTIVES: then JOB_PROLOGUE has the directives."""

DEFAULT_APPLICATION = "Executable"

_TEMPLATES_WITHOUT_EMPTY_LINES = frozenset({"START", *filter(None, JOB_SCRIPT_PARTS)})

NamedRules = tuple[tuple[str, dict[str, str], rules.FieldRule], ...]


@final
class Plan(NamedTuple):
    """A compiled template, which `incarnate` executes.

    - `profile_name`: of the profile; a plan must not refer to the profile itself
    - `templates`: all whose bodies are compiled, such as those that JOB_SCRIPT consists of
    - `text`: what is filled; `unquoted_text`: the same without `steps`, which is filled if no value
      contains `quoted_character`, the one text that all of them replace
    - `uses`: the first use of each field
    - `declarations`: of those fields that have one; `global_fields`: those of the profile
    - `defaults`, `fixed`: the values of Default and Value; a fixed one has no default
    - `settable`: the fields that a request may set; `required`: those without Value and Default
    - `checked_fields`, `tagged_fields`: fields with rules, without and with tags
    - `limited_fields`: those with Min or Max, for which the empty value is not given (OS Profile 0.3, 2.3)
    - `cases`: the declarations that apply only for a value of another field (`ext:for`)
    - `conditions`, `requirements`: the fields with `ext:when` and `ext:requires`, each with the one that it names
    - `steps`: compute further values, as `evaluate` says; `joined_texts`: those that steps join
    - `static_scripts`: all of the profile if the text runs one, each with the texts of its path and its directory
    - `script_folder`: the name of their folder; `used_scripts`: the names of those that the text runs
    - `specialised`: the same plan for some sets of given fields (see `specialise_plan`)
    """

    template: Template
    variation: str
    application: Application | None
    profile_name: str
    templates: tuple[Template, ...]
    text: CompiledText
    unquoted_text: CompiledText | None
    quoted_character: str
    uses: Mapping[str, FieldUse]
    declarations: Mapping[str, Field]
    global_fields: Mapping[str, Field]
    defaults: Values
    fixed: Values
    settable: frozenset[str]
    required: tuple[str, ...]
    checked_fields: NamedRules
    tagged_fields: NamedRules
    limited_fields: frozenset[str]
    cases: tuple[Field, ...]
    conditions: tuple[tuple[str, str], ...]
    requirements: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...]
    joined_texts: Mapping[str, tuple[CompiledText, ...]]
    static_scripts: tuple[tuple[StaticScript, CompiledText, CompiledText], ...]
    script_folder: str
    used_scripts: frozenset[str]
    specialised: dict[tuple[str, ...], Plan]

    def find_declaration(self, name: str) -> Field | None:
        """Return the declaration of a field in any of the plan's templates, used or not."""
        declared = [t.fields[name] for t in self.templates if name in t.fields]
        strictest = min(declared, key=lambda f: f.settable, default=self.global_fields.get(name))
        return self.declarations.get(name) or strictest

    def is_engine_field(self, name: str) -> bool:
        """Return whether only the engine supplies a field, as it does in BIN (OS Profile 0.3, 2.2)."""
        return _is_engine_field(self.template, name)


def get_plan(profile: Profile, template: str, variation: str, application: str | None) -> Plan:
    """Return the plan; it is compiled at its first use and kept as long as the profile.

    `application` is `NAME` or `NAME/VERSION`, None for the default one. Raises `NotFoundError` for
    a name that the profile lacks, `InvalidProfileError` for an error in the bodies.
    """
    plans = _PLANS.get(id(profile))
    if plans is None:
        plans = _PLANS[id(profile)] = {}
        finalize(profile, _PLANS.pop, id(profile)).atexit = False
    key = (template, variation, application)
    plan = plans.get(key)
    if plan is None:
        if application:
            # A wrong name is an error even if the template does not use JOB_SCRIPT.
            find_application(profile, application)
        plan = _PlanCompiler(profile, application).compile_plan(profile.get_template(template), variation)
        plans[key] = plan
    return plan


def specialise_plan(plan: Plan, request: Mapping[str, str], context: Mapping[str, str]) -> Plan:
    """Return the plan for requests that give the same fields: what depends on no other field is computed already.

    Of the fields and lines of START most are empty. A plan is specialised when these fields are given for the second time.
    It must have no cases. Raises what `evaluate` raises.
    """
    given = (*context, "", *request)
    specialised = plan.specialised.get(given)
    if specialised is None:
        if len(plan.specialised) >= _MAX_SPECIALISED:
            plan.specialised.clear()
        specialised = plan.specialised[given] = plan
    elif specialised is plan:
        values, _ = evaluate.evaluate(plan, request, context, None)
        specialised = plan.specialised[given] = _fold_plan(plan, {*context, *request}, values)
    else:
        import hashlib  # noqa: F401  # there will be more: `compute_digest` is faster with it
    return specialised


def _fold_plan(plan: Plan, given: set[str], values: Values) -> Plan:
    """Return the plan without what does not depend on the given fields; `values` are those of any request that gives them."""
    varying = {USPACE_ROOT, *given} - (plan.fixed.keys() - {USPACE_ROOT})
    for name, condition in plan.conditions:
        if condition in varying:
            varying.add(name)
    folded = dict[str, "Step"]()
    for step in plan.steps:
        if not varying.isdisjoint(evaluate.list_inputs(step)):
            folded[step[1]] = _fold_step(step, folded, values, varying)
            varying.add(step[1])
    known = {name: value for name, value in values.items() if name not in varying}
    known |= {name: value for name, value in {**plan.defaults, **plan.fixed}.items() if name in varying}
    literals, _, keys = evaluate.fold_text(plan.text.text, values, varying)
    return plan._replace(
        text=CompiledText(literals, keys),
        defaults=known,
        fixed={name: known[name] for name in {USPACE_ROOT, *given} & plan.fixed.keys()},
        required=tuple(name for name in plan.required if name in varying),
        checked_fields=tuple(rule for rule in plan.checked_fields if rule[0] in varying),
        tagged_fields=tuple(rule for rule in plan.tagged_fields if rule[0] in varying),
        conditions=tuple(pair for pair in plan.conditions if pair[0] in varying),
        steps=_select_needed_steps(plan, folded, keys),
    )


def _fold_step(step: Step, folded: Mapping[str, Step], values: Values, varying: set[str]) -> Step:
    """Return a step that reads varying values, with what is known of the others."""
    kind, key, first, second = step
    if kind == evaluate.JOIN:
        return kind, key, tuple(evaluate.fold_text(text, values, varying) for text in first), second
    if kind == evaluate.LINE and not any(values[other] for other in second if other not in varying):
        others = tuple(other for other in second if other in varying)
        last = folded.get(first)
        if not others and last is not None and last[0] == evaluate.INSERT:
            _, _, field, texts = last
            return evaluate.INSERT, key, field, (*texts[:-1], texts[-1] + evaluate.LINE_END)
        return kind, key, first, others
    return step


def _select_needed_steps(plan: Plan, folded: Mapping[str, Step], keys: Iterable[str]) -> tuple[Step, ...]:
    """Return the steps that the text with these keys needs, or what an incarnation says beside the text."""
    needed = {*keys, rules.JOB_SCRIPT}
    for _, path, directory in plan.static_scripts:
        needed.update(path.text[2], directory.text[2])
    for key, step in reversed([*folded.items()]):
        if key in needed:
            needed.update(evaluate.list_inputs(step))
    return tuple(step for key, step in folded.items() if key in needed)


_MAX_SPECIALISED = 64
_PLANS: dict[int, dict[tuple[str, str, str | None], Plan]] = {}
"""The plans of each profile, by its `id`, until the profile is deleted: a `WeakKeyDictionary` takes 0.3 us per
look-up, a twentieth of an incarnation. A plan must not refer to its profile: neither would ever be deleted."""

_STATIC_SCRIPTS: WeakKeyDictionary[Profile, tuple[Mapping[str, StaticScript], str]] = WeakKeyDictionary()
"""What `_list_static_scripts` returned: to put them together takes longer than to compile a short template."""


def plan_static_scripts(profile: Profile) -> Plan:
    """Return the plan of all static scripts of a profile. Raises `InvalidProfileError`."""
    return _PlanCompiler(profile, None).compile_all_scripts()


def find_application(profile: Profile, requested_name: str) -> Application:
    """Return the application `NAME` or `NAME/VERSION`; a name may itself contain a `/`.

    Raises `ApplicationNotFoundError`.
    """
    names = {a.application_name for a in profile.applications.values()}
    name, slash, version = requested_name.rpartition("/")
    if requested_name in names or not slash or name not in names:
        return profile.get_application(requested_name)
    return profile.get_application(name, version)


def find_directive_template(profile: Profile) -> Template | None:
    """Return the template that says how directives begin: JOB_DIRECTIVES, else JOB_PROLOGUE; None without one."""
    parts = (profile.templates.get(name) for name in JOB_SCRIPT_PARTS if name)
    return next((t for t in parts if t is not None and t.directive_prefix), None)


def merge_declaration(
    declarations: dict[str, tuple[Field, Template]], declaration: Field, template: Template
) -> Problem | None:
    """Add a declaration to those of other templates; return the problem where they disagree.

    Several declarations of one field act as one with the strictest limits and type of all.
    """
    first, first_template = declarations.setdefault(declaration.name, (declaration, template))
    if any(declaration is d for d in (first, *first.declarations)):
        return None
    merged = first.merge_declaration(declaration)
    if merged is None:
        message = (
            f"field {declaration.name} is declared differently in templates {first_template.name} and "
            f"{template.name}, which are used together"
        )
        faulty, other = declaration, first
        if declaration.name not in template.fields:  # a global field: the other template's own is at fault
            faulty, other = other, faulty
        hint = (
            f"the other declaration is at {other.location}; only limits and type may differ, "
            "and the strictest ones apply"
        )
        return Problem("OSP304", message, faulty.element.locate_attribute("name"), hint)
    if merged.comparison_key() != first.comparison_key():
        declarations[declaration.name] = (merged, first_template)
    return None


@final
class _PlanCompiler:
    """Compiles the bodies of one plan; all of them share the plan's values."""

    def __init__(self, profile: Profile, application: str | None) -> None:
        self.profile = profile
        self.application_name = application
        self.application: Application | None = None
        self.templates: dict[str, Template] = {}
        self.uses: dict[str, FieldUse] = {}
        self.linked_names: set[str] = set()
        self.declarations: dict[str, tuple[Field, Template]] = {}
        self.deriving_templates: dict[str, Template] = {}
        self.steps: dict[str, Step] = {}
        self.joined_texts: dict[str, tuple[CompiledText, ...]] = {}
        self.static_scripts: dict[str, tuple[StaticScript, CompiledText, CompiledText]] = {}
        self.script_folder = ""
        self.used_scripts: set[str] = set()

    def compile_plan(self, template: Template, variation: str) -> Plan:
        return self.assemble_plan(
            template,
            variation,
            self.compile_invocation(template, template.get_invocation(variation), top_level=True),
        )

    def assemble_plan(self, template: Template, variation: str, text: CompiledText) -> Plan:
        self.add_linked_fields()
        self.add_unused_declarations()
        for name in self.deriving_templates.keys() & self.declarations.keys():
            first, declaring_template = self.declarations[name]
            message = (
                f"field {name} is declared in {declaring_template.name} and derived in "
                f"{self.deriving_templates[name].name}, which are used together"
            )
            hint = "declare it in both, or as a global field"
            raise InvalidProfileError([Problem("OSP304", message, first.location, hint)])
        declarations = {name: field for name, (field, _template) in self.declarations.items()}
        fixed = {name: f.value for name, f in declarations.items() if f.value is not None}
        profile_fields = {rules.PROFILE_NAME: self.profile.name, USPACE_ROOT: self.profile.uspace_root}
        fixed |= {name: value for name, value in profile_fields.items() if name in self.uses}
        defaults = {
            name: f.default for name, f in declarations.items() if f.default is not None and name not in fixed
        }
        for name in self.linked_names - fixed.keys():
            defaults.setdefault(name, "")
        # Without its seven quotings, a small script of 15 fields takes 4.9 us, not 5.4. Any other step (START has
        # some) may compute the character from values without it.
        steps = tuple(map(self.complete_step, self.steps.values()))
        replaced_texts = {second[0] if kind == evaluate.REPLACE else "" for kind, _, _, second in steps}
        quoted_character = replaced_texts.pop() if len(replaced_texts) == 1 else ""
        unquoted_text = None
        cases = tuple(filter(self.is_used_case, self.profile.cases))
        profile_values = [*_iter_profile_values((*declarations.values(), *cases)), *profile_fields.values()]
        if quoted_character and not any(quoted_character in value for value in profile_values):
            unquoted_text = text.replace_keys({key: name for _, key, name, _ in steps})
        field_rules = [
            (name, rules.FieldRule(f)) for name, f in declarations.items() if rules.FieldRule.is_needed(f)
        ]
        return Plan(
            template=template,
            variation=variation,
            application=self.application,
            profile_name=self.profile.name,
            templates=tuple(self.templates.values()),
            text=text,
            unquoted_text=unquoted_text,
            quoted_character=quoted_character,
            uses=self.uses,
            declarations=declarations,
            global_fields=self.profile.global_fields,
            defaults=defaults,
            fixed=fixed,
            settable=frozenset(
                name
                for name, f in declarations.items()
                if f.settable
                and name not in fixed
                and not rules.is_special_field(name)
                and not _is_engine_field(template, name)
            ),
            required=tuple(n for n in self.uses if n not in fixed and n not in defaults),
            checked_fields=tuple(
                (n, rule.resolved_values, rule) for n, rule in field_rules if not declarations[n].tags
            ),
            tagged_fields=tuple(
                (n, rule.resolved_values, rule) for n, rule in field_rules if declarations[n].tags
            ),
            limited_fields=frozenset(
                field.name
                for field in (*declarations.values(), *cases)
                if rules.has_limit(field) and not any(not tag.name for tag in field.tags)
            ),
            cases=cases,
            conditions=tuple(_sort_conditions(declarations)),
            requirements=tuple((n, f.requires) for n, f in declarations.items() if f.requires is not None),
            steps=steps,
            joined_texts=self.joined_texts,
            static_scripts=tuple(self.static_scripts.values()),
            script_folder=self.script_folder,
            used_scripts=frozenset(self.used_scripts),
            specialised={},
        )

    def is_used_case(self, case: Field) -> bool:
        selector = get_selection(case).field
        is_known = selector in self.uses or selector in USER_FIELDS
        return is_known and (case.name in self.uses or case.name == USER_GROUPS)

    # Bodies

    def compile_invocation(
        self, template: Template, invocation: Invocation, *, top_level: bool = False
    ) -> CompiledText:
        if invocation.static_script is not None:
            return self.compile_static_script(template, invocation, invocation.static_script, top_level)
        if invocation.body is None:  # the schema has Body or StaticScript
            return CompiledText([""], [])
        return self.compile_body(template, invocation, invocation.body, {}, top_level=top_level)

    def compile_body(
        self,
        template: Template,
        invocation: Invocation,
        source: SourceText,
        engine_keys: Mapping[str, str],
        *,
        top_level: bool = False,
    ) -> CompiledText:
        """Compile one body; `engine_keys` maps names that the engine supplies to keys of the values.

        Only at the top level, JOB_SCRIPT is supplied: it cannot contain itself.
        """
        self.templates.setdefault(template.name, template)
        parsed, parts = bodies.parse_body(source), [""]
        keys, slots = list[str](), list[TextSlot]()
        for segment in parsed.segments:
            if isinstance(segment, str):
                parts[-1] += segment
                continue
            key = engine_keys.get(segment.name)
            if key is None and top_level and segment.name in rules.ENGINE_FIELDS:
                key = self.compile_job_script(segment.name)
            use, field = FieldUse(segment.name, template, invocation, parsed, segment), ""
            if key is None and segment.name.startswith(rules.PROGRAM_PREFIX):
                key = self.compile_program_path(use)
            if key is None:
                key, field = self.add_use(use)
            keys.append(self.add_replacement(key, parsed, segment))
            slots.append(TextSlot(field, key, use))
            parts += ["", ""]
        if template.name in _TEMPLATES_WITHOUT_EMPTY_LINES:
            self.omit_empty_lines(parts, keys, [self.is_optional(slot.use) for slot in slots])
        return CompiledText(parts, keys, slots)

    def is_optional(self, use: FieldUse) -> bool:
        """Return whether a replacement stands for a piece of the text that may be left out."""
        declared = self.profile.find_field(use.template, use.name)
        return use.replacement.is_optional or (declared is not None and declared.when is not None)

    def omit_empty_lines(self, parts: list[str], keys: list[str], are_optional: list[bool]) -> None:
        """Omit a line that has only replacements, one of them optional, if all are empty: a directive or a piece.

        The line end becomes a part of the line's last value, which is then computed by a further step.
        """
        line_start: int | None = None
        literals = parts[::2]
        line_keys = tuple(keys)
        for i, (before, after) in enumerate(pairwise(literals)):
            if before.endswith("\n") or (i == 0 and not before):
                line_start = i
            elif before:
                line_start = None
            if line_start is not None and after.startswith("\n") and any(are_optional[line_start : i + 1]):
                keys[i] = self.add_line(line_keys[line_start : i + 1])
                parts[2 * i + 2] = after[1:]

    def add_line(self, keys: tuple[str, ...]) -> str:
        """Add the computation of the last value of a line with its line end, which an empty line lacks."""
        return self.add_step(evaluate.LINE, "".join(keys) + evaluate.LINE_END, keys[-1], keys[:-1])

    def add_step(self, kind: int, key: str, first: object, second: object = None) -> str:
        """Add the step that computes the value of `key`, unless there is one; return the key."""
        self.steps.setdefault(key, (kind, key, first, second))
        return key

    def add_use(self, use: FieldUse) -> tuple[str, str]:
        """Add a use of a field; return the key of its value, and the field's name."""
        template, name = use.template, use.name
        declared = self.profile.find_field(template, name)
        base = rules.get_derived_base(name) if declared is None else None
        field = self.profile.find_field(template, base) if base is not None else None
        if base is None or field is None:
            base = None  # not derived: the context may have a `TargetSystemInfo:HMS`
        else:
            declared = field
            self.deriving_templates.setdefault(name, template)
            self.add_derived_value(name, base, field)
        self.uses.setdefault(base or name, use)
        if declared is not None:
            self.add_declaration(declared, template)
        return name, base or name

    def add_derived_value(self, name: str, base: str, field: Field) -> None:
        """Add the step for a derived field, from its base field."""
        if rules.is_quoted_form(name):
            self.add_step(evaluate.QUOTE, name, base)
        elif rules.is_program_form(name):
            application = self.application.application_name if self.application is not None else ""
            find = partial(rules.find_accepted, field)
            self.add_step(evaluate.PROGRAM, name, (base, rules.EXECUTABLE, application), find)
        else:
            form = name.rpartition(":")[2]
            self.add_step(
                evaluate.TIME, name, (base, form), lambda v: rules.derive_value(field, name, v[base])
            )

    def complete_step(self, step: Step) -> Step:
        """Return a step that knows whether the job script has an EXECUTABLE; its application's name is used if not."""
        kind, key, first, second = step
        if kind != evaluate.PROGRAM or rules.EXECUTABLE in self.uses:
            return step
        base, _, application = first
        return kind, key, (base, "", application), second

    def add_declaration(self, declaration: Field, template: Template) -> None:
        problem = merge_declaration(self.declarations, declaration, template)
        if problem is not None:
            raise InvalidProfileError([problem])

    def add_linked_fields(self) -> None:
        """Add the fields that fields of the text name in ext:when and ext:requires: they decide about the text.

        One that is not in a body itself need not have a value.
        """
        pending = list(self.declarations.values())
        while pending:
            field, template = pending.pop()
            for name in field.linked_names:
                if name in self.uses:
                    continue
                self.uses[name] = self.uses[field.name]
                self.linked_names.add(name)
                owners = (template, *self.templates.values())
                owner = next((t for t in owners if name in t.fields), template)
                declared = self.profile.find_field(owner, name)
                if declared is not None:
                    self.add_declaration(declared, owner)
                    pending.append((declared, owner))

    def add_unused_declarations(self) -> None:
        """Add declarations of fields that only other templates use: an application may narrow limits."""
        for template in self.templates.values():
            for name, field in template.fields.items():
                if name in self.declarations and not _is_engine_field(template, name):
                    self.add_declaration(field, template)

    def add_replacement(self, key: str, body: TemplateBody, replacement: Replacement) -> str:
        """Add the computation of a value with FROM and TO applied, once; return its key."""
        if replacement.pattern is None:
            return key
        new_key = f"<{key}/{replacement.pattern}/{replacement.replacement}>"
        if new_key in self.steps:
            return new_key
        if literal_pair := bodies.get_literal_pair(replacement):
            return self.add_step(evaluate.REPLACE, new_key, key, literal_pair)
        if texts := bodies.get_inserted_texts(body, replacement):
            return self.add_step(evaluate.INSERT, new_key, key, texts)
        replacer = _create_replacer(body, replacement, key)  # first: it says where Java refuses the pattern
        min_length = javaregex.compile(replacement.pattern).min_length
        return self.add_step(evaluate.COMPUTE, new_key, (key, min_length, ()), replacer)

    # What the engine supplies

    def add_joined_texts(self, key: str, *texts: CompiledText) -> str:
        """Add the step that joins texts to the value of `key`, and return the key."""
        self.joined_texts.setdefault(key, texts)
        return self.add_step(evaluate.JOIN, key, tuple(text.text for text in texts))

    def compile_job_script(self, name: str) -> str:
        """Compile directives, prologue, application and epilogue; return the key of their text, or of its end word."""
        if rules.JOB_SCRIPT not in self.steps:
            self.application = find_application(self.profile, self.application_name or DEFAULT_APPLICATION)
            names = [name or self.application.template for name in JOB_SCRIPT_PARTS]
            if JOB_DIRECTIVES not in self.profile.templates:
                names.remove(JOB_DIRECTIVES)
            templates = [self.profile.get_template(name) for name in names]
            self.add_joined_texts(
                rules.JOB_SCRIPT, *(self.compile_invocation(t, t.get_invocation()) for t in templates)
            )
        if name == rules.JOB_SCRIPT_END:
            self.add_step(evaluate.END_WORD, name, rules.JOB_SCRIPT)
        return name

    def compile_static_script(
        self, template: Template, invocation: Invocation, script: StaticScript, top_level: bool
    ) -> CompiledText:
        """Compile BIN's RUN_STATIC_SCRIPT: it runs a static script (OS Profile 0.3, 2.2)."""
        # The location: the same script may be run with different arguments.
        suffix = f" of {script.file_name} at {script.location}"
        target = self.add_joined_texts("TARGET" + suffix, self.compile_script_path(script))
        arguments = self.compile_body(template, invocation, script.arguments, {}, top_level=top_level)
        argument_key = self.add_joined_texts("ARGUMENTS" + suffix, arguments)
        return self.compile_bin_body("RUN_STATIC_SCRIPT", {"TARGET": target, "ARGUMENTS": argument_key})

    def compile_program_path(self, use: FieldUse) -> str:
        """Add the static script that `BIN:fileName` names; return the key of its path."""
        scripts = {rules.PROGRAM_PREFIX + s.file_name: s for _, s in self.profile.list_static_scripts()}
        if use.name not in scripts:
            message = f"<{use.name}> names a static script that profile {self.profile.name} does not have"
            raise InvalidProfileError(
                [Problem("OSP301", message, use.location, suggest_names(use.name, scripts))]
            )
        return self.add_joined_texts(use.name, self.compile_script_path(scripts[use.name]))

    def compile_script_path(self, script: StaticScript) -> CompiledText:
        """Note that the text runs a static script; return the text of its path."""
        self.compile_script_paths()
        self.used_scripts.add(script.file_name)
        return self.static_scripts[script.file_name][1]

    def compile_script_paths(self) -> None:
        """Compile the paths of all static scripts of the profile, BIN's STATIC_SCRIPT (OS Profile 0.3, 2.2).

        They are deployed together, as one may read another.
        """
        if self.script_folder:
            return
        scripts, self.script_folder = _list_static_scripts(self.profile)
        for name, script in scripts.items():
            key = self.add_step(evaluate.CONSTANT, f"FILE_NAME of {name}", f"{self.script_folder}/{name}")
            path = self.compile_bin_body("STATIC_SCRIPT", {"FILE_NAME": key})
            self.static_scripts[name] = (script, path, self.compile_bin_body("", {}))

    def compile_all_scripts(self) -> Plan:
        """Compile the paths of all static scripts of the profile, and nothing else."""
        if any(self.profile.list_static_scripts()):
            self.compile_script_paths()
        empty_template = Template("", "", {}, {}, self.profile.documents[0].element)
        return self.assemble_plan(empty_template, "", CompiledText([""], []))

    def compile_bin_body(self, variation: str, engine_keys: Mapping[str, str]) -> CompiledText:
        template = self.profile.get_template(BIN_TEMPLATE)
        invocation = template.get_invocation(variation)
        if invocation.body is None:
            message = f"the variation {variation!r} of BIN runs or names static scripts and cannot be one"
            raise InvalidProfileError([Problem("OSP502", message, invocation.location, "give it a Body")])
        return self.compile_body(template, invocation, invocation.body, engine_keys)


def _list_static_scripts(profile: Profile) -> tuple[Mapping[str, StaticScript], str]:
    """Return the static scripts of a profile by their file names, and the name of their folder.

    They are the same for all plans of a profile, and kept as long as it. Raises `InvalidProfileError`.
    """
    if (known := _STATIC_SCRIPTS.get(profile)) is not None:
        return known
    scripts: dict[str, StaticScript] = {}
    for _, script in profile.list_static_scripts():
        first = scripts.setdefault(script.file_name, script)
        if first.body.text != script.body.text:
            message = f"two static scripts are written to the same file {script.file_name}"
            hint = f"the other one is at {first.location}; give one of them another fileName"
            location = script.element.locate_attribute("fileName")
            raise InvalidProfileError([Problem("OSP504", message, location, hint)])
    found = scripts, compute_folder_name({name: s.body.text for name, s in scripts.items()})
    _STATIC_SCRIPTS[profile] = found
    return found


def _is_engine_field(template: Template, name: str) -> bool:
    return template.name == BIN_TEMPLATE and any(name in names for names in BIN_FIELDS.values())


def _sort_conditions(declarations: Mapping[str, Field]) -> Iterator[tuple[str, str]]:
    """Yield the fields with ext:when, each after the field that it names, with that field."""
    pending = {name: field.when for name, field in declarations.items() if field.when is not None}
    while pending:
        # Without the last name, a circle would never end; `repository` refuses it.
        name = next((n for n, when in pending.items() if when not in pending), next(iter(pending)))
        yield name, pending.pop(name)


def _iter_profile_values(fields: Iterable[Field]) -> Iterator[str]:
    """Yield the values that do not come from a request or a context."""
    for field in fields:
        yield from (field.default or "", field.value or "", *(tag.value for tag in field.tags))


def _create_replacer(body: TemplateBody, replacement: Replacement, key: str) -> Callable[[Values], str]:
    """Return the function that computes `<NAME/FROM/TO>` from the value of `key`."""
    replace = bodies.compile_replacement(body, replacement)

    def compute_value(values: Values) -> str:
        try:
            return replace(values[key])
        except JavaRegexTimeoutError as error:
            raise rules.field_timeout_error(replacement.name, error) from None

    return compute_value
