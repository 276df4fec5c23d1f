"""The settings: each with its default, and what is refused with its place."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import SettingError
from osprofile.executors.facility.settings import ResourceSettings, Settings, read_settings

if TYPE_CHECKING:
    from pathlib import Path


def read(tmp_path: Path, text: str) -> Settings:
    file = tmp_path / "facility.toml"
    file.write_text(text)
    return read_settings(str(file), Settings())


def test_a_file(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        """
        name = "Ours"
        port = 0
        public_url = "https://iri.example.org/"
        max_age = 2
        [resources.a]
        profile = "slurm"
        host = "me@login:2222"
        cluster = "c1"
        [resources.b]
        profile = "linux"
        """,
    )
    assert (settings.name, settings.port, settings.max_age) == ("Ours", 0, 2.0)
    assert settings.public_url == "https://iri.example.org"
    assert dict(settings.resources) == {
        "a": ResourceSettings(profile="slurm", host="me@login:2222", cluster="c1"),
        "b": ResourceSettings(profile="linux"),
    }
    settings.check()
    context = settings.resources["a"].build_context("bob", is_shared=False)
    assert context == {"SSH:HOST": "me@login", "SSH:PORT": "2222", "CLUSTER": "c1"}
    assert settings.resources["b"].build_context("bob", is_shared=False) == {}


MANY = 'issuer = "https://login"\naudience = "a"\njwks = "/keys"\n'


def test_many_users(tmp_path: Path) -> None:
    users = "[users]\n's 1' = 'bob'\n's 2' = 'bob'\n"
    ours = '[resources.a]\nprofile = "linux"\n[resources.b]\nprofile = "slurm"\nhost = "{user}@login:22"\n'
    settings = read(tmp_path, MANY + users + ours)
    settings.check()
    assert settings.is_shared
    assert dict(settings.users) == {"s 1": "bob", "s 2": "bob"}
    contexts = [settings.resources[name].build_context("bob", is_shared=True) for name in ("a", "b")]
    assert contexts == [{"SUDO:USER": "bob"}, {"SSH:HOST": "bob@login", "SSH:PORT": "22"}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (MANY, "users is missing"),
        ("[users]\na = 'bob'", "issuer is missing"),
        (MANY + "[users]\na = 'root'", "root is root"),
        (MANY + "users_claim = 'sub'\nusers_command = ['/bin/true']", "users_command is given beside users_claim"),
        (MANY + "users_claim = 'sub'\nclient_id = 'c'", "client_id needs client_secret_file"),
        (MANY + "users_claim = 'sub'\nclient_id = 'c'\nclient_secret_file = '/s'", "and no jwks"),
        ("issuer = 'https://login'\nusers_claim = 'sub'", "audience is missing"),
        ("issuer = 'http://login'\naudience = 'a'\nusers_claim = 'sub'", "replace the keys"),
        ("issuer = 'login'\naudience = 'a'\nusers_claim = 'sub'", "replace the keys"),
        ("issuer = 'https://['\naudience = 'a'\nusers_claim = 'sub'", "replace the keys"),
        ("issuer = 'https://'\naudience = 'a'\nusers_claim = 'sub'", "replace the keys"),
        ("issuer = 'https:login'\naudience = 'a'\nusers_claim = 'sub'", "replace the keys"),
        ("users_command = ['find-user']", "is no command"),
        ("users_command = '/bin/true'", "is no command"),
        ("live_jobs = -1", "an integer from 0"),
        (MANY + "store = '/var/jobs.db'\n[users]\na = 'bob'", "each user has a record"),
        (
            MANY + "[users]\na = 'bob'\n[resources.a]\nprofile = 'linux'\nhost = 'all@login'",
            "the same account for all users",
        ),
        ("nmae = 'x'", "did you mean name?"),
        ("port = 70000", "an integer from 0 to 65535"),
        ("port = true", "an integer from 0 to 65535"),
        ("max_age = 0", "a number of seconds"),
        ("log_level = 'loud'", "one of debug"),
        ("name = 1", "not a text"),
        ("name = '''a\nb'''", "not a text"),
        ("address = 'here'", "not a table"),
        ("[address]\ncountry = 'F'", "did you mean country_name?"),
        ("[address]\nlatitude = 91", "a number from -90 to 90"),
        ("[address]\nlatitude = nan", "a number from -90 to 90"),
        ("[resources.a]\nprofile = 'x'\nattributes = {a = 2026-01-01}", "resources.a.attributes: "),
        ("[resources.a]\nprofile = 'x'\nattributes = {a = inf}", "resources.a.attributes: "),
        ("public_url = 'example.org'", "not an address"),
        ("public_url = 'https://a/?b'", "not an address"),
        ("public_url = 'https://a:b'", "not an address"),
        ("profiles = 'x'", "not a list"),
        ("resources = 1", "has no tables"),
        ("[resources]", "has no tables"),
        ("[resources.a]", "resources.a has no profile"),
        ("[resources.a]\nprofile = '../x'", "is not a name"),
        ("[resources.a]\nprofile = 'x'\nhots = 'h'", "did you mean host?"),
        ("[resources.'a/b']\nprofile = 'x'", "not an id"),
        ("name = ", "it must be TOML"),
        ("port = " + "1" * 5000, "it must be TOML"),
        ("port = 0x" + "1" * 5000, "it must be TOML"),
        ("resources = " + "[" * 5000, "it must be TOML"),
        ("users = 'x'", "not a table"),
        *((f"[users]\na = '{user}'", "not the name of a user") for user in ("", "-u", "a b", "../a", "#0", "a:b")),
        *((f"jwks = '{place}'", "replace the keys") for place in ("http://login/", "keys", "ftp://a", "file:///a", "https://[")),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SettingError) as error:
        read(tmp_path, text).check()
    assert words in str(error.value)
    assert "facility.toml: " in str(error.value) or text.startswith(("issuer", "[users]\na = 'bob'"))


def test_without_the_extra(tmp_path: Path) -> None:
    code = "import sys; sys.modules['uvicorn'] = None; from osprofile.executors.facility.main import main; main()"
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "osprofile-hpc[facility]" in ended.stderr
    assert "Traceback" not in ended.stderr
