"""Secrets: what each kind of reference gives, and the sentence when it gives nothing."""

import os
from pathlib import Path

import pytest

from windlass.edges.secrets import resolve_secrets
from windlass.errors import ConfigError


def refuse(reference: str, environ: dict[str, str] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        resolve_secrets({"TOKEN": reference}, environ or {})
    assert caught.value.message.startswith("the secret TOKEN cannot be had: ")
    assert caught.value.__cause__ is None
    return f"{caught.value.message} {caught.value.said} {caught.value.hint}"


def test_every_kind_of_reference_is_read(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(" fr\u00f6m a file\n")
    references = {"A": "env:MINE", "B": f"file:{tmp_path / 'key'}", "C": "command:printf 'two\nlines\n'"}

    assert resolve_secrets(references, {"MINE": "it's"}) == b'A="it\'s"\nB="fr\\u00f6m a file"\nC="two\\nlines"\n'
    assert resolve_secrets({}, {}) == b""


def test_what_a_failing_command_said_is_not_shown() -> None:
    words = refuse("command:tail -c 20 /etc/hostname >/dev/null; printf 'hunter%d' 2 >&2; exit 3")

    assert "exit code 3" in words
    assert "hunter2" not in words


def test_output_that_is_no_text_is_refused() -> None:
    assert "not UTF-8" in refuse("command:printf '\\377\\376'")
    assert "not UTF-8" in refuse("env:MINE", {"MINE": os.fsdecode(b"caf\xe9")})
    assert "no secret is that long" in refuse("command:head -c 1000001 /dev/zero")


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "huge").write_bytes(b"x" * 1_000_001)
    os.mkfifo(tmp_path / "pipe")

    assert "no home folder for ~nosuchuser" in refuse("file:~nosuchuser/x")
    assert "No such file" in refuse(f"file:{tmp_path}/none")
    assert "not a regular file" in refuse("file:/dev/zero")
    assert "not a regular file" in refuse(f"file:{tmp_path}/pipe")
    assert "not a regular file" in refuse(f"file:{tmp_path}")
    assert "not UTF-8" in refuse(f"file:{tmp_path}/binary")
    assert "no secret is that long" in refuse(f"file:{tmp_path}/huge")
    assert "not set" in refuse("env:NOT_THERE")
