"""Hostile input through real pipes: the daemon answers or refuses, and lives (docs/protocols/blah.md, 7.1 to 7.3).

Nothing of an ad is ever run by a shell: each hostile value holds a command that would leave a file
named CANARY, and there is none anywhere below the directory in which all of it happens.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.executors.blah.client import command, fields
from tests.executors.blah.conftest import write_profile
from tests.executors.blah.gridmanager import GridManager, ad, quoted
from tests.executors.blah.living import BANNER, Living
from tests.hunting import rounds
from tests.profiles.test_hostile_values import REFUSED, VALUES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MOST_MEMORY = 80 * 1024
"""KiB: 80 MB."""


@pytest.fixture(autouse=True)
def home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the directory below which everything happens, with the profile `site`."""
    monkeypatch.setenv("OSPROFILE_PATH", str(home / "profiles"))
    (home / "jobs").mkdir()
    write_profile(home / "profiles", "site", root=home / "jobs")
    return home


def paths_below(home: Path) -> set[Path]:
    return set(home.rglob("*"))


def no_canary(home: Path) -> bool:
    return not [*home.rglob("*CANARY"), *(p for p in ("/CANARY", "CANARY") if os.path.exists(p))]


# Bytes


COMMANDS = [
    b"VERSION", b"COMMANDS", b"RESULTS", b"ASYNC_MODE_ON", b"ASYNC_MODE_OFF", b"BLAH_JOB_STATUS",
    b"BLAH_JOB_CANCEL", b"BLAH_JOB_HOLD", b"BLAH_JOB_RESUME", b"BLAH_JOB_SUBMIT", b"BLAH_JOB_SIGNAL",
    b"BLAH_JOB_STATUS_ALL", b"BLAH_JOB_STATUS_SELECT", b"BLAH_JOB_REFRESH_PROXY", b"BLAH_PING",
    b"BLAH_JOB_SEND_PROXY_TO_WORKER_NODE", b"BLAH_GET_HOSTPORT", b"CACHE_PROXY_FROM_FILE",
]  # fmt: skip
WORDS = [
    b"1", b"-7", b"0", b"x", b"site/20261121/1-1-00000000", b"../x/20261121/1", b"none/20261121/1",
    b"a\\ b\\ c", b'[\\ Cmd\\ =\\ "/bin/true";\\ GridType\\ =\\ "none"\\ ]', b"site", b"../site",
    b"JobStatus\\ ==\\ 1", b"[]", b"{", b"9", b"64", b"/dev/null", b"\\", b"\\\\", b"\xff\xfe",
]  # fmt: skip
ENDS = [b"\r\n", b"\n", b"\r", b"\0", b" \r\n", b"\\\r\n", b""]
lines = st.builds(
    lambda words, end: b" ".join(words) + end,
    st.lists(st.one_of(st.sampled_from(COMMANDS), st.sampled_from(WORDS), st.binary(max_size=6)), max_size=5),
    st.sampled_from(ENDS),
)
fuzz = st.lists(st.one_of(lines, st.binary(max_size=40)), max_size=12).map(b"".join)
fuzz = fuzz.filter(lambda data: b"quit" not in data.lower())


def well_formed(said: list[bytes]) -> bool:
    """Say whether lines are replies, an R, and results: as many as the reply promised."""
    left = 0
    for line in said:
        words = fields(line.removesuffix(b"\r\n"))
        if left:
            left -= 1
            if len(words) not in {3, 4, 5} or not words[1].isdigit():
                return False
        elif words[0] == "S" and len(words) == 2 and words[1].isdigit():
            left = int(words[1])
        elif words[0] not in {"S", "F", "E", "R"} or not line.endswith(b"\r\n"):
            return False
    return not left


@pytest.fixture
def living(home: Path) -> Iterator[Living]:
    with Living("--config", str(home / "quick.toml")) as daemon:
        yield daemon
        assert daemon.answers(b"VERSION\r\n")[-1] == b"S " + BANNER
        assert no_canary(home)
        assert daemon.memory() < MOST_MEMORY


@settings(
    max_examples=rounds(400, 40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(fuzz)
@example(b"\\")
@example(b"\\\r")
@example(b"\0" * 5000)
@example(b" " * 5000 + b"\r\n")
@example(b"BLAH_JOB_STATUS 1 " + b"a\\ " * 1000 + b"\r\n")
@example(b"BLAH_JOB_SUBMIT 1 " + b"[a=" * 5000 + b"\r\n")
@example(b"BLAH_JOB_STATUS_SELECT 1 " + b"(" * 50_000 + b"\r\n")
def test_any_bytes(living: Living, data: bytes) -> None:
    assert well_formed(living.answers(data))


SESSION = (
    b"VERSION\r\nBLAH_JOB_STATUS 2 x\\ y\\\\z\r\nNOSUCH\nBLAH_PING 3 ../\xc3\xa9\\ \\\r\\\n\r\n"
    b'BLAH_JOB_SUBMIT 4 [\\ Cmd\\ =\\ "/a\\ \\\\"b";\\ GridType\\ =\\ "a/b"\\ ]\0\r\n\r\n'
)  # fmt: skip


def said_in(living: Living, *pieces: bytes) -> tuple[list[bytes], list[list[str]]]:
    """Say a session in pieces, each read before the next is written; give replies and results."""
    for piece in pieces:
        living.write(piece)
        living.taken()
    replies = [line for line in living.answers(b"") if line != b"R\r\n"]
    return replies, sorted(living.results(4))


def test_a_session_cut_at_every_byte(living: Living) -> None:
    """Split writes at every byte."""
    replies, results = said_in(living, SESSION)
    assert replies == [b"S " + BANNER, b"S\r\n", b"E Unknown\\ command\r\n", b"S\r\n", b"S\r\n"]
    codes = [(words[0], words[1], len(words)) for words in results]
    assert codes == [("2.0", "255", 5), ("2.1", "255", 5), ("3", "1", 3), ("4", "1", 4)]
    assert "'a/b' is not a name" in results[-1][2]
    for at in range(1, len(SESSION)):
        assert said_in(living, SESSION[:at], SESSION[at:]) == (replies, results), at
    assert said_in(living, *(SESSION[at : at + 1] for at in range(len(SESSION)))) == (replies, results)


MANY = 10_000_000


def make_long_lines() -> list[tuple[bytes, bytes, str]]:
    """Return lines, made only where they are sent, with the replies and the results."""
    return [
        (b'BLAH_JOB_SUBMIT 5 [A="' + b"x" * MANY + b'"]', b"S\r\n", "5 1 Error parsing classad: "),
        (b"BLAH_JOB_SUBMIT 5 " + b"\\ " * (MANY // 2), b"S\r\n", "5 1 Error parsing classad: "),
        (b"BLAH_JOB_STATUS 5 " + b"x" * MANY, b"S\r\n", "5 255 Malformed job id "),
        (b"BLAH_JOB_STATUS 5 " + b"x\\ " * (MANY // 3), b"E expected\\ at\\ most\\ 1000\\ job", ""),
        (b"BLAH_JOB_STATUS_SELECT 5 " + b"x" * MANY, b"S\r\n", "5 0 No error []"),
        (b"BLAH_PING 5 " + b"../" * (MANY // 3), b"S\r\n", "5 1 "),
        (b"x" * MANY, b"E Unknown\\ command\r\n", ""),
        (b"\\" * MANY, b"E Unknown\\ command\r\n", ""),
        (b"VERSION " * (MANY // 8), b"E expected\\ 0\\ parameters,\\ 1249999\\ found\r\n", ""),
        (b"x" * 2 * MANY, b"E Line\\ too\\ long\r\n", ""),
    ]  # fmt: skip


def test_lines_of_ten_megabytes(home: Path) -> None:
    """docs/protocols/blah.md, 7.1: over 1 MiB, the real daemon is gone."""
    with Living("--config", str(home / "quick.toml")) as daemon:
        assert daemon.answers(b"VERSION\r\n") == [b"S " + BANNER]
        for sent, reply, result in make_long_lines():
            (said,) = daemon.answers(sent + b"\r\n")
            assert said.startswith(reply)
            if result:
                ((*words,),) = daemon.results(1)
                assert " ".join(words).startswith(result)
                assert sum(map(len, words)) < 2000
            assert daemon.answers(b"VERSION\r\n") == [b"S " + BANNER]
            assert daemon.memory("VmRSS") < MOST_MEMORY, sent[:24]


# Ids


IDS = [
    "../../tmp/evil", "../../tmp/evil/20261121/1", "site/../x/20261121/1", "site/20261121/../1",
    "site/20261121/..", "site/20261121/.", "site/20261121/../../../etc/passwd", "./site/20261121/1",
    "/site/20261121/1", "site//20261121/1", "site/20261121//1", "site/20261121/1/", "..", "../", "/",
    "site/20261121/1-1-00000000/../x", "site/20261121/1@../x", "site/../../../../tmp/20261121/1",
    "site/20261121/$(touch${IFS}CANARY)", "site/20261121/`touch${IFS}CANARY`", "site/20261121/1|touch",
    "site/20261121/-rf", "site/20261121/*", "site/20261121/1'", "site/20261121/1\x7f2", "-x/20261121/1",
]  # fmt: skip
ABOUT_A_JOB = {
    "BLAH_JOB_STATUS": (),
    "BLAH_JOB_CANCEL": (),
    "BLAH_JOB_HOLD": (),
    "BLAH_JOB_RESUME": (),
    "BLAH_JOB_SIGNAL": ("9",),
    "BLAH_JOB_REFRESH_PROXY": ("/dev/null",),
    "BLAH_JOB_SEND_PROXY_TO_WORKER_NODE": ("/dev/null", "node"),
}


def test_ids_that_leave_their_place(home: Path, living: Living) -> None:
    """docs/protocols/blah.md, 7.3: an lrms of `../../tmp/evil` ran a script anywhere."""
    for name in ("evil", "x"):
        (home / name).write_text("#!/bin/sh\ntouch CANARY\n")
        (home / name).chmod(0o755)
    before = paths_below(home)
    count = 0
    for name, more in ABOUT_A_JOB.items():
        for job_id in IDS:
            count += 1
            assert living.answers(command(name, str(count), job_id, *more)) == [b"S\r\n"]
    found = living.results(count)
    assert {words[1] for words in found} == {"255"}
    pings = ["../site", "../../evil", "/site", "site/../site", f"{home}/evil", ".", "..", "si te", "-"]
    for number, name in enumerate(pings, 1):
        assert living.answers(command("BLAH_PING", str(number), name)) == [b"S\r\n"]
        text = ad(Cmd="/bin/true", GridType=name)
        assert living.answers(command("BLAH_JOB_SUBMIT", str(number), text)) == [b"S\r\n"]
    refused = living.results(2 * len(pings))
    assert {words[1] for words in refused} == {"1"}
    assert all("is not a name of a batch system" in words[2] for words in refused)
    assert paths_below(home) == before
    # ids of some batch systems hold a semicolon; then the profile's pattern refuses it
    assert living.answers(command("BLAH_JOB_STATUS", "1", "site/20261121/1;touch")) == [b"S\r\n"]
    assert living.results(1)[0][1:3] == ["1", "Job site/20261121/1;touch is not known"]


# Ads


CANARIES = [
    "$(touch CANARY)", "`touch CANARY`", "; touch CANARY ;", "'; touch CANARY; '", '"; touch CANARY; "',
    "| touch CANARY", "&& touch CANARY &", "\ntouch CANARY\n", "'$(touch CANARY)'", '"`touch CANARY`"',
    "$(touch${IFS}CANARY)", "\\$(touch CANARY)", "a'$(touch CANARY)\"`touch CANARY`", "> CANARY",
    "EOF\ntouch CANARY\n", "\r\ntouch CANARY\r\n", "-c touch\tCANARY", "}; touch CANARY; {", "%s$(touch CANARY)",
]  # fmt: skip
HOSTILE = [*CANARIES, *(f"{value}$(touch CANARY)" for value in VALUES), *VALUES]
PAYLOAD = r"""#!/bin/sh
printf '%s\0' "$0" "$@" "$HOSTILE"
cat
printf '%s' err >&2
"""


def in_remaps(name: str) -> str:
    return re.sub(r"[\\;=]", r"\\\g<0>", name)


async def check_job(client: GridManager, home: Path, number: int, value: str, *, transfers: bool) -> str:
    """Run a job that has a value wherever it can stand, with files to bring and to leave or in its Iwd; give its id."""
    name = f"x{value}x".replace("/", "_")
    moved = name.replace(",", "_")  # a comma parts names, and has no escape
    iwd = home / "places" / f"{number} {name}"
    iwd.mkdir(parents=True)
    (iwd / name).write_text(PAYLOAD)
    (iwd / name).chmod(0o700)
    (iwd / f"{name}.in").write_bytes(value.encode())
    (iwd / f"{moved}.in2").write_bytes(value.encode())
    attributes = {
        "Cmd": name,
        "Iwd": str(iwd),
        "gridtype": "site",
        "In": f"{name}.in",
        "Out": f"{name}.out",
        "Err": f"{name}.err",
        "Arguments": " ".join(map(quoted, ["", value, f"{value}{value}"])),
        "Environment": quoted(f"HOSTILE={value}"),
        "JobDirectory": f"{number}{value}",
        **dict.fromkeys(
            ("ClientJobId", "VirtualOrganisation", "CeID", "x509UserProxySubject", "Unheard"), value
        ),
    }
    if transfers:
        attributes |= {
            "TransferInput": f"{moved}.in2,./{moved}.in2",
            "TransferOutput": f"{moved}.in2",
            "TransferOutputRemaps": f"{in_remaps(moved)}.in2={in_remaps(moved)}.left",
        }
    job_id = await client.submit(ad(**attributes))
    found = await client.ended(job_id)
    said = (iwd / f"{name}.err").read_text() if (iwd / f"{name}.err").exists() else ""
    assert (found.get("ExitCode"), said) == ("0", "err"), (value, found)
    program, *words = (iwd / f"{name}.out").read_bytes().split(b"\0")
    assert program.endswith(f"/{name}".encode())
    assert words == [b"", value.encode(), f"{value}{value}".encode(), value.encode(), value.encode()]
    if transfers:
        assert (iwd / f"{moved}.left").read_bytes() == value.encode()
    return job_id


async def test_a_value_wherever_it_can_stand(home: Path) -> None:
    """docs/protocols/blah.md, 7.2 and 7.3: nothing of an ad is ever run by a shell; one job in four transfers no files."""
    carried = [value for value in HOSTILE if not REFUSED.search(value)]
    async with GridManager("--config", "quick.toml", "--log", "log") as client:
        jobs = (check_job(client, home, n, value, transfers=n % 4 > 0) for n, value in enumerate(carried))
        ids = await asyncio.gather(*jobs)
    assert len(set(ids)) == len(carried)
    assert no_canary(home)


ATTRIBUTES = [
    "Cmd", "Arguments", "Args", "Environment", "Env", "In", "Out", "Err", "Iwd", "Queue", "BatchProject",
    "BatchRuntime", "RequestMemory", "NodeNumber", "HostNumber", "SMPGranularity", "HostSMPSize", "WholeNodes",
    "StageCmd", "GPUNumber", "GPUMode", "GPUModel", "MICNumber", "BatchExtraSubmitArgs", "TransferInput",
    "TransferOutput", "TransferOutputRemaps", "CERequirements", "GridType", "x509UserProxy", "ClientJobId",
    "JobDirectory", "CeID", "edg_jobid", "uniquejobid", "VirtualOrganisation", "GridResource", "Job_Name",
    "x509UserProxySubject", "x509UserProxyFQAN", "Stdin", "Walltime", "CPUs", "Executable", "Directory",
]  # fmt: skip
HIDES = {"Arguments": "Args", "Environment": "Env"}
STAGED = {"Cmd", "TransferInput", "TransferOutput", "TransferOutputRemaps"}
"""The names of files that stand in the arguments of the staging script."""


def in_ads(name: str, value: str) -> str:
    """Give an ad in which one attribute holds a value, in whatever syntax it has."""
    attributes: dict[str, Any] = {"Cmd": "/bin/true", "GridType": "site"}
    attributes.pop("GridType" if name == "GridType" else "", None)
    if name == "TransferOutputRemaps":
        attributes["TransferOutput"] = "o"
    if name in {"SMPGranularity", "HostSMPSize"}:
        attributes["WholeNodes"] = True
    return ad(**{**attributes, name: value})


async def test_each_attribute_with_each_value(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It is passed on or refused by name, and in a dry run nothing at all happens."""
    before = paths_below(home)
    pairs = [(name, value) for name in ATTRIBUTES for value in HOSTILE]
    async with GridManager("--config", "quick.toml", "--log", "log", "--dry-run") as client:
        asked = (client.ask("BLAH_JOB_SUBMIT", in_ads(*pair)) for pair in pairs)
        found = await asyncio.gather(*asked)
    capfd.readouterr()  # the scripts, which HTCondor logs
    passed = set()
    for (name, value), (code, words, job_id) in zip(pairs, found, strict=True):
        assert (code, job_id) == ("1", "N/A")
        if words.startswith("dry run: the script is shown"):
            passed.add((name, value))
        elif name not in STAGED or "the names of its files are refused" not in words:
            assert f"attribute {name}".lower() in words.lower(), (name, value, words)
        else:
            assert REFUSED.search(value), (name, value, words)
    numbers = {"BatchRuntime", "RequestMemory", "NodeNumber", "HostNumber", "SMPGranularity", "HostSMPSize"}
    assert not {pair for pair in passed if pair[0] in numbers | {"GridType", "WholeNodes", "StageCmd"}}
    assert {value for name, value in passed if name == "JobDirectory"} == set(HOSTILE)
    plain = {value for name, value in passed if name in {"Queue", "BatchProject"}}
    assert all(value.isascii() and value.replace("-", "a").isalnum() for value in plain)
    for name in ("Args", "In", "Out", "Err", "ClientJobId", "VirtualOrganisation"):
        assert len([1 for other, _ in passed if other == name]) > len(HOSTILE) // 2, name
    assert no_canary(home)
    added = paths_below(home) - before
    assert {path.name for path in added if "jobs.db" not in str(path)} == {"log", "osprofile"}


# Back-pressure


def flood(number: int) -> bytes:
    return b"BLAH_JOB_STATUS %d site/20261121/1-1-0000%04x\r\n" % (number + 1, number % 65536)


FLOODS: dict[str, Callable[[], bytes]] = {  # up to 60 MB, made where one is sent
    "what is answered at once": lambda: b"VERSION\r\nCOMMANDS\r\nNOSUCH\r\n" * 60_000,
    "unknown jobs": lambda: b"".join(map(flood, range(60_000))),
    "wrong ids": lambda: b"".join(b"BLAH_JOB_STATUS %d ../x\r\n" % n for n in range(1, 100_000)),
    "large ads": lambda: b"".join(
        b'BLAH_JOB_SUBMIT %d [GridType="none";Cmd="%s"]\r\n' % (n, b"x" * 20_000)
        for n in range(1, rounds(3000, 600))
    ),
    "all jobs": lambda: b"".join(b"BLAH_JOB_STATUS_ALL %d\r\n" % n for n in range(1, 60_000)),
}


@pytest.mark.hunt(3)
@pytest.mark.parametrize("what", FLOODS)
def test_a_client_that_does_not_read(home: Path, what: str) -> None:
    """What it may leave unread, and what it may have outstanding, is bounded."""
    requests = FLOODS[what]()
    with Living("--config", str(home / "quick.toml")) as daemon:
        writer = threading.Thread(target=daemon.write, args=(requests,))
        writer.start()
        still = 0
        size = daemon.memory()
        while still < 15 and writer.is_alive():  # until it grows no more
            time.sleep(0.1)
            still, size = (still + 1 if daemon.memory() == size else 0), daemon.memory()
        assert size < MOST_MEMORY
        for _ in range(requests.count(b"\n")):
            assert daemon.line()[:1] in b"SEF"
        writer.join()
        assert daemon.answers(b"VERSION\r\n") == [b"S " + BANNER]
        assert daemon.memory() < MOST_MEMORY
