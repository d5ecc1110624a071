"""Sendings that go on without a terminal: looked at, stopped, never two of one."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.app.transfers import make_files, open_site, read_set
from tests.conftest import Places
from tests.waiting import wait_until
from windlass.app.data.background_sends import find_send, list_sends, start, stop
from windlass.app.data.sending import SendOptions
from windlass.core.site import Site
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site, load_site
from windlass.errors import NotFound, TransferBusy, WindlassError
from windlass_job.shards.card import load_card


@pytest.fixture
def site(tmp_path: Path, places: Places) -> Site:
    """One that the process in the background finds by its name."""
    add_site("mine", f'root = "{tmp_path}/root"\n', find_folders(os.environ))
    return load_site("mine", find_folders(os.environ))


def test_it_goes_on_by_itself_and_says_when_it_is_done(site: Site, tmp_path: Path) -> None:
    made = make_files(tmp_path / "source")

    with open_site(site) as session:
        job = start(session, site, tmp_path / "source", "pets", SendOptions())
        wait_until(lambda: find_send(session, job.id).state != "running", "the sending")
        ended = find_send(session, job.id)

    assert (ended.state, ended.done_bytes) == ("done", ended.total_bytes)
    assert read_set(tmp_path / "root/data/pets") == made
    assert ended.log is not None
    assert "60 files" in ended.log.read_text()


def test_labels_are_found_from_its_folder_too(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_files(tmp_path / "source", count=4, size=100)
    monkeypatch.chdir(tmp_path)
    Path("labels.csv").write_text("path,label\ncats/0001.jpg,tom\ndogs/0000.jpg,rex\n")

    with open_site(site) as session:
        job = start(session, site, Path("source"), "pets", SendOptions(labels="labels.csv"))
        wait_until(lambda: find_send(session, job.id).state != "running", "the sending")
        ended = find_send(session, job.id)

    assert (ended.state, ended.message) == ("done", f"4 files at {tmp_path / 'root'}/data/pets")
    assert load_card(os.fsencode(tmp_path / "root/data/pets")).classes == ("rex", "tom")


def test_one_of_a_kind_at_a_time_and_it_can_be_stopped(site: Site, tmp_path: Path) -> None:
    _make_endless(tmp_path / "source")

    with open_site(site) as session:
        job = start(session, site, tmp_path / "source", "pets", SendOptions())
        with pytest.raises(TransferBusy, match="already"):
            start(session, site, tmp_path / "source", "pets", SendOptions())
        ended = stop(session, job.id)

        assert ended.state == "stopped"
        assert [one.id for one in list_sends(session)] == [job.id]


def test_it_outlives_its_terminal(site: Site, tmp_path: Path) -> None:
    _make_endless(tmp_path / "source")
    terminal, inside = os.openpty()
    line = f"{shlex.quote(sys.executable)} -m windlass data send source --name pets --on mine --background; sleep 600"
    shell = subprocess.Popen(
        ["setsid", "--ctty", "sh", "-c", line], stdin=inside, stdout=inside, stderr=inside, cwd=tmp_path
    )
    os.close(inside)

    with open_site(site) as session:
        wait_until(lambda: [one.state for one in list_sends(session)] == ["running"], "the sending")
        os.close(terminal)
        shell.wait(60)  # the terminal is gone, and takes the shell with it
        job = list_sends(session)[0]
        was = job.done_bytes
        wait_until(lambda: find_send(session, job.id).done_bytes > was, "more bytes")

        assert stop(session, job.id).state == "stopped"


def test_one_that_was_killed_is_known_as_such(site: Site, tmp_path: Path) -> None:
    _make_endless(tmp_path / "source")

    with open_site(site) as session:
        job = start(session, site, tmp_path / "source", "pets", SendOptions())
        os.kill(job.pid, signal.SIGKILL)
        wait_until(lambda: find_send(session, job.id).state != "running", "the end")

        assert find_send(session, job.id).state == "failed"
        assert "is gone" in find_send(session, job.id).message


def test_one_whose_process_is_not_known_is_not_stopped_and_nobody_else_is(site: Site, tmp_path: Path) -> None:
    """Signal 15 to process 0 would end this very test."""
    _make_endless(tmp_path / "source")

    with open_site(site) as session:
        job = start(session, site, tmp_path / "source", "pets", SendOptions())
        assert job.log is not None
        wait_until(lambda: find_send(session, job.id).done_bytes > 0, "bytes")  # it is done with the store by then
        os.kill(job.pid, signal.SIGSTOP)  # so that it does not say it again
        (job.log.parent / "progress.json").write_text("{")
        try:
            with pytest.raises(WindlassError, match="as which process"):
                stop(session, job.id)
        finally:
            os.kill(job.pid, signal.SIGKILL)


def test_one_that_ignores_the_request_is_killed_and_said_to_be(site: Site, tmp_path: Path) -> None:
    _make_endless(tmp_path / "source")

    with open_site(site) as session:
        job = start(session, site, tmp_path / "source", "pets", SendOptions())
        wait_until(lambda: find_send(session, job.id).done_bytes > 0, "bytes")  # it is done with the store by then
        os.kill(job.pid, signal.SIGSTOP)
        ended = stop(session, job.id, patience_s=1)

    assert ended.state == "stopped"
    assert "was killed" in ended.message


def test_one_that_fails_says_why(site: Site, tmp_path: Path) -> None:
    with open_site(site) as session:
        job = start(session, site, tmp_path / "nothing", "pets", SendOptions())
        wait_until(lambda: find_send(session, job.id).state != "running", "the end")

        assert find_send(session, job.id).state == "failed"
        assert "there is no" in find_send(session, job.id).message
        with pytest.raises(NotFound):
            find_send(session, "../../etc")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a small file system")
def test_one_whose_own_notes_find_no_space_goes_on_to_its_end(site: Site, places: Places, tmp_path: Path) -> None:
    _make_endless(tmp_path / "source", files=2)
    with _mount_small(places.state), open_site(site) as session:
        job = start(session, site, tmp_path / "source", "pets", SendOptions())
        wait_until(lambda: find_send(session, job.id).done_bytes > 0, "bytes")
        os.kill(job.pid, signal.SIGSTOP)
        _fill(places.state / "rest")
        os.kill(job.pid, signal.SIGCONT)
        wait_until(lambda: find_send(session, job.id).state != "running", "the end")
        ended = find_send(session, job.id)

    assert (ended.state, ended.message) == ("done", f"2 files at {tmp_path / 'root'}/data/pets")
    assert ended.done_bytes == ended.total_bytes


@contextmanager
def _mount_small(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", folder], check=False).returncode:
        pytest.skip("this machine cannot mount a small file system")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)  # its process may not be gone yet


def _fill(path: Path) -> None:
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def _make_endless(source: Path, files: int = 8) -> None:
    """Gigabytes of holes: they take a while to send, and no room here."""
    source.mkdir()
    for number in range(files):
        with (source / f"{number}.bin").open("wb") as file:
            file.truncate(1 << 29)
