"""What --fix writes: only what is certainly meant, whole or not at all."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.lint.examples import EXAMPLES, make_script
from tests.lint.test_fixtures import SCRIPTS
from windlass.app.linting import Looking, lint_paths, mend
from windlass.core.sbatch.script import read_script

HEAD = b"#!/bin/bash\n#SBATCH --time=1:00:00\n#SBATCH --mem=4G\n"

FIXED: dict[str, tuple[bytes, bytes]] = {
    "dos": (b"#!/bin/bash\r\n#SBATCH --nodes=1\r\n", b"#!/bin/bash\n#SBATCH --nodes=1\n"),
    "byte order mark": (b"\xef\xbb\xbf#!/bin/bash\nhostname\n", b"#!/bin/bash\nhostname\n"),
    "both": (b"\xef\xbb\xbf#!/bin/bash\r\nhostname\r\n", b"#!/bin/bash\nhostname\n"),
    "no shebang": (b"#SBATCH --nodes=1\nhostname\n", b"#!/bin/bash\n#SBATCH --nodes=1\nhostname\n"),
    "no bang": (b"#/bin/bash\nhostname\n", b"#!/bin/bash\nhostname\n"),
    "small letters": (HEAD + b"#sbatch --nodes=2\n", HEAD + b"#SBATCH --nodes=2\n"),
    "indented": (HEAD + b"  #SBATCH --nodes=2\n", HEAD + b"#SBATCH --nodes=2\n"),
    "mistyped": (HEAD + b"#SBATCH --ntaks-per-node=4\n", HEAD + b"#SBATCH --ntasks-per-node=4\n"),
    "underscores": (HEAD + b"#SBATCH --cpus_per_task=4\n", HEAD + b"#SBATCH --cpus-per-task=4\n"),
    "old name": (HEAD + b"#SBATCH --workdir=/tmp\n", HEAD + b"#SBATCH --chdir=/tmp\n"),
    "short equals": (HEAD + b"#SBATCH -p=gpu\n", HEAD + b"#SBATCH -p gpu\n"),
    "em dash": (HEAD + "#SBATCH —nodes=2\n".encode(), HEAD + b"#SBATCH --nodes=2\n"),
    "en dash": (HEAD + "#SBATCH –o x-%j.out\n".encode(), HEAD + b"#SBATCH -o x-%j.out\n"),
    "curly quotes": (HEAD + "#SBATCH --job-name=“a b”\n".encode(), HEAD + b'#SBATCH --job-name="a b"\n'),
    "no-break space": (HEAD + "#SBATCH\u00a0--nodes=2\n".encode(), HEAD + b"#SBATCH --nodes=2\n"),
    "fraction": (b"#!/bin/bash\n#SBATCH --mem=1.5G\n", b"#!/bin/bash\n#SBATCH --mem=1536M\n"),
    "hours": (b"#!/bin/bash\n#SBATCH --time=24h\n", b"#!/bin/bash\n#SBATCH --time=24:00:00\n"),
    "gpus": (HEAD + b"#SBATCH --gres=gpus:2\n", HEAD + b"#SBATCH --gres=gpu:2\n"),
    "gres with a colon": (HEAD + b"#SBATCH --gres:gpu=2\n", HEAD + b"#SBATCH --gres=gpu:2\n"),
    "one dash": (HEAD + b"#SBATCH -ntasks=2\n", HEAD + b"#SBATCH --ntasks=2\n"),
    "no dash": (HEAD + b"#SBATCH nodes=2\n", HEAD + b"#SBATCH --nodes=2\n"),
    "comment": (HEAD + b"#SLURM_NTASKS is set\n", HEAD + b"# SLURM_NTASKS is set\n"),
    "two on a line": (HEAD + b"#SBATCH -N1 #SBATCH -n2\n", HEAD + b"#SBATCH -N1\n#SBATCH -n2\n"),
    "srun's cores": (
        HEAD + b"#SBATCH -c 8\n\nsrun python -u train.py\n",
        HEAD + b"#SBATCH -c 8\n\nexport SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\nsrun python -u train.py\n",
    ),
    "letters swapped": (HEAD + b"#SBTACH --nodes=2\n", HEAD + b"#SBATCH --nodes=2\n"),
    "dash in the first line": ("#!/bin/sh –l\nhostname\n".encode(), b"#!/bin/sh -l\nhostname\n"),
    "one dash before an alias": (HEAD + b"#SBATCH -tasks-per-node=5\n", HEAD + b"#SBATCH --tasks-per-node=5\n"),
    "not utf-8": (b"#!/bin/bash\r\n# caf\xe9\r\n", b"#!/bin/bash\n# caf\xe9\n"),
}
# Meant one way or another: left alone.
LEFT = (
    b"# SBATCH --nodes=2\n",  # perhaps switched off
    b"# sbatch --nodes=2\n",
    b"# SBTACH --nodes=2\n",
    b"#SBATCH --gpu=1\n",
    b"#SBATCH --time=24:00\n",
    b"#SBATCH --output=train.log\n",
    b"#SBATCH --cpu_bind=none\n",
    b"#SBATCH --frobnicate=1\n",
    b"#SBATCH --account=<project>\n",
)


def fix(path: Path) -> None:
    for linted in lint_paths([str(path)], Looking()):
        mend(linted, Looking())


@pytest.mark.parametrize("name", FIXED)
def test_what_is_certainly_meant_is_written(tmp_path: Path, name: str) -> None:
    before, after = FIXED[name]
    path = tmp_path / "job.sh"
    path.write_bytes(before)

    fix(path)

    assert path.read_bytes() == after


@pytest.mark.parametrize("text", LEFT)
def test_what_may_be_meant_otherwise_is_left(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "job.sh"
    path.write_bytes(HEAD + text)

    fix(path)

    assert path.read_bytes() == HEAD + text


@pytest.mark.parametrize("file", sorted(SCRIPTS.glob("*.sh")), ids=lambda path: path.stem)
def test_a_fix_makes_no_script_worse(tmp_path: Path, file: Path) -> None:
    path = tmp_path / file.name
    path.write_bytes(file.read_bytes())

    fix(path)

    before, after = read_script(file.read_bytes()), read_script(path.read_bytes())
    assert after.is_accepted or not before.is_accepted
    again = path.read_bytes()
    fix(path)
    assert path.read_bytes() == again


@pytest.mark.parametrize("code", EXAMPLES)
def test_a_near_miss_is_not_touched_by_its_rule(tmp_path: Path, code: str) -> None:
    path = tmp_path / "job.sh"
    path.write_bytes(make_script(EXAMPLES[code][1]))

    for linted in lint_paths([str(path)], Looking(select=(code,))):
        mend(linted, Looking(select=(code,)))

    assert path.read_bytes() == make_script(EXAMPLES[code][1])


def test_mode_and_link_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "job.sh", tmp_path / "link.sh"
    path.write_bytes(FIXED["dos"][0])
    path.chmod(0o750)
    link.symlink_to("job.sh")

    fix(link)

    assert link.is_symlink()
    assert path.read_bytes() == FIXED["dos"][1]
    assert path.stat().st_mode & 0o777 == 0o750
    assert sorted(one.name for one in tmp_path.iterdir()) == ["job.sh", "link.sh"]


def test_diff_shows_and_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "job.sh"
    path.write_bytes(FIXED["mistyped"][0])
    command = [sys.executable, "-m", "windlass", "lint", "--diff", "job.sh"]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    assert "-#SBATCH --ntaks-per-node=4\n+#SBATCH --ntasks-per-node=4" in done.stdout
    assert path.read_bytes() == FIXED["mistyped"][0]
