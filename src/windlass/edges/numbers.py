"""What a survey asks beside Slurm's own facts: budgets and storage, all at once and bounded in time.

A file system that hangs, or a command of the centre's that takes its time, must not hold up a plan: what is not told
within some seconds stays unknown.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from windlass.core.facts import Balance, Facts, SeenQuota
from windlass.core.seen.balances import read_balances, sort_balances
from windlass.core.seen.quotas import Disk, QuotaRow, make_quota, pick_quota, read_disk, read_quotas
from windlass.core.shell import quote, quote_with_variables
from windlass.core.site import Area, CostUnit, Site
from windlass.edges.host import Completed, Request, make_command
from windlass.schedulers.slurm.balance import make_shares_command, make_use_command, read_shares, read_use

LIMIT_S = 6.0
_END = "="  # the last line of a piece: a sign, and how the command ended
_NEXT = "=="
_SHARES, _USE, _OWN = "shares", "use", "own"


@dataclass(frozen=True)
class _Piece:
    """One question: a line of shell, beside all others."""

    name: str
    line: str


def make_number_requests(site: Site, now: float, *, limit_s: float = LIMIT_S) -> list[Request]:
    """One request, or none where nothing is charged and no storage is written down."""
    pieces = _make_pieces(site, now)
    if not pieces:
        return []
    script = "\n".join([*(_make_line(place, piece) for place, piece in enumerate(pieces)), "wait", ""])
    path = site.software.slurm_path
    return [make_command(["sh"], stdin=script.encode(), timeout_s=limit_s, path_prefix=path, idempotent=True)]


def add_numbers(facts: Facts, site: Site, done: Sequence[Completed]) -> Facts:
    """`done`: the answers to `make_number_requests` with the same site and the time of these facts."""
    if not done:
        return facts
    pieces = _make_pieces(site, facts.taken_at or 0)
    told = _read_pieces(done[0].out, pieces)
    return replace(facts, balances=_read_balances(site, told, facts), quotas=_read_quotas(site, told))


def join_balances(site: Site, *, own: str, shares: str, use: str) -> tuple[Balance, ...]:
    """The centre's own word first, then Slurm's limits; what was only used where neither knows a limit."""
    unit = str(site.accounting.unit)
    told = read_balances(own, source=site.accounting.balance_command or "", default_unit=unit)
    limited = {(one.account, one.unit) for one in told}
    of_slurm = [one for one in read_shares(shares) if (one.account, one.unit) not in limited]
    limited |= {(one.account, one.unit) for one in of_slurm}
    used = [one for one in read_use(use) if (one.account, one.unit) not in limited]
    return sort_balances([*told, *of_slurm, *used], unit)


def _make_pieces(site: Site, now: float) -> list[_Piece]:
    pieces = []
    if site.accounting.unit is not CostUnit.NONE:
        pieces.append(_Piece(_SHARES, _make_words(make_shares_command())))
        use = make_use_command(site.accounting.period, now)
        if use is not None:
            pieces.append(_Piece(_USE, _make_words(use)))
    if site.accounting.balance_command:
        pieces.append(_Piece(_OWN, _make_words(["sh", "-c", site.accounting.balance_command])))
    areas = _list_areas(site)
    pieces += [_Piece(f"disk {area.name}", _make_disk_line(area)) for area in areas]
    commands = dict.fromkeys(area.quota_command for area in areas if area.quota_command)
    return pieces + [_Piece(f"quota {command}", _make_words(["sh", "-c", command])) for command in commands]


def _list_areas(site: Site) -> list[Area]:
    return [area for area in site.storage if area.on_login]


def _make_disk_line(area: Area) -> str:
    path = quote_with_variables(area.path)
    return f'p={path}; echo "$p"; df -P -k "$p" && {{ echo {_NEXT}; df -P -i "$p"; true; }}'


def _make_words(argv: Sequence[str]) -> str:
    return " ".join(quote(word) for word in argv)


def _make_line(place: int, piece: _Piece) -> str:
    """Each line of an answer carries the number of its piece, since they come in any order."""
    return f'{{ {piece.line}; echo "{_END} $?"; }} </dev/null 2>/dev/null | sed "s/^/{place} /" &'


def _read_pieces(out: str, pieces: Sequence[_Piece]) -> dict[str, str]:
    """By name, the answers that came to their end. `quota` of somebody who is over it ends with an error."""
    lines: dict[str, list[str]] = {str(place): [] for place in range(len(pieces))}
    for line in out.split("\n"):
        place, _, text = line.partition(" ")
        if place in lines:
            lines[place].append(text)
    done = {pieces[int(place)].name: words for place, words in lines.items() if words and _END in words[-1][:1]}
    return {
        name: "\n".join(words[:-1])
        for name, words in done.items()
        if words[-1] == f"{_END} 0" or name == _OWN or name.startswith("quota ")
    }


def _read_balances(site: Site, told: dict[str, str], facts: Facts) -> tuple[Balance, ...] | None:
    # Without a database of its own this Slurm has no budgets: an sshare that answers is another's.
    of_slurm = told if facts.has_accounting else {}
    found = join_balances(site, own=told.get(_OWN, ""), shares=of_slurm.get(_SHARES, ""), use=of_slurm.get(_USE, ""))
    return found if found or {_SHARES, _USE} & set(of_slurm) else None


def _read_quotas(site: Site, told: dict[str, str]) -> tuple[SeenQuota, ...] | None:
    found = [quota for area in _list_areas(site) if (quota := _read_quota(area, told)) is not None]
    return tuple(found) if found else None


def _read_quota(area: Area, told: dict[str, str]) -> SeenQuota | None:
    disk = _read_disk(told.get(f"disk {area.name}", ""))
    place = disk or Disk(path=area.path, device="", mount="")
    found = _find_row(area, place, told)
    if found is not None:
        command, row = found
        return make_quota(area.name, place, row, source=command)
    return make_quota(area.name, disk, None, source="df") if disk else None


def _find_row(area: Area, place: Disk, told: dict[str, str]) -> tuple[str, QuotaRow] | None:
    """Of the area's own command; of another's where that one tells of the group whose quota it is."""
    if not area.quota_command:
        return None
    texts = {name.removeprefix("quota "): text for name, text in told.items() if name.startswith("quota ")}
    reports = {command: read_quotas(text, command) for command, text in texts.items()}
    own = pick_quota(reports.pop(area.quota_command, ()), place, per_group=area.per_group)
    if own is not None and own.is_for(per_group=area.per_group):
        return area.quota_command, own
    for command, rows in reports.items():
        row = pick_quota(rows, place, per_group=area.per_group, must_be_named=True)
        if row is not None and row.is_for(per_group=area.per_group):
            return command, row
    return (area.quota_command, own) if own is not None else None


def _read_disk(text: str) -> Disk | None:
    path, _, rest = text.partition("\n")
    blocks, _, inodes = rest.partition(f"\n{_NEXT}\n")
    return read_disk(path, blocks, inodes) if path else None
