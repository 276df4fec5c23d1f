"""The job script in START's here-document: what stands there is what runs, whole or not at all."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import osprofile
from osprofile.incarnation.incarnate import incarnate
from tests.profiles.conftest import PROFILES, load_text, quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.profiles.conftest import Job, Target

SHELLS = ["dash", "bash", "ksh", "mksh", "zsh", "yash"]
ECHO = "import sys; open('told', 'w').write(repr(sys.argv[1:]))"


def echo(target: Target, *words: str) -> Job:
    """Run a program that writes down its arguments."""
    job = target.start(EXECUTABLE=sys.executable, ARGUMENTS=quoted("-c", ECHO, *words))
    assert job.wait().exit == 0, job.read("stderr")
    return job


def get_delimiter(text: str) -> str:
    match = re.search(r"<<'(END_OF_JOB_\w+)'\n", text)
    assert match is not None
    return match[1]


@pytest.mark.parametrize("shell", SHELLS, indirect=True)
def test_values_stand_in_it_as_they_are(target_of: Callable[..., Target]) -> None:
    linux = target_of("linux")
    other = get_delimiter(linux.script("START"))  # of another request
    words = [
        "a\nb\n",
        f"\n{other}\n",
        "gpe_end_job",
        "\ngpe_end_job\n",
        "<JOB_SCRIPT:END>",
        "\\",
        "$(touch pwned)",
        "it's",
    ]
    job = echo(linux, *words)
    assert job.read("told") == repr(words)
    assert not (job.directory / "pwned").exists()


@pytest.mark.parametrize("shell", SHELLS, indirect=True)
def test_as_long_as_a_program_can_take(target_of: Callable[..., Target]) -> None:
    linux = target_of("linux")
    words = ["x" * 98_000] * 4
    job = linux.start(EXECUTABLE=sys.executable, ARGUMENTS=quoted("-c", ECHO, *words))
    assert job.wait().exit == 0, job.read("stderr")
    assert len(job.read(".gpe/script")) > 392_000
    assert job.read("told") == repr(words)


@pytest.mark.parametrize("shell", SHELLS, indirect=True)
def test_a_script_that_is_cut_runs_nothing(target_of: Callable[..., Target]) -> None:
    """As `incarnate START | ssh host sh` does, when the connection breaks."""
    linux = target_of("linux")
    whole = linux.script(
        "START",
        EXECUTABLE="/bin/touch",
        ARGUMENTS=quoted(f"{linux.home}/ran", "x" * 5000),
        directory=linux.root / "cut",
    )
    begin, end = whole.index("#!/bin/sh"), whole.index("\ngpe_end_job\n")
    for cut in {*range(begin, end, 499), end, end + len("\ngpe_end_jo")}:
        done = subprocess.run(
            [linux.shell, "-s"], input=whole[:cut], capture_output=True, text=True, env=linux.env, check=False
        )
        assert done.stdout == ""
        if linux.shell in {"mksh", "yash"}:  # they read no here-document without its end
            assert done.returncode in {1, 2}
            assert "here" in done.stderr
        else:
            assert done.returncode == 73
            assert "START: the job script has no end: " in done.stderr
    assert not (linux.home / "ran").exists()
    assert not (linux.root / "cut/.gpe/id").exists()
    assert linux.start(linux.root / "cut").wait().exit == 0


OWN_PARTS = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile"
    xmlns:idb="http://gpe.intel.com/idb" name="own" extends="linux">
  <osp:UspaceRoot>/var/tmp</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="JOB_PROLOGUE"><idb:Invocation><idb:Body><![CDATA[cd '<WORKING_DIRECTORY>'
(]]></idb:Body></idb:Invocation></idb:Template>
  <idb:Template name="JOB_EPILOGUE"><idb:Invocation><idb:Body>{}</idb:Body></idb:Invocation></idb:Template>
</osp:Profile>
"""


@pytest.mark.parametrize("shell", SHELLS, indirect=True)
def test_a_prologue_and_an_epilogue_of_ones_own(target_of: Callable[..., Target]) -> None:
    """As OS Profile 0.3 describes them (2.5): what else a job needs is done for it."""
    linux = target_of("linux")
    words = {"EXECUTABLE": "/bin/sh", "ARGUMENTS": quoted("-c", "echo $GPE_JOB_ID; exit 3")}
    for end in (")\necho $? >.gpe_exit_status\n# end of the job script", ")\n# end of the job script"):
        linux.profile = load_text(OWN_PARTS.format(end.replace(">", "&gt;")))
        job = linux.start(**words)
        assert job.wait().exit == 3
        assert job.read(".gpe/output").endswith(f"{job.id}\n")
    waiting = linux.start(
        EXECUTABLE="/bin/sleep", ARGUMENTS="60", DEPENDENCY=f"afterany:{linux.start(**words).id}"
    )
    waiting.wait("RUNNING")
    linux.ok("ABORT", JOB_ID=waiting.id)
    # ksh cuts 271, its status of the signal, to 15 on the way out of two subshells
    assert waiting.wait().state == ("DONE" if linux.shell == "ksh" else "REMOVED")
    assert "ARRAY needs the inherited JOB_PROLOGUE" in linux.fails("START", ARRAY="1-2")
    linux.profile = load_text(OWN_PARTS.format(")"))
    assert "JOB_EPILOGUE lacks its last line" in linux.fails("START")


@pytest.mark.parametrize("shell", SHELLS, indirect=True)
def test_times_of_each_shell(shell: str) -> None:
    """What `times` prints, read as hundredths of a second; 0m08.09s is no octal number."""
    table = {
        "1m2.345s": "6234",
        "0m08.09s": "809",
        "12m59,9s": "77990",
        "0m0.010000s": "1",
        "": "",
        "0m1s": "",
        "user": "",
    }
    read = f'. {PROFILES}/linux/job.sh; for t; do gpe_hundredths=; gpe_parse_time "$t" || gpe_hundredths=; echo "$gpe_hundredths"; done'
    done = subprocess.run([shell, "-c", read, shell, *table], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [*table.values()]


PROGRAM_NAMES = {
    "a path": ("/opt/my app/fit (v2).sh", "fit__v2_.sh"),
    "a name": ("./-x--", "x--"),
    "a directory's mark": ("/opt/sim//", "sim"),
    "not ASCII": ("/tmp/größe # -p x", "gr__e___-p_x"),
    "nothing is left": ("...", "gpe_job"),
    "long": ("x" * 300, "x" * 63),
}
DIRECTIVES = {
    "slurm": "#SBATCH --job-name={}", "pbs": "#PBS -N {}", "torque": "#PBS -N {}", "sge": "#$ -N {}", "lsf": "#BSUB -J {}",
    "oar": "#OPTION -n {}", "flux": "#FLUX: --job-name={}", "htcondor": "#OPTION batch_name={}", "slurmrest": "#OPTION name={}",
    "nqsv": "#PBS -N {}", "tcs": "#PJM -N {}", "cobalt": "#COBALT --jobname {}", "loadleveler": "#@ job_name = {}", "moab": "#OPTION -N {}",
}  # fmt: skip


@pytest.mark.parametrize("name", DIRECTIVES)
def test_a_job_without_a_name_has_that_of_its_program(name: str) -> None:
    profile, directive = osprofile.load(name), DIRECTIVES[name]
    context = {"USER_NAME": "me", "WORKING_DIRECTORY": "/w"}
    for program, expected in PROGRAM_NAMES.values():
        fields = {"EXECUTABLE": program}
        text = incarnate(profile, "START", fields=fields, context=context).text
        assert f"\n{directive.format(expected)}\n" in text
        named = incarnate(profile, "START", fields={**fields, "JOB_NAME": "mine"}, context=context).text
        assert f"\n{directive.format('mine')}\n" in named
        assert directive.format(expected) not in named
        assert "JOB_NAME=" not in text  # the program is not told a name that nobody gave


def test_a_name_keeps_to_its_pattern_and_an_application_has_its_own() -> None:
    context = {"USER_NAME": "me", "WORKING_DIRECTORY": "/w"}
    pbs = incarnate(
        osprofile.load("pbs"), "START", fields={"EXECUTABLE": "/opt/2nd+fit@home"}, context=context
    )
    assert "\n#PBS -N nd+fit_home\n" in pbs.text  # it begins with a letter
    site = load_text(
        """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
  name="site" extends="slurm"><osp:UspaceRoot>/w</osp:UspaceRoot><osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="POVRAY"><idb:Invocation><idb:Body>gpe_run -- povray</idb:Body></idb:Invocation></idb:Template>
  <osp:Application name="P" template="POVRAY"><osp:ApplicationName>POV-Ray 3</osp:ApplicationName>
    <osp:ApplicationVersion>3</osp:ApplicationVersion></osp:Application></osp:Profile>"""
    )
    text = incarnate(site, "START", application="POV-Ray 3", context=context).text
    assert "\n#SBATCH --job-name=POV-Ray_3\n" in text
    with pytest.raises(osprofile.OSProfileError, match="EXECUTABLE is not used"):
        incarnate(site, "START", application="POV-Ray 3", fields={"EXECUTABLE": "x"}, context=context)
