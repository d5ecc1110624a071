"""The shell that makes a venv, run by bash: with uv where nothing comes from outside, with pip where something does."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from uv import find_uv_bin

from tests.builders import SITE
from tests.environments.houses import serve_index
from tests.environments.wheelhouse import make_wheel
from windlass.core.environment import Recipe
from windlass.core.run import Environment, Wheels
from windlass.core.site import Software
from windlass.environments import KINDS
from windlass_job import wire

VENV = KINDS["venv"]
PROBE = Path(__file__).parents[2] / "src" / "windlass_job" / "working" / "env_probe.py"
# uv itself; how it was called is written down.
UV = """#!/bin/bash
echo "uv $* # $UV_INDEX_STRATEGY" >> "$UV_CALLS"
exec REAL "$@"
"""


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """uv, before all that is on the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "uv").write_text(UV.replace("REAL", find_uv_bin()))
    (folder / "uv").chmod(0o755)
    return folder


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A folder that the module `torch` puts into PYTHONPATH: its torch is in no wheelhouse."""
    folder = tmp_path / "module"
    folder.mkdir()
    wheel = make_wheel(tmp_path / "elsewhere", "torch", "2.0")
    subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, folder], check=True)
    return folder


def build(
    wanted: Environment, tmp_path: Path, module: Path | None = None, listed: str = "greet"
) -> subprocess.CompletedProcess[str]:
    site = replace(SITE, software=Software(wheelhouse=str(tmp_path / "house")))
    recipe = VENV.read(wanted, site, {"requirements.txt": f"{listed}\n"}.get)
    assert recipe is not None
    source, prefix = tmp_path / "source", tmp_path / "prefix"
    for folder in (source, prefix):
        folder.mkdir()
    made = VENV.make_build(recipe, site)
    for name, content in made.files.items():
        (source / name).write_bytes(content)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON", "VIRTUAL_ENV"))}
    env |= {"PATH": f"{tmp_path}/bin:{env['PATH']}", "UV_CALLS": str(tmp_path / "calls"), "HOME": str(tmp_path)}
    env |= {wire.ENV_PREFIX: str(prefix), wire.ENV_ROOT: str(tmp_path / "root")}
    env |= {wire.ENV_PROBE: str(PROBE), wire.ENV_PROBED: str(tmp_path / "probed.json")}
    env["BASH_FUNC_module%%"] = f"() {{ export PYTHONPATH={module}; }}"
    return subprocess.run(["bash", "-c", made.script], cwd=source, env=env, capture_output=True, text=True, check=False)


def list_calls(tmp_path: Path) -> list[str]:
    calls = tmp_path / "calls"
    return [line.split()[1] for line in calls.read_text().splitlines()] if calls.exists() else []


def use(tmp_path: Path, code: str, **env: str) -> str:
    argv = [str(tmp_path / "prefix" / "bin" / "python"), "-c", code]
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=True).stdout.strip()


def test_alone_it_is_made_and_filled_by_uv(tmp_path: Path, bin_folder: Path) -> None:
    make_wheel(tmp_path / "house", "greet", "1.5")

    done = build(Environment(venv="requirements.txt"), tmp_path)

    assert done.returncode == 0, done.stderr
    assert list_calls(tmp_path) == ["venv", "pip"]
    assert use(tmp_path, "import greet; print(greet.VERSION)") == "1.5"
    assert "uv = " in (tmp_path / "prefix" / "pyvenv.cfg").read_text()
    assert json.loads((tmp_path / "probed.json").read_text())["packages"]["greet"] == "1.5"


def test_uv_looks_through_all_indexes_as_pip_does(tmp_path: Path, bin_folder: Path) -> None:
    """Alone it looks no further than the first that has a package: PyTorch's has old versions of many."""
    make_wheel(tmp_path / "house", "greet", "1.5")

    build(Environment(venv="requirements.txt"), tmp_path)

    assert (tmp_path / "calls").read_text().count("# unsafe-best-match") == 2


def test_an_address_is_fetched_where_the_build_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    wheel = make_wheel(tmp_path / "web", "greet", "1.5")
    wanted = Environment(venv="requirements.txt", wheels=Wheels.PYPI, system_packages=True)

    with serve_index(tmp_path / "web") as web:
        done = build(wanted, tmp_path, listed=f"{web}/{wheel.name}")

    assert done.returncode == 0, done.stderr
    assert use(tmp_path, "import greet; print(greet.VERSION)") == "1.5"


def test_on_top_of_modules_what_they_bring_is_not_asked_for_again(
    tmp_path: Path, bin_folder: Path, module: Path
) -> None:
    """uv looks into the venv alone: it would find no torch, or bring a second one."""
    make_wheel(tmp_path / "house", "greet", "1.5", needs=["torch>=1.13"])

    done = build(Environment(venv="requirements.txt", modules=("torch",)), tmp_path, module)

    assert done.returncode == 0, done.stderr + done.stdout
    assert list_calls(tmp_path) == []
    said = use(tmp_path, "import greet, torch; print(torch.VERSION, torch.__file__)", PYTHONPATH=str(module))
    assert said == f"2.0 {module}/torch.py"
    told = json.loads((tmp_path / "probed.json").read_text())
    assert told["packages"].items() >= {"greet": "1.5", "torch": "2.0"}.items()
    assert "torch" in told["outer"]
    assert "greet" not in told["outer"]


def test_on_top_of_the_packages_of_the_system_it_is_filled_by_pip(tmp_path: Path, bin_folder: Path) -> None:
    make_wheel(tmp_path / "house", "greet", "1.5")

    done = build(Environment(venv="requirements.txt", system_packages=True), tmp_path)

    assert done.returncode == 0, done.stderr
    assert list_calls(tmp_path) == []


def test_the_lines_of_every_kind_of_recipe_name_uv_only_where_it_may_be_used() -> None:
    alone = Recipe(kind="venv", files={"requirements.txt": "greet\n"}, settings={"system": "no"})

    for recipe, uses in ((alone, True), (replace(alone, modules=("cuda",)), False)):
        assert ("command -v uv" in VENV.make_build(recipe, SITE).script) is uses
