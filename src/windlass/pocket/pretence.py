"""What pocket pretends to be when a run is rehearsed for another machine: `[pretend]` of pocket.toml."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from windlass.pocket.environment import CLUSTER
from windlass.pocket.errors import PocketError

_TEXTS = ("node", "cluster", "host_suffix", "modules")
_NUMBERS = ("time_scale", "notice_s", "starts", "unasked_gpus")
_LISTS = ("node_folders", "accounts", "qos")
_KEYS = frozenset((*_TEXTS, *_NUMBERS, *_LISTS, "whole_nodes"))


@dataclass(frozen=True, kw_only=True)
class Clock:
    """A wall clock that runs faster, so that a day is over within a minute."""

    scale: float = 1.0
    notice_s: float = 0.0  # a notice before the end is not shrunk below this

    def shrink_lead(self, asked_s: float) -> float:
        """The time from the notice to the end: saving takes as long as ever, however short the day is."""
        return min(asked_s, max(asked_s * self.scale, self.notice_s))

    def shrink_limit(self, asked_s: int | None, lead_s: float) -> int | None:
        if asked_s is None or self.scale == 1.0:
            return asked_s
        lead_s = min(lead_s, asked_s)
        return max(1, round((asked_s - lead_s) * self.scale + self.shrink_lead(lead_s)))

    def shrink_change(self, asked_s: int | None, now_s: int | None) -> int | None:
        """A limit that somebody changes: never below what is left of it here, where seconds stand for hours."""
        shrunk = self.shrink_limit(asked_s, 0)
        return shrunk if self.scale == 1.0 or shrunk is None else max(shrunk, now_s or 0)


@dataclass(frozen=True, kw_only=True)
class Pretence:
    node: str = "pocket{}"  # how nodes are called; {:03} writes 001
    cluster: str = CLUSTER
    host_suffix: str = ""  # nodes answer to this name, too
    modules: str = ""  # a file: what `module` was asked for
    node_folders: tuple[str, ...] = ()  # each node has its own behind these paths
    clock: Clock = field(default_factory=Clock)
    starts: int | None = None  # no more jobs than this are started
    whole_nodes: bool = False
    unasked_gpus: int = 0
    accounts: tuple[str, ...] = ()  # empty: any
    qos: tuple[str, ...] = ()  # empty: any

    def refuse_strangers(self, account: str, qos: str) -> None:
        """As a controller does that knows its users."""
        if account and self.accounts and account not in self.accounts:
            raise PocketError("Invalid account or account/partition combination specified")
        if qos and self.qos and qos not in self.qos:
            raise PocketError("Invalid qos specification")


def read_pretence(raw: object, where: str) -> Pretence:
    """Unknown keys are refused by name."""
    if not isinstance(raw, Mapping) or raw.keys() - _KEYS:
        raise PocketError(f"{where}: [pretend] may hold {', '.join(sorted(_KEYS))}")
    plain = Pretence()
    numbers = {name: _number(raw[name], name, where) for name in _NUMBERS if name in raw}
    lists = {name: _words(raw[name], name, where) for name in _LISTS if name in raw}
    return Pretence(
        node=str(raw.get("node", plain.node)),
        cluster=str(raw.get("cluster", plain.cluster)),
        host_suffix=str(raw.get("host_suffix", "")),
        modules=str(raw.get("modules", "")),
        node_folders=lists.get("node_folders", ()),
        accounts=lists.get("accounts", ()),
        qos=lists.get("qos", ()),
        clock=Clock(scale=numbers.get("time_scale", 1.0), notice_s=numbers.get("notice_s", 0.0)),
        starts=int(numbers["starts"]) if "starts" in numbers else None,
        whole_nodes=raw.get("whole_nodes") is True,
        unasked_gpus=int(numbers.get("unasked_gpus", 0)),
    )


def _number(value: object, name: str, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise PocketError(f"{where}: pretend.{name} must be a number, not {value!r}")
    return float(value)


def _words(value: object, name: str, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise PocketError(f"{where}: pretend.{name} must be a list of words, not {value!r}")
    return tuple(value)
