"""Patterns mean what git means by them; git itself is the judge."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from windlass.core.ignore import escape, read_ignore_file, read_pattern, read_patterns

PATHS = (
    "a", "b", "ab", "a/b", "a/b/c", "b/a", "b/a/c", "c/b/a", "a.c", "b/a.c", "c/d/a.c", "abc/d", "#a", "!a", "a b",
    "a ", "*", "a*b", "d/[ab]", "x-y", "A", "b/.a",
)  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("data/**", "data/x/y.bin", True),
        ("data/**", "src/data/y.bin", False),
        ("data/", "src/data/y.bin", True),
        ("data/", "data", False),
        ("/data", "src/data", False),
        ("*.ckpt", "a/b/last.ckpt", True),
        ("a/**/z", "a/z", True),
        ("a/**/z", "a/b/c/z", True),
        ("**/z", "z", True),
        ("[!a]x", "bx", True),
        ("[!a]x", "ax", False),
        ("[[:digit:]]", "7", True),
        ("[a", "[a", False),
        ("\\#x", "#x", True),
        ("#x", "#x", False),
        ("./data", "data", True),
        ("./data/x", "data/x", True),
        ("x\\ ", "x ", True),
        ("x  ", "x", True),
    ],
)
def test_a_pattern_matches_as_in_gitignore(pattern: str, path: str, expected: bool) -> None:
    assert read_patterns([pattern]).matches(path) is expected


def test_the_last_pattern_that_matches_decides() -> None:
    patterns = read_ignore_file("*.bin\n!keep.bin\n")

    assert patterns.matches("x.bin")
    assert not patterns.matches("keep.bin")


def test_nothing_comes_back_inside_a_matched_folder() -> None:
    assert read_patterns(["data/", "!data/keep"]).matches("data/keep")


@given(st.text(st.characters(exclude_characters="/\0\n\r", exclude_categories=["Cs"]), min_size=1))
def test_an_escaped_name_matches_itself(name: str) -> None:
    pattern = read_pattern("/" + escape(name))

    assert pattern is not None
    assert pattern.matches(name, is_folder=False)
    assert not pattern.matches(name + "x", is_folder=False)


def test_names_only_what_more_than_wildcards_means() -> None:
    patterns = read_patterns(["config/**", "keys/*.pem"])

    assert not patterns.name("config/.env")
    assert patterns.name("keys/a.pem")


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ignore")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


_part = st.text(alphabet="ab*?.c[]!-\\# ^", min_size=1, max_size=4) | st.sampled_from(["**", "*", "a", "b", "a*"])
_lines = st.lists(
    st.builds(
        lambda mark, start, parts, end: mark + start + "/".join(parts) + end,
        st.sampled_from(["", "", "!"]),
        st.sampled_from(["", "", "/"]),
        st.lists(_part, min_size=1, max_size=3),
        st.sampled_from(["", "", "/"]),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_lines)
def test_agrees_with_git(repository: Path, lines: list[str]) -> None:
    """But for `./x`, which git never matches, and `?`, which for git is one byte and for us one letter."""
    assume(not any(line.lstrip("!").startswith("./") for line in lines))
    ours = read_ignore_file("\n".join(lines))

    assert {path for path in PATHS if ours.matches(path)} == _ask_git(repository, "\n".join(lines))


def _ask_git(repository: Path, ignore: str) -> set[str]:
    """None of the paths exists, so git takes each for a file."""
    (repository / ".gitignore").write_text(ignore)
    answer = subprocess.run(
        ["git", "-C", str(repository), "-c", "core.ignoreCase=false", "check-ignore", "-z", "--stdin", "--no-index"],
        input="\0".join(PATHS).encode(),
        capture_output=True,
        check=False,
    )
    return set(answer.stdout.decode().split("\0")) - {""}
