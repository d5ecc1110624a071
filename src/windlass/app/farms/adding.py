"""More tasks for a farm, and pilots where none is left to run them."""

import secrets
from collections.abc import Iterable

from windlass.app.farms.asking import ask_farm, list_pilots
from windlass.app.farms.looking import load_status
from windlass.app.farms.pilots import start_pilot
from windlass.app.farms.sending import pack_rows, send_pieces
from windlass.app.refreshing import refresh_site
from windlass.app.session import Session
from windlass.app.shipping import send_with_contents
from windlass.core.farm.values import FarmStatus, leave_out_ended
from windlass.core.record import RunRecord
from windlass.edges.host import Reply
from windlass.errors import UsageError


def add_tasks(
    session: Session, record: RunRecord, rows: Iterable[bytes], kind: str, *, name: str | None = None
) -> range:
    """Their numbers. Asked for twice by a connection that broke, they are added once: the addition has a name.

    name: given by who asks again himself; see `make_addition`.
    """
    packed = pack_rows(rows)
    if not packed:
        raise UsageError("there are no tasks to add", done="nothing was sent")
    name = name or make_addition()

    def send() -> Reply:
        pieces = send_pieces(session.host(session.site(record.site)), record.root, packed)
        arguments = {"root": record.root, "name": name, "kind": kind, "pieces": pieces.names, "blobs": pieces.blobs}
        return ask_farm(session, record, "farm_add", arguments, payload=b"".join(pieces.along))

    values = send_with_contents(session.tell, send).values
    return range(values["first"], values["first"] + values["count"])


def refuse_closed(session: Session, lead: RunRecord, tasks: Iterable[int] = ()) -> None:
    """What nobody would run, and numbers that no task has."""
    status = load_status(session, lead)
    if status.is_closed:
        raise UsageError(
            f"farm {lead.run_id} is closed: it was cancelled",
            hint=f"windlass farm resume {lead.run_id}",
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
    """As many as the farm wants, where tasks wait and there are less. Those that were started now."""
    # The queue first: where a pilot has ended by then, what it left is in the numbers.
    pilots = refresh_site(session, record.site, list_pilots(session, record))
    live = [one for one in pilots if not one.state.is_final]
    status = leave_out_ended(load_status(session, record), {one.run_id for one in pilots if one.state.is_final})
    if status.is_closed or not status.waiting:
        return []
    wanted = min(most if most is not None else status.wanted_pilots, status.waiting)
    return [start_pilot(session, record) for _ in range(wanted - len(live))]
