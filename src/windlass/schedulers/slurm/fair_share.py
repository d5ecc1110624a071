"""sshare: how this user stands in each account: 1 comes first, 0 last, one half has used just what is due."""

from windlass.core.seen.fair_share import FairShare
from windlass.schedulers.slurm.fields import Fields, make_fields, read_rows

FAIR_FIELDS = make_fields(account="Account", user="User", factor="FairShare")


def make_fair_share_command(fields: Fields = FAIR_FIELDS) -> list[str]:
    """-U: the rows of this user alone."""
    return ["sshare", "-U", "--noheader", "--parsable2", "--format=" + ",".join(field.asked for field in fields)]


def read_fair_share(text: str, fields: Fields = FAIR_FIELDS) -> tuple[FairShare, ...]:
    """Rows without a number are those of a Slurm that counts none."""
    rows = read_rows(text, fields, separator="|")
    found = [(row.get("account", "").strip(), _read(row.get("factor", ""))) for row in rows if row.get("user")]
    return tuple(
        FairShare(account=account, factor=factor) for account, factor in found if account and factor is not None
    )


def _read(word: str) -> float | None:
    try:
        factor = float(word)
    except ValueError:
        return None
    return factor if 0 <= factor <= 1 else None
