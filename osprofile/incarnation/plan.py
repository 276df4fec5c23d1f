"""Templates compiled to plans: what an incarnation has to look up, check and join.

A plan is made once for a profile, template, variation and application, and kept with the profile.
Its text has a slot for each use of a field; each distinct use (`<X>`, `<X/FROM/TO>`, `<X:HMS>`) is
one key. What the engine itself supplies (JOB_SCRIPT, a static script's TARGET and ARGUMENTS) is
text nested in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

from osprofile.errors import InvalidProfileError, JavaRegexTimeoutError, Problem
from osprofile.incarnation import fields as rules
from osprofile.incarnation.static_scripts import deployed_name
from osprofile.incarnation.text import Slot, Step, Text, Use, nested
from osprofile.language import body as bodies
from osprofile.profile.model import Template

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from osprofile.incarnation.text import Values
    from osprofile.language.body import Body, Replacement
    from osprofile.profile.model import Application, Field, Invocation, Profile, StaticScript
    from osprofile.source import SourceText

BIN = "BIN"
BIN_FIELDS = {
    "STATIC_SCRIPT": frozenset({"FILE_NAME"}),
    "RUN_STATIC_SCRIPT": frozenset({"TARGET", "ARGUMENTS"}),
}
"""What the engine alone supplies to the variations of BIN (seed, 2.2)."""

START_PARTS = ("JOB_PROLOGUE", "", "JOB_EPILOGUE")
"""What JOB_SCRIPT is made of; the application's template stands for the empty name."""

DEFAULT_APPLICATION = "Executable"

Ruled = tuple[tuple[str, dict[str, str], rules.Rule], ...]


@final
class Plan(NamedTuple):
    """A compiled template: see the module. `incarnate` executes it.

    `uses` has the first place where each field is used, `declared` the declarations of those that
    have one; `defaults`, `fixed`, `settable`, `required`, `checked` and `tagged` are drawn from
    these. `quoted` and `steps` fill further keys from the checked values. `scripts` are static
    scripts, each with the texts of its path and its directory. Where no value holds `mark`, the
    one text that all of `quoted` replace, `plain` is the same text without their work.
    """

    profile: Profile
    template: Template
    variation: str
    application: Application | None
    templates: tuple[Template, ...]
    text: Text
    plain: Text | None
    mark: str
    uses: Mapping[str, Use]
    declared: Mapping[str, Field]
    defaults: Values
    fixed: Values
    settable: frozenset[str]
    required: tuple[str, ...]
    checked: Ruled
    tagged: Ruled
    quoted: tuple[tuple[str, str, str, str], ...]
    steps: tuple[Step, ...]
    scripts: tuple[tuple[StaticScript, Text, Text], ...]

    def declaration(self, name: str) -> Field | None:
        """Give the declaration of a field in any of the plan's templates, used or not."""
        own = [t.fields[name] for t in self.templates if name in t.fields]
        found = min(own, key=lambda f: f.settable, default=self.profile.global_fields.get(name))
        return self.declared.get(name) or found

    def supplies(self, name: str) -> bool:
        """Say whether the engine alone gives a field: of BIN, what it says of a script (2.2)."""
        return _is_supplied(self.template, name)


def plan_of(profile: Profile, template: str, variation: str, application: str | None) -> Plan:
    """Give the plan, made at its first use and kept with the profile.

    Raises `NotFoundError` for a name that the profile lacks, `InvalidProfileError` for a fault in
    the bodies. `application` is `NAME` or `NAME/VERSION`, None for the default one.
    """
    key = (template, variation, application)
    plan: Plan | None = profile.plans.get(key)
    if plan is None:
        if application:
            application_of(profile, application)  # a wrong name is told even where none is used
        plan = _Compiler(profile, application).plan(profile.template(template), variation)
        profile.plans[key] = plan
    return plan


def static_scripts_plan(profile: Profile) -> Plan:
    """Give the plan of all static scripts of a profile. Raises `InvalidProfileError`."""
    return _Compiler(profile, None).all_scripts()


def application_of(profile: Profile, wanted: str) -> Application:
    """Give the application `NAME` or `NAME/VERSION`; a name may itself hold a `/`.

    Raises `ApplicationNotFoundError`.
    """
    names = {a.application_name for a in profile.applications.values()}
    name, slash, version = wanted.rpartition("/")
    if wanted in names or not slash or name not in names:
        return profile.application(wanted)
    return profile.application(name, version)


@final
class _Compiler:
    """Compiles the bodies of one plan; all of them share the plan's values."""

    def __init__(self, profile: Profile, application: str | None) -> None:
        self.profile = profile
        self.wanted = application
        self.application: Application | None = None
        self.templates: dict[str, Template] = {}
        self.uses: dict[str, Use] = {}
        self.declared: dict[str, tuple[Field, Template]] = {}
        self.derived: dict[str, Template] = {}
        self.quoted: dict[str, tuple[str, str, str, str]] = {}
        self.steps: dict[str, Step] = {}
        self.scripts: dict[str, tuple[StaticScript, Text, Text]] = {}

    def plan(self, template: Template, variation: str) -> Plan:
        return self.made(
            template, variation, self.invocation(template, template.invocation(variation), top=True)
        )

    def made(self, template: Template, variation: str, text: Text) -> Plan:
        """Give the plan of what was compiled."""
        self.declare_unused()
        for name in self.derived.keys() & self.declared.keys():
            first, where = self.declared[name]
            message = f"field {name} is declared in {where.name} and derived in {self.derived[name].name}, used together"
            hint = "declare it in both, or as a global field"
            raise InvalidProfileError([Problem("OSP304", message, first.place, hint)])
        declared = {name: field for name, (field, _template) in self.declared.items()}
        fixed = {name: f.value for name, f in declared.items() if f.value is not None}
        of_profile = {
            rules.PROFILE_NAME: self.profile.name,
            rules.USPACE_ROOT: self.profile.uspace_root,
        }
        fixed |= {name: value for name, value in of_profile.items() if name in self.uses}
        defaults = {
            name: f.default
            for name, f in declared.items()
            if f.default is not None and name not in fixed
        }
        marks = {old for _key, _name, old, _new in self.quoted.values()}
        mark = marks.pop() if len(marks) == 1 and not self.steps else ""
        plain = None
        own_texts = [*_own_texts(declared.values()), *of_profile.values()]
        if mark and not any(mark in own for own in own_texts):
            plain = text.with_keys({key: name for key, name, _old, _new in self.quoted.values()})
        made = [(name, rules.Rule(f)) for name, f in declared.items() if rules.Rule.needed(f)]
        return Plan(
            profile=self.profile,
            template=template,
            variation=variation,
            application=self.application,
            templates=tuple(self.templates.values()),
            text=text,
            plain=plain,
            mark=mark,
            uses=self.uses,
            declared=declared,
            defaults=defaults,
            fixed=fixed,
            settable=frozenset(
                name
                for name, f in declared.items()
                if f.settable
                and name not in fixed
                and not rules.is_special(name)
                and not _is_supplied(template, name)
            ),
            required=tuple(n for n in self.uses if n not in fixed and n not in defaults),
            checked=tuple((n, rule.known, rule) for n, rule in made if not declared[n].tags),
            tagged=tuple((n, rule.known, rule) for n, rule in made if declared[n].tags),
            quoted=tuple(self.quoted.values()),
            steps=tuple(self.steps.values()),
            scripts=tuple(self.scripts.values()),
        )

    # Bodies

    def invocation(self, template: Template, invocation: Invocation, *, top: bool = False) -> Text:
        if invocation.static_script is not None:
            return self.static_script(template, invocation, invocation.static_script, top=top)
        if invocation.body is None:  # the schema has Body or StaticScript
            return Text([""], [])
        return self.body(template, invocation, invocation.body, {}, top=top)

    def body(
        self,
        template: Template,
        invocation: Invocation,
        source: SourceText,
        engine: Mapping[str, str],
        *,
        top: bool = False,
    ) -> Text:
        """Compile one body. `engine` maps names that the engine supplies to keys of the values."""
        self.templates.setdefault(template.name, template)
        parsed, parts = bodies.parse(source), [""]
        keys, slots = list[str](), list[Slot]()
        for segment in parsed.segments:
            if isinstance(segment, str):
                parts[-1] += segment
                continue
            key = engine.get(segment.name)
            if key is None and top and segment.name == rules.JOB_SCRIPT:
                key = self.job_script()
            use, field = Use(segment.name, template, invocation, parsed, segment), ""
            if key is None:
                key, field = self.field(use)
            keys.append(self.transformed(key, parsed, segment))
            slots.append(Slot(field, key, use))
            parts += ["", ""]
        return Text(parts, keys, slots)

    def field(self, use: Use) -> tuple[str, str]:
        """Note the use of a field; give the key of its value, and the name of what has that value."""
        template, name = use.template, use.name
        declared = self.profile.field(template, name)
        base = rules.derived_base(name) if declared is None else None
        field = self.profile.field(template, base) if base is not None else None
        if base is None or field is None:
            base = None  # `TargetSystemInfo:HMS` is what the context calls so
        else:
            declared = field
            self.derived.setdefault(name, template)
            self.steps.setdefault(name, Step(name, lambda v: rules.derive(field, name, v[base])))
        self.uses.setdefault(base or name, use)
        if declared is not None:
            self.declare(declared, template)
        return name, base or name

    def declare(self, declared: Field, template: Template) -> None:
        """Note a declaration. Of several of one name the strictest limits count, as of one field."""
        first, where = self.declared.setdefault(declared.name, (declared, template))
        if any(declared is known for known in (first, *first.declarations)):
            return
        joined = first.narrowed(declared)
        if joined is None:
            both = f"{where.name} and {template.name}"
            message = f"field {declared.name} is declared differently in {both}, used together"
            hint = f"the other declaration stands at {first.place}; only limits and type may differ, of which the strictest count"
            raise InvalidProfileError([Problem("OSP304", message, declared.place, hint)])
        if joined.rules() != first.rules():
            self.declared[declared.name] = (joined, where)

    def declare_unused(self) -> None:
        """Note what templates say of fields that only others use: an application may narrow them."""
        for template in self.templates.values():
            for name, field in template.fields.items():
                if name in self.declared and not _is_supplied(template, name):
                    self.declare(field, template)

    def transformed(self, key: str, body: Body, found: Replacement) -> str:
        """Give the key of the value with FROM and TO applied."""
        if found.pattern is None:
            return key
        new, literal = f"<{key}/{found.pattern}/{found.replacement}>", bodies.literal(found)
        if literal is not None and key not in self.steps:
            self.quoted.setdefault(new, (new, key, *literal))
        elif new not in self.steps:
            self.steps[new] = Step(new, _replacing(body, found, key))
        return new

    # What the engine supplies

    def nested(self, key: str, *texts: Text) -> str:
        """Note texts that make the value of `key`, each ending its last line but the last."""
        self.steps.setdefault(key, nested(key, texts))
        return key

    def job_script(self) -> str:
        """Compile prologue, application and epilogue; give the key of their text."""
        if rules.JOB_SCRIPT not in self.steps:
            self.application = application_of(self.profile, self.wanted or DEFAULT_APPLICATION)
            templates = [self.profile.template(n or self.application.template) for n in START_PARTS]
            self.nested(rules.JOB_SCRIPT, *(self.invocation(t, t.invocation()) for t in templates))
        return rules.JOB_SCRIPT

    def static_script(
        self, template: Template, invocation: Invocation, script: StaticScript, *, top: bool
    ) -> Text:
        """Compile the command that runs a static script (2.2): BIN's RUN_STATIC_SCRIPT."""
        suffix = f" of {script.file_name} at {script.place}"
        path = self.script_file(script, suffix)
        arguments = self.body(template, invocation, script.arguments, {}, top=top)
        target = self.nested("TARGET" + suffix, path)
        given = self.nested("ARGUMENTS" + suffix, arguments)
        return self.bin("RUN_STATIC_SCRIPT", {"TARGET": target, "ARGUMENTS": given})

    def script_file(self, script: StaticScript, suffix: str = "") -> Text:
        """Note a file to deploy and compile its path (2.2): BIN's STATIC_SCRIPT."""
        name = deployed_name(script.file_name, script.body.text)
        key = self.constant("FILE_NAME" + suffix, name)
        path = self.bin("STATIC_SCRIPT", {"FILE_NAME": key})
        first = self.scripts.setdefault(script.file_name, (script, path, self.bin("", {})))[0]
        if first.body.text != script.body.text:
            message = f"two static scripts are written to the same file {script.file_name}"
            hint = f"the other one stands at {first.place}; give one of them another fileName"
            place = script.element.attribute_place("fileName")
            raise InvalidProfileError([Problem("OSP504", message, place, hint)])
        return path

    def all_scripts(self) -> Plan:
        """Compile the paths of all static scripts of the profile, and nothing else."""
        for template in self.profile.templates.values():
            for invocation in template.invocations.values():
                script = invocation.static_script
                if script is not None:
                    self.script_file(script, f" of {script.file_name} at {script.place}")
        nothing = Template("", "", {}, {}, self.profile.documents[0].element)
        return self.made(nothing, "", Text([""], []))

    def bin(self, variation: str, engine: Mapping[str, str]) -> Text:
        template = self.profile.template(BIN)
        invocation = template.invocation(variation)
        if invocation.body is None:
            message = (
                f"the variation {variation!r} of BIN runs or names static scripts and cannot be one"
            )
            raise InvalidProfileError(
                [Problem("OSP502", message, invocation.place, "give it a Body")]
            )
        return self.body(template, invocation, invocation.body, engine)

    def constant(self, key: str, value: str) -> str:
        self.steps.setdefault(key, Step(key, lambda _values: value))
        return key


def _is_supplied(template: Template, name: str) -> bool:
    return template.name == BIN and any(name in names for names in BIN_FIELDS.values())


def _own_texts(fields: Iterable[Field]) -> Iterator[str]:
    """Give the values that do not come from a request or a context."""
    for field in fields:
        yield from (field.default or "", field.value or "", *(tag.value for tag in field.tags))


def _replacing(body: Body, found: Replacement, key: str) -> Callable[[Values], str]:
    """Give the function that makes `<NAME/FROM/TO>` of the value of `key`."""
    function = bodies.compile_replacement(body, found)

    def make(values: Values) -> str:
        try:
            return function(values[key])
        except JavaRegexTimeoutError as error:
            raise rules.timed_out(found.name, error) from None

    return make
