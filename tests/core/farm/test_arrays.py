"""Array scripts as farms."""

import pytest

from windlass.core.farm.arrays import read_array, read_indexes
from windlass.core.sbatch.script import read_script
from windlass.errors import TasksInvalid

SCRIPT = b"""#!/bin/bash -l
#SBATCH --array=1,3-7:2%4
#SBATCH --account=def-prof
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=01:30:00
#SBATCH --output=out-%a.txt
python3 train.py $SLURM_ARRAY_TASK_ID
"""


def test_each_index_is_a_task_with_slurms_variables() -> None:
    found = read_array(read_script(SCRIPT), "jobs/sweep.sh")

    assert [one.values["index"] for one in found.tasks] == ["1", "3", "5", "7"]
    command = found.tasks[1].command
    assert command.startswith("SLURM_ARRAY_TASK_ID=3 ")
    assert command.endswith(" /bin/bash -l jobs/sweep.sh")
    assert "SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=7" in command


def test_a_script_that_starts_several_processes_is_told_of_them() -> None:
    (several, *_) = read_array(
        read_script(SCRIPT.replace(b"#SBATCH --mem", b"#SBATCH --ntasks=3\n#SBATCH --mem")), "a.sh"
    ).tasks
    (one, *_) = read_array(read_script(SCRIPT), "a.sh").tasks

    assert " SLURM_NTASKS=3 SLURM_CPUS_PER_TASK=2 " in several.command
    assert "SLURM_NTASKS" not in one.command


def test_what_it_asks_for_is_what_a_task_needs() -> None:
    found = read_array(read_script(SCRIPT), "sweep.sh")

    assert {one.key: one.value for one in found.flags} == {
        "farm.cpus": "2",
        "farm.memory": "4096M",
        "farm.limit": "5400s",
        "resources.account": "def-prof",
    }
    assert any("--output" in one for one in found.left)
    assert any("%4" in one for one in found.left)


def test_where_it_would_run_and_steps_that_it_starts_are_told() -> None:
    """Its folder is the copy of the project; srun would start each task on all that its pilot has."""
    text = SCRIPT.replace(b"python3", b"#SBATCH -D /home/me/project\nsrun --exclusive python3")

    found = read_array(read_script(text), "sweep.sh")

    told = "\n".join(found.left)
    assert "--chdir=/home/me/project: tasks run in the project's copy at the site" in told
    assert "sweep.sh:9: srun" in told


def test_a_script_that_only_speaks_of_srun_is_not_told_of_it() -> None:
    text = SCRIPT + b"# srun was here\necho 'srun python3 x.py'\n"

    assert not any("srun" in one for one in read_array(read_script(text), "sweep.sh").left)


def test_a_script_without_an_array_is_no_farm() -> None:
    with pytest.raises(TasksInvalid, match="is no array"):
        read_array(read_script(b"#!/bin/bash\ntrue\n"), "x.sh")


@pytest.mark.parametrize("text", ["", "a", "5-1", "1-", "-3", "1-9:0"])
def test_what_slurm_refuses_is_refused(text: str) -> None:
    with pytest.raises(TasksInvalid):
        read_indexes(text, "x:1")
