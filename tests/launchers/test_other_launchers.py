"""How Horovod, TensorFlow, MPI, Spark and copies on one GPU start."""

from dataclasses import replace

import pytest

from tests.builders import ATTEMPT, PLAN, SITE, SPEC
from tests.launchers.test_recognising import EIGHT_GPUS, choose
from windlass.core.facts import NOTHING_SEEN
from windlass.core.plan import Plan
from windlass.core.planning import make_plan
from windlass.core.run import Resources
from windlass.errors import PlanError
from windlass.launchers import LAUNCHERS

ZIP = f"{PLAN.folder}/windlass_job.pyz"
OURS = ("python3", "-I", ZIP)
RANK_ENV = (*OURS, "rank-env", "--stop-signal", "TERM")
MANY = replace(PLAN, nodes=2, processes_per_node=2, tasks_per_node=2, cpus_per_task=4, memory_mb=8000)
SRUN = ("srun", "--kill-on-bad-exit=1", "--cpu-bind=cores", "--distribution=block")


def argv(launcher: str, plan: Plan = MANY, *, command: str = PLAN.command) -> tuple[str, ...]:
    return LAUNCHERS[launcher].make_argv(replace(plan, command=command))


@pytest.mark.parametrize("world", ["horovod", "tensorflow"])
def test_each_process_is_a_task_that_gets_the_variables_of_its_framework(world: str) -> None:
    assert LAUNCHERS[world].task_for_each_process
    assert argv(world) == (*SRUN, *RANK_ENV, "--world", world, "--", "bash", "-c", "python train.py")


@pytest.mark.parametrize(
    ("launcher", "variable"), [("horovod", "HOROVOD_GLOO_IFACE"), ("mpi", "OMPI_MCA_btl_tcp_if_include")]
)
def test_the_sites_interface_is_named_where_there_are_several_nodes(launcher: str, variable: str) -> None:
    make_env = LAUNCHERS[launcher].make_env

    assert make_env(replace(MANY, interface="ib0")) == {variable: "ib0"}
    assert make_env(replace(MANY, interface="ib0", nodes=1)) == {}
    assert make_env(MANY) == {}


@pytest.mark.parametrize(
    "command",
    [
        "horovodrun -np 8 python train.py",
        "horovodrun -np 4 -H n1:2,n2:2 --gloo python train.py",
        "/venv/bin/horovodrun --num-proc=4 python train.py",
    ],
)
def test_horovodrun_is_replaced(command: str) -> None:
    assert argv("horovod", command=command)[-1] == "python train.py"


def test_what_horovodrun_was_told_is_not_dropped_silently() -> None:
    with pytest.raises(PlanError, match="horovodrun"):
        argv("horovod", command="horovodrun -np 4 --fusion-threshold-mb 32 python train.py")


def test_mpi_is_tried_with_the_programs_own_python() -> None:
    assert argv("mpi", command="/venv/bin/python -u train.py") == (
        *(*OURS, "mpi", "--processes", "4", "--try-with", "/venv/bin/python", "--"),
        *(*SRUN, *RANK_ENV, "--world", "mpi", "--", "bash", "-c", "/venv/bin/python -u train.py"),
    )


def test_a_program_without_python_is_started_untried() -> None:
    assert "--try-with" not in argv("mpi", command="./simulate python.cfg")


@pytest.mark.parametrize(
    "command",
    ["mpirun -np 8 ./simulate", "mpiexec -n 8 --map-by node ./simulate", "/opt/bin/mpirun --oversubscribe ./simulate"],
)
def test_mpirun_is_replaced(command: str) -> None:
    assert argv("mpi", command=command)[-1] == "./simulate"


def test_what_mpirun_was_told_is_not_dropped_silently() -> None:
    with pytest.raises(PlanError, match="mpirun"):
        argv("mpi", command="mpirun -x SEED=4 ./simulate")


def test_spark_is_one_task_a_node_with_the_cores_and_memory_of_the_plan() -> None:
    assert not LAUNCHERS["spark"].task_for_each_process
    assert argv("spark", replace(MANY, tasks_per_node=1), command="spark-submit count.py") == (
        *(*OURS, "secret", "WINDLASS_SPARK_SECRET", "--", "srun", "--kill-on-bad-exit=1", *RANK_ENV, "--"),
        *(*OURS, "spark", "--stop-signal", "TERM", "--cores", "4", "--memory-mb", "8000", "--"),
        *("bash", "-c", "spark-submit count.py"),
    )


@pytest.mark.parametrize("program", ["python3", "spark-submit"])
def test_spark_is_looked_for_beside_the_program_of_the_command(program: str) -> None:
    words = argv("spark", command=f"/venv/bin/{program} count.py")

    assert words[words.index("--beside") + 1] == "/venv/bin"


def test_mps_is_one_task_a_node_that_starts_the_copies() -> None:
    launcher = LAUNCHERS["mps"]
    assert (launcher.task_for_each_process, launcher.starts_the_rest) == (False, True)
    assert argv("mps", replace(MANY, nodes=1, tasks_per_node=1, gpus_per_node=1, processes_per_node=3)) == (
        *("srun", "--kill-on-bad-exit=1", "--gpu-bind=none", *RANK_ENV, "--"),
        *(*OURS, "mps", "--stop-signal", "TERM", "--replicas", "3", "--gpus", "1", "--"),
        *("bash", "-c", "python train.py"),
    )


def test_copies_share_the_cores_of_the_node() -> None:
    copies = Resources(nodes=1, gpus=1, gpu="a100", processes_per_node=4, cpus=8)

    spec = replace(SPEC, launcher="mps", resources=replace(copies, time=SPEC.resources.time))
    found = make_plan(spec, SITE, NOTHING_SEEN, ATTEMPT, launchers=LAUNCHERS)

    assert (found.tasks_per_node, found.processes_per_node, found.threads) == (1, 4, max(1, found.cpus_per_task // 4))


@pytest.mark.parametrize(
    ("text", "launcher"),
    [
        ("import horovod.torch as hvd\nhvd.init()\n", "horovod"),
        ("import horovod.tensorflow.keras as hvd\nhvd.init()\n", "horovod"),
        ("import tensorflow as tf\ntf.distribute.MultiWorkerMirroredStrategy()\n", "tensorflow"),
        ("import tensorflow as tf\ntf.distribute.experimental.MultiWorkerMirroredStrategy()\n", "tensorflow"),
        ("from mpi4py import MPI\ncomm = MPI.COMM_WORLD\nprint(comm.Get_rank())\n", "mpi"),
        ("import mpi4py.MPI\nmpi4py.MPI.COMM_WORLD.Get_rank()\n", "mpi"),
        ("from pyspark.sql import SparkSession\nspark = SparkSession.builder.appName('x').getOrCreate()\n", "spark"),
        ("from pyspark import SparkContext\nsc = SparkContext()\n", "spark"),
        ("import horovod.torch\n", "srun"),
        ("import tensorflow as tf\ntf.distribute.MirroredStrategy()\n", "srun"),
    ],
)
def test_the_code_says_what_it_is_made_for(text: str, launcher: str) -> None:
    assert choose({"train.py": text}) == launcher


@pytest.mark.parametrize(
    ("command", "launcher"),
    [
        ("horovodrun -np 8 python train.py", "horovod"),
        ("mpirun -np 8 ./simulate", "mpi"),
        ("mpiexec -n 8 ./simulate", "mpi"),
        ("spark-submit --class Count count.jar", "spark"),
    ],
)
def test_a_starter_in_the_command_says_so_too(command: str, launcher: str) -> None:
    assert choose({"train.py": "print(1)\n"}, command) == launcher


def test_another_starter_counts_more_than_an_import() -> None:
    files = {"train.py": "from mpi4py import MPI\nimport torch\n"}

    assert choose(files, "torchrun --nproc_per_node=4 train.py", EIGHT_GPUS) == "torchrun"


def test_spark_on_one_node_needs_no_cluster() -> None:
    text = "from pyspark import SparkContext\nsc = SparkContext()\n"

    assert choose({"train.py": text}, resources=Resources(nodes=1)) == "single"
