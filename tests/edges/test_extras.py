"""The command that brings a missing library: one that works here, and never Windlass' name on the package index."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

import windlass
from windlass.core.extras import format_install, list_requirements, make_checkout_arguments
from windlass.edges.extras import find_checkout, make_extra_hint

ROOT = Path(__file__).parent.parent.parent
DIST = (
    "click>=8.2",
    'optuna>=4.0; extra == "sweep"',
    "Jinja2>=3.1 ; extra == 'dash'",
    'uvicorn>=0.30,<9; extra == "dash"',
)


def test_in_a_checkout_the_checkout_itself_is_installed_again() -> None:
    words = shlex.split(make_extra_hint("sweep"))

    assert words[0] in (sys.executable, "uv")
    assert words[-4:] == ["-c", str(ROOT / "constraints.txt"), "-e", f"{ROOT}[sweep]"]


def test_a_checkout_with_a_space_in_its_path_is_one_word() -> None:
    place = PurePosixPath("/home/ada/my code")

    line = format_install(
        "/usr/bin/python3", make_checkout_arguments(place, "dash", is_constrained=False), has_pip=True
    )

    assert shlex.split(line) == ["/usr/bin/python3", "-m", "pip", "install", "-e", "/home/ada/my code[dash]"]


def test_without_pip_it_is_uv_that_installs() -> None:
    assert format_install("/v/bin/python", ["optuna"], has_pip=False) == "uv pip install --python /v/bin/python optuna"


def test_of_a_wheel_only_the_libraries_of_that_extra_are_named() -> None:
    assert list_requirements(DIST, "sweep") == ("optuna>=4.0",)
    assert set(list_requirements(DIST, "dash")) == {"Jinja2>=3.1", "uvicorn<9,>=0.30"}
    assert list_requirements(DIST, "none") == ()


def test_an_installed_windlass_is_no_checkout_and_its_hint_names_the_libraries(tmp_path: Path) -> None:
    """As pip lays a wheel out: the package, and its metadata beside it."""
    shutil.copytree(
        Path(windlass.__file__).parent, tmp_path / "windlass", ignore=shutil.ignore_patterns("web", "sites")
    )
    shutil.copytree(ROOT / "src" / "windlass_job", tmp_path / "windlass_job")
    info = tmp_path / "windlass-9.9.dist-info"
    info.mkdir()
    listed = "".join(f"Requires-Dist: {one}\n" for one in DIST)
    (info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: windlass\nVersion: 9.9\n{listed}")

    code = f"import sys, json; sys.path.insert(0, {str(tmp_path)!r})\n"
    code += "from windlass.edges.extras import make_extra_hint; print(json.dumps(make_extra_hint('sweep')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)

    assert shlex.split(json.loads(done.stdout))[-1] == "optuna>=4.0"
    assert "windlass" not in shlex.split(json.loads(done.stdout))[3:]
    assert find_checkout(tmp_path / "windlass" / "__init__.py") is None


def test_the_checkout_of_another_project_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "training"\n')

    assert find_checkout(tmp_path / "lib" / "windlass" / "__init__.py") is None


def test_no_text_tells_to_install_windlass_by_its_name() -> None:
    places = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    places += [ROOT / "README.md", *(ROOT / "benchmarks").glob("*")]

    named = [str(one.relative_to(ROOT)) for one in places if one.is_file() and "windlass[" in one.read_text("utf-8")]

    assert named == []
