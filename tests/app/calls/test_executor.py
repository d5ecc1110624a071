"""`windlass.Executor` on every engine: real farms, real pilots, real workers."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, as_completed
from concurrent.futures import wait as wait_for
from datetime import timedelta
from pathlib import Path

import pytest

import windlass
from tests.app.conftest import ENGINES
from windlass.app.calls.outcomes import RemoteTraceback
from windlass.app.cancelling import cancel_runs
from windlass.app.farms.adding import refuse_closed
from windlass.app.farms.asking import list_pilots
from windlass.app.fetching import fetch_run
from windlass.app.following import wait
from windlass.app.plans import load_plan
from windlass.app.session import Session
from windlass.errors import CallFailed, NotFound, NotSendable, OtherPython, PilotsGone, ResultNotReadable, UsageError

HERE_ONLY = pytest.mark.parametrize("session", ["here"], indirect=True)
EVERYWHERE = pytest.mark.parametrize("session", ENGINES, indirect=True)


@EVERYWHERE
def test_calls_come_back_as_values_and_exceptions(executor: windlass.Executor) -> None:
    futures = [executor.submit(lambda x: x * x, number) for number in range(20)]
    broken = executor.submit(_divide, 1, by=0)

    assert [future.result(120) for future in futures] == [number * number for number in range(20)]
    with pytest.raises(ZeroDivisionError) as caught:
        broken.result(120)
    assert isinstance(caught.value.__cause__, RemoteTraceback)
    assert "in _divide" in str(caught.value.__cause__)
    assert sorted(executor.futures()) == list(range(21))


@HERE_ONLY
def test_map_keeps_the_order_and_can_be_cut_into_chunks(executor: windlass.Executor) -> None:
    plain = list(executor.map(_add, range(300), range(300), timeout=60))
    chunked = list(executor.map(_add, range(300), range(1000), timeout=60, chunksize=70))

    assert plain == chunked == [2 * number for number in range(300)]
    assert len(executor.futures()) == 305


@HERE_ONLY
def test_functions_of_the_project_go_by_name(
    executor: windlass.Executor, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(project))
    import work_at_the_site  # type: ignore[import-not-found]

    assert executor.submit(work_at_the_site.double, 21).result(60) == 42
    with pytest.raises(ValueError, match="not so"):
        executor.submit(work_at_the_site.fail, "so").result(60)


@HERE_ONLY
def test_waits_of_the_standard_library_work(executor: windlass.Executor) -> None:
    slow, quick = executor.submit(time.sleep, 1.5), executor.submit(int, "7")
    called: list[object] = []
    quick.add_done_callback(lambda future: called.append(future.result()))

    first = next(as_completed([slow, quick], timeout=60))
    done, not_done = wait_for([slow, quick], timeout=60)

    assert first is quick
    assert called == [7]
    assert (len(done), len(not_done)) == (2, 0)


@HERE_ONLY
def test_a_running_call_can_be_cancelled(executor: windlass.Executor) -> None:
    slow = executor.submit(time.sleep, 3600)
    _wait_until(slow.running)

    assert slow.cancel()

    with pytest.raises(CancelledError):
        slow.result()
    assert executor.submit(int, "1").result(60) == 1
    assert next(as_completed([slow], timeout=1)) is slow


@HERE_ONLY
def test_a_process_that_dies_fails_its_call(executor: windlass.Executor) -> None:
    dead, alive = executor.submit(_die), executor.submit(int, "3")

    assert alive.result(60) == 3
    with pytest.raises(CallFailed, match="signal 9"):
        dead.result(60)
    assert dead.output() == b"about to go\n"


@HERE_ONLY
def test_classes_of_a_script_come_back_as_the_same_class(executor: windlass.Executor) -> None:
    found = executor.submit(_Point.move, _Point(1, 2), 10).result(60)

    assert isinstance(found, _Point)
    assert (found.x, found.y) == (11, 2)


@HERE_ONLY
def test_a_variable_that_changed_is_sent_anew(executor: windlass.Executor) -> None:
    def make(number: int) -> object:
        return lambda: number

    offset = 1

    def add(x: int) -> int:
        return x + offset

    first = executor.submit(add, 1)
    offset = 10
    second = executor.submit(add, 1)

    assert (first.result(60), second.result(60)) == (2, 11)
    assert [executor.submit(make(n)).result(60) for n in (1, 2)] == [1, 2]  # type: ignore[arg-type]


@HERE_ONLY
def test_what_cannot_be_sent_is_refused_at_once(executor: windlass.Executor) -> None:
    lock = threading.Lock()

    with pytest.raises(NotSendable, match="lock"):
        executor.submit(lambda: lock)
    with pytest.raises(NotSendable, match="arguments"):
        executor.submit(print, lock)


@HERE_ONLY
def test_results_that_cannot_be_read_are_told(executor: windlass.Executor) -> None:
    cannot_be_pickled = executor.submit(threading.Lock)
    cannot_be_read = executor.submit(_make_unreadable)

    with pytest.raises(ResultNotReadable, match="cannot be pickled"):
        cannot_be_pickled.result(60)
    with pytest.raises(ResultNotReadable, match="only at the site"):
        cannot_be_read.result(60)


@HERE_ONLY
def test_large_results_come_whole(executor: windlass.Executor) -> None:
    futures = [executor.submit(bytes, size << 20) for size in (1, 40, 3)]

    assert [len(future.result(60)) for future in futures] == [1 << 20, 40 << 20, 3 << 20]


@EVERYWHERE
def test_calls_are_found_again_by_name(session: Session, project: Path, site_name: str) -> None:
    executor = windlass.Executor(site_name, project=project, workers=1, linger="1m", name="mine", session=session)
    done = executor.submit(_note, "results/ran", "first")
    assert done.result(120) == "first"
    later = executor.submit(_note, "results/ran", "second")
    executor.detach()
    assert not later.done()

    with windlass.Executor.attach(executor.name) as again:
        found = [future.result(120) for future in again.futures().values()]
        found.append(again.submit(_note, "results/ran", "third").result(120))

    wait(session, executor.record)
    assert found == ["first", "second", "third"]
    with pytest.raises(UsageError, match="its Executor has ended") as refusal:
        refuse_closed(session, executor.record)
    assert refusal.value.hint == f'in Python: windlass.Executor.attach("{executor.name}")'
    ran = fetch_run(session, executor.record, to=project.parent / "back").folder / "results" / "ran"
    assert ran.read_text().split() == found  # each of them once


@HERE_ONLY
def test_pilots_that_left_come_back(session: Session, project: Path, site_name: str) -> None:
    with windlass.Executor(site_name, project=project, workers=1, linger="0s", session=session) as executor:
        assert executor.submit(int, "1").result(60) == 1
        time.sleep(3)
        assert executor.submit(int, "2").result(60) == 2


@HERE_ONLY
def test_a_job_that_is_gone_is_replaced_while_the_others_go_on(session: Session, project: Path, site_name: str) -> None:
    go = project / "go"
    with windlass.Executor(site_name, project=project, workers=1, pilots=2, session=session) as executor:
        calls = [executor.submit(_wait_for, str(go)) for _ in range(4)]
        _wait_until(lambda: sum(call.running() for call in calls) == 2)
        (lost,) = (one for one in list_pilots(session, executor.record) if one.run_id != executor.name)

        cancel_runs(session, [lost])

        try:
            _wait_until(lambda: len(list_pilots(session, executor.record)) == 3)
            _wait_until(lambda: sum(call.running() for call in calls) == 2)
        finally:
            go.touch()
        assert [call.result(60) for call in calls] == [None] * 4
    assert len(list_pilots(session, executor.record)) == 3


@HERE_ONLY
def test_jobs_that_run_nothing_are_not_sent_for_ever(session: Session, project: Path, site_name: str) -> None:
    with windlass.Executor(
        site_name, project=project, workers=1, session=session, environment__activate="exit 9"
    ) as executor:
        future = executor.submit(int, "1")

        with pytest.raises(PilotsGone, match="without having run a call"):
            future.result(120)


@HERE_ONLY
def test_a_job_has_the_time_that_was_asked_for(executor: windlass.Executor, session: Session) -> None:
    assert load_plan(session, executor.record).total_time == timedelta(minutes=10)


@HERE_ONLY
def test_shutdown_cancels_what_does_not_run(executor: windlass.Executor) -> None:
    futures = [executor.submit(time.sleep, 1) for _ in range(30)]
    _wait_until(lambda: any(future.running() for future in futures))

    executor.shutdown(cancel_futures=True)

    assert 0 < sum(future.cancelled() for future in futures) < 30
    assert all(future.done() for future in futures)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(int, "1")


@HERE_ONLY
def test_code_of_another_python_is_not_run(executor: windlass.Executor, project: Path) -> None:
    from dataclasses import replace

    from windlass.app.calls.packing import Call, pack_function

    packed = pack_function(lambda: 1)
    other = packed.content.replace(_version(), b"3.2", 1)
    digest = b"0" * 32

    future = executor._send(Call(replace(packed, digest=digest, content=other), digest + _no_arguments()))

    with pytest.raises(OtherPython, match=r"Python 3\.2"):
        future.result(60)


@HERE_ONLY
def test_retries_and_limits_of_a_call(session: Session, project: Path, site_name: str, tmp_path: Path) -> None:
    path = str(tmp_path / "tried")
    with windlass.Executor(
        site_name, project=project, workers=1, retries=1, task_limit="2s", linger="1m", session=session
    ) as executor:
        again, long = executor.submit(_fail_once, path), executor.submit(time.sleep, 3600)

        assert again.result(60) == "again"
        with pytest.raises(CallFailed, match="task_limit"):
            long.result(60)


@HERE_ONLY
def test_a_site_or_a_name_that_is_not_there_is_told(session: Session, project: Path, site_name: str) -> None:
    with pytest.raises(NotFound):
        windlass.Executor("no-such-site", project=project, session=session)
    with pytest.raises(NotFound):
        windlass.Executor.attach("no-such-farm", session=session)


def _version() -> bytes:
    return f"{sys.version_info[0]}.{sys.version_info[1]}".encode()


def _no_arguments() -> bytes:
    from windlass.app.calls.packing import pack_arguments

    return pack_arguments((), {})[0]


def _divide(one: int, *, by: int) -> float:
    return one / by


def _add(one: int, two: int) -> int:
    return one + two


def _die() -> None:
    print("about to go", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def _note(path: str, word: str) -> str:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as file:
        file.write(word + "\n")
    return word


def _fail_once(path: str) -> str:
    if Path(path).exists():
        return "again"
    open(path, "w").close()
    raise ValueError("the first time")


def _wait_for(path: str) -> None:
    while not Path(path).exists():
        time.sleep(0.05)


class _Unreadable:
    def __reduce__(self) -> tuple[object, ...]:
        return eval, ("(_ for _ in ()).throw(ImportError('only at the site'))",)


def _make_unreadable() -> object:
    return _Unreadable()


class _Point:
    def __init__(self, x: int, y: int) -> None:
        self.x, self.y = x, y

    def move(self, by: int) -> "_Point":
        return _Point(self.x + by, self.y)


def _wait_until(is_so: Callable[[], bool], timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)
