"""`farm run`: a table of tasks becomes a few jobs. The run that leads has the table in its folder; others join it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from windlass.app.farms.pilots import start_pilot
from windlass.app.farms.sending import Packed, pack_rows, send_pieces
from windlass.app.papers import Laid
from windlass.app.planning import Planned, Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.core.farm.kinds import TaskKind
from windlass.core.farm.room import find_room
from windlass.core.farm.shaping import shape_pilot
from windlass.core.farm.sizing import Asked, PilotSize, choose_size, format_asked
from windlass.core.farm.values import FarmNeeds, make_card, make_needs
from windlass.core.planning import Attempt, make_plan
from windlass.core.record import RunRecord
from windlass.core.run import RunSpec
from windlass.core.sweep.card import KEY
from windlass.core.toml.layers import Flag
from windlass.edges.settings import load_run_spec
from windlass.errors import WindlassError
from windlass.launchers import LAUNCHERS

_ANY_COMMAND = Flag(key="run.command", value="true", option="windlass farm")


@dataclass(frozen=True, kw_only=True)
class PlannedFarm:
    wanted: Wanted
    planned: Planned
    size: PilotSize
    needs: FarmNeeds
    asked: Asked


def start_farm(
    session: Session,
    wanted: Wanted,
    rows: Iterable[bytes],
    *,
    kind: str,
    needs: FarmNeeds,
    pilots: int | None = None,
) -> RunRecord:
    """The run that leads it, submitted; then the other pilots. A pilot that is refused leaves the farm smaller."""
    packed = pack_rows(rows)
    farm = plan_farm(session, wanted, tasks=packed.count, needs=needs, pilots=pilots)
    return send_farm(session, farm, packed, kind=kind)


def plan_farm(
    session: Session,
    wanted: Wanted,
    *,
    tasks: int,
    needs: FarmNeeds | None = None,
    pilots: int | None = None,
    at_once: int | None = None,
    plan: Callable[[Session, Wanted], Planned] = plan_run,
) -> PlannedFarm:
    """Sends nothing. needs: default: as [farm] of the run file says; at_once: no more tasks run at the same time."""
    wanted = replace(wanted, flags=(*wanted.flags, _ANY_COMMAND))
    spec, _ = load_run_spec(wanted.project, wanted.site, session.environ, wanted.flags)
    needs = needs or make_needs(spec.farm)
    asked = Asked(
        pilots=pilots or spec.farm.pilots, nodes=spec.resources.nodes, time=spec.farm.pilot_time, at_once=at_once
    )
    size = _choose_size(session, wanted, spec, tasks=tasks, needs=needs, asked=asked)
    shaped = replace(wanted, shape=lambda spec: shape_pilot(spec, size, needs))
    return PlannedFarm(wanted=shaped, planned=plan(session, shaped), size=size, needs=needs, asked=asked)


def send_farm(
    session: Session,
    farm: PlannedFarm,
    packed: Packed,
    *,
    kind: str,
    force: bool = False,
    about: Mapping[str, Any] = MappingProxyType({}),
) -> RunRecord:
    """about: what else its card says, such as the sweep that its tasks are trials of."""
    planned = farm.planned
    root = planned.facts.root or planned.site.root
    asked = format_asked(farm.asked)
    card = make_card(farm.needs, name=planned.spec.name, pilots=farm.size.pilots, asked=asked) | dict(about)

    def lay() -> Laid:
        pieces = send_pieces(session.host(planned.site), root, packed)
        return Laid(
            arguments={"farm": {"card": card, "kind": kind, "pieces": pieces.names}},
            blobs=tuple(pieces.blobs),
            payload=b"".join(pieces.along),
            farm=planned.plan.run_id,
            task_kind=TaskKind.TRIALS if KEY in about else TaskKind(kind),
        )

    lead = start_run(session, planned, force=force, lay=lay)
    _start_others(session, lead, farm.size.pilots - 1)
    return lead


def _start_others(session: Session, lead: RunRecord, count: int) -> None:
    """What is refused now may be taken later: `windlass farm resume` brings up as many as are wanted."""
    for number in range(count):
        try:
            start_pilot(session, lead)
        except WindlassError as problem:
            session.tell(
                f"{number + 1} of {count + 1} pilots were submitted: {problem.message};"
                f" windlass farm resume {lead.run_id} sends the others"
            )
            return


def _choose_size(
    session: Session, wanted: Wanted, spec: RunSpec, *, tasks: int, needs: FarmNeeds, asked: Asked
) -> PilotSize:
    """By the place that a job for one task would get."""
    site = session.site(wanted.site)
    facts = session.facts(site)
    one = PilotSize(
        pilots=1, slots=1, cpus=needs.cpus, gpus=needs.gpus, memory_mb=needs.memory_mb or None, time=asked.time
    )
    plan = make_plan(shape_pilot(spec, one, needs), site, facts, Attempt(run_id="farm"), launchers=LAUNCHERS)
    return choose_size(tasks, needs, find_room(plan, site, facts), asked)
