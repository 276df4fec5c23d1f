"""The agent as a process, by a client as strict as the original: the whole cycle, byte for byte.

docs/protocols/ptp.md, 4 to 6.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.executors.ptp.events import define_attributes
from osprofile.executors.ptp.form import SubmissionForm
from osprofile.executors.ptp.wire import encode_frame
from osprofile.jobs.record.store import Store
from osprofile.jobs.state import JobState, JobStatus
from osprofile.profile.repository import Repository
from tests.executors.ptp.client import FILTER, JOB, MACHINE, NODE, QUEUE, RESUME, SUBMIT, SUSPEND, TERMINATE
from tests.strategies import read_with_texts
from tests.waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from tests.executors.ptp.conftest import Place
    from tests.executors.ptp.live import Live

PROXIES = ["tcp", "stdio"]
CHANGE_JOB, SET_FILTERS, CLEAR_FILTERS = 8, 10, 11


def shell(text: str) -> tuple[str, ...]:
    """Give the attributes of a job that runs shell text."""
    return ("execPath=/bin", "execName=sh", "progArgs=-c", f"progArgs={text}")


def said(live: Live, expected: bytes, seconds: float = 20.0) -> None:
    """Take exactly these bytes."""
    live.until(lambda: len(live.raw) >= len(expected), seconds)
    assert bytes(live.raw) == expected
    live.raw.clear()


def silent(live: Live, seconds: float = 0.8) -> None:
    """Take nothing for a while."""
    assert live.read(seconds) == b""


@pytest.mark.parametrize("proxy", PROXIES)
def test_a_session_byte_for_byte(place: Place, proxy: str) -> None:
    """docs/protocols/ptp.md, 1 and 5: every byte of the agent's, from INIT to the end."""
    host = f"name={os.uname().nodename}"

    def frame(number: int, *args: str) -> bytes:
        return encode_frame(number, 0, args)

    def model() -> bytes:
        nodes = []
        for n, name in enumerate(["n1", "n2"]):
            nodes += [str(16777233 + n), "4", f"name={name}", "nodeState=UP", "nodeStatus=idle"]
            nodes.append(f"nodeNumber={n}")
        batch = ["16781329", "3", "name=batch", "queueState=NORMAL", "queueStatus=open"]
        old = ["16781330", "3", "name=old", "queueState=STOPPED", "queueStatus=shut"]
        return (
            frame(221, "16777216", "1", "16777217", "2", host, "machineState=UP")
            + frame(222, "16777217", "2", *nodes)
            + frame(224, "16777216", "2", *batch, *old)
        )

    definitions = SubmissionForm(Repository([str(place.root / "profiles")]).load("sim")).definitions
    with place.live("sim", proxy=proxy) as live:
        client = live.client
        live.write(b"00000045 0001:00000000:00000002 0000000b:version=2.0 ")
        time.sleep(0.05)  # in two pieces
        live.write(b"0000000f:baseId=16777216")
        client.open[0] = 1
        said(live, b"00000017 0000:00000000:00000000")
        live.write(b"00000017 0002:00000000:00000000")
        client.open[0] = 2
        told = encode_frame(251, 0, define_attributes(0, definitions).arguments)
        said(live, told + b"00000017 0000:00000000:00000000")
        live.write(b"00000017 0003:00000000:00000000")
        client.open[0] = 3
        said(live, model())
        place.simulate(nodes="n1 down\nn2 idle\n")
        said(live, frame(232, "1", "16777233", "2", "nodeState=DOWN", "nodeStatus=down"))
        live.write(b"00000017 0004:00000001:00000000")
        client.open[1] = 4
        said(live, b"00000017 0000:00000000:0000000000000017 0000:00000001:00000000")
        place.simulate(nodes="n1 idle\nn2 idle\n")
        silent(live)
        live.write(b"00000017 0003:00000000:00000000")
        client.open[0] = 3
        said(live, frame(232, "1", "16777233", "2", "nodeState=UP", "nodeStatus=idle"))
        live.write(b"00000017 0000:00000001:00000000")
        client.open[1] = 0
        live.read_all()
        assert bytes(live.raw) == (b"00000017 0000:00000000:0000000000000017 0006:00000001:00000000")
        assert live.process.wait(PATIENCE) == 0


@pytest.mark.parametrize("proxy", PROXIES)
def test_the_whole_cycle_on_this_machine(place: Place, proxy: str) -> None:
    """Submit, states, terminate, bad submit, stop, start, quit; docs/protocols/ptp.md, 5.3 and 6."""
    os.mkfifo(place.root / "fifo")
    with place.session("here", proxy=proxy) as live:
        node = live.client.id_of(NODE, os.uname().nodename)
        assert live.client.by_name(QUEUE) == {"default": {"queueState": "NORMAL"}}
        first = live.submit(
            *shell('echo "$A" "$@" $(pwd); echo err >&2; read x < fifo; exit 7'),
            f"workingDir={place.root}",
            "progArgs=sh",
            "progArgs=it's",
            "env=A=one two",
            "launchedByPTP=true",
            sub_id="JOB_17952490019820",
        )
        assert live.client.parents[first] == live.client.id_of(QUEUE, "default")
        live.wait(first, "RUNNING")
        assert live.process_of(first)["processNodeId"] == str(node)
        second = live.submit(*shell("sleep 600"), sub_id="JOB_2")
        live.wait(second, "RUNNING")
        assert live.terminate(second) == (0, [])
        assert live.wait(second)["jobStatus"] == "REMOVED"
        assert live.terminate(second) == (0, [])  # it has ended, as the client wants it
        for id_ in ("", "1", "x", str(node)):
            number, args = live.do(TERMINATE, f"jobId={id_}")
            assert (number, args[:3]) == (212, ["3", f"jobId={id_}", "errorCode=1203"])
        (place.root / "fifo").write_text("\n")
        assert live.wait(first)["jobStatus"] == "DONE"
        assert live.process_of(first)["processExitCode"] == "7"
        live.until(lambda: {"processStdout", "processStderr"} <= live.process_of(first).keys())
        assert live.process_of(first)["processStdout"] == f"one two it's {place.root}\n"
        assert live.process_of(first)["processStderr"] == "err\n"
        assert live.do(SUBMIT, "jobSubId=x", "execName=true", "queueId=5") == (
            211,
            ["3", "jobSubId=x", "errorCode=1202", "errorMsg=attribute queueId: '5' is not a queue"],
        )
        number, args = live.do(SUBMIT, "execName=true")
        assert (number, args[-1]) == (211, "errorMsg=attribute jobSubId is missing")
        live.stop()
        silent(live)
        live.start()
        silent(live)
        wait_until(lambda: place.directories == place.links == [])  # all of it was told
    assert place.processes() == []


def test_as_many_processes_run_as_are_told(place: Place) -> None:
    with place.session("here") as live:
        job = live.submit(*shell(f"echo x >> {place.root}/ran"), "jobNumProcs=3")
        live.wait(job)
        assert len(live.client.processes[job]) == 3
        assert (place.root / "ran").read_text() == "x\n" * 3
        assert live.job(job)["jobNumProcs"] == "3"


WHOLE_LIFE = ["STARTING", "RUNNING", "COMPLETED"]


def test_a_short_job_is_told_running_before_its_end(place: Place) -> None:
    """Eclipse completes a launch at RUNNING, which no poll sees of such a job."""
    with place.session("here", "--interval=5") as live:
        for number in range(3):
            job = live.submit("execPath=/bin", "execName=true", sub_id=f"JOB_{number}")
            live.wait(job)
            assert live.client.states[job] == WHOLE_LIFE
            assert live.process_of(job)["processExitCode"] == "0"


def test_states_that_no_poll_saw(place: Place) -> None:
    """A job that ended has run; one that was removed from the queue, or is lost, may not have."""
    place.simulate(jobs="a1 Q\na2 Q\n")
    with place.session("sim") as live:
        live.until(lambda: len(live.client.elements[JOB]) == 2)
        a1, a2 = (live.client.id_of(JOB, name) for name in ("a1", "a2"))
        assert live.terminate(a2) == (0, [])
        place.simulate(jobs="a1 F exit=0\n")
        live.wait(a1)
        assert live.wait(a2)["jobStatus"] == "REMOVED"
        assert live.client.states == {a1: WHOLE_LIFE, a2: ["STARTING", "COMPLETED"]}


def test_a_job_that_ended_while_events_were_suspended(place: Place) -> None:
    with place.session("here") as live:
        assert live.do(SUSPEND) == (0, [])
        queue = live.client.id_of(QUEUE, "default")
        assert live.do(SUBMIT, f"queueId={queue}", "jobSubId=J", "execName=true") == (0, [])
        wait_until(lambda: [job.state for job in recorded(place)] == [JobState.DONE])
        assert live.do(RESUME) == (0, [])
        live.until(lambda: live.found("J") is not None)
        job = live.found("J")
        assert job is not None
        live.wait(job)
        assert live.client.states[job] == WHOLE_LIFE[1:]
        live.stop()
        live.start()
        silent(live)  # the client has all of it


def test_what_happens_while_events_are_stopped_is_told_when_they_start(place: Place) -> None:
    """docs/protocols/ptp.md, 5.3: the client keeps what it knew; it has each part of an output once."""
    os.mkfifo(place.root / "fifo")
    text = f"echo one; read x < {place.root}/fifo; echo two; exit 3"
    with place.session("here") as live:
        job = live.submit(*shell(text))
        live.until(lambda: live.process_of(job).get("processStdout") == "one\n")
        live.stop()
        (place.root / "fifo").write_text("\n")
        wait_until(lambda: [job.state for job in recorded(place)] == [JobState.DONE])
        live.raw.clear()
        live.start()
        live.wait(job)
        assert live.process_of(job)["processExitCode"] == "3"
        live.until(lambda: live.process_of(job).get("processStdout") == "two\n")
        assert live.client.states[job] == WHOLE_LIFE
        assert b"processStdout=one" not in live.raw


def test_how_programs_end(place: Place) -> None:
    """A program that was not run has failed, as for Ninf-G's client; any other exit code is the program's."""
    stories = [
        (("execName=/no/such/program",), "FAILED", "processExitCode", "127"),
        (("execName=true", "workingDir=/no/such"), "FAILED", "processSignalName", "SIGKILL"),
        (("execName=true", "workingDir=no/such"), "FAILED", "processSignalName", "SIGKILL"),
        (shell("exit 125"), "DONE", "processExitCode", "125"),
        (shell("exit 3"), "DONE", "processExitCode", "3"),
        (shell("kill -9 $$"), "FAILED", "processSignalName", "SIGKILL"),
    ]
    with place.session("here") as live:
        for number, (words, status, attribute, value) in enumerate(stories):
            job = live.submit(*words, sub_id=f"JOB_{number}")
            assert live.wait(job)["jobStatus"] == status
            if status == "FAILED" and "true" in words[0]:
                directory = words[1].partition("=")[2]
                assert live.job(job)["jobStatusMessage"] == f"directory {directory} cannot be entered"
            if value == "3":
                assert live.job(job)["jobStatusMessage"] == "NonZeroExitCode"
            assert live.process_of(job)[attribute] == value


def test_an_argument_that_is_not_ascii_is_answered(place: Place) -> None:
    """Five such frames ended the session, and none of them had an answer."""
    with place.session("here") as live:
        for number in range(6):
            frame = live.client.command(SUBMIT, "jobSubId=X", "execName=true", "progArgs=??")
            live.write(frame.replace(b"??", b"\xff\xfe"))
            live.until(lambda count=number: len(live.client.answers) == count + 3)  # type: ignore[misc]
            assert live.client.answers[-1][1] == 211
        job = live.submit("execName=true", sub_id="JOB_1")
        live.wait(job)


def test_what_the_engine_refuses(place: Place) -> None:
    """Refused with SUBMITJOB_ERROR and the engine's own message; the session goes on."""
    stories = [
        (("execName=-x",), "field EXECUTABLE: '-x' does not match"),
        (("execName=true", "jobNumProcs=two"), "attribute jobNumProcs: 'two' is no"),
        (("execName=true", "WALLTIME=9999999999"), "field WALLTIME"),
        (("execName=true", "debug=true"), "attribute debug: jobs are run"),
    ]
    with place.session("here") as live:
        for arguments, words in stories:
            number, args = live.do(SUBMIT, "jobSubId=JOB_1", *arguments)
            assert (number, args[:3]) == (211, ["3", "jobSubId=JOB_1", "errorCode=1202"])
            assert args[3].startswith(f"errorMsg={words}")
        assert place.directories == []
        live.wait(live.submit(*shell("true"), sub_id="JOB_2"))


FULL = r"""<idb:Template name="START"><idb:Invocation name=""><idb:Body><![CDATA[
mkdir -p -- '<WORKING_DIRECTORY/'/'\\''>'/.gpe && printf '%s\n' '<JOB_SCRIPT/'/'\\''>' > '<WORKING_DIRECTORY/'/'\\''>'/.gpe/script
echo 'qsub: the queue is full' >&2
exit 38]]></idb:Body></idb:Invocation>
<idb:Field name="JOB_ID_PATTERN" isSettable="false"><idb:Value>(?&lt;id>[0-9]+)</idb:Value></idb:Field>
</idb:Template>
"""


def test_a_refused_job_leaves_nothing(place: Place) -> None:
    place.add("full", FULL)
    with place.session("full") as live:
        number, args = live.do(SUBMIT, "jobSubId=JOB_1", "execName=true")
        assert number == 211
        assert args[3] == "errorMsg=START failed (exit status 38): qsub: the queue is full"
        wait_until(lambda: place.directories == [])


def test_what_a_client_has_not_got_stays(place: Place) -> None:
    """What the program left in the directory, what is over the limit, what was not told at all."""
    with place.session("here") as live:
        live.wait(live.submit(*shell("echo x > result"), sub_id="JOB_1"))
        large = live.submit(*shell("head -c 2000000 /dev/zero | tr '\\0' x"), sub_id="JOB_2")
        live.wait(large)
        live.until(lambda: "only]" in live.process_of(large).get("processStdout", ""))
        assert live.do(SET_FILTERS, "stdout") == (0, [])
        live.wait(live.submit(*shell("echo muted"), sub_id="JOB_3"))
        gone = live.submit("execName=true", sub_id="JOB_4")
        live.wait(gone)
        wait_until(lambda: len(place.directories) == 3)
    assert {(found / "stdout").stat().st_size for found in place.directories} == {0, 2000000, 6}
    assert sum((found / "result").exists() for found in place.directories) == 1
    assert len(place.links) == 3


@pytest.mark.parametrize("second", ["2\n", "other\n", "longer than that\n"])
def test_an_output_that_was_written_anew_stays(place: Place, second: str) -> None:
    """The job empties what was told of, and writes its output once more."""
    os.mkfifo(place.root / "fifo")
    text = f'echo first; read x < fifo; printf %s "{second}" > "$GPE_WORKING_DIRECTORY/stdout"'
    with place.session("here") as live:
        job = live.submit(*shell(text), f"workingDir={place.root}")
        live.until(lambda: live.process_of(job).get("processStdout") == "first\n")
        (place.root / "fifo").write_text("\n")
        live.wait(job)
        live.wait(live.submit("execName=true", sub_id="JOB_2"))
        wait_until(lambda: len(place.directories) <= 1)
    (directory,) = place.directories
    assert (directory / "stdout").read_text() == second


def test_the_next_session_knows_the_jobs_of_an_earlier_one(place: Place) -> None:
    """They live on, have their name and no jobSubId, and what they say from then on is told."""
    os.mkfifo(place.root / "fifo")
    text = "echo out; read x < fifo; echo more"
    with place.session("here") as live:
        job = live.submit(*shell(text), f"workingDir={place.root}", "JOB_NAME=long")
        assert live.wait(job, "RUNNING")["name"] == "long"
    with place.session("here", proxy="stdio") as live:
        live.until(lambda: live.client.elements[JOB])
        (job,) = live.client.elements[JOB]
        assert live.job(job)["name"] == "long"
        assert "jobSubId" not in live.job(job)
        live.until(lambda: live.process_of(job).get("processStdout") == "out\n")
        (place.root / "fifo").write_text("\n")
        live.wait(job)
        live.until(lambda: live.process_of(job).get("processStdout") == "more\n")
        wait_until(lambda: place.directories == place.links == [])


def test_the_directory_of_a_job_of_another_tool_stays(place: Place) -> None:
    """Its output is told; what becomes of its files is for its user to say."""
    os.mkfifo(place.root / "fifo")
    words = ["job", "submit", "-p", "here", "--set", f"DIRECTORY={place.root}"]
    program = ["sh", "-c", "read x < fifo; echo x"]
    incarnate = [str(Path(sys.executable).with_name("incarnate")), *words, *program]
    subprocess.run(incarnate, env={**os.environ, **place.environment}, check=True)
    with place.session("here") as live:
        live.until(lambda: live.client.elements[JOB])
        (job,) = live.client.elements[JOB]
        (place.root / "fifo").write_text("\n")
        live.wait(job)
        live.until(lambda: live.process_of(job).get("processStdout") == "x\n")
        other = live.submit("execName=true", sub_id="JOB_2")
        live.wait(other)
        wait_until(lambda: len(place.directories) == 1)
    assert (place.directories[0] / "stdout").read_text() == "x\n"


def test_the_machine_changes_live(place: Place) -> None:
    """docs/ptp.md, What a client sees: machine, nodes and queues with states, changing live; the jobs of others."""
    place.simulate(jobs="a1 F exit=0\na2 R host=n1 queue=old\na3 Q\na4 W\n")
    with place.session("sim") as live:
        client = live.client
        live.until(lambda: len(client.elements[JOB]) == 3)  # one had ended before
        by_name = client.by_name(JOB)
        assert {n: (a["jobState"], a["jobStatus"]) for n, a in by_name.items()} == {
            "a2": ("RUNNING", "RUNNING"),
            "a3": ("STARTING", "QUEUED"),
            "a4": ("STARTING", "W"),
        }
        a2 = client.id_of(JOB, "a2")
        assert client.parents[a2] == client.id_of(QUEUE, "old")
        assert client.parents[client.id_of(JOB, "a3")] == client.id_of(QUEUE, "default")
        live.until(lambda: live.process_of(a2))
        assert live.process_of(a2)["processNodeId"] == str(client.id_of(NODE, "n1"))
        place.simulate(nodes="n1 down\nn3 odd\n", queues="batch shut default\n", jobs="a2 F exit=3\na3 R\n")
        live.wait(a2)
        assert live.process_of(a2)["processExitCode"] == "3"
        live.until(lambda: client.by_name(QUEUE).get("batch", {})["queueState"] == "STOPPED")
        live.until(lambda: client.by_name(NODE).keys() == {"n1", "n3"})
        assert client.by_name(NODE)["n3"]["nodeState"] == "UNKNOWN"
        # a queue is there as long as a job is told to be in it
        assert client.by_name(QUEUE).keys() == {"batch", "old", "default"}
        live.until(lambda: client.by_name(JOB)["a3"]["jobState"] == "RUNNING")
        number, args = live.do(
            SUBMIT, f"queueId={client.id_of(QUEUE, 'batch')}", "jobSubId=J", "execName=true"
        )
        assert (number, "field QUEUE is not used" in args[-1]) == (211, True)  # the queue is asked for
        a3 = client.id_of(JOB, "a3")
        assert live.terminate(a3) == (0, [])
        assert (place.root / "sim/aborted").read_text() == "a3\n"
        place.simulate(nodes="n1 down\nn3 down\n")
        machine = client.id_of(MACHINE, os.uname().nodename)
        live.until(lambda: client.elements[MACHINE][machine]["machineState"] == "DOWN")
        (place.root / "sim/nodes").unlink()
        live.until(lambda: client.elements[MACHINE][machine]["machineState"] == "ERROR")
        assert client.by_name(NODE).keys() == {"n1", "n3"}
        assert client.events.count(1) == 1  # the client is told once what is wrong
        place.simulate(nodes="n1 idle\n")
        live.until(lambda: client.elements[MACHINE][machine]["machineState"] == "UP")


def test_a_profile_of_old_templates_only(place: Place) -> None:
    """docs/ptp.md, What a profile says: one node, the machine, and a default queue."""
    text = read_with_texts(Path(__file__).parents[3] / "profiles/linux/profile.xml")
    text, count = re.subn(r'<idb:Template name="LIST_[NQ].*?</idb:Template>', "", text, flags=re.DOTALL)
    assert count == 2
    path = place.root / "profiles/linux.xml"
    path.write_text(text.replace(">/var/tmp<", f">{place.root}/jobs<"))
    with place.session(str(path)) as live:
        host = os.uname().nodename
        assert live.client.by_name(NODE) == {host: {"nodeState": "UP", "nodeNumber": "0"}}
        assert live.client.by_name(QUEUE) == {"default": {"queueState": "NORMAL"}}
        assert live.wait(live.submit(*shell("true")))["jobStatus"] == "DONE"
        assert 1 not in live.client.events


def recorded(place: Place) -> list[JobStatus]:
    """Give what the user's record knows of each job."""
    with contextlib.closing(Store(str(place.root / "state/osprofile/jobs.db"))) as store:
        return [record.status for record in store.list_all_jobs()]


def test_the_jobs_of_others_are_shown_and_not_recorded(place: Place) -> None:
    """They come, change, end and vanish; the user's record has none of them, at any time."""
    place.simulate(jobs="a1 Q\na2 R host=n1 queue=old\na3 R\n")
    with place.session("sim") as live:
        client = live.client
        live.until(lambda: len(client.elements[JOB]) == 3)
        assert recorded(place) == []
        a1, a2, a3 = (client.id_of(JOB, name) for name in ("a1", "a2", "a3"))
        place.simulate(jobs="a1 R host=n2\na2 F exit=3\na3 R\na4 Q\n")
        live.wait(a1, "RUNNING")
        assert live.wait(a2)["jobStatus"] == "DONE"
        live.until(lambda: "a4" in client.by_name(JOB))
        assert live.terminate(a3) == (0, [])
        place.simulate(jobs="a1 R host=n2\na2 F exit=3\na4 Q\n")
        assert live.wait(a3)["jobStatus"] == "REMOVED"  # it vanished, and was to be removed
        assert recorded(place) == []
        live.stop()
        place.simulate(jobs="a1 F exit=0\na4 R\na5 Q\n")
        live.start()
        live.until(lambda: client.by_name(JOB).keys() == {"a1", "a2", "a3", "a4", "a5"})
        live.wait(a1)
        live.wait(client.id_of(JOB, "a4"), "RUNNING")
    assert recorded(place) == []
    with place.session("sim") as live:  # those that had ended are not told of again
        live.until(lambda: live.client.by_name(JOB).keys() == {"a4", "a5"})
    assert recorded(place) == []


def test_a_job_of_the_record_stays_in_it(place: Place) -> None:
    """A job that another of the user's tools records meanwhile is that one's, with its name."""
    with place.session("sim") as live:
        with contextlib.closing(Store(str(place.root / "state/osprofile/jobs.db"))) as store:
            store.adopt_job("sim", JobStatus("a7", JobState.QUEUED))
        place.simulate(jobs="a7 R\na8 R\n")
        live.until(lambda: live.client.by_name(JOB).keys() == {"a7", "a8"})
        place.simulate(jobs="a7 F exit=0\na8 R\n")
        assert live.wait(live.client.id_of(JOB, "a7"))["jobStatus"] == "DONE"
    assert [job.job_id for job in recorded(place)] == ["a7"]


def test_filters(place: Place) -> None:
    """docs/protocols/ptp.md, 3.1: FILTER_EVENTS id= filterChildren= <attr>Filter=<regex>, byte for byte."""
    place.simulate(nodes="n1 idle\nn2 down\n")
    machine, n2 = "16777217", "16777234"
    new = [machine, "1", n2, "4", "name=n2", "nodeState=DOWN", "nodeStatus=down", "nodeNumber=1"]
    ok, gone = b"00000017 0000:00000001:00000000", encode_frame(243, 0, [n2])
    with place.session("sim") as live:
        silent(live)
        for arguments, told in (
            ([f"id={machine}", "filterChildren=true", "nodeStateFilter=^UP$"], ok + gone),
            (
                [f"id={machine}", "filterChildren=false", "nodeStateFilter=^UP$"],
                ok + encode_frame(222, 0, new),
            ),
            ([f"id={n2}", "nodeStatusFilter=(?i)IDLE"], ok + gone),
        ):
            live.raw.clear()
            live.write(live.client.command(FILTER, *arguments))
            said(live, told)
        place.simulate(nodes="n1 idle\nn2 idle\n")  # it comes to match
        matching = [*new[:5], "nodeState=UP", "nodeStatus=idle", new[-1]]
        said(live, encode_frame(222, 0, matching))
        place.simulate(nodes="n1 idle\nn2 down\n")  # and no longer does
        said(live, gone)
        number, args = live.do(FILTER, f"id={n2}", "nameFilter=(n")
        assert (number, args[1]) == (5, "errorCode=1210")
        assert args[2].startswith("errorMsg=attribute nameFilter: ")
        assert live.do(FILTER, f"id={n2}") == (0, [])  # no expression: no filter any more
        live.until(lambda: len(live.client.elements[NODE]) == 2)
        assert live.do(SET_FILTERS, "machineStateFilter=DOWN") == (0, [])
        live.until(lambda: not live.client.elements[MACHINE] and not live.client.elements[NODE])
        assert live.do(CLEAR_FILTERS, "stdout", "stderr") == (0, [])
        silent(live)
        assert live.do(CLEAR_FILTERS) == (0, [])
        live.until(lambda: len(live.client.elements[NODE]) == 2)


def test_filters_that_take_too_long_are_given_up(place: Place) -> None:
    """One second for an expression, two for all: then the client is told, and all is told again."""
    place.simulate(nodes=f"n1 {'a' * 60}\n")
    with place.session("sim") as live:
        machine = live.client.id_of(MACHINE, os.uname().nodename)
        slow = r"nodeStatusFilter=^(a|a|aa)+\1?b$"
        assert live.do(FILTER, f"id={machine}", "filterChildren=true", slow) == (0, [])
        live.until(lambda: 1 in live.client.events)
        live.until(lambda: live.client.by_name(NODE).keys() == {"n1"})
        assert live.do(FILTER, "id=16777217", "machineStateFilter=DOWN") == (0, [])
        live.until(lambda: not live.client.elements[MACHINE])  # another one holds


def test_filters_of_any_bytes_end_no_session(place: Place) -> None:
    words = ("nameFilter=" + "(" * 1000, "nameFilter=\0", "Filter=x", "=", "id=\0", "id=1-2",
             "nameFilter=[[", "nameFilter=" + "a?" * 512, "nameFilter=x{9999999999}",
             "filterChildren=", "nameFilter=" + "x" * 1025)  # fmt: skip
    with place.session("sim") as live:
        for word in words:
            for id_ in ("id=16777217", "x"):
                assert live.do(FILTER, id_, "filterChildren=true", word)[0] in {0, 5}
        assert live.do(FILTER, "id=16777217") == (0, [])
        live.until(lambda: len(live.client.elements[NODE]) == 2)


def test_suspending_and_filtering(place: Place) -> None:
    """docs/protocols/ptp.md, 3.1: 7, 8 and 9 are answered with OK; between 8 and 9 nothing is told."""
    with place.session("sim") as live:
        assert live.do(FILTER, "id=16777217", "filterChildren=true") == (0, [])
        assert live.do(SUSPEND) == (0, [])
        place.simulate(nodes="n1 down\nn2 idle\n")
        silent(live)
        assert live.do(RESUME) == (0, [])
        live.until(lambda: live.client.by_name(NODE)["n1"]["nodeState"] == "DOWN")


def test_muted_output_comes_later(place: Place) -> None:
    """docs/protocols/ptp.md, 3.1: SET_FILTERS and CLEAR_FILTERS "stdout", "stderr"."""
    with place.session("here") as live:
        assert live.do(SET_FILTERS, "stdout") == (0, [])
        job = live.submit(*shell("echo out; echo err >&2"))
        live.wait(job)
        live.until(lambda: "processStderr" in live.process_of(job))
        assert "processStdout" not in live.process_of(job)
        assert live.do(CLEAR_FILTERS, "stdout") == (0, [])
        live.until(lambda: "processStdout" in live.process_of(job))


def test_output_is_told_in_order_and_has_an_end(place: Place) -> None:
    """docs/ptp.md, What a client sees. All of a short one, at every cut of its characters."""
    texts: list[str] = []
    with place.session("here") as live:
        model = live.client._model

        def collect(number: int, args: list[str]) -> None:
            texts.extend(a[14:] for a in args if a.startswith("processStdout="))
            model(number, args)

        live.client._model = collect  # type: ignore[method-assign]
        job = live.submit(*shell(r"yes $(printf '\303\244\303\266\303\274') | head -c 100000"))
        live.wait(job)
        # 7 bytes a line: the last one is cut inside a character
        whole = (b"\xc3\xa4\xc3\xb6\xc3\xbc\n" * 20000)[:100000].decode("utf-8", "replace")
        wanted = whole.encode("ascii", "backslashreplace").decode()
        live.until(lambda: len("".join(texts)) >= len(wanted))
        assert "".join(texts) == wanted
        texts.clear()
        job = live.submit(*shell("head -c 3000000 /dev/zero | tr '\\0' x"), sub_id="JOB_2")
        live.wait(job)
        live.until(lambda: texts and texts[-1].endswith("only]\n"))
        assert 1024 * 1024 <= len("".join(texts)) < 1024 * 1024 + 40_000
        assert "stdout only]" in texts[-1]


def test_commands_of_the_seed(place: Place) -> None:
    """docs/protocols/ptp.md, 3.3: MOVE_JOB, CHANGE_JOB and LIST_FILTERS, behind an option."""
    with place.session("here", "--draft-commands") as live:
        job = live.submit(*shell("sleep 600"))
        live.wait(job, "RUNNING")
        assert live.do(9) == (0, [])
        live.client.completions[CHANGE_JOB] = {0, 5}  # what ends it is not in the design
        assert live.do(CHANGE_JOB, f"jobId={job}", "jobState=SUSPENDED") == (0, [])
        live.until(lambda: live.job(job)["jobState"] == "SUSPENDED")
        assert live.do(CHANGE_JOB, f"jobId={job}", "jobState=RUNNING") == (0, [])
        live.wait(job, "RUNNING")
        for command in (
            (CHANGE_JOB, f"jobId={job}", "jobState=COMPLETED"),
            (CHANGE_JOB, "jobId=1", "jobState=RUNNING"),
            (7, f"jobId={job}", "queueId=1"),
        ):
            number, args = live.do(*command)
            assert (number, args[1]) == (5, "errorCode=2")
        assert live.terminate(job) == (0, [])
        live.wait(job)


def test_the_installed_command_and_that_of_the_checkout(place: Place) -> None:
    root = Path(__file__).parents[3]
    for command in (
        [str(Path(sys.executable).with_name("osprofile-ptp-proxy"))],
        [sys.executable, str(root / "cli.py"), "osprofile-ptp-proxy"],
    ):
        done = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, check=True, env=place.environment
        )
        assert done.stdout.startswith("osprofile-ptp-proxy ")
