"""Limits by queue and defaults by group, as users meet them: `ext:for`, `--queue auto`, `job submit --help`."""

from __future__ import annotations

import grp
import os
import re
from typing import TYPE_CHECKING

from osprofile.cli.job.limits import format_limits
from osprofile.profile.repository import Repository
from tests.cli.conftest import on_terminal
from tests.strategies import document

if TYPE_CHECKING:
    from tests.cli.job.conftest import Machine

SITE = document(
    """\
<idb:Template>
  <idb:Field name="QUEUE" ext:pattern="debug|long|gpu">
    <idb:Description>The partition.</idb:Description><idb:Default>auto</idb:Default>
  </idb:Field>
  <idb:Field name="WALLTIME" ext:for="QUEUE=debug"><idb:Max>1800</idb:Max><idb:Default>600</idb:Default></idb:Field>
  <idb:Field name="GPUS" ext:for="QUEUE=debug"><idb:Max>0</idb:Max></idb:Field>
  <idb:Field name="WALLTIME" ext:for="QUEUE=long"><idb:Max>604800</idb:Max></idb:Field>
  <idb:Field name="MEMORY" ext:for="QUEUE=long"><idb:Min>1024</idb:Min><idb:Max>65536</idb:Max></idb:Field>
  <idb:Field name="GPUS" ext:for="QUEUE=long"><idb:Max>0</idb:Max></idb:Field>
  <idb:Field name="GPUS" ext:for="QUEUE=gpu"><idb:Min>1</idb:Min><idb:Default>1</idb:Default></idb:Field>
  <idb:Field name="USER_GROUPS" ext:for="QUEUE=gpu" ext:pattern="ai|staff"/>
  <idb:Field name="PROJECT" ext:for="USER_GROUPS=physics"><idb:Default>phys01</idb:Default></idb:Field>
</idb:Template>""",
    name="site",
    extends="slurm",
)
AI = ("--context", "USER_GROUPS=ai")
LIMITS = """\
Limits of profile site:
  --queue debug: --walltime at most 30m (10m if not given); --gpus none
  --queue long: --walltime at most 7d; --memory 1G to 64G; --gpus none
  --queue gpu: --gpus at least 1 (1 if not given); for the groups ai|staff
  group physics: --project (phys01 if not given)"""


def add_site(machine: Machine) -> None:
    (machine.root / "profiles" / "site.xml").write_text(SITE)


def preview(machine: Machine, *words: str) -> tuple[int, list[str], str]:
    """Return the exit code, the directives of a job of the profile `site`, and what is said on standard error."""
    add_site(machine)
    ended = machine.run("job", "submit", "-p", "site", "--dry-run", *words)
    wanted = ("--partition", "--time", "--gpus", "--account")
    return ended.code, [w for w in ended.out.split() if w.startswith(wanted)], ended.err


def test_the_first_queue_that_a_job_fits(machine: Machine) -> None:
    chosen = "incarnate: queue {}: the first that the job fits\n"
    for words, directives, queue in (
        ([], ["--partition=debug", "--time=10"], "debug"),
        (["--walltime", "2h"], ["--partition=long", "--time=120"], "long"),
        (["--queue", "auto", "--memory", "2G"], ["--partition=debug", "--time=10"], "debug"),
        (["--gpus", "2", "--context", "USER_GROUPS=ai"], ["--partition=gpu", "--gpus-per-node=2"], "gpu"),
    ):
        assert preview(machine, *words, "/bin/date") == (0, directives, chosen.format(queue))
    words = ["--queue", "gpu", "--context", "USER_GROUPS=staff physics"]
    assert preview(machine, *words, "/bin/date") == (
        0,
        ["--partition=gpu", "--account=phys01", "--gpus-per-node=1"],
        "",
    )


def test_a_refusal_names_the_queue_and_one_that_accepts_the_job(machine: Machine) -> None:
    code, _, err = preview(machine, "--queue", "debug", "--walltime", "2h", "/bin/date")
    assert code == 1
    assert "--walltime: field WALLTIME: '7200' (2h) is above the Max of 1800 (30m) for QUEUE debug" in err
    assert "hint: allowed: at most 1800 (30m); QUEUE long accepts this request" in err
    code, _, err = preview(machine, "--gpus", "2", "--context", "USER_GROUPS=physics", "/bin/date")
    assert code == 1
    assert "field QUEUE: the request fits none of debug (GPUS: '2' is above the Max of 0)" in err
    assert "gpu (QUEUE gpu is for the groups ai|staff, and the user is in physics)" in err


def test_a_value_that_must_be_given_is_named_by_its_option(machine: Machine) -> None:
    field = '<idb:Template><idb:Field name="PROJECT"/></idb:Template>'
    (machine.root / "profiles" / "strict.xml").write_text(document(field, name="strict", extends="slurm"))
    ended = machine.run("job", "submit", "-p", "strict", "--dry-run", "/bin/date")
    assert (ended.code, ended.err) == (
        1,
        (
            "incarnate: --project is missing: this profile has no default for it\n"
            "    hint: give --project PROJECT: The project or account to charge.\n"
        ),
    )


LARGE = document(
    '<idb:Template><idb:Field name="SITE_CONFIRM" isSettable="false"><idb:Value>NODES&gt;100 WALLTIME&gt;60</idb:Value>'
    "</idb:Field></idb:Template>",
    name="large",
    extends="here",
    root="~/work",
)


def test_a_site_asks_before_a_large_job(machine: Machine) -> None:
    (machine.root / "profiles" / "large.xml").write_text(LARGE)
    words = ["job", "submit", "-p", "large", "--walltime"]
    assert machine.run(*words, "60", "true").code == 0
    asked = "the site wants to be sure before a job gets 2m of WALLTIME (more than 1m)"
    (machine.root / "jobs.csv").write_text("walltime\n120\n")
    for more in ([], ["--from", "jobs.csv"]):
        ended = machine.run("job", "submit", "-p", "large", *(more or ["--walltime", "120"]), "true")
        said = f"incarnate: nothing was submitted: {asked}\n    hint: if that is meant, give --yes\n"
        assert (ended.code, ended.out, ended.err) == (1, "", said)
    again = machine.run(*words, "30", "--retry", "TIME: walltime*2, at most 2", "true")
    assert (again.code, asked in again.err) == (1, True)
    assert machine.run(*words, "30", "--retry", "TIME: walltime*2", "true").code == 0
    assert machine.run(*words, "120", "--yes", "true").code == 0
    for answer, code in ((b"y\n", 0), (b"\n", 1)):
        ended, screen, _ = on_terminal(*words, "120", "true", stream="stderr", answer=answer)
        assert (ended, f"{asked}. Submit? [y/N]" in " ".join(screen.split())) == (code, True)


def test_directives_and_passed_options_cannot_evade_a_limit(machine: Machine) -> None:
    script = machine.root / "sim.sh"
    script.write_text("#!/bin/sh\n#SBATCH -p debug\n#SBATCH -t 2:00:00\nhostname\n")
    code, _, err = preview(machine, "sim.sh")
    assert code == 1
    assert (
        "sim.sh:3: -t '2:00:00': field WALLTIME: '7200' (2h) is above the Max of 1800 (30m) for QUEUE debug"
        in err
    )
    script.write_text("#!/bin/sh\n#SBATCH -p auto\n#SBATCH -t 20-0\nhostname\n")
    code, _, err = preview(machine, "--context", "USER_GROUPS=physics", "sim.sh")
    assert (code, "the request fits none of debug (WALLTIME: '1728000'" in err) == (1, True)
    assert "hint: ask for less: the script has sim.sh:3: -t 20-0\n" in err
    script.write_text("#!/bin/sh\n#SBATCH --partition=debug --gpus-per-task=4\nhostname\n")
    code, _, err = preview(machine, "sim.sh")
    assert code == 1
    assert "sim.sh:2: --gpus-per-task '4': field GPUS" in err


def test_help_shows_the_limits_of_the_profile(machine: Machine) -> None:
    add_site(machine)
    assert format_limits(Repository([machine.root / "profiles"]).load("site")) == LIMITS
    assert machine.run("job", "submit", "--help", "-p", "site").out.endswith(f"\n\n{LIMITS}\n")
    assert machine.run("job", "submit", "-h", OSPROFILE_PROFILE="site").out.endswith(f"\n\n{LIMITS}\n")
    assert "Limits of" not in machine.run("job", "submit", "--help", "-p", "slurm").out
    assert "Limits of" not in machine.run("job", "submit", "--help", "-p", "no-such-profile").out


def test_the_default_of_a_group_here_and_on_another_host(machine: Machine) -> None:
    group = grp.getgrgid(os.getgid()).gr_name
    environment = (
        '<idb:Template><idb:Field name="ENVIRONMENT" ext:for="USER_GROUPS={}">'
        "<idb:Default>export ACCOUNT='it'\\''s'\n</idb:Default></idb:Field></idb:Template>\n"
    )
    machine.add("mine", environment.format(group))
    machine.add("other", environment.format("nobody-is-in-this-group"))
    for words, printed in (
        (["-p", "mine"], "it's\n"),
        (["-p", "mine", "--host", "login"], "it's\n"),
        (["-p", "mine", "--host", "login", "--env", "ACCOUNT=own"], "own\n"),
        (["-p", "mine", "--context", "USER_GROUPS=another"], "\n"),
        (["-p", "other", "--host", "login"], "\n"),
    ):
        ended = machine.run("job", "submit", *words, "--wait", "/bin/sh", "-c", 'echo "$ACCOUNT"')
        assert ended.code == 0, ended.err
        assert machine.run("job", "output", ended.out.strip()).out == printed


def test_a_group_of_another_host_with_a_blank_in_its_name(machine: Machine) -> None:
    """As an Active Directory has them: the user is not in the group `staff`."""
    machine.add(
        "mine",
        '<idb:Template><idb:Field name="USER_GROUPS" ext:for="JOB_NAME=x" ext:pattern="staff"/></idb:Template>',
    )
    program = machine.root / "bin" / "id"
    program.write_text(
        '#!/bin/sh\n[ "$1" != -Gnz ] || exec printf \'users\\0linux staff\\0\'\nexec /usr/bin/id "$@"\n'
    )
    program.chmod(0o755)
    ended = machine.run("job", "submit", "-p", "mine", "--host", "login", "--name", "x", "true")
    assert "the user is in users, linux_staff" in ended.err


def test_the_mail_and_the_name_of_a_scripts_job(machine: Machine) -> None:
    (machine.root / "my runs.sh").write_text("#!/bin/sh\n#SBATCH --mail-type=END\nhostname\n")
    for words, user in (
        (["--host", "hpc42@login"], "hpc42"),
        (["--context", "USER_NAME=nina"], "nina"),
    ):
        ended = machine.run("job", "submit", "-p", "slurm", "--dry-run", *words, "./my runs.sh")
        assert ended.code == 0, ended.err
        assert f"#SBATCH --mail-user={user}\n" in ended.out
        assert "#SBATCH --job-name=my_runs.sh\n" in ended.out
    ended = machine.run("job", "submit", "-p", "slurm", "--dry-run", "--name", "mine", "./my runs.sh")
    assert "#SBATCH --job-name=mine\n" in ended.out


def test_an_option_that_could_exceed_a_limit_of_the_site(machine: Machine) -> None:
    for option, field in (
        ("--gpus-per-socket=2", "GPUS"),
        ("--gpus-per-node=1 --cpus-per-gpu=9 --tres-per-task=cpu:1", "GPUS"),
    ):
        (machine.root / "sim.sh").write_text(f"#!/bin/sh\n#SBATCH {option}\nhostname\n")
        code, _, err = preview(machine, "--queue", "long", "sim.sh")
        assert code == 2
        assert f"profile site limits {field}, which this option could exceed" in err
        assert "hint: give --gpus-per-node; " in err


def test_a_limit_holds_for_what_an_option_asks_for_in_all(machine: Machine) -> None:
    """Slurm counts memory for each processor; the limit is for each node."""
    for options, code, told in (
        ("--nodes=2 --ntasks=8 --mem-per-cpu=8G", 0, "#SBATCH --mem=32768M\n"),
        ("--nodes=2 --ntasks=8 --mem-per-cpu=64G", 1, "field MEMORY"),
        (
            "--ntasks=8 --mem-per-cpu=8G",
            2,
            "how many nodes share it is not known, and profile site limits MEMORY",
        ),
        ("--ntasks=8 --mem-per-cpu=8G", 2, "give --nodes, or --mem"),
        ("--ntasks=8 --gpus=8", 2, "give --nodes, or --gpus-per-node"),
        ("--nodes=2 --ntasks=6 --ntasks-per-node=4 --mem-per-cpu=8G", 0, "#SBATCH --mem=32768M\n"),
        ("--mem-per-gpu=8G", 2, "how many GPUs a node has is not known, and profile site limits MEMORY"),
        ("--mem-per-gpu=8G", 2, "give --gpus-per-node, or --mem"),
        ("--gpus-per-node=1 --cpus-per-gpu=8 --mem-per-cpu=8G", 2, "how many nodes share it is not known"),
        ("--mem=8G --mem-per-gpu=8G", 2, "exclude each other"),
        ("--ntasks=8 --gpus-per-task=1", 2, "give --nodes, or --gpus-per-node"),
        ("--nodes=2 --ntasks=8 --gpus-per-task=1", 1, "--gpus-per-task '1': field GPUS"),
        ("--gpus=0 --gres=gpu:0", 0, "#SBATCH --partition=long\n"),
    ):
        (machine.root / "sim.sh").write_text(f"#!/bin/sh\n#SBATCH {options}\nhostname\n")
        add_site(machine)
        ended = machine.run("job", "submit", "-p", "site", "--dry-run", "--queue", "long", "sim.sh")
        assert ended.code == code, ended
        assert told in ended.out + ended.err
        assert "#SBATCH --mem-per-cpu" not in ended.out


def test_gpus_of_tasks_and_memory_of_gpus(machine: Machine) -> None:
    for options, wanted, limited in (
        ("-N 2 -n 8 --gpus-per-task=a100:1", "", "--gpus-per-node=a100:4"),
        ("-N 2 --ntasks-per-node=2 --gpus-per-task=2", "", "--gpus-per-node=4"),
        ("-N 2 --gpus=8 --gpus-per-task=2", "", "--gpus-per-node=4"),
        ("--gpus-per-node=2 --mem-per-gpu=8G", "--gpus-per-node=2", "--gpus-per-node=2 --mem=16384M"),
        ("-N 2 -n 4 --gpus-per-task=1 --mem-per-gpu=8G", "", "--gpus-per-node=2 --mem=16384M"),
    ):
        (machine.root / "sim.sh").write_text(f"#!/bin/sh\n#SBATCH {options}\nhostname\n")
        ended = machine.run("job", "submit", "-p", "slurm", "--dry-run", "sim.sh")
        assert ended.code == 0, ended
        for option in (o for o in options.split() if "-per-task" in o or "-per-gpu" in o):
            assert f"#SBATCH {option}\n" in ended.out
        assert ("--gpus-per-node=" in ended.out, "--mem=" in ended.out) == (bool(wanted), False)
        add_site(machine)
        ended = machine.run("job", "submit", "-p", "site", "--dry-run", "--queue", "gpu", *AI, "sim.sh")
        assert ended.code == 0, ended
        given = " ".join(sorted(re.findall("^#SBATCH (--(?:gpus-per|mem).*)", ended.out, re.MULTILINE)))
        assert given == limited
        assert ("and each task sees them all" in ended.err) == (
            "--gpus=" not in options and "-per-task" in options
        )


def test_a_site_lists_options_that_are_passed(machine: Machine) -> None:
    (machine.root / "sim.sh").write_text("#!/bin/sh\n#SBATCH --bb=x\nhostname\n")
    passed = '<idb:Field name="PASSED_OPTIONS" isSettable="false"><idb:Value>--bb</idb:Value></idb:Field>'
    for fields, code in (("", 2), (passed, 0)):
        text = SITE.replace("</idb:Template>", f"{fields}</idb:Template>")
        (machine.root / "profiles" / "site.xml").write_text(text)
        ended = machine.run("job", "submit", "-p", "site", "--dry-run", "sim.sh")
        assert (ended.code, "#SBATCH --bb=x" in ended.out) == (code, code == 0)


def test_what_failed_is_found(machine: Machine) -> None:
    good, bad = machine.submit("true"), machine.submit("sh", "-c", "exit 3")
    ended = machine.run("job", "wait", good, bad)
    assert (ended.code, ended.err) == (3, f"incarnate: job {bad} ended with exit code 3\n")
    assert [job["id"] for job in machine.run_json("list", "--failed")] == [bad]
    assert machine.run("job", "wait", bad).err == ""
