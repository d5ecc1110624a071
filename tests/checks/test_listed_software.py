"""C306 to C310 judge the list that the environment is built from, and no other file beside it."""

from dataclasses import replace

import pytest

from tests.checks.code_cases import A100, K40, V100, listed
from windlass.checks import CHECKS
from windlass.core.case import Case
from windlass.core.run import Environment, Wheels
from windlass.core.site import Software

NEW, OLD = "torch==2.13.0\n", "torch==2.7.0\n"
_MORE = "-" + "-extra-index-url"  # in two words: no file of ours names an index
_CU126 = "https://download.pytorch.org/whl/cu126"
_UV = f"""
[tool.uv.sources]
torch = {{ index = "pytorch" }}
[[tool.uv.index]]
name = "pytorch"
url = "{_CU126}"
explicit = true
"""
_EXTRAS = """
[project]
name = "mine"
dependencies = []
[project.optional-dependencies]
cpu = ["torch==2.7.0+cpu"]
gpu = ["torch==2.7.0"]
new = ["torch==2.13.0"]
"""


def told(case: Case) -> list[str]:
    return [one.code for code in ("C306", "C307", "C308", "C310") for one in CHECKS[code](case)]


def venv(name: str, wheels: Wheels = Wheels.PYPI, python: str | None = None) -> Environment:
    return Environment(venv=name, wheels=wheels, python=python)


@pytest.mark.parametrize("name", ["requirements.lock", "gpu.txt", "requirements.in"])
def test_whatever_the_list_is_called(name: str) -> None:
    files = {name.replace(".", "__"): NEW}

    assert told(listed(V100, venv(name), **files)) == ["C306"]
    assert told(listed(A100, venv(name), **files)) == []


def test_other_files_beside_it_do_not_count() -> None:
    assert told(listed(V100, venv("gpu.txt"), gpu__txt=OLD, requirements__txt=NEW)) == []
    assert told(listed(V100, venv("gpu.txt"), gpu__txt="numpy\n", requirements__txt=NEW)) == []


def test_only_the_extras_that_are_taken_count() -> None:
    assert told(listed(V100, venv("pyproject.toml[gpu]"), pyproject__toml=_EXTRAS)) == []
    assert told(listed(V100, venv("pyproject.toml[new]"), pyproject__toml=_EXTRAS)) == ["C306"]
    assert told(listed(V100, venv("pyproject.toml[cpu]"), pyproject__toml=_EXTRAS)) == ["C306"]


def test_constraints_and_markers_count() -> None:
    files = {"more__txt": NEW, "bounds__txt": OLD}
    machines = "torch==2.13.0 ; platform_machine == 'aarch64'\ntorch==2.7.0 ; platform_machine == 'x86_64'\n"
    pythons = "torch==2.13.0 ; python_version >= '3.10'\ntorch==2.7.0 ; python_version < '3.10'\n"

    assert told(listed(V100, venv("a.txt"), a__txt="torch\n-c bounds.txt\n", **files)) == []
    assert told(listed(V100, venv("a.txt"), a__txt="-r more.txt\n", **files)) == ["C306"]
    assert told(listed(V100, venv("a.txt"), a__txt=machines)) == []
    assert told(listed(V100, venv("a.txt", python="3.11"), a__txt=pythons)) == ["C306"]
    assert told(listed(V100, venv("a.txt", python="3.9"), a__txt=pythons)) == []
    assert told(listed(V100, venv("a.txt"), a__txt=pythons)) == []  # which Python it will be nobody knows


def test_the_index_of_the_list_counts_where_an_index_is_asked() -> None:
    house = replace(V100, software=Software(wheelhouse="/cvmfs/wheels"))
    project = '[project]\nname = "mine"\ndependencies = ["torch==2.13.0"]\n'

    assert told(listed(V100, venv("a.txt"), a__txt=f"{_MORE} {_CU126}\n{NEW}")) == []
    assert told(listed(V100, venv("pyproject.toml"), pyproject__toml=project + _UV)) == []
    assert told(listed(V100, venv("pyproject.toml"), pyproject__toml=project)) == ["C306"]
    assert told(listed(house, venv("a.txt", Wheels.AUTO), a__txt=NEW)) == []  # built by the centre
    assert told(listed(house, venv("a.txt"), a__txt=NEW)) == ["C306"]


def test_a_lock_larger_than_what_is_looked_through_is_read() -> None:
    lock = 'version = 1\n[[package]]\nname = "mine"\nversion = "1"\nsource = { virtual = "." }\n'
    lock += 'dependencies = [{ name = "torch" }]\n[[package]]\nname = "torch"\nversion = "2.13.0"\n'
    case = listed(V100, venv("uv.lock"), uv__lock=lock)

    assert told(replace(case, code=replace(case.code, files=()))) == ["C306"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.yml", "dependencies:\n  - pytorch=1.7\n"),
        ("train.yml", "dependencies:\n  - pip:\n    - torch==2.13.0\n"),
        ("explicit.txt", "@EXPLICIT\nfile:///c/linux-64/pytorch-1.7.1-cuda110_py38h2a2b3c4_1.conda\n"),
        ("pixi.toml", '[dependencies]\npytorch = "1.7.*"\n'),
        ("pixi.toml", '[pypi-dependencies]\ntorch = "==2.13.0"\n'),
    ],
)
def test_what_conda_builds_from_is_read_whatever_it_is_called(name: str, text: str) -> None:
    case = listed(K40, Environment(conda=name), **{name.replace(".", "__"): text, "requirements__txt": OLD})

    assert told(case) == ["C306"]


def test_a_lock_of_pixi_counts_more_than_its_manifest_and_only_what_is_the_same_in_all_of_it() -> None:
    manifest = '[dependencies]\npytorch = ">=1"\n'
    first, second = (f"- conda: file:///c/linux-64/pytorch-{one}-cpu_py311.conda\n" for one in ("1.7.1", "1.0.0"))
    wanted = Environment(conda="pixi.toml")

    assert told(listed(K40, wanted, pixi__toml=manifest, pixi__lock=first)) == ["C306"]
    assert told(listed(K40, wanted, pixi__toml=manifest, pixi__lock=first + second)) == []
