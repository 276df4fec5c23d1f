"""One rule, and how an example of it becomes a whole document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from osprofile.errors import Severity


@final
@dataclass(frozen=True, slots=True)
class Rule:
    """What a code means.

    `summary` is one line, `why` says what goes wrong otherwise and what to do. `wrong` has this
    problem and `right` none: both are documents, or what `document` makes one of.
    """

    code: str
    severity: Severity
    summary: str
    why: str
    wrong: str
    right: str


def document(example: str) -> str:
    """Give an example's whole document; a part stands in a profile that extends `base`.

    `base` is any complete profile, such as the bundled ones.
    """
    return example if example.startswith(("<?xml", "<osp:Profile", "<!")) else profile(example)


def profile(content: str, attributes: str = 'name="example" extends="base"') -> str:
    """Give a document with some content."""
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


def template(body: str, *fields: str, name: str = "HOLD") -> str:
    """Give a template with one body and some fields."""
    lines = "".join(f"\n  {field}" for field in fields)
    return f"""\
<idb:Template name="{name}">
  <idb:Invocation><idb:Body><![CDATA[{body}]]></idb:Body></idb:Invocation>{lines}
</idb:Template>"""


def field(name: str, content: str = "", attributes: str = "") -> str:
    """Give a settable field with a Description."""
    described = "<idb:Description>What it is.</idb:Description>"
    return f'<idb:Field name="{name}"{attributes}>{described}{content}</idb:Field>'


def fixed(name: str, value: str) -> str:
    """Give a field with a fixed value."""
    shown = f"<idb:Value><![CDATA[{value}]]></idb:Value>"
    return f'<idb:Field name="{name}" isSettable="false">{shown}</idb:Field>'
