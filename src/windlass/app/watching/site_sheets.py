"""One site on a page, and the hours used there: as they were told last, and asked anew when somebody wants it."""

from collections.abc import Sequence
from dataclasses import dataclass

from windlass.app.budgets.spending import Budgets, look_at_spending
from windlass.app.queues import QueuesSeen, look_at_queues
from windlass.app.session import Session
from windlass.app.storage.quota import Quotas, look_at_quotas
from windlass.app.watching.asking import ask_rarely, load_asked
from windlass.core.facts import Association, Facts
from windlass.core.seen.fair_share import FairShare
from windlass.core.watching.looks import Look
from windlass.errors import HostUnreachable, WindlassError
from windlass.schedulers.slurm.fair_share import make_fair_share_command, read_fair_share

_SHEET = "sheet"
_BUDGET = "budget"
_MOST_RUNS = 2000  # among which sites are looked for


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """What `windlass queues` and `windlass quota` tell of a site, and how one stands there."""

    queues: QueuesSeen
    quotas: Quotas
    shares: tuple[FairShare, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SiteSeen:
    name: str
    title: str
    asked: Look  # how the last question for the sheet ended
    sheet: Sheet | None = None
    limits: tuple[Association, ...] = ()
    limits_seen: float | None = None  # when


@dataclass(frozen=True, kw_only=True)
class BudgetSeen:
    name: str
    asked: Look
    budgets: Budgets | None = None


def list_names(session: Session) -> tuple[str, ...]:
    """Sites with runs of this user's."""
    return tuple(sorted({one.site for one in session.store.list(limit=_MOST_RUNS)}))


def load_site(session: Session, name: str) -> SiteSeen:
    """Nobody is asked. WindlassError: no file describes it."""
    site = session.site(name)
    facts = session.last_facts(site) or Facts()
    return SiteSeen(
        name=site.name,
        title=site.title or site.name,
        asked=load_asked(session, name, _SHEET),
        sheet=session.store.kept(f"{_SHEET}:{name}", kind=Sheet),
        limits=facts.associations or (),
        limits_seen=facts.taken_at,
    )


def ask_site(session: Session, name: str) -> Look:
    return ask_rarely(session, name, _SHEET, lambda: _ask_sheet(session, name))


def load_budgets(session: Session, names: Sequence[str]) -> tuple[BudgetSeen, ...]:
    """Nobody is asked. Of a site whose file is gone only what it told once is known."""
    return tuple(_load_budget(session, name) for name in names)


def load_budget(session: Session, name: str) -> BudgetSeen:
    """Nobody is asked. WindlassError: no file describes it."""
    session.site(name)
    return _load_budget(session, name)


def ask_budgets_here(session: Session, names: Sequence[str]) -> None:
    """Of this very machine: that costs nobody anything, so no button is needed."""
    for name in names:
        if _is_ours_alone(session, name):
            ask_budget(session, name)


def _is_ours_alone(session: Session, name: str) -> bool:
    try:
        return session.is_pocket(session.site(name))
    except WindlassError:  # its file is gone, or wrong
        return False


def _load_budget(session: Session, name: str) -> BudgetSeen:
    kept = session.store.kept(f"{_BUDGET}:{name}", kind=Budgets)
    return BudgetSeen(name=name, asked=load_asked(session, name, _BUDGET), budgets=kept)


def ask_budget(session: Session, name: str) -> Look:
    return ask_rarely(session, name, _BUDGET, lambda: look_at_spending(session, name))


def _ask_sheet(session: Session, name: str) -> Sheet:
    queues = look_at_queues(session, name)
    if queues.asked is None and queues.note:  # what was told before is better than the file alone
        raise HostUnreachable(queues.note, hint=f"windlass login {name}")
    return Sheet(queues=queues, quotas=look_at_quotas(session, name), shares=_ask_shares(session, name))


def _ask_shares(session: Session, name: str) -> tuple[FairShare, ...]:
    """Nothing where Slurm keeps no accounts."""
    try:
        (told,) = session.cluster(session.site(name)).run([make_fair_share_command()])
    except WindlassError:
        return ()
    return read_fair_share(told.out) if told.exit_code == 0 else ()
