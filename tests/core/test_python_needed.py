"""requires-python: which Pythons a project admits, and which at a site would do."""

import pytest

from windlass.core.wheels.python_needed import PythonNeeded, choose_module, choose_version, read_python_needed
from windlass.core.wheels.requirements import read_requirements
from windlass.errors import RequirementsInvalid

MODERN = PythonNeeded(text=">=3.10,<3.13", where="pyproject.toml:3")


@pytest.mark.parametrize(
    ("text", "version", "is_admitted"),
    [
        (">=3.10", "3.6.8", False),
        (">=3.10", "3.10.0", True),
        (">=3.10,<3.13", "3.13.1", False),
        ("~=3.11", "3.12.1", True),
        ("~=3.11.2", "3.12.1", False),
        ("==3.11.*", "3.11.9", True),
        (">=3.9.7", "3.9", True),  # some 3.9 will do
        (">=3.10", "3.9", False),
        ("!=3.9.7", "3.9.7", False),
        ("<3.12", "3.12.0rc1", False),
        (">=3.13", "3.13.0rc1", True),
        (">=3.10", "3", True),
        (">=3.10", "PyPy", True),  # nobody knows
        (">=3.10", "3.11.4+", True),
    ],
)
def test_versions_are_judged_as_pip_does(text: str, version: str, is_admitted: bool) -> None:
    assert PythonNeeded(text=text, where="x").admits(version) is is_admitted


def test_it_is_read_from_a_project_and_from_a_lock_with_its_line() -> None:
    project = '[project]\nname = "mine"\nrequires-python = ">=3.10"\ndependencies = ["net"]\n'
    lock = 'version = 1\nrequires-python = ">=3.12"\n[[package]]\nname = "mine"\nsource = { virtual = "." }\n'
    groups = '[dependency-groups]\ntrain = ["net"]\n'

    found = {
        name: read_requirements(name, {name.partition("[")[0]: text}.get).python
        for name, text in (("pyproject.toml", project), ("uv.lock", lock), ("pyproject.toml[train]", groups))
    }

    assert str(found["pyproject.toml"]) == "pyproject.toml:3 requires Python >=3.10"
    assert str(found["uv.lock"]) == "uv.lock:2 requires Python >=3.12"
    assert found["pyproject.toml[train]"] is None


@pytest.mark.parametrize("value", ["python 3", ">=three", 3.11, [">=3"]])
def test_what_names_no_versions_is_refused(value: object) -> None:
    with pytest.raises(RequirementsInvalid, match=r"pyproject.toml:3: requires-python = .* names no versions"):
        read_python_needed(value, "pyproject.toml:3")


def test_the_newest_that_will_do_is_chosen() -> None:
    modules = ("Python/3.9.6", "Python/3.11.3-GCCcore-12.3.0", "Python/3.10.4", "python/3.13.0", "SciPy/3.12", "python")

    assert choose_version(MODERN, ("3.6", "3.11", "3.9", "3.13", "3.10")) == "3.11"
    assert choose_version(MODERN, ("3.6",)) is None
    assert choose_module(MODERN, modules) == "Python/3.11.3-GCCcore-12.3.0"
    assert choose_module(MODERN, ("Python/2.7", "python")) is None
