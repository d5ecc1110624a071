"""pip on this laptop: which one, and nothing of the project in its place."""

import os
import subprocess
import sys
from pathlib import Path


def test_a_pip_in_the_folder_of_the_project_is_not_run(tmp_path: Path) -> None:
    for name in ("pip.py", "json.py"):
        (tmp_path / name).write_text("open('was-run', 'w').close()\n")
    code = "from windlass.edges import laptop_pip; print(laptop_pip._find_pip()[0])"
    env = {**os.environ, "PYTHONSAFEPATH": "1"}  # of this process alone

    argv = [sys.executable, "-c", f"import os; del os.environ['PYTHONSAFEPATH']; {code}"]
    done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == sys.executable
    assert not (tmp_path / "was-run").exists()
