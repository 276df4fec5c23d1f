"""Whole logs of each source: files in a chain, every split, time zones, and bytes that are no log."""

from __future__ import annotations

import os
import random
import time
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osprofile.events import daily_log, tail
from osprofile.events.sources import SOURCE_NAMES, find_source
from osprofile.events.sources.base import LogSource, SourceOptions
from tests.hunting import rounds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from osprofile.events.sources.base import Source

WHEN = 1_580_724_000
FILES = {"pbs": "20200203", "lsf": "lsb.events", "job_manager": "20200203"}
USAGE = " ".join(["0.5"] + ["0"] * 17 + ["-1"])


def pbs(n: int) -> str:
    when = time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(WHEN + n))
    at = f"{when};0008;Server@h;Job;{n}.h"
    end = f"{when};0010;Server@h;Job;{n}.h;Exit_status={n % 300 - 19} x=1\n"
    return f"{at};Job Queued at\n{at};Job Modified\n{at};Job Run at\n{end}"


def lsf(n: int) -> str:
    at = f'"7.0" {WHEN + n} {n}'
    last = f'"JOB_STATUS" {at} 32 0 0 0.1 {WHEN} 1 {USAGE} {n % 9 * 256} 0 {n % 4}\n'
    return f'"JOB_NEW" {at} 1 "a b"\n"JOB_START" {at} 4\n"JOB_EXECUTE" {at} 5\n{last}'


def sge(n: int) -> str:
    tail_ = f"NONE:r:master:h:0:1024:{WHEN}:0:sge:r:a:u::d:sge:w"
    rest = ":".join(["0"] * 22)
    acct = f"{WHEN + n}:acct:q:h:g:a:r:{n}:sge:0:1:2:3:{n % 3 // 2}:{n % 5}:{rest}:{n % 2}:0\n"
    return f"{WHEN + n}:job_log:{WHEN}:delivered:{n}:0:{tail_}\n{acct}"


def condor(n: int) -> str:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(WHEN + n))
    head = f"({n:03}.000.000) {when}"
    end = f"005 {head} Job terminated.\n\t(1) Normal termination (return value {n % 7})\n...\n"
    return f"000 {head} Job submitted\n...\n006 {head} Image size\n\t1  -  x\n...\n{end}"


def condor_xml(n: int) -> str:
    when = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(WHEN + n))
    head = (
        f'<c>\n    <a n="EventTime"><s>{when}</s></a>\n    <a n="Cluster"><i>{n}</i></a>\n'
        '    <a n="Proc"><i>0</i></a>\n    <a n="Subproc"><i>0</i></a>\n    <a n="EventTypeNumber"><i>'
    )
    first = '<?xml version="1.0"?>\n<!DOCTYPE classads SYSTEM "classads.dtd">\n<classads>\n' if not n else ""
    end = f'<a n="TerminatedNormally"><b v="t"/></a><a n="ReturnValue"><i>{n % 7}</i></a>\n</c>\n'
    return f"{first}{head}0</i></a>\n</c>\n{head}6</i></a>\n</c>\n{head}5</i></a>\n{end}"


def fork(n: int) -> str:
    return f"001;{WHEN + n};u:{n};2;0\n001;{WHEN + n};u:{n};8;{n % 300 - 20}\n"


def slurm(n: int) -> str:
    when = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(WHEN + n))
    return (
        f"[{when}.001] sched: Allocate JobId={n} NodeList=n #CPUs=1 Partition=p\n"
        f"JobId={n} UserId=a(1) GroupId=a(1) Name=n JobState=FAILED Partition=p TimeLimit=60 StartTime={when} "
        f"EndTime={when} NodeList=n NodeCnt=1 ProcCnt=1 WorkDir=/ ExitCode={n % 256}:0 \n"
    )


WRITERS: dict[str, tuple[str, Callable[[int], str]]] = {
    "pbs": ("pbs", pbs),
    "lsf": ("lsf", lsf),
    "sge": ("sge", sge),
    "condor": ("condor", condor),
    "condor xml": ("condor", condor_xml),
    "fork": ("fork", fork),
    "job_manager": ("job_manager", fork),
    "slurm": ("slurm", slurm),
}


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch, zone: Callable[[str], None]) -> None:
    """Look for the next file at every read; write logs in UTC."""
    zone("UTC")
    monkeypatch.setattr(tail, "RECHECK_INTERVAL", 0.0)


def use_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail.FollowedFile.__init__, "__defaults__", (997,))
    monkeypatch.setattr(tail.RotatedLog.__init__, "__defaults__", (1, None, 997))
    monkeypatch.setattr(daily_log.DailyLog.__init__, "__defaults__", (997,))


def open_log(name: str, directory: Path, since: int = 1_000_000, *, extended: bool = False) -> Source:
    path = directory if name in FILES else directory / "log"
    return find_source(name)(SourceOptions(name, since, extended, (str(path),), {}))


def drain(source: Source) -> str:
    text = ""
    while (more := source.read_events()) is not None:
        text += more
    return text


def split_events(text: str) -> list[list[str]]:
    return [line.split(";") for line in text.split("\n")[:-1]]


def write(name: str, directory: Path, text: str, file: str = "") -> None:
    with (directory / (file or FILES.get(name, "log"))).open("ab") as log:
        log.write(text.encode("latin-1"))


@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("kind", WRITERS)
def test_every_split_of_a_log(kind: str, extended: bool, tmp_path: Path) -> None:
    name, writer = WRITERS[kind]
    text = writer(0) + writer(1)
    write(name, tmp_path, text)
    expected = drain(open_log(name, tmp_path, extended=extended))
    assert expected.count("\n") >= 4
    for split in range(0, len(text) + 1, rounds(1, 23)):
        directory = tmp_path / str(split)
        directory.mkdir()
        source = open_log(name, directory, extended=extended)
        write(name, directory, text[:split])
        got = drain(source)
        write(name, directory, text[split:])
        assert got + drain(source) == expected, text[:split]


@pytest.mark.parametrize("kind", WRITERS)
def test_irregular_lines_among_others_change_nothing(kind: str, tmp_path: Path) -> None:
    """The block is then parsed line by line, with the same events."""
    name, writer = WRITERS[kind]
    irregular = {
        "pbs": [
            "02/30/20 at three pm, h;0008;S;Job;1;Job Run\n",
            "junk;;\n",
            "01/03/1970 10:00:00;0008;S;Job;1;Job Run\n",
        ],
        "lsf": ['"JOB_NEW" "7.0" 5 5\n', "# x\n", '"JOB_NEW"\n'],
        "sge": ["1:job_log:\n", "#\n", "5:acct:" + "x:" * 40 + "\n"],
        "condor": ["000 (1.2) x\n...\n"],
        "condor xml": ["<c></c>\n"],
        "fork": ["001;5;u;8;0\n", "\n", "001;x;u;8;0\n"],
        "job_manager": ["001;5;u;8;0\n", "junk\n"],
        "slurm": ["[2020-02-03T10:00:00] x\n", "JobId=\n"],
    }[kind]
    parts = [writer(n) for n in range(200)]
    write(name, tmp_path, "".join(parts))
    expected = drain(open_log(name, tmp_path))
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    write(name, mixed, "".join(part + irregular[n % len(irregular)] for n, part in enumerate(parts)))
    assert drain(open_log(name, mixed)) == expected


@pytest.mark.parametrize("kind", WRITERS)
def test_a_timestamp_and_blocks_of_any_size(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, writer = WRITERS[kind]
    write(name, tmp_path, "".join(map(writer, range(300))))
    everything = drain(open_log(name, tmp_path))
    lines = everything.splitlines(keepends=True)
    assert len(lines) == 300 * {"pbs": 3, "lsf": 3}.get(name, 2)
    late = [line for line in lines if int(line.split(";")[1]) >= WHEN + 150]
    assert 2 * len(late) == len(lines)
    assert drain(open_log(name, tmp_path, WHEN + 150)) == "".join(late)
    use_small_blocks(monkeypatch)
    assert drain(open_log(name, tmp_path)) == everything


@pytest.mark.parametrize("name", SOURCE_NAMES)
@given(data=st.binary(max_size=300))
def test_any_bytes(name: str, data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    directory = tmp_path_factory.mktemp("fuzz")
    for extended in (False, True):
        for text in (data, *(w(1).encode() + data for n, w in WRITERS.values() if n == name)):
            (directory / FILES.get(name, "log")).write_bytes(text + b"\n")
            for line in drain(open_log(name, directory, extended=extended)).split("\n")[:-1]:
                assert line.startswith("001;")


@pytest.mark.parametrize("kind", WRITERS)
def test_mutations_never_raise_nor_break_a_line(kind: str, tmp_path: Path) -> None:
    name, writer = WRITERS[kind]
    chance = random.Random(7)
    for _ in range(rounds(150, 40)):
        text = list(writer(1) + writer(2))
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(text))
            text[at] = chance.choice(["", ";", ":", '"', "\n", " ", "\xff", "9", "-", text[at] * 2])
        (tmp_path / FILES.get(name, "log")).write_bytes("".join(text).encode("latin-1") + b"\n")
        for extended in (False, True):
            for event in split_events(drain(open_log(name, tmp_path, extended=extended))):
                kind_, when, *_, state, code = event
                assert (kind_, state in ["1", "2", "4", "8", "16"]) == ("001", True), event
                assert int(when) >= 1_000_000
                int(code)


def test_fork_lines_with_bytes_that_end_lines_elsewhere(tmp_path: Path) -> None:
    names = ["a\rb", "a\x85", "\x1c", "\x0c;"[:1]]
    lines = [f"001;{WHEN + n};{name};8;{n}\n" for n, name in enumerate(names)]
    write("fork", tmp_path, f"001;{WHEN - 9};old\x0b;1;0\n" + "".join(lines))
    assert drain(open_log("fork", tmp_path, WHEN)) == "".join(lines)


def test_lsf_a_timestamp_inside_a_rotated_file(tmp_path: Path) -> None:
    """Globus's program then writes no more events (docs/protocols/seg.md, 5)."""
    write("lsf", tmp_path, f"#{WHEN + 9}\n" + "".join(map(lsf, range(10))), "lsb.events.2")
    write("lsf", tmp_path, f"#{WHEN + 19}\n" + "".join(map(lsf, range(10, 20))), "lsb.events.1")
    head = "#      \n"
    copied = lsf(19)
    text = f"#{len(head) + len(copied):<6}\n" + copied + "".join(map(lsf, range(20, 30)))
    write("lsf", tmp_path, text)
    for begin in (0, 5, 9, 10, 15, 19, 20, 25):
        jobs = [int(event[2]) for event in split_events(drain(open_log("lsf", tmp_path, WHEN + begin)))]
        assert jobs == sorted(3 * list(range(begin, 30))), begin


def test_lsf_rotation_while_it_is_read(tmp_path: Path) -> None:
    write("lsf", tmp_path, "#0\n" + lsf(1))
    source = open_log("lsf", tmp_path)
    assert drain(source).count(";1;") == 3  # pending, and twice job 1
    with (tmp_path / "lsb.events").open("a") as old:
        (tmp_path / "lsb.events").rename(tmp_path / "lsb.events.1")
        old.write(lsf(2))
    copied = lsf(2)
    write("lsf", tmp_path, f"#{len(copied) + 7:<5}\n" + copied + lsf(3))
    assert {event[2] for event in split_events(drain(source))} == {"2", "3"}
    write("lsf", tmp_path, lsf(4))
    assert drain(source).count("\n") == 3


@pytest.mark.parametrize("since", [1, WHEN, WHEN + 5, WHEN + 10, WHEN + 25])
def test_sge_a_chain_is_read_once(tmp_path: Path, since: int) -> None:
    """Globus's program reads the oldest file twice (docs/protocols/seg.md, 5)."""
    for number, file in enumerate(("log.1", "log.0", "log")):
        write("sge", tmp_path, "".join(map(sge, range(number * 10, number * 10 + 10))), file)
    source = open_log("sge", tmp_path, since)
    expected = [f"{n}" for n in range(max(since - WHEN, 0), 30) for _ in (0, 1)]
    assert [event[2].split(".")[0] for event in split_events(drain(source))] == expected
    for number in (1, 0):
        (tmp_path / f"log.{number}").rename(tmp_path / f"log.{number + 1}")
    (tmp_path / "log").rename(tmp_path / "log.0")
    write("sge", tmp_path, sge(30))
    assert drain(source).count("\n") == 2
    assert drain(source) == ""


@pytest.mark.parametrize("since", [1, WHEN + 25])
def test_a_log_that_rotates_upwards_is_read_once(tmp_path: Path, since: int) -> None:
    """A greater number is then newer; files that were read, or are too old, are not read later."""
    for number in range(3):
        write("sge", tmp_path, "".join(map(sge, range(number * 10, number * 10 + 10))), f"log.{number}")
    write("sge", tmp_path, sge(30))
    source = open_log("sge", tmp_path, since)
    drain(source)
    for number in (3, 4):
        (tmp_path / "log").rename(tmp_path / f"log.{number}")
        write("sge", tmp_path, sge(28 + number))
        assert {event[2].split(".")[0] for event in split_events(drain(source))} == {str(28 + number)}


def test_a_pipe_as_the_file_of_today_is_reported(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "20200203")
    for name in ("pbs", "job_manager"):
        source = open_log(name, tmp_path, WHEN)
        assert drain(source) == ""
        assert isinstance(source, LogSource)
        assert source.list_problems() == [f"{tmp_path}/20200203 cannot be read: Not a regular file"]


def test_what_begins_without_a_timestamp(tmp_path: Path) -> None:
    """docs/protocols/seg.md, 1.1: now for pbs, lsf and fork; everything for sge and condor."""
    for name, writer in (("sge", sge), ("condor", condor), ("fork", fork)):
        directory = tmp_path / name
        directory.mkdir()
        write(name, directory, writer(1))
        assert bool(drain(open_log(name, directory, 0))) == (name != "fork")


def test_condor_several_logs_text_and_xml(tmp_path: Path) -> None:
    write("condor", tmp_path, condor(1), "one")
    write("condor", tmp_path, condor_xml(0) + condor_xml(2), "two")
    options = SourceOptions("condor", 0, False, (), {"log_path": f"{tmp_path}/one,{tmp_path}/two"})
    source = find_source("condor")(options)
    assert {event[2] for event in split_events(drain(source))} == {f"00{n}.000.000" for n in range(3)}
    write("condor", tmp_path, condor(3), "one")
    assert drain(source).count("003.000.000") == 2


LARGE = 5 * 1024 * 1024


@pytest.mark.parametrize("body", ["\t{}\n", "{}\n...\t\n", "\tline\n" * 9 + "{}\n"])
@pytest.mark.parametrize("filling", ["x" * LARGE, "\tx\n" * (LARGE // 3), "x" * 70 + "\n" * LARGE])
def test_condor_a_large_entry_loses_none(body: str, filling: str, tmp_path: Path) -> None:
    head = f"028 (000.000.000) {time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(WHEN))} Job ad\n"
    large = head + body.format(filling) + "...\n"
    write("condor", tmp_path, condor(1) + large + condor(2) + large + large + condor(3))
    assert drain(open_log("condor", tmp_path)).count(";") == 4 * 2 * 3


@pytest.mark.parametrize("filling", ["x" * LARGE, "x\n" * (LARGE // 2), "x" * LARGE + "</c>"])
def test_condor_a_large_element_loses_none(filling: str, tmp_path: Path) -> None:
    end = condor_xml(1).rindex("</c>")
    large = f'{condor_xml(1)[:end]}<a n="Ad"><s>{filling}</s></a>\n</c>\n'
    write("condor", tmp_path, condor_xml(0) + large + condor_xml(2) + large + condor_xml(3))
    events = split_events(drain(open_log("condor", tmp_path)))
    assert [int(event[2][:3]) for event in events] == [0, 0, 1, 1, 2, 2, 1, 1, 3, 3]


def test_condor_an_entry_without_end_takes_no_memory(tmp_path: Path) -> None:
    write("condor", tmp_path, condor(1))
    source = open_log("condor", tmp_path)
    assert drain(source).count("\n") == 2
    tracemalloc.start()
    for _ in range(40):
        write("condor", tmp_path, "000 (1.0.0)\n" + "x\n" * 500_000)
        assert drain(source) == ""
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 1024 * 1024
    write("condor", tmp_path, "...\n" + condor(2))
    assert drain(source).count("\n") == 2


def test_condor_times_without_a_year(tmp_path: Path) -> None:
    for ago in (0, 3600, 40 * 86_400, 360 * 86_400):
        moment = int(time.time()) - ago
        when = time.strftime("%m/%d %H:%M:%S", time.localtime(moment))
        write("condor", tmp_path, f"001 (1.0.0) {when} Job executing\n...\n")
        assert drain(open_log("condor", tmp_path)).split(";")[-4] == str(moment)


@pytest.mark.parametrize("kind", ["pbs", "condor", "condor xml", "slurm"])
@pytest.mark.parametrize("begin", [1_711_846_800 - 5000, 1_729_990_800 - 5000])
def test_daylight_saving(kind: str, begin: int, tmp_path: Path, zone: Callable[[str], None]) -> None:
    """Both changes of 2024 in a log that is replayed: each event has its own second."""
    zone("Europe/Berlin")
    name, writer = WRITERS[kind]
    numbers = range(begin - WHEN, begin - WHEN + 12_000, 50)
    text = "".join(map(writer, numbers))
    write(
        name,
        tmp_path,
        ('<?xml version="1.0"?>\n' if "xml" in kind else "") + text,
        time.strftime("%Y%m%d", time.localtime(begin)) if name == "pbs" else "",
    )
    times = [int(event[1]) - WHEN for event in split_events(drain(open_log(name, tmp_path)))]
    each = len(times) // len(numbers)
    assert times == [n for n in numbers for _ in range(each)]
    assert each >= 2
