"""Results that were changed here are not lost when they are fetched again."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from windlass.app.fetching import fetch_run
from windlass.app.following import wait
from windlass.app.planning import Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.app.syncing import sync_run
from windlass.core.record import RunRecord

pytestmark = pytest.mark.parametrize("session", ["here"], indirect=True)

TOML = """
[run]
name = "edit"
command = "mkdir out; cd out; echo 1 > r.txt; echo 2 > s.txt; ln -s r.txt newest; echo 3 > events.out.tfevents.1"
results = ["out/**"]
"""
Write = Callable[[str, str], None]


@pytest.fixture
def record(session: Session, tmp_path: Path) -> RunRecord:
    project = tmp_path / "project"
    project.mkdir()
    (project / "windlass.toml").write_text(TOML)
    return wait(session, start_run(session, plan_run(session, Wanted(project=project, site="here"))))


@pytest.fixture
def there(record: RunRecord) -> Path:
    """The results where the run wrote them."""
    return Path(record.folder) / "code" / "out"


@pytest.fixture
def told(session: Session) -> list[str]:
    told: list[str] = []
    session.tell = told.append
    return told


def test_what_was_changed_here_is_kept_and_told(session: Session, record: RunRecord, told: list[str]) -> None:
    out = fetch_run(session, record).folder / "out"
    (out / "r.txt").write_text("mine\n")

    fetched = fetch_run(session, record)

    assert (out / "r.txt").read_text() == "1\n"
    assert (out / "r.txt.mine").read_text() == "mine\n"
    assert fetched.kept == ("out/r.txt.mine",)
    assert [one for one in told if "changed here" in one and "r.txt.mine" in one]
    (out / "r.txt").write_text("again\n")
    assert fetch_run(session, record).kept == ("out/r.txt.mine-2",)
    assert (out / "r.txt.mine").read_text() == "mine\n"
    assert fetch_run(session, record).kept == ()


def test_what_came_from_there_becomes_the_newer_one(session: Session, record: RunRecord, there: Path) -> None:
    out = fetch_run(session, record).folder / "out"
    (there / "r.txt").write_text("newer\n")
    os.utime(out / "s.txt")  # touched, and the same

    fetched = fetch_run(session, record)

    assert (out / "r.txt").read_text() == "newer\n"
    assert fetched.kept == ()
    assert not list(out.glob("*.mine"))


def test_a_link_that_became_a_file_is_kept(session: Session, record: RunRecord, there: Path) -> None:
    out = fetch_run(session, record).folder / "out"
    (out / "newest").unlink()
    (out / "newest").write_text("mine\n")

    assert fetch_run(session, record).kept == ("out/newest.mine",)
    assert (out / "newest").readlink() == Path("r.txt")

    (there / "newest").unlink()
    (there / "newest").symlink_to("s.txt")
    assert fetch_run(session, record).kept == ()
    assert (out / "newest").readlink() == Path("s.txt")


def test_what_was_synced_before_it_grew_is_no_change_of_the_user(
    session: Session, record: RunRecord, there: Path
) -> None:
    sync_run(session, record)
    with open(there / "events.out.tfevents.1", "a") as file:
        file.write("more\n")

    assert fetch_run(session, record).kept == ()
