"""What does it cost to know which lines of a log went to stderr, and how sharp is the answer?

The agent runs a command that prints a line to stdout so often a second, and one to stderr with every hundredth, in
turns with the same agent where nothing is watched: its run folder has a plain file in the place of streams/.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Row, show
from windlass.core.watching.log_streams import Stream, keep_lines, read_streams
from windlass.edges.job_zip import make_job_zip
from windlass_job import wire

_TURNS = 3
_SECONDS = 8
_RATES = (10, 100, 1000)
_BURST = 500_000
_STEADY = """
import os, time
begin = time.perf_counter()
for number in range({count}):
    os.write(1, b"step %d loss 0.1234 lr 0.001 812.4 img/s\\n" % number)
    if number % 100 == 50:
        os.write(2, b"UserWarning: at %d\\n" % number)
    time.sleep(max(0.0, begin + (number + 1) / {rate} - time.perf_counter()))
"""
_AS_FAST = """
import os, time
begin = time.perf_counter()
for _ in range({count}):
    os.write(1, b"step loss 0.1234 lr 0.001 812.4 img/s\\n")
print(time.perf_counter() - begin)
"""


@dataclass(frozen=True, kw_only=True)
class Seen:
    log: bytes
    streams: bytes
    agent_s: float  # CPU time of the agent and the command


def main() -> None:
    show("which lines of a log went to stderr", [*measure_rates(), measure_burst()])


def measure_rates() -> Iterator[Row]:
    for rate in _RATES:
        program = _STEADY.format(count=rate * _SECONDS, rate=rate)
        pairs = [(run(program), run(program, is_watched=False)) for _ in range(_TURNS)]
        cost = statistics.median(one.agent_s - other.agent_s for one, other in pairs)
        kept = [count_stderr(one) for one, _ in pairs]
        own = len(range(50, rate * _SECONDS, 100))
        note = f"{statistics.median(kept):g} lines of stderr shown, {own} were written to it"
        yield Row(what=f"of a core, at {rate} lines a second", value=1e6 * cost / _SECONDS, unit="ppm", note=note)


def measure_burst() -> Row:
    """Without a pause: what one write costs the training."""
    program = _AS_FAST.format(count=_BURST)
    pairs = [(run(program), run(program, is_watched=False)) for _ in range(_TURNS)]
    took, plain = (statistics.median(float(one.log.split()[-1]) for one in side) for side in zip(*pairs, strict=True))
    return Row(
        what=f"one write of a line, {_BURST:,} without a pause",
        value=1e6 * took / _BURST,
        unit="us",
        peer="unwatched",
        ratio=took / plain,
    )


def count_stderr(seen: Seen) -> int:
    streams = read_streams(seen.streams)
    return sum(not line.startswith(b"windlass") for line, _ in keep_lines([seen.log], streams, Stream.STDERR))


def run(program: str, *, is_watched: bool = True) -> Seen:
    with tempfile.TemporaryDirectory(prefix="windlass-streams-") as name:
        folder = lay_run(Path(name), is_watched)
        log = folder / wire.LOGS / "1.out"
        env = {**os.environ, wire.ENV_RUN_DIR: str(folder), wire.ENV_RUN_ID: "talk-1", "SLURM_JOB_ID": "1"}
        agent = [sys.executable, "-I", str(folder / "windlass_job.pyz"), "agent", "--gauge-interval=0"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with log.open("ab") as opened:
            argv = [*agent, "--", sys.executable, "-c", program]
            subprocess.run(argv, env=env, stdout=opened, stderr=opened, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        told = folder / wire.STREAMS / "1.out"
        return Seen(
            log=log.read_bytes(),
            streams=told.read_bytes() if is_watched else b"",
            agent_s=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        )


def lay_run(folder: Path, is_watched: bool) -> Path:
    (folder / wire.LOGS).mkdir()
    (folder / "windlass_job.pyz").write_bytes(make_job_zip())
    if not is_watched:
        (folder / wire.STREAMS).touch()
    return folder


if __name__ == "__main__":
    main()
