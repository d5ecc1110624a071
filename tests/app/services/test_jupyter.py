"""`windlass jupyter`, from the wish to the page in the browser, and back to it."""

import json
import re
import socket
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.app.services.foreground import Foreground, foreground, get_page
from tests.app.services.venv import find_services
from tests.job.small_lab import make_small_lab
from tests.waiting import wait_until
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState
from windlass.edges.local_ports import find_free_port
from windlass.edges.ssh_host import SshHost
from windlass_job import wire

SETTINGS = """
[run]
name = "training"
command = "python3 train.py"
[resources]
time = "3d"
nodes = 2
[checkpoint]
folder = "checkpoints"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "windlass.toml").write_text(SETTINGS)
    (folder / "first.ipynb").write_text(json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return folder


def read_token(command: Foreground) -> str:
    return command.wait_for_address().partition("token=")[2]


def load_run(session: Session) -> RunRecord:
    [record] = session.store.list()
    return record


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_it_is_a_run_that_one_leaves_comes_back_to_and_stops(session: Session, project: Path, tmp_path: Path) -> None:
    lab = {"PYTHONPATH": str(make_small_lab(tmp_path))}
    with foreground("jupyter", "--on", "here", "--time", "10m", cwd=project, env=lab) as first:
        address = first.wait_for_address()
        assert get_page(address)[0] == 200
        assert first.interrupt() == 130
    record = load_run(session)
    assert f"run {record.run_id} goes on until" in first.said
    assert f"stop it: windlass cancel {record.run_id}" in first.said
    assert "it ends by itself when no cell has run for 30 min" in first.said
    assert (record.name, record.links, record.link_s) == ("jupyter", 1, 600)
    assert "**/*.ipynb" in record.results

    token = Path(record.folder, wire.SERVICE, wire.SERVICE_TOKEN)
    with foreground("--json", "jupyter", record.run_id) as again:
        again.wait_for('"address"')
        assert token.read_text() == re.findall(r"token=(\w+)", again.said)[0]
    assert "goes on until" in again.said

    token.write_text("another")
    with foreground("jupyter", record.run_id) as refused:
        assert refused.wait() == 1
    assert "refuses its token (403)" in refused.said

    token.write_text(address.partition("token=")[2])
    with foreground("jupyter", record.run_id) as last:
        last.wait_for_address()
        with foreground("cancel", record.run_id) as cancel:
            assert cancel.wait() == 0
        assert last.wait() == 7
    assert f"{record.run_id} is cancelled" in last.said


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_where_it_is_missing_nothing_is_submitted(session: Session, project: Path) -> None:
    with foreground("jupyter", "--on", "here", cwd=project) as command:
        assert command.wait() == 3

    assert "E922" in command.said
    assert "jupyterlab is not in the environment of this run at here" in command.said
    assert "python3 -m pip install jupyterlab" in command.said
    assert session.store.list() == ()


@pytest.mark.slurm
@pytest.mark.parametrize("session", ["slurm-ssh"], indirect=True)
def test_the_real_one_on_a_node_of_its_own_network(session: Session, site_name: str, project: Path) -> None:
    (project / "windlass.toml").write_text(f'{SETTINGS}[environment]\nvenv = "{find_services()}"\n')
    host = session.host(session.site(site_name))
    assert isinstance(host, SshHost)
    taken = find_free_port()
    size = ("--gpus", "1", "--time", "10m", "--memory", "1G", "--idle", "12s", "--port", str(taken))
    with (
        socket.create_server(("127.0.0.1", taken)),
        foreground("jupyter", "--on", site_name, *size, cwd=project) as lab,
    ):
        address, token = lab.wait_for_address(), read_token(lab)
        assert f"port {taken} of this machine is taken" in lab.said
        assert f":{taken}/" not in address
        status, page = get_page(address)
        assert (status, b"JupyterLab" in page) == (200, True)
        assert get_page(address.replace(token, "wrong"))[1].count(b"Password or token") > 0

        base = address.partition("/lab")[0]
        kernel = ask(f"{base}/api/kernels", token, b"{}")
        assert [one["id"] for one in ask(f"{base}/api/kernels", token)] == [kernel["id"]]
        record = load_run(session)
        assert find_node(kernel["id"]) == record.nodes
        check_another_token_is_told(record)

        before = len(lab.lines)
        subprocess.run(["pkill", "-9", "-f", f"ControlPath={host.master.path}.*-N"], check=True)
        lab.wait_for("the tunnel is open again", after=before)
        assert ask(f"{base}/api/status", token)["kernels"] == 1

        lab.wait_for("unless one runs")
        assert lab.wait() == 0
    assert "nobody has used this notebook for 12 s: it is ended" in lab.said
    record = session.store.load(record.run_id)
    assert record.state is RunState.DONE
    kept = subprocess.run(["grep", "-rl", token, record.folder], capture_output=True, text=True, check=False).stdout
    assert kept == ""


def check_another_token_is_told(record: RunRecord) -> None:
    """Its file says another word than the notebook knows, as after a restart by hand."""
    file = Path(record.folder, wire.SERVICE, wire.SERVICE_TOKEN)
    good = file.read_text()
    file.write_text("another")
    with foreground("jupyter", record.run_id) as refused:
        assert refused.wait() == 1
    assert "refuses its token (403)" in refused.said
    assert f"windlass cancel {record.run_id}" in refused.said
    file.write_text(good)


def ask(address: str, token: str, content: bytes | None = None) -> Any:
    asked = urllib.request.Request(address, data=content, headers={"Authorization": f"token {token}"})
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return json.load(answer)


def find_node(kernel: str) -> str:
    """In whose network the process of a kernel is."""
    wait_until(lambda: bool(_find(kernel)), "the kernel's process")
    pid = _find(kernel)[0]
    told = subprocess.run(["ip", "netns", "identify", pid], capture_output=True, text=True, check=True).stdout
    return told.strip().removeprefix("windlass-")


def _find(kernel: str) -> list[str]:
    return subprocess.run(["pgrep", "-f", kernel], capture_output=True, text=True, check=False).stdout.split()
