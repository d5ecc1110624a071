"""What pocket survives: killed keepers and supervisors, damaged and unwritable state."""

import os
import signal
import subprocess

import pytest

from windlass.pocket.database import open_database
from windlass.pocket.model import State

from .conftest import Pocket, wait_for


def test_a_killed_keeper_loses_nothing(pocket: Pocket) -> None:
    running = pocket.submit("touch ready; while [ ! -e go ]; do sleep 0.05; done; echo survived", "-c", "4")
    waiting = pocket.submit("echo next")
    pocket.see("ready")
    keeper = wait_for(pocket.keeper)

    os.kill(keeper, signal.SIGKILL)
    wait_for(lambda: pocket.keeper() != keeper)
    assert pocket.squeue("%i %t", "-j", str(running)) == [f"{running} R"]
    (pocket.folder / "go").touch()

    assert pocket.wait(running).state is State.COMPLETED
    assert pocket.wait(waiting).state is State.COMPLETED
    assert pocket.output(running) == "survived\n"


def test_the_end_of_a_job_starts_a_new_keeper(pocket: Pocket) -> None:
    running = pocket.submit("touch ready; while [ ! -e go ]; do sleep 0.05; done", "-c", "4")
    waiting = pocket.submit("true")
    pocket.see("ready")

    os.kill(wait_for(pocket.keeper), signal.SIGKILL)
    (pocket.folder / "go").touch()

    assert pocket.wait(running).state is State.COMPLETED
    assert pocket.wait(waiting).state is State.COMPLETED


def test_a_lost_job_is_told_and_queued_again(pocket: Pocket) -> None:
    job = pocket.submit('echo $$ > pid; [ -n "$SLURM_RESTART_COUNT" ] || sleep 60')
    pocket.see("pid")
    supervisor = wait_for(lambda: pocket.job(job).supervisor_pid)

    os.kill(supervisor, signal.SIGKILL)
    ended = wait_for(lambda: one if (one := pocket.job(job)).state.is_final else None)

    assert (ended.state, ended.restarts) == (State.COMPLETED, 1)
    assert pocket.sacct(job, "State", "-X", "-D") == ["NODE_FAIL", "COMPLETED"]


def test_a_lost_job_that_may_not_run_again_has_failed(pocket: Pocket) -> None:
    job = pocket.submit("touch ready; sleep 60", "--no-requeue")
    pocket.see("ready")

    os.kill(wait_for(lambda: pocket.job(job).supervisor_pid), signal.SIGKILL)

    assert pocket.wait(job).state is State.NODE_FAIL


def test_the_keeper_leaves_when_idle(pocket: Pocket) -> None:
    pocket.places.settings.write_text("idle_s = 0.1\n")
    job = pocket.submit("true")

    pocket.wait(job)

    wait_for(lambda: pocket.keeper() is None)


def test_a_job_may_submit_and_end_before_the_keeper(pocket: Pocket) -> None:
    os.environ.pop("SLURM_JOB_ID", None)
    outer = pocket.submit(
        "sbatch --parsable --wrap 'sleep 0.5; echo inner $SLURM_JOB_ID $SLURM_CPUS_PER_TASK' > id", "-c3"
    )
    pocket.wait(outer)

    inner = int((pocket.folder / "id").read_text())

    assert pocket.wait(inner).state is State.COMPLETED
    assert pocket.output(inner) == f"inner {inner}\n"


def test_a_job_of_another_version_is_still_read(pocket: Pocket) -> None:
    job = pocket.submit("true", "--hold")
    db = open_database(pocket.places)
    db.execute("UPDATE jobs SET request = json_insert(request, '$.from_the_future', 1)")

    assert pocket.squeue("%i") == [str(job)]


def test_a_damaged_database_is_moved_aside(pocket: Pocket) -> None:
    pocket.wait(pocket.submit("true"))
    keeper = wait_for(pocket.keeper)
    os.kill(keeper, signal.SIGKILL)
    wait_for(lambda: pocket.keeper() is None)
    for ending in ("-wal", "-shm"):
        pocket.places.database.with_name(f"pocket.db{ending}").unlink(missing_ok=True)
    pocket.places.database.write_bytes(b"this is no database" * 500)

    done = pocket.run("sbatch", "--wrap", "true")

    assert done.stdout == "Submitted batch job 2\n"
    assert "the job database was damaged" in done.stderr
    assert list(pocket.places.state.glob("pocket.db.damaged-*"))


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(pocket: Pocket) -> None:
    pocket.places.state.chmod(0o500)
    try:
        done = pocket.run("sbatch", "--wrap", "true", code=1)
    finally:
        pocket.places.state.chmod(0o700)

    assert "Traceback" not in done.stderr


def test_a_state_folder_that_is_a_file(pocket: Pocket) -> None:
    (pocket.folder / "file").touch()

    done = subprocess.run(
        [*_python(pocket), "squeue"],
        env=pocket.environment | {"WINDLASS_POCKET_DIR": str(pocket.folder / "file")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.startswith("squeue: error: ")
    assert "Traceback" not in done.stderr


def test_a_full_disk_is_a_sentence(pocket: Pocket) -> None:
    db = open_database(pocket.places)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()

    # A limit on file size is the nearest to a full disk that needs no root.
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 8; trap '' XFSZ; exec {pocket.bin}/sbatch --wrap 'true {'x' * 60000}'"],
        cwd=pocket.folder,
        env=pocket.environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("sbatch: error: pocket cannot use ")


def _python(pocket: Pocket) -> list[str]:
    """The words of a launcher, without its state folder."""
    import shlex

    line = (pocket.bin / "squeue").read_text().splitlines()[1]
    return shlex.split(line)[2:-2]
