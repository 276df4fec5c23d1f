"""`incarnate job output`: the files of jobs that wait, run and have ended, here and on another host."""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
from typing import TYPE_CHECKING

import pytest

from osprofile.jobs.record.store import default_store_path
from osprofile.jobs.state import JobState, JobStatus
from tests.cli.job.conftest import adopt
from tests.fork_server import read_forked
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from tests.cli.job.conftest import Machine

BYTES = bytes(range(256)) + b"\x1b[2Jno end of line"


def read_bytes(*words: str) -> bytes:
    ended = read_forked("incarnate", "job", "output", *words, environment=os.environ, timeout=PATIENCE)
    assert (ended.returncode, ended.stderr) == (0, b"")
    return ended.stdout


@pytest.mark.parametrize("host", [(), ("--host", "far")])
def test_the_bytes_come_as_they_are(machine: Machine, host: tuple[str, ...]) -> None:
    (machine.root / "bytes").write_bytes(BYTES)
    script = f"cat '{machine.root}/bytes'; echo wrong >&2; echo again >&2"
    words = ("--stdout", "it's $HOME\t.out", *host, "sh", "-c", script)
    job_id = machine.submit(*words)
    assert machine.run("job", "wait", job_id).code == 0
    assert read_bytes(job_id) == BYTES
    assert read_bytes("--error", job_id) == b"wrong\nagain\n"
    assert read_bytes("-e", "-n", "1", job_id) == b"again\n"
    assert read_bytes("--tail", "0", job_id) == b""
    assert read_bytes("-f", job_id) == BYTES


def test_where_a_failed_job_has_told_why(machine: Machine) -> None:
    """Only if it has printed nothing else, and something there."""
    scripts = (
        "echo why >&2; exit 3",
        "echo why >&2; kill -9 $$",
        "echo why >&2",
        "exit 3",
        "echo x; echo why >&2; exit 3",
    )
    jobs = [machine.submit("sh", "-c", text) for text in scripts]
    machine.run("job", "wait", *jobs)
    for number, job_id in enumerate(jobs):
        hint = f"incarnate: its error output: incarnate job output --error {job_id}\n" if number < 2 else ""
        for options in ((), ("-f",), ("--tail", "1")):
            ended = machine.run("job", "output", *options, job_id)
            assert (ended.code, ended.out, ended.err) == (0, "x\n" if number == 4 else "", hint)
    for words in (("--error", jobs[0]), ("--tail", "0", jobs[4])):
        assert machine.run("job", "output", *words).err == ""
    assert machine.run("job", "output", "--stderr", jobs[0]).out == "why\n"


def test_several_jobs_have_headers(machine: Machine) -> None:
    first, silent, last = (machine.submit("sh", "-c", text) for text in ("echo 1; echo 2", "true", "echo 3"))
    assert machine.run("job", "wait", first, silent, last).code == 0
    ended = machine.run("job", "output", first, silent, last)
    assert ended.out == f"==> {first} <==\n1\n2\n\n==> {silent} <==\n\n==> {last} <==\n3\n"
    ended = machine.run("job", "output", "-n", "1", first, last)
    assert ended.out == f"==> {first} <==\n2\n\n==> {last} <==\n3\n"
    ended = machine.run("job", "output", first, "nonsense", last)
    assert (ended.code, ended.out) == (2, f"==> {first} <==\n1\n2\n\n==> {last} <==\n3\n")
    assert "job nonsense is not in the record" in ended.err


def test_an_array_s_output_is_that_of_its_tasks(machine: Machine) -> None:
    script = 'echo "task $GPE_ARRAY_INDEX"; echo "error $GPE_ARRAY_INDEX" >&2'
    array = machine.submit("--array", "1-9:4", "sh", "-c", script)
    assert machine.run("job", "wait", array).code == 0
    texts = [f"==> {array}_{index} <==\ntask {index}\n" for index in (1, 5, 9)]
    assert machine.run("job", "output", array).out == "\n".join(texts)
    assert machine.run("job", "output", f"{array}_5").out == "task 5\n"
    assert machine.run("job", "output", "-e", f"{array}_5").out == "error 5\n"
    assert sorted(re.findall("task .", machine.run("job", "output", "-f", array).out)) == [
        "task 1", "task 5", "task 9",
    ]  # fmt: skip
    for path in machine.root.glob("jobs/*/*/stdout.[15]"):
        path.unlink()
    ended = machine.run("job", "output", array)
    assert (ended.code, ended.out) == (1, "==> " + texts[2].removeprefix("==> "))
    assert "2 of 3 tasks have no stdout yet, or no longer" in ended.err


def test_tasks_that_write_to_a_device(machine: Machine) -> None:
    """The names of devices have no index; those of files in /dev/shm have."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as shared:
        script = "echo lost; echo kept $GPE_ARRAY_INDEX >&2"
        files = ("--stdout", "/dev/null", "--stderr", f"{shared}/err")
        array = machine.submit(*files, "--array", "1-2", "sh", "-c", script)
        assert machine.run("job", "wait", array).code == 0
        ended = machine.run("job", "output", f"{array}_2")
        assert (ended.code, ended.out, ended.err) == (0, "", "")
        assert machine.run("job", "output", "--error", f"{array}_2").out == "kept 2\n"
        shown = [machine.run("job", "show", name).out for name in (array, f"{array}_2")]
    assert [re.findall(r"  std\w+ +(\S+)", text) for text in shown] == [
        ["/dev/null", f"{shared}/err.{index}"] for index in ("INDEX", "2")
    ]


def test_many_files_are_not_followed(machine: Machine) -> None:
    array = machine.submit("--array", "1-101", "true")
    ended = machine.run("job", "output", "-f", array)
    assert (ended.code, ended.out) == (2, "")
    assert "these are 101 files: at most 100 are followed" in ended.err
    machine.run("job", "cancel", array)


def test_what_comes_is_followed_until_the_end(machine: Machine) -> None:
    go = machine.root / "go"
    job_id = machine.submit(
        "sh", "-c", f"echo 1; echo 2; until [ -e '{go}' ]; do sleep 0.05; done; printf 3; exit 7"
    )
    process = machine.start("job", "output", "-f", "-n", "1", job_id)
    assert process.stdout.readline() == "2\n"
    go.touch()
    assert process.communicate(timeout=PATIENCE) == ("3", "")
    assert process.returncode == 0


def test_a_waiting_job_is_waited_for(machine: Machine) -> None:
    go = machine.root / "go"
    first = machine.submit("sh", "-c", f"until [ -e '{go}' ]; do sleep 0.05; done")
    job_id = machine.submit("--after", first, "echo", "late")
    ended = machine.run("job", "output", job_id)
    assert (ended.code, ended.out) == (1, "")
    waits = f"job {job_id} is QUEUED (waits for afterok:{first})"
    assert ended.err == (
        f"incarnate: {waits}: it has no stdout yet\n    hint: incarnate job output -f waits for it\n"
    )
    process = machine.start("job", "output", "-f", job_id)
    assert process.stderr.readline() == f"incarnate: {waits}: waiting for its stdout\n"
    go.touch()
    assert process.communicate(timeout=PATIENCE) == ("late\n", "")
    assert process.returncode == 0


def test_a_file_that_begins_anew(machine: Machine) -> None:
    """As after a requeue, or when a program truncates or replaces its log."""
    job_id = machine.submit("sleep", "100")
    process = machine.start("job", "output", "-f", job_id)
    path = machine.directories[0] / "stdout"
    path.write_text("first run\n")
    assert process.stdout.readline() == "first run\n"
    path.write_text("cut\n")
    assert process.stdout.readline() == "cut\n"
    other = path.with_name("other")
    other.write_text("another file, and a longer one\n")
    other.rename(path)
    assert process.stdout.readline() == "another file, and a longer one\n"
    assert machine.run("job", "cancel", job_id).code == 0
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (0, "")
    assert err == f"incarnate: the stdout of job {job_id} begins anew\n" * 2


def test_an_interrupt_ends_the_following_only(machine: Machine) -> None:
    job_id = machine.submit("sh", "-c", "echo 1; exec sleep 100")
    process = machine.start("job", "output", "-f", job_id)
    assert process.stdout.readline() == "1\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=PATIENCE) == ("", "")
    assert process.returncode == 130
    assert machine.run_json("list", job_id)[0]["state"] == "RUNNING"


def test_a_reader_that_goes(machine: Machine) -> None:
    job_id = machine.submit("--wait", "sh", "-c", "seq 100000")
    process = machine.start("job", "output", job_id)
    assert process.stdout.readline() == "1\n"
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait(PATIENCE)


def test_a_lost_connection_is_tried_again(machine: Machine) -> None:
    go = machine.root / "go"
    script = f"echo 1; until [ -e '{go}' ]; do sleep 0.05; done; echo 2"
    job_id = machine.submit("--host", "far", "sh", "-c", script)
    process = machine.start("job", "output", "-f", job_id)
    assert process.stdout.readline() == "1\n"
    (machine.root / "down").touch()
    lines: list[str] = []
    while not lines or "trying again" not in lines[-1]:
        lines.append(process.stderr.readline())
    assert "No route to host" in lines[-1]
    (machine.root / "down").unlink()
    go.touch()
    assert process.communicate(timeout=PATIENCE)[0] == "2\n"
    assert process.returncode == 0
    (machine.root / "down").touch()
    ended = machine.run("job", "output", "-f", job_id)
    assert (ended.code, ended.out) == (1, "")
    assert "No route to host" in ended.err
    (machine.root / "down").unlink()


def test_a_large_file(machine: Machine) -> None:
    """A file with a hole of 1 TB, of which only the last lines are read; a part of a file is not kept in memory."""
    job_id = machine.submit(
        "--wait", "sh", "-c", "cd $GPE_WORKING_DIRECTORY; truncate -s 1T stdout; printf 'a\\nb\\n' >> stdout"
    )
    assert read_bytes("--tail", "1", job_id) == b"b\n"
    (machine.directories[0] / "stdout").write_bytes(b"x" * (40 << 20) + b"\nend\n")
    assert read_bytes(job_id) == b"x" * (40 << 20) + b"\nend\n"
    assert read_bytes("-n", "2", job_id) == b"x" * (40 << 20) + b"\nend\n"


def test_a_file_that_is_gone(machine: Machine) -> None:
    job_id = machine.submit("--wait", "echo", "x")
    directory = machine.directories[0]
    (directory / "stdout").unlink()
    for words in ((job_id,), ("-f", job_id)):
        ended = machine.run("job", "output", *words)
        assert (ended.code, ended.out) == (1, "")
        assert f"job {job_id} has ended, and its stdout {directory}/stdout is not there" in ended.err
    os.mkfifo(directory / "stdout")
    ended = machine.run("job", "output", job_id)
    assert (ended.code, ended.out) == (1, "")
    assert "this is not a regular file" in ended.err
    shutil.rmtree(directory)
    ended = machine.run("job", "output", job_id)
    assert (ended.code, ended.out) == (1, "")
    assert "hint: the job's directory was deleted or moved" in ended.err


def test_a_device_has_no_output(machine: Machine) -> None:
    job_id = machine.submit("--wait", "--stdout", "/dev/null", "echo", "x")
    assert read_bytes(job_id) == b""
    assert read_bytes("-f", "-n", "3", job_id) == b""


def test_a_job_that_was_not_started_here(machine: Machine) -> None:
    adopt("here", JobStatus("7", JobState.RUNNING))
    for words in (("7",), ("-f", "7")):
        ended = machine.run("job", "output", *words)
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith("incarnate: job 7 has no stdout in the record\n")
        assert "hint: it was not submitted with this record" in ended.err


def test_a_job_that_nobody_knows(machine: Machine) -> None:
    """The same fault by each verb, whatever was asked about the job."""
    expected = machine.run("job", "list", "-p", "here", "1-2-0123abcd")
    assert (expected.code, expected.out) == (2, "")
    assert machine.run("job", "output", "-p", "here", "1-2-0123abcd") == expected
    machine.submit("true")
    for verb in ("show", "output", "list"):
        ended = machine.run("job", verb, "nosuch")
        assert ended.code == 2
        assert ended.err.startswith(
            f"incarnate: job nosuch is not in the record {default_store_path()}, by its"
        )
        assert "hint: incarnate job list --all shows the jobs; " in ended.err
    job_id = machine.submit("--host", "far", "true")
    assert machine.run("job", "wait", job_id).code == 0
    ended = machine.run("job", "list", "--host", "other", job_id)
    assert ended.err.endswith("hint: this id is recorded for --profile here --host far\n")
