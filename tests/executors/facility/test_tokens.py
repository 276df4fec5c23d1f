"""Tokens: who is let in, and what is in the file."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from osprofile.errors import SettingError
from osprofile.executors.facility.tokens import TokenFile

if TYPE_CHECKING:
    from collections.abc import Callable

OTHER = "x" * 43


def find(tokens: TokenFile, authorization: str) -> str | None:
    client = asyncio.run(tokens.find_client(authorization))
    return client and client.user_name


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "facility-token"


@pytest.fixture
def tokens(path: Path) -> TokenFile:
    return TokenFile(str(path), "me")


@pytest.fixture
def token(path: Path, tokens: TokenFile) -> str:  # noqa: ARG001  # which makes the file
    return path.read_text().strip()


def test_a_token_is_made_for_its_owner_alone(path: Path, tokens: TokenFile, token: str) -> None:
    assert len(token) >= 43
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [*path.parent.iterdir()] == [path]
    assert find(tokens, f"Bearer {token}") == "me"
    assert find(TokenFile(str(path), "me"), f"Bearer {token}") == "me"


def test_how_a_token_is_sent(tokens: TokenFile, token: str) -> None:
    for header in (f"bearer {token}", f"BEARER  {token} ", token):
        assert find(tokens, header) == "me"
    wrong = [
        "",
        "Bearer",
        "Bearer ",
        f"Basic {token}",
        f"Bearer {token[:-1]}",
        f"Bearer {token}x",
        f"Bearer {OTHER}",
    ]
    wrong += [f"Bearer {token.swapcase()}", f"Bearer {token}, Bearer {token}", "Bearer \udc00", "x" * 5000]
    for header in wrong:
        assert find(tokens, header) is None, header


def test_another_token_replaces_the_first_at_once(path: Path, tokens: TokenFile, token: str) -> None:
    new = path.with_name("new")
    new.write_text(OTHER)
    new.chmod(0o600)
    new.rename(path)
    assert find(tokens, f"Bearer {token}") is None
    assert find(tokens, f"Bearer {OTHER}") == "me"


def test_without_a_file_nobody_is_let_in(path: Path, tokens: TokenFile, token: str) -> None:
    path.unlink()
    assert find(tokens, f"Bearer {token}") is None
    assert find(tokens, "") is None
    path.write_text(OTHER)
    path.chmod(0o644)  # others can read it
    assert find(tokens, f"Bearer {OTHER}") is None


UNUSABLE: dict[str, Callable[[Path], object]] = {
    "others can read it": lambda path: (path.write_text(OTHER), path.chmod(0o644)),
    "others can write it": lambda path: (path.write_text(OTHER), path.chmod(0o620)),
    **{
        f"{text!r}": lambda path, text=text: (path.write_text(text), path.chmod(0o600))  # type: ignore[misc]
        for text in ("", "short", f"{OTHER} {OTHER}", f"{OTHER}\n{OTHER}")
    },
    "a pipe": lambda path: os.mkfifo(path, 0o600),
    "a link": lambda path: path.symlink_to(path.parent / "elsewhere"),
    "a folder": Path.mkdir,
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_a_file_that_is_no_secret_is_refused(path: Path, case: str) -> None:
    path.parent.mkdir()
    UNUSABLE[case](path)
    with pytest.raises(SettingError, match="facility-token") as error:
        TokenFile(str(path), "me")
    assert OTHER not in str(error.value)
