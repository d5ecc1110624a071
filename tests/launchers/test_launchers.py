"""How processes start: what each launcher of the catalogue runs on the first node."""

from dataclasses import replace

import pytest

from tests.builders import PLAN
from windlass.core.plan import Plan
from windlass.errors import PlanError
from windlass.launchers import LAUNCHERS

ZIP = f"{PLAN.folder}/windlass_job.pyz"
TASK_SH = ("bash", f"{PLAN.folder}/task.sh", "python3", ZIP, "rank-env", "TERM")
RANK_ENV = ("python3", "-I", ZIP, "rank-env", "--stop-signal", "TERM", "--")
MANY = replace(PLAN, nodes=2, gpus_per_node=4, processes_per_node=4)


def argv(launcher: str, plan: Plan = PLAN, *, command: str = PLAN.command) -> tuple[str, ...]:
    return LAUNCHERS[launcher].make_argv(replace(plan, command=command))


@pytest.mark.parametrize("name", LAUNCHERS)
def test_it_is_known_by_its_own_name_and_says_what_it_does(name: str) -> None:
    assert LAUNCHERS[name].name == name
    assert LAUNCHERS[name].summary


@pytest.mark.parametrize("name", LAUNCHERS)
@pytest.mark.parametrize("command", ["", "  \n", "-x", "+x"])
def test_what_bash_would_not_run_as_a_command_is_refused(name: str, command: str) -> None:
    with pytest.raises(PlanError):
        argv(name, command=command)


@pytest.mark.parametrize("name", LAUNCHERS)
def test_the_same_plan_starts_the_same(name: str) -> None:
    assert argv(name, MANY) == argv(name, MANY)


def test_single_is_the_command_as_it_is() -> None:
    line = "python train.py | tee log; echo 'done'"

    assert argv("single", command=line) == ("bash", "-c", line)


def test_srun_starts_one_process_for_each_gpu_that_sees_all_of_them_and_has_cores_of_its_own() -> None:
    assert LAUNCHERS["srun"].task_for_each_process
    assert argv("srun", replace(MANY, tasks_per_node=4)) == (
        *("srun", "--kill-on-bad-exit=1", "--gpu-bind=none", "--cpu-bind=cores", "--distribution=block"),
        *TASK_SH,
        *("bash", "-c", "python train.py"),
    )


@pytest.mark.parametrize(
    "line",
    ["python a.py | tee log", "cd x && python a.py", "python a.py\npython b.py", "time python a.py", "python a.py &"],
)
def test_what_is_more_than_one_program_is_left_to_python(line: str) -> None:
    """A signal must find the training behind the shell."""
    assert argv("srun", MANY, command=line)[-10:] == (*RANK_ENV, "bash", "-c", line)


@pytest.mark.parametrize(
    "line",
    [
        "python a.py --lr $LR",
        "OMP=1 python 'a b.py'",
        "nice python a.py",
        "python a.py \\\n --x 1",
        "./a.out",
        "p --a '' --b ';' \"&\"",
    ],
)
def test_one_program_needs_only_bash_before_it(line: str) -> None:
    assert argv("srun", MANY, command=line)[-9:] == (*TASK_SH, "bash", "-c", line)


def test_srun_binds_no_gpus_where_there_are_none() -> None:
    assert "--gpu-bind=none" not in argv("srun", replace(PLAN, nodes=2))


def test_one_task_a_node_has_all_cores_of_the_job_and_is_not_bound() -> None:
    assert "--cpu-bind=cores" not in argv("torchrun", MANY)


def test_the_users_own_binding_counts() -> None:
    plan = replace(MANY, tasks_per_node=4, env={"SLURM_CPU_BIND": "sockets"})

    assert "--cpu-bind=cores" not in argv("srun", plan)


def test_each_task_gets_the_signal_the_user_wants() -> None:
    words = argv("srun", replace(MANY, stop_signal="USR2"))

    assert words[words.index("rank-env") + 1] == "USR2"


def test_lightning_is_srun_whose_tasks_find_slurms_variables_as_it_reads_them() -> None:
    assert LAUNCHERS["lightning"].task_for_each_process
    assert argv("lightning", replace(MANY, tasks_per_node=4)) == (
        *("srun", "--kill-on-bad-exit=1", "--gpu-bind=none", "--cpu-bind=cores", "--distribution=block"),
        *(*RANK_ENV[:-1], "--world", "lightning", "--"),
        *("bash", "-c", "python train.py"),
    )
