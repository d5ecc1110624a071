"""A submission that breaks in the middle, seen by the command itself: it finds out, and says what is true."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import Places
from tests.job.deputy_requests import make_run, make_submit
from windlass.app.cancelling import cancel_runs
from windlass.app.following import wait
from windlass.app.planning import Wanted, plan_run
from windlass.app.refreshing import refresh
from windlass.app.resuming import resume_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.core.exactly_once import Outcome
from windlass.core.record import RunState
from windlass.edges.cluster import Cluster
from windlass.edges.folders import find_folders
from windlass.edges.host import Host, Reply, Request
from windlass.edges.run_lock import hold_run
from windlass.edges.site_files import add_site
from windlass.edges.submission import Order, reconcile
from windlass.errors import ClusterRefused, ConnectionLost, SubmissionUnclear
from windlass.pocket.programs import ensure_bin

SITE = "mine"

# Pocket's sbatch, which first does what lies in the file `first`.
_SBATCH = """#!/bin/sh
. {folder}/first
exec {pocket}/sbatch "$@"
"""
KILL_OUR_PARENT = "kill -9 $PPID"


@pytest.fixture
def bench(tmp_path: Path, places: Places) -> Iterator[tuple[Session, Path]]:
    """A session at a site of pocket's, and the file that says what its sbatch does first."""
    (places.pocket / "pocket.toml").write_text("idle_s = 1\nkill_wait_s = 1\n")
    pocket, folder = ensure_bin(places.pocket), tmp_path / "bin"
    folder.mkdir()
    for program in pocket.iterdir():
        (folder / program.name).symlink_to(program)
    (folder / "sbatch").rename(folder / "real-sbatch")
    (folder / "sbatch").write_text(_SBATCH.format(folder=folder, pocket=pocket))
    (folder / "sbatch").chmod(0o755)
    (folder / "first").touch()
    folders = find_folders(os.environ)
    add_site(SITE, f'root = "{tmp_path}/root"\n[software]\nslurm_path = "{folder}"\n[rules]\npoll_s = 1\n', folders)
    with Session(folders=folders, environ=os.environ) as session:
        yield session, folder / "first"


@pytest.fixture
def wanted(tmp_path: Path) -> Wanted:
    project = tmp_path / "project"
    project.mkdir()
    (project / "windlass.toml").write_text(
        '[run]\nname = "broken"\ncommand = "sleep 30"\n[resources]\ntime = "10m"\ncpus = 1\nmemory = "100M"\n'
    )
    return Wanted(project=project, site=SITE)


def test_a_helper_that_dies_after_sbatch_began_is_found_out_about(bench: tuple[Session, Path], wanted: Wanted) -> None:
    session, first = bench
    first.write_text(KILL_OUR_PARENT)

    record = start_run(session, plan_run(session, wanted))

    assert record.state is RunState.WAITING
    assert record.job_id is not None
    cancel_runs(session, [record])


def test_a_connection_that_broke_before_anything_was_sent_says_so(bench: tuple[Session, Path], wanted: Wanted) -> None:
    session, first = bench
    first.write_text(f"{KILL_OUR_PARENT}; exit 1")

    with pytest.raises(ConnectionLost) as raised:
        start_run(session, plan_run(session, wanted))

    assert raised.value.done == "nothing was submitted"
    (record,) = session.store.list()
    assert record.state is RunState.NOT_SUBMITTED
    first.write_text("")
    resumed = resume_run(session, record)
    assert resumed.state is RunState.WAITING
    cancel_runs(session, [resumed])


def test_a_refused_resume_can_be_tried_again(bench: tuple[Session, Path], wanted: Wanted) -> None:
    session, first = bench
    record = start_run(session, plan_run(session, wanted))
    cancelled = wait(session, cancel_runs(session, [record])[0])
    first.write_text("echo 'sbatch: error: Batch job submission failed: Invalid qos specification' >&2; exit 1")

    with pytest.raises(ClusterRefused):
        resume_run(session, cancelled)
    (after,) = refresh(session, session.store.list()).records
    first.write_text("")
    resumed = resume_run(session, after)

    assert after.state is RunState.CANCELLED
    assert resumed.state is RunState.WAITING
    assert resumed.submissions[-1].number == 2
    cancel_runs(session, [resumed])


def test_an_sbatch_that_told_a_number_and_then_failed_has_submitted(
    bench: tuple[Session, Path], wanted: Wanted
) -> None:
    """A centre's wrapper that stumbles after the real sbatch: its exit code says no, but the job is there."""
    session, first = bench
    first.write_text(f'{first.parent / "real-sbatch"} "$@"; exit 1')

    with pytest.raises(SubmissionUnclear):
        start_run(session, plan_run(session, wanted))
    (record,) = refresh(session, session.store.list()).records

    assert record.job_id is not None
    assert record.state in (RunState.WAITING, RunState.RUNNING)
    cancel_runs(session, [record])


class _Overtaken:
    """A host where the late deputy makes the run folder in the very moment before the run is closed."""

    def __init__(self, host: Host, late: Request) -> None:
        self._host = host
        self._late: Request | None = late
        self.name = host.name
        self.round_trips = 0

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        if self._late is not None and requests[0].operation == "close_submission":
            late, self._late = self._late, None
            assert self._host.ask([late])[0].ok
        return self._host.ask(requests)

    def close(self) -> None:
        self._host.close()


def test_a_deputy_that_makes_the_folder_while_the_run_is_closed_sends_nothing(
    bench: tuple[Session, Path], tmp_path: Path
) -> None:
    session, _ = bench
    site, folder = session.site(SITE), tmp_path / "late" / "runs" / "a-11111"
    order = Order(folder=str(folder), number=1, token="windlass:a-11111:1", script="/x", created=0)
    cluster = Cluster(_Overtaken(session.host(site), make_run(tmp_path / "late")), site)

    found = reconcile(cluster, order, grace_s=0)
    (late,) = session.host(site).ask([make_submit(folder, ["touch", str(tmp_path / "sent")])])

    assert found.outcome in (Outcome.NOT_SUBMITTED, Outcome.REFUSED)
    assert late.values["state"] == "refused"
    assert not (tmp_path / "sent").exists()


def test_what_another_process_is_sending_is_left_alone(bench: tuple[Session, Path], wanted: Wanted) -> None:
    session, first = bench
    first.write_text(f"{KILL_OUR_PARENT}; exit 1")
    with pytest.raises(ConnectionLost):
        start_run(session, plan_run(session, wanted))
    (record,) = session.store.list()
    sending = replace(record, state=RunState.SUBMITTING, ended=None, updated=record.updated + 1)
    session.store.save(sending)

    with hold_run(session.folders.state / "submitting", record.run_id):
        (during,) = refresh(session, session.store.list()).records
    (after,) = refresh(session, session.store.list()).records

    assert during == sending
    assert after.state is RunState.NOT_SUBMITTED
