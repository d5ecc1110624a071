"""JupyterLab in a job: told by its card, known to its user alone, and ended when nobody uses it."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

from tests.job.small_lab import make_small_lab
from tests.waiting import wait_until
from windlass.edges.job_zip import make_job_zip
from windlass_job import wire

NOBODY = "1970-01-01T00:00:10.5Z"


class Job:
    """The folder of a run, and the notebook in it."""

    def __init__(self, folder: Path, process: "subprocess.Popen[str]") -> None:
        self.folder = folder
        self.process = process

    @property
    def card(self) -> dict[str, object]:
        path = self.folder / wire.SERVICE / wire.SERVICE_CARD
        found: dict[str, object] = json.loads(path.read_text()) if path.exists() else {}
        return found

    @property
    def token(self) -> str:
        return (self.folder / wire.SERVICE / wire.SERVICE_TOKEN).read_text()

    def wait_for(self, **values: object) -> None:
        wait_until(lambda: all(self.card.get(name) == value for name, value in values.items()), f"{values}")

    def set_kernels(self, state: str, used: str = NOBODY) -> None:
        aside = self.folder / wire.CODE / "kernels.new"
        aside.write_text(json.dumps([{"execution_state": state, "last_activity": used}]))
        aside.rename(self.folder / wire.CODE / "kernels.json")

    def end(self) -> tuple[int, str]:
        said, _ = self.process.communicate(timeout=60)
        return self.process.returncode, said


@contextmanager
def notebook(tmp_path: Path, *options: str, has_lab: bool = True, env: dict[str, str] | None = None) -> Iterator[Job]:
    folder = tmp_path / "run"
    (folder / wire.CODE).mkdir(parents=True)
    (folder / wire.JOB_ZIP).write_bytes(make_job_zip())
    path = {"PYTHONPATH": str(make_small_lab(tmp_path))} if has_lab else {"PYTHONPATH": ""}
    process = subprocess.Popen(
        [sys.executable, "-I", str(folder / wire.JOB_ZIP), wire.JUPYTER, *options],
        env={**os.environ, **path, wire.ENV_RUN_DIR: str(folder), "SLURMD_NODENAME": "n7", **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    job = Job(folder, process)
    try:
        yield job
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


def test_it_tells_where_it_listens_and_only_its_user_has_the_token(tmp_path: Path) -> None:
    with notebook(tmp_path) as job:
        job.wait_for(state="ready", node="n7", host="")
        folder = job.folder / wire.SERVICE
        port, token = job.card["port"], job.token

        asked = Request(f"http://127.0.0.1:{port}/api/status", headers={"Authorization": f"token {token}"})
        with urlopen(asked, timeout=20) as answer:
            assert answer.status == 200
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(one.stat().st_mode) for one in folder.iterdir() if one.is_file()} == {0o600}
        for pid in (job.process.pid, *_children(job.process.pid)):
            assert token not in Path(f"/proc/{pid}/cmdline").read_text()
            assert token not in Path(f"/proc/{pid}/environ").read_text()
        assert token not in (folder / wire.SERVICE_CARD).read_text()

        job.process.send_signal(signal.SIGTERM)
        code, said = job.end()
        assert (code, job.card["state"]) == (0, "ended")
        assert "shut down" in said
        assert token not in said
        assert not (folder / wire.SERVICE_TOKEN).exists()
        assert not (folder / "jupyter_config.json").exists()


def test_nobody_uses_it_it_warns_and_is_ended(tmp_path: Path) -> None:
    with notebook(tmp_path, "--idle=3") as job:
        job.set_kernels("idle")
        wait_until(lambda: "unless one runs" in str(job.card.get("warning")), "the warning")
        code, said = job.end()

        assert (code, job.card["state"]) == (0, "idle")
        assert "this notebook is ended, unless one runs" in said
        assert "nobody has used this notebook for 3 s: it is ended" in said
        assert job.card["warning"] == "nobody has used this notebook for 3 s: it is ended"


def test_one_that_never_answers_counts_as_unused_and_is_ended(tmp_path: Path) -> None:
    with notebook(tmp_path, "--idle=4", "--start=1", env={"SMALL_LAB_HANGS": "from the start"}) as job:
        wait_until(lambda: "does not answer yet: in " in str(job.card.get("warning")), "the warning")
        code, said = job.end()

        assert (code, job.card["state"]) == (0, "idle")
        assert "JupyterLab does not answer yet: in " in said
        assert re.fullmatch(r"JupyterLab has not answered for \d s: it is ended", str(job.card["warning"]))
        assert str(job.card["warning"]) in said
        assert not (job.folder / wire.SERVICE / wire.SERVICE_TOKEN).exists()


def test_one_that_answers_no_more_is_told_and_ended(tmp_path: Path) -> None:
    with notebook(tmp_path, "--idle=4", env={"SMALL_LAB_HANGS": "later"}) as job:
        job.wait_for(state="ready")
        wait_until(lambda: "JupyterLab does not answer: in " in str(job.card.get("warning")), "the warning")
        code, _ = job.end()

        assert (code, job.card["state"]) == (0, "idle")


def test_what_computes_in_one_that_does_not_answer_keeps_it(tmp_path: Path) -> None:
    with notebook(tmp_path, "--idle=3", env={"SMALL_LAB_HANGS": "later", "SMALL_LAB_COMPUTES": "1"}) as job:
        wait_until(lambda: "JupyterLab does not answer" in str(job.card.get("warning")), "the warning")
        began = time.monotonic()
        wait_until(lambda: time.monotonic() > began + 7, "twice its limit")

        assert (job.process.poll(), job.card["state"]) == (None, "ready")


def test_a_kernel_that_computes_keeps_it_and_takes_the_warning_back(tmp_path: Path) -> None:
    with notebook(tmp_path, "--idle=6") as job:
        wait_until(lambda: "unless one runs" in str(job.card.get("warning")), "the warning")
        job.set_kernels("busy")
        job.wait_for(warning="", state="ready")


def test_without_a_limit_it_stays(tmp_path: Path) -> None:
    with notebook(tmp_path) as job:
        job.wait_for(state="ready", warning="", idle_after_s=None)
        assert job.process.poll() is None


def test_the_end_of_the_jobs_time_is_told(tmp_path: Path) -> None:
    with notebook(tmp_path, env={wire.ENV_DEADLINE: str(int(time.time()) + 300)}) as job:
        wait_until(lambda: "time of this job is nearly up: in " in str(job.card.get("warning")), "the warning")


def test_a_short_job_is_not_nearly_over_when_it_begins(tmp_path: Path) -> None:
    env = {wire.ENV_DEADLINE: str(int(time.time()) + 300), wire.ENV_LINK_S: "300"}
    with notebook(tmp_path, "--idle=3", env=env) as job:
        _, said = job.end()

    assert "this notebook is ended" in said
    assert "nearly up" not in said


def test_where_it_is_not_installed_nothing_starts(tmp_path: Path) -> None:
    with notebook(tmp_path, has_lab=False) as job:
        code, said = job.end()

        assert code == wire.EXIT_ENVIRONMENT
        assert job.card["state"] == "failed"
        assert job.card["problem"] == "jupyterlab is not in the environment of this run"
        assert job.card["program"] == sys.executable
        assert "jupyterlab is not in the environment" in said


def _children(pid: int) -> list[int]:
    told = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout
    return [int(word) for word in told.split()]
