"""Hostile values through real shells: each reaches the payload unchanged, or is refused. No third."""

from __future__ import annotations

import itertools
import os
import random
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import osprofile
from osprofile import javaregex
from osprofile.errors import IncarnationError, ValueRefusedError
from osprofile.incarnation.incarnate import incarnate
from osprofile.jobs.arrays import parse_array
from tests.hunting import rounds
from tests.profiles.conftest import DASH, PROFILES, exports, quoted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Target

PAYLOAD = r"""#!/bin/sh
printf '%s\0' "$0" "$@" > "$GPE_WORKING_DIRECTORY/got.arguments"
printf '%s' "$HOSTILE" > "$GPE_WORKING_DIRECTORY/got.environment"
cat > "$GPE_WORKING_DIRECTORY/got.stdin"
echo out
echo err >&2
"""

VALUES = [
    " ", " a  b ", "-n", "--", "-", "*", "/*", "?", "~", "!", "#", "a#b", "%j", "%", "\\", "\\\\", "a\\",
    "'", "''", '"', "'\\''", "$HOME", "$(id)", "`id`", "${IFS}", "a;id", "a&b", "a|b", "(a)", "{a,b}",
    "a\nb", "\n", "a\n", "\na", "a\rb", "\r", "a\r\n", "a\tb", "a\x85b", "a\u2028b", "a\u2029b",
    "\u00e9\u4e2d\U0001f600", "\u0081\u0088", "\x01\x7f", "a\x0bb", "<X>", "<EXECUTABLE>", "EOF",
    "a\n#PBS -q x", "a\n#SBATCH -p x", "=a", "a=b", "\\n", "&1", "/dev/tcp/127.0.0.1/1",
]  # fmt: skip
DIRECTIVES = ("JOB_NAME", "QUEUE", "PROJECT")
NUMBERS = ("NODES", "PROCESSES", "CPUS", "MEMORY", "WALLTIME", "CPUTIME")
FILES = ("STDIN", "STDOUT", "STDERR")
BUNDLED = sorted(folder.name for folder in PROFILES.iterdir() if folder.name != "batch")

REFUSED = re.compile(r"\r\n|\n#[A-Z$]")
"""What a batch system could take for a script of DOS, or for a directive."""

hostile = st.text(
    st.one_of(
        st.sampled_from("'\"\\$`*?[]{}()<>|&;#!~%= \t\n\r-/.aX1\x85\u2028\u00e9\U0001f600"),
        st.characters(exclude_characters="\0", exclude_categories=["Cs"]),
    ),
    max_size=12,
).filter(lambda text: not REFUSED.search(text))
CARRIED = [value for value in VALUES if not REFUSED.search(value)]
file_names = hostile.map(lambda text: text.replace("/", "")).filter(
    lambda text: text not in {"", ".", ".."} and len(text.encode()) < 100
)


@pytest.fixture
def payload(tmp_path: Path) -> Path:
    path = tmp_path / "payload"
    path.write_text(PAYLOAD)
    path.chmod(0o700)
    return path


def check(linux: Target, payload: Path, names: list[str], arguments: list[str], value: str) -> None:
    """Run the payload under a hostile name, with hostile files, arguments and environment."""
    directory = linux.directory()
    directory.mkdir(parents=True)
    program, stdin, stdout, stderr = names
    (directory / "programs").mkdir()
    (directory / "programs" / program).symlink_to(payload)
    (directory / stdin).write_text(value)
    executable = f"programs/{program}"
    job = linux.start(
        directory,
        EXECUTABLE=executable,
        ARGUMENTS=quoted(*arguments),
        ENVIRONMENT=exports(HOSTILE=value),
        STDIN=stdin,
        STDOUT=stdout,
        STDERR=stderr,
    )
    assert job.wait().exit == 0, job.read(".gpe/output")
    got = (directory / "got.arguments").read_bytes().split(b"\0")
    # a shell may give the kernel the absolute path, and that is what a script sees as $0
    assert got.pop(0).removeprefix(f"{directory}/".encode()) == executable.encode()
    assert got == [text.encode() for text in (*arguments, "")]
    assert (directory / "got.environment").read_bytes() == value.encode()
    assert (directory / "got.stdin").read_bytes() == value.encode()
    both = stdout == stderr
    assert (directory / stdout).read_text() == ("out\nerr\n" if both else "out\n")
    assert both or (directory / stderr).read_text() == "err\n"


@settings(
    max_examples=rounds(20, 5),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    names=st.lists(file_names, min_size=4, max_size=4, unique=True),
    arguments=st.lists(hostile, max_size=4),
    value=hostile,
)
@example(names=["-e", "-n", "a b", "a b"], arguments=CARRIED[:30], value="\u2028'\r\x85\n")
@example(names=["'$(id)'", "\n", "\u2028", "a\r"], arguments=CARRIED[30:], value="\n\n")
@example(names=["*", "<x", "&1", "|"], arguments=["", ""], value="")
def test_values_reach_the_payload_unchanged(
    linux: Target, payload: Path, names: list[str], arguments: list[str], value: str
) -> None:
    check(linux, payload, names, arguments, value)


def refused(target: Target, name: str, value: str) -> bool:
    """Tell whether START refuses a value; the error must name its field."""
    try:
        target.script("START", **{name: value})
    except IncarnationError as error:
        if error.field != name:
            raise
        return True
    return False


@pytest.mark.parametrize("profile", BUNDLED)
@DASH
def test_a_value_for_a_directive_or_a_number_is_plain_or_refused(
    target_of: Callable[[str], Target], profile: str
) -> None:
    target = target_of(profile)
    values = [*VALUES, "1 2", "1\n", "0", "00", "010", "-1", "1e3", "0x10", "\u0661"]
    for name, value in itertools.product([*DIRECTIVES, *NUMBERS], values):
        if refused(target, name, value):
            continue
        if (profile, name, value) == ("slurm", "MEMORY", "0"):  # all of a node's
            continue
        assert name in DIRECTIVES, (name, value)
        assert value.isascii()
        others = "-/." if name == "JOB_NAME" else "-"  # Slurm keeps a / in a name; it is no part of a path
        assert value.translate(dict.fromkeys(map(ord, others), "a")).isalnum()


NONE_OF_THEIRS = {
    "at": {"START_TIME": ["2037-01-31T08:00:01"]},
    "flux": {"NODE_FILE": ["5"], "MEMORY": ["5"]},
    "htcondor": {"ARRAY": ["1-2%3"]},
    "lsf": {
        "QOS": ["high"],
        "PRIORITY": ["5"],
        "CONSTRAINT": ["a b", "a]span[x", "'a'"],
        "RESERVATION": ["#a"],
        "START_TIME": ["2026-12-31T23:59:30"],
        "DEPENDENCY": ["afterok:x", "afterok:1)||done(2"],
        "ARRAY": ["0-3"],
    },
    "oar": {"DEPENDENCY": ["afterok:1"], "ARRAY": ["1-1", "2-3"], "MEMORY": ["5"]},
    "pbs": {
        "QOS": ["high"],
        "RESERVATION": ["R1"],
        "CONSTRAINT": ["bigmem", "a=1:ncpus=9", "a=$(id)", "NCPUS=9", "arch=linux:Mem=9gb"],
        "START_TIME": ["1999-12-31T23:59"],
        "DEPENDENCY": ["afterok:1[3].pbs0", "afterok:1_3"],
        "ARRAY": ["1,3", "5"],
    },
    "tcs": {"NODE_FILE": ["5"], "MEMORY": ["5"]},
    "tsp": {"DEPENDENCY": ["afterany:3", "afterok:3:4"], "WALLTIME": ["9"]},
}
"""What a batch system does not have, or would read as something else."""


@pytest.mark.parametrize("profile", NONE_OF_THEIRS)
@DASH
def test_what_a_batch_system_has_not_is_refused(target_of: Callable[[str], Target], profile: str) -> None:
    target = target_of(profile)
    for name, values in NONE_OF_THEIRS[profile].items():
        for value in values:
            assert refused(target, name, value), value


@pytest.mark.parametrize("name", ["EXECUTABLE", *FILES])
@DASH
def test_every_other_value_is_carried_or_refused(target_of: Callable[[str], Target], name: str) -> None:
    """In the rendered script the value stands as one word: sh itself gives it back."""
    target = target_of("linux")
    before = "gpe_run -- " if name == "EXECUTABLE" else f"{name}="
    for value in VALUES:
        if refused(target, name, value):
            assert value.startswith(("-", "/dev/tcp/")) or REFUSED.search(value)
            continue
        assert before + quoted(value) in target.script("START", **{name: value})


@pytest.mark.parametrize("profile", BUNDLED)
@DASH
def test_a_line_that_a_batch_system_would_read_is_refused(
    target_of: Callable[[str], Target], profile: str
) -> None:
    target = target_of(profile)
    names = ["EXECUTABLE", "ARGUMENTS", "ENVIRONMENT", "DIRECTORY", "TMP_DIR", *FILES]
    names += [name for name in ("NODE_FILE", "CONTAINER") if not refused(target, name, "/a")]  # not all have
    hostile = ("\r\nb", "\n#PBS -q x", "\n#SBATCH -p x", "\n#BSUB -q x", "\n#$ -q x", "\n\n#SBATCH")
    for name, line in itertools.product(names, ("", "\n #PBS\n#x", *hostile)):
        text = f"/a{line}"
        value = {"ARGUMENTS": quoted(text), "ENVIRONMENT": exports(X=text)}.get(name, text)
        assert refused(target, name, value) == (line in hostile), (name, value)


@DASH
@pytest.mark.parametrize(
    "value",
    ["$(id)", "a;id", "'a", "a'b", "a\nb", "`id`", "a\\", '"a"', "*", "a > b", "-n 3 'x' $y", "'a'\n"],
)
def test_arguments_that_are_not_quoted_words_are_refused(
    target_of: Callable[[str], Target], value: str
) -> None:
    target = target_of("linux")
    for name in ("ARGUMENTS", "ENVIRONMENT"):
        with pytest.raises(IncarnationError) as caught:
            target.script("START", **{name: value})
        assert caught.value.field == name


@pytest.mark.parametrize("value", [v for v in VALUES if v != "-" and "/" not in v])
@DASH
def test_delete_and_list_take_any_path(linux: Target, value: str) -> None:
    directory = linux.directory()
    (directory / value).mkdir(parents=True)
    (directory / value / value).write_text("12345")
    bystander = directory / "bystander"
    bystander.touch()

    (entry,) = linux_entries(linux, "DIR", directory / value)
    assert (entry["type"], entry["size"], entry["name"]) == ("f", "5", value)
    (itself,) = linux_entries(linux, "FILE", directory / value / value)
    assert itself == entry
    linux.ok("DELETE", PATH=f"{directory}/{value}")
    assert [*directory.iterdir()] == [bystander]


def linux_entries(linux: Target, variation: str, path: Path) -> list[dict[str, str | None]]:
    from urllib.parse import unquote

    text = linux.ok("LIST", variation, PATH=str(path))
    found = [m.groupdict() for m in linux.pattern("LIST", "ENTRY_PATTERN").find_iter(text)]
    assert len(found) == len(text.splitlines())
    return [{**entry, "name": unquote(entry["name"] or "", errors="strict")} for entry in found]


# A stand-in for each batch system: the command that submits, what it answers, and what its jobs find.
SUBMITTERS = {
    "slurm": ("sbatch", "7", {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n1"}),
    "pbs": ("qsub", "7.server", {"PBS_JOBID": "7.server", "PBS_NODEFILE": "{nodes}"}),
    "torque": ("qsub", "7.server", {"PBS_JOBID": "7.server", "PBS_NODEFILE": "{nodes}"}),
    "sge": ("qsub", "7", {"JOB_ID": "7", "SGE_TASK_ID": "undefined"}),
    "lsf": ("bsub", "Job <7> is submitted to queue <q>.", {"LSB_JOBID": "7", "LSB_DJOB_HOSTFILE": "{nodes}"}),
}
APPTAINER = r"""#!/bin/sh
printf '%s\0' "$@" > "$CONTAINER_LOG"
while [ "$1" != ./payload ]; do shift; done
exec "$@"
"""
NAMES = [
    "".join(CARRIED[:20]).replace("/", ""), "".join(CARRIED[20:]).replace("/", ""), " ", "*", "~", "#", "\n",
    "-n", "a\n", "a\\", "'", "$(touch pwned)", "%j", "$JOB_ID", "a=b", "::", "a\n#PBS -q x", "a\r\n",
]  # fmt: skip


class Batch:
    """A batch system that takes a job, and the shell that runs the job's script as this system does."""

    def __init__(self, target: Target, directory: Path) -> None:
        self.target = target
        self.directory = directory
        command, answer, variables = SUBMITTERS[target.profile.name]
        nodes = directory / "nodes"
        nodes.write_text("n1\n")
        programs = {
            command: f"#!/bin/sh\necho '{answer}'\n",
            "scontrol": "#!/bin/sh\necho n1\n",
            "apptainer": APPTAINER,
        }
        for name, text in programs.items():
            (directory / name).write_text(text)
            (directory / name).chmod(0o700)
        self.variables = {name: value.format(nodes=nodes) for name, value in variables.items()}
        self.log = directory / "log"

    def run(self, payload: Path, **fields: str) -> Path:
        """Run START and then the job; give its working directory."""
        directory = self.target.directory()
        directory.mkdir(parents=True)
        (directory / "payload").symlink_to(payload)
        self.target.start(directory, EXECUTABLE="./payload", **fields)
        environment = {**self.target.env, **self.variables, "CONTAINER_LOG": str(self.log)}
        done = subprocess.run(["sh", directory / ".gpe/script"], env=environment, cwd=directory, check=False)
        assert done.returncode == 0, (fields, (directory / ".gpe/output").read_text())
        return directory


@pytest.fixture
def batch(target_of: Callable[..., Target], tmp_path: Path, request: pytest.FixtureRequest) -> Batch:
    commands = tmp_path / "commands"
    commands.mkdir()
    return Batch(target_of(request.param, commands), commands)


PLACES = r"""#!/bin/sh
printf '%s\0' "$GPE_NODE_FILE" "${TMPDIR%/*}" > got
"""


@DASH
@pytest.mark.parametrize("batch", SUBMITTERS, indirect=True)
def test_files_and_containers_of_each_batch_system(batch: Batch, tmp_path: Path) -> None:
    """Each value of NODE_FILE, TMP_DIR and CONTAINER is a name as it stands, or is refused by name."""
    payload = tmp_path / "payload"
    payload.write_text(PLACES)
    payload.chmod(0o700)
    # the first two have all characters; each alone for one system, as the job's own program is the same for all
    for value in NAMES if batch.target.profile.name == "slurm" else [*NAMES[:2], *NAMES[-2:]]:
        root = tmp_path / "roots" / value
        root.mkdir(parents=True)
        fields = {"NODE_FILE": value, "TMP_DIR": str(root), "CONTAINER": value}
        told = {name for name, text in fields.items() if refused(batch.target, name, text)}
        if REFUSED.search(value):
            assert told == set(fields)
            continue
        assert told == ({"CONTAINER"} if value.startswith("-") else set())
        image = fields.pop("CONTAINER")
        directory = batch.run(payload, **fields)
        assert (directory / "got").read_bytes() == f"{directory}/{value}\0{root}\0".encode()
        assert (directory / value).read_text() == (
            "n1\n" if batch.target.profile.name != "sge" else f"{os.uname().nodename}\n"
        )
        assert [*root.iterdir()] == []
        if "CONTAINER" not in told:
            directory = batch.run(payload, CONTAINER=image)
            words = batch.log.read_bytes().decode().split("\0")
            bound = f"{directory},{directory}"
            assert words == [
                "exec",
                "--bind",
                bound,
                "--pwd",
                str(directory),
                f"{directory}/{value}",
                "./payload",
                "",
            ]
    assert [*tmp_path.glob("**/pwned")] == []


@pytest.mark.parametrize("batch", ["slurm"], indirect=True)
def test_a_cluster_is_plain_or_refused(batch: Batch) -> None:
    """It stands in a shell's assignment and in a path. `all` would be each cluster."""
    target, command = batch.target, batch.directory / "sbatch"
    command.write_text('#!/bin/sh\nprintf %s "$SBATCH_CLUSTERS" > "$0.cluster"; echo 7\n')
    for value in [*VALUES, "../x", ".x", "-x", "a/b", "a,b", "all", "ALL", "all_1", "c_1.x-y", "EOF\n"]:
        context = {"USER_NAME": "me", "WORKING_DIRECTORY": str(target.directory()), "CLUSTER": value}
        for template in ("START", "FIND_JOB", "GET_JOB_STATUS", "ABORT"):
            fields = {} if template in {"START", "FIND_JOB"} else {"JOB_ID": "7"}
            if value not in {"EOF", "all_1", "c_1.x-y"}:
                with pytest.raises(IncarnationError) as caught:
                    incarnate(target.profile, template, fields=fields, context=context)
                assert caught.value.field == "CLUSTER"
                continue
            found = incarnate(target.profile, template, fields=fields, context=context)
            target.deploy(found.static_scripts)
            text = found.text
            if template == "START":
                done = target.sh(text)
                assert (done.returncode, done.stdout) == (0, "7\n")
                assert (batch.directory / "sbatch.cluster").read_text() == value


@pytest.mark.parametrize("profile", BUNDLED)
def test_what_a_profile_takes_for_an_array_python_reads_as_well(profile: str) -> None:
    """The shell and the batch system read the value a second time: a form that only they know would be other tasks."""
    field = osprofile.load(profile).global_fields["ARRAY"]
    assert field.pattern_text is not None
    pattern = javaregex.compile(field.pattern_text)
    random.seed(7)
    parts = [*["0", "1", "1-3", "7", "08", "12", "-", "-", ":", ",", "%", "+", "0x1", "1e3", "٣"], " ", "\n"]
    values = {"".join(random.choices(parts, k=random.randint(1, 8))) for _ in range(20_000)}
    taken = [value for value in values if pattern.matches(value)]
    assert len(taken) > 20
    for value in taken:
        reason = ""
        try:
            parse_array(value)
        except ValueRefusedError as error:
            reason = str(error)
        assert not reason or "has no index" in reason or "too many tasks" in reason, value
