"""What batch systems print about nodes and queues, read as `TargetSystem` reads it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from osprofile.jobs.shell.output import MachineOutputReader
from tests.profiles.test_words import Commands

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.profiles.conftest import Target


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    return Commands(tmp_path / "commands")


def nodes(target: Target) -> dict[str, tuple[str, str]]:
    found = MachineOutputReader(target.profile).read_nodes(target.ok("LIST_NODES"))
    return {node.name: (node.state.value, node.native_state) for node in found}


def queues(target: Target) -> dict[str, tuple[str, str, bool]]:
    found = MachineOutputReader(target.profile).read_queues(target.ok("LIST_QUEUES"))
    return {queue.name: (queue.state.value, queue.native_state, queue.is_default) for queue in found}


def test_linux_is_one_node_without_queues(target_of: Callable[..., Target]) -> None:
    target = target_of("linux")
    assert nodes(target) == {os.uname().nodename: ("UP", "up")}
    assert queues(target) == {}


# sinfo of Slurm 22.05: a node once for each of its partitions
SINFO_NODES = """n1 idle
n1 idle
n2 mixed-
n3 allocated
n4 down*
n5 drained
n6 idle~
n7 idle*
n8 draining@
n9 maint
n10 idle$
n11 reboot^
n12 unk*
n13 COMPLETING
n14 wondrous
"""


# Slurm 22.05, observed, and its manual's other words. Two kinds of nodes in `short`.
SINFO_PARTITIONS = """debug*|up|infinite|1:00:00|1-infinite|all|1000000|gpu:fake:4
short|up|10:00|5:00|2-8|all|256000|(null)
short|up|10:00|5:00|2-8|all|512000|gpu:a100:4(S:0,2),gpu:v100:2(IDX:0-1),nvme:1
long|down|30-00:00:00|n/a|1|ai,staff|64000|(null)
old|drain|2-03:00:00|n/a|1-infinite|all|64000+|gpu
none|inact|infinite|n/a|1-infinite|all|1|(null)
"""


def limits(target: Target) -> dict[str, str]:
    found = MachineOutputReader(target.profile).read_queues(target.ok("LIST_QUEUES"))
    return {queue.name: " ".join(map("".join, queue.limits)) for queue in found}


def test_slurm(target_of: Callable[..., Target], commands: Commands) -> None:
    target = target_of("slurm", commands.directory)
    commands.set("sinfo", SINFO_NODES)
    assert nodes(target) == {
        "n1": ("UP", "idle"),
        "n2": ("UP", "mixed"),
        "n3": ("UP", "allocated"),
        "n4": ("DOWN", "unresponsive/down"),
        "n5": ("DOWN", "drained"),
        "n6": ("UP", "idle"),
        "n7": ("DOWN", "unresponsive/idle"),
        "n8": ("DOWN", "draining"),
        "n9": ("DOWN", "maint"),
        "n10": ("DOWN", "maint/idle"),
        "n11": ("DOWN", "rebooting/reboot"),
        "n12": ("DOWN", "unresponsive/unk"),
        "n13": ("UP", "completing"),
        "n14": ("UNKNOWN", "wondrous"),
    }
    commands.set("sinfo", SINFO_PARTITIONS)
    assert queues(target) == {
        "debug": ("OPEN", "up", True),
        "short": ("OPEN", "up", False),
        "long": ("STOPPED", "down", False),
        "old": ("STOPPED", "drain", False),
        "none": ("STOPPED", "inact", False),
    }
    assert limits(target) == {
        "debug": "WALLTIME=3600 MEMORY<=1000000 GPUS<=4",
        "short": "WALLTIME<=600 WALLTIME=300 NODES>=2 NODES<=8 MEMORY<=512000 GPUS<=6",
        "long": "WALLTIME<=2592000 NODES<=1 USER_GROUPS=ai|staff MEMORY<=64000 GPUS<=0",
        "old": "WALLTIME<=183600 MEMORY<=64000 GPUS<=1",
        "none": "GPUS<=0",
    }
    commands.set("sinfo", "")
    assert (nodes(target), queues(target)) == ({}, {})
    words = "slurm_load_partitions: Unable to contact slurm controller (connect failure)\n"
    commands.set("sinfo", "", words, 1)
    assert target.fails("LIST_NODES") == target.fails("LIST_QUEUES") == words


# pbsnodes -a of OpenPBS 23; of Torque 6, after its documentation; of slurm-wlm-torque, observed
OPENPBS_NODES = """n1
     Mom = n1.example
     ntype = PBS
     state = free
     pcpus = 8
     comment = state = down
     resources_available.host = n1

n2
     Mom = n2.example
     state = job-busy,resv-exclusive

n3
     state = state-unknown,down

n4
     state = offline,job-exclusive
     jobs = 33.pbs0/0

n5
     state = wondrous

"""
TORQUE_NODES = """n6
    state = down,offline
    np = 4
    properties = all
    ntype = cluster
    status = rectime=1,state=free,varattr=
    mom_service_port = 15002

"""
SLURM_NODES = """vm
    state = free~
    np = 64
    ntype = cluster
    status = rectime=1795277658,state=free,slurmstate=idle,size=0kb:0kb,ncpus=64,boards=1

vm2
    state = mixed
"""


@pytest.mark.parametrize("profile", ["pbs", "torque"])
def test_nodes_of_pbs(target_of: Callable[..., Target], commands: Commands, profile: str) -> None:
    target = target_of(profile, commands.directory)
    commands.set("pbsnodes", OPENPBS_NODES + TORQUE_NODES + SLURM_NODES)
    assert nodes(target) == {
        "n1": ("UP", "free"),
        "n2": ("UP", "job-busy"),
        "n3": ("DOWN", "state-unknown"),
        "n4": ("DOWN", "offline"),
        "n5": ("UNKNOWN", "wondrous"),
        "n6": ("DOWN", "down"),
        "vm": ("UP", "free"),
        "vm2": ("UP", "mixed"),
    }
    commands.set("pbsnodes", "", "pbsnodes: Server has no node list\n", 1)
    assert nodes(target) == {}
    commands.set("pbsnodes", "", "pbsnodes: cannot connect to server pbs0, error=111\n", 1)
    assert "cannot connect" in target.fails("LIST_NODES")


OPENPBS_QUEUES = """Queue: workq
    queue_type = Execution
    total_jobs = 0
    state_count = Transit:0 Queued:0 Held:0 Waiting:0 Running:0 Exiting:0 Begun:0
    enabled = True
    started = True

Queue: a_queue_with_a_long_name
    queue_type = Execution
    resources_max.walltime = 720:00:00
    resources_max.nodect = 4
    resources_max.mem = 64gb
    resources_max.ngpus = 0
    resources_max.ncpus = 128
    resources_min.nodect = 2
    resources_min.walltime = 90
    resources_default.walltime = 01:30
    acl_group_enable = True
    acl_groups = ai,staff
    enabled = True
    started = False

Queue: closed
    queue_type = Route
    enabled = False
    started = True

"""
SLURM_QUEUES = "Queue:\tdebug\n\tqueue_type = Execution\n\tenabled = yes\n\tstarted = yes\n\n"
QSTAT = """#!/bin/sh
case $1 in
-Q) cat "$0.queues" ;;
-B) cat "$0.server" ;;
esac
"""


@pytest.mark.parametrize("profile", ["pbs", "torque"])
def test_queues_of_pbs(target_of: Callable[..., Target], commands: Commands, profile: str) -> None:
    target = target_of(profile, commands.directory)
    qstat = commands.directory / "qstat"
    qstat.write_text(QSTAT)
    qstat.chmod(0o700)
    (commands.directory / "qstat.queues").write_text(OPENPBS_QUEUES + SLURM_QUEUES)
    (commands.directory / "qstat.server").write_text(
        "Server: pbs0\n    server_state = Active\n    default_queue = workq\n    x = y\n"
    )
    assert queues(target) == {
        "workq": ("OPEN", "enabled", True),
        "a_queue_with_a_long_name": ("STOPPED", "enabled/stopped", False),
        "closed": ("STOPPED", "disabled", False),
        "debug": ("OPEN", "enabled", False),
    }
    told = "WALLTIME<=2592000 NODES<=4 MEMORY<=65536 GPUS<=0 NODES>=2 WALLTIME>=90 WALLTIME=90 USER_GROUPS=ai|staff"
    assert limits(target) == {"workq": "", "a_queue_with_a_long_name": told, "closed": "", "debug": ""}
    commands.set("qstat", "", "qstat: cannot connect to server pbs0 (errno=15010)\n", 162)
    assert target.run("LIST_QUEUES").returncode == 162
    commands.set("qstat", "")
    assert queues(target) == {}
    commands.set("qstat", "Welcome to the cluster\n")
    assert target.fails("LIST_QUEUES") == "Welcome to the cluster\n"


# Grid Engine 8.1.9, observed; the second host's daemon does not run
QHOST = """<?xml version='1.0'?>
<qhost xmlns:xsd="http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qhost/qhost.xsd">
 <host name='global'>
   <hostvalue name='arch_string'>-</hostvalue>
   <hostvalue name='load_avg'>-</hostvalue>
 </host>
 <host name='vm'>
   <hostvalue name='arch_string'>lx-amd64</hostvalue>
   <hostvalue name='load_avg'>4.45</hostvalue>
   <hostvalue name='mem_total'>23.5G</hostvalue>
 </host>
 <host name='a-host-with-a-long-name.example.org'>
   <hostvalue name='load_avg'>-</hostvalue>
 </host>
</qhost>
"""
SUMMARY = """  <cluster_queue_summary>
    <name>{}</name>
    <load>1.06836</load>
    <used>0</used>
    <resv>0</resv>
    <available>{}</available>
    <total>16</total>
    <temp_disabled>0</temp_disabled>
    <manual_intervention>{}</manual_intervention>
  </cluster_queue_summary>
"""


def test_sge(target_of: Callable[..., Target], commands: Commands) -> None:
    target = target_of("sge", commands.directory)
    commands.set("qhost", QHOST)
    assert nodes(target) == {
        "vm": ("UP", "up"),
        "a-host-with-a-long-name.example.org": ("DOWN", "unreachable"),
    }
    summaries = [("all.q", 16, 0), ("half.q", 8, 8), ("off.q", 0, 16)]
    text = "".join(SUMMARY.format(*summary) for summary in summaries)
    commands.set("qstat", f"<?xml version='1.0'?>\n<job_info>\n{text}</job_info>\n")
    assert queues(target) == {
        "all.q": ("OPEN", "enabled", False),
        "half.q": ("OPEN", "enabled", False),
        "off.q": ("STOPPED", "disabled", False),
    }
    words = "error: commlib error: got select error (Connection refused)\n"
    for name in ("qhost", "qstat"):
        commands.set(name, "", words, 1)
    assert target.fails("LIST_NODES") == target.fails("LIST_QUEUES") == words


# LSF 10.1, after its documentation
BHOSTS = """HOST_NAME          STATUS          JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV
hostA              ok              -      8      0      0      0      0      0
hostB              closed_Full     -      8      8      8      0      0      0
hostC              closed_Adm      -      8      0      0      0      0      0
hostD              unreach         -      8      0      0      0      0      0
hostE              closed_cu_Excl  -      8      8      8      0      0      0
hostF              wondrous        -      8      8      8      0      0      0
"""
BQUEUES = """QUEUE_NAME      PRIO STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN  SUSP  RSV PJOBS
owners           43  Open:Active       -    -    -    -     0     0     0     0    0     0
night            40  Open:Inact_Win    -    -    -    -     0     0     0     0    0     0
normal           30  Open:Active       -    -    -    -     5     0     5     0    0     0
idle             20  Closed:Inact      -    -    -    -     0     0     0     0    0     0
"""


def test_lsf(target_of: Callable[..., Target], commands: Commands) -> None:
    target = target_of("lsf", commands.directory)
    commands.set("bhosts", BHOSTS)
    assert nodes(target) == {
        "hostA": ("UP", "ok"),
        "hostB": ("UP", "closed/Full"),
        "hostC": ("DOWN", "closed/Adm"),
        "hostD": ("DOWN", "unreach"),
        "hostE": ("UP", "closed/cu_Excl"),
        "hostF": ("UNKNOWN", "wondrous"),
    }
    commands.set("bqueues", BQUEUES)
    commands.set("bparams", "Default Queues:  normal idle\nMBD_SLEEP_TIME used for ...:  20\n")
    assert queues(target) == {
        "owners": ("OPEN", "Open/Active", False),
        "night": ("STOPPED", "Open/Inact_Win", False),
        "normal": ("OPEN", "Open/Active", True),
        "idle": ("STOPPED", "Closed/Inact", False),
    }
    words = "Failed in an LSF library call: LIM is down; try later\n"
    for name in ("bhosts", "bqueues"):
        commands.set(name, "", words, 255)
    assert target.fails("LIST_NODES") == target.fails("LIST_QUEUES") == words
