"""A run that is being submitted is known as such exactly as long as its process lives."""

import subprocess
import sys
from pathlib import Path

from windlass.edges.run_lock import hold_run, is_held

HOLD = """
import sys
from pathlib import Path
from windlass.edges.run_lock import hold_run
with hold_run(Path(sys.argv[1]), "a-11111"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_it_is_held_within_and_not_after(tmp_path: Path) -> None:
    with hold_run(tmp_path / "locks", "a-11111"):
        assert is_held(tmp_path / "locks", "a-11111")
        assert not is_held(tmp_path / "locks", "b-22222")

    assert not is_held(tmp_path / "locks", "a-11111")
    assert list((tmp_path / "locks").iterdir()) == []


COUNT = """
import sys
from pathlib import Path
from windlass.edges.run_lock import hold_run
folder = Path(sys.argv[1])
for _ in range(300):
    with hold_run(folder / "locks", "a-11111"):
        count = int((folder / "count").read_text())
        (folder / "count").write_text(str(count + 1))
"""


def test_those_who_wait_get_it_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0")
    processes = [subprocess.Popen([sys.executable, "-c", COUNT, tmp_path]) for _ in range(3)]
    while any(process.poll() is None for process in processes):
        is_held(tmp_path / "locks", "a-11111")

    assert [process.returncode for process in processes] == [0, 0, 0]
    assert (tmp_path / "count").read_text() == "900"


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    held = is_held(tmp_path, "a-11111")

    process.kill()
    process.communicate()

    assert held
    assert not is_held(tmp_path, "a-11111")
    assert list(tmp_path.iterdir()) == []
