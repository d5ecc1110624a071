"""The job script of a plan, as an expert would have written it by hand."""

import json

from windlass.core.chain import list_submissions
from windlass.core.offline import list_login_lines
from windlass.core.plan import Plan
from windlass.core.shell import (
    format_export,
    format_module,
    quote,
    quote_all,
    quote_directive,
    quote_with_variables,
    refuse_control_characters,
)
from windlass.core.site import ChainStyle, GpuDialect
from windlass.core.spending.amounts import format_amount
from windlass.core.spending.own import Scope, find_limit
from windlass.core.units import format_slurm_duration
from windlass.errors import PlanError
from windlass_job import wire

_PLAIN_PYTHON = (
    "# a python3 of pyenv's is a script that puts its own folder before that of the environment",
    '[ -z "$windlass_python" ] ||',
    '  windlass_python=$("$windlass_python" -I -S -c "import sys; print(sys.executable)" || echo "$windlass_python")',
)
NOTICE_SIGNAL = "USR1"  # from Slurm to the agent; the agent passes `stop_signal` on to the command


def make_script(plan: Plan) -> str:
    """Deterministic: the same plan gives the same bytes. Of a chain by dependency that of its first link."""
    plan = list_submissions(plan)[0]
    parts = (
        _head(plan),
        _group("who pays, and where it runs", _place_directives(plan)),
        _group("what it needs", _size_directives(plan)),
        _group("how long, and how it learns that the end is near", _time_directives(plan)),
        _group("where its words go: appended, so that nothing of an earlier start is lost", _output_directives(plan)),
        _group("how Windlass knows it again", [f"--comment={quote_directive(make_token(plan), what='the token')}"]),
        _mail(plan),
        _settings(plan),
        _kept_folders(plan),
        _modules(plan),
        make_environment_lines(plan),
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
    about = refuse_control_characters(f"Run {plan.run_id} at {plan.site}", what="the name of the run or site")
    return "\n".join(
        (
            shell,
            f"# {about}: {_tell_jobs(plan)} of at most {format_slurm_duration(plan.link_time)}.",
            f"# Written by Windlass from {wire.PLAN_JSON} beside it.",
        )
    )


def _tell_jobs(plan: Plan) -> str:
    if plan.links_before or plan.links_after:
        return f"link {plan.first_link} of {plan.last_link}, a job"
    if plan.links == 1:
        return "one job"
    if plan.chain is ChainStyle.REQUEUE:
        return f"one job that is queued again, {plan.links} times in all,"
    return f"{plan.links} jobs one after another"


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


def list_place_options(plan: Plan) -> list[str]:
    """What sbatch, srun and salloc are told alike: who pays, where, how much, how long."""
    named = [one for one in _place_directives(plan) if not one.startswith(("--job-name=", "--dependency="))]
    return [*named, *_size_directives(plan), f"--time={format_slurm_duration(plan.link_time)}"]


def _time_directives(plan: Plan) -> list[str]:
    options = [
        f"--time={format_slurm_duration(plan.link_time)}",
        f"--signal=B:{NOTICE_SIGNAL}@{int(plan.notice.total_seconds())}",
    ]
    if plan.is_array:
        options.append(f"--array=1-{plan.links}%1")
    is_queued_again = plan.links > 1 and plan.chain is ChainStyle.REQUEUE
    options.append("--requeue" if plan.requeue or is_queued_again else "--no-requeue")
    return options


def _output_directives(plan: Plan) -> list[str]:
    number = "%A_%a" if plan.is_array else "%j"
    logs = f"{plan.folder}/{wire.LOGS}".replace("%", "%%")
    return [
        f"--chdir={quote_directive(make_workdir(plan), what='the working folder', is_path=True)}",
        f"--output={quote_directive(f'{logs}/{number}.out', what='the run folder', is_path=True)}",
        "--open-mode=append",
    ]


def _mail(plan: Plan) -> str:
    if plan.mail is None:
        return ""
    address = quote_directive(plan.mail, what="the mail address")
    return _group("who is written to by Slurm", [f"--mail-user={address}", "--mail-type=BEGIN,END,FAIL"])


def _settings(plan: Plan) -> str:
    times = f"{wire.ENV_LINK_S}={int(plan.link_time.total_seconds())}"
    notice = f"{wire.ENV_NOTICE_S}={int(plan.notice.total_seconds())}"
    first = f"{wire.ENV_CHAIN_FIRST}={plan.number - plan.links_before}"
    lines = [
        "set -euo pipefail",
        f"windlass_python=$(command -v -- {quote(plan.python)} || true)  # before any module can change it",
        *([f"export PATH={quote(plan.slurm_path)}:$PATH"] if plan.slurm_path else []),
        f"export {wire.ENV_RUN_ID}={quote(plan.run_id)} {wire.ENV_SITE}={quote(plan.site)}",
        f"export {wire.ENV_RUN_DIR}={quote(plan.folder)}",
        f"export {wire.ENV_LINK}={_count_link(plan)} {wire.ENV_LINKS}={plan.last_link} {times} {notice}",
        f"export {wire.ENV_NUMBER}={plan.number} {wire.ENV_CHAIN}={plan.chain} {first}",
        f"export {wire.ENV_TOKEN}={quote(make_token(plan))}",
        *_checkpoints(plan),
    ]
    return "\n".join(lines)


def _count_link(plan: Plan) -> str:
    """Bash that knows which link this start of the script is."""
    if plan.is_array:
        return f"$(({plan.first_link - 1} + SLURM_ARRAY_TASK_ID))"
    if plan.links > 1:
        # Slurm counts every start again, also after a lost node or a preemption; in the first it says nothing.
        return f"$(({plan.first_link} + ${{SLURM_RESTART_COUNT:-0}}))"
    return str(plan.first_link)


def _checkpoints(plan: Plan) -> list[str]:
    if plan.checkpoint_folder is None:
        return []
    folder = plan.checkpoint_folder
    full = folder if folder.startswith("/") else f"{make_workdir(plan)}/{folder}"
    return [f"export {wire.ENV_CHECKPOINTS}={quote(full)}"]


def _kept_folders(plan: Plan) -> str:
    """The command finds them in its own folder, where every run has another one."""
    if not plan.kept:
        return ""
    lines = ["# what was fetched before, and lies where all runs find it"]
    for name, target in sorted(plan.kept.items()):
        above = f"mkdir -p {quote(name.rpartition('/')[0])} && " if "/" in name else ""
        lines.append(f"[ -e {quote(name)} ] || {{ {above}ln -sfn {quote(target)} {quote(name)}; }}")
    return "\n".join(lines)


def _modules(plan: Plan) -> str:
    lines = list_software_lines(plan)
    if not lines:
        return ""
    head = ["# the software; modules and activation scripts use unset variables freely", "set +u"]
    if plan.activate:
        head = [*_PLAIN_PYTHON, *head]
    return "\n".join([*head, *lines, "set -u"])


def list_software_lines(plan: Plan) -> list[str]:
    """Modules, and what activates the environment."""
    # Environment Modules 5 ends with 1 where sticky modules stay, Lmod 8 with 0.
    purge = ["module purge || true  # sticky modules stay"] if plan.purge_modules else []
    return [*purge, *(f"module load {format_module(name)}" for name in plan.modules), *plan.activate]


def make_environment_lines(plan: Plan) -> str:
    lines = [
        "# since Slurm 22.05 srun does not take over --cpus-per-task by itself",
        f"export SRUN_CPUS_PER_TASK=${{SLURM_CPUS_PER_TASK:-{plan.cpus_per_task}}}",
        f"export OMP_NUM_THREADS={plan.threads}",
        "# below the ephemeral range, and another for another job; where it is taken, the agent takes the next",
        f'export MASTER_PORT="$(({wire.FIRST_PORT + wire.MASTER_PLACE} + {wire.PORT_BLOCK} * '
        f'(SLURM_JOB_ID % {wire.PORT_BLOCKS})))"',
    ]
    if plan.host_suffix:
        lines.append(f"export {wire.ENV_HOST_SUFFIX}={quote(plan.host_suffix)}")
    lines += [
        f"export {wire.make_data_variable(one.name)}={quote_with_variables(one.path)}"
        for one in sorted(plan.data, key=lambda one: one.name)
    ]
    lines += list_login_lines(plan.offline_env)
    lines += [format_export(name, value) for name, value in sorted(plan.offline_env.items())]
    if plan.packed:
        lines.append(f"export {wire.ENV_PACKED}={quote_with_variables(plan.packed)}")
    lines += [format_export(name, value) for name, value in sorted(plan.network_env.items())]
    lines += [format_export(name, value) for name, value in sorted(plan.launch_env.items())]
    lines += [format_export(name, value) for name, value in sorted(plan.env.items())]
    return "\n".join(lines)


def _start(plan: Plan) -> str:
    agent = (
        f'exec "$windlass_python" -I {quote(f"{plan.folder}/{wire.JOB_ZIP}")} agent '
        f"--notice-signal {NOTICE_SIGNAL} --stop-signal {quote(plan.stop_signal)} {_agent_options(plan)}--"
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


def _agent_options(plan: Plan) -> str:
    """With `=`: a value may begin with a hyphen."""
    named = (
        ("done-file", plan.done_file),
        ("done-pattern", plan.done_pattern),
        ("gpus", plan.gpus_per_node),
        ("allowed", plan.allowed_s),
        ("budget", _name_budget(plan)),
        ("data", _describe_data(plan)),
    )
    options = [f"--{name}={quote(str(value))}" for name, value in named if value]
    return "".join(f"{option} " for option in [*options, *_agent_flags(plan)])


def _name_budget(plan: Plan) -> str | None:
    """What the user set for the run, as the agent tells it."""
    limit = find_limit(plan.limits, Scope.RUN) if plan.allowed_s else None
    return format_amount(limit.hours, limit.unit) if limit else None


def _describe_data(plan: Plan) -> str:
    """For the agent; where each set lies it finds in its variable."""
    sets = [
        {"name": one.name, "stage": one.stage.value, "extract": one.extract}
        for one in plan.data
        if "://" not in one.path
    ]
    if not sets and not plan.bring_back and not plan.packed:
        return ""
    described: dict[str, object] = {
        "sets": sets,
        "memory_bytes": int(plan.data_in_memory_gb * 1e9),
        "node_bytes": int(plan.data_on_node_gb * 1e9),
        "scratch": plan.local_scratch,
    }
    if plan.bring_back:
        every = plan.bring_back_every
        described |= {"bring_back": list(plan.bring_back), "bring_every_s": every.total_seconds() if every else None}
    return json.dumps(described)


def _agent_flags(plan: Plan) -> list[str]:
    is_tested = plan.network_test and plan.nodes > 1
    flags = (
        ("restart", plan.restart),
        ("network-test", is_tested),
        ("replace-nodes", is_tested and plan.replace_nodes),
    )
    return [f"--{name}" for name, is_wanted in flags if is_wanted]


def _for_echo(text: str) -> str:
    return "".join(char for char in text if char.isalnum() or char in "./_-")
