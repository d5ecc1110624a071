"""Lists of packages as a project has them: requirements.txt, pyproject.toml, uv.lock."""

import re
import string
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.credentials import hide_credentials
from windlass.core.wheels.platform import make_platform
from windlass.core.wheels.requirements import (
    Requirements,
    format_constraints,
    format_for_laptop,
    format_requirements,
    is_requirements,
    list_for,
    read_requirements,
    strip_hashes,
)
from windlass.errors import RequirementsInvalid

_INDEX = "-" + "-index-url"  # in two words: no file of ours names an index


def read(text: str, name: str = "requirements.txt", **files: str) -> Requirements:
    there = {name.partition("[")[0]: text, **{key.replace("__", "/"): value for key, value in files.items()}}
    return read_requirements(name, lambda one: there.get(one) or there.get(one.removesuffix(".txt")))


def fail(text: str, name: str = "requirements.txt", **files: str) -> RequirementsInvalid:
    with pytest.raises(RequirementsInvalid) as caught:
        read(text, name, **files)
    return caught.value


def test_continued_lines_comments_hashes_markers_and_extras() -> None:
    found = read(
        "# all of it\n"
        "numpy == 1.26.4 \\\n"
        "    --hash=sha256:aa11 \\\n"
        "    --hash=sha256:bb22   # two builds\n"
        "\n"
        "torch[opt]>=2.1,<3 ; python_version >= '3.9'  # the heavy one\r\n"
        "rich\\\n>=13\n"
    )

    assert [(one.name, one.where, one.hashes) for one in found.lines] == [
        ("numpy", "requirements.txt:2", ("sha256:aa11", "sha256:bb22")),
        ("torch", "requirements.txt:6", ()),
        ("rich", "requirements.txt:7", ()),
    ]
    assert found.lines[1].requirement.extras == {"opt"}


def test_includes_and_constraints_are_flat_in_the_end() -> None:
    found = read("-r more\n-c bounds\na", more="b==2\n--constraint=bounds", bounds="c<3")

    assert format_requirements(found) == "b==2\na\n"
    assert format_constraints(found) == "c<3\n"
    assert found.lines[0].where == "more:1"


def test_markers_are_the_sites() -> None:
    found = read("a; platform_machine == 'ppc64le'\nb; sys_platform == 'win32'\nc; python_version < '3.8'")

    assert [one.name for one in list_for(found.lines, make_platform("3.7", "ppc64le", "2.17"))] == ["a", "c"]


def test_credentials_of_an_index_are_neither_shown_nor_sent() -> None:
    found = read(f"{_INDEX} https://me:s3cret@example.org/x\na")

    shown = " ".join((*map(str, found.options), *found.told, format_requirements(found)))

    assert "s3cret" not in shown
    assert "s3cret" in format_for_laptop(found)
    with pytest.raises(RequirementsInvalid, match=r"\*\*\*@example.org") as caught:
        format_requirements(found, with_indexes=True)
    assert "s3cret" not in str(caught.value)


def test_a_reference_to_a_password_is_no_password() -> None:
    found = read(f"{_INDEX} https://${{INDEX_USER}}:${{INDEX_TOKEN}}@example.org/x\na")

    assert "https://${INDEX_USER}:${INDEX_TOKEN}@example.org/x" in format_requirements(found, with_indexes=True)
    assert "https://${INDEX_USER}:${INDEX_TOKEN}@example.org/x" in format_for_laptop(found)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "-r https://me:s3cret@example.org/all.txt"),
        ("requirements.txt", "-c https://me:s3cret@example.org/bounds.txt"),
        ("sub/requirements.txt", "--requirement=https://s3cret0123456789@example.org/all.txt"),
        ("requirements.txt", "-e git+https://me:s3cret@example.org/net.git"),
        ("requirements.txt", "net @ git+https://me:s3cret@example.org/net.git"),
        ("requirements.txt", "net=1 https://me:s3cret@example.org/net.git"),
        ("pyproject.toml", '[project]\ndependencies = "net @ https://me:s3cret@example.org/net.whl"'),
        ("pyproject.toml", '[project]\ndependencies = [{ git = "https://me:s3cret@example.org/net" }]'),
        ("pyproject.toml", '[project]\ndependencies = ["net @ https://me:s3cret@example.org/net.whl"]'),
    ],
)
def test_no_refusal_repeats_a_password(name: str, text: str) -> None:
    problem = fail(text, name)

    assert "s3cret" not in f"{problem.message} {problem.hint} {problem.details}"
    assert "example.org" in problem.message


def test_an_index_without_credentials_goes_along_where_there_is_internet() -> None:
    found = read(f"{_INDEX} https://example.org/x\na")

    assert format_requirements(found, with_indexes=True) == f"{_INDEX} https://example.org/x\na\n"
    assert format_requirements(found) == "a\n"
    assert "by no wheelhouse" in found.told[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-e .", "is a project on this laptop"),
        ("./mine", "is a project on this laptop"),
        ("mine @ git+https://example.org/mine", "comes from a git repository"),
        ("mine @ https://example.org/mine.zip", "comes from an address"),
        ("numpy=1.2", "is no requirement"),
        ("-r gone.txt", "there is no file gone.txt"),
        ("-r requirements.txt", "includes itself"),
        ("-r https://example.org/x.txt", "lies on the web"),
        ("--bogus 3", "no option --bogus"),
        ("-r 'x", "a quote is not closed"),
    ],
)
def test_what_no_site_installs_is_refused_with_its_line(text: str, words: str) -> None:
    problem = fail(f"a\n{text}")

    assert words in problem.message
    assert "requirements.txt:2" in problem.message


@pytest.mark.parametrize(
    "name", ["pyproject.toml", "pyproject.toml[gpu]", "uv.lock", "sub/requirements-dev.txt", "a.lock"]
)
def test_names_of_lists(name: str) -> None:
    assert is_requirements(name)


@pytest.mark.parametrize("name", ["$SCRATCH/venv", "/opt/env", "environment.yml", "a[b]c.txt", ""])
def test_names_of_no_lists(name: str) -> None:
    assert not is_requirements(name)


_PROJECT = """
[project]
name = "mine"
dependencies = ["numpy>=1.20"]
[project.optional-dependencies]
gpu = ["torch"]
all = ["mine[gpu]", "rich"]
[dependency-groups]
base = ["tqdm"]
Dev_Tools = [{include-group = "base"}, "pytest"]
"""


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("pyproject.toml", ["numpy"]),
        ("pyproject.toml[gpu]", ["numpy", "torch"]),
        ("pyproject.toml[all]", ["numpy", "torch", "rich"]),
        ("pyproject.toml[dev-tools]", ["numpy", "tqdm", "pytest"]),
    ],
)
def test_a_project_with_an_extra_or_a_group(name: str, names: list[str]) -> None:
    assert [one.name for one in read(_PROJECT, name).lines] == names


def test_a_project_that_cannot_be_read_says_why() -> None:
    assert "no extra and no group 'cpu'" in fail(_PROJECT, "pyproject.toml[cpu]").message
    assert "dynamic" in fail('[project]\nname = "x"\ndynamic = ["dependencies"]', "pyproject.toml").message
    assert "poetry export" in (fail("[tool.poetry]\nname = 'x'", "pyproject.toml").hint or "")
    assert "is no TOML" in fail("[project", "pyproject.toml").message
    assert "is no list" in fail('[project]\ndependencies = "a"', "pyproject.toml").message


_LOCK = """
version = 1
requires-python = ">=3.9"

[[package]]
name = "mine"
version = "0.1.0"
source = { virtual = "." }
dependencies = [
    { name = "torch", extra = ["opt"] },
    { name = "old", marker = "python_full_version < '3.10'" },
    { name = "both", version = "1.0", source = { registry = "R" }, marker = "extra == 'extra-4-mine-cpu'" },
    { name = "both", version = "2.0", source = { registry = "R" }, marker = "extra != 'extra-4-mine-cpu'" },
]
[package.optional-dependencies]
cpu = [{ name = "extra-one" }]
[package.dev-dependencies]
dev = [{ name = "tester" }]

[[package]]
name = "torch"
version = "2.1.2+cu118"
source = { registry = "https://wheels.example.org/cu118" }
dependencies = [{ name = "shared", marker = "platform_system == 'Linux'" }]
wheels = [{ url = "https://x/torch.whl", hash = "sha256:aa", size = 3 }, { url = "u", hash = "sha256:bb" }]
[package.optional-dependencies]
opt = [{ name = "einsum" }]

[[package]]
name = "old"
version = "3"
source = { registry = "https://pypi.org/x" }
dependencies = [{ name = "shared" }]
wheels = [{ url = "u", hash = "sha256:cc" }]

[[package]]
name = "shared"
version = "1"
source = { registry = "https://pypi.org/x" }

[[package]]
name = "einsum"
version = "4"
source = { registry = "https://pypi.org/x" }

[[package]]
name = "both"
version = "1.0"
source = { registry = "R" }

[[package]]
name = "both"
version = "2.0"
source = { registry = "R" }

[[package]]
name = "extra-one"
version = "7"
source = { registry = "R" }

[[package]]
name = "tester"
version = "8"
source = { registry = "R" }

[[package]]
name = "unused"
version = "9"
source = { registry = "R" }
"""


def test_a_lock_of_uv_becomes_pins_with_sums_for_the_site() -> None:
    found = read(_LOCK, "uv.lock")

    pins = {python: list_for(found.lines, make_platform(python, "x86_64", "2.28")) for python in ("3.9", "3.11")}

    assert {str(one.requirement.specifier) for one in pins["3.11"] if one.name == "both"} == {"==2.0"}
    assert [one.name for one in pins["3.9"]] == ["both", "einsum", "old", "shared", "torch"]
    assert [one.name for one in pins["3.11"]] == ["both", "einsum", "shared", "torch"]
    assert [one.value for one in found.options] == ["https://wheels.example.org/cu118"]


def test_extras_and_groups_of_a_lock_that_exclude_each_other() -> None:
    found = read(_LOCK, "uv.lock[cpu,dev]")

    lines = list_for(found.lines, make_platform("3.11", "x86_64", "2.28"))

    assert [str(one.requirement.specifier) for one in lines if one.name == "both"] == ["==1.0"]
    assert {"extra-one", "tester"} <= {one.name for one in lines}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('{ editable = "packages/other" }', "a member of the workspace"),
        ('{ git = "https://me:word@example.org/other?rev=1" }', "a git repository"),
        ('{ directory = "../other" }', "a folder on this laptop"),
        ('{ url = "https://example.org/other.whl" }', "an address"),
    ],
)
def test_what_no_index_has_is_refused_in_a_lock(source: str, words: str) -> None:
    text = (
        'version = 1\n[[package]]\nname = "mine"\nversion = "1"\nsource = { virtual = "." }\n'
        'dependencies = [{ name = "other" }]\n'
        f'[[package]]\nname = "other"\nversion = "1"\nsource = {source}\n'
    )

    problem = fail(text, "uv.lock")

    assert words in problem.message
    assert "word@" not in problem.message


@pytest.mark.parametrize(
    "text",
    [
        "[project]",
        'version = 1\n[[package]]\nname = "a"\nsource = 3',
        'version = 1\n[[package]]\nname = "a"\nsource = { virtual = "." }\ndependencies = [7]',
        'version = 1\n[[package]]\nname = "a"\nsource = { virtual = "." }\noptional-dependencies = 1',
    ],
)
def test_a_lock_that_is_none(text: str) -> None:
    assert "is no lock of uv's" in fail(text, "uv.lock").message


def test_an_extra_that_a_lock_has_not() -> None:
    assert "has no extra and no group 'x'" in fail(_LOCK, "uv.lock[x]").message


_NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,8}([-_.][a-z0-9]{1,4})?", fullmatch=True)
_HASHES = st.lists(st.from_regex(r"sha256:[0-9a-f]{64}", fullmatch=True), max_size=2, unique=True)
_ASKED = st.sampled_from(["", "==1.0", ">=2,<3", "~=1.4.2", "!=1.5", "==2.*"])


@given(st.lists(st.tuples(_NAMES, _ASKED, _HASHES), min_size=1, max_size=6, unique_by=lambda one: one[0].lower()))
def test_what_is_written_for_the_site_is_read_again_as_it_was(rows: list[tuple[str, str, list[str]]]) -> None:
    text = "".join(f"{name}{asked}" + "".join(f" --hash={one}" for one in sums) + "\n" for name, asked, sums in rows)
    first = read(text)

    again = read(format_requirements(first))

    assert [(one.name, str(one), one.hashes) for one in again.lines] == [
        (one.name, str(one), one.hashes) for one in first.lines
    ]
    assert not any(one.hashes for one in read(strip_hashes(format_requirements(first))).lines)


@given(st.text(alphabet=string.printable, max_size=200))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    for name in ("requirements.txt", "pyproject.toml", "uv.lock"):
        with suppress(RequirementsInvalid):
            read_requirements(name, {name: text}.get)


_WORD = st.from_regex(r"[A-Za-z0-9._~%-]{3,20}", fullmatch=True)


@given(_WORD, _WORD)
def test_no_password_survives_in_an_address(user: str, word: str) -> None:
    hidden = hide_credentials(f"see https://{user}:{word}@example.org/a and https://example.org/?token={word}&x=1")

    assert re.sub(r"\*\*\*", "", hidden) == "see https://@example.org/a and https://example.org/?token=&x=1"


def test_a_hint_can_be_pasted_though_the_name_of_the_file_is_odd() -> None:
    with pytest.raises(RequirementsInvalid) as told:
        read_requirements("my $list.txt", lambda name: None)

    assert told.value.hint == "pip freeze > 'my $list.txt'"
