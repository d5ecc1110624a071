"""The command line starts fast because of what it does not load. Times are for `benchmarks/startup.py`."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Places

HEAVY = {
    "asyncio",
    "concurrent.futures",
    "email",
    "http",
    "jinja2",
    "logging",
    "multiprocessing",
    "optuna",
    "platformdirs",
    "rich",
    "secrets",
    "shtab",
    "shutil",
    "ssl",
    "subprocess",
    "tempfile",
    "textual",
    "tomlkit",
    "tomllib",
    "windlass.api",
    "windlass.app.planning",
    "windlass.app.refreshing",
    "windlass.core.plan",
    "windlass.core.site",
    "windlass.edges.channel",
    "windlass.edges.cluster",
    "windlass.edges.snapshot",
    "windlass.pocket",
}


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (["--version"], set()),
        (["--json", "ps", "--cached"], {"msgspec", "sqlite3"}),
        (["ps", "--cached"], {"msgspec", "sqlite3"}),
    ],
)
def test_a_quick_command_loads_nothing_heavy(arguments: list[str], needed: set[str], places: Places) -> None:
    modules = _find_modules(arguments)

    assert modules & HEAVY == set()
    assert modules & {"msgspec", "sqlite3"} == needed
    assert "windlass.cli.main" in modules


def _find_modules(arguments: list[str]) -> set[str]:
    program = Path(sys.executable).with_name("windlass")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", program, *arguments], capture_output=True, text=True, check=True
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}
