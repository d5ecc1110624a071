"""More tasks for a farm, and pilots where none is left to run them."""

import secrets
from collections.abc import Callable, Iterable
from dataclasses import replace

from windlass.app.farms.asking import ask_farm, list_pilots
from windlass.app.farms.looking import load_status
from windlass.app.farms.pilots import start_pilot
from windlass.app.farms.sending import Packed, send_pieces
from windlass.app.patience import PASSES
from windlass.app.plans import load_plan
from windlass.app.refreshing import refresh_site
from windlass.app.session import Session
from windlass.app.shipping import send_with_contents
from windlass.core.farm.kinds import tell_why_closed
from windlass.core.farm.room import find_room
from windlass.core.farm.sizing import Asked, PilotSize, There, choose_more, read_asked
from windlass.core.farm.values import FarmNeeds, FarmStatus, leave_out_ended, read_needs, read_status
from windlass.core.record import RunRecord
from windlass.edges.host import Json, Reply
from windlass.errors import UsageError, WindlassError


def add_tasks(
    session: Session,
    record: RunRecord,
    packed: Packed,
    kind: str,
    *,
    name: str | None = None,
    first: int | None = None,
) -> range:
    """Their numbers. Asked for twice by a connection that broke, they are added once: the addition has a name.

    name: given by who asks again himself; see `make_addition`. first: the number that the first of them must get;
    where somebody else was faster, nothing is added and the range is empty.
    """
    if not packed.count:
        raise UsageError("there are no tasks to add", done="nothing was sent")
    name = name or make_addition()

    def send() -> Reply:
        pieces = send_pieces(session.host(session.site(record.site)), record.root, packed)
        arguments: Json = {"root": record.root, "name": name, "kind": kind, "first": first}
        arguments |= {"pieces": pieces.names, "blobs": pieces.blobs}
        return ask_farm(session, record, "farm_add", arguments, payload=b"".join(pieces.along))

    values = send_with_contents(session.tell, send).values
    return range(values["first"], values["first"] + values["count"])


def refuse_closed(session: Session, lead: RunRecord, tasks: Iterable[int] = ()) -> None:
    """What nobody would run, and numbers that no task has."""
    status = load_status(session, lead)
    if status.is_closed:
        raise UsageError(
            f"farm {lead.run_id} is closed: {tell_why_closed(lead.task_kind)}",
            hint=lead.again,
            done="nothing was changed",
        )
    refuse_unknown(status, lead.run_id, tasks)


def refuse_unknown(status: FarmStatus, farm: str, tasks: Iterable[int]) -> None:
    unknown = next((task for task in tasks if task >= status.total), None)
    if unknown is not None:
        raise UsageError(f"farm {farm} has no task {unknown}: its tasks are 0 to {status.total - 1}")


def make_addition() -> str:
    return f"add-{secrets.token_hex(8)}"


def ensure_pilots(session: Session, record: RunRecord, *, most: int | None = None) -> list[RunRecord]:
    """What tasks that wait are worth, sized by what is left and what the site allows. Those that were started now.

    most: so many pilots, and no more; default: as the user said when the farm began.
    """
    # The queue first: where a pilot has ended by then, what it left is in the numbers.
    pilots = refresh_site(session, record.site, list_pilots(session, record))
    live = [one for one in pilots if not one.state.is_final]
    told = ask_farm(session, record, "farm_look").values
    ended = {one.run_id for one in pilots if one.state.is_final}
    status = leave_out_ended(read_status(record.run_id, told), ended)
    needs, asked = read_needs(told["card"]), read_asked(told["card"])
    there = There(pilots=len(live), places=sum(_count_places(one, status, needs) for one in live))
    if status.is_closed or not status.waiting or (most is None and there.places >= status.left):
        return []
    if most is not None:
        asked = replace(asked, pilots=most)
    size = _choose_more(session, record, status.left, needs, asked, there)
    return [start_pilot(session, record, size) for _ in range(size.pilots)] if size is not None else []


def ensure_pilots_or_tell(
    session: Session, record: RunRecord, *, why: str, tell: Callable[[str], None]
) -> list[RunRecord] | None:
    """The same for who goes on without them: a refusal is told, and None. What passes by itself is still raised."""
    try:
        return ensure_pilots(session, record)
    except PASSES:
        raise
    except WindlassError as problem:
        tell(f"{why}, and no other can be sent: {problem.message}")
        return None


def _choose_more(
    session: Session, record: RunRecord, left: int, needs: FarmNeeds, asked: Asked, there: There
) -> PilotSize | None:
    """A search says only one by one what is to be tried: there is more than what is left now."""
    site, plan = session.site(record.site), load_plan(session, record)
    room = find_room(plan, site, session.facts(site))
    return choose_more(max(left, asked.at_once or 0), needs, room, replace(asked, nodes=plan.nodes), there)


def _count_places(pilot: RunRecord, status: FarmStatus, needs: FarmNeeds) -> int:
    """As it says itself, or what it was sized for."""
    told = sum(one.slots for one in status.pilots if one.run_id == pilot.run_id and one.is_alive)
    if told or pilot.size is None:
        return max(1, told)
    fits = [pilot.size.cores // needs.cpus]
    if needs.gpus:
        fits.append(pilot.size.gpus // needs.gpus * needs.share)
    return max(1, min(fits))
