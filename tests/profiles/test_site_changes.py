"""What a site changes, in at most five lines of XML each: profiles/linux/README.md, Your own profile."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from osprofile import working_directory
from osprofile.errors import NotSettableError, TemplateNotFoundError, ValueRefusedError
from osprofile.lint import lint_file
from osprofile.profile.repository import Repository
from tests.profiles.conftest import PROFILES, Target, quoted
from tests.waiting import PATIENCE

FRAME = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
             xmlns:ext="urn:osprofile:extension" name="mysite" extends="{parent}">
  <osp:UspaceRoot>{root}</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
{before}{change}
{after}</osp:Profile>
"""
MAX_LINES = 5
SUBMIT = {"slurm": "sbatch", "pbs": "qsub"}
STAND_IN = """#!/bin/sh
printf '%s\\n' "$@" > "$STAND_INS/args"
echo 12
"""


@dataclass(frozen=True)
class Script:
    """A job script that START has submitted, with the arguments of the submission."""

    directory: Path
    arguments: list[str]
    env: dict[str, str]
    job_id_variable: str

    @property
    def directives(self) -> list[str]:
        lines = (self.directory / ".gpe/script").read_text().splitlines()
        return [line for line in lines if re.match("#(SBATCH|PBS) ", line)]

    def run(self) -> int:
        """Run the job; return its exit status, which must be the recorded one."""
        command = ["sh", str(self.directory / ".gpe/script")]
        env = {**self.env, self.job_id_variable: "12"}
        done = subprocess.run(command, env=env, cwd="/", timeout=PATIENCE, check=False, capture_output=True)
        assert self.read(".gpe_exit_status") == f"{done.returncode}\n"
        return done.returncode

    def read(self, name: str) -> str:
        return (self.directory / name).read_text()


@cache  # many tests make the same change
def find_problems(text: str) -> list[str]:
    """Return what lint finds in a profile of this text."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "mysite.xml"
        path.write_text(text)
        repository = Repository([PROFILES], use_standard_path=False)
        return [str(problem) for problem in lint_file(path, repository)]


class Site:
    """A profile `mysite`, whose batch system is a stand-in."""

    def __init__(self, tmp_path: Path, shell: str) -> None:
        self.tmp_path, self.shell, self.started = tmp_path, shell, 0
        self.root = tmp_path / "jobs"

    def change(self, parent: str, change: str, root: str = "", *, is_field: bool = True) -> None:
        """Write the profile; what it says beside the frame is at most five lines, and lint finds nothing."""
        assert len(change.splitlines()) <= MAX_LINES
        frame = ("  <idb:Template>\n", "  </idb:Template>\n") if is_field else ("", "")
        text = FRAME.format(parent=parent, root="{root}", before=frame[0], change=change, after=frame[1])
        path = self.tmp_path / "mysite.xml"
        path.write_text(text.replace("{root}", root or str(self.root)))
        assert find_problems(text.replace("{root}", root or "/scratch")) == []
        repository = Repository([PROFILES], use_standard_path=False)
        commands, home = self.tmp_path / "commands", self.tmp_path / "home"
        for directory in (commands, home):
            directory.mkdir(exist_ok=True)
        (commands / SUBMIT[parent]).write_text(STAND_IN)
        (commands / SUBMIT[parent]).chmod(0o700)
        self.parent = parent
        self.target = Target(repository.load_file(path), self.shell, home, self.root, path=[commands])
        self.target.environment["STAND_INS"] = str(commands)

    def submit(self, **fields: str) -> Script:
        job = self.target.start(**fields)
        assert job.id == "12"
        arguments = (self.tmp_path / "commands/args").read_text().splitlines()
        variable = {"slurm": "SLURM_JOB_ID", "pbs": "PBS_JOBID"}[self.parent]
        return Script(job.directory, arguments, dict(self.target.env), variable)

    def refuse(self, **fields: str) -> str:
        """Return the message with which a request is refused; it is plain, one line, and no traceback."""
        with pytest.raises(ValueRefusedError) as caught:
            self.target.script("START", **fields)
        assert "\n" not in caught.value.message
        return caught.value.message


@pytest.fixture
def site(tmp_path: Path, shell: str) -> Site:
    return Site(tmp_path, shell)


def test_a_default_queue(site: Site) -> None:
    site.change(
        "slurm",
        """    <idb:Field name="QUEUE" ext:pattern="[A-Za-z0-9_][A-Za-z0-9_.-]*">
      <idb:Description>The partition.</idb:Description>
      <idb:Default>long</idb:Default>
    </idb:Field>""",
    )
    assert "#SBATCH --partition=long" in site.submit().directives
    assert "#SBATCH --partition=short" in site.submit(QUEUE="short").directives


def test_gres_by_a_field_of_the_site(site: Site) -> None:
    site.change(
        "slurm",
        """    <idb:Field name="GPUS" ext:type="integer" ext:directive="#SBATCH --gres=gpu:$1">
      <idb:Description>The number of GPUs on each node.</idb:Description>
      <idb:Min>1</idb:Min><idb:Max>8</idb:Max><idb:Default/>
    </idb:Field>""",
    )
    assert site.submit(GPUS="2").directives[0] == "#SBATCH --gres=gpu:2"
    assert not [line for line in site.submit().directives if "gres" in line]
    assert "9" in site.refuse(GPUS="9")


LICENSES = """    <idb:Field name="LICENSES" ext:pattern="[a-z]+(:[0-9]+)?" ext:directive="{}">
      <idb:Description>Licenses, as in matlab:2.</idb:Description><idb:Default/>
    </idb:Field>"""


def test_licenses(site: Site) -> None:
    site.change("slurm", LICENSES.format("#SBATCH --licenses=$1"))
    assert "#SBATCH --licenses=matlab:2" in site.submit(LICENSES="matlab:2").directives
    assert "does not match the pattern" in site.refuse(LICENSES="a\n#SBATCH --wrap=x")


def test_licenses_of_pbs(site: Site) -> None:
    site.change("pbs", LICENSES.format("#PBS -l license=$1"))
    submitted = site.submit(LICENSES="matlab:2")
    assert "license=matlab:2" in submitted.arguments


def test_a_fixed_account(site: Site) -> None:
    site.change(
        "slurm",
        """    <idb:Field name="PROJECT" isSettable="false">
      <idb:Value>physics</idb:Value>
    </idb:Field>""",
    )
    assert "#SBATCH --account=physics" in site.submit().directives
    with pytest.raises(NotSettableError, match="PROJECT"):
        site.submit(PROJECT="chemistry")


def test_modules_for_all_jobs(site: Site) -> None:
    site.change(
        "slurm",
        """    <idb:Field name="SITE_SETUP" isSettable="false">
      <idb:Value>module() { export LOADED="$*"; }
module load gcc openmpi</idb:Value>
    </idb:Field>""",
    )
    job = site.submit(EXECUTABLE="printenv", ARGUMENTS="LOADED")
    assert job.run() == 0
    assert job.read("stdout") == "load gcc openmpi\n"


def test_a_cleanup_runs_after_the_program_and_before_the_record(site: Site) -> None:
    site.change(
        "pbs",
        """    <idb:Field name="SITE_CLEANUP" isSettable="false">
      <idb:Value>[ -e .gpe_exit_status ] || echo "$gpe_status" > cleaned</idb:Value>
    </idb:Field>""",
    )
    job = site.submit(EXECUTABLE="sh", ARGUMENTS=quoted("-c", "test ! -e cleaned && exit 7"))
    assert job.run() == 7
    assert job.read("cleaned") == "7\n"


@pytest.mark.parametrize(
    ("parent", "directive", "argument"),
    [("slurm", "#SBATCH --requeue", ""), ("pbs", "#PBS -m n", "-m")],
)
def test_a_further_directive(site: Site, parent: str, directive: str, argument: str) -> None:
    site.change(
        parent,
        f"""    <idb:Field name="EXTRA_DIRECTIVES" isSettable="false">
      <idb:Value>{directive}</idb:Value>
    </idb:Field>""",
    )
    submitted = site.submit()
    assert submitted.directives[-1] == directive
    assert not argument or argument in submitted.arguments


ONE_OPTION = "(?:--gres=gpu:[1-8]|--exclusive)"
OPTIONS = f"""    <idb:Field name="OPTIONS" ext:pattern="{ONE_OPTION}(?: {ONE_OPTION})*">
      <idb:Description>--gres=gpu:N and --exclusive.</idb:Description><idb:Default/>
    </idb:Field>"""


@pytest.mark.parametrize("value", ["--exclusive", "--gres=gpu:2", "--gres=gpu:2 --exclusive"])
def test_an_option_that_users_may_give(site: Site, value: str) -> None:
    site.change("slurm", OPTIONS)
    assert site.submit(OPTIONS=value).directives[-1] == f"#SBATCH {value}"


@pytest.mark.parametrize(
    "value",
    [
        "--wrap=x", "--gres=gpu:9", "--exclusive --wrap=x", "--exclusive\n#SBATCH --wrap=x", "--exclusive\r",
        "--exclusive\nid", "'--exclusive'", '"', " --exclusive", "--exclusive=x", "x",
    ],
)  # fmt: skip
def test_any_other_option_is_refused(site: Site, value: str) -> None:
    site.change("slurm", OPTIONS)
    message = site.refuse(OPTIONS=value)
    assert message.startswith("field OPTIONS: ")
    assert "does not match the pattern" in message


def test_modules_that_users_may_choose(site: Site) -> None:
    site.change(
        "slurm",
        """    <idb:Field name="MODULES" ext:pattern="(?:gcc|openmpi/4.1)(?: (?:gcc|openmpi/4.1))*">
      <idb:Description>gcc, openmpi/4.1</idb:Description><idb:Default/>
    </idb:Field>""",
    )
    module = site.tmp_path / "commands/module"
    text = '#!/bin/sh\necho "$@" >> "$STAND_INS/modules"\n[ "$2" = gcc ]\n'
    module.write_text(text)
    module.chmod(0o700)
    job = site.submit(MODULES="gcc")
    assert job.run() == 0
    assert site.submit().run() == 0
    job = site.submit(MODULES="gcc openmpi/4.1")
    assert job.run() == 137  # for the batch system, too, it is no exit status of the program
    assert job.read(".gpe/failure") == "module openmpi/4.1 cannot be loaded\n"
    (job.directory / ".gpe_exit_status").unlink()  # the node of this run failed before it had written it
    module.write_text("#!/bin/sh\n")
    assert job.run() == 0
    assert not (job.directory / ".gpe/failure").exists()
    module.write_text(text)
    loaded = (site.tmp_path / "commands/modules").read_text().splitlines()
    assert loaded == ["load gcc", "load gcc", "load openmpi/4.1"]
    for value in ("intel", "gcc;id", "gcc\nid", "-x", "gcc $(id)"):
        assert "does not match the pattern" in site.refuse(MODULES=value)


SETUP = """    <idb:Field name="SETUP">
      <idb:Description>Shell code before the program.</idb:Description><idb:Default/>
    </idb:Field>"""


def test_setup_that_users_may_give(site: Site) -> None:
    site.change("slurm", SETUP)
    job = site.submit(SETUP="x='it''s'\nexport LOADED=\"$x\"\n", EXECUTABLE="printenv", ARGUMENTS="LOADED")
    assert job.run() == 0
    assert job.read("stdout") == "its\n"


@pytest.mark.parametrize(
    ("setup", "status"),
    [
        ("exit 3", {3}), (")", {1, 2}), ("); exit 4; (", {1, 2}), ("'", {1, 2}), ('"\n', {1, 2}), ("exec true", {0}),
        ("'\nexit 5; '", {0, 5, 127}), ("trap 'exit 6' EXIT; exit 1", {6}), ("\nset -e\nfalse\n", {1}),
        ("gpe_end=exit gpe_status=9 gpe_exit=9; true", {0}), ("kill -s KILL $(exec sh -c 'echo $PPID')", {137}),
        ("set -- x; cd /; PATH=/nowhere", {127}), ("-x", {0, 2, 127}), ("}", {1, 2, 127}), ("fi; done", {1, 2}),
    ],
)  # fmt: skip
def test_setup_cannot_skip_the_record(site: Site, setup: str, status: set[int]) -> None:
    site.change("slurm", SETUP)
    assert site.submit(SETUP=setup, EXECUTABLE="true").run() in status  # the recorded one, which run compares


def test_a_limit(site: Site) -> None:
    site.change(
        "pbs",
        """    <idb:Field name="WALLTIME" ext:type="integer" ext:pattern="[1-9][0-9]*">
      <idb:Description>The limit of the wall time, in seconds.</idb:Description>
      <idb:Min>1</idb:Min><idb:Max>86400</idb:Max>
      <idb:Tag name="">3600</idb:Tag><idb:Default>3600</idb:Default>
    </idb:Field>""",
    )
    assert "#PBS -l walltime=01:00:00" in site.submit().directives
    assert "#PBS -l walltime=01:00:00" in site.submit(WALLTIME="").directives
    assert "86400" in site.refuse(WALLTIME="86401")


def test_a_removed_template(site: Site) -> None:
    site.change("slurm", '  <idb:Template name="SIGNAL" ext:absent="true"/>', is_field=False)
    site.submit()
    with pytest.raises(TemplateNotFoundError, match="SIGNAL"):
        site.target.script("SIGNAL", JOB_ID="12", SIGNAL="15")


def test_another_directory_for_jobs(site: Site) -> None:
    site.change("slurm", "", root=str(site.tmp_path / "scratch"), is_field=False)
    directory = working_directory(site.target.profile, "me", "1")
    assert directory == f"{site.tmp_path}/scratch/me/1"
