"""A rule of the linter, and the functions that build the documents of its examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from osprofile.errors import Severity


UNLOADABLE: Final = frozenset(
    f"OSP{number}"
    for number in (101, 102, 103, 104, 105, 106, 107, 108, 111, 201, 202, 203, 209, 210, 212, 213, 214)
)
"""The codes of problems that keep a profile from loading: they can be neither waived nor ignored."""


@final
@dataclass(frozen=True, slots=True)
class Rule:
    """The meaning of a code.

    `summary` is one line; `why` says what goes wrong and what to do. The example `wrong` has this
    problem, `right` has none: each is a document, or a part for `complete_example`.
    """

    code: str
    severity: Severity
    summary: str
    why: str
    wrong: str
    right: str

    @property
    def is_waivable(self) -> bool:
        """Whether a comment in the profile can waive the problem."""
        return self.code not in UNLOADABLE and not self.code.startswith("OSP7")


def complete_example(example: str) -> str:
    """Return the whole document of an example; a part is put into a profile that extends `base`.

    `base` is any complete profile, such as a bundled one.
    """
    return example if example.startswith(("<?xml", "<osp:Profile", "<!")) else format_profile(example)


def format_profile(content: str, attributes: str = 'name="example" extends="base"') -> str:
    """Return a document with some content."""
    return f"""\
<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
             xmlns:idb="http://gpe.intel.com/idb"
             xmlns:ext="urn:osprofile:extension"
             {attributes}>
  <osp:UspaceRoot>/var/tmp/gpe</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
{content}
</osp:Profile>
"""


def format_template(body: str, *fields: str, name: str = "HOLD") -> str:
    """Return a template with one body and some fields."""
    lines = "".join(f"\n  {field}" for field in fields)
    return f"""\
<idb:Template name="{name}">
  <idb:Invocation><idb:Body><![CDATA[{body}]]></idb:Body></idb:Invocation>{lines}
</idb:Template>"""


def format_variations(name: str, bodies: Mapping[str, str], *fields: str) -> str:
    """Return a template with some variations, each with a body."""
    lines = [
        f'  <idb:Invocation name="{variation}"><idb:Body><![CDATA[{body}]]></idb:Body></idb:Invocation>'
        for variation, body in bodies.items()
    ]
    lines += [f"  {field}" for field in fields]
    return "\n".join([f'<idb:Template name="{name}">', *lines, "</idb:Template>"])


def format_directive_field(directive: str) -> str:
    """Return a JOB_DIRECTIVES for PBS, and a global field with a directive."""
    prefix = format_fixed_field("DIRECTIVE_PREFIX", "#PBS")
    attributes = f' ext:pattern="[a-z]*" ext:directive="{directive}"'
    return (
        format_template("#!/bin/sh\n", prefix, name="JOB_DIRECTIVES")
        + "\n"
        + format_global_fields(format_field("LICENSES", "<idb:Default/>", attributes))
    )


def format_static_script(name: str, file: str, body: str, arguments: str = "") -> str:
    """Return a template with a static script; `arguments` is escaped for an XML attribute."""
    return f"""\
<idb:Template name="{name}">
  <idb:Invocation><idb:StaticScript fileName="{file}" arguments="{arguments}">{body}</idb:StaticScript></idb:Invocation>
</idb:Template>"""


def format_bin_template(run_body: str) -> str:
    """Return BIN with a body of RUN_STATIC_SCRIPT."""
    bodies = {"": '"$HOME"/bin', "STATIC_SCRIPT": '"$HOME"/bin/<FILE_NAME>', "RUN_STATIC_SCRIPT": run_body}
    return format_variations("BIN", bodies)


def format_application(name: str, template: str) -> str:
    """Return an application in version 1."""
    return (
        f'<osp:Application name="{name}" template="{template}">'
        f"<osp:ApplicationName>{name}</osp:ApplicationName>"
        "<osp:ApplicationVersion>1</osp:ApplicationVersion></osp:Application>"
    )


def format_field(name: str, content: str = "", attributes: str = "") -> str:
    """Return a settable field with a Description."""
    described = "<idb:Description>What it is.</idb:Description>"
    return f'<idb:Field name="{name}"{attributes}>{described}{content}</idb:Field>'


def format_fixed_field(name: str, value: str) -> str:
    """Return a field with a fixed value."""
    shown = f"<idb:Value><![CDATA[{value}]]></idb:Value>"
    return f'<idb:Field name="{name}" isSettable="false">{shown}</idb:Field>'


def format_global_fields(*fields: str) -> str:
    """Return the unnamed template, which holds the global fields."""
    return f"<idb:Template>{''.join(fields)}</idb:Template>"
