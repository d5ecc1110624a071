"""Calls of Python functions as tasks of a farm: a real pilot, real warm workers."""

import os
import pickle
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import cloudpickle
import pytest

from tests.farming.calls import CallFarm
from windlass_job import wire
from windlass_job.farming import records

WORK = """
import os, signal, subprocess, sys, time

def double(x):
    return 2 * x

def say(x):
    print("out", x)
    print("err", x, file=sys.stderr)
    os.system("echo child %d" % x)
    return x

def fail(x):
    raise KeyError("no %s here" % x)

def leave(x):
    sys.exit(x)

def die_at_seven(x):
    with open("ran", "a") as file:
        file.write("%d\\n" % x)
    if x == 7:
        print("seven, and then nothing")
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGSEGV)
    return x

def end_at_once(x):
    os._exit(0)

def hang_at_three(x):
    if x == 3:
        time.sleep(3600)
    return x

def wait(x):
    time.sleep(x)
    return os.getpid()

def fork(x):
    os.fork()
    return x

def tell(x):
    return os.environ["WINDLASS_TASK"], os.environ["WINDLASS_TASK_ATTEMPT"]

def make_bytes(x):
    return bytes(x << 20)

def once_only(x):
    path = "tried-%d" % x
    if os.path.exists(path):
        return "again"
    open(path, "w").close()
    raise ValueError("the first time")

def sleep_first(x):
    path = "tried-%d" % x
    if os.path.exists(path):
        return "again"
    open(path, "w").close()
    time.sleep(3600)

def hold(x):
    return open(os.devnull)

def shout(x):
    for _ in range(x):
        os.write(1, bytes([ord("a")]) * (1 << 20))
    return x

class Odd(Exception):
    def __init__(self, one, two):
        Exception.__init__(self, one)

def be_odd(x):
    raise Odd(x, x)
"""


@pytest.fixture
def farm(tmp_path: Path) -> CallFarm:
    (tmp_path / "work.py").write_text(WORK)
    return CallFarm(folder=tmp_path)


def refer(name: str) -> bytes:
    """What pickle makes of a function of that name in work.py."""
    return b"cwork\n" + name.encode() + b"\n."


def test_runs_calls_in_few_processes(farm: CallFarm) -> None:
    farm.add(refer("double"), [(x,) for x in range(5000)])

    said = farm.run()

    assert wire.FARM_OVER in said
    found = farm.load()
    assert [one.value for one in found] == [2 * x for x in range(5000)]
    assert {one.codes for one in found} == {(0,)}


def test_calls_know_their_number(farm: CallFarm) -> None:
    farm.add(refer("tell"), [(x,) for x in range(20)])

    farm.run()

    assert [one.value for one in farm.load()] == [(str(x), "1") for x in range(20)]


def test_each_call_has_what_it_printed(farm: CallFarm) -> None:
    farm.add(refer("say"), [(x,) for x in range(50)])

    farm.run()

    assert [sorted(one.printed.splitlines()) for one in farm.load()] == [
        [f"child {x}".encode(), f"err {x}".encode(), f"out {x}".encode()] for x in range(50)
    ]


def test_an_exception_comes_with_its_traceback(farm: CallFarm) -> None:
    farm.add(refer("fail"), [("tea",)])

    farm.run()

    (found,) = farm.load()
    kind, text, trace, pickled = found.error
    assert (kind, text) == (wire.RAISED, "KeyError: 'no tea here'")
    assert 'work.py", line' in trace
    assert "callee.py" not in trace
    assert pickled is not None
    assert isinstance(pickle.loads(pickled), KeyError)
    assert found.codes == (1,)
    assert found.last_line == text


def test_sys_exit_ends_the_call_only(farm: CallFarm) -> None:
    farm.add(refer("leave"), [(0,), (3,)])

    farm.run()

    assert [one.error[1] for one in farm.load()] == ["SystemExit: 0", "SystemExit: 3"]


def test_a_worker_that_dies_fails_only_its_call(farm: CallFarm) -> None:
    farm.add(refer("die_at_seven"), [(x,) for x in range(400)])

    farm.run()

    found = farm.load()
    assert found[7].codes == (128 + signal.SIGSEGV,)
    assert found[7].printed == b"seven, and then nothing\n"
    assert "signal 11" in found[7].last_line
    assert [one.value for number, one in enumerate(found) if number != 7] == [x for x in range(400) if x != 7]
    ran = sorted(map(int, (farm.folder / "ran").read_text().split()))
    assert ran == list(range(400))  # each of them once


def test_a_call_that_ends_its_process_has_failed(farm: CallFarm) -> None:
    farm.add(refer("end_at_once"), [(1,), (2,)])

    farm.run()

    assert [one.codes for one in farm.load()] == [(1,), (1,)]
    assert "exit code 0" in farm.load()[0].last_line


def test_a_call_that_hangs_is_ended(farm: CallFarm) -> None:
    farm.card = {"task_limit_s": 1}
    farm.add(refer("hang_at_three"), [(x,) for x in range(100)])

    farm.run()

    found = farm.load()
    assert found[3].codes == (records.TOO_LONG,)
    assert sum(one.codes == (0,) for one in found) == 99


def test_nothing_waits_behind_a_slow_call(farm: CallFarm) -> None:
    farm.add(refer("wait"), [(0,)] * 200 + [(3,)] + [(0,)] * 200)
    before = time.monotonic()

    farm.run()

    assert time.monotonic() - before < 12
    starts = sorted(_load_starts(farm).items(), key=lambda item: item[1])
    slow = dict(starts)[200]
    assert all(start < slow + 2.5 for _, start in starts)


def test_a_function_that_forks_is_one_call(farm: CallFarm) -> None:
    farm.add(refer("fork"), [(x,) for x in range(20)])

    farm.run()

    assert [(one.codes, one.value) for one in farm.load()] == [((0,), x) for x in range(20)]


def test_large_results_come_whole(farm: CallFarm) -> None:
    farm.add(refer("make_bytes"), [(x,) for x in (0, 1, 40, 0, 30, 2)])

    farm.run()

    assert [len(one.value) for one in farm.load()] == [x << 20 for x in (0, 1, 40, 0, 30, 2)]  # type: ignore[arg-type]


def test_large_arguments_arrive(farm: CallFarm) -> None:
    farm.add(len, [(bytes(x << 20),) for x in (30, 0, 50, 1)])

    farm.run()

    assert [one.value for one in farm.load()] == [x << 20 for x in (30, 0, 50, 1)]


def test_tries_again_as_often_as_asked(farm: CallFarm) -> None:
    farm.card = {"retries": 1}
    farm.add(refer("once_only"), [(1,), (2,)])

    farm.run()

    assert [(one.codes, one.value) for one in farm.load()] == [((1, 0), "again"), ((1, 0), "again")]


def test_a_result_that_cannot_be_pickled_is_told(farm: CallFarm) -> None:
    farm.add(refer("hold"), [(1,)])

    farm.run()

    kind, text, _, _ = farm.load()[0].error
    assert kind == wire.NO_RESULT
    assert "TextIOWrapper" in text


def test_a_function_that_is_not_there_is_told(farm: CallFarm) -> None:
    farm.add(b"cno_such_module\nwork\n.", [(1,)])

    farm.run()

    kind, text, _, _ = farm.load()[0].error
    assert kind == wire.NO_FUNCTION
    assert "No module named 'no_such_module'" in text


def test_an_exception_that_cannot_be_made_anew_has_its_text(farm: CallFarm) -> None:
    farm.add(refer("be_odd"), [(1,)])

    farm.run()

    assert farm.load()[0].error[1] == "Odd: 1"


def test_code_of_another_python_is_not_run(farm: CallFarm) -> None:
    farm.python = "3.2"
    digest = farm.put_function(b"this is never loaded", by_value=True)
    farm.add_rows([digest + pickle.dumps(((1,), {}), 4)])

    farm.run()

    kind, text, _, _ = farm.load()[0].error
    assert kind == wire.OTHER_PYTHON
    assert "Python 3.2" in text
    assert f"Python {sys.version_info[0]}.{sys.version_info[1]}" in text


def test_code_is_loaded_by_the_cloudpickle_that_came_along(farm: CallFarm) -> None:
    offset = 5
    content = cloudpickle.dumps(lambda x: x + offset, 4)
    farm.add(content, [(1,), (2,)])
    put_cloudpickle(farm)

    farm.run()

    assert [one.value for one in farm.load()] == [6, 7]


def test_of_much_output_its_beginning_and_end_are_kept(farm: CallFarm) -> None:
    farm.card = {"output_limit": 1 << 20}
    farm.add(refer("shout"), [(100,), (0,)])

    farm.run()

    found = farm.load()
    assert [one.codes for one in found] == [(0,), (0,)]
    assert found[0].printed.startswith(b"aaaa")
    assert b"bytes were left out here" in found[0].printed
    assert len(found[0].printed) < 2 << 20
    assert found[1].printed == b""


def test_what_a_pilot_has_not_run_is_given_back(farm: CallFarm) -> None:
    farm.add(refer("wait"), [(0.02,)] * 100)
    pilot = farm.start()
    _wait_until(lambda: sum(one.codes == (0,) for one in farm.load()) > 5)

    pilot.send_signal(signal.SIGTERM)
    assert pilot.wait(30) == 0
    some = sum(one.codes == (0,) for one in farm.load())
    farm.run(WINDLASS_ATTEMPT="2")

    assert 5 < some < 100
    assert {one.codes for one in farm.load()} == {(0,)}


def test_a_call_that_the_end_of_the_job_cut_short_is_no_failure(farm: CallFarm) -> None:
    farm.add(refer("sleep_first"), [(1,)])
    pilot = farm.start()
    _wait_until((farm.folder / "tried-1").exists)

    # Slurm signals all processes of a job, and the worker may be gone before the pilot has heard of it.
    children = Path(f"/proc/{pilot.pid}/task/{pilot.pid}/children").read_text().split()
    for pid in (*map(int, children), pilot.pid):
        os.kill(pid, signal.SIGTERM)
    assert pilot.wait(30) == 0
    assert farm.load()[0].codes == ()
    farm.run(WINDLASS_ATTEMPT="2")

    assert (farm.load()[0].codes, farm.load()[0].value) == ((0,), "again")


def test_a_pilot_that_is_killed_loses_nothing(farm: CallFarm) -> None:
    farm.add(refer("wait"), [(0.01,)] * 200)
    pilot = farm.start()
    _wait_until(lambda: sum(one.codes == (0,) for one in farm.load()) > 5)

    pilot.kill()
    pilot.wait()
    farm.run(WINDLASS_ATTEMPT="2")

    found = farm.load()
    assert {one.codes for one in found} == {(0,)}
    assert all(isinstance(one.value, int) for one in found)


def test_a_call_is_stopped_while_it_runs_and_before(farm: CallFarm) -> None:
    farm.add(refer("wait"), [(3600,), (0,), (0,)])
    (farm.folder / "farm" / wire.FARM_STOPS).write_text('{"tasks": [2]}')
    pilot = farm.start()
    _wait_until(lambda: farm.load()[1].codes == (0,))

    (farm.folder / "farm" / wire.FARM_STOPS).write_text('{"tasks": [0, 2]}')

    assert pilot.wait(30) == 0
    assert [one.codes for one in farm.load()] == [(records.STOPPED,), (0,), (records.STOPPED,)]


def put_cloudpickle(farm: CallFarm) -> None:
    package = Path(cloudpickle.__file__).parent
    with zipfile.ZipFile(farm.folder / "farm" / wire.FARM_FUNCTIONS / wire.FARM_CLOUDPICKLE, "w") as archive:
        for path in package.glob("*.py"):
            archive.write(path, f"cloudpickle/{path.name}")


def _load_starts(farm: CallFarm) -> dict[int, float]:
    paths = (farm.folder / "farm" / "pilots").glob("*.rec")
    return {ended.task: ended.start for path in paths for ended in records.read_ends(path.read_bytes())}


def _wait_until(is_so: Callable[[], bool], timeout_s: float = 30) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_python_without_ctypes_runs_calls_too() -> None:
    """That of a run's environment may have been built so."""
    program = (
        "import sys; sys.modules['ctypes'] = None; from windlass_job.farming import callee; callee.end_with_parent(9)"
    )

    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
