"""Results that a command wrote on its node come back: at the end, at the end of time, and in between."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from tests.job.harness import Job
from tests.waiting import wait_until
from windlass_job.staging.bringing import Bringer, Brought

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


def bring(source: Path, target: Path, *patterns: str) -> Brought:
    return Bringer(bytes(source), bytes(target), list(patterns)).bring(time.monotonic() + 60, is_last=True)


def test_links_that_stay_inside_and_empty_folders_come_back(tmp_path: Path) -> None:
    node, target = tmp_path / "node", tmp_path / "target"
    (node / "results" / "empty").mkdir(parents=True)
    (node / "results" / "step-2.pt").write_text("2")
    (node / "results" / "latest.pt").symlink_to("step-2.pt")
    (node / "results" / "whole").symlink_to(node / "results")

    brought = bring(node, target, "results/**")

    assert (target / "results" / "latest.pt").readlink() == Path("step-2.pt")
    assert (target / "results" / "whole").readlink() == Path()
    assert (target / "results" / "empty").is_dir()
    assert (brought.files, brought.failed, brought.problems) == (3, 0, [])


def test_a_link_to_what_does_not_come_back_is_the_file_itself(tmp_path: Path) -> None:
    node, target = tmp_path / "node", tmp_path / "target"
    (node / "cache").mkdir(parents=True)
    (node / "cache" / "m").write_text("weights")
    (node / "best.pt").symlink_to("cache/m")

    bring(node, target, "*.pt")

    assert not (target / "best.pt").is_symlink()
    assert (target / "best.pt").read_text() == "weights"


def test_what_cannot_come_back_is_told(tmp_path: Path) -> None:
    node, target = tmp_path / "node", tmp_path / "target"
    (node / "cache").mkdir(parents=True)
    (node / "cache" / "m").write_text("weights")
    (node / "out.pt").symlink_to("/etc")
    (node / "folder.pt").symlink_to("cache")
    os.mkfifo(node / "pipe.pt")

    brought = bring(node, target, "*.pt")

    assert sorted(brought.problems) == [
        "folder.pt: it is a link to a folder that does not come back",
        "out.pt: it is a link that leads out of the node's folder",
        "pipe.pt: it is a pipe, a socket or a device",
    ]
    assert brought.failed == 3
    assert list(target.iterdir()) == []


def test_a_link_that_became_a_folder_is_one_afterwards(tmp_path: Path) -> None:
    node, target = tmp_path / "node", tmp_path / "target"
    (node / "one").mkdir(parents=True)
    (node / "one" / "x").write_text("of one")
    (node / "latest").symlink_to("one")
    bringer = Bringer(bytes(node), bytes(target), ["**"])
    bringer.bring(time.monotonic() + 60, is_last=False)
    (node / "latest").unlink()
    (node / "latest").mkdir()
    (node / "latest" / "x").write_text("of latest")

    bringer.bring(time.monotonic() + 60, is_last=True)

    assert (target / "one" / "x").read_text() == "of one"
    assert (target / "latest" / "x").read_text() == "of latest"
