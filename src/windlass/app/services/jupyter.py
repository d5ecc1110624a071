"""`jupyter`: JupyterLab in a job of its own, and the way to it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from windlass.app.planning import Wanted
from windlass.app.services.cards import load_card, load_token
from windlass.app.services.spots import find_running_job
from windlass.app.services.tunnels import Wish, open_tunnel
from windlass.app.session import Session
from windlass.core.record import RunRecord
from windlass.core.services.card import Card
from windlass.core.services.shaping import Service, make_jupyter_command, shape_service
from windlass.core.services.tunnels import Ports, Spot, check_host
from windlass.core.toml.layers import Flag
from windlass.edges.local_ports import Answer, Seen, has_clients, probe_page
from windlass.edges.tunnels import Tunnel
from windlass.errors import ServiceFailed, UsageError

PACKAGE = "jupyterlab"
LOCAL_PORT = 8888
_FORBIDDEN = (401, 403)


@dataclass(frozen=True, kw_only=True)
class Lab:
    """What somebody wants of a notebook."""

    idle: timedelta | None
    listen: str = "loopback"
    folder: str | None = None  # at the site; default: the run's code


def want_lab(wanted: Wanted, lab: Lab) -> Wanted:
    """The project here as a notebook: its environment, files and place, and the size that the flags say."""
    command = make_jupyter_command(idle=lab.idle, listen=lab.listen, folder=lab.folder)
    service = Service(name="jupyter", command=command, results=("**/*.ipynb",))
    given = frozenset(flag.key for flag in wanted.flags)
    return replace(
        wanted,
        flags=(*wanted.flags, Flag(key="run.command", value=command, option="windlass jupyter")),
        shape=lambda spec: shape_service(spec, service, given),
    )


class Access:
    """The way to the notebook of a run, for `Keeper`: opened when its card says that it answers."""

    def __init__(self, session: Session, *, wanted: int | None, tell: Callable[[str], None]) -> None:
        self._session, self._tell = session, tell
        self._wanted, self._is_named = wanted or LOCAL_PORT, wanted is not None
        self._warned = ""
        self._run = ""
        self._local: int | None = None
        self.token = ""
        self.card: Card | None = None

    def connect(self, record: RunRecord, before: int | None) -> Tunnel | None:
        self._run = record.run_id
        card = self._load(record)
        if card is None or card.port is None or card.state != "ready":
            return None
        job_id = find_running_job(self._session, record)
        if job_id is None:
            return None
        self.token = load_token(self._session, record)
        site = self._session.site(record.site)
        spot = Spot(site=site, job_id=job_id, node=check_host(card.node), port=card.port)
        ports = Ports(there=card.port, here=before or self._wanted, is_named=self._is_named)
        tunnel = open_tunnel(self._session, spot, Wish(ports=ports))
        if tunnel.local not in (ports.here, card.port):
            self._tell(f"port {ports.here} of this machine is taken: {tunnel.local} instead")
        self._local = tunnel.local
        return tunnel

    def probe(self, local: int) -> Seen:
        """With the token: another program on that port, or another notebook, does not pass for this one."""
        seen = probe_page(local, "/api/status", token=self.token)
        if seen.status in _FORBIDDEN:
            raise ServiceFailed(
                f"something answers on the port of this notebook, but refuses its token ({seen.status})",
                hint=f"windlass cancel {self._run}, then start another",
                done="the job goes on",
            )
        is_good = seen.answer is Answer.PAGE and seen.status == 200
        return seen if is_good else replace(seen, answer=Answer.CLOSED)

    def is_used(self) -> bool:
        """A tab has it open, as far as one can see: it holds a connection to each kernel, also where it is hidden."""
        return self._local is None or has_clients(self._local) is not False

    def look(self, record: RunRecord) -> None:
        """What the job warns of, told here too."""
        if record.started is None or record.state.is_final:
            return
        card = self._load(record)
        if card is not None and card.warning != self._warned:
            self._warned = card.warning
            self._tell(card.warning or "somebody uses the notebook again: it goes on")

    def make_address(self, local: int) -> str:
        return f"http://127.0.0.1:{local}/lab?token={self.token}"

    def _load(self, record: RunRecord) -> Card | None:
        self.card = load_card(self._session, record)
        if self.card is not None and self.card.kind != "jupyter":
            raise UsageError(f"run {record.run_id} is no notebook, but {self.card.kind}")
        return self.card
