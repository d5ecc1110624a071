"""Packages that no index has by a name and a version: addresses, folders of wheels; and the sums of a lock."""

import pytest

from windlass.core.wheels.requirements import Requirements, format_requirements, place_links, read_requirements
from windlass.errors import RequirementsInvalid

_SUMS = """
version = 1
[[package]]
name = "mine"
source = { virtual = "." }
dependencies = [{ name = "hydra-core" }, { name = "antlr4" }]
[[package]]
name = "hydra-core"
version = "1.3.2"
sdist = { url = "u", hash = "sha256:aa" }
wheels = [{ url = "u", hash = "sha256:bb" }]
[[package]]
name = "antlr4"
version = "4.9.3"
"""


_COMMIT = "a" * 40


def admit(text: str, name: str = "requirements.txt") -> Requirements:
    return read_requirements(name, {name: text}.get, with_addresses=True)


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("mine[x] @ git+https://example.org/mine@v1", "mine[x]@ git+https://example.org/mine@v1"),
        ("git+https://example.org/mine.git@v1#egg=mine", "mine@ git+https://example.org/mine.git@v1#egg=mine"),
        ("git+ssh://git@example.org/a/mine@v1#egg=mine", "mine@ git+ssh://git@example.org/a/mine@v1#egg=mine"),
        ("https://example.org/my_net-2.1-py3-none-any.whl", "my_net@ https://example.org/my_net-2.1-py3-none-any.whl"),
    ],
)
def test_addresses_go_along_where_the_login_node_fetches(line: str, written: str) -> None:
    found = admit(f"a\n{line}\n")

    assert format_requirements(found).splitlines()[1].replace(" @ ", "@ ") == written
    assert bool(found.told) is not line.endswith(".whl")


def test_what_is_pinned_by_its_commit_is_not_told() -> None:
    assert admit(f"mine @ git+https://example.org/mine@{_COMMIT}").told == ()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mine @ git+https://me:s3cret@example.org/mine", "whose password would be copied to the site"),
        ("mine @ file:///home/me/mine", "is a project on this laptop"),
        ("https://example.org/mine.zip", "is no requirement"),
    ],
)
def test_addresses_that_do_not_go_along(line: str, words: str) -> None:
    with pytest.raises(RequirementsInvalid) as caught:
        admit(line)

    assert words in caught.value.message
    assert "s3cret" not in f"{caught.value.message} {caught.value.hint}"


def test_addresses_of_a_lock_keep_their_commit_and_take_the_sums_away() -> None:
    git = f"https://example.org/antlr4?subdirectory=py&rev=v1#{_COMMIT}"

    found = admit(_SUMS + f'source = {{ git = "{git}" }}\n', "uv.lock")

    assert format_requirements(found).replace(" @ ", "@ ") == (
        f"antlr4@ git+https://example.org/antlr4@{_COMMIT}#subdirectory=py\nhydra-core==1.3.2\n"
    )
    assert "no sums of antlr4" in found.told[0]


def test_a_folder_of_wheels_is_found_beside_the_file_that_names_it() -> None:
    files = {"requirements.txt": "-r sub/more.txt\n-f /there\n", "sub/more.txt": "-f ../wheels\n-f ./own\na"}
    found = read_requirements("requirements.txt", files.get)

    assert [one.value for one in found.options] == ["wheels", "sub/own", "/there"]
    assert [one.value for one in place_links(found, "/me").options] == ["/me/wheels", "/me/sub/own", "/there"]


def test_sums_of_a_lock_are_those_of_wheels_and_of_sources() -> None:
    found = admit(_SUMS + 'sdist = { url = "u", hash = "sha256:cc" }\n', "uv.lock")

    assert {one.name: one.hashes for one in found.lines} == {
        "hydra-core": ("sha256:aa", "sha256:bb"),
        "antlr4": ("sha256:cc",),
    }
    assert found.told == ()


def test_where_a_package_of_a_lock_has_no_sum_pip_gets_none() -> None:
    found = admit(_SUMS, "uv.lock")

    assert not any(one.hashes for one in found.lines)
    assert found.told == ("uv.lock:13: the lock has no sums of antlr4, so that none are compared; its versions are",)
