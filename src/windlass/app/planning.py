"""`plan`: what would be submitted, where, at what cost, and what is wrong with it. Sends nothing."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from windlass.app.budgets.counting import count_own_use
from windlass.app.data.seen import add_data_sets, look_at_data
from windlass.app.environments.modules import try_modules
from windlass.app.environments.prefetched import look_at_prefetch
from windlass.app.environments.seen import look_at_environment
from windlass.app.nodes_seen import recall_node
from windlass.app.session import Session
from windlass.checks import run_checks
from windlass.core.case import Case
from windlass.core.dependency import list_awaited
from windlass.core.environment import EnvironmentSeen
from windlass.core.facts import NOTHING_SEEN, Facts
from windlass.core.finding import Finding, Severity
from windlass.core.job import make_script
from windlass.core.jobs import JobSeen
from windlass.core.mailing import add_mail
from windlass.core.modules.trial import ModulesSeen
from windlass.core.names import make_run_id
from windlass.core.plan import Plan
from windlass.core.planning import Attempt, make_plan
from windlass.core.prefetch import add_prefetched, list_kept_patterns
from windlass.core.run import RunSpec
from windlass.core.seen.node_probe import learn_from
from windlass.core.selection import list_outputs
from windlass.core.site import Site
from windlass.core.toml.layers import Flag
from windlass.edges.project_code import load_project_code
from windlass.edges.settings import load_notices, load_run_spec
from windlass.edges.snapshot import Snapshot, take_snapshot
from windlass.errors import ConnectionLost, HostUnreachable, LoginNeeded, UsageError
from windlass.launchers import LAUNCHERS

NOT_ASKED = "the site was not asked"
_FRESH_S = 10.0  # facts of this age are not asked for again


def _as_it_is(spec: RunSpec) -> RunSpec:
    return spec


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which project, where to, and what the command line says on top of windlass.toml."""

    project: Path
    site: str = "here"
    flags: tuple[Flag, ...] = ()
    may_build: bool = True  # `run` builds the environment where it is missing
    shape: Callable[[RunSpec], RunSpec] = _as_it_is  # the run file as it is taken: a notebook is no training
    enters: bool = True  # False: the job runs as it is; what builds an environment cannot be in one


@dataclass(frozen=True, kw_only=True)
class Planned:
    spec: RunSpec
    site: Site
    facts: Facts
    plan: Plan
    script: str
    findings: tuple[Finding, ...]
    snapshot: Snapshot
    project: Path
    environment: EnvironmentSeen | None = None
    note: str | None = None  # why the site was not asked

    @property
    def variables(self) -> tuple[str, ...]:
        """Of the site's root, which only the site can fill in: a directive of sbatch that holds one is wrong."""
        if self.facts.root is not None:
            return ()
        return tuple(dict.fromkeys(re.findall(r"\$\{?\w+\}?", self.site.root)))

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.severity is Severity.ERROR)


def plan_run(session: Session, wanted: Wanted, *, offline_ok: bool = False, known: Facts | None = None) -> Planned:
    """Read, look, decide, check. With `offline_ok` a site that cannot be reached is planned from its file.

    known: of the site; then it is not asked at all.
    """
    if not wanted.project.is_dir():
        raise UsageError(f"{wanted.project} is not a folder")
    loaded, _ = load_run_spec(wanted.project, wanted.site, session.environ, wanted.flags)
    spec = wanted.shape(loaded)
    site = learn_from(session.site(wanted.site), recall_node(session, wanted.site))
    snapshot = snapshot_project(session, wanted.project, spec)
    planned = _plan(session, wanted, spec, site, snapshot, offline_ok=offline_ok, known=known)
    if known is None and planned.note is None and any(one.fact for one in planned.errors):
        seen = planned.facts.taken_at
        if seen is None or session.clock() - seen > _FRESH_S:
            session.facts(site, max_age_s=0)  # what was remembered refuses it: is it still so?
            planned = _plan(session, wanted, spec, site, snapshot, offline_ok=offline_ok, known=known)
    return planned


def _plan(
    session: Session,
    wanted: Wanted,
    spec: RunSpec,
    site: Site,
    snapshot: Snapshot,
    *,
    offline_ok: bool,
    known: Facts | None,
) -> Planned:
    facts, note = _look(session, site, offline_ok=offline_ok) if known is None else (known, NOT_ASKED)
    if note is None:
        facts = add_data_sets(session, site, spec, facts)
    data = look_at_data(session, snapshot, spec, site, facts if note is None else None)
    attempt = Attempt(run_id=make_run_id(spec.name, session.make_suffix()))
    environment = look_at_environment(
        session,
        site,
        spec.environment,
        wanted.project,
        facts,
        ask=note is None,
        enter=wanted.enters and known is None,  # a rehearsal has only this machine's
        resources=spec.resources,
    )
    sources = environment.recipe.sources if environment is not None else ()
    code = load_project_code(snapshot.project, snapshot.manifest, spec.command, sources)
    plan = make_plan(spec, site, facts, attempt, launchers=LAUNCHERS, code=code, data=data, environment=environment)
    prefetch = look_at_prefetch(session, site, spec, facts, snapshot=snapshot, code=code, ask=note is None)
    plan = add_prefetched(plan, spec, site, root=facts.root or site.root, code=code, seen=prefetch)
    plan = add_mail(plan, site, load_notices(session.environ))
    case = Case(
        spec=spec,
        plan=plan,
        site=site,
        facts=facts,
        snapshot_mb=snapshot.total_bytes / 1e6,
        snapshot_files=len(snapshot.manifest.files),
        code=code,
        data=data,
        environment=environment,
        may_build=wanted.may_build,
        prefetch=prefetch,
        modules=_try_modules(session, site, plan) if note is None else None,
        awaited=_look_at_awaited(session, site, plan) if note is None else None,
        own_use=count_own_use(session, site, plan.limits, name=spec.name) if note is None else (),
        now=session.clock(),
    )
    return Planned(
        spec=spec,
        site=site,
        facts=facts,
        plan=plan,
        script=make_script(plan),
        findings=run_checks(case),
        snapshot=snapshot,
        project=wanted.project,
        environment=environment,
        note=note,
    )


def snapshot_project(session: Session, project: Path, spec: RunSpec) -> Snapshot:
    """The project's files as the run file wants them, without what a run itself writes."""
    outputs = [one for one in list_outputs(spec) if (project / one.strip("/")).is_dir()]
    if outputs:
        session.tell(f"not sent, because a run writes there: {', '.join(one.strip('/') for one in outputs)}")
    return take_snapshot(
        project,
        include=spec.include,
        exclude=(*spec.exclude, *outputs, *list_kept_patterns(spec)),
        max_mb=spec.max_mb,
        max_files=spec.max_files,
        # A path that the command or [data] names is meant to be there.
        data=(*(one.source for one in spec.data.values()), *spec.command.replace("=", " ").split()),
        cache_folder=session.folders.cache,
    )


def _look(session: Session, site: Site, *, offline_ok: bool) -> tuple[Facts, str | None]:
    try:
        return session.facts(site), None
    except (LoginNeeded, HostUnreachable, ConnectionLost) as problem:
        if not offline_ok:
            raise
        return NOTHING_SEEN, f"planned from the site file alone: {problem.message}"


def _try_modules(session: Session, site: Site, plan: Plan) -> ModulesSeen | None:
    """As the job will load them; asked only where a run has some."""
    return try_modules(session, site, plan.modules, purge=plan.purge_modules)


def _look_at_awaited(session: Session, site: Site, plan: Plan) -> tuple[JobSeen, ...] | None:
    """The jobs this one is to wait for; a question of its own, asked only where there are some."""
    if plan.dependency is None or not list_awaited(plan.dependency):
        return None
    return session.cluster(site).look_at_known(list_awaited(plan.dependency))
