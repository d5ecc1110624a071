"""What to paste so that a system keeps `windlass watch` running: for systemd, launchd and cron."""

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from windlass.core.shell import quote

_NAME = "windlass-watch"


class Service(StrEnum):
    SYSTEMD = "systemd"
    LAUNCHD = "launchd"
    CRON = "cron"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The text of a file, where it goes, and what to type then."""

    path: str | None
    text: str
    then: tuple[str, ...]


def make_recipe(service: Service, argv: Sequence[str]) -> Recipe:
    """argv: what starts Windlass here, such as /home/ann/.local/bin/windlass."""
    return _RECIPES[service](argv)


def _make_systemd(argv: Sequence[str]) -> Recipe:
    # A percent sign begins a specifier there, and a dollar a variable.
    words = " ".join(quote(word).replace("%", "%%").replace("$", "$$") for word in (*argv, "watch"))
    text = (
        "[Unit]\n"
        "Description=Windlass tells what becomes of your runs\n"
        "\n"
        "[Service]\n"
        f"ExecStart={words}\n"
        "Restart=on-failure\n"
        "RestartSec=60\n"
        "\n"
        "[Install]\n"
        "WantedBy=default.target\n"
    )
    then = ("systemctl --user daemon-reload", f"systemctl --user enable --now {_NAME}")
    return Recipe(path=f"~/.config/systemd/user/{_NAME}.service", text=text, then=then)


def _make_launchd(argv: Sequence[str]) -> Recipe:
    words = "\n".join(f"    <string>{html.escape(word, quote=False)}</string>" for word in (*argv, "watch"))
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n'
        '<plist version="1.0">\n<dict>\n'
        f"  <key>Label</key><string>{_NAME}</string>\n"
        f"  <key>ProgramArguments</key>\n  <array>\n{words}\n  </array>\n"
        "  <key>RunAtLoad</key><true/>\n  <key>KeepAlive</key><true/>\n"
        "</dict>\n</plist>\n"
    )
    path = f"~/Library/LaunchAgents/{_NAME}.plist"
    return Recipe(path=path, text=text, then=(f"launchctl load {path}",))


def _make_cron(argv: Sequence[str]) -> Recipe:
    # cron takes a percent sign for the end of the line.
    words = " ".join(quote(word).replace("%", r"\%") for word in (*argv, "--quiet", "watch", "--once"))
    return Recipe(path=None, text=f"*/5 * * * * {words}\n", then=("crontab -e",))


_RECIPES: Mapping[Service, Callable[[Sequence[str]], Recipe]] = {
    Service.SYSTEMD: _make_systemd,
    Service.LAUNCHD: _make_launchd,
    Service.CRON: _make_cron,
}
