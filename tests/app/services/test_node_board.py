"""`windlass tensorboard --on-node` with the real TensorBoard: a step beside the training, reached by its line alone."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.app.services.events import TRAIN
from tests.app.services.foreground import foreground, get_page
from tests.app.services.ssh_site import NAME, far_site
from tests.app.services.test_tensorboard import (
    check_only_its_user_gets_in,
    cut,
    find_own_board,
    is_gone,
    load_losses,
    say,
    start,
)
from tests.app.services.venv import find_services
from tests.conftest import Places
from tests.waiting import wait_until
from windlass.app.session import Session
from windlass.edges.local_ports import find_free_port

SETTINGS = '[run]\nname = "board"\ncommand = "python3 train.py"\n[resources]\ntime = "5m"\ncpus = 1\nmemory = "1G"\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    (folder / "windlass.toml").write_text(f'{SETTINGS}[environment]\nvenv = "{find_services()}"\n')
    return folder


def test_it_is_beside_the_training_and_ends_with_it(
    tmp_path: Path, project: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = find_free_port()
    with far_site(tmp_path, places, monkeypatch) as (_, session):
        record = start(session, project, NAME)
        shown = f"{record.run_id}/runs/first"
        with (
            socket.create_server(("127.0.0.1", taken)),
            foreground("tensorboard", record.run_id, "--on-node", "--port", str(taken)) as command,
        ):
            address = command.wait_for_address()
            assert f"port {taken} of this machine is taken" in command.said
            wait_until(lambda: load_losses(address, shown) == [0.5], "the first row")
            check_only_its_user_gets_in(address)
            board = find_own_board(address)
            assert os.getpriority(os.PRIO_PROCESS, int(board)) == 19

            say(record, "go")
            say(record, "end")
            assert command.wait() == 0
        assert f"here: windlass tensorboard {record.run_id}" in command.said
        wait_until(lambda: is_gone(board), "it ends with the job")

        with foreground("tensorboard", record.run_id, "--on-node") as late:
            assert late.wait() == 2
        assert f"run {record.run_id} is done: no job of it is on a node" in late.said


@pytest.mark.slurm
@pytest.mark.parametrize("session", ["slurm-ssh"], indirect=True)
def test_on_a_node_of_its_own_network_behind_jump_host_and_login_node(
    session: Session, site_name: str, project: Path
) -> None:
    record = start(session, project, site_name)
    shown = f"{record.run_id}/runs/first"
    with foreground("tensorboard", record.run_id, "--on-node") as command:
        address = command.wait_for_address()
        wait_until(lambda: load_losses(address, shown) == [0.5], "the first row", timeout_s=60)
        board = find_own_board(address)
        assert find_network(board) == session.store.load(record.run_id).nodes
        check_only_its_user_gets_in(address)

        before = len(command.lines)
        cut(session, site_name)
        command.wait_for("the way to TensorBoard is open again", after=before)
        assert get_page(address)[0] == 200
        wait_until(lambda: is_gone(board), "the one before has ended", timeout_s=60)

        second = find_own_board(address)
        assert command.interrupt() == 130
    assert f"nothing of it runs on in the job of {record.run_id}, which goes on" in command.said
    wait_until(lambda: is_gone(second), "it ends with the command", timeout_s=60)
    say(record, "go")
    say(record, "end")


def find_network(pid: str) -> str:
    """The node in whose network a process is."""
    told = subprocess.run(["ip", "netns", "identify", pid], capture_output=True, text=True, check=True).stdout
    return told.strip().removeprefix("windlass-")
