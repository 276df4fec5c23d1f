"""The script that stages a job's files, in each shell that is here."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from osprofile.executors.blah.attributes import submission_from_ad
from osprofile.executors.blah.staging import build_staged_job
from osprofile.executors.blah.submit_ad import SubmitAd
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE
from tests.executors.blah.gridmanager import ad, quoted
from tests.waiting import PATIENCE

PROFILES = Path(__file__).parents[3] / "profiles"

SHELLS = [
    words
    for words in (["dash"], ["bash"], ["bash", "--posix"], ["busybox", "sh"], ["ksh93"], ["mksh"], ["yash"])
    if shutil.which(words[0])
]


class Place:
    """A directory that a client calls Iwd, one on a machine where a job runs, and a shell there."""

    def __init__(self, path: Path, shell: list[str]) -> None:
        self.iwd, self.there, self.shell = path / "iwd", path / "there", shell
        self.iwd.mkdir()
        (self.there / ".gpe").mkdir(parents=True)
        functions = [(PROFILES / "linux" / name).read_text() for name in ("job.sh", "job-staging.sh")]
        (self.there / ".gpe/job.sh").write_text("".join(functions))

    def start(self, text: str, path: str = "", **attributes: str) -> subprocess.Popen[str]:
        """Start shell text as a job's program, with its files, in a session of its own."""
        written = ad(
            Cmd="/bin/sh", Arguments=f"-c {quoted(text)}", gridtype="linux", Iwd=str(self.iwd), **attributes
        )  # fmt: skip
        submission = submission_from_ad(SubmitAd.parse(written), frozenset(FIELD_BY_ATTRIBUTE.values()))
        job = build_staged_job(submission, str(self.there), has_proxy=False)
        return subprocess.Popen(
            [*self.shell, *job.arguments],
            cwd=self.there,
            env={
                **os.environ,
                "PATH": path or os.environ["PATH"],
                "GPE_WORKING_DIRECTORY": str(self.there),
                "IWD": str(self.iwd),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, text: str, path: str = "", **attributes: str) -> subprocess.CompletedProcess[str]:
        """Run shell text as a job's program, with its files, to its end."""
        with self.start(text, path, **attributes) as process:
            try:
                stdout, stderr = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        return subprocess.CompletedProcess([], process.returncode, stdout, stderr)

    def write(self, **files: str) -> None:
        """Write files of the client's."""
        for name, text in files.items():
            (self.iwd / name).write_text(text)

    @property
    def failure(self) -> str:
        """What the job says cannot be used."""
        path = self.there / ".gpe/failure"
        return path.read_text() if path.exists() else ""

    @property
    def files(self) -> dict[str, str]:
        """What the client has in its directory."""
        return {path.name: path.read_text() for path in self.iwd.iterdir() if path.is_file()}


@pytest.fixture(params=SHELLS, ids=" ".join)
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    return Place(tmp_path, request.param)


PROGRAM = r"""
printf x > 'a b'; printf x > ./-n; printf x > .hidden; printf x > '$(id)'; printf x > "it's"
printf x > 'l
e'; printf x > ..c; printf x > '*'
printf new > taken.new && mv -f taken.new taken          # a file in the place of another, of one size
printf XX > same_size; printf more >> longer
printf old > older && touch -t 200001010000 older        # new, with an old time
printf old > stale && touch -t 200001010000 stale
mkdir d; printf x > d/x; printf x > tree/x; ln -s longer link; mkfifo fifo; touch -t 203001010000 d
rm gone
printf theirs > "$IWD/kept"                              # somebody else works there, too
exit 3
"""


def test_new_and_changed_files_come_back_and_only_those(place: Place) -> None:
    """HTCondor's default where no outputs are named: what is new or changed at the top."""
    before = dict.fromkeys(("taken", "same_size", "longer", "stale", "gone", "kept", "remapped"), "aa")
    place.write(**before, other="not brought")
    (place.iwd / "tree").mkdir()
    (place.there / ".gpe/script").write_text("ours")
    done = place.run(
        PROGRAM,
        TransferInput=",".join((*before, "tree")),
        TransferOutputRemaps=f"a b=c d;older={place.iwd}/tree/older;stale=stale;none=x",
    )
    left = " is left behind: only directories that transfer_output_files names come back\n"
    assert (done.returncode, done.stderr) == (3, f"d{left}tree{left}")
    assert place.files == {
        "c d": "x", "-n": "x", ".hidden": "x", "$(id)": "x", "it's": "x", "l\ne": "x", "..c": "x", "*": "x",
        "taken": "new", "same_size": "XX", "longer": "aamore", "link": "aamore", "stale": "old",
        "gone": "aa", "kept": "theirs", "remapped": "aa", "other": "not brought",
    }  # fmt: skip
    assert (place.iwd / "tree" / "older").read_text() == "old"
    assert sorted(path.name for path in (place.iwd / "tree").iterdir()) == ["older"]
    assert not (place.iwd / "d").exists()


def test_a_file_changed_at_once_is_changed(place: Place) -> None:
    """In place, in the same size, as soon as the program begins."""
    for number in range(10):
        (place.there).joinpath(".gpe/old_mark").unlink(missing_ok=True)
        place.write(a="aa")
        assert place.run("printf bb > a", TransferInput="a").returncode == 0
        assert place.files == {"a": "bb"}, number


def test_outputs_that_are_named_are_all(place: Place) -> None:
    place.write(a="a")
    program = "echo x > new; echo x > a; mkdir d; echo x > d/x"
    done = place.run(program, TransferInput="a", TransferOutput="d,none")
    left = "new is left behind: transfer_output_files does not name it\n"
    assert (done.returncode, done.stderr) == (0, f"{left}there is no output file none\n")
    assert place.files == {"a": "a"}
    assert (place.iwd / "d" / "x").read_text() == "x\n"


PIPES = "there is no output file pipe\nthere is no output file zero\n"
OUTPUTS: dict[str, tuple[str, dict[str, str], str, dict[str, str]]] = {
    "one that is no file is none": (  # nobody writes to a pipe any more: to copy it would take for ever
        "mkfifo pipe; ln -s /dev/zero zero; echo x > a", {"TransferOutput": "pipe,zero,a"}, PIPES, {"a": "x\n"},
    ),
    "transfer_output_files is empty": (
        "echo x > new; echo x > a", {"TransferInput": "a", "TransferOutput": ""}, "", {"a": "a"},
    ),
    "remaps alone": ("echo x > a; echo x > b", {"TransferOutputRemaps": "a=c"}, "", {"a": "a", "b": "x\n", "c": "x\n"}),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs(place: Place, name: str) -> None:
    program, attributes, said, files = OUTPUTS[name]
    place.write(a="a")
    done = place.run(program, **attributes)
    assert (done.returncode, done.stderr) == (0, said)
    assert place.files == files


def test_without_files_it_runs_where_its_client_is(place: Place) -> None:
    place.write(a="a")
    assert place.run("cat a > b; pwd > c", StageCmd="false").returncode == 0
    assert place.files == {"a": "a", "b": "a", "c": f"{place.iwd}\n"}
    assert [path.name for path in place.there.iterdir()] == [".gpe"]


@pytest.mark.parametrize("attributes", [{}, {"TransferInput": "a"}, {"StageCmd": "false"}])
def test_the_staging_has_an_environment_of_its_own(place: Place, attributes: dict[str, str]) -> None:
    """The PATH of the job is what it asks for, in front of that of the node."""
    place.write(a="a")
    tools = place.iwd / "tools"
    tools.mkdir()
    for name in ("mkdir", "cp", "find", "own"):
        (tools / name).write_text("#!/bin/sh\necho of the job\n")
        (tools / name).chmod(0o755)
    variables = {
        "PATH": str(tools),
        "LD_PRELOAD": "",
        "POSIXLY_CORRECT": "1",
        "CDPATH": "/",
        "A": "b  'c'\n$d",
    }
    text = 'own; cp; printf "%s.\\n" "$A" "$PATH" "$CDPATH"; cat a > b'
    environment = " ".join(quoted(f"{name}={value}") for name, value in variables.items())
    done = place.run(text, Environment=environment, **attributes)
    lines = f"of the job\nof the job\nb  'c'\n$d.\n{tools}:{os.environ['PATH']}.\n/.\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, lines, "")
    assert place.files == {"a": "a", "b": "a"}


def test_many_files_are_copied_in_one_pass(place: Place, tmp_path: Path) -> None:
    """By one program each way, however many there are; of two of one name, the later one counts."""
    names = [f"file {number}" for number in range(300)]
    place.write(**dict.fromkeys(names, "a"))
    (place.iwd / "d").mkdir()
    (place.iwd / "d" / "file 7").write_text("b")
    (tmp_path / "bin").mkdir()
    counting = tmp_path / "bin" / "cp"
    counting.write_text(f'#!/bin/sh\necho >> {tmp_path}/calls\nexec {shutil.which("cp")} "$@"\n')
    counting.chmod(0o755)
    text = 'for f in file*; do echo x >> "$f"; done'
    path = f"{tmp_path}/bin:{os.environ['PATH']}"
    done = place.run(text, path=path, TransferInput=",".join(names))
    assert (done.returncode, done.stderr) == (0, "")
    assert place.files == dict.fromkeys(names, "ax\n")
    assert len((tmp_path / "calls").read_text().splitlines()) == 3  # with that of the program
    done = place.run(text, TransferInput="d/file 7,file 7,d/file 7,file 8")
    assert (done.returncode, done.stderr, place.files["file 8"]) == (0, "", "ax\nx\n")


def test_a_linked_input_is_what_it_is_linked_to(place: Place) -> None:
    """A link would lead from another directory elsewhere, and the program change the client's own file."""
    place.write(a="a")
    (place.iwd / "link").symlink_to("a")
    assert place.run("cat link; echo x > link", TransferInput="link", TransferOutput="").stdout == "a"
    assert place.files == {"a": "a", "link": "a"}


def test_inputs_leave_the_files_of_the_job_alone(place: Place) -> None:
    """A working directory of an earlier job brings its results, but not what is known about it."""
    (place.there / ".gpe/id").write_text("ours")
    earlier = place.iwd / "earlier"
    (earlier / "d").mkdir(parents=True)
    (earlier / ".gpe").mkdir()
    for name in ("a", ".hidden", "..c", "d/.gpe_exit_status", ".gpe/id", ".gpe/removed"):
        (earlier / name).write_text("theirs")
    (earlier / "link").symlink_to(".gpe/id")
    place.write(link="through a link")
    done = place.run("ls -A; cat .gpe/id d/.gpe_exit_status link", TransferInput="earlier/,link",
                     TransferOutput="")  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    *names, text = done.stdout.split("\n")
    assert sorted(names) == ["..c", ".gpe", ".hidden", "a", "d", "link"]
    assert text == "ourstheirsthrough a link"


@pytest.mark.parametrize("name", ["none", "none/", "file/"])
def test_what_cannot_be_brought_ends_the_job(place: Place, name: str) -> None:
    place.write(file="x")
    done = place.run("echo ran", TransferInput=name)
    assert (done.returncode, done.stdout) == (125, "")
    assert f"{place.iwd}/{name} cannot be copied" in done.stderr
    assert place.failure.startswith(f"file {place.iwd}/{name} cannot be copied")


def test_any_exit_status_is_the_programs(place: Place) -> None:
    place.write(a="a")
    assert place.run("exit 125", TransferInput="a").returncode == 125
    assert not place.failure


def test_what_cannot_be_brought_back_is_no_success(place: Place) -> None:
    place.write(a="a")
    (place.iwd / "new").mkdir()
    (place.iwd / "new" / "new").mkdir()  # no file can be written there, by root neither
    done = place.run("echo x > new", TransferInput="a")
    assert done.returncode == 125
    assert "the job cannot go on: file ./new cannot be copied to " in done.stderr
    assert place.failure == f"file ./new cannot be copied to {place.iwd}\n"


SIGNALLED = {
    "trap 'echo y > done; exit 5' TERM; echo; while :; do sleep 0.02; done": (5, {"a": "a", "done": "y\n"}),
    "echo y > done; echo; exec sleep 600": (128 + signal.SIGTERM, {"a": "a"}),
}


@pytest.mark.parametrize("text", SIGNALLED)
def test_a_signal_for_the_whole_job(place: Place, text: str) -> None:
    """It is the program's: who ends as it wants leaves its files, who is ended leaves none."""
    place.write(a="a")
    with place.start(text, TransferInput="a") as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
    assert (process.returncode, place.files) == SIGNALLED[text]


def test_a_signal_before_the_program_begins(place: Place, tmp_path: Path) -> None:
    """It ends the job: its number is no exit status of the program."""
    (tmp_path / "bin").mkdir()
    copying = tmp_path / "bin" / "cp"
    copying.write_text(f'#!/bin/sh\n[ "$1" != -- ] || kill -s TERM 0\nexec {shutil.which("cp")} "$@"\n')
    copying.chmod(0o755)
    place.write(a="a")
    done = place.run("echo ran", path=f"{tmp_path}/bin:{os.environ['PATH']}", TransferInput="a")
    assert done.returncode in {-signal.SIGTERM, 128 + signal.SIGTERM}
    assert done.stdout == ""


SIGNALS = (
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "SEGV", "PIPE", "ALRM", "USR1", "USR2", "TERM",
    "XCPU", "XFSZ", "VTALRM", "PROF", "SYS",
)  # fmt: skip


@pytest.mark.hunt(3)
def test_any_signal_for_the_whole_job(place: Place) -> None:
    """One that the program takes does not end the job; one that it does not take ends the program."""
    place.write(a="a")
    program = place.iwd / "program.py"
    program.write_text(
        "import signal, sys, time\n"
        "number = int(sys.argv[2])\n"
        "kept = signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)\n"
        "print(kept or number in (signal.SIGPIPE, signal.SIGXFSZ), flush=True)\n"  # Python ignores these
        "signal.signal(number, (lambda *_: sys.exit(7)) if sys.argv[1] == 'y' else signal.SIG_DFL)\n"
        "print('ready', flush=True)\n"
        "for _ in range(600):\n    time.sleep(0.1)\n"
    )
    told = {}
    for name in SIGNALS:
        number = getattr(signal, f"SIG{name}")
        for takes in "yn":
            text = f"exec {sys.executable} {program} {takes} {number}"
            with place.start(text, TransferInput="a") as process:
                assert process.stdout is not None
                assert process.stdout.readline() == "True\n", name
                process.stdout.readline()
                os.killpg(process.pid, number)
                process.wait()
            told[name, takes] = process.returncode
    assert told == {
        (name, takes): 7 if takes == "y" else 128 + getattr(signal, f"SIG{name}")
        for name in SIGNALS
        for takes in "yn"
    }


def test_a_program_that_a_signal_ends_leaves_its_files(place: Place) -> None:
    place.write(a="a")
    assert place.run("echo y > new; kill -s KILL $$", TransferInput="a").returncode == 128 + 9
    assert place.files == {"a": "a", "new": "y\n"}
