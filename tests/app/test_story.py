"""The same story on every engine: plan, run, follow, cancel, resume, fetch, remove."""

import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.conftest import ENGINES
from windlass.app.cancelling import cancel_runs
from windlass.app.explaining import explain_run
from windlass.app.fetching import fetch_run
from windlass.app.following import follow, wait
from windlass.app.logs import open_log, read_log
from windlass.app.planning import Planned, Wanted, plan_run
from windlass.app.refreshing import rebuild, refresh, refresh_site
from windlass.app.removing import remove_run
from windlass.app.resuming import resume_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState
from windlass.core.toml.layers import Flag
from windlass.errors import ClusterRefused, UsageError, WindlassError

pytestmark = pytest.mark.parametrize("session", ENGINES, indirect=True)

# Saves after each step, stops at TERM, and goes on from what it finds.
TRAINING = """
import json, os, pathlib, signal, sys, time
folder = pathlib.Path(os.environ["WINDLASS_CHECKPOINT_DIR"]); folder.mkdir(parents=True, exist_ok=True)
state = folder / "state.json"
step = json.loads(state.read_text())["step"] if state.exists() else 0
print(f"link {os.environ['WINDLASS_LINK']} starts at step {step}", flush=True)
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
last = int(sys.argv[1])
while step < last and not stop:
    time.sleep(0.1); step += 1
    aside = folder / "state.new"; aside.write_text(json.dumps({"step": step})); aside.replace(state)
print(f"stopped at step {step}", flush=True)
if step >= last:
    pathlib.Path("runs").mkdir(exist_ok=True); pathlib.Path("runs/result.txt").write_text(str(step))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAINING)
    (folder / "windlass.toml").write_text(
        '[run]\nname = "story"\ncommand = "python3 train.py 20"\nresults = ["runs/**"]\n'
        '[resources]\ntime = "2m"\ncpus = 1\nmemory = "200M"\n[checkpoint]\nfolder = "checkpoints"\nnotice = "5s"\n'
    )
    return folder


def make_planned(session: Session, project: Path, site_name: str, **settings: str) -> Planned:
    flags = tuple(Flag(key=key.replace("__", "."), value=value) for key, value in settings.items())
    return plan_run(session, Wanted(project=project, site=site_name, flags=flags))


def start(session: Session, project: Path, site_name: str, **settings: str) -> RunRecord:
    return start_run(session, make_planned(session, project, site_name, **settings))


def wait_for_words(session: Session, record: RunRecord, words: bytes) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if words in b"".join(read_log(session, record)):
            return
        time.sleep(0.1)
    raise AssertionError(f"{words!r} was not said")


def test_a_run_ends_well_and_its_results_come_home(session: Session, project: Path, site_name: str) -> None:
    record = start(session, project, site_name)

    updates = list(follow(session, record, reader=open_log(session, record)))

    last = [update.record for update in updates if update.record][-1]
    assert last.state is RunState.DONE
    assert last.exit_code == 0
    assert b"stopped at step 20" in b"".join(update.log for update in updates)
    fetched = fetch_run(session, last)
    assert (fetched.folder / "runs/result.txt").read_text() == "20"
    assert fetch_run(session, last).new_files == 0


def test_planning_sends_nothing(session: Session, project: Path, site_name: str) -> None:
    planned = make_planned(session, project, site_name)

    assert planned.errors == ()
    assert "#SBATCH --time=0-00:02:00" in planned.script
    assert session.store.list() == ()
    assert rebuild(session, site_name) == []


def test_a_failed_command_is_told_with_its_exit_code(session: Session, project: Path, site_name: str) -> None:
    record = start(session, project, site_name, run__command="echo before; exit 3")

    record = wait(session, record)

    assert (record.state, record.exit_code) == (RunState.FAILED, 3)
    _, diagnoses = explain_run(session, record)
    assert "exit code 3" in diagnoses[0].message
    assert "before" in diagnoses[0].evidence


def test_a_cancelled_run_goes_on_from_its_checkpoint(session: Session, project: Path, site_name: str) -> None:
    record = start(session, project, site_name, run__command="python3 train.py 60")
    wait_for_words(session, record, b"starts at step 0")
    time.sleep(1)

    (cancelled,) = cancel_runs(session, [record])
    cancelled = wait(session, cancelled)

    assert cancelled.state is RunState.CANCELLED
    done = wait(session, resume_run(session, cancelled))
    assert done.state is RunState.DONE
    words = b"".join(read_log(session, done))
    assert b"starts at step 0" in words
    assert words.count(b"starts at step") == 2
    assert words.count(b"starts at step 0\n") == 1
    with pytest.raises(UsageError, match="is done"):
        resume_run(session, done)


def test_mended_code_goes_on_where_the_broken_one_stopped(session: Session, project: Path, site_name: str) -> None:
    script = project / "train.py"
    script.write_text(TRAINING.replace("step += 1", "step += 1; assert step != 7"))
    failed = wait(session, start(session, project, site_name))
    assert failed.state is RunState.FAILED

    script.write_text(TRAINING)
    done = wait(session, resume_run(session, failed, update_code=True))

    assert done.state is RunState.DONE
    assert b"starts at step 6" in b"".join(read_log(session, done))


def test_a_refused_job_leaves_nothing_behind(session: Session, project: Path, site_name: str) -> None:
    planned = make_planned(session, project, site_name, resources__reservation="no-such-reservation")

    if site_name == "here":  # pocket knows no reservations and says so
        return
    with pytest.raises(ClusterRefused, match="reservation"):
        start_run(session, planned, force=True)  # our own check would say so first

    assert session.store.list() == ()
    assert rebuild(session, site_name) == []


def test_another_laptop_sees_the_same_runs(session: Session, project: Path, site_name: str) -> None:
    record = wait(session, start(session, project, site_name, run__command="true"))
    session.store.delete(record.run_id)

    rebuild(session, site_name)

    (again,) = refresh(session, session.store.list()).records
    assert again.run_id == record.run_id
    assert again.state is RunState.DONE
    sent = tuple(one.sent for one in record.submissions)  # by the laptop's clock; there it is when sbatch was called
    assert tuple(replace(one, sent=at) for one, at in zip(again.submissions, sent, strict=True)) == record.submissions


def test_removing_takes_the_folder_too(session: Session, project: Path, site_name: str) -> None:
    record = wait(session, start(session, project, site_name, run__command="true"))

    remove_run(session, record)

    assert rebuild(session, site_name) == []
    with pytest.raises(WindlassError, match="there is no run"):
        session.store.load(record.run_id)


def test_a_run_folder_deleted_under_us_is_told(session: Session, project: Path, site_name: str) -> None:
    record = start(session, project, site_name, run__command="sleep 60")
    shutil.rmtree(record.folder)
    cancel_runs(session, [record])

    record = wait(session, record)

    assert record.state in (RunState.CANCELLED, RunState.LOST, RunState.FAILED)
    with pytest.raises(WindlassError, match="not there"):
        list(read_log(session, record))


def test_secrets_reach_the_command_and_nothing_else(
    session: Session, project: Path, site_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "s3cr3t-value")
    with (project / "windlass.toml").open("a") as file:
        file.write('[run.secrets]\nTOKEN_IN_JOB = "env:MY_TOKEN"\n')

    record = wait(session, start(session, project, site_name, run__command='echo "${#TOKEN_IN_JOB} letters"'))

    assert b"12 letters" in b"".join(read_log(session, record))
    for path in Path(record.folder).rglob("*"):
        if path.is_file() and path.name != "secrets.env":
            assert b"s3cr3t-value" not in path.read_bytes(), path


def test_refreshing_many_runs_is_one_round_trip(session: Session, project: Path, site_name: str) -> None:
    records = [start(session, project, site_name, run__command="sleep 30") for _ in range(3)]
    host = session.host(session.site(site_name))
    before = host.round_trips

    refresh_site(session, site_name, records)

    assert host.round_trips - before == 1
    cancel_runs(session, records)


def test_submission_takes_two_round_trips(session: Session, project: Path, site_name: str) -> None:
    planned = make_planned(session, project, site_name, run__command="true")
    host = session.host(session.site(site_name))
    before = host.round_trips

    start_run(session, planned)

    assert host.round_trips - before <= 2


def test_results_that_still_grow_can_be_fetched(session: Session, project: Path, site_name: str) -> None:
    line = "mkdir -p runs; while sleep 0.05; do date >> runs/grow; done"
    record = start(session, project, site_name, run__command=line)
    wait_for_file(record, "runs/grow")

    grown = fetch_run(session, record).folder / "runs/grow"
    first = grown.stat().st_size
    deadline = time.monotonic() + 60
    while grown.stat().st_size == first:
        assert time.monotonic() < deadline
        fetch_run(session, record)

    assert grown.stat().st_size > first
    cancel_runs(session, [record])


def test_links_and_odd_files_among_the_results(session: Session, project: Path, site_name: str) -> None:
    links = "ln -s m.pt latest.pt; ln -s /etc/passwd out.pt; mkfifo p"
    line = f"mkdir runs; cd runs; echo 1 > m.pt; {links}; echo x > .m.pt.part"
    record = wait(session, start(session, project, site_name, run__command=line))

    fetched = fetch_run(session, record)

    results = fetched.folder / "runs"
    assert (results / "latest.pt").readlink() == Path("m.pt")
    assert (results / "latest.pt").read_text() == "1\n"
    assert sorted(one.name for one in results.iterdir()) == [".m.pt.part", "latest.pt", "m.pt"]
    assert fetched.left_out == ("runs/out.pt",)


def wait_for_file(record: RunRecord, name: str) -> None:
    deadline = time.monotonic() + 60
    while not (Path(record.folder) / "code" / name).exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
