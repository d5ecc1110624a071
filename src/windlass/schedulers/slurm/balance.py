"""sshare and sreport: what an account may use, and what it has used."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from windlass.core.facts import Balance
from windlass.core.seen.balances import format_unit
from windlass.schedulers.slurm.fields import Fields, make_fields, read_rows
from windlass.schedulers.slurm.tres import read_tres

SHARE_FIELDS = make_fields(account="Account", user="User", limits="GrpTRESMins", used="GrpTRESRaw")
USE_FIELDS = make_fields(cluster="Cluster", account="Account", login="Login", tres="TRESName", used="Used")
_COUNTED = ("cpu", "node", "gres/gpu", "billing")
_FIRST_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def make_shares_command(fields: Fields = SHARE_FIELDS) -> list[str]:
    """The accounts of this user and those above them; a limit of a group stands where it was set."""
    return ["sshare", "--noheader", "--parsable2", "--format=" + ",".join(field.asked for field in fields)]


def make_use_command(period: str | None, now: float, fields: Fields = USE_FIELDS) -> list[str] | None:
    """What was used since the period began; None where the site names none, for then there is no beginning.

    Through sh, since only the other side knows this user's accounts. sreport is made up once an hour.
    """
    start = find_period_start(period, now)
    if start is None:
        return None
    accounts = "$(sacctmgr -nP show assoc where user=\"$(id -un)\" format=Account | sort -u | tr '\\n' ',')"
    names = ",".join(field.asked for field in fields)
    question = f'cluster AccountUtilizationByUser start={start.isoformat()} end=now Accounts="{accounts}"'
    return ["sh", "-c", f"exec sreport -nP -t minutes -T {','.join(_COUNTED)} {question} format={names}"]


def find_period_start(period: str | None, now: float) -> date | None:
    """The first day of this month, quarter or year."""
    months = _FIRST_MONTHS.get((period or "").lower())
    if months is None:
        return None
    today = datetime.fromtimestamp(now, UTC).date()
    return date(today.year, (today.month - 1) // months * months + 1, 1)


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
