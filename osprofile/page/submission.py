"""The example of a job: the command line that submits it, and the batch system's own script for the same."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from osprofile.authoring.outline import list_directives
from osprofile.errors import OSProfileError
from osprofile.incarnation.cases import AUTO, list_selecting_values
from osprofile.incarnation.evaluate import DERIVED_FORMATS, is_integer
from osprofile.incarnation.field_rules import END_WORD_PATTERN, FieldRule, apply_tags, format_number
from osprofile.incarnation.incarnate import incarnate
from osprofile.incarnation.plan import DEFAULT_APPLICATION, find_directive_template, get_plan
from osprofile.page.model import Submission
from osprofile.page.submit_options import PROGRAM_FIELD, SUBMIT_OPTIONS
from osprofile.text import format_duration_option, format_memory_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from osprofile.page.model import Setting, Target
    from osprofile.profile.model import Profile, Template

QUEUE: Final = "QUEUE"
EXAMPLE_PROGRAM: Final = "./simulate"
EXAMPLE_NAME: Final = "simulate"
_EXAMPLE_VALUES: Final = {"CPUS": 4, "MEMORY": 4096, "WALLTIME": 3600}
"""What an example asks for, if the profile has these fields; its limits have priority."""
_RESERVED_FIELDS: Final = frozenset({"CPUS", "MEMORY"})
"""Without a batch system, nothing reserves or limits these."""
_OPTION_FORMATS: Final = {"TIME": format_duration_option, "SIZE": format_memory_option}
_FIELD_IN_DIRECTIVE: Final = re.compile(r"<([A-Za-z_][A-Za-z0-9_.-]*)(?::([A-Z]+))?(?: or ([^<>]*))?>")


def build_submission(
    profile: Profile, context: Mapping[str, str], target: Target, settings: Sequence[Setting]
) -> Submission:
    """Return the example for a target of START, with the settings of its fields.

    It asks for what most jobs need, as far as the profile accepts it, and for what it requires.
    """
    queue = next((s.default for s in settings if s.name == QUEUE), None)
    if queue == AUTO:  # the example says which one: a script of the batch system must name it, too
        queue = next(iter(list_selecting_values(profile.cases, QUEUE)), None)
    settings = [
        setting._replace(default=queue) if setting.name == QUEUE else _narrow_limits(setting, queue)
        for setting in settings
    ]
    example = _JobExample(profile, context, target, settings)
    template = find_directive_template(profile)
    directives = example.list_directives(template) if template is not None else []
    script = ""
    if template is not None and directives:
        enter = [f'cd "{template.submit_directory}" || exit'] if template.submit_directory else []
        script = "\n".join(["#!/bin/sh", *directives, "", *enter, EXAMPLE_PROGRAM, ""])
    return Submission(
        command=example.format_command(),
        fields=tuple(example.fields.items()),
        script=script,
        script_command=template.submit_command.strip() if template is not None and script else "",
        placeholders=example.placeholders,
        outside=tuple(example.list_fields_without_directive()) if script else (),
    )


class _JobExample:
    def __init__(
        self, profile: Profile, context: Mapping[str, str], target: Target, settings: Sequence[Setting]
    ) -> None:
        self.profile = profile
        self.context = context
        self.application = target.application
        self.settings = {setting.name: setting for setting in settings}
        self.declarations = get_plan(profile, "START", "", target.application or None).declarations
        required = {s.name: _choose_required_value(s) for s in settings if s.default is None}
        self.fields = required | dict(self._choose_values(required))
        self.placeholders = tuple(name for name, value in required.items() if value == name)

    def _choose_values(self, required: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield what an example asks for beyond what is required, as far as the profile accepts it."""
        for name, setting in self.settings.items():
            value = _choose_value(setting)
            is_free = name not in required or name == PROGRAM_FIELD
            is_wanted = bool(value) and is_free and not setting.requires
            if is_wanted and self._accepts(name, value) and self._is_reserved(name, value):
                yield name, value

    def _is_reserved(self, name: str, value: str) -> bool:
        """Return whether an amount is asked of the batch system, and not only told to the program, as NAME=4."""
        if name not in _RESERVED_FIELDS:
            return True
        texts = []
        for amount in (value, format_number(float(value) + 1)):
            with suppress(OSProfileError):
                script = incarnate(
                    self.profile, "START", fields={name: amount}, application=self.application or None,
                    context=self.context,
                )  # fmt: skip
                # the word that ends the job script differs with it
                texts.append(re.sub(rf"\b{name}=\S*|{END_WORD_PATTERN}", "", script.text))
        return len(texts) < 2 or texts[0] != texts[1]

    def _accepts(self, name: str, value: str) -> bool:
        field = self.declarations.get(name)
        with suppress(OSProfileError):
            return field is not None and bool(FieldRule(field).resolve_value(value))
        return False

    # The command line

    def format_command(self) -> str:
        """Return the command line that submits the job."""
        words = ["incarnate", "job", "submit", "-p", self.profile.name]
        if self.application not in {"", DEFAULT_APPLICATION}:
            words += ["--application", self.application]
        for name, value in self.fields.items():
            option = SUBMIT_OPTIONS.get(name, "")
            if option:
                flag, _, kind = option.partition(" ")
                format_option = _OPTION_FORMATS.get(kind) if is_integer(value) else None
                words += [flag, format_option(int(value)) if format_option is not None else value]
            elif name != PROGRAM_FIELD:
                words += ["--set", f"{name}={value}"]
        if PROGRAM_FIELD in self.fields:
            words.append(self.fields[PROGRAM_FIELD])
        return shlex.join(words)

    # The script

    def list_directives(self, template: Template) -> list[str]:
        """Return the directives of a script of one's own, without those that discard its output."""
        script = self._render_job_script()
        lines = self._fill_directives(template)
        if script:
            # The directives are before the first command.
            comments = takewhile(lambda line: not line or line.startswith("#"), script.split("\n"))
            lines = [line for line in comments if line.startswith(template.directive_prefix)]
        return [line for line in lines if not line.endswith("/dev/null")]

    def _render_job_script(self) -> str:
        """Return the job script of the example; nothing if the profile refuses it, as it does placeholders."""
        named = {"JOB_NAME": EXAMPLE_NAME} if self._accepts("JOB_NAME", EXAMPLE_NAME) else {}
        application = self.application or None
        with suppress(OSProfileError):
            script = incarnate(
                self.profile, "START", fields=named | self.fields, application=application, context=self.context
            )  # fmt: skip
            return script.job_script or script.text
        return ""

    def _fill_directives(self, template: Template) -> list[str]:
        """Return the directives with placeholders in them, which no pattern accepts."""
        texts = (directive.text for directive in list_directives(self.profile))
        filled = (_FIELD_IN_DIRECTIVE.sub(self._fill_field, text) for text in texts)
        return [t for t in filled if t.startswith(template.directive_prefix) and "<" not in t]

    def _fill_field(self, match: re.Match[str]) -> str:
        name, form, default = match.groups()
        field = self.declarations.get(name)
        value = EXAMPLE_NAME if name == "JOB_NAME" else self.fields.get(name, "")
        if field is not None:
            value = apply_tags(field, value or field.default or "")
        if form and is_integer(value):
            value = DERIVED_FORMATS[form](int(value)) if form in DERIVED_FORMATS else ""
        return value or default or "<"  # such a line is left out

    def list_fields_without_directive(self) -> Iterator[str]:
        """Yield the fields of the example that no directive has."""
        text = "\n".join(directive.text for directive in list_directives(self.profile))
        for name in self.fields:
            if name != PROGRAM_FIELD and not re.search(rf"<{re.escape(name)}[>:/ ]", text):
                yield name


def list_choices(setting: Setting) -> list[str]:
    """Return the values of a field that a profile lists: all allowed ones, else the names of its tags."""
    return [c for c in setting.choices if c] or [tag.name for tag in setting.tags if tag.name]


def _narrow_limits(setting: Setting, queue: str | None) -> Setting:
    """Return a field with the limits that it has in a queue."""
    cases = [c for c in setting.cases if (c.selector, c.value) == (QUEUE, queue)]
    lows = [*filter(None, (setting.minimum, *(c.minimum for c in cases)))]
    highs = [*filter(None, (setting.maximum, *(c.maximum for c in cases)))]
    return setting._replace(
        minimum=max(lows, key=float, default=""), maximum=min(highs, key=float, default="")
    )


def _choose_value(setting: Setting) -> str:
    """Return the value that an example gives to a field that it need not set; empty for most."""
    if setting.name == PROGRAM_FIELD:
        return EXAMPLE_PROGRAM
    if setting.name == QUEUE:
        return setting.default if setting.default in list_choices(setting) and setting.default else ""
    if setting.name in _EXAMPLE_VALUES and setting.type:
        value = min(float(_EXAMPLE_VALUES[setting.name]), float(setting.maximum or "inf"))
        return format_number(max(value, float(setting.minimum or 0)))
    return ""


def _choose_required_value(setting: Setting) -> str:
    """Return a value for a field that must be given: the first that is listed, else its name."""
    return next(iter(list_choices(setting)), "") or setting.minimum or setting.name
