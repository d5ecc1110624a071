"""What a site tells of hours: jobs, budgets and people, asked in one round trip and bounded in time."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from windlass.core.facts import Facts
from windlass.core.site import CostUnit, Site
from windlass.core.spending.jobs import JobSpent, join_jobs
from windlass.core.spending.report import choose_unit
from windlass.core.spending.uses import Told, Window
from windlass.edges.host import Completed, Host, Request, make_command, make_commands, read_all_completed
from windlass.edges.numbers import join_balances
from windlass.schedulers.slurm.balance import (
    make_people_command,
    make_shares_command,
    make_use_since_command,
    read_people,
    read_shared_people,
    read_use,
)
from windlass.schedulers.slurm.fields import Fields, drop_refused
from windlass.schedulers.slurm.history import read_accounting_problem
from windlass.schedulers.slurm.spending import (
    QUEUED_FIELDS,
    SPENT_FIELDS,
    make_queued_command,
    make_spent_command,
    read_queued,
    read_spent,
)

_ONE_ANSWER_S = 30.0
_ALL_ANSWERS_S = 45.0
_MOST_RETRIES = 10  # sacct names one refused field at a time
_MOST_LINES = 500_000


@dataclass(frozen=True, kw_only=True)
class Question:
    """jobs: only those of this user, and nothing of accounts."""

    site: Site
    since: float
    runs: Collection[str] = ()  # ids that are known, for sites that keep no comments


def ask_jobs(host: Host, question: Question) -> tuple[JobSpent, ...] | None:
    """This user's own; None where there is no accounting that answers."""
    told = _Asking(host, question, {}).ask()
    return told.jobs if told.has_jobs else None


def ask_spending(host: Host, question: Question, window: Window, facts: Facts | None) -> Told:
    """facts: what was seen of the site before, where something was."""
    site = question.site
    asking = _Asking(host, question, _make_account_commands(site, window, facts))
    told = asking.ask()
    own, shares = asking.texts.get("own", ""), asking.texts.get("shares", "")
    used, recent = asking.texts.get("used", ""), asking.texts.get("recent", "")
    balances = join_balances(site, own=own, shares=shares, use=used)
    unit = choose_unit(site.accounting, balances, told.jobs)
    return replace(
        told,
        balances=balances,
        people=read_people(used, unit) or read_shared_people(asking.texts.get("people", ""), unit),
        recent={(one.account, one.unit): one.used for one in read_use(recent) if one.used is not None},
    )


def _make_account_commands(site: Site, window: Window, facts: Facts | None) -> dict[str, list[str]]:
    """None where nothing is charged, or where this Slurm keeps no accounts: an sshare that answers is another's."""
    commands: dict[str, list[str]] = {}
    if site.accounting.unit is not CostUnit.NONE and (facts is None or facts.has_accounting is not False):
        since = f"{datetime.fromtimestamp(window.since, UTC):%Y-%m-%dT%H:00:00}"
        commands = {
            "shares": make_shares_command(),
            "people": make_people_command(),
            "used": make_use_since_command(since),
            "recent": make_use_since_command(f"now-{round(window.days)}days"),
        }
    if site.accounting.balance_command:
        commands["own"] = ["sh", "-c", site.accounting.balance_command]
    return commands


class _Asking:
    """One look; again only when this Slurm does not know a field."""

    def __init__(self, host: Host, question: Question, more: dict[str, list[str]]) -> None:
        self._host = host
        self._question = question
        self._more = more
        self.texts: dict[str, str] = {}

    def ask(self) -> Told:
        spent, queued = SPENT_FIELDS, QUEUED_FIELDS
        for _ in range(_MOST_RETRIES):
            history, queue, *others = self._ask_once(spent, queued)
            newer = drop_refused(spent, history.err), drop_refused(queued, queue.err)
            if newer == (None, None):
                break
            spent, queued = newer[0] or spent, newer[1] or queued
        self.texts = {name: done.out for name, done in zip(self._more, others, strict=True) if _is_told(name, done)}
        problem = read_accounting_problem(history.out, history.err, history.exit_code) or history.timed_out
        runs = self._question.runs
        live = None if queue.exit_code or queue.timed_out else read_queued(queue.out, queued, runs=runs)
        over = () if problem else read_spent(_cut(history.out), spent, runs=runs)
        return Told(jobs=join_jobs(over, live), has_jobs=not problem)

    def _ask_once(self, spent: Fields, queued: Fields) -> Sequence[Completed]:
        commands = [make_spent_command(self._question.since, spent), make_queued_command(queued), *self._more.values()]
        asked = [self._make_request(argv) for argv in commands]
        [reply] = self._host.ask([make_commands(asked, limit_s=_ALL_ANSWERS_S)])
        return read_all_completed(reply, len(asked))

    def _make_request(self, argv: Sequence[str]) -> Request:
        path = self._question.site.software.slurm_path
        return make_command(argv, timeout_s=_ONE_ANSWER_S, path_prefix=path, idempotent=True)


def _is_told(name: str, done: Completed) -> bool:
    """A centre's own command may end with an error and have told all the same."""
    return not done.timed_out and (done.exit_code == 0 or name == "own")


def _cut(text: str) -> str:
    lines = text.split("\n", _MOST_LINES)
    return "\n".join(lines[:_MOST_LINES])
