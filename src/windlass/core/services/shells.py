"""The line that becomes a shell on a node: a new job that one types into, or a step in the job of a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from windlass.core.job import (
    list_place_options,
    list_software_lines,
    make_environment_lines,
    make_workdir,
)
from windlass.core.plan import Plan
from windlass.core.services.tunnels import make_step_line
from windlass.core.shell import quote, quote_all
from windlass.core.site import Site
from windlass_job import wire

# Only where somebody sits at a terminal: else what a command prints would come with other line ends.
_PTY = "$([ ! -t 0 ] || echo --pty)"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """command: empty for a shell to type into."""

    program: str  # our own zip at the site
    command: tuple[str, ...] = ()
    idle: timedelta | None = None


def make_new_line(site: Site, plan: Plan, wanted: Wanted, *, folder: str, name: str) -> str:
    """A job of its own. With several nodes the shell is on the first, and `srun` in it reaches all of them."""
    enter = [make_environment_lines(plan), *list_software_lines(plan), f"cd {quote(folder)}"]
    script = _make_script(plan, wanted, enter)
    options = [*list_place_options(plan), f"--job-name={name}"]
    shell = ("bash", "-lc" if plan.login_shell else "-c", script)
    if plan.nodes == 1:
        return make_step_line(site, options, shell, flags=_PTY)
    step = f"srun {_PTY} --overlap --nodes=1 --ntasks=1 {quote_all(shell)}"
    path = f"export PATH={quote(site.software.slurm_path)}:$PATH; " if site.software.slurm_path else ""
    # salloc runs its command on the login node: a shell of its own looks there whether this is a terminal.
    return f"{path}exec salloc {quote_all(options)} bash -c {quote(step)}"


def make_joined_line(site: Site, plan: Plan, wanted: Wanted, *, job_id: str) -> str:
    """Beside the training, on the first node of its job."""
    variables = {wire.ENV_RUN_ID: plan.run_id, wire.ENV_RUN_DIR: plan.folder, wire.ENV_SITE: plan.site}
    exports = [f"export {name}={quote(value)}" for name, value in variables.items()]
    enter = [*exports, make_environment_lines(plan), *list_software_lines(plan), f"cd {quote(make_workdir(plan))}"]
    options = (f"--jobid={job_id}", "--overlap", "--nodes=1", "--ntasks=1", f"--cpus-per-task={plan.cpus_per_task}")
    shell = ("bash", "-lc" if plan.login_shell else "-c", _make_script(plan, wanted, enter))
    return make_step_line(site, options, shell, flags=_PTY)


def make_tied_line(site: Site, line: str, program: str, *, job_name: str | None) -> str:
    """The same, which ends with its connection also where no terminal hangs up. job_name: the job that it starts."""
    end = (f"--end={make_cancel_line(site, job_name)}",) if job_name is not None else ()
    tie = (site.software.python, "-I", program, wire.TIED, *end, "--", "bash", "-c", line)
    return f"[ -t 0 ] || exec {quote_all(tie)}\n{line}"


def make_cancel_line(site: Site, job_name: str) -> str:
    path = f"export PATH={quote(site.software.slurm_path)}:$PATH; " if site.software.slurm_path else ""
    return f'{path}exec scancel --quiet --name={quote(job_name)} --user="$(id -un)"'


def _make_script(plan: Plan, wanted: Wanted, enter: Sequence[str]) -> str:
    """bash on the node. Whoever types gets the environment after their own start files, which may undo it."""
    idle = (f"--idle={wanted.idle.total_seconds():g}",) if wanted.idle is not None else ()
    watch = (plan.python, "-I", wanted.program, wire.SHELL, *idle)
    lines = "\n".join(enter)
    if not wanted.command and not plan.inside:
        return f"exec {quote_all((*watch, f'--lines={lines}', '--', 'bash'))}"
    inner = (*plan.inside, *(wanted.command or ("bash",)))
    # Found before any module can change it.
    python = f"windlass_python=$(command -v -- {quote(plan.python)})"
    after = quote_all((*watch[1:], "--", *inner))
    return "\n".join((python, "set -e", lines, "set +e", f'exec "$windlass_python" {after}'))
