"""Passwords in addresses: none is shown, whatever stands in it, and what is none is left alone."""

import pytest

from windlass.core.secret_words import CREDENTIALS


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://user:word@host/x", "https://***@host/x"),
        ("https://user:wo/rd@host/", "https://***@host/"),
        ("https://user:aa@word@host/", "https://***@host/"),
        ("https://token@host:80/x", "https://***@host:80/x"),
        ("docker://user:word@host/x@sha256:00", "docker://***@host/x@sha256:00"),
        ("https://host:8080/x@1", "https://host:8080/x@1"),
        ("https://host/x@2", "https://host/x@2"),
        ("docker://ubuntu:22.04@sha256:00", "docker://ubuntu:22.04@sha256:00"),
    ],
)
def test_it_is_hidden(address: str, shown: str) -> None:
    assert CREDENTIALS.sub("***@", address) == shown
