"""Whether a prefetch-ID.json that lies at the site is one that the laptop can read: its keys and their types."""

import math
from typing import Any, Dict

_ENDS = ("done", "step", "limit", "failed")
_PLACES = ("login", "transfer", "laptop")
_LARGEST = 1 << 63


def is_card(card: "Any") -> bool:
    """It may be half written, of another version, or somebody's own."""
    return (
        isinstance(card, dict)
        and all(isinstance(card.get(name), str) for name in ("id", "name", "command"))
        and card.get("where") in _PLACES
        and _has_end(card)
        and isinstance(card.get("paths", []), list)
        and all(isinstance(one, str) for one in card.get("paths", []))
        and _is_count(card.get("new_bytes", 0))
        and _has_sizes(card.get("caches", {}))
        and (card.get("problem") is None or isinstance(card["problem"], str))
        and (card.get("verified") is None or _is_verified(card["verified"]))
    )


def _has_end(card: "Dict[str, Any]") -> bool:
    files = card.get("files", {})
    is_told = card.get("ended") in _ENDS and isinstance(files, dict)
    return is_told and _is_moment(card.get("made")) and all(isinstance(one, str) for one in files.values())


def _is_verified(value: "Any") -> bool:
    return isinstance(value, dict) and isinstance(value.get("how"), str) and _has_end(value)


def _has_sizes(caches: "Any") -> bool:
    return isinstance(caches, dict) and all(
        isinstance(one, dict) and _is_count(one.get("files")) and _is_count(one.get("bytes")) for one in caches.values()
    )


def _is_count(value: "Any") -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST


def _is_moment(value: "Any") -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
