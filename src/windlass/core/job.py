"""The job script of a plan, as an expert would have written it by hand."""

from windlass.core.plan import Plan
from windlass.core.shell import (
    format_export,
    format_module,
    quote,
    quote_all,
    quote_directive,
    refuse_control_characters,
)
from windlass.core.site import GpuDialect
from windlass.core.units import format_slurm_duration
from windlass.errors import PlanError
from windlass_job import wire

NOTICE_SIGNAL = "USR1"  # from Slurm to the agent; the agent passes `stop_signal` on to the command


def make_script(plan: Plan) -> str:
    """Deterministic: the same plan gives the same bytes."""
    parts = (
        _head(plan),
        _group("who pays, and where it runs", _place_directives(plan)),
        _group("what it needs", _size_directives(plan)),
        _group("how long, and how it learns that the end is near", _time_directives(plan)),
        _group("where its words go: appended, so that nothing of an earlier start is lost", _output_directives(plan)),
        _group("how Windlass knows it again", [f"--comment={quote_directive(make_token(plan), what='the token')}"]),
        _settings(plan),
        _modules(plan),
        _environment(plan),
        _start(plan),
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def make_token(plan: Plan) -> str:
    return wire.TOKEN.format(run_id=plan.run_id, number=plan.number)


def make_workdir(plan: Plan) -> str:
    return make_code_folder(plan.folder, plan.workdir)


def make_code_folder(run_folder: str, workdir: str) -> str:
    """Where the command runs and leaves its results."""
    base = f"{run_folder}/{wire.CODE}"
    return base if workdir in ("", ".") else f"{base}/{workdir}"


def _head(plan: Plan) -> str:
    shell = "#!/bin/bash -l" if plan.login_shell else "#!/bin/bash"
    what = f"{plan.links} jobs one after another" if plan.links > 1 else "one job"
    about = refuse_control_characters(f"Run {plan.run_id} at {plan.site}", what="the name of the run or site")
    return "\n".join(
        (
            shell,
            f"# {about}: {what} of at most {format_slurm_duration(plan.link_time)}.",
            f"# Written by Windlass from {wire.PLAN_JSON} beside it.",
        )
    )


def _group(title: str, options: list[str]) -> str:
    return "\n".join((f"# {title}", *(f"#SBATCH {option}" for option in options)))


def _place_directives(plan: Plan) -> list[str]:
    named = (
        ("job-name", plan.run_id),
        ("account", plan.account),
        ("partition", plan.partition),
        ("qos", plan.qos),
        ("reservation", plan.reservation),
        ("dependency", plan.dependency),
        ("constraint", plan.constraint),
        ("exclude", plan.exclude),
    )
    return [f"--{name}={quote_directive(value, what=name)}" for name, value in named if value]


def _size_directives(plan: Plan) -> list[str]:
    options = [
        f"--nodes={plan.nodes}",
        f"--ntasks-per-node={plan.tasks_per_node}",
        f"--cpus-per-task={plan.cpus_per_task}",
    ]
    typed = f"{_check_gpu(plan.gpu_spelled)}:" if plan.gpu_spelled else ""
    if plan.gpu_dialect is GpuDialect.GRES:
        options.append(f"--gres=gpu:{typed}{plan.gpus_per_node}")
    elif plan.gpu_dialect is GpuDialect.GPUS_PER_NODE:
        options.append(f"--gpus-per-node={typed}{plan.gpus_per_node}")
    if plan.memory_mb is not None:
        options.append(f"--mem={plan.memory_mb}M" if plan.memory_mb else "--mem=0")
    if plan.exclusive:
        options.append("--exclusive")
    return options


def _check_gpu(name: str) -> str:
    """One word of `gpu:WORD:4`: a comma or colon in it would ask for something else too."""
    if not all(char.isalnum() or char in "_.-" for char in name) or not name.isascii():
        raise PlanError(f"{name[:80]!r} is no kind of GPU", hint="windlass site show lists those of the site")
    return quote_directive(name, what="gpu")


def _time_directives(plan: Plan) -> list[str]:
    options = [
        f"--time={format_slurm_duration(plan.link_time)}",
        f"--signal=B:{NOTICE_SIGNAL}@{int(plan.notice.total_seconds())}",
    ]
    if plan.links > 1:
        options.append(f"--array=1-{plan.links}%1")
    options.append("--requeue" if plan.requeue else "--no-requeue")
    return options


def _output_directives(plan: Plan) -> list[str]:
    number = "%A_%a" if plan.links > 1 else "%j"
    logs = f"{plan.folder}/{wire.LOGS}".replace("%", "%%")
    return [
        f"--chdir={quote_directive(make_workdir(plan), what='the working folder', is_path=True)}",
        f"--output={quote_directive(f'{logs}/{number}.out', what='the run folder', is_path=True)}",
        "--open-mode=append",
    ]


def _settings(plan: Plan) -> str:
    link = f"$(({plan.first_link - 1} + SLURM_ARRAY_TASK_ID))" if plan.links > 1 else str(plan.first_link)
    last = plan.first_link - 1 + plan.links
    lines = [
        "set -euo pipefail",
        f"windlass_python=$(command -v -- {quote(plan.python)} || true)  # before any module can change it",
        *([f"export PATH={quote(plan.slurm_path)}:$PATH"] if plan.slurm_path else []),
        f"export {wire.ENV_RUN_ID}={quote(plan.run_id)} {wire.ENV_SITE}={quote(plan.site)}",
        f"export {wire.ENV_RUN_DIR}={quote(plan.folder)}",
        f"export {wire.ENV_LINK}={link} {wire.ENV_LINKS}={last} {wire.ENV_CHAIN}={plan.chain}",
        f"export {wire.ENV_NUMBER}={plan.number}",
        f"export {wire.ENV_TOKEN}={quote(make_token(plan))}",
        *_checkpoints(plan),
    ]
    return "\n".join(lines)


def _checkpoints(plan: Plan) -> list[str]:
    if plan.checkpoint_folder is None:
        return []
    folder = plan.checkpoint_folder
    full = folder if folder.startswith("/") else f"{make_workdir(plan)}/{folder}"
    return [f"export {wire.ENV_CHECKPOINTS}={quote(full)}"]


def _modules(plan: Plan) -> str:
    if not plan.modules and not plan.purge_modules and not plan.activate:
        return ""
    lines = ["# the software; modules and activation scripts use unset variables freely", "set +u"]
    if plan.purge_modules:
        lines.append("module purge")
    lines += [f"module load {format_module(name)}" for name in plan.modules]
    lines += list(plan.activate)
    return "\n".join([*lines, "set -u"])


def _environment(plan: Plan) -> str:
    lines = [
        "# since Slurm 22.05 srun does not take over --cpus-per-task by itself",
        f"export SRUN_CPUS_PER_TASK=${{SLURM_CPUS_PER_TASK:-{plan.cpus_per_task}}}",
        f"export OMP_NUM_THREADS={plan.threads}",
        "# below the ephemeral range, and different for two jobs on one node",
        'export MASTER_PORT="$((10000 + SLURM_JOB_ID % 20000))"',
    ]
    if plan.host_suffix:
        lines.append(f"export WINDLASS_HOST_SUFFIX={quote(plan.host_suffix)}")
    lines += [format_export(name, value) for name, value in sorted(plan.network_env.items())]
    lines += [format_export(name, value) for name, value in sorted(plan.env.items())]
    return "\n".join(lines)


def _start(plan: Plan) -> str:
    agent = (
        f'exec "$windlass_python" -I {quote(f"{plan.folder}/{wire.JOB_ZIP}")} agent '
        f"--notice-signal {NOTICE_SIGNAL} --stop-signal {quote(plan.stop_signal)} --"
    )
    command = quote_all(plan.argv)
    return "\n".join(
        (
            "# The agent takes this link, passes signals on, watches the node, and exits as the command does.",
            'if [ -n "$windlass_python" ]; then',
            f"  {agent} \\",
            f"    {command}",
            "fi",
            f'echo "windlass: no {_for_echo(plan.python)} on $(hostname): running without the agent" >&2',
            f"exec {command}",
        )
    )


def _for_echo(text: str) -> str:
    return "".join(char for char in text if char.isalnum() or char in "./_-")
