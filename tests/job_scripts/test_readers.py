"""What options of directives ask for, beside what the real commands made of the same lines (OpenPBS 23.06, Slurm 22.05)."""

from __future__ import annotations

from datetime import datetime

import pytest

from osprofile.job_scripts.command_line import UsageError
from osprofile.job_scripts.reader import read_script_request
from osprofile.job_scripts.script_request import Given, ScriptRequest


def read(prefix: str, header: str) -> ScriptRequest:
    request = read_script_request(f"{header}\nhostname\n", "s.sh", prefix, Given(user_name="me", name="n"))
    assert request is not None
    return request


@pytest.mark.parametrize(
    ("header", "attributes"),
    [
        ("#PBS -N abc \\\n-A acct", {"name": "abc", "project": "acct"}),
        ("#PBS -N ab\\\ncd -p 7", {"name": "abcd", "priority": 7}),
        ("#PBS -N ab\\\n  -p 7", {"name": "ab", "priority": 7}),
        ("#PBS -N abc \\ \n-A acct", {"name": "abc", "project": "acct"}),
        ("#PBS -N abc \\\n", {"name": "abc"}),
        ("#PBS -l walltime=\\\n01:00", {"walltime": 60}),
        ("# text \\\n#PBS -N abc", {"name": "abc"}),
        ("  #PBS -N ind\n#PBS-A acc", {"name": "ind", "project": "acc"}),
        ("#PBS -q workq@pbs0", {"queue": "workq@pbs0"}),
        ("#PBS -a 203001010000.30", {"start_time": "2030-01-01T00:00:30"}),
        ("#PBS -a 2702290000", None),
        ("#PBS -a 13010000", None),
        ("#PBS -q @", None),
        ("#PBS -q workq@", None),
        ("#PBS -N abc \\\n#PBS -A acct", None),
        ("#PBS -N abc \\\n  #PBS -A acct", None),
        ("#PBS -A a#PBS \\\n-N abc", {"name": "abc", "project": "a#PBS"}),
        ("#PBS -u bob", None),
        ("#PBS -W depend=afterok:1,umask=22", {"after_ok": ["1"]}),
    ],
)
def test_lines_of_qsub(header: str, attributes: dict[str, object] | None) -> None:
    if attributes is None:
        with pytest.raises(UsageError):
            read("#PBS", header)
    else:
        found = {name: value for name, value in read("#PBS", header).attributes.items() if value}
        assert found == attributes


def test_a_date_without_a_year_is_the_next_one() -> None:
    for text in ("0000", "2359", "010000", "281200", "01010000", "12312359"):
        moment = datetime.fromisoformat(read("#PBS", f"#PBS -a {text}").attributes["start_time"])
        assert moment.strftime("%m%d%H%M").endswith(text)
        now = datetime.now()  # noqa: DTZ005
        assert abs((moment - now).days) <= (1 if len(text) == 4 else 31 if len(text) == 6 else 366)


def test_what_changes_nothing_or_is_for_the_batch_system() -> None:
    request = read("#PBS", "#PBS -k oe -R oe -u me -h -W umask=22,group_list=g")
    assert [option.flag for option in request.dropped] == ["-k", "-R", "-u"]
    assert [f"{option.flag} {option.text}" for option in request.others] == ["-h ", "-W umask=22"]
    assert [exact.option.text for exact in request.exact] == ["group_list=g"]


@pytest.mark.parametrize(
    ("prefix", "header", "kept"),
    [
        ("#SBATCH", "-d afterok:1?afterany:2", "afterok:1?afterany:2"),
        ("#SBATCH", "-d after:1+5", "after:1+5"),
        ("#BSUB", "-n 4,8", "4,8"),
    ],
)
def test_what_says_more_than_a_field(prefix: str, header: str, kept: str) -> None:
    [exact] = read(prefix, f"{prefix} {header}").exact
    assert exact.option.text == kept
    assert exact.refusal is not None
