"""Before a run is submitted: its environment is built where it is missing, and packed where that is wanted."""

from windlass.app.environments.building import Tell, build_environment
from windlass.app.planning import Planned, Wanted, plan_run
from windlass.app.session import Session
from windlass.core.environment import EnvironmentSeen, Recipe
from windlass.core.run import BuildPlace, RunSpec, Wheels
from windlass.core.site import Site
from windlass.errors import EnvironmentFailed


def ensure_environment(
    session: Session, wanted: Wanted, planned: Planned, *, force: bool = False, progress: Tell | None = None
) -> Planned:
    """The plan to submit: the same, or made again when something was built. Errors of checks come first."""
    seen = planned.environment
    if seen is None or (planned.errors and not force):
        return planned
    bring_for_nodes(session, planned.site, seen)
    if not wanted.may_build:
        return planned
    if seen.is_missing:
        build_missing(session, planned.site, seen.recipe, planned.spec, damage=seen.damage, progress=progress)
        planned = plan_run(session, wanted)  # what was built is checked too: its Python, its GPU code
        _refuse_missing(planned)
    _pack(session, planned)
    return planned


def bring_for_nodes(session: Session, site: Site, seen: EnvironmentSeen) -> None:
    """What nodes that make the environment themselves cannot fetch lies at the site before the job begins."""
    if seen.recipe.is_made_by_jobs and seen.recipe.wheels is Wheels.LAPTOP and not seen.is_left_out:
        from windlass.app.environments.wheels_sent import bring_wheels

        bring_wheels(session, site, seen.recipe)


def build_missing(
    session: Session, site: Site, recipe: Recipe, spec: RunSpec, *, damage: str | None, progress: Tell | None = None
) -> None:
    """Where the run file says; damage: of what is there, which is built anew."""
    why = f"what is there is damaged: {damage}" if damage else "it is not there yet"
    session.tell(f"building   {recipe.id} at {site.name}: {why}")
    if spec.environment.build is not BuildPlace.JOB:
        build_environment(session, site, recipe, again=damage is not None, progress=progress)
        return
    from windlass.app.environments.building_by_job import await_build, build_as_job

    record = build_as_job(session, site, recipe, spec, again=damage is not None)
    session.tell(f"building   as run {record.run_id}, job {record.job_id}: waiting for it")
    await_build(session, site, recipe, record)


def _refuse_missing(planned: Planned) -> None:
    seen = planned.environment
    if seen is not None and seen.is_missing:
        raise EnvironmentFailed(
            f"{seen.recipe.id} was built, and is not at {planned.site.name} all the same",
            hint=f"windlass site check {planned.site.name}",
            done="nothing was submitted",
        )


def _pack(session: Session, planned: Planned) -> None:
    if planned.environment is None or not planned.spec.environment.pack:
        return
    from windlass.app.environments.packing import pack_where_wanted

    pack_where_wanted(session, planned.site, planned.environment)
