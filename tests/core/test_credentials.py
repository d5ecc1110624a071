"""Passwords in addresses: none is shown, whatever stands in it, and what is none is left alone."""

import pytest

from windlass.core.credentials import find_credentials, hide_credentials, hide_found

_TOKEN = "a1b2" * 5


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
    assert hide_credentials(address) == shown


@pytest.mark.parametrize(
    "text",
    [
        "-i https://ada:hunter2@pypi.lab.org/all",
        "-r https://user:pass@pypi.lab.org/requirements.txt",
        "-i https://ada:hun/ter@2@pypi.lab.org/all",
        "-i https://ada:(hunter2)@pypi.lab.org/all",
        f"-i https://{_TOKEN}@pypi.lab.org/all",
        f"-i https://{_TOKEN}:@pypi.lab.org/all",
        f"git clone 'https://oauth2:{_TOKEN}@pypi.lab.org/a.git'",
        'url = "https://ada:hunter2@pypi.lab.org"',
        "From: https://ada:hunter2@pypi.lab.org/image.sif",
        "# -i https://ada:hunter2@pypi.lab.org/all",
        "https://pypi.lab.org/a.whl?x=1&access_token=hunter2hunter",
        "https://pypi.lab.org/a.whl?sig=hunter2hunter",
        f"  - https://pypi.lab.org/t/{_TOKEN}/channel",
        "https://${USER}:hunter2@pypi.lab.org/",
        "ssh://ada:hunter2@pypi.lab.org/",
    ],
)
def test_one_that_is_written_out_is_found_and_hidden(text: str) -> None:
    (found,) = find_credentials(f"numpy\n\n{text}\ntorch\n")

    assert (found.line, found.host) == (3, "pypi.lab.org")
    hidden = hide_found(text)
    assert not any(secret in hidden for secret in ("hunter2", ":pass@", "ter@2", _TOKEN))
    assert find_credentials(hidden) == ()
    assert "pypi.lab.org" in hidden


@pytest.mark.parametrize(
    "text",
    [
        "https://${INDEX_USER}:${INDEX_TOKEN}@pypi.lab.org/all",
        "https://ada:$TOKEN@pypi.lab.org/all https://ada:$token@pypi.lab.org/all",
        "https://ada:$(cat token)@pypi.lab.org/all",
        "https://ada:{{ token }}@pypi.lab.org/all",
        "https://ada:<token>@pypi.lab.org/all",
        "https://ada:***@pypi.lab.org/all",
        "# for example https://user:password@pypi.lab.org/all",
        "https://oauth2accesstoken@europe-python.pkg.dev/lab/all",
        "https://VssSessionToken@pkgs.dev.azure.com/lab/all",
        "git+ssh://git@github.com/lab/net.git@v1",
        "git+https://github.com/lab/net@v1.2",
        "https://ada@bitbucket.org/lab/net.git",
        "docker://ubuntu:22.04@sha256:" + "0" * 64,
        "https://host:8080/x@1 https://host:8080",
        '["https://host:8080", "ada@lab.org"]',
        "https://lab.org/search?author=ada&design=round&keyword=net",
        "https://lab.org/a?token=${TOKEN}",
        "https://lab.org/t/$TOKEN_OF_MINE/x https://lab.org/t/stable/x",
        "mail ada:lovelace@lab.org",
    ],
)
def test_a_reference_a_name_and_an_example_are_none(text: str) -> None:
    assert find_credentials(text) == ()
    assert hide_found(text) == text


@pytest.mark.parametrize("piece", ["://", "a://b:", "https://a:b", "://a?token", "@", "://x/t/"])
def test_long_lines_are_read_in_time(piece: str) -> None:
    text = piece * 5_000

    assert find_credentials(text) == ()
    assert hide_credentials(text)
