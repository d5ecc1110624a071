"""Any text in any field: either a PlanError, or a script that means exactly this text and nothing more.

The script is really run, by bash, with programs in place of python3, srun and module that write down what they got.
"""

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.builders import BARE_SITE, HOUR, SPEC
from windlass.core.facts import Facts
from windlass.core.job import make_script
from windlass.core.names import make_run_id
from windlass.core.plan import Plan
from windlass.core.planning import Attempt, make_plan
from windlass.core.run import Checkpoint, Environment, Resources, RunSpec
from windlass.core.site import ModuleSystem, Network, Site, Software
from windlass.core.units import read_slurm_duration
from windlass.errors import PlanError
from windlass.launchers import LAUNCHERS
from windlass.launchers.commands import is_one_program
from windlass.pocket.directives import check_script, read_directives

INJECTION = "touch canary"
BAD = (
    f"$({INJECTION})",
    f"`{INJECTION}`",
    f"x\n{INJECTION}\n",
    f"x; {INJECTION} #",
    f"'; {INJECTION}; '",
    f'"; {INJECTION}; "',
    f"a[$({INJECTION})]",  # runs where bash calculates with it
    "x\n#SBATCH --exclusive",
    "#SBATCH --exclusive",
    "x --exclusive",
    "x\r\n#SBATCH --exclusive\r\n",
    "--exclusive",
    "-n",
    "50%j %% %A_%a",
    "a b  c ",
    "$HOME ${PATH} ~ * ? [a-z] {a,b} !x & | < > ( )",
    "\\",
    "x\\\n",
    "grün 漢字 🚀 \u202e \u00a0",
    "\u2028#SBATCH --exclusive",
    "\x85\x0b\x0c\x1b[31m\x7f",
    "nul\0",
    "\udcff\ud800",
    "l" * 10_000,
    "",
    "plain",
)


TWO_NODES = replace(SPEC, launcher="srun", resources=Resources(nodes=2, time=HOUR))
SEEN = Facts(root="/home/alice/windlass")


@dataclass(frozen=True, kw_only=True)
class World:
    """All that a script is made of."""

    spec: RunSpec = TWO_NODES
    site: Site = BARE_SITE
    facts: Facts = SEEN

    def ask(self, resources: Resources) -> "World":
        return replace(self, spec=replace(self.spec, resources=resources))

    def with_software(self, software: Software) -> "World":
        return replace(self, site=replace(self.site, software=software))


def _with_network(world: World, env: dict[str, str]) -> World:
    return replace(world, site=replace(world.site, network=replace(world.site.network, env=env)))


FIELDS: dict[str, Callable[[World, str], World]] = {
    "name": lambda w, text: replace(w, spec=replace(w.spec, name=text)),
    "command": lambda w, text: replace(w, spec=replace(w.spec, command=text)),
    "workdir": lambda w, text: replace(w, spec=replace(w.spec, workdir=text)),
    "env value": lambda w, text: replace(w, spec=replace(w.spec, env={**w.spec.env, "VALUE": text})),
    "env name": lambda w, text: replace(w, spec=replace(w.spec, env={**w.spec.env, text: "x"})),
    "account": lambda w, text: w.ask(replace(w.spec.resources, account=text)),
    "partition": lambda w, text: w.ask(replace(w.spec.resources, partition=text)),
    "qos": lambda w, text: w.ask(replace(w.spec.resources, qos=text)),
    "constraint": lambda w, text: w.ask(replace(w.spec.resources, constraint=text)),
    "reservation": lambda w, text: w.ask(replace(w.spec.resources, reservation=text)),
    "gpu": lambda w, text: w.ask(replace(w.spec.resources, gpu=text)),
    "module": lambda w, text: replace(w, spec=replace(w.spec, environment=Environment(modules=("gcc", text)))),
    "always_load": lambda w, text: w.with_software(
        replace(w.site.software, modules=ModuleSystem.LMOD, always_load=(text,))
    ),
    "checkpoint folder": lambda w, text: replace(w, spec=replace(w.spec, checkpoint=Checkpoint(folder=text))),
    "signal": lambda w, text: replace(w, spec=replace(w.spec, checkpoint=replace(w.spec.checkpoint, signal=text))),
    "site name": lambda w, text: replace(w, site=replace(w.site, name=text)),
    "root": lambda w, text: replace(w, facts=Facts(root=f"/r/{text}")),
    "python": lambda w, text: w.with_software(replace(w.site.software, python=text)),
    "slurm_path": lambda w, text: w.with_software(replace(w.site.software, slurm_path=text)),
    "host_suffix": lambda w, text: replace(w, site=replace(w.site, network=Network(host_suffix=text))),
    "network value": lambda w, text: _with_network(w, {**w.site.network.env, "NCCL": text}),
    "network name": lambda w, text: _with_network(w, {**w.site.network.env, text: "x"}),
}


def plan_or_refuse(world: World) -> tuple[Plan, bytes] | None:
    attempt = Attempt(run_id=make_run_id(world.spec.name, "k3f9w"))
    try:
        plan = make_plan(world.spec, world.site, world.facts, attempt, launchers=LAUNCHERS)
        return plan, make_script(plan).encode()
    except PlanError:
        return None


# ---- as sbatch reads it -----------------------------------------------------------------------------


def expect_directives(plan: Plan) -> list[tuple[str, str]]:
    logs = f"{plan.folder}/logs".replace("%", "%%")
    below = "" if plan.workdir in ("", ".") else f"/{plan.workdir}"
    kind = f"{plan.gpu_spelled}:" if plan.gpu_spelled else ""
    wanted = [
        ("job-name", plan.run_id),
        ("account", plan.account),
        ("partition", plan.partition),
        ("qos", plan.qos),
        ("reservation", plan.reservation),
        ("constraint", plan.constraint),
        ("nodes", str(plan.nodes)),
        ("ntasks-per-node", str(plan.tasks_per_node)),
        ("cpus-per-task", str(plan.cpus_per_task)),
        ("gres", f"gpu:{kind}{plan.gpus_per_node}" if plan.gpus_per_node else None),
        ("signal", f"B:USR1@{int(plan.notice.total_seconds())}"),
        ("chdir", f"{plan.folder}/code{below}"),
        ("output", f"{logs}/%j.out"),
        ("open-mode", "append"),
        ("comment", f"windlass:{plan.run_id}:1"),
    ]
    return [(name, value) for name, value in wanted if value]


def check_directives(plan: Plan, script: bytes) -> None:
    check_script(script)
    found = list(read_directives(script, "job.sh"))
    assert ("no-requeue", "") in found
    assert read_slurm_duration(dict(found)["time"]) == plan.link_time
    rest = [(name, value) for name, value in found if name not in ("time", "no-requeue")]
    assert rest == expect_directives(plan)


# ---- as bash runs it --------------------------------------------------------------------------------

RECORDER = r"""#!/bin/bash
printf '%s\0' "$@" > "$RECORD/${0##*/}.argv"
exec /usr/bin/env -0 > "$RECORD/${0##*/}.env"
"""
MODULE = r"""#!/bin/bash
printf '%s\0' "$@" '' >> "$RECORD/module.argv"
"""
DRIVER = r"""
for script in "$SCRIPTS"/*.sh; do
  export RECORD=${script%.sh}
  mkdir "$RECORD"
  bash -n "$script" 2> "$RECORD/syntax"
  bash "$script" 2> "$RECORD/stderr" > "$RECORD/stdout"
done
"""
JOB = {"SLURM_JOB_ID": "45", "SLURM_CPUS_PER_TASK": "3"}
OF_BASH = {"PWD", "OLDPWD", "SHLVL", "_", "RECORD", "SCRIPTS", "PATH"}
OURS = {"SRUN_CPUS_PER_TASK": "3", "OMP_NUM_THREADS": "1", "MASTER_PORT": "10721"}


@dataclass(frozen=True)
class Bench:
    folder: Path

    def run(self, scripts: Sequence[bytes]) -> Path:
        """Each script N.sh leaves what it did in a folder N; whatever a smuggled command makes is in `cwd`."""
        place = self.folder / f"batch-{len(list(self.folder.iterdir()))}"
        (place / "cwd").mkdir(parents=True)
        (place / "scripts").mkdir()
        for number, script in enumerate(scripts):
            (place / "scripts" / f"{number}.sh").write_bytes(script)
        env = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "SCRIPTS": str(place / "scripts"), **JOB}
        subprocess.run(["bash", "--norc", "-c", DRIVER], cwd=place / "cwd", env=env, check=True)
        return place

    def check(self, made: Sequence[tuple[Plan, bytes]]) -> None:
        place = self.run([script for _, script in made])
        for number, (plan, script) in enumerate(made):
            check_run(plan, place / "scripts" / str(number), script)
        assert list((place / "cwd").iterdir()) == []


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("bench")
    (folder / "bin").mkdir()
    for name, text in (("python3", RECORDER), ("srun", RECORDER), ("module", MODULE)):
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    return Bench(folder)


def read_words(path: Path) -> list[str]:
    return path.read_bytes().decode().split("\0")[:-1]


def expect_env(plan: Plan) -> dict[str, str]:
    folder = plan.checkpoint_folder
    below = "" if plan.workdir in ("", ".") else f"/{plan.workdir}"
    full = folder if folder is None or folder.startswith("/") else f"{plan.folder}/code{below}/{folder}"
    ours = {
        **OURS,
        "WINDLASS_RUN_ID": plan.run_id,
        "WINDLASS_SITE": plan.site,
        "WINDLASS_RUN_DIR": plan.folder,
        "WINDLASS_LINK": "1",
        "WINDLASS_LINKS": "1",
        "WINDLASS_LINK_S": str(int(plan.link_time.total_seconds())),
        "WINDLASS_NOTICE_S": str(int(plan.notice.total_seconds())),
        "WINDLASS_CHAIN": "array",
        "WINDLASS_CHAIN_FIRST": "1",
        "WINDLASS_SUBMISSION": "1",
        "WINDLASS_TOKEN": f"windlass:{plan.run_id}:1",
        **({"WINDLASS_CHECKPOINT_DIR": full} if full is not None else {}),
        **({"WINDLASS_HOST_SUFFIX": plan.host_suffix} if plan.host_suffix else {}),
    }
    return {**JOB, **ours, **plan.network_env, **plan.env}


def expect_options(plan: Plan) -> list[str]:
    gpus = [f"--gpus={plan.gpus_per_node}"] if plan.gpus_per_node else []
    restart = ["--restart"] if plan.restart else []
    return [*gpus, *restart, *(["--network-test", "--replace-nodes"] if plan.nodes > 1 else [])]


def check_run(plan: Plan, seen: Path, script: bytes) -> None:
    assert (seen / "syntax").read_text() == "", script.decode()
    assert (seen / "stdout").read_text() == "", script.decode()
    has_agent = plan.python == "python3"
    program = "python3" if has_agent else "srun"
    assert (seen / f"{program}.argv").exists(), (seen / "stderr").read_text() + script.decode()
    argv = read_words(seen / f"{program}.argv")
    stop = plan.stop_signal
    zip_file = f"{plan.folder}/windlass_job.pyz"
    signals = ["--notice-signal", "USR1", "--stop-signal", stop]
    agent = ["-I", zip_file, "agent", *signals, *expect_options(plan), "--", "srun"]
    if is_one_program(plan.command):
        first = ["bash", f"{plan.folder}/task.sh", plan.python, zip_file, "rank-env", stop]
    else:
        first = [plan.python, "-I", zip_file, "rank-env", "--stop-signal", stop, "--"]
    task = [*first, "bash", "-c", plan.command]
    binding = ["--gpu-bind=none"] if plan.gpus_per_node else []
    assert argv == [*(agent if has_agent else []), "--kill-on-bad-exit=1", *binding, *task]
    env = dict(word.split("=", 1) for word in read_words(seen / f"{program}.env"))
    assert {name: value for name, value in env.items() if name not in OF_BASH} == expect_env(plan)
    if plan.slurm_path:
        assert env["PATH"].startswith(f"{plan.slurm_path}:")
    modules = seen / "module.argv"
    loads = [f"load\0{name}\0" for name in plan.modules]
    assert (modules.read_text() if modules.exists() else "") == "".join(f"{load}\0" for load in loads)


# ---- the tests --------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", FIELDS)
def test_one_bad_field_is_refused_or_means_just_itself(field: str, bench: Bench) -> None:
    worlds = [FIELDS[field](World(), text) for text in BAD]

    made = [found for world in worlds if (found := plan_or_refuse(world))]

    assert made, "some text must be fine, or this test tests nothing"
    for plan, script in made:
        check_directives(plan, script)
    bench.check(made)


fragments = st.lists(st.one_of(st.sampled_from(BAD), st.text(max_size=8)), min_size=1, max_size=3).map("".join)
worlds = st.lists(st.tuples(st.sampled_from(sorted(FIELDS)), fragments), min_size=1, max_size=3).map(
    lambda changes: _fill(World(), changes)
)


def _fill(world: World, changes: Sequence[tuple[str, str]]) -> World:
    for field, text in changes:
        world = FIELDS[field](world, text)
    return world


@settings(max_examples=12, suppress_health_check=[HealthCheck.large_base_example, HealthCheck.data_too_large])
@given(st.lists(worlds, min_size=15, max_size=30))
def test_any_text_anywhere_is_refused_or_means_just_itself(bench: Bench, many: list[World]) -> None:
    made = [found for world in many if (found := plan_or_refuse(world))]

    for plan, script in made:
        check_directives(plan, script)
    bench.check(made)


@given(worlds)
def test_directives_are_those_planned_whatever_is_in_them(world: World) -> None:
    made = plan_or_refuse(world)

    if made is not None:
        check_directives(*made)


def test_most_texts_are_no_reason_to_refuse_a_command_or_a_value() -> None:
    """What is refused: nothing at all or a dash as a command, NUL, and bytes that are no UTF-8."""
    refused = {
        field: [text for text in BAD if plan_or_refuse(FIELDS[field](World(), text)) is None]
        for field in ("command", "env value", "checkpoint folder", "network value")
    }

    no_text = ["nul\0", "\udcff\ud800"]
    assert refused == {
        "command": ["--exclusive", "-n", *no_text, ""],
        "env value": no_text,
        "checkpoint folder": no_text,
        "network value": no_text,
    }


def test_the_bench_would_see_a_smuggled_command(bench: Bench) -> None:
    place = bench.run([b"#!/bin/bash\nX=$(touch canary)\nexec python3 a\n"])

    assert [path.name for path in (place / "cwd").iterdir()] == ["canary"]
    assert read_words(place / "scripts" / "0" / "python3.argv") == ["a"]
