"""The ways to chain jobs: an array, each waits for the one before it, or one job is queued again and again."""

import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.app.conftest import ENGINES
from tests.app.test_chains import PACE, wait_until_the_queue_is_empty
from tests.app.test_story import TRAINING, make_planned, start
from windlass.app.cancelling import cancel_runs
from windlass.app.following import follow, wait
from windlass.app.logs import read_log
from windlass.app.refreshing import rebuild, refresh_site
from windlass.app.resuming import resume_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState
from windlass.edges.host import Request, make_command
from windlass_job import wire

pytestmark = [
    pytest.mark.parametrize("session", [ENGINES[0], ENGINES[2]], indirect=True),
    pytest.mark.slow,
]
STYLES = pytest.mark.parametrize("style", ["dependency", "requeue"])


@pytest.fixture
def project(tmp_path: Path, site_name: str) -> Path:
    _, link, notice, steps = PACE[site_name]
    total = {"here": "60s"}.get(site_name, "8m")  # far more than it needs, also on a busy machine
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAINING)
    (folder / "windlass.toml").write_text(
        f'[run]\nname = "chain"\ncommand = "python3 train.py {steps}"\n'
        f'[resources]\ntime = "{total}"\nlink_time = "{link}"\ncpus = 1\nmemory = "200M"\n'
        f'[checkpoint]\nfolder = "checkpoints"\nnotice = "{notice}"\n'
    )
    return folder


def list_claims(session: Session, record: RunRecord) -> list[tuple[int, ...]]:
    """(link, submission, attempt) of every job that trained."""
    arguments = {"folder": f"{record.folder}/{wire.CLAIMS}", "patterns": ["*"], "limit": 100}
    (reply,) = session.host(session.site(record.site)).ask([Request(operation="list_files", arguments=arguments)])
    names = [one["path"] for one in reply.values["files"]]
    return sorted(tuple(map(int, name.split("."))) for name in names if re.fullmatch(r"\d+\.\d+\.\d+", name))


def wait_without_slurms_pause(session: Session, record: RunRecord) -> RunRecord:
    """Slurm lets a job that was queued again wait for two minutes; its owner may say that it need not.

    But not at once: started while its node still cleans up, it is killed ("Job credential revoked").
    """
    waits = 0

    def hurry(seconds: float) -> None:
        nonlocal waits
        host, job = session.host(session.site(record.site)), record.job_id
        if record.site != "here":
            (reply,) = host.ask([make_command(["squeue", "--noheader", f"--jobs={job}", "--format=%T"])])
            waits = waits + 1 if b"PENDING" in reply.payload else 0
            if waits > 3:
                host.ask([make_command(["scontrol", "update", f"JobId={job}", "StartTime=now"])])
        time.sleep(max(1.0, seconds))

    for update in follow(session, record, sleep=hurry):
        record = update.record or record
    return record


def test_trainings_of_every_style_finish_over_their_links_and_the_rest_leaves(
    session: Session, project: Path, site_name: str
) -> None:
    """Side by side, because a link on real Slurm lasts a minute at least."""
    styles = ("requeue", "dependency", "array")
    records = [start(session, project, site_name, checkpoint__chain=style) for style in styles]
    assert [len(record.job_ids) for record in records] == [1, records[1].links, 1]

    for record in records:
        assert record.links >= 3
        ended = wait_without_slurms_pause(session, record)
        check_links(session, ended)

    wait_until_the_queue_is_empty(session, site_name)


def check_links(session: Session, ended: RunRecord) -> None:
    words = b"".join(read_log(session, ended)).decode()
    starts = [int(step) for step in re.findall(r"starts at step (\d+)", words)]
    links = [link for link, _, _ in list_claims(session, ended)]
    assert ended.state is RunState.DONE, words
    assert starts == sorted(set(starts)), "a link began where an earlier one had begun"
    assert len(starts) >= 2, words
    assert links == list(range(1, len(starts) + 1)), "each link once, in order"
    assert len(links) < ended.links, "the training was done early"
    assert b"link 2 starts" in b"".join(read_log(session, ended, link=2))


@STYLES
def test_cancel_takes_every_link_away_and_resume_goes_on(
    session: Session, project: Path, site_name: str, style: str
) -> None:
    record = start(session, project, site_name, checkpoint__chain=style, run__command="python3 train.py 40")
    _wait_for_state(session, record, partial(_is_running_link, 1))

    (cancelled,) = cancel_runs(session, [record])
    cancelled = wait(session, cancelled) if not cancelled.state.is_final else cancelled
    wait_until_the_queue_is_empty(session, site_name)
    resumed = resume_run(session, cancelled)
    ended = wait_without_slurms_pause(session, resumed)

    assert (cancelled.state, cancelled.reason) == (RunState.CANCELLED, "cancelled")
    assert resumed.chain[0].number == record.submissions[-1].number + 1
    assert resumed.chain[0].first_link == 2
    assert (ended.state, ended.link) == (RunState.DONE, 2), b"".join(read_log(session, ended)).decode()
    wait_until_the_queue_is_empty(session, site_name)


def test_a_chain_by_dependency_costs_no_more_round_trips_than_an_array(
    session: Session, project: Path, site_name: str
) -> None:
    host, trips = session.host(session.site(site_name)), []
    for style in ("array", "dependency"):
        planned = make_planned(session, project, site_name, checkpoint__chain=style, resources__dependency="singleton")
        before = host.round_trips
        record = start_run(session, planned)
        trips.append(host.round_trips - before)
        cancel_runs(session, [record])

    assert trips[0] == trips[1]


def test_of_a_chain_that_was_cut_off_while_it_was_sent_the_beginning_counts(
    session: Session, project: Path, site_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if site_name != "here":
        pytest.skip("the points to die at are reached on this machine only")
    told: list[str] = []
    session.tell = told.append
    planned = make_planned(session, project, site_name, checkpoint__chain="dependency")
    session.close()  # the next deputy dies, once it has sent the first link
    monkeypatch.setenv("WINDLASS_TEST_DIE_AT", "after-receipt")

    record = start_run(session, planned)
    monkeypatch.delenv("WINDLASS_TEST_DIE_AT")
    session.close()
    again = rebuild(session, site_name)
    seen_elsewhere = refresh_site(session, site_name, again)[0]

    assert (record.state, record.links, len(record.job_ids)) == (RunState.WAITING, 1, 1)
    assert "only 1 of" in "\n".join(told)
    assert seen_elsewhere.job_ids == record.job_ids
    ended = wait(session, record)
    assert (ended.state, ended.link) == (RunState.OUT_OF_TIME, 1)
    assert resume_run(session, ended).chain[0].first_link == 2


def test_a_start_too_many_does_not_train(session: Session, project: Path, site_name: str) -> None:
    """A lost node or a preemption uses up a link too: here somebody queues the job again in its last one."""
    if site_name != "here":
        pytest.skip("takes minutes on real Slurm and goes the same way")
    settings = {"resources__time": "70s", "resources__link_time": "40s", "run__command": "python3 train.py 9999"}
    record = start(session, project, site_name, checkpoint__chain="requeue", **settings)
    site = session.site(site_name)
    again = make_command(["scontrol", "requeue", record.job_id or ""], path_prefix=site.software.slurm_path)
    for link in (1, 2):
        _wait_for_state(session, record, partial(_is_running_link, link))
        session.host(site).ask([again])

    ended = wait(session, record)

    assert record.links == 2
    assert (ended.state, ended.link) == (RunState.OUT_OF_TIME, 2)
    assert [link for link, _, _ in list_claims(session, ended)] == [1, 2]


def _is_running_link(link: int, record: RunRecord) -> bool:
    return record.state is RunState.RUNNING and record.link == link


def _wait_for_state(session: Session, record: RunRecord, claim: Callable[[RunRecord], bool]) -> RunRecord:
    deadline = time.monotonic() + 60
    while True:
        record = refresh_site(session, record.site, [record])[0]
        if claim(record):
            return record
        assert time.monotonic() < deadline, record
        time.sleep(0.5)
