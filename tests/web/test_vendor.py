"""A checkout without the scripts of others: the dashboard says so, and an editable installation brings them."""

import html
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.conftest import Places

ROOT = Path(__file__).resolve().parent.parent.parent
VENDOR = Path("src/windlass/web/static/vendor")
NPM = """#!{python}
import pathlib, sys
sys.path.insert(0, {tools!r})
from build_assets import FILES
for name in FILES:
    made = pathlib.Path("node_modules") / name
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text("here")
"""
INSTALL = """
import sys
sys.path.insert(0, "tools")
from build_assets import AssetsHook
hook = AssetsHook(".", {}, None, None, ".", "editable")
hook.initialize("editable", {"artifacts": []})
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Of this Windlass, as git gives it: nothing was fetched."""
    made = tmp_path / "my checkout"
    shutil.copytree(ROOT / "src", made / "src", ignore=shutil.ignore_patterns("vendor", "__pycache__"))
    shutil.copytree(ROOT / "tools", made / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", made)
    return made


@pytest.mark.slow
def test_dash_and_its_pages_say_that_scripts_are_missing_and_what_brings_them(checkout: Path, places: Places) -> None:
    pytest.importorskip("starlette")
    command = [sys.executable, "-m", "windlass", "dash", "--no-browser", "--port", "0"]
    environ = {**os.environ, "PYTHONPATH": str(checkout / "src")}

    process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    page = read_first_page(opener, process.stdout.readline().strip())
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)

    assert "no live updates, no zoom in charts" in said
    assert f"make -C '{checkout}' assets" in said
    assert f"make -C '{checkout}' assets" in html.unescape(page)


def test_an_editable_installation_brings_them_where_npm_is(checkout: Path) -> None:
    pytest.importorskip("hatchling")

    install(checkout, NPM.format(python=sys.executable, tools=str(checkout / "tools")))

    assert (checkout / VENDOR / "htmx.min.js").read_text() == "here"


def test_an_editable_installation_goes_on_where_they_cannot_be_had(checkout: Path) -> None:
    pytest.importorskip("hatchling")

    said = install(checkout, "#!/bin/sh\necho the registry is away >&2; exit 1\n")

    assert not (checkout / VENDOR).exists()
    assert "the registry is away" in said
    assert "make assets" in said


def read_first_page(opener: urllib.request.OpenerDirector, address: str) -> str:
    """/enter leaves a cookie."""
    opener.open(address, timeout=30).close()
    with opener.open(address.partition("/enter")[0] + "/", timeout=30) as answer:
        return str(answer.read().decode())


def install(checkout: Path, npm: str) -> str:
    """As pip does, with an npm that asks nobody."""
    programs = checkout / "programs"
    programs.mkdir()
    (programs / "npm").write_text(npm)
    (programs / "npm").chmod(0o755)
    environ = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "-c", INSTALL],
        cwd=checkout,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stderr
