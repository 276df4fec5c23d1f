"""Real jobs through the server, by the profile `linux` and others over it.

LAB_JOBS is another number of sequential jobs than 50.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.profile.data_directories import get_bundled_directory
from tests.executors.ninfg.client import Client, attributes, block, output, shell
from tests.executors.ninfg.conftest import processes
from tests.hunting import rounds
from tests.jobs.test_faults import TOOLS
from tests.strategies import cdata
from tests.waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from tests.executors.ninfg.conftest import Machine

MANY = int(os.environ.get("LAB_JOBS", str(rounds(50, 8))))
HERE = {"jobmanager": "here"}


def refused(client: Client, pairs: list[tuple[str, str]]) -> str:
    """Send a JOB_CREATE that must be refused, and give the reason."""
    client.send(block("1", pairs))
    reply = client.reply()
    assert reply.startswith("F "), reply
    return reply[2:]


def test_many_one_after_the_other(machine: Machine, tmp_path: Path) -> None:
    log = tmp_path / "ran"
    with machine.client() as client:
        for number in range(MANY):
            assert client.run(shell(f"echo {number} >> {log}", **HERE)) == "DONE"
        assert client.exit() == 0
        assert client.raw["out"] == b"S\r\n" * (2 * MANY + 1)
    assert log.read_text().split() == [str(number) for number in range(MANY)]
    machine.assert_clean()


def test_many_at_once(machine: Machine, tmp_path: Path) -> None:
    with machine.session() as client:
        count = rounds(60, 10)
        for number in range(1, count + 1):
            client.send(block(str(number), shell(f"echo x >> {tmp_path}/ran", status_polling="1", **HERE)))
        client.until(lambda: len(client.created) == count)
        assert {client.wait(job) for job in client.created.values()} == {"DONE"}
    assert (tmp_path / "ran").read_text() == "x\n" * count
    machine.assert_clean()


def test_the_array_of_a_failing_program(machine: Machine, tmp_path: Path) -> None:
    """One of five fails: all run to their end, and the job has failed."""
    text = f"mkdir {tmp_path}/first 2> /dev/null && exit 4; sleep 0.3; echo x >> {tmp_path}/ran"
    with machine.session() as client:
        job = client.create(shell(text, count="5", **HERE))
        assert client.wait(job) == "FAILED"
        assert client.texts[job] == "it ended with exit code 4"
        assert (tmp_path / "ran").read_text() == "x\n" * 4
    machine.assert_clean()


def test_an_array_is_cancelled_as_a_whole(machine: Machine) -> None:
    with machine.session() as client:
        job = client.create(shell("exec sleep 600", count="5", **HERE))
        wait_until(lambda: len(processes(machine.jobs)) == 5)
        assert client.ask(f"JOB_DESTROY {job}") == "S"
        assert client.wait(job) == "DONE"
        assert len(client.created) == 1
        assert processes(machine.jobs) == []


def allow_nodes() -> str:
    """Return the JOB_DIRECTIVES of linux without the limit of NODES."""
    folder = Path(get_bundled_directory(), "linux")
    found = re.search(
        r'<idb:Template name="JOB_DIRECTIVES">.*?</idb:Template>',
        (folder / "profile.xml").read_text(),
        re.DOTALL,
    )
    assert found
    text = re.sub(r'<idb:Field name="NODES".*?</idb:Field>', "", found[0], flags=re.DOTALL)
    return re.sub(
        r'<idb:(\w+) ext:src="(.*?)"/>',
        lambda m: f"<idb:{m[1]}>{cdata((folder / m[2]).read_text().rstrip())}</idb:{m[1]}>",
        text,
    )


@pytest.mark.parametrize("host_count", ["1", "2"])
def test_several_nodes_go_through_mpirun(machine: Machine, tmp_path: Path, host_count: str) -> None:
    """An array over several nodes has nobody else to start it there."""
    machine.add("here", allow_nodes())  # linux is one node
    machine.program("mpirun", f'#!/bin/sh\necho "$*" > {tmp_path}/ran\nshift 2\nexec "$@"\n')
    with machine.session() as client:
        assert client.run(attributes(count="4", host_count=host_count, **HERE)) == "DONE"
    assert (tmp_path / "ran").exists() == (host_count == "2")


def test_values_reach_the_executable(machine: Machine, tmp_path: Path) -> None:
    """Arguments, variables and the directory, whatever is in them."""
    out, where = tmp_path / "out", tmp_path / "it's a $(dir)"
    where.mkdir()
    hostile = ["", " ", "a  b ", "it's", '"$HOME"', "$(id)", "`id`", "*", "-n", "\\", "\r", "\u00e9\u2028"]
    program = machine.program("show", '#!/bin/sh\npwd\necho "$VAR|$EMPTY|$TMPDIR"\nprintf "%s\\0" "$@"\n')
    with machine.session() as client:
        pairs = attributes(
            executable_path=str(program),
            argument=hostile,
            environment=["VAR=it's $(id)=", "EMPTY"],
            tmp_dir="/scratch",
            work_directory=str(where),
            **output(out),
            **HERE,
        )
        assert client.run(pairs) == "DONE"
    lines = out.read_bytes().decode().split("\n", 2)
    assert lines[:2] == [str(where), "it's $(id)=||/scratch"]
    assert lines[2].split("\0") == [*hostile, ""]


def test_a_directory_below_the_home(machine: Machine, tmp_path: Path) -> None:
    (machine.root / "home/it's mine").mkdir()
    out = tmp_path / "out"
    pairs = {**output(out), **HERE}
    with machine.session() as client:
        assert client.run(shell("pwd", work_directory="it's mine", **pairs)) == "DONE"
        assert out.read_text() == f"{machine.root}/home/it's mine\n"
        for name in ("/no/such", "no/such"):
            job = client.create(shell("pwd", work_directory=name, **pairs))
            assert client.wait(job) == "FAILED"
            assert client.texts[job].endswith(f" cannot be used: directory {name} cannot be entered")


def test_staging(machine: Machine, tmp_path: Path) -> None:
    """The executable travels, whatever its size: it need not be executable here, and stays as it is."""
    binary, script, out = tmp_path / "it's an executable", tmp_path / "copied", tmp_path / "out"
    shutil.copy("/bin/echo", binary)
    text = f'#!/bin/sh\ncmp \'{script}\' "$0" && stat -c %a "$0" && pwd; exit\n'
    script.write_bytes(text.encode() + bytes(range(256)) * 40_000)
    script.chmod(0o600)
    data = binary.read_bytes()
    staged = {"staging": "true", "work_directory": None, **output(out), **HERE}
    with machine.session() as client:
        job = client.create(attributes(executable_path=str(binary), **staged))
        assert client.wait(job) == "DONE"
        assert out.read_text() == "--client=client.example.org:4000\n"
        assert client.run(attributes(executable_path=str(script), **staged)) == "DONE"
        mode, where = out.read_text().split()
        assert mode == "700"
        assert where.startswith(f"{machine.jobs}/")
    assert binary.read_bytes() == data
    machine.assert_clean()


READER = """\
#!/bin/sh
for word; do case $word in --authNumberFile=*) file=${word#*=} ;; esac; done
printf '%s %s\\n' "$(stat -c %a "$file")" "$(cat "$file")"
: > "$0.up"
read -r word < "$0.fifo"
"""


@pytest.mark.parametrize("host", ["localhost", "there.invalid"])
def test_the_auth_number_reaches_the_program_alone(machine: Machine, host: str) -> None:
    """Who knows it and the client's address can take the program's place: ps shows it to nobody."""
    number, out = "2147483646", machine.root / "out"
    reader = machine.program("reader", READER)
    os.mkfifo(f"{reader}.fifo")
    with machine.session() as client:
        assert "feature STAGING_AUTH_NUMBER" in client.query_features()
        pairs = {**output(out), "hostname": host, **HERE}
        job = client.create(attributes(executable_path=str(reader), auth_number=number, **pairs))
        wait_until(Path(f"{reader}.up").exists)
        found = []
        for pid in processes(machine.jobs):
            with contextlib.suppress(FileNotFoundError):  # it has ended just now
                found.append(Path(f"/proc/{pid}/cmdline").read_bytes())
        assert any(b"--authNumberFile=" in words for words in found)
        assert not any(number.encode() in words for words in found)
        (directory,) = machine.directories
        assert number not in (directory / ".gpe/script").read_text()
        Path(f"{reader}.fifo").write_text("\n")
        assert client.wait(job) == "DONE"
        assert out.read_text() == f"600 {number}\n"
    assert number not in machine.log()
    machine.assert_clean()


def test_redirection(machine: Machine, tmp_path: Path) -> None:
    """docs/protocols/ninfg.md, 4.5: the files are whole at DONE, as the client copies them then; 10 MB each."""
    out, err = tmp_path / "out", tmp_path / "err"
    text = "echo out; echo err >&2"
    both = {**output(out, err), **HERE}
    with machine.session() as client:
        out.write_text("what was there before is gone" * 1_000_000)
        large = "head -c 10000000 /dev/zero | tr '\\0' o; head -c 10000000 /dev/zero | tr '\\0' e >&2"
        assert client.wait(client.create(shell(large, **both))) == "DONE"
        assert out.read_bytes() == b"o" * 10_000_000
        assert err.read_bytes() == b"e" * 10_000_000
        assert client.run(shell(text, **{**both, "stderr_file": str(out)})) == "DONE"
        assert out.read_text() == "out\nerr\n"
        job = client.create(attributes(executable_path="/no/such/program", **both))
        assert client.wait(job) == "FAILED"
        assert "/no/such/program" in err.read_text()
        out.unlink()
        assert client.run(shell(text, **{**both, "redirect_enable": "false"})) == "DONE"
        assert not out.exists()
    machine.assert_clean()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"jobmanager": "heer"}, "attribute jobmanager: there is no profile 'heer' (did you mean here?"),
        ({"jobmanager": "../here"}, "attribute jobmanager: there is no profile '../here' (a name begins"),
        ({"queue_name": "a b"}, "attribute queue_name: field QUEUE"),
        ({"argument": "x" * 140_000}, "attribute argument: field ARGUMENTS: "),
        ({"hostname": "-oProxyCommand=id"}, "attribute hostname: field SSH:HOST"),
        ({"executable_path": "/no/such", "staging": "true"}, "attribute executable_path: /no/such cannot be read here"),
        ({"redirect_enable": "true", "stdout_file": "/no/such/file"}, "attribute stdout_file: /no/such/file cannot be written"),
        ({"redirect_enable": "true", "stderr_file": "/"}, "attribute stderr_file: / cannot be written"),
    ],
)  # fmt: skip
def test_refusals(machine: Machine, changed: dict[str, str], words: str) -> None:
    """What can be known at once is F, and names the attribute."""
    with machine.session() as client:
        assert words in refused(client, attributes(**{**HERE, **changed}))
        assert client.run(attributes(**HERE)) == "DONE"
    machine.assert_clean()


@pytest.mark.parametrize("name", ["option", "invoke_server_option", "profile"])
def test_an_unknown_profile_is_refused_by_the_name_of_its_attribute(machine: Machine, name: str) -> None:
    value = "heer" if name == "profile" else "profile heer"
    with machine.session() as client:
        reason = refused(client, attributes((name, value)))
        assert reason.startswith(f"attribute {name}: there is no profile 'heer'")


@pytest.mark.parametrize("name", ["htcondor", "kubernetes", "oar", "pbs", "sge"])
def test_a_submit_command_that_is_not_there(machine: Machine, name: str) -> None:
    """Nothing can have been submitted: the job has failed at once, and nothing keeps the server."""
    for tool in (*TOOLS, "jq"):
        (machine.root / "bin" / tool).symlink_to(shutil.which(tool) or tool)
    environment = {**machine.environment, "PATH": str(machine.root / "bin")}
    with Client(environment, (), machine.root / "log", directory=machine.root) as client:
        job = client.create(attributes(jobmanager=name))
        assert client.wait(job) == "FAILED"
        assert "not found" in client.texts[job] or "there is no " in client.texts[job]
        assert "not known" not in client.texts[job]
        assert client.exit() == 0


FULL = r"""<idb:Template name="START"><idb:Invocation name=""><idb:Body><![CDATA[
: '<JOB_SCRIPT/'/'\\''>'
echo 'qsub: the queue is full' >&2
exit 38]]></idb:Body></idb:Invocation>
<idb:Field name="JOB_ID_PATTERN" isSettable="false"><idb:Value>(?&lt;id>[0-9]+)</idb:Value></idb:Field>
</idb:Template>
"""


def test_a_submission_that_fails(machine: Machine) -> None:
    """What only the batch system can know is a FAILED job, with its own words."""
    machine.add("full", FULL)
    with machine.session() as client:
        job = client.create(attributes(jobmanager="full"))
        assert client.wait(job) == "FAILED"
        assert client.texts[job] == "START failed (exit status 38): qsub: the queue is full"


def connections(machine: Machine) -> list[str]:
    path = machine.root / "connections"
    return path.read_text().splitlines() if path.exists() else []


def test_this_host(machine: Machine) -> None:
    with machine.session() as client:
        for name in ("localhost", "LOCALHOST", "127.0.0.1", os.uname().nodename):
            assert client.run(attributes(hostname=name, **HERE)) == "DONE"
    assert connections(machine) == []


def test_another_host(machine: Machine, tmp_path: Path) -> None:
    """docs/ninfg.md, Attributes: through SHELL's variation SSH, files too, and with the port."""
    program, out = tmp_path / "program", tmp_path / "out"
    program.write_text('#!/bin/sh\necho "$@"\n')
    with machine.session() as client:
        for host, port in (("there.invalid", "2222"), ("me@there.invalid", "0")):
            pairs = attributes(
                hostname=host,
                port=port,
                executable_path=str(program),
                staging="true",
                work_directory=None,
                **output(out),
                **HERE,
            )
            out.write_text("")
            assert client.run(pairs) == "DONE"
            assert out.read_text() == "--client=client.example.org:4000\n"
    assert {*connections(machine)} == {"there.invalid 2222", "me@there.invalid "}
    machine.assert_clean()


def test_the_subject(machine: Machine, tmp_path: Path) -> None:
    """It means something to a profile that has a field for it."""
    machine.add(
        "grid",
        '<idb:Template name="SHELL"><idb:Invocation name=""><idb:Body>sh -s</idb:Body></idb:Invocation>'
        '<idb:Invocation name="SSH"><idb:Body><![CDATA['
        f"env SUBJECT='<SUBJECT>' sh -c 'echo \"$SUBJECT\" >> {tmp_path}/subject; exec sh -s']]>"
        '</idb:Body></idb:Invocation><idb:Field name="SUBJECT" isSettable="false" '
        'ext:pattern="[A-Za-z0-9/=. ]*"/></idb:Template>',
    )
    with machine.session() as client:
        pairs = attributes(jobmanager="grid", hostname="there.invalid", subject="/O=Grid/CN=a b")
        assert client.run(pairs) == "DONE"
    assert {*(tmp_path / "subject").read_text().splitlines()} == {"/O=Grid/CN=a b"}


def test_a_host_that_cannot_be_reached(machine: Machine) -> None:
    with machine.session() as client:
        job = client.create(attributes(hostname="down.invalid", **HERE))
        assert client.wait(job) == "FAILED"
        assert "No route to host" in client.texts[job]
    machine.assert_clean()


def test_a_connection_that_breaks(machine: Machine) -> None:
    """A job that is there is not forgotten; EXIT ends it when it can be reached again."""
    with machine.client() as client:
        job = client.create(shell("exec sleep 600", hostname="there.invalid", **HERE))
        client.wait(job, "ACTIVE")
        (machine.root / "cut").touch()
        time.sleep(0.5)  # until the connection that is open has ended
        assert client.ask(f"JOB_DESTROY {job}") == "S"
        client._has_sent_exit = True
        assert client.ask("EXIT") == "S"
        wait_until(lambda: len(re.findall("connection closed", machine.log())) > 1)
        assert client.process.poll() is None
        assert processes(machine.jobs)
        (machine.root / "cut").unlink()
        assert client.end() == 0
    machine.assert_clean()


def test_a_second_signal_gives_up(machine: Machine) -> None:
    with machine.client() as client:
        job = client.create(shell("exec sleep 600", hostname="there.invalid", **HERE))
        client.wait(job, "ACTIVE")
        (machine.root / "cut").touch()
        client.terminate()
        wait_until(lambda: "connection closed" in machine.log())
        client.terminate()
        assert client.process.wait(PATIENCE) == 1
    left = [line for line in machine.log().splitlines() if line.endswith("is left behind")]
    assert [f"job {job} " in line for line in left] == [True]
