"""[tool.uv] of a pyproject.toml without a lock: done as far as pip can, else refused."""

import pytest

from windlass.core.wheels.requirements import Requirements, read_requirements
from windlass.errors import RequirementsInvalid

_PROJECT = """
[project]
name = "mine"
dependencies = ["numpy", "torch>=2"]
[project.optional-dependencies]
cpu = []
gpu = []
[tool.uv.sources]
torch = [
  { index = "for-cpus", extra = "cpu" },
  { index = "for-gpus", extra = "gpu", marker = "sys_platform == 'linux'" },
  { index = "for-macs", marker = "sys_platform == 'darwin'" },
]
absent = { git = "https://example.org/absent" }
[[tool.uv.index]]
name = "for-cpus"
url = "https://one.example.org/cpu"
explicit = true
[[tool.uv.index]]
name = "for-gpus"
url = "https://one.example.org/cu126"
explicit = true
[[tool.uv.index]]
url = "https://two.example.org/all"
"""


def read(text: str, name: str = "pyproject.toml") -> Requirements:
    return read_requirements(name, {"pyproject.toml": text}.get)


@pytest.mark.parametrize(
    ("name", "indexes"),
    [("pyproject.toml", []), ("pyproject.toml[cpu]", ["cpu"]), ("pyproject.toml[gpu]", ["cu126"])],
)
def test_indexes_of_what_is_asked_for_are_asked(name: str, indexes: list[str]) -> None:
    found = read(_PROJECT, name)
    addresses = [*(f"https://one.example.org/{one}" for one in indexes), "https://two.example.org/all"]

    assert [(one.name, one.value) for one in found.options] == [("extra-index-url", one) for one in addresses]
    assert len(found.told) == len(indexes)


def test_sources_that_are_addresses_go_along_where_addresses_may() -> None:
    text = (
        '[project]\nname = "mine"\ndependencies = ["net[x] ; python_version >= \'3.9\'", "pet"]\n[tool.uv.sources]\n'
        'net = { git = "https://example.org/net", tag = "v1", subdirectory = "py" }\n'
        'pet = { url = "https://example.org/pet-1-py3-none-any.whl" }\n'
    )

    found = read_requirements("pyproject.toml", {"pyproject.toml": text}.get, with_addresses=True)

    assert [(one.name, one.requirement.url) for one in found.lines] == [
        ("net", "git+https://example.org/net@v1#subdirectory=py"),
        ("pet", "https://example.org/pet-1-py3-none-any.whl"),
    ]
    assert found.lines[0].requirement.extras == {"x"}
    assert found.lines[0].requirement.marker is not None


def test_other_words_of_uv_are_said_to_pip() -> None:
    found = read(
        '[project]\nname = "mine"\ndependencies = ["torch"]\n[tool.uv]\nconstraint-dependencies = ["torch<2.5"]\n'
        'no-index = true\nfind-links = ["/wheels"]\nprerelease = "allow"\n'
        '[[tool.uv.index]]\nurl = "https://one.example.org/all"\ndefault = true\n'
    )

    assert [one.name for one in found.options] == ["index-url", "find-links", "no-index", "pre"]
    assert [str(one) for one in found.constraints] == ["torch<2.5"]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('override-dependencies = ["numpy==1"]', "has override-dependencies, which pip does not know"),
        ("sources.torch = { git = 'https://me:s3cret@example.org/torch' }", "torch comes from a git repository"),
        ("sources.torch = { path = '../torch' }", "is a project on this laptop"),
        ("sources.torch = [{ index = 'a' }, { index = 'b' }]", "torch has 2 sources for Linux"),
        ("sources.torch = { index = 'a' }", "wanted of the index 'a', and there is none of that name"),
        ("sources.torch = 3", "cannot be read"),
        ("sources = [3]", "cannot be read"),
        ("index = [{ name = 'a' }]", "cannot be read"),
        ("index = [{ url = 3 }]", "cannot be read"),
        ("constraint-dependencies = [3]", "cannot be read"),
        ('constraint-dependencies = "x"', "constraint-dependencies is a text instead of a list"),
        ('override-dependencies = "x"', "has override-dependencies, which pip does not know"),
        (r'extra-index-url = ["https://me:s3cret@example.org\n--pre"]', "has a line break or another sign"),
        (r'find-links = ["/wheels\n--pre"]', "--find-links has a line break or another sign"),
        (r'index = [{ url = "https://example.org\n--pre" }]', "has a line break or another sign"),
        (r'sources.torch = { git = "https://example.org/x\n--pre" }', "is no requirement: it has a line break"),
        (r'constraint-dependencies = ["x @ https://example.org/x\n--pre"]', "is no requirement: it has a line break"),
    ],
)
def test_what_pip_cannot_do_is_refused(table: str, words: str) -> None:
    with pytest.raises(RequirementsInvalid) as caught:
        read(f'[project]\nname = "mine"\ndependencies = ["torch"]\n[tool.uv]\n{table}\n')

    assert words in caught.value.message
    assert "s3cret" not in str(caught.value)
