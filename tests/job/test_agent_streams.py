"""The agent sees which lines of a log were written to stderr, and changes nothing about the log."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.job.harness import PYTHONS, Job
from tests.waiting import wait_until
from windlass.core.watching.log_streams import Stream, read_streams
from windlass_job import wire
from windlass_job.agent.streams import Piece, Places, add_piece, format_pieces, split

TALKER = """
import os, sys, time
def say(number, text):
    os.write(number, (text + "\\n").encode())
    time.sleep(0.3)  # by turns in less than a look nobody can know
for step in range(6):
    say(1, "step {}".format(step))
    if step % 2 == 0:
        say(2, "warning at {}".format(step))
print("last words", flush=True)
time.sleep(0.3)
raise SystemExit("it broke")
"""


class RunJob(Job):
    """As a batch script runs it: its output goes into the run's folder of logs."""

    @property
    def log_path(self) -> Path:
        return self.folder / wire.LOGS / "45.out"


@pytest.fixture
def job(tmp_path: Path) -> RunJob:
    """On the oldest Python: what is told here needs nothing newer."""
    return RunJob(tmp_path, python=next(iter(PYTHONS.values())))


def list_of(job: Job, stream: Stream) -> list[str]:
    """The lines that a reader of this stream is shown."""
    log = job.log_path.read_bytes()
    told = job.folder / wire.STREAMS / job.log_path.name
    streams = read_streams(told.read_bytes() if told.exists() else b"")
    found, at = [], 0
    for line in log.splitlines(keepends=True):
        if streams.may_be(stream, at, at + len(line)):
            found.append(line.decode().rstrip("\n"))
        at += len(line)
    return found


@pytest.mark.parametrize("python", [*PYTHONS.values()][:: len(PYTHONS) - 1 or 1])
def test_every_line_is_of_the_stream_that_it_was_written_to(job: RunJob, python: str) -> None:
    job.python = python
    assert job.run(job.python, "-c", TALKER) == 1

    warnings = [f"warning at {step}" for step in range(0, 6, 2)]
    own = [line for line in list_of(job, Stream.STDERR) if not line.startswith("windlass: ")]
    assert own == [*warnings, "it broke"]
    out = list_of(job, Stream.STDOUT)
    assert [line for line in out if line.startswith("step")] == [f"step {step}" for step in range(6)]
    assert "last words" in out
    assert not set(warnings) & set(out)
    lines = job.log.splitlines()
    assert lines.index("step 2") + 1 == lines.index("warning at 2") == lines.index("step 3") - 1, "in order, as ever"


def test_by_turns_faster_than_anybody_can_look_nothing_is_hidden(job: RunJob) -> None:
    turns = "import os\nfor i in range(3000):\n    os.write(1 + i % 2, b'%d\\n' % i)"

    assert job.run(sys.executable, "-c", turns) == 0

    assert [line for line in job.log.splitlines() if line.isdigit()] == [str(i) for i in range(3000)]
    out, err = set(list_of(job, Stream.STDOUT)), set(list_of(job, Stream.STDERR))
    assert out >= {str(i) for i in range(0, 3000, 2)}
    assert err >= {str(i) for i in range(1, 3000, 2)}


@pytest.mark.parametrize(
    "script",
    [
        'for i in 1 2 3; do echo step $i; sleep 0.3; echo "warning $i" >> /dev/stderr; sleep 0.3; done',
        "for i in 1 2; do echo step; sleep 0.3; echo warning | tee -a /dev/stderr > /dev/null; sleep 0.3; done",
        "exec 3>> /dev/stderr; for i in 1 2; do echo warning >&3; echo step; done; exec 3>&-; sleep 0.5; echo end",
        "python3 -c 'import os; os.pwrite(2, b\"warning 1\\n\", 0)'; sleep 0.5; echo step 1",
    ],
    ids=["opened each time", "by tee", "kept open", "pwrite"],
)
def test_who_opens_stderr_anew_is_not_taken_for_stdout(job: RunJob, script: str) -> None:
    assert job.run("bash", "-c", script) == 0

    warnings = [line for line in job.log.splitlines() if line.startswith("warning")]
    assert warnings
    assert [line for line in list_of(job, Stream.STDERR) if line.startswith("warning")] == warnings


def test_who_only_reads_the_log_is_no_writer(job: RunJob) -> None:
    script = f"for i in 1 2; do echo step; cat {job.log_path} > /dev/null; sleep 0.3; done; echo broken >&2; sleep 0.3"

    assert job.run("bash", "-c", script) == 0

    assert [line for line in list_of(job, Stream.STDERR) if not line.startswith("windlass")] == ["broken"]


def test_after_a_log_was_emptied_its_old_streams_say_nothing(job: RunJob) -> None:
    script = 'python3 -c "print(chr(120) * 99)"; sleep 3; echo one > /dev/stderr; sleep 0.3; echo broken >&2; sleep 0.3'

    assert job.run("bash", "-c", script) == 0
    assert "broken" in list_of(job, Stream.STDERR)
    job.log_path.write_bytes(b"")
    job.env["WINDLASS_SUBMISSION"] = "2"
    assert job.run("bash", "-c", "echo broken again >&2; sleep 0.3; echo step") == 0

    assert "broken again" in list_of(job, Stream.STDERR)


def test_a_job_that_is_cancelled_leaves_open_whose_its_last_words_are(job: RunJob) -> None:
    """What Slurm says of it goes to the opening that is the command's stdout."""
    with job.start("bash", "-c", "echo step; trap 'sleep 3; exit 1' TERM; touch ready; sleep 60") as process:
        wait_until(lambda: (job.home / "ready").exists(), "the command")
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: "was told to end" in job.log, "the word of the agent")
        with job.log_path.open("ab") as log:
            log.write(b"slurmstepd: error: *** JOB 45 CANCELLED ***\n")
        process.wait(30)

    assert "slurmstepd: error: *** JOB 45 CANCELLED ***" in list_of(job, Stream.STDERR)


def test_flags_that_a_program_takes_away_from_its_output_come_back(job: RunJob) -> None:
    """Else what is written to stderr would lie over what was written to stdout."""
    unset = "import fcntl, os, sys, time; fcntl.fcntl(2, fcntl.F_SETFL, os.O_NONBLOCK)"
    script = f"{unset}; os.write(1, b'first\\n'); time.sleep(0.5); os.write(2, b'second\\n'); os.write(1, b'third\\n')"

    assert job.run("python3", "-c", script.replace("\\\\", "\\")) == 0

    assert job.printed == "first\nsecond\nthird\n"


@pytest.mark.parametrize("how", ["link", "pipe", "the log itself", "a folder elsewhere"])
def test_it_writes_into_nothing_but_a_file_of_its_own(job: RunJob, tmp_path: Path, how: str) -> None:
    place = job.folder / wire.STREAMS / job.log_path.name
    job.log_path.parent.mkdir(parents=True)
    job.log_path.touch()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if how == "a folder elsewhere":
        place.parent.symlink_to(elsewhere)
    else:
        place.parent.mkdir()
        match how:
            case "link":
                place.symlink_to(elsewhere / "file")
            case "pipe":
                os.mkfifo(place)
            case _:
                place.hardlink_to(job.log_path)

    assert job.run("bash", "-c", "echo words; sleep 0.3; echo complaint >&2") == 0

    assert job.printed == "words\ncomplaint\n"
    assert list(elsewhere.iterdir()) == []


def test_what_a_command_leaves_behind_may_go_on_printing(job: RunJob) -> None:
    """Nothing stands between it and the log that could break."""
    assert job.run("bash", "-c", "(sleep 1; echo later >&2) & echo now >&2") == 0

    assert "later" not in job.log, "it is printed when the agent has gone"
    wait_until(lambda: job.log.endswith("later\n"), "the line of what was left behind")
    assert "now" in list_of(job, Stream.STDERR)


def test_a_log_that_is_elsewhere_is_left_as_it_is(tmp_path: Path) -> None:
    job = Job(tmp_path)

    assert job.run("bash", "-c", "echo words; echo complaint >&2") == 0

    assert job.printed == "words\ncomplaint\n"
    assert not (job.folder / wire.STREAMS).exists()


def test_a_folder_that_cannot_be_written_costs_nothing(job: RunJob) -> None:
    job.folder.mkdir()
    (job.folder / wire.STREAMS).write_text("no folder")

    assert job.run("bash", "-c", "echo words; echo complaint >&2") == 0

    assert job.printed == "words\ncomplaint\n"


@pytest.mark.parametrize(
    ("before", "now", "known", "pieces", "then"),
    [
        (Places(0, 0), Places(0, 0), 0, [], 0),
        (Places(10, 0), Places(20, 0), 10, [Piece("o", 10, 20)], 20),
        (Places(10, 0), Places(10, 20), 10, [Piece("e", 10, 20)], 20),
        (Places(10, 8), Places(15, 20), 10, [Piece("m", 10, 15), Piece("e", 15, 20)], 20),
        (Places(10, 8), Places(30, 20), 10, [Piece("m", 10, 20), Piece("o", 20, 30)], 30),
        (Places(50, 40), Places(6, 40), 6, [], 6),
    ],
    ids=["nothing", "out", "err", "err last", "out last", "emptied"],
)
def test_between_two_looks(before: Places, now: Places, known: int, pieces: list[Piece], then: int) -> None:
    assert split(before, now, known) == (pieces, then)


def test_one_stream_that_goes_on_is_one_piece() -> None:
    pieces: list[Piece] = []
    for piece in [Piece("o", 5, 7), Piece("o", 7, 9), Piece("m", 9, 12), Piece("m", 12, 13), Piece("e", 20, 21)]:
        add_piece(pieces, piece)

    assert format_pieces(pieces) == b"@5 o4 m4\n@20 e1\n"
