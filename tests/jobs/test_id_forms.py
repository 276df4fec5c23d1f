"""Ids that do not begin with a digit, and others of unusual form: from START to the end of the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from osprofile.jobs.fields import JobDescription
from osprofile.jobs.record.store import Store
from osprofile.jobs.state import JobState
from osprofile.jobs.target_system import TargetSystem
from tests.jobs.conftest import QUICK
from tests.jobs.test_script_output import ID_FORMS

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.profile.model import Profile

CONTENT = r"""<idb:Template>
  <idb:Field name="JOB_ID_PATTERN" isSettable="false"><idb:Value><![CDATA[@]]></idb:Value></idb:Field>
  <idb:Field name="JOB_ID" ext:patternField="JOB_ID_PATTERN"/></idb:Template>
<idb:Template name="START"><idb:Invocation><idb:Body><![CDATA[: '<JOB_SCRIPT/'/'\\''>'
mkdir -p -- '<WORKING_DIRECTORY/'/'\\''>' && echo 'Welcome' && echo '%']]></idb:Body></idb:Invocation></idb:Template>
<idb:Template name="GET_JOB_STATUS">
  <idb:Invocation><idb:Body><![CDATA[id='<JOB_ID/'/'\\''>'
[ "$id" = '%' ] && echo "$id E exit=3"]]></idb:Body></idb:Invocation>
  <idb:Invocation name="ALL"><idb:Body>:</idb:Body></idb:Invocation>
  <idb:Field name="STATE" isSettable="false"><idb:Tag name="E">DONE</idb:Tag></idb:Field>
</idb:Template>
<idb:Template name="ABORT"><idb:Invocation><idb:Body><![CDATA[[ '<JOB_ID/'/'\\''>' = '%' ]
]]></idb:Body></idb:Invocation></idb:Template>"""


@pytest.mark.parametrize(("form", "job_id"), [(form, ids[0]) for form, ids, _ in ID_FORMS])
async def test_a_job_from_its_start_to_its_end(
    load: Callable[[str], Profile], form: str, job_id: str
) -> None:
    profile, store = load(CONTENT.replace("%", job_id).replace("@", form)), Store()
    async with TargetSystem(profile, store=store, timing=QUICK) as target:
        assert await target.submit(JobDescription(), key="k") == job_id
        assert await target.submit(JobDescription(), key="k") == job_id
        await target.abort(job_id)
        status = await target.wait(job_id)
        assert (status.job_id, status.state, status.exit_code) == (job_id, JobState.DONE, 3)
    assert [r.status.job_id for r in store.find_on_all_targets(job_id)] == [job_id]
