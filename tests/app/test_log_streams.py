"""Which lines of a job's log were written to stderr is known at home, on every engine and from every node."""

from pathlib import Path

import pytest

from tests.app.conftest import ENGINES
from tests.app.test_story import start
from windlass.app.following import wait
from windlass.app.logs import read_log, read_stream
from windlass.app.session import Session
from windlass.core.record import RunState
from windlass.core.watching.log_streams import Stream

pytestmark = pytest.mark.parametrize("session", ENGINES, indirect=True)

TRAIN = """
import os, time
rank = os.environ.get("SLURM_PROCID", "0")
for step in range(5):
    os.write(1, f"step {step} of {rank}\\n".encode()); time.sleep(0.1)
    os.write(2, f"warning {step} of {rank}\\n".encode()); time.sleep(0.1)
"""


@pytest.mark.parametrize("nodes", [1, 2])
def test_each_stream_can_be_read_by_itself(session: Session, tmp_path: Path, site_name: str, nodes: int) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "windlass.toml").write_text(
        '[run]\nname = "talk"\ncommand = "python3 train.py"\nlauncher = "srun"\n'
        f'[resources]\nnodes = {nodes}\ntime = "2m"\ncpus = 1\nmemory = "200M"\n'
    )

    record = wait(session, start(session, tmp_path, site_name))

    assert record.state is RunState.DONE, record.reason
    whole = b"".join(read_log(session, record)).splitlines()
    for stream, word, other in ((Stream.STDOUT, b"step", b"warning"), (Stream.STDERR, b"warning", b"step")):
        lines = [line.rstrip() for line, _ in read_stream(session, record, stream)]
        own = [line for line in whole if word in line]
        assert len(own) == 5 * nodes
        assert [line for line in lines if word in line] == own
        # What was written by both in the same moment, as two nodes may, is shown in both.
        assert len([line for line in lines if other in line]) < len(own)
