"""The job script: what we submit is a golden file, and its diff is the review.

WINDLASS_GOLDEN=write writes them anew.
"""

import subprocess
from argparse import ArgumentParser
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.builders import GPU, GPU_NODE, HOUR, PLAN, SITE, SPEC, plan_for
from tests.goldens import check_golden
from windlass.core.chain import list_submissions
from windlass.core.codec import from_json, to_json
from windlass.core.facts import Association, Facts, SeenPartition
from windlass.core.job import make_script, make_token, make_workdir
from windlass.core.plan import Plan
from windlass.core.planning import Attempt, make_plan
from windlass.core.run import Checkpoint, Environment, Resources, RunSpec
from windlass.core.site import (
    Accounting,
    ChainStyle,
    CostUnit,
    GpuDialect,
    ModuleSystem,
    Network,
    Partition,
    Qos,
    Rules,
    Site,
    Software,
)
from windlass.errors import PlanError, WindlassError
from windlass.launchers import LAUNCHERS
from windlass.pocket.directives import read_directives
from windlass_job.agent.agent import add_options

GOLDEN = Path(__file__).parent / "golden"

HERE = Site(
    name="here",
    root="/home/alice/.local/share/windlass",
    partitions=(Partition(name="pocket", is_default=True),),
    rules=Rules(typed_gpus=False),
    software=Software(slurm_path="/opt/windlass/pocket/bin"),
)
FABRIC = replace(
    SITE,
    accounting=Accounting(unit=CostUnit.CORE_HOURS, charged_cores_per_node=64),
    software=Software(modules=ModuleSystem.LMOD, purge_modules=True, always_load=("Stages/2024",)),
    network=Network(host_suffix="i", env={"NCCL_SOCKET_IFNAME": "ib0", "GLOO_SOCKET_IFNAME": "ib0"}),
)
CHAIN = replace(
    SPEC,
    command="python train.py --lr 0.1",
    launcher="torchrun",
    checkpoint=Checkpoint(folder="checkpoints", signal="USR1", notice=timedelta(minutes=5)),
    environment=Environment(modules=("CUDA/12", "PyTorch/2.3"), activate="source env/bin/activate"),
    resources=Resources(gpus=8, time=80 * HOUR, account="prof", qos="normal"),
)
FEATURE = replace(
    SITE, rules=Rules(gpu_dialect=GpuDialect.CONSTRAINT, whole_nodes=True), qos=(Qos(name="regular", max_time=HOUR),)
)
ODD_ENV = {
    "EMPTY": "",
    "LINES": "one\ntwo\r\n#SBATCH --exclusive",
    "QUOTES": 'it\'s "so" `here` $(there) $HOME \\',
    "UNICODE": "grün 漢字",
}


def plan_resumed() -> Plan:
    attempt = Attempt(run_id="digits-k3f9w", number=2, first_link=3)
    spec = replace(SPEC, resources=Resources(gpus=1, time=40 * HOUR), checkpoint=Checkpoint(folder="/project/ckpt"))
    return make_plan(spec, SITE, Facts(), attempt, launchers=LAUNCHERS)


def _chain_by(style: ChainStyle) -> RunSpec:
    return replace(CHAIN, checkpoint=replace(CHAIN.checkpoint, chain=style))


SHAPES = {
    "here-one-cpu": lambda: plan_for(
        Resources(), site=HERE, facts=Facts(partitions=(SeenPartition(name="pocket", cpus_per_node=8),))
    ),
    "one-gpu": lambda: plan_for(
        Resources(gpu="a100", time=HOUR), facts=Facts(associations=(Association(account="def-prof"),))
    ),
    "one-node-srun": lambda: plan_for(Resources(gpus=4, time=HOUR)),
    "two-nodes-torchrun-chain": lambda: plan_for(spec=CHAIN, site=FABRIC),
    "chain-by-requeue": lambda: plan_for(spec=_chain_by(ChainStyle.REQUEUE)),
    "second-link-by-dependency": lambda: list_submissions(plan_for(spec=_chain_by(ChainStyle.DEPENDENCY)))[1],
    "gpus-per-node": lambda: plan_for(
        Resources(gpus=2, gpu="a100"), site=replace(SITE, rules=Rules(gpu_dialect=GpuDialect.GPUS_PER_NODE))
    ),
    "gpus-as-feature": lambda: plan_for(
        Resources(gpus=8, constraint="hbm80g", qos="regular", time=HOUR, reservation="course"), site=FEATURE
    ),
    "whole-nodes": lambda: plan_for(Resources(nodes=3, exclusive=True, time=2 * HOUR)),
    "odd-values": lambda: plan_for(
        spec=replace(SPEC, name="Ünï", command="echo 'a\nb' \"$HOME\"", workdir="my code/50%", env=ODD_ENV),
        site=replace(SITE, root="/home/o'brien/$x"),
    ),
    "resumed": plan_resumed,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_script_and_plan_are_as_they_were(shape: str) -> None:
    plan = SHAPES[shape]()

    check_golden(GOLDEN / f"{shape}.sh", make_script(plan))
    check_golden(GOLDEN / f"{shape}.plan.json", to_json(plan).decode())


def test_no_golden_file_is_left_over() -> None:
    assert {path.name.partition(".")[0] for path in GOLDEN.iterdir()} == set(SHAPES)


@pytest.mark.parametrize("shape", SHAPES)
def test_bash_and_sbatch_can_read_it(shape: str) -> None:
    script = make_script(SHAPES[shape]()).encode()

    checked = subprocess.run(["bash", "-n"], input=script, capture_output=True, check=False)

    assert (checked.returncode, checked.stderr) == (0, b"")
    assert dict(read_directives(script, "job.sh"))["job-name"] == "digits-k3f9w"


@pytest.mark.parametrize("shape", SHAPES)
def test_the_script_follows_from_the_plan_at_the_site(shape: str) -> None:
    plan = SHAPES[shape]()

    again = from_json(to_json(plan), Plan, error=WindlassError, what="plan.json")

    assert make_script(again) == make_script(plan)


def test_the_token_tells_run_and_submission() -> None:
    assert make_token(replace(PLAN, number=3)) == "windlass:digits-k3f9w:3"


@pytest.mark.parametrize(("workdir", "folder"), [(".", "code"), ("", "code"), ("sub/dir", "code/sub/dir")])
def test_the_command_runs_in_the_project(workdir: str, folder: str) -> None:
    assert make_workdir(replace(PLAN, workdir=workdir)) == f"{PLAN.folder}/{folder}"


def test_a_time_is_never_shorter_than_planned() -> None:
    assert "--time=0-01:00:01\n" in make_script(replace(PLAN, link_time=HOUR + timedelta(microseconds=1)))


@pytest.mark.parametrize("kind", ["a100,license:matlab", "a100:1", "a b", "ä", "x;y"])
def test_a_kind_of_gpu_cannot_ask_for_something_else_too(kind: str) -> None:
    with pytest.raises(PlanError, match="is no kind of GPU"):
        make_script(replace(PLAN, gpus_per_node=1, gpu_dialect=GpuDialect.GRES, gpu_spelled=kind))


@pytest.mark.parametrize("name", ["", "-f", "gcc cuda", "gcc;id", "$x", "a'b", "a\nb", "ä", "`id`", "a|b"])
def test_a_module_is_one_plain_name(name: str) -> None:
    with pytest.raises(PlanError, match="is no name for a module"):
        make_script(replace(PLAN, modules=(name,)))


@pytest.mark.parametrize(
    "name", ["gcc/13.3", "c++", "intel-oneapi@2024:", "/apps/modules/x", "foo/1.2,1.3", "mpi~cuda"]
)
def test_names_that_module_systems_really_have_are_taken(name: str) -> None:
    assert f"\nmodule load {name}\n" in make_script(replace(PLAN, modules=(name,)))


@pytest.mark.parametrize("name", ["UID", "SHELLOPTS", "RANDOM", "_", "WINDLASS_RUN_DIR", "windlass_python", "1A", "Ä"])
def test_a_variable_that_cannot_be_set_is_refused(name: str) -> None:
    with pytest.raises(PlanError, match="variable"):
        make_script(replace(PLAN, env={name: "x"}))


def test_bash_knows_no_variable_of_its_own_that_we_would_set() -> None:
    """Each variable a fresh bash has by itself can be set to a value and is passed on, or is refused by us."""
    fresh = ["env", "-i", "bash", "--norc", "-c", "compgen -v"]
    names = subprocess.run(fresh, capture_output=True, text=True, check=True).stdout.split()

    for name in names:
        try:
            make_script(replace(PLAN, env={name: "value"}))
        except PlanError:
            continue
        line = f"set -eu; export {name}=value; exec /usr/bin/env"
        done = subprocess.run(["env", "-i", "bash", "--norc", "-c", line], capture_output=True, text=True, check=False)
        assert f"{name}=value" in done.stdout.splitlines(), (name, done.stderr)


@pytest.mark.parametrize("job", ["1", "9999", "20000", "4294967295", "67108863"])
def test_the_port_is_below_those_the_system_gives(job: str) -> None:
    line = next(line for line in make_script(PLAN).splitlines() if "MASTER_PORT" in line)

    said = subprocess.run(
        ["bash", "-c", f"{line}; echo $MASTER_PORT"], env={"SLURM_JOB_ID": job}, capture_output=True, check=True
    )

    assert 10_000 <= int(said.stdout) <= 29_999


def test_processes_of_one_task_share_its_cores() -> None:
    site = replace(SITE, partitions=(GPU,), node_types=(GPU_NODE,))

    torchrun = plan_for(spec=replace(SPEC, launcher="torchrun"), resources=Resources(gpus=4), site=site)
    srun = plan_for(Resources(gpus=4), site=site)

    assert (torchrun.cpus_per_task, srun.cpus_per_task) == (64, 16)
    assert "OMP_NUM_THREADS=16\n" in make_script(torchrun)
    assert "OMP_NUM_THREADS=16\n" in make_script(srun)


@pytest.mark.parametrize("pattern", ["^Training is done$", "--help", "a'b\"c $HOME `id` \\d+", "é|x"])
def test_what_means_done_reaches_the_agent_as_it_was_written(tmp_path: Path, pattern: str) -> None:
    """By way of the script, bash and the agent's own reading of its words."""
    plan = replace(PLAN, done_file="out dir/done", done_pattern=pattern, restart=True, gpus_per_node=4)
    start = make_script(plan).split("# The agent takes this link")[1].partition("\n")[2]
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
    program.chmod(0o755)

    said = subprocess.run(
        ["bash", "-c", start], env={"windlass_python": str(program)}, capture_output=True, check=True
    ).stdout
    words = said.decode().split("\0")
    parser = ArgumentParser()
    add_options(parser)
    options = parser.parse_args(words[words.index("agent") + 1 : words.index("--")])

    assert (options.done_file, options.done_pattern) == ("out dir/done", pattern)
    assert (options.restart, options.gpus) == (True, 4)
