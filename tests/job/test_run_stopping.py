"""When a training is told to stop: by the signal, or because what is left does no more than for two saves."""

import json
import signal
import time

import pytest

from tests.job.harness import OLDEST_AND_NEWEST
from tests.job.trainings import Home, end, read_lines
from windlass_job.saving.stopping import MARGIN_S, MOST_CALLS, SAVES, Stopping

LOOP = """
import time
from windlass_job import run
saves = run.checkpoint("checkpoints")
print("ready", flush=True)
step = 0
while not run.should_stop():
    step += 1
    time.sleep(0.01)
with saves.save(step) as folder:
    (folder / "step").write_text(str(step))
print("saved", step)
"""


@pytest.mark.parametrize("python", list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
@pytest.mark.parametrize("name", ["TERM", "USR2", "INT"])
def test_the_signal_lets_the_training_save_and_leave(home: Home, python: str, name: str) -> None:
    home.python = python
    training = home.start(LOOP, env={"WINDLASS_STOP_SIGNAL": name})
    read_lines(training, "ready")

    training.send_signal(getattr(signal, f"SIG{name}"))
    done = end(training)

    assert done.code == 0, done.err
    assert len(home.list_saves()) == 1
    assert json.loads((home.run / "progress.json").read_text())["stopping"] is True


def test_a_signal_between_opening_the_folder_and_the_first_question_is_not_lost(home: Home) -> None:
    script = LOOP.replace('print("ready", flush=True)', "import os; os.kill(os.getpid(), 15); print('ready')")

    done = home.train(script)

    assert (done.code, home.list_saves()) == (0, ["step-0000000000"])


HANDLED = """
import os, signal
signal.signal(signal.SIGTERM, lambda *_: print("mine"))
from windlass_job import run
run.should_stop()
os.kill(os.getpid(), 15)
print(run.should_stop())
"""


def test_a_handler_of_the_trainings_own_runs_too(home: Home) -> None:
    assert home.train(HANDLED).out == "mine\nTrue\n"


POOL = """
import multiprocessing, time
from windlass_job import run

def work(number):
    time.sleep(number)

if __name__ == "__main__":
    run.should_stop()
    pool = multiprocessing.get_context("fork").Pool(2)
    pool.map_async(work, [1000, 1000])
    time.sleep(0.3)
    pool.terminate()
    pool.join()
    print("ended", run.should_stop())
"""


def test_children_that_are_told_to_end_still_die(home: Home) -> None:
    """multiprocessing ends its workers by SIGTERM: one that takes it for a wish would stay."""
    assert home.train(POOL).out == "ended False\n"


IN_THREAD = """
import threading
from windlass_job import run
found = []
thread = threading.Thread(target=lambda: found.append(run.should_stop()))
thread.start()
thread.join()
print(found)
"""


def test_it_may_be_asked_in_any_thread(home: Home) -> None:
    assert home.train(IN_THREAD).out == "[False]\n"


def test_outside_of_windlass_nothing_is_touched(home: Home) -> None:
    asked = "import signal; from windlass_job import run; print(run.should_stop(), run.is_windlass, run.link); "
    script = asked + "run.checkpoint('c'); print(signal.getsignal(15) == signal.SIG_DFL)"

    done = home.train(script, attempt=None, env={"SLURM_JOB_END_TIME": "1000000000"})

    assert done.out == "False False 1\nTrue\n"
    assert not (home.run / "progress.json").exists()


def end_in(seconds: float) -> dict[str, str]:
    return {"SLURM_JOB_END_TIME": str(int(time.time() + seconds))}


def test_it_is_time_when_less_is_left_than_two_saves_take() -> None:
    asked = Stopping(end_in(1000))

    answers = []
    for save_s in (0.0, 100.0, 450.0, 0.5 * (1000 - MARGIN_S) + 1, 600.0):
        asked.measure(save_s)
        answers.append(asked.ask())

    assert SAVES == 2
    assert answers == [False, False, False, True, True]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_who_asks_once_an_epoch_is_told_before_the_epoch_that_no_longer_fits() -> None:
    clock = Clock()
    asked = Stopping(end_in(10_000), clock=clock)

    answers = []
    for clock.now in (3000.0, 6000.0, 6001.0, 6002.0, 9000.0):
        answers.append(asked.ask())

    assert answers == [False, False, False, False, True]


@pytest.mark.parametrize("all_ranks", [False, True])
def test_the_time_to_set_up_is_no_step(all_ranks: bool) -> None:
    """Else a link in which little more than one step fits would never make one."""
    clock = Clock()
    asked = Stopping(end_in(10_000), clock=clock)

    answers = []
    for clock.now in (6000.0, 6001.0, 7000.0):
        answers.append(asked.ask_all(lambda number: number) if all_ranks else asked.ask())

    assert answers == [False, False, False]
    clock.now = 9990.0
    assert asked.ask_all(lambda number: number) if all_ranks else asked.ask()


def test_so_are_ranks_that_agree_once_an_epoch() -> None:
    clock = Clock()
    asked = Stopping(end_in(10_000), clock=clock)

    answers = []
    for clock.now in (3000.0, 6000.0, 9000.0):
        answers.append(asked.ask_all(lambda number: number))

    assert answers == [False, False, True]


def test_what_was_answered_once_stays() -> None:
    asked = Stopping(end_in(-5))

    assert asked.ask()
    asked.measure(0)
    assert asked.ask()


def test_the_time_of_a_save_in_the_link_before_counts_from_the_first_step(home: Home) -> None:
    script = "from windlass_job import run; print(run.should_stop())"
    (home.run / "progress.json").write_text(json.dumps({"save_s": 400.0, "submission": 1, "link": 1, "attempt": 1}))

    soon, late = (home.train(script, attempt=(1, 2, 1), env=end_in(left)).out.strip() for left in (700, 900))

    assert (soon, late) == ("True", "False")


def test_without_slurms_word_the_agents_counts() -> None:
    assert Stopping({"WINDLASS_DEADLINE": str(int(time.time()) - 1)}).ask()
    assert not Stopping({"WINDLASS_DEADLINE": ""}).ask()
    assert not Stopping({"SLURM_JOB_END_TIME": "soon"}).ask()


def test_ranks_agree_seldom_and_never_too_seldom() -> None:
    """Each call for the least of all is a message to every rank; in between it costs nothing."""
    told: list[int] = []

    def least(number: int) -> int:
        told.append(number)
        return number

    asked = Stopping({})
    calls = 2000
    for _ in range(calls):
        assert not asked.ask_all(least)

    assert calls / MOST_CALLS <= len(told) < calls / MOST_CALLS + 20
    assert max(told) == MOST_CALLS


def test_one_rank_that_wants_to_stop_is_enough() -> None:
    asked = Stopping({})

    assert asked.ask_all(lambda number: 0)
    assert asked.ask_all(lambda number: pytest.fail("all have agreed already"))
