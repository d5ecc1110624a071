"""What is damaged, on the laptop or at the site, is mended by the next command or told in a sentence."""

from pathlib import Path

import pytest

from tests.conftest import Places
from windlass.app.following import wait
from windlass.app.planning import Wanted, plan_run
from windlass.app.refreshing import rebuild, refresh
from windlass.app.removing import forget_run
from windlass.app.resuming import resume_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState
from windlass.edges.folders import find_folders
from windlass.errors import DiskFull, NotFound, StoreError

pytestmark = pytest.mark.parametrize("session", ["here"], indirect=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.sh").write_text('echo "${#KEY} ${#TOK}"; exit "${1:-0}"\n')
    (folder / "more.txt").write_text("more\n")
    (folder / "windlass.toml").write_text(
        '[run]\nname = "mend"\ncommand = "bash train.sh"\n[resources]\ntime = "10m"\ncpus = 1\nmemory = "100M"\n'
    )
    return folder


def start(session: Session, project: Path) -> RunRecord:
    return start_run(session, plan_run(session, Wanted(project=project, site="here")))


def spoil(session: Session, run_id: str) -> None:
    session.store._write("UPDATE runs SET record = '[1]' WHERE run_id = ?", [(run_id,)])


def test_a_row_that_cannot_be_read_is_made_again_from_the_site(session: Session, project: Path) -> None:
    record = wait(session, start(session, project))
    spoil(session, record.run_id)
    with pytest.raises(StoreError):
        session.store.load(record.run_id)

    rebuild(session, "here")
    refresh(session, session.store.live_runs())

    again = session.store.load(record.run_id)
    assert (again.state, again.job_id) == (RunState.DONE, record.job_id)


def test_a_row_that_nobody_can_read_is_forgotten(session: Session, project: Path) -> None:
    record = wait(session, start(session, project))
    kept = wait(session, start(session, project))
    spoil(session, record.run_id)
    Path(record.folder).rename(project / "away")

    rebuild(session, "here")

    assert [one.run_id for one in session.store.list()] == [kept.run_id]
    with pytest.raises(NotFound):
        session.store.find_id(record.run_id)


def test_a_row_that_cannot_be_read_is_forgotten_by_its_id(session: Session, project: Path) -> None:
    record = wait(session, start(session, project))
    spoil(session, record.run_id)

    assert forget_run(session, "last") == record.run_id

    assert session.store.list() == ()
    assert Path(record.folder).is_dir()


def test_contents_that_were_damaged_at_the_site_are_sent_again(session: Session, project: Path) -> None:
    first = wait(session, start(session, project))
    damage_blobs(first)

    second = wait(session, start(session, project))

    assert second.state is RunState.DONE
    assert (Path(second.folder) / "code" / "more.txt").read_text() == "more\n"
    assert len(session.store.list()) == 2


def test_so_are_those_that_a_resume_brings(session: Session, project: Path) -> None:
    (project / "train.sh").write_text("exit 3\n")
    record = wait(session, start(session, project))
    (project / "train.sh").write_text("exit 0\n")
    damage_blobs(record)
    (Path(record.folder) / "code" / "more.txt").write_text("changed by the run")

    again = wait(session, resume_run(session, record, update_code=True))

    assert again.state is RunState.DONE
    assert (Path(record.folder) / "code" / "more.txt").read_text() == "more\n"


def test_no_secret_is_left_beside_the_run(
    session: Session, project: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "hunter2-is-the-key"
    monkeypatch.setenv("TOK", secret)
    with (project / "windlass.toml").open("a") as file:
        file.write('[run.secrets]\nKEY = "env:TOK"\n')

    record = wait(session, start(session, project))

    assert f"{len(secret)} " in (Path(record.folder) / "logs" / "1.out").read_text()
    state = find_folders(session.environ).state
    for root in (places.pocket, state):
        found = [path for path in root.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
        assert [path.name for path in found if path.is_relative_to(record.folder)] in ([], ["secrets.env"])
        assert [path for path in found if not path.is_relative_to(record.folder)] == []


@pytest.mark.parametrize(("folder", "error"), [("/dev/null", StoreError), ("/dev/null/x", StoreError)])
def test_a_folder_that_pocket_cannot_use_is_told(session: Session, folder: str, error: type[StoreError]) -> None:
    unable = Session(folders=session.folders, environ={**session.environ, "WINDLASS_POCKET_DIR": folder})

    with pytest.raises(error, match="could not be written"):
        unable.site("here")


def test_a_full_disk_below_pocket_is_told(session: Session, tmp_path: Path) -> None:
    from tests.edges.places import fill, small_disk

    with small_disk(tmp_path, size_kb=64) as disk:
        fill(disk)
        unable = Session(folders=session.folders, environ={**session.environ, "WINDLASS_POCKET_DIR": f"{disk}/p"})

        with pytest.raises(DiskFull):
            unable.site("here")


def damage_blobs(record: RunRecord) -> None:
    for blob in (Path(record.root) / "blobs").glob("*/*"):
        blob.write_bytes(b"damaged")
