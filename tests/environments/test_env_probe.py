"""What the Python of a new environment tells of its frameworks: stand-ins of them, asked as the real ones are."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.environments.test_gpu_code import make_entry, make_fatbin

SOURCE = Path(__file__).parents[2] / "src" / "windlass_job" / "working"
_FLAGS = "class _C:\n    _cuda_getArchFlags = staticmethod(lambda: {flags!r})\n"
_TORCH = _FLAGS + "class version:\n    cuda = {cuda!r}\n    hip = {hip!r}\n"
_TENSORFLOW = "class sysconfig:\n    get_build_info = staticmethod(lambda: {told!r})\n"


def install(folder: Path, name: str, text: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text(text)
    (folder / f"{name}-1.0.dist-info").mkdir()
    (folder / f"{name}-1.0.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")


def install_jax(folder: Path, version: str = "0.5.0", *more: str, installer: str = "pip") -> Path:
    for name in ("jax", "jaxlib", *more):
        install(folder, name, "")
    info = folder / "jaxlib-1.0.dist-info"
    (info / "INSTALLER").write_text(f"{installer}\n")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: jaxlib\nVersion: {version}\n")
    return folder


def ask(folder: Path, probe: Path = SOURCE / "env_probe.py") -> dict[str, Any]:
    env = {"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin"}
    said = subprocess.run([sys.executable, str(probe)], env=env, capture_output=True, check=True).stdout
    told: dict[str, Any] = json.loads(said)
    return told


@pytest.mark.parametrize(
    ("flags", "cuda", "hip", "made", "code"),
    [
        ("sm_80 sm_90", "12.4", None, "cuda 12.4", ["sm_80", "sm_90"]),
        (None, None, None, "", None),
        (None, None, "6.0.1", "hip 6.0.1", None),
    ],
)
def test_pytorch_says_what_it_is_made_for(
    tmp_path: Path, flags: str | None, cuda: str | None, hip: str | None, made: str, code: list[str] | None
) -> None:
    install(tmp_path, "torch", _TORCH.format(flags=flags, cuda=cuda, hip=hip))

    told = ask(tmp_path)

    assert (told["made_for"], told["gpu_code"].get("torch")) == ({"torch": made}, code)


def test_tensorflow_says_it_where_it_is_new_enough(tmp_path: Path) -> None:
    for name, info in (("new", {"is_cuda_build": False, "is_rocm_build": False}), ("old", {})):
        install(tmp_path / name, "tensorflow", _TENSORFLOW.format(told=info))

    assert ask(tmp_path / "new")["made_for"] == {"tensorflow": ""}
    assert ask(tmp_path / "old")["made_for"] == {}


def test_one_that_cannot_be_imported_says_nothing(tmp_path: Path) -> None:
    install(tmp_path, "torch", "raise SystemExit(3)")

    assert ask(tmp_path)["made_for"] == {}


def test_the_library_of_jax_is_read_wherever_its_packages_lie(tmp_path: Path) -> None:
    """In an image nobody looks at its files from outside, and those of Debian lie in dist-packages."""
    install(tmp_path / "dist-packages", "jax", "")
    (tmp_path / "dist-packages" / "jax_plugins" / "xla_cuda12").mkdir(parents=True)
    library = tmp_path / "dist-packages" / "jax_plugins" / "xla_cuda12" / "xla_cuda_plugin.so"
    library.write_bytes(make_fatbin(make_entry(2, 80), make_entry(1, 90)))
    laid = tmp_path / "laid"
    laid.mkdir()
    for name, program in (("windlass_probe", "env_probe"), ("windlass_gpu_code", "gpu_code")):
        (laid / f"{name}.py").write_bytes((SOURCE / f"{program}.py").read_bytes())

    told = ask(tmp_path / "dist-packages", laid / "windlass_probe.py")

    assert told["gpu_code"] == {"jax": ["compute_90", "sm_80"]}
    assert told["made_for"] == {}


def test_jax_of_pypi_without_a_plugin_is_for_processors(tmp_path: Path) -> None:
    for_processors = install_jax(tmp_path / "a")
    others = (
        install_jax(tmp_path / "b", "0.5.0", "jax_cuda12_plugin"),
        install_jax(tmp_path / "c", "0.4.30+cuda12.cudnn89"),
        install_jax(tmp_path / "d", installer="conda"),  # has both under one name
    )

    assert ask(for_processors)["made_for"] == {"jax": ""}
    assert [ask(one)["made_for"] for one in others] == [{}, {}, {}]
