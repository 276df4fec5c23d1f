"""The words of `incarnate job`: parsing, help, numbers and times, names of targets, tables."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import osprofile
from osprofile.cli import command_line, common, options
from osprofile.cli.job import quantities, rows
from osprofile.cli.job.waiter import combine_exit_codes, get_exit_code
from osprofile.errors import OSProfileError
from osprofile.jobs.record import names
from osprofile.jobs.record.store import JobRecord, Store
from osprofile.jobs.state import EndCause, JobState, JobStatus
from osprofile.text import count_columns
from tests.cli.conftest import completions
from tests.records import begin_submission

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Incarnate
    from tests.cli.job.conftest import Machine

VERBS = [f"job {verb}" for verb in common.GROUPS["job"]]


def test_words_behind_the_executable_are_its_own() -> None:
    line = ["-n", "2", "prog", "--json", "-p", "x", "--", "--help"]
    quick = options.parse_arguments(command_line.load_verb("job submit"), line, {})
    assert quick is not None
    assert (quick["processes"], quick["json"], quick["profile"]) == ("2", False, None)
    assert quick["command"] == ["prog", "--json", "-p", "x", "--", "--help"]


def test_a_pattern_names_the_jobs_of_a_sweep(machine: Machine) -> None:
    (machine.root / "jobs.csv").write_text("n\n0\n3\n")
    machine.submit("--key", "sweep", "--wait", "true")
    machine.submit("--from", "jobs.csv", "--key", "sweep", "--", "sh", "-c", "echo {n}; exit {n}")
    assert machine.run("job", "wait", "sweep-?").code == 3
    assert [job["key"] for job in machine.run_json("list", "sweep-*")] == ["sweep-1", "sweep-2"]
    assert [job["key"] for job in machine.run_json("show", "s*")] == ["sweep", "sweep-1", "sweep-2"]
    assert re.findall(r"(?m)^\d$", machine.run("job", "output", "sweep-*").out) == ["0", "3"]
    ended = machine.run("job", "hold", "none-*")
    assert (ended.code, "job none-* is not in the record" in ended.err) == (2, True)


def test_every_verb_that_is_meant_exists() -> None:
    for meant in command_line._VERBS_BY_OTHER_WORD.values():
        assert meant.partition(",")[0] in common.GROUPS["job"]
    assert not command_line._VERBS_BY_OTHER_WORD.keys() & set(common.GROUPS["job"])


def test_job_wins_over_a_template_of_that_name(incarnate: Incarnate, site: Path) -> None:
    site.write_text(site.read_text().replace('name="NEEDS"', 'name="job"'))
    ended = incarnate("job", "-p", str(site))
    assert (ended.code, ended.out) == (2, "")
    assert "Usage: incarnate job" in ended.err
    assert incarnate("render", "job", "-p", str(site), "-s", "NEEDED=x").out == "x\n"


@pytest.mark.parametrize(
    ("text", "mebibytes"),
    [
        ("0", 0), ("4096", 4096), ("4G", 4096), ("4g", 4096), ("4GiB", 4096), ("4GB", 4096), ("512M", 512),
        ("1K", 1), ("1025K", 2), ("2T", 2 << 20), ("9" * 12 + "T", (10**12 - 1) << 20),
    ],
)  # fmt: skip
def test_amounts_of_memory(text: str, mebibytes: int) -> None:
    assert quantities.parse_memory("--memory", text) == mebibytes


@pytest.mark.parametrize("text", ["", "x", "G", "1.5G", "-1", " 1", "1 G", "4Gi", "4P", "٣", "1\n", "9" * 13])
def test_what_is_no_amount_of_memory(text: str) -> None:
    with pytest.raises(common.UsageError) as raised:
        quantities.parse_memory("--memory", text)
    assert raised.value.message == f"--memory {text!r} is not an amount of memory"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0), ("600", 600), ("90s", 90), ("10m", 600), ("2h", 7200), ("1h30m", 5400), ("2d", 172800),
        ("1d2h3m4s", 93784), ("01:30:00", 5400), ("100:00:01", 360001), ("2-12:00:00", 216000),
    ],
)  # fmt: skip
def test_times(text: str, seconds: int) -> None:
    assert quantities.parse_duration("--walltime", text) == seconds
    assert quantities.parse_timeout("--timeout", text) == seconds if seconds else True


@pytest.mark.parametrize(
    "text",
    [
        "", " 1", "1 ", "-1", "+1", "1.5", "10:00", "1:60:00", "1:00:60", "30m1h", "1h30", "h", "1e3",
        "٣", "1\n", "1-2", "9" * 40, "1w", "0x10",
    ],
)  # fmt: skip
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(common.UsageError, match=r"--walltime .* is not a time"):
        quantities.parse_duration("--walltime", text)


def test_timeout_is_above_zero_and_may_have_decimals() -> None:
    assert quantities.parse_timeout("--timeout", "1.5") == 1.5
    assert quantities.parse_timeout("--timeout", None) is None
    for text in ("0", "0.0", "0s", "00:00:00"):
        with pytest.raises(common.UsageError, match="greater than 0"):
            quantities.parse_timeout("--timeout", text)
    for text in ("nan", "inf", "1.", ".5", "-1.5"):
        with pytest.raises(common.UsageError):
            quantities.parse_timeout("--timeout", text)


@pytest.mark.parametrize("option", ["--nodes", "--processes", "--cpus"])
@pytest.mark.parametrize("value", ["x", "1.5", "-1", "", "4G"])
def test_what_is_no_number(incarnate: Incarnate, option: str, value: str) -> None:
    ended = incarnate("job", "submit", "-p", "linux", f"{option}={value}", "true")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"incarnate: {option} {value!r} is not a whole number\n")


HOSTS = st.from_regex(r"\A(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9:][A-Za-z0-9:.-]*\Z")
PORTS = st.integers(1, 65535).map(str)


@given(host=st.none() | HOSTS, port=st.none() | PORTS, cluster=st.none() | st.text(min_size=1))
def test_a_target_s_name_tells_its_context(host: str | None, port: str | None, cluster: str | None) -> None:
    values = {"SSH:HOST": host, "SSH:PORT": port if host else None, "CLUSTER": cluster}
    context = {name: value for name, value in values.items() if value}
    name = names.format_target_name(osprofile.load("linux"), {**context, "USER_NAME": "u"})
    assert names.parse_target_name(name) == ("linux", context)


def test_a_local_target_s_name() -> None:
    assert names.format_target_name(osprofile.load("pbs"), {"SSH:PORT": "22"}) == "pbs"
    assert names.parse_target_name("pbs") == ("pbs", {})


@pytest.mark.parametrize(
    ("place", "host", "port"),
    [
        ("a", "a", None), ("a:22", "a", "22"), ("me@a:22", "me@a", "22"), ("::1", "::1", None),
        ("[::1]:22", "::1", "22"), ("[me@::1]", "me@::1", None), ("fe80::1:22", "fe80::1:22", None),
    ],
)  # fmt: skip
def test_hosts(place: str, host: str, port: str | None) -> None:
    expected = {"SSH:HOST": host, **({"SSH:PORT": port} if port else {})}
    assert names.parse_host_context(place) == expected


def status(state: JobState = JobState.DONE, **known: object) -> JobStatus:
    return JobStatus("7", state, **known)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "code", "words"),
    [
        (status(exit_code=0), 0, ""),
        (status(exit_code=3), 3, ""),
        (status(exit_code=255), 255, ""),
        (status(), 125, "its exit code is not known"),
        (status(JobState.FAILED, signal=9), 137, "signal 9 killed it"),
        (status(JobState.FAILED, signal=64), 192, "signal 64 killed it"),
        (status(JobState.FAILED, signal=9, cause=EndCause.NODE), 125, "a node failed"),
        (status(JobState.FAILED, signal=200), 125, "signal 200 killed it"),
        (status(JobState.FAILED), 125, "the batch system ended it"),
        (status(JobState.FAILED, signal=9, cause=EndCause.LIMIT), 125, "it exceeded a limit"),
        (status(JobState.FAILED, cause=EndCause.TIME), 125, "it exceeded its time limit"),
        (status(JobState.FAILED, cause=EndCause.NODE), 125, "a node failed"),
        (status(JobState.REMOVED), 125, "it was removed"),
        (status(JobState.LOST), 125, "the batch system no longer knows it"),
    ],
)
def test_exit_code_of_an_end(found: JobStatus, code: int, words: str) -> None:
    assert get_exit_code(found) == code
    assert words in found.describe_end()


@pytest.mark.parametrize(
    ("codes", "code"),
    [((), 0), ((0, 0), 0), ((0, 3, 1), 3), ((125, 3), 125), ((3, 124), 124), ((0, 124, 0), 124)],
)
def test_exit_code_of_several(codes: tuple[int, ...], code: int) -> None:
    assert combine_exit_codes(codes) == code


HOSTILE = "\x1b[31m[bold red]x[/]\x07\x9b2J\u202e\n\ttail\udcff"


def test_a_table_has_nothing_that_a_terminal_would_act_on() -> None:
    found = JobStatus("\x1b]0;t\x07", JobState.UNKNOWN, HOSTILE, hosts=(HOSTILE,), reason=HOSTILE)
    record = JobRecord(1, "linux", "/w", None, HOSTILE, None, None, found)
    text = rows.format_table([rows.JobRow("linux", found, record)])
    assert text.count("\n") == 1
    assert all(c == "\n" or c.isprintable() for c in text)
    assert text.count("[bold red]x[/]") == 4
    assert text.count("tail") == 4


@pytest.mark.parametrize("reason", [HOSTILE, "", "plain"])
def test_json_has_nothing_that_a_terminal_would_act_on(
    capfdbinary: pytest.CaptureFixture[bytes], reason: str
) -> None:
    rows.print_rows([rows.JobRow("linux", status(JobState.FAILED, reason=reason))], json=True)
    text = capfdbinary.readouterr().out.decode()
    assert all(c == "\n" or c.isprintable() for c in text)
    assert json.loads(text)[0]["reason"] == (reason or None)


def test_a_narrow_terminal_gets_reasons_on_lines_of_their_own() -> None:
    long = status(JobState.FAILED, reason="over " * 20 + "now")
    text = rows.format_table(
        [rows.JobRow("linux", long), rows.JobRow("linux", status(exit_code=0))], columns=60
    )
    lines = text.splitlines()
    assert [line.split()[0] for line in lines] == ["JOB", "7", "over", "7"]
    assert lines[2] == f"    {long.reason}"
    assert "REASON" not in lines[0]
    wide = rows.format_table([rows.JobRow("linux", long)], columns=400)
    assert wide.splitlines()[1].endswith(f"  {long.reason}")


def test_wide_characters_keep_the_columns_straight() -> None:
    found = [
        rows.JobRow("linux", status(exit_code=0), JobRecord(1, "linux", "/w", None, n, None, None, status()))
        for n in ("日本", "abcd", "e\u0301bcd")
    ]
    cells = [count_columns(line.partition("linux")[0]) for line in rows.format_table(found).splitlines()[1:]]
    assert len(set(cells)) == 1


@pytest.mark.parametrize("columns", [40, 61, 80, 120, 400])
def test_a_table_for_a_screen_is_as_wide_as_the_screen(columns: int) -> None:
    names = ("\u65e5\u672c" * 20, "a" * 60, "")
    found = [
        rows.JobRow(
            "slurm@login.example.org",
            status(JobState.FAILED, reason="\u65e5\u672c over " * 9),
            JobRecord(1, "linux", "/w", None, name, None, None, status()),
        )
        for name in names
    ]
    heading, *lines = rows.format_table(found, columns=columns, cuts=True).splitlines()
    assert max(map(count_columns, lines)) <= columns
    assert [line.split()[0] for line in lines] == ["7"] * len(names)
    assert all(" FAILED" in line for line in lines)
    assert ("REASON" in heading) == (columns > 40)
    if columns == 400:
        assert lines == rows.format_table(found).splitlines()[1:]


@pytest.mark.parametrize("state", [*JobState, rows.INTERRUPTED, rows.SUBMITTING])
def test_each_state_has_a_colour(state: str) -> None:
    record = JobRecord(1, "linux", "/w", "k", "", "x", None, JobStatus("", JobState.QUEUED))
    unsubmitted = state if state in {rows.INTERRUPTED, rows.SUBMITTING} else ""
    found = JobStatus("", JobState.QUEUED if unsubmitted else JobState(state))
    row = rows.JobRow("linux", found, record, unsubmitted)
    assert row.state == state
    assert f"m{state}" in rows.format_table([row], coloured=True)
    assert "\x1b" not in rows.format_table([row])


def load(code: str) -> set[str]:
    """Return the modules that a program of Python has loaded at its end."""
    code = f"{code}; import sys; print('MODULES', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split("MODULES ")[1].split())


HEAVY = {"asyncio.events", "sqlite3", "rich", "osprofile.jobs.target_system"}


@pytest.mark.parametrize(
    "code",
    [
        "import osprofile.cli.command_line",
        "from osprofile.cli import command_line; command_line.run_command_line(['START', '-p', 'linux'])",
        "from osprofile.cli import command_line; command_line.run_command_line(['fields', '-p', 'linux'])",
        "from osprofile.cli import command_line; command_line.run_command_line(['profiles'])",
        "import osprofile.cli.job.verbs",
    ],
)
def test_other_verbs_load_nothing_of_the_jobs(code: str) -> None:
    loaded = load(code)
    assert "osprofile.cli.common" in loaded
    assert loaded & HEAVY == set()


def test_a_table_is_printed_without_rich() -> None:
    loaded = load("from osprofile.cli import command_line; command_line.run_command_line(['job', 'list'])")
    assert "sqlite3" in loaded
    assert "rich" not in loaded


def test_ids_of_live_jobs_are_offered(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from osprofile.cli import completion

    path = home / "jobs.db"
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "none"))
    assert list(completion.list_suggestions("jobs", {}, "")) == []
    assert not (home / "none").exists()
    store = Store(str(path))
    store.adopt_job("linux", JobStatus("11", JobState.RUNNING))
    store.adopt_job("pbs", JobStatus("12", JobState.DONE))
    begin_submission(store, "pbs", "/w", script="x")
    store.close()
    assert list(completion.list_suggestions("jobs", {"store": str(path)}, "1")) == [("11", "linux")]
    path.write_text("no database")
    assert list(completion.list_suggestions("jobs", {"store": str(path)}, "1")) == []


def test_an_error_names_its_job_and_is_told_once(capfd: pytest.CaptureFixture[str]) -> None:
    from osprofile.cli.job.session import ErrorReporter

    failures, error = ErrorReporter(), OSProfileError("no answer")
    failures.report_error(error, "pbs")
    failures.report_error(error, "pbs")
    assert capfd.readouterr().err == "incarnate: pbs: no answer\n"
    assert failures.exit_code == 1


def test_completion_of_job_ids(tmp_path: Path) -> None:
    """`job show` and `job output` are also for jobs that have ended."""
    path = tmp_path / ".local/state/osprofile/jobs.db"
    store = Store(str(path))
    store.adopt_job("linux", JobStatus("81", JobState.RUNNING))
    store.adopt_job("linux", JobStatus("82", JobState.DONE, exit_code=0))
    store.adopt_job("linux", JobStatus("8;id", JobState.DONE, exit_code=0))
    store.close()
    for verb in ("show", "output"):
        assert completions(f"incarnate job {verb} 8", tmp_path) == {"81", "82"}
    for verb in ("list", "cancel", "wait"):
        assert completions(f"incarnate job {verb} 8", tmp_path) == {"81"}
    assert completions("incarnate job wai", tmp_path) == {"wait"}


def test_a_list_of_variables_is_one_variable(machine: Machine) -> None:
    """`sbatch --export` takes `A=1,B=2` for two: that it is one is said, not where a value only looks a little like it."""
    warning = "incarnate: warning: this --env sets A alone, to all after the first =\n    hint: for B, give another --env\n"
    for value, said in (("A=1,B=2", warning), ("A=x,b=2", ""), ("A=1,2", ""), ("A=1,-B=2", "")):
        ended = machine.run("job", "submit", "-p", "here", "--dry-run", "--env", value, "true")
        assert (ended.code, ended.err) == (0, said)
    ended = machine.run("job", "submit", "-p", "here", "--dry-run", "-s", "CPUS=1,NODES=1", "true")
    assert "this --set sets CPUS alone" in ended.err


def test_an_array_of_one_index_is_said(machine: Machine) -> None:
    for value, tasks in (("5", "1-5"), ("5%2", "1-5%2"), ("1", ""), ("1-5", "")):
        ended = machine.run("job", "submit", "-p", "here", "--dry-run", "--array", value, "true")
        said = (
            "incarnate: warning: --array 5 is one task, with the index 5\n    hint: for 5 tasks: --array {}\n"
        )
        assert (ended.code, ended.err) == (0, said.format(tasks) if tasks else "")


def test_a_job_by_its_name(machine: Machine) -> None:
    first = machine.submit("--name", "sim", "--wait", "true")
    assert machine.run("job", "wait", "sim").code == 0
    assert [row["id"] for row in machine.run_json("list", "sim")] == [first]
    assert machine.run("job", "show", "sim").out.startswith(f"job {first}\n")
    second = machine.submit("--name", "sim", "--wait", "true")
    for verb in ("show", "list", "cancel", "output", "forget"):
        ended = machine.run("job", verb, "sim")
        assert ended.code == 2
        message = f"incarnate: the name sim is that of 2 jobs ({first}, {second})\n    hint: give an id; the last one is {second}\n"
        assert ended.err == message
    machine.submit("--name", "true", "--key", "sim", "--wait", "true")
    assert machine.run_json("list", "sim")[0]["name"] == "true"  # a key comes first
    assert machine.run("job", "forget", second).code == 0


def test_a_word_of_another_tool_leads_to_the_verb_also_without_its_group(machine: Machine) -> None:
    for words, verb in ((["kill", "3"], "cancel"), (["logs", "3"], "output")):
        ended = machine.run(*words)
        assert (ended.code, ended.err) == (
            2,
            f"incarnate: {words[0]} is not a command\n    hint: did you mean job {verb}?\n",
        )
