"""What needs the internet: the values that are found in Python, in shell text and in commands."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
WANDB_OFFLINE = '[run.env]\nWANDB_MODE = "offline"'  # to paste
_OFF = frozenset({"", "0", "false", "no", "off", "none"})


class UseKind(StrEnum):
    FETCH = "fetch"  # wget, git clone, conda install, requests.get: goes out whenever it is reached
    INSTALL = "install"  # pip install: goes out unless everything is there already
    CACHED = "cached"  # from_pretrained, download=True: works when it was fetched before
    TRACKER = "tracker"  # wandb, comet, neptune, clearml, mlflow with an address


@dataclass(frozen=True, kw_only=True)
class Use:
    line: int  # from 1
    column: int  # from 1
    what: str  # short, for one line of a terminal
    kind: UseKind
    hint: str  # a command for the login node, or lines to paste
    is_certain: bool = False  # reached whenever the text is run
    folder: str | None = None  # where it keeps what it fetched, if that is another folder in each run
    cache: str | None = None  # whose cache it looks in first: a folder below ROOT/caches
    kept_as: str | None = None  # where that cache keeps just this, below its folder


def is_on(env: Mapping[str, str], *names: str) -> bool:
    """Whether one of these switches is set to something that means yes."""
    return any(env.get(name, "").strip().lower() not in _OFF for name in names)


def is_wandb_off(env: Mapping[str, str]) -> bool:
    """It asks no server: it writes files, or nothing."""
    return env.get("WANDB_MODE") in {"offline", "disabled", "dryrun"}


def has_proxy(env: Mapping[str, str]) -> bool:
    """A way out that the site gives."""
    return any(name.lower() in {"http_proxy", "https_proxy", "all_proxy"} and value for name, value in env.items())
