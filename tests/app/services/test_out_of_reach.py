"""A laptop that is offline for longer than ssh tries: what is open goes on by itself when the site is back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.services.foreground import foreground, get_page
from tests.app.services.ssh_site import NAME, FarSite, far_site
from tests.conftest import Places
from tests.job.small_lab import make_small_lab
from tests.waiting import wait_until
from windlass.app.services.attending import find_attended
from windlass.app.session import Session


@pytest.fixture
def far(tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[FarSite, Session]]:
    with far_site(tmp_path, places, monkeypatch) as opened:
        yield opened


def make_project(tmp_path: Path, variables: str = "") -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    lab = make_small_lab(tmp_path)
    (folder / "windlass.toml").write_text(
        f'[run]\ncommand = "true"\n[environment]\nactivate = "export PYTHONPATH={lab} {variables}"\n'
        '[resources]\ncpus = 1\nmemory = "300M"\n'
    )
    return folder


def test_a_notebook_is_reached_again_after_a_time_offline(far: tuple[FarSite, Session], tmp_path: Path) -> None:
    site, session = far
    with foreground("jupyter", "--on", NAME, "--time", "10m", cwd=make_project(tmp_path)) as lab:
        address = lab.wait_for_address()
        before = len(lab.lines)
        site.cut_off(session)
        lab.wait_for("far is out of reach; trying again", after=before)  # told when ssh's own tries are over
        assert lab.process.poll() is None
        after = len(lab.lines)
        site.come_back()
        lab.wait_for("the tunnel is open again", after=after)
        assert get_page(address)[0] == 200
        assert lab.interrupt() == 130
    assert lab.said.count("far is out of reach") == 1


def test_one_that_is_still_starting_is_waited_for(far: tuple[FarSite, Session], tmp_path: Path) -> None:
    site, session = far
    project = make_project(tmp_path, "SMALL_LAB_HANGS='from the start'")
    with foreground("jupyter", "--on", NAME, "--time", "10m", cwd=project) as lab:
        lab.wait_for("running on")
        [record] = session.store.list()
        wait_until(lambda: find_attended(session, record) is not None, "it waits for its page")
        before = len(lab.lines)
        site.cut_off(session)
        lab.wait_for("far is out of reach; trying again", after=before)
        site.come_back()
        assert lab.interrupt() == 130
    assert f"windlass jupyter {record.run_id}" in lab.said
