"""What the caller has in the environment does not change a job: options for sbatch, variables of the caller's own job."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from osprofile import Repository, incarnate
from osprofile.jobs.shell.scripts import build_self_contained_script
from tests.profiles.conftest import PROFILES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.profiles.conftest import Target

OPTIONS = {
    "SBATCH_PARTITION": "short", "SBATCH_TIMELIMIT": "7", "SBATCH_ARRAY_INX": "1-3", "SBATCH_X": "a\nSBATCH_Y=b",
    "SLURM_MEM_PER_CPU": "100", "SLURM_CPU_BIND": "x", "SLURM_JOB_ID": "1", "SLURMD_NODENAME": "n", "PBS_JOBID": "2",
    "LSB_DEFAULTQUEUE": "q", "SGE_TASK_ID": "3", "OMPI_COMM_WORLD_RANK": "0", "PMI_RANK": "0",
    "CUDA_VISIBLE_DEVICES": "1", "SCANCEL_STATE": "PENDING", "SQUEUE_STATES": "RUNNING", "SACCT_FEDERATION": "1",
    "SINFO_SORT": "x", "SCONTROL_ALL": "1", "BSUB_QUIET": "1", "OAR_JOB_ID": "1", "FLUX_JOB_ID": "f1", "FLUX_KVS_NAMESPACE": "job",
    "HQ_JOB_ID": "1", "HQ_ENTRY": "x", "_CONDOR_SCRATCH_DIR": "/x", "_CONDOR_JOB_AD": "/x", "COBALT_JOBID": "1",
    "LOADL_STEP_ID": "a.1.0", "MOAB_JOBID": "1", "PJM_JOBID": "1",
}  # fmt: skip
KEPT = {
    "SLURM_CONF": "/etc/slurm.conf", "SLURM_CLUSTERS": "one", "PBS_DEFAULT": "server", "SGE_ROOT": "/opt/sge",
    "LSF_ENVDIR": "/lsf", "FLUX_URI": "local:///x", "HQ_SERVER_DIR": "/hq", "_CONDOR_CONDOR_HOST": "pool",
    "SLURM_JWT": "token", "LOADL_CONFIG": "/x", "MY_SBATCH_X": "1", "SLURMX": "2",
}  # fmt: skip
COMMANDS = {
    "slurm": "sbatch", "pbs": "qsub", "torque": "qsub", "lsf": "bsub", "sge": "qsub", "at": "at", "oar": "oarsub",
    "flux": "flux", "hyperqueue": "hq", "htcondor": "condor_submit", "tcs": "pjsub", "moab": "msub", "tsp": "tsp",
    "loadleveler": "llsubmit", "cobalt": "qsub", "nqsv": "qsub", "kubernetes": "kubectl", "slurmrest": "curl",
}  # fmt: skip
FIELDS = {"slurm": {"NOTIFY": "me@here", "NOTIFY_EVENTS": "begin"}}
"""Values with which START itself sets variables."""
OWN_NAMES = {
    name: "the user's"
    for path in (*PROFILES.glob("*/*.sh"), *PROFILES.glob("*/profile.xml"))
    for name in re.findall(r"(?:^|[\s;(/])([a-z_]\w*)=", path.read_text())
    if not name.startswith("gpe_")
}
"""Variables of the user that have the names of variables in any program of a profile."""


def list_variables(profile: str, shell: str, tmp_path: Path, options: dict[str, str]) -> dict[str, str]:
    """Return the environment of the submit command, where the caller has these variables."""
    command = tmp_path / "bin" / COMMANDS[profile]
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\nenv > {tmp_path}/seen\necho 42\n")
    command.chmod(0o755)
    directory = tmp_path / "work"
    context = {"WORKING_DIRECTORY": str(directory), "USER_NAME": "me"}
    start = incarnate(Repository().load(profile), "START", fields=FIELDS.get(profile, {}), context=context)
    path = f"{command.parent}:{os.environ['PATH']}"
    environment = {"HOME": str(tmp_path), "PATH": path, **options}
    subprocess.run(
        [shell, "-s"],
        input=build_self_contained_script(start),
        env=environment,
        text=True,
        capture_output=True,
        check=False,
    )
    return dict(line.partition("=")[::2] for line in (tmp_path / "seen").read_text().splitlines())


@pytest.mark.parametrize("profile", COMMANDS)
def test_what_the_programs_set_reaches_no_command_that_submits(profile: str, tmp_path: Path) -> None:
    seen = list_variables(profile, "dash", tmp_path, OWN_NAMES)
    assert {name: seen.get(name) for name in OWN_NAMES} == OWN_NAMES


def test_what_the_programs_set_reaches_no_job(linux: Target) -> None:
    linux.environment |= OWN_NAMES
    job = linux.start(EXECUTABLE="/usr/bin/env", STDOUT="seen")
    job.wait()
    seen = dict(line.partition("=")[::2] for line in (job.directory / "seen").read_text().splitlines())
    assert {name: seen.get(name) for name in OWN_NAMES} == OWN_NAMES


@pytest.mark.parametrize("name", [*OPTIONS, "SRUN_DEBUG", "SSTAT_X", "PMIX_RANK", "ROCR_VISIBLE_DEVICES"])
def test_each_of_the_callers_is_taken_out_where_it_is_the_only_one(name: str, tmp_path: Path) -> None:
    assert name not in list_variables("slurm", "dash", tmp_path, {name: "1"})


def test_the_time_zone_of_the_caller_does_not_move_start_times(tmp_path: Path) -> None:
    seen = list_variables("slurm", "dash", tmp_path, {"TZ": "Etc/GMT+9"})
    assert (seen.get("TZ"), seen.get("GPE_TZ")) == (None, "Etc/GMT+9")


@pytest.mark.parametrize("shell", ["dash", "bash"])
@pytest.mark.parametrize("profile", COMMANDS)
def test_the_submit_command_has_none_of_the_callers(profile: str, shell: str, tmp_path: Path) -> None:
    seen = list_variables(profile, shell, tmp_path, OPTIONS | KEPT)
    assert {name: seen[name] for name in OPTIONS if name in seen} == {}
    assert {name: seen.get(name) for name in KEPT} == KEPT
