"""sshare and sreport: what an account may use, and what it has used."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from windlass.core.facts import Balance
from windlass.core.seen.balances import format_unit
from windlass.core.spending.periods import find_period_start, format_day
from windlass.schedulers.slurm.fields import Fields, make_fields, read_rows
from windlass.schedulers.slurm.tres import read_tres

SHARE_FIELDS = make_fields(account="Account", user="User", limits="GrpTRESMins", used="GrpTRESRaw")
USE_FIELDS = make_fields(cluster="Cluster", account="Account", login="Login", tres="TRESName", used="Used")
_COUNTED = ("cpu", "node", "gres/gpu", "billing")
_MY_ACCOUNTS = "$(sacctmgr -nP show assoc where user=\"$(id -un)\" format=Account | sort -u | tr '\\n' ',')"


def make_shares_command(fields: Fields = SHARE_FIELDS) -> list[str]:
    """The accounts of this user and those above them; a limit of a group stands where it was set."""
    return ["sshare", "--noheader", "--parsable2", "--format=" + ",".join(field.asked for field in fields)]


def make_use_command(period: str | None, now: float, fields: Fields = USE_FIELDS) -> list[str] | None:
    """What was used since the period began; None where the site names none, for then there is no beginning."""
    start = find_period_start(period, now)
    return None if start is None else make_use_since_command(format_day(start), fields)


def make_use_since_command(start: str, fields: Fields = USE_FIELDS) -> list[str]:
    """start: as sreport reads it: `2026-11-01`, `now-7days`.

    Through sh, since only the other side knows this user's accounts. sreport is made up once an hour.
    """
    names = ",".join(field.asked for field in fields)
    question = f'cluster AccountUtilizationByUser start={start} end=now Accounts="{_MY_ACCOUNTS}"'
    return ["sh", "-c", f"exec sreport -nP -t minutes -T {','.join(_COUNTED)} {question} format={names}"]


def make_people_command(fields: Fields = SHARE_FIELDS) -> list[str]:
    """All users of this user's accounts: what sreport has not counted yet, or does not keep."""
    names = ",".join(field.asked for field in fields)
    return ["sh", "-c", f'exec sshare --all --noheader --parsable2 --accounts="{_MY_ACCOUNTS}" --format={names}']


def read_shares(text: str, fields: Fields = SHARE_FIELDS) -> tuple[Balance, ...]:
    """For each account of the user's the tightest limit of each resource: its own, or one of an account above it."""
    found: dict[tuple[str, str], Balance] = {}
    for chain in _read_chains(text, fields):
        for name in {name for row in chain for name in row.limits}:
            balance = _make_balance(chain, name)
            key = balance.account, balance.unit
            if key not in found or _left(balance) < _left(found[key]):
                found[key] = balance
    return tuple(found.values())


def read_use(text: str, cluster: str | None = None, fields: Fields = USE_FIELDS) -> tuple[Balance, ...]:
    """What each account has used, of all its users: the rows without a login."""
    rows = [row for row in read_rows(text, fields, separator="|") if not row.get("login") and row.get("account")]
    mine = [row for row in rows if cluster is None or row.get("cluster", cluster) in (cluster, "")]
    return tuple(
        Balance(
            account=row["account"], unit=format_unit(row["tres"]), used=int(row["used"][:15]) / 60, source="sreport"
        )
        for row in mine
        if row.get("used", "").isdecimal() and row.get("tres") in _COUNTED
    )


def read_people(text: str, unit: str, fields: Fields = USE_FIELDS) -> dict[str, dict[str, float]]:
    """By account, what each of its users has used, in this unit: as many of them as this user may see."""
    found: dict[str, dict[str, float]] = {}
    for row in read_rows(text, fields, separator="|"):
        account, login, used = row.get("account"), row.get("login"), row.get("used", "")
        if account and login and used.isdecimal() and format_unit(row.get("tres", "")) == unit:
            people = found.setdefault(account, {})
            people[login] = people.get(login, 0.0) + int(used[:15]) / 60
    return found


def read_shared_people(text: str, unit: str, fields: Fields = SHARE_FIELDS) -> dict[str, dict[str, float]]:
    """The same from sshare: since its counters began, and less with time where a site lets use decay."""
    found: dict[str, dict[str, float]] = {}
    for row in read_rows(text, fields, separator="|"):
        used = {format_unit(name): minutes / 60 for name, minutes in read_tres(row.get("used")).items()}
        if row.get("account") and row.get("user") and used.get(unit):
            found.setdefault(row["account"], {})[row["user"]] = used[unit]
    return found


@dataclass(frozen=True)
class _Row:
    account: str
    limits: Mapping[str, int] = field(default_factory=dict)  # minutes
    used: Mapping[str, int] = field(default_factory=dict)


def _read_chains(text: str, fields: Fields) -> Iterator[tuple[_Row, ...]]:
    """Each row of this user's with its account and all above that; sshare shows the tree by blanks before a name.

    Rows of users are placed by the name of their account: 22.05 now and then prints one at the top, without blanks.
    """
    chains: dict[str, tuple[_Row, ...]] = {}
    above: list[tuple[int, _Row]] = []
    mine: list[_Row] = []
    for line in text.split("\n"):
        row = next(iter(read_rows(line, fields, separator="|")), None)
        if row is None or not row.get("account"):
            continue
        one = _Row(row["account"], read_tres(row.get("limits")), read_tres(row.get("used")))
        if row.get("user"):
            mine.append(one)
            continue
        depth = len(line) - len(line.lstrip(" "))
        above = [*((level, other) for level, other in above if level < depth), (depth, one)]
        chains[one.account] = tuple(other for _, other in above)
    yield from ((*chains.get(one.account, ()), one) for one in mine)


def _make_balance(chain: tuple[_Row, ...], name: str) -> Balance:
    limiting = [row for row in chain if name in row.limits]
    tightest = min(limiting, key=lambda row: row.limits[name] - row.used.get(name, 0))
    used = tightest.used.get(name)
    return Balance(
        account=chain[-1].account,
        unit=format_unit(name),
        limit=tightest.limits[name] / 60,
        used=None if used is None else used / 60,
        source="sshare",
    )


def _left(balance: Balance) -> float:
    return float("inf") if balance.left is None else balance.left
