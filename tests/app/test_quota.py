"""Storage of a site: a small disk that fills up, files that will be purged, what Windlass holds, over ssh too."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.app.conftest import ENGINES
from tests.app.test_story import make_planned
from tests.builders import RECORD
from tests.edges.places import small_disk
from tests.sites.shipped import load
from windlass.app.following import wait
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.app.storage.quota import Wanted, look_at_quotas, walk_storage
from windlass.app.watching.reading_runs import RunReader
from windlass.app.watching.reading_today import load_alarms
from windlass.app.watching.watch import Watch
from windlass.core.record import RunRecord, RunState
from windlass.core.site import FileTime
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site
from windlass.errors import NotFound

ON_POCKET = pytest.mark.parametrize("session", [ENGINES[0]], indirect=True)
ON_SLURM = pytest.mark.parametrize("session", [ENGINES[2]], indirect=True)
DAY = 86_400.0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path, size_kb=4096) as folder:
        yield folder


def add_lab(disk: Path, *, purge: str = "purge_days = 60\n") -> str:
    """This machine, with its runs on that disk, which is its scratch."""
    text = f'extends = "here"\nroot = "{disk}/windlass"\n[storage.scratch]\npath = "{disk}"\n{purge}'
    add_site("lab", text, find_folders(os.environ))
    return "lab"


def put(path: Path, size: int = 4096, *, days_ago: float = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    then = time.time() - days_ago * DAY
    os.utime(path, (then, then))


@ON_POCKET
def test_a_disk_that_fills_up_shows_it(session: Session, disk: Path) -> None:
    name = add_lab(disk)
    put(disk / "half", 2 << 20)

    found = look_at_quotas(session, name)

    (scratch,) = found.areas
    assert scratch.quota is not None
    assert (scratch.quota.limit_bytes, scratch.quota.used_bytes) == (4 << 20, 2 << 20)
    assert scratch.quota.is_shared
    assert found.taken_at == pytest.approx(time.time(), abs=60)
    assert found.walk is None


@ON_POCKET
def test_what_was_asked_last_is_what_alarms_go_by(session: Session, tmp_path: Path) -> None:
    """The survey before a run may be days old; `windlass quota` and the button of a site ask anew."""
    name, told = _add_lab_with_quota(tmp_path)
    told.write_text("95")
    with closing(Watch(session)) as watch:
        record = replace(RECORD, site=name, state=RunState.WAITING)
        assert _list_alarms(watch, record) == []

        look_at_quotas(session, name)
        assert [one.partition(" (")[0] for one in _list_alarms(watch, record)] == [
            "scratch at lab is nearly full: 97.3 GB of 102 GB"
        ]

        session.facts(session.site(name))
        told.write_text("10")
        look_at_quotas(session, name)
        assert _list_alarms(watch, record) == []


@ON_POCKET
def test_a_survey_that_is_newer_counts(session: Session, tmp_path: Path) -> None:
    name, told = _add_lab_with_quota(tmp_path)
    told.write_text("95")
    look_at_quotas(session, name)
    told.write_text("10")
    session.facts(session.site(name))

    with closing(Watch(session)) as watch:
        assert _list_alarms(watch, replace(RECORD, site=name, state=RunState.WAITING)) == []


def _add_lab_with_quota(folder: Path) -> tuple[str, Path]:
    """Its scratch has a quota of 100 million kB, of which so many million are used as that file says."""
    told, program = folder / "told", folder / "myquota"
    program.write_text(
        "#!/bin/sh\necho 'Disk quotas for user alice (uid 1001):'\n"
        "echo '     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace'\n"
        f'echo "     /scratch  $(cat {told})000000K 0K 100000000K - 120 9000 10000 -"\n'
    )
    program.chmod(0o755)
    area = f'[storage.scratch]\npath = "{folder}"\nquota_command = "{program}"\n'
    add_site("lab", f'extends = "here"\nroot = "{folder}/windlass"\n{area}', find_folders(os.environ))
    return "lab", told


def _list_alarms(watch: Watch, record: RunRecord) -> list[str]:
    return [one.message for one in load_alarms(watch, RunReader(watch), [record]) if one.kind == "quota"]


@ON_POCKET
def test_files_that_will_be_purged_are_found_by_the_rule_of_the_alliance(session: Session, disk: Path) -> None:
    scratch = next(one for one in load("narval").storage if one.name == "scratch")
    assert (scratch.purge_days, scratch.purge_by) == (60, (FileTime.ATIME, FileTime.CTIME))
    # No test can set a ctime, so the rule is tried with the time that can be.
    name = add_lab(disk, purge='purge_days = 60\npurge_by = ["atime", "mtime"]\n')
    put(disk / "old" / "a", days_ago=61)
    put(disk / "old" / "b", days_ago=50)
    put(disk / "old" / "c", days_ago=40)

    soon = walk_storage(session, name, Wanted(within=timedelta(days=14), only_purged=True)).place("scratch")
    later = walk_storage(session, name, Wanted(within=timedelta(days=30), only_purged=True)).place("scratch")

    assert soon is not None
    assert later is not None
    assert [Path(one.path).name for one in soon.soonest] == ["a", "b"]
    assert [(one.path, one.doomed_files) for one in soon.doomed] == [("old", 2)]
    assert later.whole.doomed_files == 3


@ON_POCKET
def test_what_windlass_holds_is_told_with_what_removes_it(session: Session, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    name = add_lab(tmp_path / "scratch")
    project = tmp_path / "project"
    project.mkdir()
    (project / "windlass.toml").write_text('[run]\nname = "one"\ncommand = "true"\n[resources]\ntime = "1m"\n')
    record = wait(session, start_run(session, make_planned(session, project, name)))

    walk_storage(session, name, Wanted())

    held = look_at_quotas(session, name).holdings
    run = next(one for one in held if one.kind == "runs")
    assert (run.name, run.remove) == (record.run_id, f"windlass rm {record.run_id}")
    assert run.bytes > 100_000
    assert {one.kind for one in held} >= {"runs", "blobs", "tools"}


@ON_POCKET
def test_a_walk_that_is_cut_short_goes_on_and_tells_what_it_has_not_seen(session: Session, disk: Path) -> None:
    name = add_lab(disk)
    for number in range(40):
        put(disk / f"d{number}" / "file", 1)

    # No time at all: each round sees one folder of each place at least.
    rounds = [walk_storage(session, name, Wanted(limit_s=1e-6)) for _ in range(3)]
    cut = rounds[0].place("scratch")

    assert cut is not None
    assert not rounds[0].is_whole
    assert rounds[2].went_on
    assert len(rounds) == 3


@ON_POCKET
def test_an_area_that_is_not_there_is_refused_with_those_there_are(session: Session, disk: Path) -> None:
    with pytest.raises(NotFound, match="no area 'nosuch'") as refused:
        walk_storage(session, add_lab(disk), Wanted(area="nosuch"))

    assert refused.value.hint == "there are: scratch"


@ON_SLURM
def test_over_ssh_the_walk_is_work_of_the_login_nodes(session: Session, site_name: str) -> None:
    root = Path(session.site(site_name).root)
    home = root / "scratch of alice"
    put(home / "raw" / "old", days_ago=58)
    put(home / "raw" / "new")
    put(home / "somebody" / "else", days_ago=90)
    subprocess.run(["chown", "-R", "alice:", root], check=True)
    subprocess.run(["chown", "-R", "root:", home / "somebody"], check=True)
    text = f'root = "{root}"\n[login]\nhost = "login"\n[storage.scratch]\npath = "{home}"\npurge_days = 60\n'
    add_site("slurm-walk", text, find_folders(os.environ))

    found = walk_storage(session, "slurm-walk", Wanted()).place("scratch")

    assert found is not None
    assert [Path(one.path).name for one in found.soonest] == ["old"]
    assert (found.whole.files, found.others) == (2, 1)
