"""`shell`: a shell on a node, in the environment of a project, or beside the training of a run."""

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from windlass.app.planning import Planned, Wanted
from windlass.app.plans import load_plan
from windlass.app.refreshing import refresh
from windlass.app.running import make_check_failure
from windlass.app.services.spots import find_job
from windlass.app.session import Session
from windlass.core.record import RunState
from windlass.core.services import shells
from windlass.core.services.rules import check_interactive
from windlass.core.services.shaping import Service, shape_service
from windlass.core.site import Site
from windlass.core.toml.layers import Flag
from windlass.edges.site_work import fetch_root, lay_program
from windlass.edges.terminal import run_in_terminal
from windlass.errors import UsageError, WindlassError

_CUT = 255  # of ssh: the connection is lost, and nobody knows what became of the job


@dataclass(frozen=True, kw_only=True)
class Typing:
    """command: empty for a shell to type into."""

    command: tuple[str, ...] = ()
    idle: timedelta | None = None


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A line for the site, and the name of the job that it starts; none where it joins one."""

    site: Site
    line: str
    where: str  # in words
    login_shell: bool
    job_name: str | None = None


def want_shell(wanted: Wanted) -> Wanted:
    """The project here as a shell: its environment and place, and the size that the flags say."""
    given = frozenset(flag.key for flag in wanted.flags)
    flags = (*wanted.flags, Flag(key="run.command", value="bash", option="windlass shell"))
    service = Service(name="shell", command="bash")
    return replace(wanted, flags=flags, shape=lambda spec: shape_service(spec, service, given))


def open_new(session: Session, planned: Planned, typing: Typing, *, force: bool = False) -> Opened:
    """As a job of its own; Slurm is asked when the line is run."""
    if planned.errors and not force:
        raise make_check_failure(planned.errors)
    site, plan = planned.site, planned.plan
    check_interactive(site, nodes=plan.nodes, what="a shell")
    root = planned.facts.root or fetch_root(session.host(site), site)
    wish = _make_wish(session, site, root, typing)
    name = f"shell-{session.make_suffix()}"
    line = _tie(site, shells.make_new_line(site, plan, wish, folder=root, name=name), wish, job_name=name)
    where = f"in a job at {site.name}, in {root}"
    return Opened(site=site, line=line, where=where, login_shell=plan.login_shell, job_name=name)


def open_joined(session: Session, run: str, typing: Typing) -> Opened:
    """In the job of a run, which must be running."""
    [record] = refresh(session, [session.store.load(run)]).records
    if record.state is not RunState.RUNNING:
        raise UsageError(
            f"run {record.run_id} has no job that runs: it is {record.state}",
            hint=f"windlass shell --on {record.site}   # in a job of its own",
        )
    site, plan = session.site(record.site), load_plan(session, record)
    wish = _make_wish(session, site, record.root, typing)
    job_id = find_job(session, record)
    line = _tie(site, shells.make_joined_line(site, plan, wish, job_id=job_id), wish)
    where = f"in job {job_id} of run {record.run_id}, beside its command"
    return Opened(site=site, line=line, where=where, login_shell=plan.login_shell)


def run_shell(session: Session, opened: Opened) -> int:
    """Until it ends; its exit code. However it ends, no job of its own stays behind."""
    code = _CUT
    try:
        code = run_in_terminal(session.host(opened.site), opened.line, login_shell=opened.login_shell)
        return code
    finally:
        if code == _CUT and opened.job_name is not None:
            _cancel(session, opened.site, opened.job_name)


def _tie(site: Site, line: str, wish: shells.Wanted, *, job_name: str | None = None) -> str:
    """On this very machine there is no connection: `run_in_terminal` alone sees to it."""
    return line if site.is_local else shells.make_tied_line(site, line, wish.program, job_name=job_name)


def _cancel(session: Session, site: Site, name: str) -> None:
    try:
        user = session.facts(site).user
        whose = [f"--user={user}"] if user else []
        session.cluster(site).run([["scancel", "--quiet", f"--name={name}", *whose]])
    except WindlassError as problem:
        with suppress(WindlassError):
            session.tell(f"{problem.message}: should its job still run, end it with: scancel --name={name}")


def _make_wish(session: Session, site: Site, root: str, typing: Typing) -> shells.Wanted:
    program = lay_program(session.host(site), site, root)
    return shells.Wanted(program=program, command=tuple(typing.command), idle=typing.idle)
