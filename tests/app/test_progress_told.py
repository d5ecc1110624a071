"""A training that tells how far it is: when it ends is foretold, and the links that wait are planned anew."""

import json
import re
import time
from pathlib import Path

import pytest

from tests.app.conftest import ENGINES
from tests.app.test_story import start
from windlass.app.cancelling import cancel_runs
from windlass.app.refreshing import refresh_site
from windlass.app.session import Session
from windlass.core.record import RunRecord
from windlass.edges.host import Request, make_command
from windlass_job import wire

pytestmark = [
    pytest.mark.parametrize("session", [ENGINES[0], ENGINES[2]], indirect=True),
    pytest.mark.slow,
]

# An epoch takes a tenth of a second; it never ends by itself, and stops where it is told to.
TRAINING = """
import signal, sys, time
from windlass_job import run
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
epoch = 0
while not stop:
    time.sleep(0.1); epoch += 1
    with open("checkpoints/last", "w") as file: file.write(str(epoch))
    run.progress(epoch, int(sys.argv[1]))
sys.exit(1)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAINING)
    (folder / "windlass.toml").write_text(
        '[run]\nname = "paced"\ncommand = "python3 train.py 900"\n'
        '[resources]\ntime = "40m"\nlink_time = "15m"\ncpus = 1\nmemory = "200M"\n'
        '[checkpoint]\nfolder = "checkpoints"\nnotice = "5s"\n'
    )
    return folder


@pytest.mark.parametrize("style", ["array", "dependency"])
def test_the_links_that_wait_ask_for_what_is_left(session: Session, project: Path, site_name: str, style: str) -> None:
    record = start(session, project, site_name, checkpoint__chain=style)
    told = wait_for_progress(session, record)

    cut_now(session, told)
    (event,) = wait_for_events(session, told, wire.REPLANNED)
    limits = read_limits(session, told, but="15:00")
    cancel_runs(session, [told])

    assert told.expected_end is not None
    assert told.expected_end > told.updated
    assert (told.progress_unit, told.progress_of, told.missing_links) == ("epoch", 900, 0)
    assert event["unit_s"] >= 0.1
    assert (event["links_needed"], event["links_left"]) == (1, 2)
    assert 1.2 * event["needs_s"] < event["time_limit_s"] < 900
    assert limits == [f"{event['time_limit_s'] // 60}:00"] * 2


def test_a_training_that_needs_more_links_says_how_many(session: Session, project: Path, site_name: str) -> None:
    record = start(session, project, site_name, run__command="python3 train.py 9999999")

    told = wait_for_progress(session, record)
    cancel_runs(session, [told])

    assert told.expected_end is None
    assert told.missing_links > 100, "ten million epochs of a tenth of a second are eleven days"


def wait_for_progress(session: Session, record: RunRecord) -> RunRecord:
    deadline = time.monotonic() + 120
    while record.links_needed is None:
        assert time.monotonic() < deadline, record
        time.sleep(0.5)
        record = refresh_site(session, record.site, [record])[0]
        assert not record.state.is_final, record
    return record


def cut_now(session: Session, record: RunRecord) -> None:
    """As Slurm does when the time is nearly up."""
    (running,) = ask_slurm(session, record, "squeue", "--me", "--noheader", "--states=R", "--format=%A").split()
    site = session.site(record.site)
    signal = make_command(["scancel", "--batch", "--signal=USR1", running], path_prefix=site.software.slurm_path)
    session.host(site).ask([signal])  # of a task of an array Slurm 22.05 ends it with 229 and does it all the same


def wait_for_events(session: Session, record: RunRecord, kind: str) -> list[dict[str, float]]:
    arguments = {"path": f"{record.folder}/{wire.EVENTS}", "from_byte": 0, "limit": 1_000_000}
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        (reply,) = session.host(session.site(record.site)).ask([Request(operation="read", arguments=arguments)])
        found = [one for line in reply.payload.splitlines() if (one := json.loads(line))["kind"] == kind]
        if found:
            return found
        time.sleep(0.5)
    raise AssertionError(reply.payload.decode())


def read_limits(session: Session, record: RunRecord, *, but: str) -> list[str]:
    """Of the links after the first, once they have changed."""
    deadline = time.monotonic() + 20
    while True:
        shown = ask_slurm(session, record, "squeue", "--me", "--array", "--noheader", "--format=%i %l")
        rows = [line.split() for line in shown.splitlines()]
        later = [limit for name, limit in sorted(rows) if re.search(r"_[23]$", name) or name in record.job_ids[1:]]
        if but not in later or time.monotonic() > deadline:
            return later
        time.sleep(0.5)


def ask_slurm(session: Session, record: RunRecord, *argv: str) -> str:
    site = session.site(record.site)
    (reply,) = session.host(site).ask([make_command(argv, path_prefix=site.software.slurm_path)])
    assert reply.values["exit_code"] == 0, reply
    return reply.payload.decode()
