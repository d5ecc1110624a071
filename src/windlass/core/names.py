"""Names of runs: what a person reads in `ps` and in squeue, and what is typed back."""

import re
import unicodedata

SUFFIX_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # nothing that looks like something else
SUFFIX_LENGTH = 5
_RUN_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}-[a-z0-9]{5}")


def make_slug(name: str) -> str:
    """Lower-case letters, digits and dashes: safe in a path, a job name and a shell without quoting."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40].strip("-") or "run"


def make_run_id(name: str, suffix: str) -> str:
    return f"{make_slug(name)}-{suffix}"


def is_run_id(text: str) -> bool:
    return _RUN_ID.fullmatch(text) is not None
