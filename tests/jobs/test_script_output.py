"""What scripts print, read by the profile's patterns: states, exit codes, signals, ids, files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import osprofile
from osprofile import javaregex
from osprofile.errors import InvalidProfileError, OutputError, ValueRefusedError
from osprofile.incarnation.incarnate import incarnate
from osprofile.jobs.shell import output as script_output
from osprofile.jobs.state import EndCause, JobState, JobStatus
from osprofile.jobs.target_system import TargetSystem
from osprofile.jobs.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Callable

    from osprofile.profile.model import Profile

D, F, R, X, L, U = (
    JobState.DONE,
    JobState.FAILED,
    JobState.RUNNING,
    JobState.REMOVED,
    JobState.LOST,
    JobState.UNKNOWN,
)

# The tag's state and cause, the exit code and signal as reported; what that means.
JUDGED = [
    ((D, None, 0, None), (D, 0, None, None)),
    ((D, None, None, None), (D, None, None, None)),
    ((F, None, 3, None), (D, 3, None, None)),
    ((D, None, 127, None), (D, 127, None, None)),
    ((D, None, 128, None), (D, 128, None, None)),
    ((D, None, 137, None), (F, None, 9, EndCause.SIGNAL)),
    ((F, None, 143, 15), (F, None, 15, EndCause.SIGNAL)),
    ((D, None, 152, None), (F, None, 24, EndCause.TIME)),
    ((D, None, 192, None), (F, None, 64, EndCause.SIGNAL)),
    ((F, None, 193, None), (D, 193, None, None)),
    ((D, None, 255, None), (D, 255, None, None)),
    ((D, None, 256, None), (D, None, None, None)),
    ((F, None, 271, None), (F, None, 15, EndCause.SIGNAL)),
    ((F, None, 320, None), (F, None, 64, EndCause.SIGNAL)),
    ((F, None, 321, None), (F, None, None, None)),
    ((F, None, -29, None), (F, None, None, None)),
    ((D, None, 137, 0), (D, 137, None, None)),  # the batch system knows that it was no signal
    ((D, None, None, 9), (F, None, 9, EndCause.SIGNAL)),
    ((F, None, None, None), (F, None, None, None)),
    ((F, EndCause.LIMIT, None, None), (F, None, None, EndCause.LIMIT)),
    ((F, EndCause.LIMIT, 0, None), (F, None, None, EndCause.LIMIT)),
    ((F, EndCause.LIMIT, 137, None), (F, None, 9, EndCause.LIMIT)),
    ((X, None, 0, 15), (X, None, None, EndCause.USER)),
    ((L, None, 0, None), (L, None, None, None)),
    ((R, None, 0, None), (R, None, None, None)),
    ((U, None, 3, None), (U, None, None, None)),
    ((F, EndCause.NODE, 0, None), (F, None, None, EndCause.NODE)),
    ((X, EndCause.DEPENDENCY, None, None), (X, None, None, EndCause.DEPENDENCY)),
]


@pytest.mark.parametrize(("told", "meant"), JUDGED)
def test_ends(
    told: tuple[JobState, EndCause | None, int | None, int | None],
    meant: tuple[JobState, int | None, int | None, EndCause | None],
) -> None:
    state, cause, code, signal = told
    assert script_output.interpret_exit(state, cause=cause, code=code, signal=signal) == meant


@pytest.fixture
def make_profile(load: Callable[[str], Profile]) -> Callable[[str], Profile]:
    return lambda status: load(
        f"""<idb:Template name="GET_JOB_STATUS">
  <idb:Invocation name=""><idb:Body>true</idb:Body></idb:Invocation>{status}
</idb:Template>"""
    )


PATTERN = (
    r"(?m)^(?<id>\d+) (?<state>\w+)(?:/(?<substate>\w+))?(?: x(?<exit>-?\w+))?"
    r"(?: on (?<host>\S+))?(?: because (?<reason>.*))?$"
)
STATUS = """
  <idb:Field name="STATUS_PATTERN" isSettable="false"><idb:Value><![CDATA[@]]></idb:Value></idb:Field>
  <idb:Field name="STATE" isSettable="false">
    <idb:Tag name="R">RUNNING</idb:Tag> <idb:Tag name="F">FAILED</idb:Tag>
    <idb:Tag name="F/ok">DONE</idb:Tag> <idb:Tag name="T">FAILED/LIMIT</idb:Tag>
  </idb:Field>""".replace("@", PATTERN)


def test_lines(make_profile: Callable[[str], Profile]) -> None:
    reader = script_output.StatusOutputReader(make_profile(STATUS))
    text = "JOBS\n1 R on n1,n2+n3 because of that\n2 F/ok x0\n3 F/no\n4 T\n5 purple\n6 F x1x\n!!\n"
    found = reader.read_statuses(text)
    assert {j: (s.state, s.native_state, s.exit_code, s.limit_exceeded) for j, s in found.items()} == {
        "1": (R, "R", None, False),
        "2": (D, "F/ok", 0, False),
        "3": (F, "F/no", None, False),
        "4": (F, "T", None, True),
        "5": (U, "purple", None, False),
        "6": (F, "F", None, False),
    }
    assert (found["1"].hosts, found["1"].reason) == (("n1", "n2", "n3"), "of that")
    assert reader.read_statuses(text) is found
    again = reader.read_statuses(text.replace("3 F/no", "3 R"))
    assert again["1"] is found["1"]
    assert again["3"].state is R


def test_words_without_a_tag(make_profile: Callable[[str], Profile]) -> None:
    """The tag * gives them a state that has not ended; a state with a tag knows each of its substates."""
    tag = '<idb:Tag name="T">FAILED/LIMIT</idb:Tag>'
    profile = make_profile(STATUS.replace(tag, '<idb:Tag name="*">QUEUED</idb:Tag>'))
    found = script_output.StatusOutputReader(profile).read_statuses("1 R\n2 F/no\n3 purple x3\n4 T/a\n")
    assert {j: (s.state, s.native_state, s.exit_code, s.unknown_word) for j, s in found.items()} == {
        "1": (R, "R", None, False),
        "2": (F, "F/no", None, False),
        "3": (JobState.QUEUED, "purple", None, True),
        "4": (JobState.QUEUED, "T/a", None, True),
    }
    with pytest.raises(InvalidProfileError, match="which is not a state that has not ended"):
        script_output.StatusOutputReader(make_profile(STATUS.replace('name="T"', 'name="*"')))


def test_text_without_jobs(make_profile: Callable[[str], Profile]) -> None:
    reader = script_output.StatusOutputReader(make_profile(STATUS))
    assert reader.read_statuses("") == {}
    assert reader.read_statuses(" \n") == {}
    with pytest.raises(OutputError) as caught:
        reader.read_statuses("Segmentation fault\nin qstat\n")
    assert "GET_JOB_STATUS printed 'Segmentation fault', in which STATUS_PATTERN" in str(caught.value)


# What an id looks like, ids of that form, and words that are none.
ID_FORMS = [
    ("[1-9][0-9]*(_[0-9]+)?", ["17", "17_3"], ["0", "17_", "x17"]),
    ("f[1-9A-HJ-NP-Za-km-z]+", ["f4jG2v", "f1"], ["f", "f0", "4jG2v"]),
    ("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", ["4d2a1c3e-0b1c-4c55-9a11-0123456789ab"], ["4d2a1c3e"]),
    ("[a-z0-9]([a-z0-9-]*[a-z0-9])?", ["kube-job-x7f2p", "a"], ["-a", "a-"]),
    (r"[0-9]+(\[[0-9]*\])?(\.[A-Za-z0-9.-]+)?", ["1234[].server", "1234[7]", "1234"], ["[].server"]),
    ("[a-z]+;[0-9]+", ["cluster;12"], ["12", "cluster;"]),
    ("a|b", ["a", "b"], ["ab"]),
    ("j~[0-9]+%[a-z]", ["j~1%a"], ["j~1"]),
]
TEMPLATES = """<idb:Template><idb:Field name="JOB_ID_PATTERN" isSettable="false"><idb:Value><![CDATA[@]]></idb:Value></idb:Field>
  <idb:Field name="JOB_ID" ext:patternField="JOB_ID_PATTERN"/></idb:Template>
<idb:Template name="START"><idb:Invocation><idb:Body>true</idb:Body></idb:Invocation></idb:Template>
<idb:Template name="GET_JOB_STATUS"><idb:Invocation><idb:Body><![CDATA[stat '<JOB_ID>']]></idb:Body></idb:Invocation>
  <idb:Field name="STATE" isSettable="false"><idb:Tag name="R">RUNNING</idb:Tag><idb:Tag name="E/x">DONE</idb:Tag></idb:Field>
</idb:Template>"""


@pytest.mark.parametrize(("form", "ids", "others"), ID_FORMS)
def test_ids_of_any_form(
    load: Callable[[str], Profile], form: str, ids: list[str], others: list[str]
) -> None:
    profile = load(TEMPLATES.replace("@", form))
    pattern = script_output.get_job_id_pattern(profile)
    assert script_output.get_status_pattern(profile).is_line_based
    for job_id in ids:
        for text in (job_id, f"{job_id}\n", f"Welcome\n{job_id}\n\n"):
            assert script_output.parse_job_id(pattern, text) == job_id
        incarnate(profile, "GET_JOB_STATUS", fields={"JOB_ID": job_id})
    for other in (*others, f"{ids[0]} x", f"x {ids[0]}", f"{ids[0]}\nx y"):
        assert script_output.parse_job_id(pattern, other + "\n") is None
        with pytest.raises(ValueRefusedError):
            incarnate(profile, "GET_JOB_STATUS", fields={"JOB_ID": other})
    text = "".join(
        f"{job_id} E/x exit=3 host=n1,n2 queue=q elapsed=7.5 cpu=2.25 memory=209715200 energy=12.5"
        " cpus=4 allocated=1048576 ended=1800000000.5 reason=of it\n"
        for job_id in ids
    )
    reader = script_output.StatusOutputReader(profile)
    ended = JobStatus("", D, "E/x", 3, None, None, ("n1", "n2"), "of it", queue="q", elapsed=7.5)
    ended = ended._replace(
        cpu_time=2.25,
        max_memory=200 << 20,
        energy=12.5,
        allocated_cpus=4,
        allocated_memory=1 << 20,
        ended=1800000000.5,
        end_reported=True,
    )
    assert reader.read_statuses(text) == {job_id: ended._replace(job_id=job_id) for job_id in ids}
    assert reader.read_statuses(f"noise of it\n{ids[0]} R\n")[ids[0]].state is R
    assert reader.read_statuses(f"{ids[0]} R ended=5\n")[ids[0]].ended is None


def test_many_lines_are_read_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time limit of a pattern is for one call: on a busy machine, a hundred thousand lines would reach it."""
    lengths = []
    find_groups = javaregex.Pattern.find_groups

    def note_length(pattern: javaregex.Pattern, value: str) -> list[tuple[int, tuple[str | None, ...]]]:
        lengths.append(len(value))
        return find_groups(pattern, value)

    monkeypatch.setattr(javaregex.Pattern, "find_groups", note_length)
    lines = [f"{number} RUNNING host=n{number} elapsed={number}" for number in range(1, 5001)]
    reader = script_output.StatusOutputReader(osprofile.load("slurm"))
    statuses = reader.read_statuses("\n".join(lines))
    assert [*statuses] == [str(number) for number in range(1, 5001)]
    assert all(status.hosts == (f"n{job_id}",) for job_id, status in statuses.items())
    assert max(lengths) < len("\n".join(lines)) / 4
    changed = reader.read_statuses("\n".join(["1 PENDING", *lines[1:]]))
    assert changed["1"].state is JobState.QUEUED
    assert all(changed[str(number)] is statuses[str(number)] for number in range(2, 5001))


def test_standard_lines(load: Callable[[str], Profile]) -> None:
    reader = script_output.StatusOutputReader(load(TEMPLATES.replace("@", "[1-9][0-9]*(_([0-9]+))?")))
    lines = [
        "1 R",
        "2_4 E/x signal=9",
        "3 E/x exit=-4 reason=",
        "4 odd/",
        "5 R extra",
        "6  R",
        "7 R queue=a host=b",
    ]
    found = reader.read_statuses("\n".join(lines))
    assert {j: (s.state, s.native_state, s.exit_code, s.signal) for j, s in found.items()} == {
        "1": (R, "R", None, None),
        "2_4": (F, "E/x", None, 9),
        "3": (D, "E/x", None, None),
    }


def test_the_field_of_start_goes_first(load: Callable[[str], Profile]) -> None:
    own = '<idb:Field name="JOB_ID_PATTERN" isSettable="false"><idb:Value><![CDATA[job (?<id>x[0-9]+)]]></idb:Value></idb:Field>'
    start = "<idb:Body>true</idb:Body></idb:Invocation>"
    profile = load(TEMPLATES.replace("@", "[0-9]+").replace(start, start + own, 1))
    pattern = script_output.get_job_id_pattern(profile)
    assert script_output.parse_job_id(pattern, "a job x4 it is") == "x4"
    assert script_output.parse_job_id(pattern, "4") is None
    assert [*script_output.StatusOutputReader(profile).read_statuses("4 R")] == ["4"]


def test_no_form_and_no_status_pattern(load: Callable[[str], Profile]) -> None:
    with pytest.raises(InvalidProfileError, match="no fixed field STATUS_PATTERN"):
        script_output.StatusOutputReader(load(TEMPLATES.replace("@", "(?<id>[0-9]+)")))


def test_files() -> None:
    pattern = javaregex.compile(r"(?m)^(?<type>\w) (?<mode>\d{4}) (?<size>\d+) (?<mtime>-?\d+) (?<name>\S+)$")
    text = "f 0644 5 -1 a%20b%0Ac\nd 4755 0 9 %FF\n"
    assert script_output.parse_entries(pattern, text) == [
        script_output.FileEntry("a b\nc", "f", 0o644, 5, -1),
        script_output.FileEntry("\udcff", "d", 0o4755, 0, 9),
    ]
    assert script_output.parse_entries(pattern, "") == []
    with pytest.raises(OutputError, match="LIST printed 'what'"):
        script_output.parse_entries(pattern, "what\n")


@pytest.mark.parametrize(
    ("value", "seconds"), [("", 120.0), ("<idb:Value>7</idb:Value>", 7.0), (None, 120.0)]
)
def test_time_limits(load: Callable[[str], Profile], value: str | None, seconds: float) -> None:
    field = f'<idb:Field name="TIME_LIMIT" isSettable="false">{value}</idb:Field>'
    profile = load(
        f"""<idb:Template>{field if value is not None else ""}</idb:Template>
<idb:Template name="HOLD"><idb:Invocation name=""><idb:Body>x</idb:Body></idb:Invocation></idb:Template>"""
    )
    assert script_output.get_time_limit(profile, "HOLD", 120.0) == seconds


@pytest.mark.parametrize(
    ("value", "seconds"), [("2", 2.0), ("0.25", 0.25), ("0", None), ("0.0", None), ("-1", None), ("1s", None)]
)
def test_poll_intervals(load: Callable[[str], Profile], value: str, seconds: float | None) -> None:
    body = '<idb:Invocation name=""><idb:Body>x</idb:Body></idb:Invocation>'
    field = f'<idb:Field name="POLL_INTERVAL" isSettable="false"><idb:Value>{value}</idb:Value></idb:Field>'
    profile = load(f'<idb:Template name="GET_JOB_STATUS">{body}{field}</idb:Template>')
    assert script_output.get_poll_intervals(profile) == (seconds, None)
    assert TargetSystem(profile).timing.min_poll_interval == seconds
    assert TargetSystem(profile, timing=Timing(min_poll_interval=7)).timing.min_poll_interval == 7


def test_the_longest_poll_interval_is_a_sites_own(load: Callable[[str], Profile]) -> None:
    body = '<idb:Invocation name=""><idb:Body>x</idb:Body></idb:Invocation>'
    field = '<idb:Field name="MAX_POLL_INTERVAL" isSettable="false"><idb:Value>300</idb:Value></idb:Field>'
    profile = load(f'<idb:Template name="GET_JOB_STATUS">{body}{field}</idb:Template>')
    assert TargetSystem(profile).timing.max_poll_interval == 300
    assert TargetSystem(profile, timing=Timing(max_poll_interval=7)).timing.max_poll_interval == 7


def test_each_batch_system_has_its_own_poll_interval() -> None:
    """A profile that defines the query does not inherit how often it may be asked."""
    names = ("linux", "slurm", "pbs", "torque", "sge", "lsf", "batch")
    found = {name: script_output.get_poll_intervals(osprofile.load(name))[0] for name in names}
    assert found == {**dict.fromkeys(names), "linux": 0.2}


ODD = st.text(st.sampled_from("12RFT okx-/\r\n\x85\u2028é:=.[]_"), max_size=12)
LINES = st.lists(
    st.one_of(
        ODD,
        st.builds(
            "{} {}{}".format,
            st.integers(1, 5),
            st.sampled_from(("R", "F/ok", "T", "PENDING", "F exit=3", "run signal=9 reason=a b")),
            ODD,
        ),
    ),
    max_size=8,
)


@pytest.mark.parametrize("name", ["", "linux", "pbs", "slurm"])
@given(answers=st.lists(LINES, min_size=2, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_was_read_before_changes_nothing(
    make_profile: Callable[[str], Profile], name: str, answers: list[list[str]]
) -> None:
    """Whatever a batch system prints is read, or refused, as by a reader that never read before."""
    profile = osprofile.load(name) if name else make_profile(STATUS)
    reader = script_output.StatusOutputReader(profile)
    for lines in answers:
        text = "\n".join(lines)
        fresh = script_output.StatusOutputReader(profile)
        fresh._by_line = False  # all of the text at once
        try:
            expected = dict(fresh.read_statuses(text))
        except OutputError:
            for _ in range(2):
                with pytest.raises(OutputError):
                    reader.read_statuses(text)
            continue
        found = reader.read_statuses(text)
        assert found == expected
        assert all(found[job_id].job_id == job_id for job_id in found)
