"""Where Windlass keeps its own files on this machine, by the XDG rules on Linux and macOS alike."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from windlass.errors import ConfigError

NAME = "windlass"


@dataclass(frozen=True, kw_only=True)
class Folders:
    """Nothing is created here: whoever writes makes the folder."""

    config: Path  # config.toml, sites/*.toml
    data: Path  # runs on this very machine
    state: Path  # the store, sockets of open connections
    cache: Path

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def sites(self) -> Path:
        return self.config / "sites"


def find_folders(environ: Mapping[str, str]) -> Folders:
    """WINDLASS_CONFIG_DIR and WINDLASS_STATE_DIR win over XDG; with the latter all but the settings lie below it."""
    # platformdirs reads os.environ itself, and its import costs start-up; these are its rules for Unix.
    state = _absolute(environ.get("WINDLASS_STATE_DIR"))
    config = _absolute(environ.get("WINDLASS_CONFIG_DIR"))
    return Folders(
        config=config or _xdg(environ, "XDG_CONFIG_HOME", ".config"),
        data=state / "data" if state else _xdg(environ, "XDG_DATA_HOME", ".local/share"),
        state=state or _xdg(environ, "XDG_STATE_HOME", ".local/state"),
        cache=state / "cache" if state else _xdg(environ, "XDG_CACHE_HOME", ".cache"),
    )


def find_home(environ: Mapping[str, str]) -> Path | None:
    """$HOME, else what the system says; None where there is none (a container with an unknown user)."""
    home = _absolute(environ.get("HOME"))
    if home:
        return home
    try:
        return Path.home()
    except RuntimeError:
        return None


def _xdg(environ: Mapping[str, str], variable: str, below_home: str) -> Path:
    given = _absolute(environ.get(variable))
    if given:
        return given / NAME
    home = find_home(environ)
    if home is None:
        raise ConfigError("your home folder is not known", hint=f"set HOME, or {variable}")
    return home / below_home / NAME


def _absolute(text: str | None) -> Path | None:
    """The XDG rules say: a relative path is to be ignored."""
    return Path(text) if text and text.startswith("/") and "\0" not in text else None
