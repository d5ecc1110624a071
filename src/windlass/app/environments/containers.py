"""Containers for people: a shell in the image of a project or run, the images of a site, their sums and their cache."""

from collections.abc import Sequence
from dataclasses import dataclass

from windlass.app.environments.registry import find_environment, list_environments
from windlass.app.environments.seen import look_at_environment
from windlass.app.planning import Wanted, plan_run
from windlass.app.plans import load_plan
from windlass.app.services.spots import find_job
from windlass.app.session import Session
from windlass.core.environment import Around, Built, EnvironmentSeen, add_activation, list_modules, settle
from windlass.core.job import list_place_options, list_software_lines, make_workdir
from windlass.core.plan import Plan
from windlass.core.run import Environment
from windlass.core.shell import format_module, quote, quote_all, quote_with_variables
from windlass.core.site import Site
from windlass.edges.environments import fetch_changed_sum
from windlass.edges.host import make_command, read_completed
from windlass.edges.settings import load_run_spec
from windlass.environments import KINDS
from windlass.environments.container_runtimes import choose_runtime
from windlass.errors import EnvironmentFailed, EnvironmentNotFound, UsageError
from windlass_job import wire

_CLEAN_S = 600


@dataclass(frozen=True, kw_only=True)
class Shell:
    """A line for a login shell of the site, which becomes a shell inside the container."""

    site: Site
    line: str
    where: str  # in words


def open_run_shell(session: Session, run: str, *, in_job: bool) -> Shell:
    """In the image of a run, as its command sees it; in its job where that is wanted and it runs."""
    record = session.store.load(run)
    site = session.site(record.site)
    plan = load_plan(session, record)
    if not plan.inside:
        raise UsageError(f"run {record.run_id} is in no container", hint="[environment] container in windlass.toml")
    lines = [*list_software_lines(plan), f"cd {quote(make_workdir(plan))}"]
    script = _make_script(lines, plan.inside)
    if not in_job:
        return Shell(site=site, line=script, where=f"on the login node of {site.name}, in the folder of {plan.run_id}")
    job_id = find_job(session, record)
    line = _make_step(site, [f"--jobid={job_id}", "--overlap", "--nodes=1", "--ntasks=1"], script)
    return Shell(site=site, line=line, where=f"in job {job_id} of run {plan.run_id}")


def open_shell(session: Session, wanted: Wanted, *, image: str | None, in_job: bool) -> Shell:
    """In the image of the project here, or in any other; as a job of its own where that is wanted."""
    site = session.site(wanted.site)
    spec, _ = load_run_spec(wanted.project, wanted.site, session.environ, wanted.flags)
    environment = Environment(container=image, binds=spec.environment.binds) if image else spec.environment
    if environment.container is None:
        raise UsageError(
            "windlass.toml of this project names no container",
            hint="windlass container shell --image docker://IMAGE, or [environment] container = ...",
        )
    facts = session.facts(site)
    seen = look_at_environment(session, site, environment, wanted.project, facts, ask=True, resources=spec.resources)
    if seen is None or seen.is_missing or seen.is_left_out:
        raise _refuse_missing(site, environment.container, image, seen)
    if seen.problem:
        raise EnvironmentFailed(
            f"the image is damaged: {seen.problem}", hint=f"windlass env build --again --on {site.name}"
        )
    root = facts.root or site.root
    plan = plan_run(session, wanted).plan if in_job else None
    gpus = plan.gpus_per_node if plan else 0
    around = Around(workdir=root, gpus_per_node=gpus, gpu=spec.resources.gpu, folders=(root, site.local_scratch))
    entering = add_activation(settle(seen.entering, around), environment.activate)
    modules = [f"module load {format_module(name)}" for name in list_modules(environment, site)]
    script = _make_script([*modules, *entering.lines, f"cd {quote(root)}"], entering.inside)
    if plan is None:
        return Shell(site=site, line=script, where=f"on the login node of {site.name}")
    return Shell(site=site, line=_make_step(site, list_step_options(plan), script), where=f"in a job at {site.name}")


def _refuse_missing(site: Site, source: str, image: str | None, seen: EnvironmentSeen | None) -> EnvironmentNotFound:
    if seen is None or seen.recipe.existing is not None:
        return EnvironmentNotFound(f"there is no image {source} at {site.name}", hint=f"ls -l {quote(source)}")
    settings = f" --set {quote(f'environment.container={image}')}" if image else ""
    return EnvironmentNotFound(
        f"{source} is not fetched or built at {site.name} yet ({seen.recipe.id})",
        hint=f"windlass env build --on {site.name}{settings}",
    )


def list_step_options(plan: Plan) -> list[str]:
    """Of the plan's job, one node of it."""
    return [
        *(one for one in list_place_options(plan) if not one.startswith("--nodes=")),
        "--nodes=1",
        "--job-name=shell",
    ]


def _make_script(lines: Sequence[str], inside: Sequence[str]) -> str:
    return "\n".join((*lines, f"exec {quote_all((*inside, 'bash'))}"))


def _make_step(site: Site, options: Sequence[str], script: str) -> str:
    path = f"export PATH={quote(site.software.slurm_path)}:$PATH; " if site.software.slurm_path else ""
    terminal = "$([ ! -t 0 ] || echo --pty)"
    return f"{path}exec srun {terminal} {quote_all(options)} bash -lc {quote(script)}"


def list_images(session: Session, site: Site) -> tuple[Built, ...]:
    """The newest first."""
    images = {kind.name for kind in KINDS.values() if kind.is_image}
    return tuple(one for one in list_environments(session, site) if one.kind in images)


def verify_images(session: Session, site: Site, names: Sequence[str]) -> tuple[tuple[Built, str | None], ...]:
    """Each with what is wrong with it: all of its bytes are read."""
    found = [find_environment(session, site, name) for name in names] if names else list_images(session, site)
    host = session.host(site)
    return tuple((one, fetch_changed_sum(host, one) if one.digest else "it is no image of ours") for one in found)


def clean_cache(session: Session, site: Site) -> str:
    """Layers of images, which only building others would need again. What its program said."""
    runtime = choose_runtime(site)
    root = session.facts(site).root or site.root
    folder = quote_with_variables(site.software.container_cache or f"{root}/{wire.IMAGES}")
    modules = [f"module load {format_module(site.software.container_module)}"] if site.software.container_module else []
    script = "\n".join(
        (*modules, f"export {runtime.variables}_CACHEDIR={folder}", f"{runtime.program} cache clean --force 2>&1")
    )
    [reply] = session.host(site).ask([make_command(["bash", "-lc", script], timeout_s=_CLEAN_S)])
    done = read_completed(reply)
    if done.exit_code:
        said = (done.out + done.err).strip()
        raise EnvironmentFailed(f"{site.name}: the cache of images could not be cleaned", said=said)
    return done.out
