"""What the daemon keeps in memory: it runs for weeks, with thousands of jobs a day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osprofile.executors.blah.batch_systems import BatchSystems
from osprofile.executors.blah.messages import Request
from osprofile.executors.blah.request_handler import RequestHandler
from osprofile.executors.blah.settings import Settings
from tests.executors.blah.gridmanager import ad

if TYPE_CHECKING:
    from pathlib import Path

    from tests.jobs.conftest import Toy


async def test_a_job_whose_end_was_told_is_in_the_record_alone(home: Path, toy: Toy) -> None:
    settings = Settings(profiles=(str(home / "profiles"),), store=str(home / "jobs.db"), max_age=0.0)
    text = ad(
        Cmd="/bin/true", gridtype="toy", StageCmd=False, In="/dev/null", Out="/dev/null", Err="/dev/null"
    )
    systems = BatchSystems(settings)
    handler = RequestHandler(systems, settings)
    job_id = (await handler.handle_request(Request("BLAH_JOB_SUBMIT", "2", (text,)))).extras[0]
    question = Request("BLAH_JOB_STATUS", "3", (job_id,))
    watched, native_id = systems["toy"].target.jobs.by_id, job_id.rpartition("/")[2]
    assert native_id in watched
    await systems["toy"].target.wait(native_id)
    answer = await handler.handle_request(question)
    assert answer.extras[0] == "4"
    assert native_id not in watched
    asked = toy.asked
    assert await handler.handle_request(question) == answer
    assert toy.asked == asked
    await systems.close()
