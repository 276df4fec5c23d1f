"""The commands of PBS Pro, where they differ from those of Torque."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import pytest

from osprofile.jobs.state import EndCause, JobState, JobStatus
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.shim.conftest import Place


@pytest.fixture
def pro(place: Place) -> Place:
    """Return the place with stand-ins of PBS Pro in the place of Torque's."""
    place.write_stand_ins("pbs")
    return place


def test_ended_jobs_are_history(pro: Place) -> None:
    pro.ok("qsub", text="exit 3\n")
    wait_until(lambda: "job_state = F" in pro.ok("qstat", "-x", "-f", "1"))
    ended = pro.run("qstat", "1")
    message = "Job has finished, use -x or -H to obtain historical job information"
    assert (ended.code, ended.out, ended.err) == (35, "", f"qstat: 1.osprofile {message}\n")
    assert pro.ok("qstat") == ""
    assert "    Exit_status = 3\n" in pro.ok("qstat", "-xf", "1.osprofile")
    assert "    Exit_status = 3\n" in pro.ok("qstat", "-H", "-f", "-w")
    header, rule, line = pro.ok("qstat", "-x").splitlines()
    assert header == "Job id            Name             User              Time Use S Queue"
    assert rule == "----------------  ---------------- ----------------  -------- - -----"
    assert re.fullmatch(r"1\.osprofile       STDIN            \S+ +00:00:0\d F here", line)
    assert line.index(" F ") == header.index(" S ")
    ended = pro.run("qdel", "1")
    assert (ended.code, ended.err) == (35, "qdel: Job has finished 1.osprofile\n")
    assert pro.ok("qdel", "-x", "1") == ""
    assert pro.run("qstat", "-x", "99").code == pro.run("qdel", "99").code == 153


def test_json_is_nested(pro: Place) -> None:
    """`qstat -x -f -F json ID`, as Parsl and PSI/J call it."""
    job_id = pro.ok(
        "qsub", "-l", "select=1:ncpus=4:mpiprocs=2:mem=1gb", "-l", "walltime=60", text="exit 1\n"
    ).strip()
    wait_until(lambda: "job_state = F" in pro.ok("qstat", "-x", "-f", job_id))
    found = json.loads(pro.ok("qstat", "-x", "-f", "-F", "json", job_id))
    job = found["Jobs"][job_id]
    assert (job["job_state"], job["Exit_status"], job["substate"]) == ("F", 1, 93)
    assert job["Resource_List"] == {
        "mem": "1024mb", "ncpus": 4, "nodect": 1, "select": "1:ncpus=4:mpiprocs=2", "walltime": "00:01:00",
    }  # fmt: skip
    assert job["resources_used"].keys() == {"walltime"}
    assert job["Variable_List"]["PBS_O_WORKDIR"] == str(pro.work)
    assert "Resource_List.ncpus" not in job
    line = pro.ok("qstat", "-xf", "-F", "dsv", "-D", ";", job_id)
    assert line.startswith(f"Job Id: {job_id};Job_Name=STDIN;")
    assert ";Exit_status=1;" in line


ENDS = [
    (JobStatus("", JobState.DONE, exit_code=0), "92", "0"),
    (JobStatus("", JobState.DONE, exit_code=3), "93", "3"),
    (JobStatus("", JobState.DONE), "93", "-1"),
    (JobStatus("", JobState.FAILED, cause=EndCause.TIME), "93", "-29"),
    (JobStatus("", JobState.REMOVED, started=1.0), "91", "271"),
    (JobStatus("", JobState.REMOVED), "91", None),
    (JobStatus("", JobState.LOST), "93", "-1"),
]


def test_ends(pro: Place) -> None:
    for number, (status, substate, exit_status) in enumerate(ENDS, 1):
        pro.ok("qsub", text="sleep 1000\n")
        pro.record_end(number, status)
        shown = pro.ok("qstat", "-xf", str(number))
        assert "    job_state = F\n" in shown
        assert f"    substate = {substate}\n" in shown
        found = re.search("Exit_status = (.*)", shown)
        assert (found and found[1]) == exit_status, status


def test_a_program_in_place_of_a_script(pro: Place) -> None:
    pro.ok("qsub", "-o", "out", "--", "/bin/echo", "hello", "a  'b'", "-N", "$HOME", "#PBS")
    wait_until(lambda: pro.ok("qstat") == "")
    assert (pro.work / "out").read_text() == "hello a  'b' -N $HOME #PBS\n"
    assert (pro.work / "STDIN.e1").read_text() == ""


def test_arrays(pro: Place) -> None:
    assert pro.ok("qsub", "-N", "arr", "-J", "12-13", text="echo $PBS_ARRAY_INDEX\n") == "1[].osprofile\n"
    wait_until(lambda: pro.ok("qstat") == "")
    outputs = {path.name: path.read_text() for path in pro.work.glob("arr.*")}
    assert outputs == {"arr.o1.12": "12\n", "arr.o1.13": "13\n", "arr.e1.12": "", "arr.e1.13": ""}


def test_an_array_is_one_job(pro: Place) -> None:
    """Its id is the one that qsub printed, also as a key of JSON; -t lists its tasks, and an id with an index is one."""
    pro.script("#!/bin/sh\n[ $PBS_ARRAY_INDEX = 2 ] || exec sleep 1000\n")
    array = pro.ok("qsub", "-J", "1-3", "job.sh").strip()

    def list_ids(*words: str) -> list[str]:
        return [line.split()[0] for line in pro.ok("qstat", *words).splitlines()[2:]]

    wait_until(lambda: "Running:2 Exiting:0 Expired:1" in pro.ok("qstat", "-f", array))
    assert list_ids() == list_ids(array) == list_ids("1") == [array]
    tasks = [f"1[{i}].osprofile" for i in (1, 2, 3)]
    assert list_ids("-t", "-x") == [array, *tasks]
    assert list_ids("1[3]") == [tasks[2]]
    assert pro.ok("qselect") == f"{array}\n"
    job = json.loads(pro.ok("qstat", "-f", "-F", "json", array))["Jobs"][array]
    shown = (job["job_state"], job["array"], job["array_indices_submitted"], job["array_indices_remaining"])
    assert shown == ("B", "True", "1-3", "-")
    pro.ok("qdel", "1[1]")
    pro.ok("qdel", array)
    assert list_ids("-xt") == [array, *tasks]
    assert "job_state = F" in pro.ok("qstat", "-xf", array)


def test_dependencies_on_tasks(pro: Place) -> None:
    """An id of an array or a task is taken as qsub and qstat print it, also by the conditions for arrays of Torque."""
    pro.script("#!/bin/sh\nexit $((PBS_ARRAY_INDEX - 1))\n")
    array = pro.ok("qsub", "-J", "1-2", "job.sh").strip()
    for number, condition in enumerate(
        ("afterok:1[1].osprofile", "afternotok:1[2]", f"afteranyarray:{array}", "afterany:1"), 2
    ):
        pro.ok("qsub", "-o", f"out{number}", "-W", f"depend={condition}", text="echo ran\n")
    pro.ok("qsub", "-o", "never", "-W", "depend=afterok:1[2]", text="echo ran\n")
    wait_until(lambda: pro.ok("qstat") == "")
    assert sorted(path.name for path in pro.work.glob("out*")) == ["out2", "out3", "out4", "out5"]
    assert not (pro.work / "never").exists()
    assert "job 1 has no task 9" in pro.run("qsub", "-W", "depend=afterok:1[9]", text="true\n").err


def test_queues_and_the_server(pro: Place) -> None:
    pro.ok("qsub", "-N", "one", text="sleep 1000\n")
    wait_until(lambda: pro.ok("qselect", "-s", "R") == "1.osprofile\n")
    header, _, line = pro.ok("qstat", "-Q").splitlines()
    counts = dict(zip(header.split(), line.split(), strict=True))
    assert [counts[name] for name in ("Queue", "Tot", "Ena", "Str", "Run", "Type")] == [
        "here", "1", "yes", "yes", "1", "Exec",
    ]  # fmt: skip
    assert pro.ok("qstat", "-Qf", "here").splitlines()[:3] == [
        "Queue: here",
        "    queue_type = Execution",
        "    total_jobs = 1",
    ]
    assert json.loads(pro.ok("qstat", "-Q", "-f", "-F", "json"))["Queue"]["here"]["enabled"] == "True"
    assert json.loads(pro.ok("qstat", "-Bf", "-F", "json"))["Server"]["osprofile"]["total_jobs"] == 1
    ended = pro.run("qstat", "-Q", "other")
    assert (ended.code, ended.err) == (170, "qstat: Unknown queue other\n")


def test_forms_of_the_other_table(pro: Place) -> None:
    pro.ok("qsub", "-N", "one", text="sleep 1000\n")
    wait_until(lambda: pro.ok("qselect", "-s", "R") == "1.osprofile\n")
    (host,) = pro.ok("qstat", "-f", "1").partition("exec_host = ")[2].splitlines()[:1]
    for words, tail in (
        (["-n"], [f"   {host}"]),
        (["-s"], ["   --"]),
        (["-r"], []),
        (["-E", "-l", "-a"], []),
    ):
        lines = pro.ok("qstat", *words).splitlines()
        assert (lines[5].split()[0], lines[6:]) == ("1.osprofile", tail)
    assert pro.ok("qstat", "-n1").splitlines()[5].split()[-1] == host
    assert pro.ok("qstat", "-i") == ""


def test_places(pro: Place) -> None:
    for place in ("free", "scatter:shared", "pack", "excl"):  # without queues, nodes are not shared out
        pro.ok("qsub", "-q", "fast", "-l", f"select=1,place={place}", text="true\n")
    ended = pro.run("qsub", "-l", "select=1,place=pack:group=host", text="true\n")
    assert (ended.code, ended.out) == (2, "")
    assert "'group=host' is not supported" in ended.err


REFUSED = [
    (["-t", "1-2"], "option -t is not supported"),
    (["-l", "procs=2"], "option '-l procs=2' is not supported"),
    (["-l", "select=1:ncpus=3:mpiprocs=2"], "cannot be divided"),
    (["-l", "select=1,nodes=1"], "nodes and select exclude each other"),
    (["-l", "select=2,place=pack"], "-l place: 'pack' is not supported"),
]


def test_what_is_refused(pro: Place) -> None:
    for words, text in REFUSED:
        ended = pro.run("qsub", *words, text="true\n")
        assert (ended.code, ended.out) == (2, ""), words
        assert text in ended.err
    assert pro.sessions == []


def test_nextflow(pro: Place) -> None:
    """Nextflow's executor pbspro names the server that `qstat -B` lists."""
    pro.ok("qsub", "-N", "nf-one", text="sleep 1000\n")
    wait_until(lambda: "job_state = R" in pro.ok("qstat", "-f"))
    ended = pro.shell(
        "qstat -f $( qstat -B | grep -E -v '(^Server|^---)' | awk -v ORS=' ' '{print \"@\"$1}' )"
        " | grep -E '(Job Id:|job_state =)'"
    )
    assert (ended.code, ended.out) == (0, "Job Id: 1.osprofile\n    job_state = R\n")
    pro.ok("qdel", "1")


def test_holds(pro: Place) -> None:
    pro.ok("qsub", text="sleep 1000\n")
    pro.ok("qsub", "-W", "depend=afterany:1", text="echo ran > ran\n")
    wait_until(lambda: pro.ok("qselect", "-s", "R") == "1.osprofile\n")
    ended = pro.run("qhold", "1")
    assert (ended.code != 0, "job_state = R" in pro.ok("qstat", "-f", "1")) == (True, True)
    assert pro.ok("qhold", "2") == ""
    assert "job_state = H" in pro.ok("qstat", "-f", "2")
    pro.ok("qdel", "1")
    assert pro.ok("qrls", "-h", "u", "2") == ""
    wait_until((pro.work / "ran").exists)
    assert pro.run("qhold", "99").code == pro.run("qrls", "99").code == pro.run("qalter", "99").code == 153
    assert "-h: 's' is not supported" in pro.run("qrls", "-h", "s", "2").err


def test_other_commands(pro: Place) -> None:
    pro.ok("qsub", text="sleep 1000\n")
    ended = pro.run("qalter", "-l", "walltime=60", "1")
    assert (ended.code, "a submitted job cannot be changed" in ended.err) == (2, True)
    (host,) = pro.ok("qstat", "-f", "1").partition("exec_host = ")[2].splitlines()[:1]
    name = host.removesuffix("/0")
    for words in (["-a"], [], ["-v", name]):
        assert pro.ok("pbsnodes", *words).splitlines()[:3] == [
            name,
            f"     Mom = {name}",
            "     state = free",
        ]
    assert re.search(r"^ {5}resources_available.ncpus = \d+\n", pro.ok("pbsnodes", "-a"), re.MULTILINE)
    node = json.loads(pro.ok("pbsnodes", "-a", "-F", "json"))["nodes"][name]
    assert node["resources_available"]["ncpus"] == node["pcpus"] == os.cpu_count()
    assert pro.ok("pbsnodes", "-l") == ""
    ended = pro.run("pbsnodes", "other")
    assert (ended.code, ended.err) == (1, "pbsnodes: other: Unknown node\n")
    for program in ("qsub", "qstat", "qdel", "pbsnodes"):
        assert re.fullmatch(r"pbs_version = \d+\.\d+\.\d+\n", pro.ok(program, "--version"))
