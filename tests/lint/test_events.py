"""The optional template EVENTS: a command, and a pattern for the ids of its log."""

from __future__ import annotations

import pytest

from osprofile.lint import lint_profile
from osprofile.profile.repository import Repository

PROFILE = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
    xmlns:idb="http://gpe.intel.com/idb" name="site" extends="linux">
  <osp:UspaceRoot>/var/tmp</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="EVENTS">
    <idb:Description>The log of our server.</idb:Description>
    <idb:Invocation name=""><idb:Body>{command}</idb:Body></idb:Invocation>
    {field}
  </idb:Template>
</osp:Profile>
"""
FIELD = """<idb:Field name="EVENT_ID_PATTERN" isSettable="false">
  <idb:Description>Ours are those without a task.</idb:Description>
  <idb:Value>{pattern}</idb:Value></idb:Field>"""


@pytest.mark.parametrize(
    ("command", "pattern", "codes"),
    [
        ("osprofile-seg -s pbs", None, []),
        ("sudo -n -u pbs osprofile-seg -s sge", r"(?&lt;id>[0-9]+)\.0", []),
        ("it's", None, ["OSP506", "OSP612"]),
        ("", None, ["OSP506"]),
        ("osprofile-seg -s sge", r"[0-9]+", ["OSP402"]),
        ("osprofile-seg -s sge", r"(?&lt;id>[0-9]+", ["OSP401"]),
    ],
)
def test_events(command: str, pattern: str | None, codes: list[str]) -> None:
    field = FIELD.format(pattern=pattern) if pattern is not None else ""
    text = PROFILE.format(command=command, field=field)
    found = lint_profile(Repository().load_bytes(text.encode(), "site.xml"))
    assert [problem.code for problem in found] == codes
