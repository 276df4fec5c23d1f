"""What a user reads first: how to submit a job, and the limits in words."""

from __future__ import annotations

import html
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import osprofile
from osprofile.cli.job import verbs
from osprofile.cli.job.quantities import parse_duration, parse_memory
from osprofile.cli.options import Option, read_parameters
from osprofile.jobs.fields import FIELDS
from osprofile.page import words
from osprofile.page.collector import collect_page
from osprofile.page.document import render_page
from osprofile.page.submit_options import ARGUMENTS_FIELD, PROGRAM_FIELD, SUBMIT_OPTIONS
from osprofile.profile.repository import Repository
from osprofile.text import format_duration_option, format_duration_words, format_memory, format_memory_option
from tests.page.test_collector import BUNDLED, PROFILES, load

if TYPE_CHECKING:
    from osprofile.page.model import Submission

CLUSTER = Path(__file__).parent / "cluster.xml"


@pytest.fixture(scope="module")
def cluster() -> osprofile.Profile:
    return Repository([PROFILES]).load_bytes(CLUSTER.read_bytes(), str(CLUSTER))


def field_profile(name: str, inside: str, attributes: str = ' ext:type="integer"') -> osprofile.Profile:
    """Return a profile of one job field."""
    return load(
        f'<idb:Template><idb:Field name="{name}"{attributes}>{inside}</idb:Field></idb:Template>'
        f'<idb:Template name="START"><idb:Invocation><idb:Body>run &lt;{name}></idb:Body></idb:Invocation></idb:Template>'
    )


def read_text(page: str, *, with_details: bool = False) -> str:
    """Return what a reader sees of a page; without `with_details`, only what is not folded."""
    body = page.partition("<main")[2].partition("</main>")[0]
    body = body.replace('<details class="group"', "<div")  # an option is there, though its group is folded
    if not with_details:
        while "<details" in body:  # the innermost first
            body = re.sub(r"<details[^>]*>(?:(?!<details).)*?</details>", " ", body, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body)))


def read_page(profile: osprofile.Profile, *, with_details: bool = False) -> str:
    return read_text(render_page(collect_page(profile)), with_details=with_details)


def get_submission(profile: osprofile.Profile) -> Submission:
    """Return how a page says to submit a job."""
    submission = collect_page(profile).submission
    assert submission is not None
    return submission


# The options


def test_the_options_are_those_of_the_command() -> None:
    found: dict[str, str] = {}
    for parameter in read_parameters(verbs.submit):
        field = FIELDS[parameter.keyword].name if parameter.keyword in FIELDS else ""
        if field and isinstance(parameter.spec, Option):
            option = f"{parameter.spec.flags[0]} {parameter.spec.metavar}"
            found.setdefault(field, option.replace("JOB|KEY", "JOB").strip())
    assert found == SUBMIT_OPTIONS
    assert not {PROGRAM_FIELD, ARGUMENTS_FIELD} & found.keys()


def test_a_page_describes_the_options_of_the_command() -> None:
    """The form of a live page has the fields of START, and a site's own descriptions are kept."""
    page = collect_page(osprofile.load("slurm"))
    for version, is_command in (("", True), ("1", False)):
        text = read_text(render_page(page, version=version))
        assert ("standard output, relative to the current directory" in text) == is_command
        assert ("standard output; a relative path is relative to the working" in text) == (not is_command)
        assert ("Without the option: the current directory" in text) == is_command
        assert ("hostname" in text.partition("What most jobs need")[2].partition("Arguments")[0]) == (
            not is_command
        )
    own = field_profile("STDOUT", "<idb:Description>Ours.</idb:Description><idb:Default>o</idb:Default>", "")
    text = read_page(own)
    assert "--stdout FILE Ours." in text


# Words


LIMITS = {
    "a day": ("WALLTIME", "<idb:Max>86400</idb:Max>", "at most 24 hours"),
    "days": ("WALLTIME", "<idb:Min>1</idb:Min><idb:Max>604800</idb:Max>", "at most 7 days"),
    "parts": ("WALLTIME", "<idb:Max>5430</idb:Max>", "at most 1 hour 30 minutes 30 seconds"),
    "from to": ("CPUTIME", "<idb:Min>60</idb:Min><idb:Max>7200</idb:Max>", "1 minute to 2 hours"),
    "nodes": ("NODES", "<idb:Min>1</idb:Min><idb:Max>64</idb:Max>", "1 to 64 nodes"),
    "one node": ("NODES", "<idb:Min>1</idb:Min><idb:Max>1</idb:Max>", "exactly 1 node"),
    "processes": ("PROCESSES", "<idb:Max>2048</idb:Max>", "at most 2,048 processes"),
    "at least": ("CPUS", "<idb:Min>2</idb:Min>", "at least 2 CPUs"),
    "memory": ("MEMORY", "<idb:Min>1</idb:Min><idb:Max>196608</idb:Max>", "at most 192 GiB"),
    "half": ("MEMORY", "<idb:Max>1536</idb:Max>", "at most 1.5 GiB"),
    "no round memory": ("MEMORY", "<idb:Max>1000</idb:Max>", "at most 1,000 MiB"),
    "much": ("MEMORY", "<idb:Min>512</idb:Min><idb:Max>2097152</idb:Max>", "512 MiB to 2 TiB"),
    "digits only": ("GPUS", "<idb:Min>1</idb:Min><idb:Max>9999</idb:Max>", ""),
    "the site's own": ("LICENSES", "<idb:Min>1</idb:Min><idb:Max>8</idb:Max>", "1 to 8"),
    "negative": ("LICENSES", "<idb:Min>-5</idb:Min><idb:Max>5</idb:Max>", "-5 to 5"),
    "fractions": ("LICENSES", "<idb:Min>0.5</idb:Min>", "at least 0.5"),
    "none": ("NODES", "", ""),
}


@pytest.mark.parametrize("case", LIMITS)
def test_limits_in_words(case: str) -> None:
    name, inside, expected = LIMITS[case]
    attributes = ' ext:type="integer"' if "-" not in inside and "." not in inside else ""
    page = collect_page(field_profile(name, f"{inside}<idb:Default/>", attributes))
    assert words.describe_limits(page.settings[0]) == expected
    text = read_text(render_page(page))
    assert expected in text
    assert ("Limit Without the option" in text) == bool(expected)


@pytest.mark.parametrize(
    ("amount", "said", "option"),
    [(1, "1 second", "1s"), (90, "1 minute 30 seconds", "1m30s"), (5400, "1 hour 30 minutes", "1h30m"),
     (86400, "24 hours", "1d"), (90000, "1 day 1 hour", "1d1h"), (0, "0 seconds", "0"),
     (0, "0 MiB", "0M"), (1000, "1,000 MiB", "1000M"), (1536, "1.5 GiB", "1536M"), (4096, "4 GiB", "4G"),
     (3 << 20, "3 TiB", "3072G")],
)  # fmt: skip
def test_times_and_sizes(amount: int, said: str, option: str) -> None:
    is_size = said.endswith("iB")
    assert (format_memory if is_size else format_duration_words)(amount) == said
    assert (format_memory_option if is_size else format_duration_option)(amount) == option
    assert (parse_memory if is_size else parse_duration)("--option", option) == amount


# How to submit


OWN_SCRIPTS = {
    "slurm": ("sbatch job.sh", ["#SBATCH --job-name=simulate", "#SBATCH --cpus-per-task=4", "#SBATCH --mem=4096M", "#SBATCH --time=60"]),
    "pbs": ("qsub job.sh", ["#PBS -N simulate", "#PBS -l walltime=01:00:00", "", 'cd "$PBS_O_WORKDIR" || exit']),
    "torque": ("qsub job.sh", ["#PBS -S /bin/sh", "#PBS -N simulate", "", 'cd "$PBS_O_WORKDIR" || exit']),
    "sge": ("qsub -cwd job.sh", ["#$ -S /bin/sh", "#$ -N simulate", "#$ -l h_rt=3600"]),
    "lsf": ("bsub < job.sh", ["#BSUB -J simulate", "#BSUB -M 4096MB", '#BSUB -R "rusage[mem=4096MB]"', "#BSUB -W 60"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BUNDLED)
def test_the_example_is_accepted_and_is_a_script_of_ones_own(name: str) -> None:
    profile = osprofile.load(name)
    submission = get_submission(profile)
    amounts = "" if name == "linux" else "--cpus 4 --memory 4G "  # it reserves neither
    assert submission.command == f"incarnate job submit -p {name} {amounts}--walltime 1h ./simulate"
    assert osprofile.incarnate(profile, "START", fields=dict(submission.fields), context=CONTEXT).text
    if name == "linux":  # it has no directives
        assert (submission.script, submission.script_command) == ("", "")
        return
    command, lines = OWN_SCRIPTS[name]
    blank = [] if "" in lines else [""]
    assert submission.script.splitlines() == ["#!/bin/sh", *lines, *blank, "./simulate"]
    assert submission.script_command == command
    text = read_page(profile, with_details=True)
    assert ("It has no directive for" in text) == bool(submission.outside)
    outside = "It has no directive for --cpus and --memory , which osprofile passes on in another way."
    assert name != "pbs" or outside in text


def test_the_command_runs_the_program_of_the_current_directory(tmp_path: Path) -> None:
    submission = get_submission(osprofile.load("linux"))
    program = tmp_path / "simulate"
    program.write_text("#!/bin/sh\npwd\n")
    program.chmod(0o755)
    words = shlex.split(submission.command)
    assert words[:3] == ["incarnate", "job", "submit"]
    ended = subprocess.run(
        [sys.executable, "-m", "osprofile", "job", "submit", "--wait", "--context",
         f"WORKING_DIRECTORY={tmp_path}/job", *words[3:]],
        cwd=tmp_path, capture_output=True, text=True, check=False, env=os.environ | {"HOME": str(tmp_path)},
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "job" / "stdout").read_text() == f"{tmp_path}\n"


@pytest.mark.parametrize("name", OWN_SCRIPTS)
def test_a_script_of_ones_own_runs_where_it_was_submitted(name: str, tmp_path: Path) -> None:
    submission = get_submission(osprofile.load(name))
    home = tmp_path / "it's home"
    home.mkdir()
    program = home / "simulate"
    program.write_text("#!/bin/sh\npwd\n")
    program.chmod(0o755)
    begins_elsewhere = "PBS_O_WORKDIR" in submission.script
    ended = subprocess.run(
        ["sh"], input=submission.script, cwd=tmp_path if begins_elsewhere else home, capture_output=True,
        text=True, check=True, env={"PATH": os.environ["PATH"], "PBS_O_WORKDIR": str(home)},
    )  # fmt: skip
    assert (ended.stdout, ended.stderr) == (f"{home}\n", "")


def test_a_required_field_of_the_sites_own_is_in_the_script() -> None:
    body = """<idb:Template><idb:Field name="LICENSES" ext:pattern="[a-z]+:[0-9]" ext:directive="#SBATCH --licenses=$1">
    <idb:Description>Licenses, as in solver:2.</idb:Description></idb:Field>
    <idb:Field name="JOB_NAME" ext:pattern="job[0-9]+"><idb:Default/></idb:Field></idb:Template>"""
    submission = get_submission(load(body, extends="slurm"))
    assert "--set LICENSES=LICENSES" in submission.command
    assert "#SBATCH --licenses=LICENSES\n" in submission.script
    allowed = get_submission(load(body.replace(":[0-9]", "|LICENSES"), extends="slurm"))
    assert "#SBATCH --licenses=LICENSES\n#SBATCH --job-name=gpe_job\n#SBATCH --cpus" in allowed.script


CONTEXT = {"USER_NAME": "ada", "WORKING_DIRECTORY": "/var/tmp/ada/1"}


def test_what_must_be_given_is_a_placeholder_in_both(cluster: osprofile.Profile) -> None:
    submission = get_submission(cluster)
    assert submission.placeholders == ("PROJECT",)
    assert submission.command.startswith("incarnate job submit -p cluster --project PROJECT --queue medium ")
    lines = submission.script.splitlines()
    assert lines[:6] == [
        "#!/bin/sh",
        "#SBATCH --job-name=simulate",
        "#SBATCH --partition=medium",
        "#SBATCH --account=PROJECT",
        "#SBATCH --nodes=1",
        "#SBATCH --cpus-per-task=4",
    ]
    assert "Replace PROJECT : The project that pays, as in ab1234." in read_page(cluster)


@pytest.mark.parametrize(
    ("name", "inside", "attributes", "options"),
    [
        ("WALLTIME", "<idb:Max>1800</idb:Max>", "", " --walltime 30m"),
        ("WALLTIME", "", ' ext:pattern="(?!)"', ""),
        ("MEMORY", "<idb:Min>8192</idb:Min>", "", " --memory 8G"),
    ],
)
def test_the_example_stays_within_the_limits(name: str, inside: str, attributes: str, options: str) -> None:
    profile = field_profile(name, f"{inside}<idb:Default/>", ' ext:type="integer"' + attributes)
    assert get_submission(profile).command == f"incarnate job submit -p p{options}"


def test_a_value_that_must_be_given_and_is_listed() -> None:
    profile = field_profile("QUEUE", "", ' ext:pattern="night|day"')
    assert shlex.split(get_submission(profile).command)[-2:] == ["--queue", "night"]
    text = read_page(profile)
    assert "A job must name its queue, with --queue ." in text
    assert "--queue day" in text


def test_a_profile_that_runs_no_job_has_no_guide() -> None:
    page = collect_page(load("<idb:Template/>"))
    assert page.submission is None
    text = render_page(page)
    assert 'id="submit"' not in text
    assert "This profile cannot run a job: it has no options." in text


# Queues, applications, limits


def test_queues_with_their_other_names_last(cluster: osprofile.Profile) -> None:
    section = render_page(collect_page(cluster)).partition('id="queues"')[2].partition("</section>")[0]
    rows = re.findall(r'<th scope="row"[^>]*>([^<]*)</th>', section)
    assert rows == ["short", "medium", "gpu", "test"]
    text = read_text(f"<main>{section}</main>")
    assert "--queue medium the default" in text
    assert "--queue test another name for short" in text
    assert "LIST_QUEUES" not in text


def test_any_queue_and_no_queue() -> None:
    free = read_page(osprofile.load("slurm"))
    assert (
        "A job names its queue with --queue ; without it, it goes to the batch system's default queue."
        in free
    )
    assert 'id="queues"' not in render_page(collect_page(osprofile.load("linux")))  # START refuses one
    tagged = field_profile("QUEUE", '<idb:Tag name="fast">short</idb:Tag><idb:Default>fast</idb:Default>', "")
    text = read_page(tagged)
    assert "--queue fast the default, another name for short" in text
    assert "Other queues of the batch system can be named with --queue , too." in text


@pytest.mark.parametrize(
    ("pattern", "claimed"), [("3600|7200", False), ("[1-9][0-9]*", True), ("[0-9]{1,4}", False)]
)
def test_a_number_with_a_pattern_of_its_own_is_not_called_unlimited(pattern: str, claimed: bool) -> None:
    made = field_profile("WALLTIME", "<idb:Default/>", f' ext:type="integer" ext:pattern="{pattern}"')
    text = read_page(made)
    assert ("limited here (run time" in text) == claimed


def test_the_limits_of_an_application_are_told_apart(cluster: osprofile.Profile) -> None:
    text = read_page(cluster)
    assert "Run time 1 minute to 24 hours 1 hour --walltime TIME" in text
    assert "Run time (with GROMACS) 1 minute to 12 hours 1 hour --walltime TIME" in text
    assert "Licenses 1 to 8 not set --set LICENSES=VALUE" in text
    assert (
        "Nothing else is limited here (processor time, processes, CPUs for each process, GPUs on each node);"
        in text
    )
    assert "--application GROMACS" in text


def test_every_limit_of_a_job_is_told_in_words(cluster: osprofile.Profile) -> None:
    for profile in (cluster, *map(osprofile.load, BUNDLED)):
        page = collect_page(profile)
        text = read_text(render_page(page))
        for setting in page.settings[: page.jobs]:
            limits = words.describe_limits(setting)
            assert limits in text, setting
            if setting.maximum and not words.is_unlimited(setting.maximum):
                assert words.describe_value(setting, setting.maximum) in limits


# What is folded


@pytest.mark.parametrize("name", BUNDLED)
def test_patterns_and_places_are_on_demand(name: str) -> None:
    page = collect_page(osprofile.load(name))
    text = render_page(page)
    headings = re.findall(r'<h2 id="([a-z]+)-title">', text)
    assert headings == [*headings[: headings.index("limits")], "limits", "fields", "internals"]
    assert headings[0] == "submit"
    assert "<details open" not in text
    unfolded, whole = read_text(text), read_text(text, with_details=True)
    for setting in page.settings[: page.jobs]:
        assert setting.option in unfolded
        pattern = re.sub(r"\s+", " ", setting.pattern or "")
        assert pattern in whole
        assert len(pattern) < 12 or pattern not in unfolded
    assert not re.search(r"profile\.xml:\d|#SBATCH|#PBS", unfolded)
    for origin in [o for s in page.settings for o in s.origins]:
        assert origin.place in whole


def test_the_options_that_most_jobs_need_come_first_in_peoples_words() -> None:
    text = read_page(osprofile.load("slurm"))
    options = text.partition("What most jobs need")[2].partition("What to run")[0]
    assert re.findall("--[a-z]+ [A-Z]+", options) == [
        "--name NAME", "--walltime TIME", "--queue QUEUE", "--project PROJECT", "--nodes N", "--processes N",
        "--cpus N", "--memory SIZE", "--gpus N",
    ]  # fmt: skip
    assert "Time limit --walltime TIME The time limit, as in 90m" in options
    assert "WALLTIME" not in options
    assert "Without a batch system" not in text
    assert "BLACS" not in text
    own = load('<osp:Application name="Mine" template="MPI"><osp:ApplicationName>Mine</osp:ApplicationName>'
               "<osp:ApplicationVersion>1</osp:ApplicationVersion></osp:Application>", extends="slurm")  # fmt: skip
    assert "--application Mine" in read_page(own)  # a site's other name for one is its own


def test_the_limits_of_each_queue() -> None:
    site = load(
        '<idb:Template><idb:Field name="QUEUE" ext:pattern="debug|gpu|any"><idb:Default>debug</idb:Default></idb:Field>'
        '<idb:Field name="WALLTIME" ext:type="integer"><idb:Max>604800</idb:Max><idb:Default/></idb:Field>'
        '<idb:Field name="GPUS" ext:type="integer"><idb:Default/></idb:Field>'
        '<idb:Field name="WALLTIME" ext:for="QUEUE=debug"><idb:Max>1800</idb:Max><idb:Default>600</idb:Default></idb:Field>'
        '<idb:Field name="GPUS" ext:for="QUEUE=debug"><idb:Max>0</idb:Max></idb:Field>'
        '<idb:Field name="GPUS" ext:for="QUEUE=gpu"><idb:Min>1</idb:Min><idb:Max>4</idb:Max></idb:Field>'
        '<idb:Field name="USER_GROUPS" ext:for="QUEUE=gpu" ext:pattern="ai|staff"/></idb:Template>'
        '<idb:Template name="START"><idb:Invocation><idb:Body>run &lt;QUEUE> &lt;WALLTIME> &lt;GPUS></idb:Body>'
        "</idb:Invocation></idb:Template>"
    )
    text = read_page(site)
    table = text.partition("The queues ")[2]
    assert table.startswith(
        "Queue Option Limits Note "
        "debug --queue debug run time at most 30 minutes, 10 minutes if not given; no GPUs the default "
        "gpu --queue gpu 1 to 4 GPUs on each node; for the groups ai and staff "
        "any --queue any auto --queue auto the first of those with limits that the job fits"
    )
    assert "For queue debug run time at most 30 minutes" in text
    assert "incarnate job submit --help -p p prints the limits of each queue, too." in text
    assert (
        "incarnate job submit -p p --queue debug --walltime 30m" in text
    )  # the example is one that the queue accepts


def test_the_site_and_its_contact() -> None:
    fields = (
        '<idb:Field name="SITE_NAME" isSettable="false"><idb:Value>Example &amp; Sons</idb:Value></idb:Field>'
        '<idb:Field name="SITE_CONTACT" isSettable="false"><idb:Value>Ask &lt;hpc@example.org></idb:Value></idb:Field>'
    )
    page = render_page(collect_page(load(f"<idb:Template>{fields}</idb:Template>")))
    assert "<title>Running jobs on Example &amp; Sons</title>" in page
    header = html.unescape(re.sub("<[^>]+>", " ", page.partition("<header>")[2].partition("</header>")[0]))
    assert " Running jobs on Example & Sons " in header
    assert "Ask <hpc@example.org>" in header


def test_what_a_site_asks_about() -> None:
    start = '<idb:Template name="START"><idb:Invocation><idb:Body>run &lt;NODES></idb:Body></idb:Invocation></idb:Template>'
    field = '<idb:Field name="NODES"/><idb:Field name="SITE_CONFIRM" isSettable="false"><idb:Value>{}</idb:Value></idb:Field>'
    asked = "The site wants to be sure before a job with more than this: nodes 100, run time 1d."
    for value, is_said in (("NODES&gt;100 WALLTIME&gt;86400", True), ("yes", False)):
        page = render_page(collect_page(load(f"<idb:Template>{field.format(value)}</idb:Template>{start}")))
        assert (asked in html.unescape(re.sub("<[^>]+>", "", page))) is is_said
