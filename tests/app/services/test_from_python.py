"""`windlass.services`: TensorBoard, notebooks and tunnels that stay open while a program goes on."""

import os
from pathlib import Path
from urllib.error import URLError

import pytest

import windlass
from tests.app.services.events import TRAIN
from tests.app.services.foreground import get_page
from tests.app.services.test_notebooks import make_notebook, read_outputs
from tests.app.services.test_tensorboard import find_own_board, is_gone, list_shown
from tests.app.services.test_tunnels import start as start_web
from tests.app.services.venv import find_services
from tests.app.test_story import wait_for_words
from tests.job.small_lab import make_small_lab
from tests.waiting import wait_until
from windlass.app.cancelling import cancel_runs
from windlass.app.session import Session
from windlass.edges.local_ports import find_free_port
from windlass.errors import JobFailed, NotFound, ServiceFailed
from windlass.services import OpenState

pytestmark = pytest.mark.parametrize("session", ["here"], indirect=True)


def make_project(folder: Path, train: str = TRAIN) -> Path:
    folder.mkdir()
    (folder / "train.py").write_text(train)
    (folder / "windlass.toml").write_text(
        '[run]\nname = "board"\ncommand = "python3 train.py"\n[resources]\ntime = "5m"\ncpus = 1\nmemory = "200M"\n'
    )
    return folder


def test_a_tensorboard_is_open_until_it_is_closed(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{find_services()}/bin:{os.environ['PATH']}")
    record = windlass.run(make_project(tmp_path / "project"), on="here", session=session)
    wait_for_words(session, record, b"first")

    with windlass.services.tensorboard(record, session=session) as board:
        address = board.wait_for_address()
        wait_until(lambda: list_shown(address) == [f"{record.run_id}/runs/first"], "the run")
        process = find_own_board(address)

    assert board.state is OpenState.ENDED
    assert is_gone(process)
    with windlass.services.tensorboard("nobody", session=session) as unknown, pytest.raises(NotFound, match="nobody"):
        unknown.wait_for_address()
    assert unknown.state is OpenState.FAILED


def test_a_notebook_is_started_opened_and_left(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(make_small_lab(tmp_path)))
    record = windlass.services.jupyter(make_project(tmp_path / "project"), on="here", time="10m", session=session)

    with windlass.services.jupyter_open(record, session=session) as lab:
        address = lab.wait_for_address()
        assert get_page(address)[0] == 200
    assert get_page(address)[0] == 200  # on this machine the port is the notebook's own, and its job goes on

    with windlass.services.jupyter_open(record.run_id, session=session) as lab:
        lab.wait_for_address()
        cancel_runs(session, [record])
        wait_until(lambda: lab.is_over, "it ends with its run")
    assert lab.words[-1] == f"run {record.run_id} is cancelled"
    with (
        windlass.services.jupyter_open(record, session=session) as late,
        pytest.raises(ServiceFailed, match=r"it has ended: run .* is cancelled"),
    ):
        late.wait_for_address()


def test_a_tunnel_is_open_until_it_is_closed(session: Session, tmp_path: Path) -> None:
    there, here = find_free_port(), find_free_port()
    record = start_web(session, tmp_path / "project", "here", f"127.0.0.1:{there}")

    with windlass.services.tunnel(record, there, local=here, session=session) as tunnel:
        assert tunnel.wait_for_address() == f"http://127.0.0.1:{here}/"
        assert get_page(tunnel.address)[1] == b"hello from the node"

    with pytest.raises((URLError, OSError)):
        get_page(tunnel.address, timeout_s=2)
    cancel_runs(session, [record])


def test_a_notebook_is_executed_and_comes_home_and_its_failing_cell_is_raised(session: Session, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    environment = f'[environment]\nvenv = "{find_services()}"\n'
    (project / "windlass.toml").write_text(f'[resources]\ntime = "5m"\ncpus = 1\nmemory = "1G"\n{environment}')
    good, bad = project / "good.ipynb", project / "bad.ipynb"
    make_notebook(good, "print(6 * 7)")
    make_notebook(bad, "1 / 0")

    home = windlass.services.notebook_run(good, project=project, on="here", session=session)

    assert read_outputs(home) == ["42\n"]
    with pytest.raises(JobFailed, match="cell 2 failed: ZeroDivisionError"):
        windlass.services.notebook_run(bad, project=project, on="here", session=session)
