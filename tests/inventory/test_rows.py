"""Every row of the five centres' documents is covered by a test or page that exists, or says why not yet."""

import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(Path(__file__).parent.glob("*.toml"))
LAST = {"SD": 38, "CA": 60, "JS": 39, "CS": 30, "WI": 36}
MUST_BE_TESTED = {"access", "queues", "limits", "qos", "accounts", "storage", "quotas", "gpus", "cost"}
Row = dict[str, object]


@cache
def load_rows() -> dict[str, Row]:
    """By id, each once."""
    rows: dict[str, Row] = {}
    for file in FILES:
        found: dict[str, Row] = tomllib.loads(file.read_text(encoding="utf-8"))["rows"]
        assert not rows.keys() & found.keys()
        rows |= found
    return rows


def list_places(row: Row) -> list[str]:
    places = row.get("covered_by", [])
    assert isinstance(places, list)
    return places


def list_cited(prefix: str) -> list[str]:
    return sorted({one for row in load_rows().values() for one in list_places(row) if one.startswith(prefix)})


@pytest.fixture(scope="module")
def collected() -> set[str]:
    """All tests of the files that are cited, by pytest's own ids, and the functions without their parameters."""
    files = sorted({one.partition("::")[0] for one in list_cited("tests/")})
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    ids = {line for line in done.stdout.splitlines() if "::" in line}
    return ids | {one.partition("[")[0] for one in ids}


@cache
def find_anchors(page: Path) -> set[str]:
    """Of the headings, as the manual makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", one).strip().lower()) for one in headings}


def test_every_row_is_there() -> None:
    assert len(load_rows()) == 203
    assert set(load_rows()) == {f"{name}-{n:02}" for name, last in LAST.items() for n in range(1, last + 1)}


@pytest.mark.parametrize("number", load_rows())
def test_a_row_says_what_it_is_about_and_where_it_is_covered_or_why_not(number: str) -> None:
    row = load_rows()[number]

    assert row.keys() <= {"topic", "says", "covered_by", "not_yet"}
    assert row["topic"]
    assert row["says"]
    assert list_places(row) or row.get("not_yet")
    assert all(one.startswith(("tests/", "docs/")) for one in list_places(row))


@pytest.mark.parametrize("number", [number for number, row in load_rows().items() if row["topic"] in MUST_BE_TESTED])
def test_what_a_run_can_fail_by_has_a_test(number: str) -> None:
    assert [one for one in list_places(load_rows()[number]) if one.startswith("tests/")]


def test_every_topic_that_must_be_tested_has_rows() -> None:
    assert {row["topic"] for row in load_rows().values()} >= MUST_BE_TESTED


@pytest.mark.slow
def test_every_cited_test_exists(collected: set[str]) -> None:
    assert [one for one in list_cited("tests/") if one not in collected] == []


def test_every_cited_page_and_heading_exists() -> None:
    missing = []
    for one in list_cited("docs/"):
        name, _, anchor = one.partition("#")
        page = ROOT / name
        if not page.exists() or (anchor and anchor not in find_anchors(page)):
            missing.append(one)
    assert missing == []


def test_no_row_is_said_in_the_words_of_another() -> None:
    said = [row["says"] for row in load_rows().values()]

    assert len(said) == len(set(said))
