"""`incarnate TEMPLATE`: its words, its output, its exit codes."""

from __future__ import annotations

import contextlib
import json
import pwd
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from osprofile.incarnation.context import get_user_name
from tests.jobs.test_process import has_ended
from tests.strategies import document, invocation, template, template_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Incarnate


def test_a_script_goes_to_stdout_and_nothing_else(incarnate: Incarnate, site: Path) -> None:
    ended = incarnate("GREET", "--profile", str(site), "--set", "TEXT=it's", "--set", "TIMES=3")
    assert ended.code == 0
    assert ended.out == "echo 'it'\\''s' 3\n"
    assert ended.err == ""


@pytest.mark.parametrize(
    "words",
    [
        ("GREET", "--profile", "{site}"),
        ("render", "GREET", "--profile", "{site}"),
        ("--profile", "{site}", "GREET"),
        ("GREET", "--profile={site}"),
        ("GREET", "-p", "{site}"),
        ("GREET", "-p", "site", "--profiles", "{directory}"),
        ("GREET", "-p{site}"),  # only typer knows this way
    ],
)
def test_ways_to_write_it(incarnate: Incarnate, site: Path, words: tuple[str, ...]) -> None:
    ended = incarnate(*(w.format(site=site, directory=site.parent) for w in words))
    assert (ended.code, ended.out) == (0, "echo 'hello' 1\n")


def test_the_profile_may_come_from_the_environment(
    incarnate: Incarnate, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSPROFILE_PROFILE", str(site))
    assert incarnate("GREET").code == 0
    assert incarnate("GREET", "-s", "TEXT=x", "--strict").out == "echo 'x' 1\n"


@pytest.mark.parametrize(
    "words",
    [("GREET",), ("GRET", "-p", "{site}"), ("GREET", "-p", "{site}", "-s", "TIMES=11"), ("NEEDS", "-p", "{site}"),
     ("GREET", "-p", "{site}", "-s", "TEXT"), ("GREET", "-p", "{site}", "-v", "LOWD"), ("lnt", "a", "b")],
)  # fmt: skip
def test_an_error_before_a_run_ends_with_125(
    incarnate: Incarnate, site: Path, words: tuple[str, ...]
) -> None:
    """What is said of each error is in tests/cli/test_outputs."""
    words = tuple(word.format(site=site) for word in words)
    refused = incarnate(*words)
    assert refused.code in {1, 2}
    assert incarnate(*words, "--run") == replace(refused, code=125)


def test_the_request_is_put_together(incarnate: Incarnate, site: Path, tmp_path: Path) -> None:
    """--set wins over --set-file over --fields; numbers in JSON are taken as written."""
    fields = tmp_path / "fields.json"
    fields.write_text('{"TIMES": 2, "TEXT": 1.50e3}')
    text = tmp_path / "text"
    text.write_text("from a file\n")
    of = ("GREET", "-p", str(site), "--fields", str(fields))
    assert incarnate(*of).out == "echo '1.50e3' 2\n"
    assert incarnate(*of, "--set-file", f"TEXT={text}").out == "echo 'from a file\n' 2\n"
    both = incarnate(*of, "--set-file", f"TEXT={text}", "--set", "TEXT=a=b", "--set", "TEXT=c=d")
    assert both.out == "echo 'c=d' 2\n"


@pytest.mark.parametrize(
    ("content", "err"),
    [
        ("[1]", "not a JSON object"),
        ('{"TEXT": true}', "field TEXT is neither a string nor a number"),
        ('{"TEXT": null}', "field TEXT is neither a string nor a number"),
        ('{"TEXT": {"a": "b"}}', "field TEXT is neither a string nor a number"),
        ('{"TEXT": NaN}', "field TEXT is neither a string nor a number"),
        ('{"TEXT": "a", "TEXT": "b"}', "a name occurs twice"),
        ("{", "invalid JSON"),
        ("[" * 100_000, "invalid JSON"),
        ('{"TEXT": "\\u0000"}', "NUL"),
        ('{"TEXT": "\\ud800"}', "not valid UTF-8"),
    ],
)
def test_bad_json(incarnate: Incarnate, site: Path, tmp_path: Path, content: str, err: str) -> None:
    fields = tmp_path / "fields.json"
    fields.write_text(content)
    ended = incarnate("GREET", "-p", str(site), "--fields", str(fields))
    assert ended.code in {1, 2}
    assert err in ended.err
    assert ended.out == ""


def test_json(incarnate: Incarnate, site: Path) -> None:
    ended = incarnate("GREET", "-p", str(site), "-s", "TIMES=once", "--json")
    parsed = json.loads(ended.out)
    assert parsed["text"] == "echo 'hello' 1\n"
    assert parsed["fields"]["TIMES"] == {
        "value": "1",
        "given": "once",
        "origin": "request",
        "place": f"{site}:11:5",
    }
    assert parsed["fields"]["TEXT"]["origin"] == "default"
    assert (parsed["profile"], parsed["template"], parsed["variation"]) == ("site", "GREET", "")


def test_unused_fields_warn_without_strict(incarnate: Incarnate, site: Path) -> None:
    ended = incarnate("GREET", "-p", str(site), "-s", "NEEDED=x", "--no-strict")
    assert ended.code == 0
    assert ended.err == "warning: field NEEDED is not used by template GREET of profile site\n"


def test_run_passes_on_output_and_exit_code(incarnate: Incarnate, site: Path) -> None:
    ended = incarnate("GREET", "-p", str(site), "--run")
    assert (ended.code, ended.out, ended.err) == (0, "hello 1\n", "")
    ended = incarnate("GREET", "-p", str(site), "-v", "LOUD", "--run")
    assert (ended.code, ended.out, ended.err) == (7, "", "HELLO\n")
    parsed = json.loads(incarnate("GREET", "-p", str(site), "-v", "LOUD", "--run", "--json").out)
    assert (parsed["exit_code"], parsed["stdout"], parsed["stderr"]) == (7, "", "HELLO\n")


CUT = document(
    template("START", 'echo "START: <WORKING_DIRECTORY>: not known" >&2; exit 75 # <JOB_SCRIPT>\n')
    + template("FIND_JOB", 'echo "FIND_JOB: <WORKING_DIRECTORY>: not known" >&2; exit 75\n')
    + template_of("SHELL", invocation("sh -s"), invocation("sh -c 'exec sh -s'", "SSH")),
    name="cut",
    extends="linux",
)


@pytest.mark.parametrize("host", [(), ("--context", "SSH:HOST=h")])
@pytest.mark.parametrize("template", ["START", "FIND_JOB"])
def test_run_tells_that_the_outcome_is_not_known(
    incarnate: Incarnate, tmp_path: Path, template: str, host: tuple[str, ...]
) -> None:
    (tmp_path / "cut.xml").write_text(CUT)
    words = (template, "-p", str(tmp_path / "cut.xml"), "--context", "WORKING_DIRECTORY=/d", *host, "--run")
    ended = incarnate(*words)
    assert (ended.code, ended.out, ended.err) == (75, "", f"{template}: /d: not known\n")
    assert json.loads(incarnate(*words, "--json").out)["exit_code"] == 75


HANG = """\
echo $$
(trap '' TERM HUP INT; echo ready; exec sleep 600) &
echo $!
wait
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_what_run_has_started(tmp_path: Path, number: signal.Signals) -> None:
    """Even what does not heed it itself."""
    (tmp_path / "hangs.xml").write_text(document(template("HANG", HANG), name="hangs", extends="linux"))
    words = ["HANG", "-p", str(tmp_path / "hangs.xml"), "--run"]
    running = subprocess.Popen([sys.executable, "-m", "osprofile", *words], stdout=subprocess.PIPE)
    with running, running.stdout or contextlib.nullcontext() as out:
        said = {out.readline().strip() for _ in range(3)}
        pids = [int(word) for word in said - {b"ready"}]
        running.send_signal(number)
        assert running.wait() == 128 + number
    assert all(map(has_ended, pids))


def test_run_deploys_the_static_scripts_it_needs(incarnate: Incarnate, site: Path, home: Path) -> None:
    ended = incarnate("COUNT", "-p", str(site), "-s", "TEXT=it's $HOME", "--run")
    assert (ended.code, ended.out.strip()) == (0, "10")
    (script,) = home.glob(".gpe/bin/*/count.sh")
    assert script.stat().st_mode & 0o777 == 0o700
    assert script.parent.stat().st_mode & 0o777 == 0o700


def test_values_that_are_no_utf8_are_refused(site: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "osprofile", "GREET", "-p", str(site), b"--set", b"TEXT=\xff"],
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert b"field TEXT" in ended.stderr
    assert b"Traceback" not in ended.stderr


def test_a_reader_that_goes_away_is_no_error(site: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "osprofile", "START", "-p", str(site), "--self-contained"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""


# A UspaceRoot below the home of the user


def test_the_home_is_that_of_the_user_on_this_machine(incarnate: Incarnate, home: Path) -> None:
    user, other = get_user_name(), pwd.getpwnam("daemon")
    place = f"--directory '{home}/.gpe/work/{user}/"
    assert place in incarnate("START", "-p", "slurm").out
    assert place in incarnate("START", "-p", "slurm", "--context", "SSH:HOST=me@there").out
    place = f"--directory '{other.pw_dir}/.gpe/work/daemon/"
    assert place in incarnate("START", "-p", "slurm", "--context", "USER_NAME=daemon").out
    given = ("--context", "USER_NAME=nobody-knows", "--context", "USER_HOME=/home/it's")
    assert (
        r"--directory '/home/it'\''s/.gpe/work/nobody-knows/" in incarnate("START", "-p", "slurm", *given).out
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--context", "USER_NAME=nobody-knows"), "field USER_HOME has no value"),
        (("--context", "USER_HOME=/"), "the user's home is '/', in which no jobs can work"),
        (("--context", "USER_HOME=a"), "the user's home is 'a', in which no jobs can work"),
    ],
)
def test_without_a_home_what_needs_none_works(
    incarnate: Incarnate, words: tuple[str, ...], message: str
) -> None:
    ended = incarnate("START", "-p", "slurm", *words)
    assert (ended.code, ended.out) == (1, "")
    assert message in ended.err
    assert "name another directory as UspaceRoot" in ended.err
    assert incarnate("ABORT", "-p", "slurm", "--set", "JOB_ID=1", *words).code == 0
    assert incarnate("START", "-p", "slurm", "--context", "WORKING_DIRECTORY=/w", *words).code == 0
