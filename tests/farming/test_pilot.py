"""A pilot runs what is in the table, records it, and leaves."""

import json
import os
import queue
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.farming.farms import Farm
from tests.job.harness import OLDEST_AND_NEWEST
from tests.waiting import wait_until
from windlass_job import wire
from windlass_job.farming import commands, ledger, records


@pytest.mark.parametrize("python", list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def test_runs_a_table_on_old_and_new_python(farm: Farm, python: str) -> None:
    farm.python = python
    farm.lay([f"echo task {number}; exit {number % 3}" for number in range(30)] + ["printf 'ü %s' 'a b'"])

    said = farm.run()

    assert farm.find_codes() == [number % 3 for number in range(30)] + [0]
    assert farm.read_output(17) == b"task 17\n"
    assert farm.read_output(30) == "ü a b".encode()
    assert said.endswith(wire.FARM_OVER + "\n")
    farm.check_nothing_is_held()
    farm.check_all_have_left()


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize("python", list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def test_text_of_all_kinds_arrives(farm: Farm, python: str, locale: str) -> None:
    farm.python = python
    farm.lay(["echo 漢字 é\u00a0ü", "printf %s 'a\u2028b'", 'echo "é" | cat'])

    farm.run(LC_ALL=locale)

    assert farm.read_output(0) == "漢字 é\u00a0ü\n".encode()
    assert farm.read_output(1) == "a\u2028b".encode()
    assert farm.read_output(2) == "é\n".encode()


def test_no_tasks_at_all(farm: Farm) -> None:
    farm.lay([])

    assert farm.run(timeout_s=10).endswith(wire.FARM_OVER + "\n")


@pytest.mark.parametrize("is_cancelled", [True, False])
def test_a_farm_that_is_closed_is_over_unless_it_was_cancelled(farm: Farm, tmp_path: Path, is_cancelled: bool) -> None:
    """The pilot has not heard of it yet: its job is cancelled only a moment later."""
    run = tmp_path / "run"
    run.mkdir()
    if is_cancelled:
        (run / wire.STOP).write_bytes(b"1\n")
    farm.lay(["sleep 60"])
    farm.append(ledger.CLOSE, lambda state: state._replace(is_closed=True))

    said = farm.run(WINDLASS_RUN_DIR=str(run))

    assert (wire.FARM_OVER in said) is not is_cancelled


def test_what_cannot_be_started_is_told_and_the_rest_goes_on(farm: Farm, tmp_path: Path) -> None:
    script = tmp_path / "plain"
    script.write_text("echo without a first line\n")
    script.chmod(0o755)
    rows: list[str | bytes] = ["no-such-program x", 'echo "open', "", b"{broken\n", b"[1]\n", "a\0b", "./plain", "cd /"]
    farm.lay([*rows, "./plain.txt", "true"])
    (tmp_path / "plain.txt").write_text("echo not executable\n")

    farm.run()

    assert farm.find_codes() == [127, 2, 0, 127, 127, 127, 0, 0, 126, 0]
    assert b"no-such-program: command not found" in farm.read_output(0)
    assert b"unexpected EOF" in farm.read_output(1)
    assert b"windlass: no command" in farm.read_output(4)
    assert farm.read_output(6) == b"without a first line\n"
    assert "command not found" in farm.find_counted()[0][0].last_line


def test_a_task_knows_its_number_and_its_try(farm: Farm) -> None:
    farm.lay(["echo $WINDLASS_TASK $WINDLASS_TASK_ATTEMPT; test $WINDLASS_TASK_ATTEMPT = 3"] * 2, retries=2)

    farm.run()

    assert farm.find_codes() == [0, 0]
    assert farm.read_output(1) == b"1 1\n1 2\n1 3\n"
    assert [ends[0].attempt for ends in farm.find_counted().values()] == [3, 3]
    assert (farm.state.done, farm.state.failed) == (2, 0)


def test_tries_come_to_an_end(farm: Farm) -> None:
    farm.lay(["echo once; false"], retries=2)

    farm.run()

    assert farm.read_output(0) == b"once\n" * 3
    assert farm.find_codes() == [1]
    assert farm.state.failed == 1


def test_a_task_that_takes_too_long_is_killed(farm: Farm) -> None:
    farm.lay(["sleep 60", "true"], task_limit_s=0.3)

    farm.run(timeout_s=20)

    assert farm.find_codes() == [records.TOO_LONG, 0]


def test_what_a_task_leaves_behind_is_ended(farm: Farm) -> None:
    """One in the background, one in a session of its own, one that was forked twice."""
    mark = f"{time.time()}"
    farm.lay(
        [
            f"(exec -a stray sleep 60{mark[-4:]}) & true",
            f"setsid sleep 61{mark[-4:]} & true",
            f"setsid bash -c 'setsid sleep 62{mark[-4:]} & sleep 63{mark[-4:]} &' ; true",
        ]
    )

    farm.run(timeout_s=20)

    assert farm.find_codes() == [0, 0, 0]
    for number in (60, 61, 62, 63):
        assert subprocess.run(["pgrep", "-f", f"sleep {number}{mark[-4:]}"]).returncode == 1


@pytest.mark.slow
def test_a_task_that_ignores_signals_is_killed(farm: Farm) -> None:
    farm.lay(["trap '' TERM INT HUP; echo up; while :; do sleep 1; done", "true"], task_limit_s=0.5)

    farm.run(timeout_s=30)

    assert farm.find_codes() == [records.TOO_LONG, 0]


def test_of_much_output_the_beginning_and_the_end_are_kept(farm: Farm) -> None:
    write = "import sys; [sys.stdout.write('x' * 1023 + chr(10)) for _ in range(100000)]; print('the end')"
    farm.lay([f'{sys.executable} -c "{write}"', "echo small"], output_limit=1 << 20)

    farm.run()

    output = farm.read_output(0)
    assert (1 << 20) < len(output) < (1 << 20) + (1 << 17)
    assert output.endswith(b"x\nthe end\n")
    assert b"bytes were left out here" in output
    assert farm.read_output(1) == b"small\n"


@pytest.mark.slow
def test_a_gigabyte_of_output(farm: Farm, tmp_path: Path) -> None:
    """The node's disk never holds much of it."""
    small = tmp_path / "tmp"
    small.mkdir()
    farm.lay(["head -c 1000000000 /dev/zero | tr '\\0' 'x'; echo; echo 'the end'", "echo small"])

    farm.run(TMPDIR=str(small), timeout_s=120)

    assert farm.find_codes() == [0, 0]
    assert (16 << 20) < len(farm.read_output(0)) < (17 << 20)
    assert farm.read_output(0).endswith(b"the end\n")


def test_few_files_are_made(farm: Farm) -> None:
    farm.lay(["echo a"] * 2000)

    farm.run()

    files = [path for path in farm.folder.rglob("*") if path.is_file() and "log" not in path.parts]
    assert len(files) <= 8
    assert len(list((farm.folder / "log").rglob("0*"))) < 40


# ---- the end of the job ----


def test_asked_to_stop_it_gives_back_what_it_cut_short(farm: Farm) -> None:
    farm.lay(["test -e go || sleep 60"] * 4, retries=0)
    pilot = farm.start()
    wait_until(lambda: "s 1 1" in read_records(farm), "two tasks")

    pilot.send_signal(signal.SIGTERM)

    assert pilot.wait(20) == 0
    assert wire.FARM_OVER not in farm.read_log()
    assert ledger.count_free(farm.state) == 4
    (farm.place / "go").touch()
    farm.run(link=2)
    assert farm.find_codes() == [0] * 4
    assert {ends[0].attempt for ends in farm.find_counted().values()} == {1}


def test_a_task_for_which_there_is_no_time_is_left_to_the_next_link(farm: Farm) -> None:
    """What runs goes on until it is asked to stop."""
    farm.lay(["sleep 2.5; echo whole"] + ["sleep 0.3"] * 20, task_s=2)

    said = farm.run(slots=2, WINDLASS_DEADLINE=str(int(time.time()) + 4))

    assert "would not do for another task" in said
    assert wire.FARM_OVER not in said
    assert farm.read_output(0) == b"whole\n"
    state = farm.state
    assert ledger.count_free(state) == 21 - state.done > 0
    farm.run(link=2, slots=8)
    assert farm.find_codes() == [0] * 21


def test_one_long_task_among_short_ones_does_not_end_a_pilot_early(farm: Farm) -> None:
    farm.lay(["sleep 2"] + ["true"] * 200 + ["sleep 0.1"] * 10)

    said = farm.run(WINDLASS_DEADLINE=str(int(time.time()) + 6))

    assert said.endswith(wire.FARM_OVER + "\n")


def test_a_closed_farm_starts_nothing_more(farm: Farm) -> None:
    farm.lay(["sleep 1; echo whole"] * 40)
    pilot = farm.start()
    wait_until(lambda: "s 1 1" in read_records(farm), "two tasks")

    farm.append(ledger.CLOSE, lambda state: state._replace(is_closed=True))

    assert pilot.wait(20) == 0
    state = farm.state
    assert 2 <= state.done < 40
    assert farm.read_output(0) == b"whole\n"
    assert ledger.count_free(state._replace(is_closed=False)) == 40 - state.done
    assert farm.read_log().endswith(wire.FARM_OVER + "\n")


def test_tasks_are_stopped_one_by_one(farm: Farm) -> None:
    farm.lay(["sleep 60", "true", "sleep 60", "true"])
    (farm.folder / wire.FARM_STOPS).write_text(json.dumps({"tasks": [2]}))
    pilot = farm.start()
    wait_until(lambda: "s 3 1" in read_records(farm), "the last task")

    (farm.folder / wire.FARM_STOPS).write_text(json.dumps({"tasks": [0, 2]}))

    assert pilot.wait(20) == 0
    assert farm.find_codes() == [records.STOPPED, 0, records.STOPPED, 0]


def test_a_pilot_waits_for_more_tasks(farm: Farm) -> None:
    farm.lay(["true"], linger_s=3)
    pilot = farm.start()
    wait_until(lambda: farm.state.done == 1, "the first task")
    time.sleep(0.3)

    assert pilot.poll() is None
    assert pilot.wait(20) == 0


def test_it_leaves_at_once_when_all_is_over(farm: Farm) -> None:
    """Also when there are others: all that ended was told."""
    farm.lay(["true"] * 10)
    began = time.monotonic()
    pilots = [farm.start(run, beat_s=60) for run in "ab"]

    assert [pilot.wait(20) for pilot in pilots] == [0, 0]
    assert time.monotonic() - began < 15


def read_records(farm: Farm) -> str:
    return "".join(path.read_text() for path in (farm.folder / "pilots").glob("*.rec"))


def test_a_task_sees_the_environment_of_its_job(farm: Farm) -> None:
    farm.lay(["printenv WINDLASS_TASK WINDLASS_TASK_ATTEMPT MINE"])

    farm.run(WINDLASS_TASK="77", MINE="é")

    assert farm.read_output(0) == "0\n1\né\n".encode()


def test_each_task_has_cores_and_gpus_of_its_own_from_its_first_moment(farm: Farm) -> None:
    """GPUs as Slurm names them to the job; two tasks on each."""
    show = "import os; print(sorted(os.sched_getaffinity(0)), os.environ['CUDA_VISIBLE_DEVICES'])"
    farm.lay([f'sleep 0.2; "{sys.executable}" -c "{show}"'] * 4, gpus=1, share=2)

    mine = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, mine[:2])  # as Slurm gives a job a cpuset
    try:
        farm.run(CUDA_VISIBLE_DEVICES="2")
    finally:
        os.sched_setaffinity(0, mine)

    seen = {farm.read_output(task) for task in range(4)}
    assert seen == {f"[{core}] 2\n".encode() for core in mine[:2]}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_where_the_scheduler_gives_no_cores_of_its_own_jobs_do_not_share_one(farm: Farm) -> None:
    """One CPU of several: which one is the kernel's to say, that knows of other jobs too."""
    show = "import os; print(sorted(os.sched_getaffinity(0)), os.environ['OMP_NUM_THREADS'])"
    farm.lay([f'sleep 0.2; "{sys.executable}" -c "{show}"'] * 2)

    said = farm.run(slots=1)

    assert "1 task at a time" in said
    assert {farm.read_output(task) for task in range(2)} == {f"{sorted(os.sched_getaffinity(0))} 1\n".encode()}


@pytest.mark.slow
def test_what_a_task_has_sent_into_the_background_stays_while_the_task_runs(farm: Farm, tmp_path: Path) -> None:
    """As a server does that it talks to; when the task has ended it is ended."""
    server = "import os, time; os.fork() and os._exit(0); os.setsid(); open('server', 'w').write(str(os.getpid()))"
    farm.lay([f'"{sys.executable}" -c "{server}; time.sleep(600)"; sleep 12; kill -0 $(cat server)'])

    farm.run(timeout_s=60)

    assert farm.find_codes() == [0]
    server_of_task = Path("/proc", (tmp_path / "server").read_text())
    wait_until(lambda: not server_of_task.exists(), "the server is gone", timeout_s=5)


def test_what_is_printed_after_the_file_was_emptied_is_kept(farm: Farm) -> None:
    """As bash does it for `> /dev/stderr`."""
    farm.lay(["seq 400; sleep 6; echo warning > /dev/stderr; echo important; exit 2"])

    farm.run(timeout_s=60)

    assert farm.read_output(0).endswith(b"400\nwarning\nimportant\n")


def test_how_a_task_treats_its_output_is_forgotten(farm: Farm) -> None:
    careless = "import fcntl, os; print('x' * 300, flush=True); fcntl.fcntl(1, fcntl.F_SETFL, 0)"
    farm.lay([f'"{sys.executable}" -c "{careless}"', "echo one; echo two", "echo three"])

    farm.run(slots=1)

    assert [farm.read_output(task) for task in (1, 2)] == [b"one\ntwo\n", b"three\n"]


def test_where_cores_are_gone_tasks_run_without_being_bound(capfd: pytest.CaptureFixture[str]) -> None:
    done: queue.Queue[str] = queue.Queue()
    lane = commands.Lane(lambda running: done.put(str(running)), [99999])

    lane.give("a task")  # type: ignore[arg-type]

    assert done.get(timeout=10) == "a task"
    lane.end()
    assert "tasks are not bound to cores [99999]" in capfd.readouterr().err


def test_many_lanes_record_every_task_once(farm: Farm) -> None:
    farm.lay([f"exit {number % 2}" for number in range(400)])

    farm.run(slots=8, timeout_s=60)

    assert farm.find_codes() == [number % 2 for number in range(400)]
    assert [len(ends) for ends in farm.find_counted().values()] == [1] * 400
    farm.check_nothing_is_held()
