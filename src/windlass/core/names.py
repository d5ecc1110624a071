"""Names of runs: what a person reads in `ps` and in squeue, what is typed back, and our token in a job's comment."""

import re
import unicodedata

SUFFIX_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # nothing that looks like something else
SUFFIX_LENGTH = 5
_TOKEN = re.compile(r"windlass:[A-Za-z0-9._-]+:\d+", re.ASCII)  # wire.TOKEN, filled in


def make_slug(name: str) -> str:
    """Lower-case letters, digits and dashes: safe in a path, a job name and a shell without quoting."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40].strip("-") or "run"


def make_run_id(name: str, suffix: str) -> str:
    return f"{make_slug(name)}-{suffix}"


def read_token(comment: str | None) -> str:
    """Our token, also where a site's plugin wrote around it; empty when there is none."""
    match = _TOKEN.search(comment or "")
    return match[0] if match else ""
