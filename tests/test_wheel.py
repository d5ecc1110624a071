"""The built wheel alone, in a fresh environment of every Python we support: what a stranger installs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Places

pytestmark = pytest.mark.slow

_ROOT = Path(__file__).parent.parent
_VERSIONS = ("3.11", "3.12", "3.13")


def find_python(version: str) -> str | None:
    """Our own, one on PATH, or one of pyenv's that really is this version."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    found = [shutil.which(f"python{version}"), *sorted(str(one) for one in pyenv.glob(f"{version}.*/bin/python"))]
    return next((one for one in found if one and _is_version(one, version)), None)


def _is_version(python: str, version: str) -> bool:
    line = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", line], capture_output=True, text=True, check=False)
    return done.stdout.strip() == version


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, _ROOT],
        check=True,
    )
    (built,) = folder.glob("windlass-*.whl")
    return built


@pytest.mark.parametrize("version", _VERSIONS)
def test_a_wheel_is_all_one_needs(version: str, wheel: Path, places: Places, tmp_path: Path) -> None:
    python = find_python(version)
    if python is None:
        pytest.skip(f"there is no Python {version} on this machine")
    venv = tmp_path / "venv"
    constraints = ["-c", str(_ROOT / "constraints.txt")]
    subprocess.run([python, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin/pip", "install", "-q", *constraints, wheel], check=True)
    (places.pocket / "pocket.toml").write_text("idle_s = 1\n")
    project = tmp_path / "project"
    project.mkdir()

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        command = [str(venv / "bin/windlass"), *args]
        return subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120, check=False)

    assert "Commands:" in run("--help").stdout
    done = run("run", "--command", "echo from the wheel")
    assert done.stdout == "from the wheel\n", done.stderr
    assert done.returncode == 0
