"""Results that a command wrote on its node come back: at the end, at the end of time, and in between."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

from tests.job.harness import Job, wait_until

WAIT_TO_GO = "for i in $(seq 400); do sleep 0.05; [ -e go ] && exit 0; done"


def test_results_come_back_also_when_the_command_fails(make_job: Callable[..., Job], tmp_path: Path) -> None:
    job = make_job(source=tmp_path, bring_back=["results/**", "*.pt"])
    script = (
        'cd "$WINDLASS_NODE_DIR"; mkdir -p results/deep; echo 1 > results/deep/x; echo 2 > m.pt; echo 3 > other; exit 3'
    )

    code = job.run("bash", "-c", script)

    assert code == 3
    assert (tmp_path / "results" / "deep" / "x").read_text() == "1\n"
    assert (tmp_path / "m.pt").read_text() == "2\n"
    assert not (tmp_path / "other").exists()
    assert job.find_event("results_brought")["files"] == 2
    assert job.kinds.index("results_brought") < job.kinds.index("link_ended")


def test_results_come_back_at_the_end_of_time_before_the_command_has_ended(
    make_job: Callable[..., Job], tmp_path: Path
) -> None:
    job = make_job(source=tmp_path, bring_back=["*.pt"])
    script = 'trap "" TERM; cd "$WINDLASS_NODE_DIR"; echo 1 > a.pt; echo ready; ' + WAIT_TO_GO

    with job.start("bash", "-c", script) as process:
        wait_until(lambda: "ready" in job.printed, "the command runs")
        os.kill(process.pid, signal.SIGUSR1)
        wait_until(lambda: (tmp_path / "a.pt").exists(), "it came back at the notice")
        (Path(next((tmp_path / "scratch").rglob("a.pt"))).parent / "go").touch()
        process.wait(30)


def test_results_come_back_in_between_when_asked(make_job: Callable[..., Job], tmp_path: Path) -> None:
    job = make_job(source=tmp_path, bring_back=["*.pt"], bring_every_s=0.2)
    job.options += ("--heartbeat=0.1",)
    script = 'cd "$WINDLASS_NODE_DIR"; echo 1 > a.pt; ' + WAIT_TO_GO

    with job.start("bash", "-c", script) as process:
        wait_until(lambda: (tmp_path / "a.pt").exists(), "it came back in between")
        (Path(next((tmp_path / "scratch").rglob("a.pt"))).parent / "go").touch()
        assert process.wait(30) == 0
