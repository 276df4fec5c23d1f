"""Each source's table, case by case: the events of a line (docs/protocols/seg.md, 3).

Every case is read by the default parser and by the extended one: the text is the log's, the
expectation the events as `JOB STATE CODE`, without their times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from osprofile.events.sources import find_source
from osprofile.events.sources.base import SourceOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WHEN = 1_580_724_000
FUTURE = 9_999_999_999
FILES = {"pbs": "20200203", "lsf": "lsb.events", "job_manager": "20200203"}


class Case(NamedTuple):
    source: str
    log: str
    default: str
    extended: str | None = None
    """None: the same."""


def pbs(rest: str, *, when: str = "02/03/2020 10:00:00") -> str:
    kind, _, text = rest.partition(" ")
    return f"{when};{kind};Server@h;Job;1.h;{text}\n"


def lsf(kind: str, rest: str, when: int = WHEN) -> str:
    return f'"{kind}" "7.06" {when} {rest}\n'


def sge_log(event: str, job: str = "5:0", state: str = "r", initiator: str = "master") -> str:
    tail = f"{state}:{initiator}:host:0:1024:{WHEN}:0:sge:run.sh:alice:users::default:sge:words"
    return f"{WHEN}:job_log:{WHEN}:{event}:{job}:NONE:{tail}\n"


def sge_acct(failed: str, code: str, task: str = "0") -> str:
    middle = ":".join(["0"] * 22)
    return f"{WHEN}:acct:q:h:g:alice:run.sh:5:sge:0:1:2:3:{failed}:{code}:{middle}:{task}:0\n"


def condor(number: str, words: str = "Words.", body: str = "", when: str = "2020-02-03 10:00:00") -> str:
    return f"{number} (012.003.000) {when} {words}\n{body}...\n"


def condor_xml(number: str, more: str = "", cluster: str = "12") -> str:
    """Write an element as HTCondor does; `more` is what an end has."""
    values = {"EventTypeNumber": number, "Cluster": cluster, "Proc": "3", "Subproc": "0"}
    rest = "".join(f'    <a n="{name}"><i>{value}</i></a>\n' for name, value in values.items())
    return f'<c>\n    <a n="EventTime"><s>2020-02-03T10:00:00</s></a>\n{rest}{more}</c>\n'


def comp(state: str, code: str, job: str = "7", name: str = "n") -> str:
    return (
        f"JobId={job} UserId=a(1) GroupId=a(1) Name={name} JobState={state} Partition=p TimeLimit=60 "
        "StartTime=2020-02-03T09:59:00 EndTime=2020-02-03T10:00:00 NodeList=n NodeCnt=1 ProcCnt=1 "
        f"WorkDir=/w ReservationName= Tres=cpu=1 DerivedExitCode=0:0 ExitCode={code} \n"
    )


def ctld(text: str) -> str:
    return f"[2020-02-03T10:00:00.123] {text}\n"


USAGE = " ".join(["0.1"] + ["0"] * 17 + ["-1"])
XML = '<?xml version="1.0"?>\n<classads>\n'
NORMAL = '    <a n="TerminatedNormally"><b v="t"/></a>\n    <a n="ReturnValue"><i>{}</i></a>\n'.format
CASES = {
    "pbs queued": Case("pbs", pbs("0008 Job Queued at request of u@h, owner = u@h"), "1.h 1 0"),
    "pbs run": Case("pbs", pbs("0008 Job Run at request of S@h on exec_vnode (h:ncpus=1)"), "1.h 2 0"),
    "pbs ended": Case("pbs", pbs("0010 Exit_status=0 resources_used.cput=0"), "1.h 8 0"),
    "pbs negative": Case("pbs", pbs("0010 Exit_status=-29"), "1.h 8 -29", "1.h 4 -29"),
    "pbs node lost, requeued": Case(
        "pbs",
        pbs("0008 Job Run")
        + pbs("0010 Exit_status=-20")
        + pbs("0008 Job requeued, execution node n1 down")
        + pbs("0008 Job Run")
        + pbs("0010 Exit_status=0"),
        "1.h 2 0, 1.h 2 0, 1.h 8 0",
        "1.h 2 0, 1.h 1 0, 1.h 2 0, 1.h 8 0",
    ),
    "pbs node lost, not requeued": Case(
        "pbs",
        pbs("0008 Job Run") + pbs("0010 Exit_status=-20") + pbs("0008 Job deleted, execution node n1 down"),
        "1.h 2 0, 1.h 4 0",
    ),
    "pbs dependency refused": Case(
        "pbs",
        pbs("0008 Job Queued")
        + pbs("0004 Dependency request for job rejected by 2.h")
        + pbs("0008 Finished job did not satisfy dependency")
        + pbs("0100 dequeuing from short, state F"),
        "1.h 1 0",
        "1.h 1 0, 1.h 4 0",
    ),
    "pbs moved to another queue": Case("pbs", pbs("0100 dequeuing from route, state Q"), ""),
    "pbs torque, deleted while it runs": Case(
        "pbs",
        pbs("0008 Job Run")
        + pbs("0008 Job deleted at request of u@h")
        + pbs("0008 Job sent signal SIGTERM on delete")
        + pbs("0010 Exit_status=271")
        + pbs("0100 dequeuing from batch, state COMPLETE"),
        "1.h 2 0, 1.h 4 0, 1.h 8 271",
        "1.h 2 0, 1.h 8 271",
    ),
    "pbs torque, deleted without an exit status": Case(
        "pbs",
        pbs("0008 Job Run")
        + pbs("0008 Job deleted at request of u@h")
        + pbs("0100 dequeuing from batch, state EXITING"),
        "1.h 2 0, 1.h 4 0",
    ),
    "pbs 271": Case("pbs", pbs("0010 Exit_status=271 x"), "1.h 8 271"),
    "pbs type 16 as decimal": Case("pbs", pbs("0016 Exit_status=3"), "1.h 8 3"),
    "pbs deleted": Case("pbs", pbs("0008 Job deleted at request of u@h"), "1.h 4 0"),
    "pbs dependency": Case("pbs", pbs("0008 Job deleted as result of dependency on job 76.h"), "1.h 4 0"),
    "pbs text with semicolons": Case("pbs", pbs("0008 Job Run at ;x;y;z"), "1.h 2 0"),
    "pbs commit of torque": Case("pbs", "02/03/2020 10:00:00;0008;PBS_Server;Req;req_commit;job_id: 9.h\n", "9.h 1 0"),
    "pbs commit of another": Case("pbs", "02/03/2020 10:00:00;0008;S;Req;other;job_id: 9.h\n", ""),
    "pbs fraction of a second": Case("pbs", pbs("0008 Job Run", when="02/03/2020 10:00:00.123456"), "1.h 2 0"),
    "pbs exit status no number": Case("pbs", pbs("0010 Exit_status=2") + pbs("0010 Exit_status=abc"), "1.h 8 2"),
    "pbs exit status empty": Case("pbs", pbs("0010 Exit_status="), ""),
    "pbs bad date": Case("pbs", pbs("0008 Job Run", when="13/03/2020 10:00:00"), ""),
    "pbs no date": Case("pbs", pbs("0008 Job Run", when="yesterday at tenish"), ""),
    "pbs another type": Case("pbs", pbs("0080 Exit_status=1") + pbs("0004 Job deleted"), ""),
    "pbs few fields": Case("pbs", "02/03/2020 10:00:00;0008;S;Job;Job Queued\n;;;\n\n", ""),
    "pbs words inside": Case("pbs", pbs("0008 the Job Run"), ""),
    "pbs modified": Case("pbs", pbs("0008 Job Modified at request of Scheduler@h"), ""),
    "pbs obit": Case("pbs", pbs("0080 Obit received momhop:1 serverhop:1 state:R substate:41"), ""),
    "pbs moved": Case("pbs", pbs("0008 Job moved to short at request of u@h"), ""),
    "pbs job id of bytes": Case("pbs", pbs("0008 Job Run").replace("1.h", "\xff\xe9.h"), "\xff\xe9.h 2 0"),
    "pbs deleted while it waits": Case("pbs", pbs("0008 Job to be deleted at request of u@h"), "", "1.h 4 0"),
    "pbs deleted while it runs": Case(
        "pbs",
        pbs("0008 Job Run")
        + pbs("0008 Job sent signal TermJob on delete")
        + pbs("0008 Job to be deleted at request of u@h")
        + pbs("0010 Exit_status=271"),
        "1.h 2 0, 1.h 8 271",
    ),
    "pbs deleted by force": Case(
        "pbs",
        pbs("0008 Job Run")
        + pbs("0008 Delete forced")
        + pbs("0008 Job to be deleted at request of r@h")
        + pbs("0008 Discard running job, Forced Delete ")
        + pbs("0010 Exit_status=265"),
        "1.h 2 0, 1.h 8 265",
    ),
    "pbs deleted, its start failed": Case(
        "pbs",
        pbs("0008 Job Run")
        + pbs("0008 Job to be deleted at request of u@h")
        + pbs("0100 in free_nodes and no exec_vnode"),
        "1.h 2 0",
        "1.h 2 0, 1.h 4 0",
    ),
    "pbs deleted while it starts": Case(
        "pbs",
        pbs("0008 Job Run")
        + pbs("0008 Job sent signal TermJob on delete")
        + pbs("0008 MOM rejected signal during delete (15001)")
        + pbs("0008 Job to be deleted at request of u@h"),
        "1.h 2 0",
        "1.h 2 0, 1.h 4 0",
    ),
    "pbs deleted in a rerun, begins again": Case(
        "pbs",
        pbs("0008 Job Run")
        + pbs("0008 Job Rerun at request of r@h")
        + pbs("0008 deleting instead of rerunning")
        + pbs("0008 Job to be deleted at request of u@h")
        + pbs("0008 Job Run")
        + pbs("0008 Job to be deleted at request of u@h"),
        "1.h 2 0, 1.h 2 0",
        "1.h 2 0, 1.h 1 0, 1.h 2 0, 1.h 4 0",
    ),
    "pbs deleted, its start not seen": Case(
        "pbs",
        pbs("0008 Job sent signal TermJob on delete") + pbs("0008 Job to be deleted at request of u@h"),
        "",
        "",
    ),
    "pbs rerun": Case("pbs", pbs("0008 Job Run") + pbs("0008 Job Rerun at request of r@h"), "1.h 2 0", "1.h 2 0, 1.h 1 0"),
    "pbs hold and release": Case(
        "pbs",
        pbs("0008 Holds u set at request of u@h") + pbs("0008 Holds u released at request of u@h"),
        "",
        "1.h 16 0, 1.h 1 0",
    ),
    "pbs two holds": Case(
        "pbs",
        pbs("0008 Holds us set at request of u@h") + pbs("0008 Holds u released at request of u@h"),
        "",
        "1.h 16 0",
    ),
    "pbs hold of a running job": Case("pbs", pbs("0008 Job Run") + pbs("0008 Holds u set at request of u@h"), "1.h 2 0", "1.h 2 0"),
    "pbs suspend, resume": Case(
        "pbs",
        pbs("0004 suspend job by r@h")
        + pbs("0008 job signaled with suspend by r@h")
        + pbs("0004 resume job by r@h")
        + pbs("0004 resume job by Scheduler@h")
        + pbs("0008 job signaled with resume by Scheduler@h")
        + pbs("0008 job signaled with USR1 by u@h"),
        "",
        "1.h 16 0, 1.h 2 0",
    ),
    "pbs suspend, resume of a node's": Case(
        "pbs",
        pbs("0008 job signaled with admin-suspend by r@h")
        + pbs("0008 job signaled with admin-resume by r@h"),
        "",
        "1.h 16 0, 1.h 2 0",
    ),
    "pbs sub-job": Case("pbs", pbs("0100 enqueuing into short, state Q hop 1").replace("1.h", "6[1].h"), "", "6[1].h 1 0"),
    "pbs job of an array itself": Case("pbs", pbs("0100 enqueuing into short, state Q hop 1").replace("1.h", "6[].h"), "", ""),
    "pbs start of the server": Case(
        "pbs",
        pbs("0100 enqueuing into short, state F hop 1") + pbs("0100 Requeueing job, substate: 92"),
        "",
        "",
    ),
    "lsf new": Case("lsf", lsf("JOB_NEW", '4 1001 "a ""b"""'), "4 1 0"),
    "lsf a time of 5000 digits": Case(
        "lsf",
        lsf("JOB_NEW", "3 1001", int("9" * 4000)).replace("9" * 4000, "9" * 5000) + lsf("JOB_NEW", "4 1001"),
        "4 1 0",
    ),
    "lsf start": Case("lsf", lsf("JOB_START", "4 4 0"), "4 2 0"),
    "lsf done": Case("lsf", lsf("JOB_STATUS", "4 64 0 0 0.0 1 0 0 0 0"), "4 8 0"),
    "lsf exit": Case("lsf", lsf("JOB_STATUS", "4 32 0 0 0.0 1 0 768 0 0"), "4 8 3"),
    "lsf exit, usage": Case("lsf", lsf("JOB_STATUS", f"4 32 0 0 0.1 1 1 {USAGE} 1792 0 0"), "4 8 7"),
    "lsf exit information": Case("lsf", lsf("JOB_STATUS", "4 32 0 0 0.0 1 0 130 0 14"), "4 4 14"),
    "lsf later releases have more words": Case("lsf", lsf("JOB_STATUS", '4 32 0 0 0.0 1 0 512 0 0 0 0 "" 99 1'), "4 8 2"),
    "lsf older ones have less": Case("lsf", lsf("JOB_STATUS", "4 32 256 0 0"), "4 8 1"),
    "lsf exit, no usage but its place": Case(
        "lsf",
        lsf("JOB_STATUS", '4 32 0 0 0.4 1 0 "" 0 0 14')
        + lsf("JOB_STATUS", '5 32 0 0 0.4 1 0 "" 768 0 0')
        + lsf("JOB_STATUS", '6 32 0 0 0.4 1 1 "" 512 0 0'),
        "4 4 14, 5 8 3, 6 8 2",
    ),
    "lsf no usage but its place, of a later release": Case(
        "lsf",
        lsf("JOB_STATUS", '4 32 0 0 0.4 1 0 "" 512 0 0 0 0 "" 99 1')
        + lsf("JOB_STATUS", '5 32 0 0 0.4 1 0 "" 9 0 14 0 0 "" 99 1'),
        "4 8 2, 5 4 14",
    ),
    "lsf exit of openlava": Case(
        "lsf",
        lsf("JOB_STATUS", "4 32 0 0 0.01 1 0 256 0")
        + lsf("JOB_STATUS", "5 32 0 0 0.01 1 0 256 7")
        + lsf("JOB_STATUS", f"6 32 0 0 0.1 1 1 {USAGE} 512 7"),
        "4 8 1, 5 8 1, 6 8 2",
    ),
    "lsf no numbers": Case("lsf", lsf("JOB_STATUS", "4 32 x y z"), ""),
    "lsf post-processing": Case("lsf", lsf("JOB_STATUS", "4 192 0") + lsf("JOB_STATUS", "4 160 0"), ""),
    "lsf suspended": Case(
        "lsf",
        "".join(lsf("JOB_STATUS", f"4 {state} 0") for state in (2, 8, 16, 4, 1)),
        "",
        "4 16 0, 4 16 0, 4 16 0, 4 2 0, 4 1 0",
    ),
    "lsf exceptions": Case(
        "lsf",
        "".join(lsf("JOB_EXCEPT", f"4 {mask} 0 {WHEN} 0 0") for mask in (1, 8, 16, 32, 64)),
        "",
        "4 4 8, 4 4 16, 4 4 64",
    ),
    "lsf requeue": Case("lsf", lsf("JOB_REQUEUE", "4 0"), "", "4 1 0"),
    "lsf an unparsable line repeats nothing": Case(
        "lsf",
        lsf("JOB_NEW", "4 1") + '"JOB_NEW" 4\nJOB_NEW\n"JOB_START"\n' + lsf("JOB_START", "5 4"),
        "4 1 0, 5 2 0",
    ),
    "lsf long job id": Case("lsf", lsf("JOB_NEW", "4" * 40 + " 1"), f"{'4' * 40} 1 0"),
    "lsf long kind": Case("lsf", lsf("X" * 100, "4 1") + lsf("JOB_NEW", "4 1"), "4 1 0"),
    "lsf older than one before": Case(
        "lsf",
        lsf("MBD_START", "h c 1", WHEN + 5) + lsf("JOB_NEW", "4 1") + lsf("JOB_NEW", "5 1", WHEN + 5),
        "5 1 0",
        "4 1 0, 5 1 0",
    ),
    "lsf one in the future silences nothing": Case(
        "lsf",
        lsf("JOB_NEW", "4 1") + lsf("JOB_NEW", "5 1", FUTURE) + lsf("JOB_START", "4 4", WHEN + 5),
        "4 1 0, 5 1 0, 4 2 0",
    ),
    "lsf older than one before the future": Case(
        "lsf",
        lsf("JOB_NEW", "4 1", WHEN + 5) + lsf("JOB_NEW", "5 1", FUTURE) + lsf("JOB_START", "4 4"),
        "4 1 0, 5 1 0",
        "4 1 0, 5 1 0, 4 2 0",
    ),
    "lsf words that are no end": Case("lsf", lsf("JOB_START", "4 32 0 0 1 2 3") + lsf("JOB_MOVE", "4 64 1"), "4 2 0"),
    "sge pending": Case("sge", sge_log("pending", "5:-1"), "5.-1 1 0"),
    "sge delivered": Case("sge", sge_log("delivered"), "5.0 2 0"),
    "sge sent": Case("sge", sge_log("sent") + sge_log("finished"), ""),
    "sge ended": Case("sge", sge_acct("0", "3"), "5.0 8 3"),
    "sge failed": Case("sge", sge_acct("100", "137"), "5.0 4 100"),
    "sge rescheduled": Case("sge", sge_acct("25", "0"), "5.0 4 25", "5.0 1 0"),
    "sge task": Case("sge", sge_acct("0", "0", "12"), "5.12 8 0"),
    "sge goes on": Case("sge", sge_acct("0", "-1"), ""),
    "sge no task": Case("sge", f"{WHEN}:acct:q:h:g:a:r:5:sge:0:1:2:3:0:4\n", "5.0 8 4"),
    "sge milliseconds": Case("sge", sge_log("delivered").replace(f"{WHEN}:j", f"{WHEN}789:j", 1), "5.0 2 0"),
    "sge few fields": Case("sge", f"{WHEN}:job_log:{WHEN}:pending:5:0:NONE:r:m:h:0:1:2\n", ""),
    "sge comment": Case("sge", "# " + sge_log("pending") + ":::\n", ""),
    "sge numbers that are none": Case("sge", sge_acct("x", "0") + sge_acct("0", "y"), ""),
    "sge two dones": Case(
        "sge",
        sge_log("delivered") + sge_acct("0", "3") + sge_log("deleted", initiator="scheduler"),
        "5.0 2 0, 5.0 8 3, 5.0 8 0",
        "5.0 2 0, 5.0 8 3",
    ),
    "sge deleted while it waits": Case("sge", sge_log("deleted", initiator="alice"), "5.0 8 0", "5.0 4 0"),
    "sge deleted while it runs": Case(
        "sge",
        sge_log("delivered") + sge_log("deleted", initiator="alice") + sge_acct("100", "137"),
        "5.0 2 0, 5.0 8 0, 5.0 4 100",
        "5.0 2 0, 5.0 4 100",
    ),
    "sge suspended": Case(
        "sge",
        "".join(map(sge_log, ("suspended", "unsuspended", "held", "released", "restart", "migrate"))),
        "",
        "5.0 16 0, 5.0 2 0, 5.0 16 0, 5.0 1 0, 5.0 1 0, 5.0 1 0",
    ),
    "condor submitted": Case("condor", condor("000"), "012.003.000 1 0"),
    "condor executing": Case("condor", condor("001"), "012.003.000 2 0"),
    "condor ended": Case("condor", condor("005", body="\t(1) Normal termination (return value 7)\n\t\tUsr 0\n"), "012.003.000 8 7"),
    "condor ended, behind entries that were cut": Case(
        "condor",
        "005 (011.003.000) 2020-02-03 10:00:00 Job terminated.\n"
        "001 (012.003.000) 2020-02-03 10:00:00 Job executing on host: <1.2\n"
        + condor("005", body="\t(1) Normal termination (return value 7)\n"),
        "012.003.000 2 0, 012.003.000 8 7",
    ),
    "condor killed": Case("condor", condor("005", body="\t(0) Abnormal termination (signal 9)\n\t(0) No core file\n"), "012.003.000 4 0"),
    "condor aborted": Case("condor", condor("009", body="\tvia condor_rm\n"), "012.003.000 4 0"),
    "condor image size": Case("condor", condor("006"), ""),
    "condor an entry in an entry": Case(
        "condor",
        condor("028", body="\n000 (001.000.000) 2020-02-03 10:00:00 Job submitted\n"),
        "001.000.000 1 0",
    ),
    "condor no end of the entry": Case("condor", condor("000") + "001 (012.003.000) 2020-02-03 10:00:00 x\n", "012.003.000 1 0"),
    "condor large numbers": Case("condor", condor("000").replace("012.003", "12345.678901"), "12345.678901.000 1 0"),
    "condor the rest": Case(
        "condor",
        "".join(map(condor, ("002", "004", "007", "010", "011", "012", "013"))),
        "",
        ", ".join(f"012.003.000 {state} 0" for state in (4, 1, 1, 16, 2, 16, 1)),
    ),
    "condor rescheduled": Case(
        "condor",
        condor("022", "Job disconnected, attempting to reconnect")
        + condor("022", "Job disconnected, can not reconnect")
        + condor("024", "Job reconnection failed"),
        "",
        "012.003.000 1 0, 012.003.000 1 0",
    ),
    "condor xml, rescheduled": Case(
        "condor",
        XML
        + condor_xml("22", '    <a n="NoReconnectReason"><s>gone</s></a>\n')
        + condor_xml("22")
        + condor_xml("24"),
        "",
        "012.003.000 1 0, 012.003.000 1 0",
    ),
    "condor xml": Case(
        "condor",
        XML + condor_xml("0") + condor_xml("6") + condor_xml("5", NORMAL(7)) + "</classads>\n",
        "012.003.000 1 0, 012.003.000 8 7",
    ),
    "condor xml, attributes in another order": Case(
        "condor",
        XML
        + condor_xml("5", NORMAL(7))
        + "<c>\n"
        + "".join(condor_xml("5", NORMAL(8)).splitlines(keepends=True)[-2:0:-1])
        + "</c>\n"
        + condor_xml("5", NORMAL(9)),
        "012.003.000 8 7, 012.003.000 8 8, 012.003.000 8 9",
    ),
    "condor xml, killed": Case("condor", XML + condor_xml("5", '    <a n="TerminatedNormally"><b v="f"/></a>\n'), "012.003.000 4 0"),
    "condor xml, numbers that are none": Case("condor", XML + condor_xml("x") + condor_xml("0", cluster="-1") + condor_xml("5"), ""),
    "condor xml behind a junk line": Case("condor", "junk\n" + XML + condor_xml("0"), "012.003.000 1 0"),
    "condor xml behind what a lost write left": Case("condor", "\0" * 4096 + XML[9:] + condor_xml("0"), "012.003.000 1 0"),
    "condor xml, a lost write between two": Case(
        "condor",
        XML + condor_xml("1") + "\0" * 99 + condor_xml("5", NORMAL(7)),
        "012.003.000 2 0, 012.003.000 8 7",
    ),
    "condor xml, a lost write makes no entry of two": Case(
        "condor",
        XML
        + condor_xml("5", cluster="99").replace("</c>\n", "\0" * 99)
        + condor_xml("6", NORMAL(7)).partition("</a>")[2]
        + condor_xml("0"),
        "012.003.000 1 0",
    ),
    "condor xml, an entry whose end was never written": Case("condor", XML + condor_xml("6")[:-5] + condor_xml("1"), "012.003.000 2 0"),
    "condor behind lines that are junk": Case("condor", "<junk>\n000 (x\n" + condor("000"), "012.003.000 1 0"),
    "condor behind what a lost write left": Case(
        "condor", "\0" * 99 + condor("000") + "\0" * 99 + condor("001"), "012.003.000 1 0, 012.003.000 2 0"
    ),
    "condor, a lost write makes no entry of two": Case(
        "condor",
        "005 (099.000.000) 2020-02-03 10:00:00 Job terminated.\n"
        + "\0" * 99
        + "\t(1) Normal termination (return value 7)\n...\n"
        + condor("001"),
        "012.003.000 2 0",
    ),
    "pbs behind what a lost write left": Case("pbs", pbs("0008 Job Queued") + "\0" * 99 + pbs("0008 Job Run"), "1.h 1 0, 1.h 2 0"),
    "pbs a lost write makes no line of two": Case("pbs", "02/03/2020 10:00:00;0008;Server@h;Job;1" + "\0" * 99 + "2.h;Job Run\n", ""),
    "lsf behind what a lost write left": Case("lsf", "\0" * 99 + lsf("JOB_START", "4 4 0"), "4 2 0"),
    "sge behind what a lost write left": Case("sge", "\0" * 99 + sge_log("delivered"), "5.0 2 0"),
    "fork behind what a lost write left": Case("fork", "\0" * 99 + f"001;{WHEN};u;8;1\n", "u 8 1"),
    "slurm behind what a lost write left": Case("slurm", "\0" * 99 + comp("COMPLETED", "0:0"), "7 8 0"),
    "fork": Case("fork", "".join(f"001;{WHEN};u:1;{s}\n" for s in ("1;0", "2;9", "4;3", "8;-1")), "u:1 1 0, u:1 2 0, u:1 4 3, u:1 8 -1"),
    "fork type as a plain number": Case("fork", f"1;{WHEN};u;8;1\n", "u 8 1"),
    "fork another type": Case("fork", f"002;{WHEN};u;8;1\n100;{WHEN};u;8;1\n", ""),
    "fork no code": Case("fork", f"001;{WHEN};u;8;\n001;{WHEN};u;8\n", ""),
    "fork no job": Case("fork", f"001;{WHEN};;8;1\n", ""),
    "fork suspended": Case("fork", f"001;{WHEN};u;16;0\n001;{WHEN};u;32;0\n", "", "u 16 0"),
    "job_manager": Case("job_manager", f"junk\n001;{WHEN};u;8;1\n", "u 8 1"),
    "slurm completed": Case("slurm", comp("COMPLETED", "0:0"), "7 8 0"),
    "slurm failed by itself": Case("slurm", comp("FAILED", "7:0"), "7 8 7"),
    "slurm killed": Case("slurm", comp("FAILED", "0:9"), "7 4 9"),
    "slurm cancelled": Case("slurm", comp("CANCELLED", "0:15"), "7 4 15"),
    "slurm time": Case("slurm", comp("TIMEOUT", "0:0"), "7 4 0"),
    "slurm without an exit code": Case(
        "slurm",
        "".join(
            comp(state, "", job).partition(" ReservationName")[0] + " \n"
            for state, job in (("COMPLETED", "7"), ("FAILED", "8"), ("TIMEOUT", "9"))
        ),
        "7 8 0, 8 4 0, 9 4 0",
    ),
    "slurm allocated": Case(
        "slurm",
        ctld("sched: _slurm_rpc_allocate_resources JobId=7 NodeList=(null) usec=9")
        + ctld("sched: _slurm_rpc_allocate_resources JobId=8 NodeList=n usec=9"),
        "7 1 0, 8 2 0",
    ),
    "slurm heterogeneous": Case(
        "slurm",
        ctld("sched: Allocate JobId=7+0(7) NodeList=n #CPUs=1 Partition=p")
        + ctld("sched: Allocate JobId=7+1(8) NodeList=n #CPUs=1 Partition=p"),
        "7 2 0, 8 2 0",
    ),
    "slurm requeued": Case("slurm", comp("PENDING", "0:0"), "", "7 1 0"),
    "slurm unknown word": Case("slurm", comp("PURPLE", "0:0"), "", ""),
    "slurm a name with blanks": Case("slurm", comp("FAILED", "1:0", name="a ExitCode=5:0 JobState=COMPLETED b"), "7 8 1"),
    "slurm submitted": Case("slurm", ctld("_slurm_rpc_submit_batch_job: JobId=7 InitPrio=1 usec=2"), "7 1 0"),
    "slurm begun": Case("slurm", ctld("sched: Allocate JobId=7 NodeList=n #CPUs=1 Partition=p"), "7 2 0"),
    "slurm begun by backfill": Case("slurm", ctld("sched/backfill: _start_job: Started JobId=8_1(12) in p on n"), "12 2 0"),
    "slurm complete is told by jobcomp": Case("slurm", ctld("_job_complete: JobId=7 WEXITSTATUS 3"), ""),
    "slurm hold": Case(
        "slurm",
        ctld("sched: _hold_job_rec: hold on JobId=7 by uid 1")
        + ctld("sched: _release_job_rec: release hold on JobId=7 by uid 1"),
        "",
        "7 16 0, 7 1 0",
    ),
    "slurm suspend": Case(
        "slurm",
        ctld("_slurm_rpc_suspend(suspend) for 7 usec=9") + ctld("_slurm_rpc_suspend(resume) for 7 usec=9"),
        "",
        "7 16 0, 7 2 0",
    ),
    "slurm suspend refused": Case("slurm", ctld("_slurm_rpc_suspend(suspend) for 7 Access/permission denied"), "", ""),
    "slurm requeue": Case("slurm", ctld("Requeuing JobId=7"), "", "7 1 0"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _utc(zone: Callable[[str], None]) -> None:
    """Write logs in UTC."""
    zone("UTC")


def read_log(case: Case, directory: Path, *, extended: bool) -> str:
    (directory / FILES.get(case.source, "log")).write_bytes(case.log.encode("latin-1"))
    path = directory if case.source in FILES else directory / "log"
    source = find_source(case.source)(SourceOptions(case.source, 1_000_000, extended, (str(path),), {}))
    lines = ""
    while (text := source.read_events()) is not None:
        lines += text
    events = [line.split(";") for line in lines.split("\n")[:-1]]
    assert {e[0] for e in events} <= {"001"}
    assert {int(e[1]) - WHEN for e in events} <= {0, 5, FUTURE - WHEN}
    return ", ".join(" ".join(event[2:]) for event in events)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_case(case: Case, tmp_path: Path) -> None:
    assert read_log(case, tmp_path, extended=False) == case.default
    expected = case.default if case.extended is None else case.extended
    assert read_log(case, tmp_path, extended=True) == expected
