"""The verbs of the command line as functions on typed values. No printing.

    import windlass

    run = windlass.run("my-project", on="daint", time="3d")
    done = windlass.wait(run)
    if done.state is windlass.RunState.DONE:
        print(windlass.fetch(done).folder)

Every function takes `session=` to share one connection between calls; without it a call opens and closes its own.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from windlass.app.adopting import Adopted
from windlass.app.adopting import adopt as adopt_file
from windlass.app.environments.modules import ModuleSearch, ModulesThere, find_modules, list_there
from windlass.app.explaining import explain_run
from windlass.app.fetching import Fetched, fetch_run
from windlass.app.following import Update
from windlass.app.following import follow as follow_run
from windlass.app.following import wait as wait_for_run
from windlass.app.linting import Linted, Looking, lint_paths
from windlass.app.listing import list_runs
from windlass.app.logs import open_log, read_log
from windlass.app.planning import Planned, Wanted, plan_run
from windlass.app.queues import QueuesSeen, look_at_queues
from windlass.app.removing import remove_run
from windlass.app.resuming import resume_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.app.sites import list_sites
from windlass.app.watching.looking import look_around
from windlass.app.whole_runs import cancel_whole
from windlass.core.finding import Diagnosis
from windlass.core.record import RunRecord, RunState
from windlass.core.site import Site
from windlass.core.spending.amounts import read_amount
from windlass.core.toml.layers import Flag
from windlass.core.units import read_duration
from windlass.edges.folders import find_folders
from windlass.edges.settings import load_site_name
from windlass.errors import WindlassError

if TYPE_CHECKING:
    from windlass.app.budgets.spending import Budgets
    from windlass.app.environments.wheels import Checked
    from windlass.app.rehearsing import Rehearsal
    from windlass.app.reporting import Report
    from windlass.app.storage.quota import Quotas
    from windlass.app.syncing import Synced
    from windlass.core.prefetched import Prefetched

__all__ = [
    "Adopted",
    "Fetched",
    "Linted",
    "ModuleSearch",
    "ModulesThere",
    "Planned",
    "QueuesSeen",
    "RunRecord",
    "RunState",
    "Session",
    "Site",
    "Update",
    "WindlassError",
    "adopt",
    "budget",
    "cancel",
    "explain",
    "fetch",
    "follow",
    "lint_scripts",
    "load",
    "logs",
    "modules_find",
    "modules_list",
    "open_session",
    "plan",
    "prefetch",
    "ps",
    "queues",
    "quota",
    "rehearse",
    "report",
    "resume",
    "rm",
    "run",
    "site_list",
    "sync",
    "ticket",
    "wait",
    "wheels_check",
]

HERE = "here"
Run = RunRecord | str  # a record, or a run id, its beginning, its name, or "last"


def open_session() -> Session:
    """One use of Windlass with the user's own settings; a context manager."""
    return Session(folders=find_folders(os.environ), environ=os.environ)


@contextmanager
def use_session(session: Session | None) -> Iterator[Session]:
    """The one that was given, or one of its own for this call."""
    if session is not None:
        yield session
        return
    with open_session() as own:
        yield own


def plan(
    project: str | Path = ".", *, on: str | None = None, session: Session | None = None, **settings: object
) -> Planned:
    """What `run` would submit. Settings are dotted keys with two underscores: `resources__nodes=2`, or `time="3d"`."""
    with use_session(session) as used:
        return plan_run(used, make_wanted(project, on, settings))


def rehearse(
    project: str | Path = ".",
    *,
    on: str | None = None,
    links: int = 3,
    session: Session | None = None,
    **settings: object,
) -> "Rehearsal":
    """The script made for a site, run on this machine under that site's rules. Its `findings` say what would fail."""
    from windlass.app.rehearsing import Options
    from windlass.app.rehearsing import rehearse as rehearse_run
    from windlass.core.rehearsal.engine import Tempo

    with use_session(session) as used:
        return rehearse_run(used, make_wanted(project, on, settings), Options(tempo=Tempo(links=links)))


def run(
    project: str | Path = ".", *, on: str | None = None, session: Session | None = None, **settings: object
) -> RunRecord:
    """Plan, check, ship and submit; returns at once. Raises CheckFailed or ClusterRefused.

    An environment that is not built at the site yet is built first, and that takes its time.
    """
    with use_session(session) as used:
        wanted = make_wanted(project, on, settings)
        return start_run(used, ensure_built(used, wanted, plan_run(used, wanted)))


def ps(*, site: str | None = None, limit: int | None = 20, session: Session | None = None) -> tuple[RunRecord, ...]:
    """Runs, newest first, judged anew where they live; a site that does not answer keeps its last known states.

    A farm is one of them.
    """
    with use_session(session) as used:
        look_around(used, sorted({one.site for one in used.store.live_runs(site)}))
        return list_runs(used.store, limit=limit, site=site)


def load(name: str, *, session: Session | None = None) -> RunRecord:
    """The record of a run as last known."""
    with use_session(session) as used:
        return used.store.load(name)


def follow(run: Run, *, session: Session) -> Iterator[Update]:
    """States and words as they come, until the run ends."""
    record = find_run(session, run)
    yield from follow_run(session, record, reader=open_log(session, record))


def wait(run: Run, *, session: Session | None = None) -> RunRecord:
    """The final record."""
    with use_session(session) as used:
        return wait_for_run(used, find_run(used, run))


def logs(run: Run, *, link: int | None = None, session: Session | None = None) -> bytes:
    """All that the run printed, or one link of it."""
    with use_session(session) as used:
        return b"".join(read_log(used, find_run(used, run), link=link))


def explain(run: Run, *, session: Session | None = None) -> tuple[RunRecord, tuple[Diagnosis, ...]]:
    """Why it waits or ended."""
    with use_session(session) as used:
        return explain_run(used, find_run(used, run))


def ticket(run: Run, *, to: str | Path | None = None, session: Session | None = None) -> Path:
    """A bundle for the centre's support desk, without secrets."""
    from windlass.app.ticketing import make_ticket, save_ticket

    with use_session(session) as used:
        return save_ticket(used, make_ticket(used, find_run(used, run)), Path(to) if to else None)


def cancel(runs: Run | Sequence[Run], *, session: Session | None = None) -> list[RunRecord]:
    """Takes them out of the queue."""
    wanted: Sequence[Run] = [runs] if isinstance(runs, str | RunRecord) else runs
    with use_session(session) as used:
        return cancel_whole(used, [find_run(used, one) for one in wanted])


def report(run: Run, *, session: Session | None = None) -> "Report":
    """What it asked for and used, and what would use less; `fix` is the change of windlass.toml."""
    from windlass.app.reporting import report_run

    with use_session(session) as used:
        return report_run(used, find_run(used, run))


def resume(
    run: Run,
    *,
    time: str | None = None,
    update_code: bool = False,
    exclude: str | None = None,
    budget: str | None = None,
    session: Session | None = None,
) -> RunRecord:
    """One more submission of the same run; with `update_code` the project as it is now is sent first.

    `exclude`: nodes it must not have, such as "gpu[03-04],gpu9". `budget`: all it may use, such as "300 GPU-h".
    """
    duration, amount = read_duration(time) if time else None, read_amount(budget) if budget else None
    with use_session(session) as used:
        record = find_run(used, run)
        return resume_run(used, record, time=duration, update_code=update_code, exclude=exclude, budget=amount)


def fetch(
    run: Run, *, to: str | Path | None = None, only: Sequence[str] = (), session: Session | None = None
) -> Fetched:
    """Results brought home."""
    with use_session(session) as used:
        return fetch_run(used, find_run(used, run), to=Path(to) if to else None, patterns=only)


def prefetch(
    project: str | Path = ".",
    *,
    on: str | None = None,
    record: bool = False,
    verify: bool = True,
    session: Session | None = None,
    **settings: object,
) -> "Prefetched":
    """What the training needs from the internet, fetched for nodes that have none; `verified`: it loads offline."""
    from windlass.app.environments.prefetching import PrefetchOptions
    from windlass.app.environments.prefetching import prefetch as fetch_before

    with use_session(session) as used:
        planned = plan_run(used, make_wanted(project, on, settings))
        return fetch_before(used, planned, PrefetchOptions(record=record, verify=verify))


def sync(run: Run, *, push: bool = False, to: str | Path | None = None, session: Session | None = None) -> "Synced":
    """What trackers wrote in the run so far, brought here; with `push` sent on by their own programs."""
    from windlass.app.syncing import push as push_records
    from windlass.app.syncing import sync_run

    with use_session(session) as used:
        synced = sync_run(used, find_run(used, run), to=Path(to) if to else None)
        if push:
            list(push_records(used, synced))
        return synced


def rm(run: Run, *, session: Session | None = None) -> None:
    """The run's folder and its record."""
    with use_session(session) as used:
        remove_run(used, find_run(used, run))


def site_list(*, session: Session | None = None) -> tuple[Site, ...]:
    """Those that can be read."""
    with use_session(session) as used:
        return list_sites(used).sites


def queues(site: str = HERE, *, category: str | None = None, session: Session | None = None) -> QueuesSeen:
    """Its partitions and QOS, and what is free now."""
    with use_session(session) as used:
        return look_at_queues(used, site, category=category)


def budget(
    site: str = HERE, *, since: float | None = None, days: float = 7.0, session: Session | None = None
) -> "Budgets":
    """Hours used and left there, by run and person, and when they end. since: seconds since 1970."""
    from windlass.app.budgets.spending import look_at_spending

    with use_session(session) as used:
        return look_at_spending(used, site, since=since, days=days)


def quota(
    site: str = HERE, *, walk: bool = False, within_days: float = 14.0, session: Session | None = None
) -> "Quotas":
    """Bytes and files of its storage areas. walk: also through them, for what is large and what will be purged."""
    from datetime import timedelta

    from windlass.app.storage.quota import Wanted as Walking
    from windlass.app.storage.quota import look_at_quotas, walk_storage

    with use_session(session) as used:
        if walk:
            walk_storage(used, site, Walking(within=timedelta(days=within_days)))
        return look_at_quotas(used, site)


def modules_find(
    name: str, *, on: str = HERE, version: str | None = None, session: Session | None = None
) -> ModuleSearch:
    """A site's modules of that name, or that hold or mention it, each with all that is loaded before it."""
    with use_session(session) as used:
        return find_modules(used, on, name, version=version)


def modules_list(on: str = HERE, *, session: Session | None = None) -> ModulesThere:
    """All modules of a site."""
    with use_session(session) as used:
        return list_there(used, on)


def wheels_check(
    file: str | Path | None = None, *, on: str = HERE, project: Path | str = ".", session: Session | None = None
) -> "Checked":
    """Which wheels of the site's house the packages of a project would get, and what is missing."""
    from windlass.app.environments.wheels import check_wheels, load_environment, locate, override

    folder = Path(project)
    with use_session(session) as used:
        environment = load_environment(used, folder, on)
        if file is not None:
            folder, name = locate(str(file), folder, Path.cwd())
            environment = override(environment, file=name)
        return check_wheels(used, used.site(on), environment, folder)


def lint_scripts(
    paths: Sequence[str | Path], *, site: str | None = None, session: Session | None = None
) -> tuple[Linted, ...]:
    """What is wrong with sbatch scripts, in files and folders; with a site's name, by its rules too."""
    with use_session(session) as used:
        looking = Looking(site=used.site(site) if site is not None else None)
        return tuple(lint_paths([str(path) for path in paths], looking))


def adopt(script: str | Path, *, into: str | Path = "windlass.toml", force: bool = False) -> Adopted:
    """A run file that plans to the same job as the script."""
    return adopt_file(Path(script), Path(into), force=force)


def find_run(session: Session, run: Run) -> RunRecord:
    return session.store.load(run) if isinstance(run, str) else run


def ensure_built(session: Session, wanted: Wanted, planned: Planned) -> Planned:
    if planned.environment is None:
        return planned
    from windlass.app.environments.ensuring import ensure_environment

    return ensure_environment(session, wanted, planned)


def make_wanted(project: str | Path, on: str | None, settings: dict[str, object]) -> Wanted:
    flags = tuple(Flag(key=_make_key(name), value=value, option=name) for name, value in settings.items())
    folder = Path(project).resolve()
    return Wanted(project=folder, site=on or load_site_name(folder, os.environ) or HERE, flags=flags)


def _make_key(name: str) -> str:
    """`resources__nodes` is resources.nodes; a bare word belongs to [run] or [resources]."""
    if "__" in name:
        return name.replace("__", ".")
    return f"run.{name}" if name in ("name", "command", "workdir", "launcher", "results") else f"resources.{name}"
