"""Building an environment as a job: an ordinary run, with the account and in the partition of the run that wants it."""

import json
import shlex
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

from windlass.app.environments.building import prepare_request, read_built
from windlass.app.following import wait
from windlass.app.logs import LogReader
from windlass.app.planning import Planned, Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.core.environment import Recipe
from windlass.core.record import RunRecord, RunState
from windlass.core.run import RunSpec
from windlass.core.site import Site
from windlass.core.toml.layers import Flag
from windlass.core.units import format_duration
from windlass.edges.environments import fetch_log
from windlass.edges.host import Json
from windlass.edges.site_work import fetch_root
from windlass.errors import EnvironmentFailed
from windlass_job import wire

_TIME = timedelta(hours=1)
_MOST_MEMORY_MB = 16_000  # compilers need some; not all that a training wants
_ENOUGH_LINES = 50
_OF_THE_RUN = ("account", "partition", "qos", "constraint")


def build_as_job(session: Session, site: Site, recipe: Recipe, spec: RunSpec, *, again: bool = False) -> RunRecord:
    """For what is too much for a login node; spec: of the run that wants it. It is in the queue when this returns."""
    request = prepare_request(session, site, recipe, again=again, in_job=True)
    zipped = f'"${wire.ENV_RUN_DIR}/{wire.JOB_ZIP}"'
    # In a file, not in the command: a list of packages may be longer than a command can be.
    command = f"{shlex.quote(site.software.python)} -I {zipped} {wire.WORK_VERB} --request-file build.json"
    settings: dict[str, object] = {"run.name": f"build-{recipe.kind}", "run.command": command}
    settings |= dict(_list_resources(spec))
    with tempfile.TemporaryDirectory(prefix="windlass-build-") as project:
        Path(project, "build.json").write_text(json.dumps(request, sort_keys=True), encoding="utf-8")
        flags = tuple(Flag(key=key, value=value, option=key) for key, value in settings.items())
        wanted = Wanted(project=Path(project), site=site.name, flags=flags, enters=False)
        return start_run(session, _plan(session, wanted, spec.environment.build_time or _TIME))


def _list_resources(spec: RunSpec) -> Iterator[tuple[str, object]]:
    """A build needs no GPU, but the same right to compute, and nodes of the same kind."""
    for name in _OF_THE_RUN:
        if (value := getattr(spec.resources, name)) is not None:
            yield f"resources.{name}", value
    if spec.resources.memory_mb is not None:
        yield "resources.memory", f"{min(spec.resources.memory_mb, _MOST_MEMORY_MB)}M"


def _plan(session: Session, wanted: Wanted, time: timedelta) -> Planned:
    """One job: a build that is cut begins anew, so a chain of them would never end."""
    planned = plan_run(session, _add_time(wanted, time))
    if planned.plan.links == 1:
        return planned
    longest = planned.plan.link_time
    session.tell(f"building   in a job of {format_duration(longest)}: longer ones are not allowed there")
    return plan_run(session, _add_time(wanted, longest))


def _add_time(wanted: Wanted, time: timedelta) -> Wanted:
    flag = Flag(key="resources.time", value=f"{int(time.total_seconds())}s", option="--time")
    return replace(wanted, flags=(*wanted.flags, flag))


def await_build(session: Session, site: Site, recipe: Recipe, record: RunRecord) -> None:
    """Until the job has ended; one that failed is raised with what the build itself said first."""
    ended = wait(session, record)
    if ended.state is RunState.DONE:
        return
    result = _load_result(session, site, ended)
    if result is not None and not result.get("ok"):
        read_built(site, recipe, result)
    _explain_end(session, site, recipe, ended)


def _load_result(session: Session, site: Site, record: RunRecord) -> Json | None:
    """What the work printed when it ended."""
    for line in reversed(LogReader(session.host(site), record).read_tail(_ENOUGH_LINES).splitlines()):
        if line.startswith(b"{") and isinstance(found := _read(line), dict) and "ok" in found:
            return found
    return None


def _read(line: bytes) -> object:
    try:
        return json.loads(line)
    except ValueError:  # a line of something else
        return None


def _explain_end(session: Session, site: Site, recipe: Recipe, record: RunRecord) -> NoReturn:
    """It was ended from outside, and could not say why."""
    host = session.host(site)
    log = fetch_log(host, fetch_root(host, site), recipe.id) or b""
    said = [line for line in log.decode(errors="replace").splitlines() if line.strip()]
    more_time = '\nbuild_time = "4h" in [environment] gives it more time'
    raise EnvironmentFailed(
        f"{recipe.id} could not be built at {site.name}: the job that builds it ended as {record.state}",
        details=said[-3:],
        hint=f"windlass explain {record.run_id}{more_time}",
        done="nothing was submitted; an environment that was built before is as it was",
    )
