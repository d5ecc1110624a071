"""Before a run is resumed: its environment is there as when it was planned, or it is built again."""

from pathlib import Path

from windlass.app.environments.ensuring import bring_for_nodes, build_missing
from windlass.app.environments.packing import pack_where_wanted
from windlass.app.environments.seen import read_recipe
from windlass.app.session import Session
from windlass.core.environment import Built, Damaged, Entering, EnvironmentSeen, Recipe
from windlass.core.plan import Plan
from windlass.core.record import RunRecord
from windlass.core.run import RunSpec
from windlass.core.site import Site
from windlass.edges.environments import fetch_built, find_damage
from windlass.edges.settings import load_spec_without_command
from windlass.errors import EnvironmentFailed, EnvironmentNotFound, WindlassError
from windlass_job import wire

_DONE = "nothing was submitted; the run is as it was"


def revive_environment(session: Session, record: RunRecord, plan: Plan) -> None:
    """One that was removed or damaged is built from the project, where that still asks for the same one."""
    site = session.site(record.site)
    if plan.environment is None:
        _bring_wheels(session, site, record, plan)
        return
    host = session.host(site)
    found = fetch_built(host, record.root, plan.environment)
    if not isinstance(found, Built):
        spec, recipe = _find_recipe(session, site, record, plan.environment)
        damage = found.problem if isinstance(found, Damaged) else None
        build_missing(session, site, recipe, spec, damage=damage)
        found = fetch_built(host, record.root, plan.environment)
        if isinstance(found, Built):
            seen = EnvironmentSeen(recipe=recipe, entering=Entering(), built=found, packed=plan.packed)
            pack_where_wanted(session, site, seen)
    elif problem := find_damage(host, found):
        raise EnvironmentFailed(
            f"the image of run {record.run_id} is damaged: {problem}",
            hint=f"windlass env build --again --on {site.name}   # in its project",
            done=_DONE,
        )


def _find_recipe(session: Session, site: Site, record: RunRecord, env_id: str) -> tuple[RunSpec, Recipe]:
    """What the project asks for today, where it is what the run was planned with."""
    gone = f"{env_id}, the environment of run {record.run_id}, is not at {site.name} any more"
    spec, recipe = _load_wish(session, site, record)
    if spec is None:
        raise EnvironmentNotFound(
            f"{gone}, and its project is not on this machine: {record.project}",
            hint=f"windlass env build --on {site.name}   # where the project is",
            done=_DONE,
        )
    if recipe is None or recipe.id != env_id:
        asks = f"asks for {recipe.id}" if recipe is not None else "asks for none"
        raise EnvironmentNotFound(
            f"{gone}, and {record.project} {asks} now",
            hint=f"windlass env build --on {site.name}   # with the files as they were then\n"
            "windlass run   # one of its own, as they are now",
            done=_DONE,
        )
    return spec, recipe


def _bring_wheels(session: Session, site: Site, record: RunRecord, plan: Plan) -> None:
    """For nodes that make the environment themselves, of what the laptop sends."""
    wheels = f"/{wire.WHEELS}/"
    if not any(wheels in line for line in plan.activate):
        return
    _, recipe = _load_wish(session, site, record)
    if recipe is not None and any(f"{wheels}{recipe.id}" in line for line in plan.activate):
        bring_for_nodes(session, site, EnvironmentSeen(recipe=recipe, entering=Entering()))


def _load_wish(session: Session, site: Site, record: RunRecord) -> tuple[RunSpec | None, Recipe | None]:
    """None: of a project that is not on this machine, or that cannot be read any more."""
    project = Path(record.project or "")
    if not record.project or not project.is_dir():
        return None, None
    spec = load_spec_without_command(project, record.site, session.environ)
    try:
        return spec, read_recipe(spec.environment, site, project, spec.resources)
    except WindlassError as problem:
        session.tell(f"{project}: {problem.message}")
        return spec, None
