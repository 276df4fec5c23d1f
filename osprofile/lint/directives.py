r"""Rules for directives, the lines that a batch system reads: `#PBS -q <QUEUE>`.

A directive is at the beginning of a line, before the first command; it has no quoting. A replacement
that makes a directive (`<QUEUE/(?s)^(.+)\z/#PBS -q $1>`) counts as such a line. See docs/language.md,
"Quoting".
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final, final

from osprofile import javaregex
from osprofile.errors import JavaRegexError
from osprofile.javaregex import parse_literal_replacement
from osprofile.javaregex.charset import CharSet
from osprofile.lint import value_sets
from osprofile.lint.quoting import classify_source, get_placeholder_values, make_context_problem
from osprofile.lint.rules import make_problem
from osprofile.lint.shell.position import PLACEHOLDER_MARK
from osprofile.profile.model import DIRECTIVE_ATTRIBUTE, JOB_DIRECTIVES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from osprofile.errors import Problem
    from osprofile.lint.profile_view import Placeholder, ProfileView, ShellScript, TemplateText
    from osprofile.lint.shell.lexer import LexedScript
    from osprofile.profile.model import Field

_CONTROL_CHARS: Final = CharSet.from_ranges((0, 0x1F), (0x7F, 0x7F))
_UNSAFE_CHARS: Final = _CONTROL_CHARS | CharSet.from_chars(" \"'\\")
_UNSAFE_QUOTED_CHARS: Final = _CONTROL_CHARS | CharSet.from_chars("\"'\\")
_CHARACTER_NAMES: Final = {"\n": "a line end", "\r": "a carriage return", " ": "a blank", "\t": "a tab"}
_COMMAND_LINE: Final = re.compile(r"^[^#<\s]", re.MULTILINE)
_UNLISTED_OPTIONS: Final = ("-~", "-Y", "-Y 1", "--unlisted", "--unlisted=1", "--unlisted 1")
_PATTERN_REMEDY: Final = (
    'batch systems have no quoting there: list the allowed characters, as in ext:pattern="[A-Za-z0-9_.@:+-]*"'
)


@final
class DirectiveChecker:
    """Finds the directives of a script and checks them; with an empty prefix there are none."""

    def __init__(self, script: ShellScript, prefix: str) -> None:
        self.script = script
        self._prefix = prefix
        self._placeholders: dict[Placeholder, str] = {}
        self._line_generators: list[Placeholder] = []  # whose replacement makes a directive
        self._late_offsets: list[int] = []  # of directives after the first command
        self._indented_offsets: list[int] = []
        if prefix:
            self._scan_script()

    def _scan_script(self) -> None:
        start, commands_begun = 0, False
        items = self.script.items
        while start < len(items):
            end = next((i for i in range(start, len(items)) if items[i] == "\n"), len(items))
            if end > start:
                commands_begun = self._scan_line(start, end, commands_begun=commands_begun)
            start = end + 1

    def _scan_line(self, start: int, end: int, *, commands_begun: bool) -> bool:
        """Record the directive of a line, if any; return whether commands have begun by its end."""
        line = self.script.items[start:end]
        text = "".join(i if isinstance(i, str) else self._literal_prefix(i) for i in line)
        if text.startswith(self._prefix):
            if commands_begun:
                self._late_offsets.append(start)
            self._add_directive(line)
            return commands_begun
        if text.lstrip().startswith(self._prefix):
            self._indented_offsets.append(start + len(text) - len(text.lstrip()))
        return commands_begun or not (text.isspace() or text.lstrip().startswith("#"))

    def _add_directive(self, line: Sequence[str | Placeholder]) -> None:
        """Record the placeholders of a directive, each with the text before its value."""
        prefix = ""
        for item in line:
            prefix += item if isinstance(item, str) else self._literal_prefix(item)
            if not isinstance(item, str):
                self._placeholders[item] = prefix
        first = line[0]
        if not isinstance(first, str):
            self._line_generators.append(first)

    def _literal_prefix(self, placeholder: Placeholder) -> str:
        """Return the text that a replacement puts before the value: TO up to its first reference."""
        to = placeholder.replacement.replacement or PLACEHOLDER_MARK
        return re.sub(r"(?s)\\(.)|\$.*", r"\1", to)

    def contains(self, placeholder: Placeholder) -> bool:
        """Return whether a placeholder is in a directive."""
        return placeholder in self._placeholders

    def find_problems(self, view: ProfileView, lexed: LexedScript[Placeholder]) -> Iterator[Problem]:
        """Check all directives; `lexed` has the comments and commands that the shell sees."""
        for placeholder, before in self._placeholders.items():
            if classify_source(view, placeholder) != "safe":
                is_option_list = before.rstrip() == self._prefix
                yield from _check_value(view, placeholder, before, is_option_list=is_option_list)
        for placeholder in self._line_generators:
            if classify_source(view, placeholder) != "safe":
                yield from self._check_generated_line(view, placeholder)
        yield from self._check_positions(view, lexed)

    def _check_generated_line(self, view: ProfileView, placeholder: Placeholder) -> Iterator[Problem]:
        """Report a replacement that makes a directive of some values, but leaves others unchanged."""
        if value_sets.matches_every_value(
            placeholder.replacement.pattern or "", get_placeholder_values(view, placeholder).chars
        ):
            return
        name = placeholder.replacement.name
        message = f"a value of field {name} that FROM does not match would be a command here"
        prefix = self._literal_prefix(placeholder).replace("$", r"\$")
        hint = f"write <{name}/(?s)^(.+)\\z/{prefix}$1>"
        yield make_problem("OSP626", message, placeholder.location, hint)

    def _check_positions(self, view: ProfileView, lexed: LexedScript[Placeholder]) -> Iterator[Problem]:
        """Report directives that batch systems ignore, by their position."""
        for start in filter(partial(self._is_directive_line, lexed), self._late_offsets):
            message = f"a directive ({self._prefix}) after the first command is ignored"
            template = next((t.name for t in view.list_directive_templates()), JOB_DIRECTIVES)
            hint = f"move it up into {template}, before all commands"
            if self.script.is_fixed_value(start):
                hint = "put it into EXTRA_DIRECTIVES"
            yield make_problem("OSP623", message, self.script.locate_item(start), hint)
        for start in filter(partial(self._is_directive_line, lexed), self._indented_offsets):
            message = f"a directive ({self._prefix}) that is not at the beginning of its line"
            hint = "batch systems ignore it: remove the text before it"
            yield make_problem("OSP624", message, self.script.locate_item(start), hint)

    def _is_directive_line(self, lexed: LexedScript[Placeholder], start: int) -> bool:
        """Return whether the shell sees a comment there, or a replacement makes the whole line."""
        item = self.script.items[start]
        commands = (p for p, position in lexed.placeholders if position.role == "command")
        return start in lexed.comment_offsets or any(item is command for command in commands)


def check_field_directives(view: ProfileView) -> Iterator[Problem]:
    """Report each ext:directive that the batch system would not read."""
    prefix = view.find_directive_prefix()
    for field in view.profile.global_fields.values():
        if field.directive is None:
            continue
        message = f"the ext:directive of field {field.name} "
        if JOB_DIRECTIVES not in view.profile.templates:
            message += "has no effect: the profile has no template JOB_DIRECTIVES"
            hint = "move the directives of JOB_PROLOGUE into JOB_DIRECTIVES"
        elif not prefix:
            message += "is no directive: the profile has no DIRECTIVE_PREFIX, because it has no batch system"
            hint = "move it to the profile of a batch system"
        elif not re.sub(r"(?s)\\(.)", r"\1", field.directive).startswith(prefix):  # `#\$`: a TO escapes $
            message += f"does not begin with {prefix}"
            hint = f"a directive of this profile begins with its DIRECTIVE_PREFIX: {prefix} ..."
        else:
            continue
        location = field.element.locate_attribute(DIRECTIVE_ATTRIBUTE)
        yield make_problem("OSP628", message, location, hint)


def check_directive_values(view: ProfileView) -> Iterator[Problem]:
    """Report each ext:directive that is the same for all values."""
    for field in view.profile.global_fields.values():
        if field.directive is not None and parse_literal_replacement(field.directive) is not None:
            message = f"the ext:directive of field {field.name} does not contain its value"
            hint = "write $1 where the value belongs; a directive of all jobs belongs into EXTRA_DIRECTIVES"
            location = field.element.locate_attribute(DIRECTIVE_ATTRIBUTE)
            yield make_problem("OSP629", message, location, hint)


def check_fixed_directives(view: ProfileView) -> Iterator[Problem]:
    """Report lines of fixed values that stand where directives do, and are none."""
    prefix = view.find_directive_prefix()
    texts = [t for t in view.texts if t.template.name == JOB_DIRECTIVES] if prefix else []
    for field, value in (line for t in texts for line in view.list_fixed_lines(t, _find_command(t))):
        offset = 0
        for line in value.text.splitlines(keepends=True):
            if line.strip() and not line.startswith(prefix) and not _is_plain_comment(line, prefix):
                message = f"this line of field {field.name} does not begin with {prefix}"
                hint = f"a directive of this profile begins with its DIRECTIVE_PREFIX: {prefix} ..."
                yield make_problem("OSP628", message, value.get_location(offset), hint)
            offset += len(line)


def _find_command(text: TemplateText) -> int:
    """Return where the first line begins that is a command whatever is replaced in it, or the text's length."""
    body = text.body.source.text
    command = _COMMAND_LINE.search(body)
    return len(body) if command is None else command.start()


def _is_plain_comment(line: str, prefix: str) -> bool:
    """Return whether a line is a comment that nobody could have meant to be a directive."""
    is_comment = re.match(r"\s*#+(?:\s|$)", line) is not None
    return is_comment and not line.strip().lstrip("# \t").upper().startswith(prefix.lstrip("#").upper())


def _check_value(
    view: ProfileView, placeholder: Placeholder, prefix: str, *, is_option_list: bool
) -> Iterator[Problem]:
    """Check a value in a directive; `prefix` is the text before it on its line.

    A value that is the whole directive (`is_option_list`) may have blanks, if its pattern lists the options.
    """
    name, values = placeholder.replacement.name, get_placeholder_values(view, placeholder)
    quoted = prefix.count('"') % 2 or prefix.count("'") % 2
    unsafe_chars = values.chars & (_UNSAFE_QUOTED_CHARS if quoted else _UNSAFE_CHARS)
    if is_option_list:
        unsafe_chars &= ~CharSet.from_chars(" ")
    declared = view.find_field(placeholder.text, name)
    if not unsafe_chars.ranges:
        if is_option_list and declared is not None and _accepts_any_option(declared):
            message = f"the pattern of settable field {name}, which is a whole directive, allows any option"
            hint = 'list the options that a request may give: ext:pattern="--exclusive|--gres=gpu:[1-8]"'
            yield make_problem("OSP622", message, placeholder.location, hint)
        if declared is not None and declared.name == name and declared.type is None and "." in values.chars:
            yield from _check_number(declared)
        return
    if declared is not None and declared.pattern_field is not None and declared.pattern is None:
        return  # the pattern that it names is missing: OSP209, at its cause
    hint = f"{_PATTERN_REMEDY}; the field is declared at {declared.location if declared else placeholder.location}"
    if classify_source(view, placeholder) != "request" or declared is None:
        remedy = f'declare field {name} with isSettable="false" and an ext:pattern'
        yield make_context_problem(placeholder, declared, "in a directive", remedy)
    elif value_sets.get_field_values(declared).chars == value_sets.ANY_VALUES.chars:
        message = f"settable field {name} is used in a directive and has no pattern"
        yield make_problem("OSP621", message, placeholder.location, hint)
    else:
        message = f"the pattern of settable field {name}, which is used in a directive, allows "
        message += _name_character(unsafe_chars)
        yield make_problem("OSP622", message, placeholder.location, hint)


def _check_number(field: Field) -> Iterator[Problem]:
    """Report a field of a directive with limits that accepts a number with a fraction."""
    for name in ("Min", "Max"):
        if field.find_child(name) is not None:
            message = f"field {field.name}, which is used in a directive, has a {name}: 1.5 and 1e0 are accepted, too"
            hint = 'write ext:type="integer", or ext:type="number" if they are right'
            yield make_problem("OSP630", message, field.locate_child(name), hint)
            return


def _accepts_any_option(field: Field) -> bool:
    """Return whether a field's pattern accepts an option that no site can have listed."""
    try:
        pattern = javaregex.compile(field.pattern.text if field.pattern is not None else "(?s).*")
        return any(pattern.accepts(option) for option in _UNLISTED_OPTIONS)
    except JavaRegexError:  # another rule reports it
        return False


def _name_character(chars: CharSet) -> str:
    """Name one character of a set, an important one if there is any."""
    for char, name in _CHARACTER_NAMES.items():
        if char in chars:
            return name
    return repr(chr(chars.ranges[0][0]))
