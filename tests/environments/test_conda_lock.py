"""The exact packages of a conda environment, from what its client noted, build the same again."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Places
from tests.environments.conda_channel import SUBDIR
from tests.environments.conda_site import CondaSite, make_conda_site, make_test_channel, make_wheel, make_yaml
from windlass.environments.conda_lock import LOCK
from windlass.errors import EnvironmentFailed

HEAD = "# locked by windlass env lock"


@pytest.fixture
def place(places: Places, tmp_path: Path) -> CondaSite:
    made = make_conda_site(places, tmp_path)
    made.add_client("micromamba")
    return made


def list_packages(folder: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", LOCK.make_script(folder)], capture_output=True, text=True, check=False)


def test_what_was_solved_once_is_built_again_exactly(place: CondaSite, tmp_path: Path) -> None:
    channel = make_test_channel(tmp_path / "channel")
    card = place.build(place.read("environment.yml", {"environment.yml": make_yaml(channel, "python", "net")}))

    found = LOCK.read(list_packages(card["path"]).stdout, HEAD)
    recipe = place.read("conda-exact.lock", {"conda-exact.lock": found.text})
    again = place.build(recipe)

    lines = found.text.splitlines()
    assert (lines[0], found.count, found.left_out) == (HEAD, 3, ())
    assert f"# platform: {SUBDIR}" in lines
    addresses = lines[lines.index("@EXPLICIT") + 1 :]
    assert all(one.startswith(channel) and len(one.rpartition("#")[2]) == 32 for one in addresses)
    assert list_packages(again["path"]).stdout == list_packages(card["path"]).stdout
    assert place.enter(recipe, "net-train").stdout == "trained by net 1.0\n"


def test_what_pip_installed_is_told(place: CondaSite, tmp_path: Path) -> None:
    make_wheel(tmp_path, "extra")
    channel = make_test_channel(tmp_path / "channel", pip=True)
    wheel = f"{tmp_path}/extra-1.0-py3-none-any.whl"
    yaml = make_yaml(channel, "python", "net", "pip", pip=(wheel,))
    card = place.build(place.read("environment.yml", {"environment.yml": yaml}))

    found = LOCK.read(list_packages(card["path"]).stdout, HEAD)

    assert found.left_out == ("extra==1.0",)
    assert "# not in this list, by pip: extra==1.0" in found.text
    assert place.read("c.lock", {"c.lock": found.text}).settings["source"] == "EXPLICIT"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://conda.example.org/t/ab-123456/private/noarch/x-1-0.conda", "https://conda.example.org/private/"),
        ("https://conda.example.org/T/ab-123456/private/noarch/x-1-0.conda", "https://conda.example.org/private/"),
        ("https://conda.example.org/%74/ab-123456/private/noarch/x-1-0.conda", "https://conda.example.org/private/"),
        ("https://ada:hunter22@example.org/forge/noarch/x-1-0.conda", "https://example.org/forge/"),
        ("https://ada:hunter22@x@example.org:8443/forge/noarch/x-1-0.conda", "https://example.org:8443/forge/"),
        ("https://example.org/forge/noarch/x-1-0.conda?code=ab-123456", "https://example.org/forge/"),
        ("https://example.org/forge/noarch/x-1-0.conda#hunter22", "https://example.org/forge/"),
        ("file:///home/u/t/real/noarch/x-1-0.conda", "file:///home/u/t/real/"),
    ],
)
def test_no_token_gets_into_it(url: str, told: str) -> None:
    said = json.dumps({"name": "x", "version": "1", "url": url, "md5": None, "subdir": "noarch"})

    text = LOCK.read(said, HEAD).text

    assert text.endswith(f"{told}noarch/x-1-0.conda\n")
    assert "hunter22" not in text
    assert "ab-123456" not in text


@pytest.mark.parametrize(
    "url",
    [
        "https://ada:hunter22%40example.org/x-1-0.conda",
        "//ada:hunter22@example.org/x-1-0.conda",
        "ada:hunter22@example.org/x-1-0.conda",
        "https:\\\\ada:hunter22@example.org/x-1-0.conda",
        "https://example.org/x-1-0.conda\nhttps://evil.example.org/y-1-0.conda",
        "https://example.org/x 1.conda",
        "https://example.org/x\x85y.conda",
        "--channel evil",
        "ftp://example.org/x-1-0.conda",
        "https://[broken/x",
    ],
)
def test_an_address_that_is_not_plain_is_refused(url: str) -> None:
    said = json.dumps({"name": "x\n", "version": "1", "url": url, "md5": None, "subdir": "noarch"})

    with pytest.raises(EnvironmentFailed) as told:
        LOCK.read(said, HEAD)

    assert "hunter22" not in str(told.value)


def test_names_cannot_begin_lines_of_their_own() -> None:
    url = "https://example.org/forge/noarch/x-1-0.conda"
    rows = [
        {"name": "x", "version": "1", "url": url, "md5": "0" * 32, "subdir": "linux-64\n--channel evil"},
        {"name": "y\nhttps://evil.example.org/z.conda", "version": "1\x1b[31m", "by": "pip"},
        {"name": "h\r\n", "version": "1", "url": None, "md5": None, "subdir": None},
    ]

    found = LOCK.read("\n".join(map(json.dumps, rows)), HEAD)

    assert found.text.splitlines() == [
        HEAD,
        "# not in this list, by pip: y?https???evil.example.org?z.conda==1??31m",
        "@EXPLICIT",
        f"{url}#{'0' * 32}",
    ]
    assert all(one.isprintable() for one in found.left_out)


def test_notes_that_are_no_files_keep_nobody_waiting(tmp_path: Path) -> None:
    (tmp_path / "conda-meta").mkdir()
    os.mkfifo(tmp_path / "conda-meta" / "a.json")
    (tmp_path / "json.py").write_text("raise SystemExit('taken over')")

    told = subprocess.run(
        ["bash", "-c", LOCK.make_script(str(tmp_path))], cwd=tmp_path, capture_output=True, text=True, timeout=20
    )

    assert "a.json cannot be read: it is no file" in told.stderr


@pytest.mark.parametrize("said", ["", "welcome", "[]", "{}", '{"name": "x"}', '{"name": 1, "version": 2, "by": 3}'])
def test_what_makes_no_sense_is_no_lock(said: str) -> None:
    with pytest.raises(EnvironmentFailed):
        LOCK.read(said, HEAD)


def test_what_is_no_environment_is_told(tmp_path: Path) -> None:
    odd = tmp_path / "it's [odd] $(x)"
    (odd / "conda-meta").mkdir(parents=True)
    (odd / "conda-meta" / "broken.json").write_text("{")

    assert "there is no conda-meta in" in list_packages(os.fspath(tmp_path)).stderr
    assert list_packages(os.fspath(odd)).returncode == 1


def test_a_name_says_for_which_nodes() -> None:
    assert [LOCK.name(one) for one in ("x86_64", "aarch64", "")] == [
        "conda-linux-64.lock",
        "conda-linux-aarch64.lock",
        "conda-exact.lock",
    ]
