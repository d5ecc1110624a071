"""What every test may use: the real cluster, places of its own, and how hard Hypothesis tries."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from windlass_job import wire

pytest_plugins = ["tests.cluster.fixtures"]

_TESTS = Path(__file__).parent
_SLOW_ROOMS = frozenset({"app", "cli", "contracts", "docs", "examples", "job", "pocket"})
_OF_A_RUN = {value for name, value in vars(wire).items() if name.startswith("ENV_")}

# Derandomized: a failure is the same for everybody. No deadline: a busy machine is slow.
settings.register_profile("default", max_examples=50, derandomize=True, deadline=None)
settings.register_profile("search", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_configure() -> None:
    """The tests may themselves run in a Slurm job, or in a run of Windlass's: its variables must not leak in."""
    for name in list(os.environ):
        if name.startswith(("SLURM_", "SBATCH_")) or name in _OF_A_RUN:
            del os.environ[name]
    _listen_to_signals()


def _listen_to_signals() -> None:
    """As at a terminal: what nohup, or a shell's `&`, has told to ignore is ignored by every process started here."""
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, usual)


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups, and before -m deselects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker takes all tests with the real cluster; rooms that start processes by the dozen are slow."""
    for item in items:
        if item.get_closest_marker("slurm"):
            item.add_marker(pytest.mark.xdist_group("slurm"))
        if item.path.relative_to(_TESTS).parts[0] in _SLOW_ROOMS:
            item.add_marker(pytest.mark.slow)


@dataclass(frozen=True)
class Places:
    """Folders that only this test sees."""

    home: Path
    config: Path
    state: Path
    pocket: Path

    @property
    def env(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "WINDLASS_CONFIG_DIR": str(self.config),
            "WINDLASS_STATE_DIR": str(self.state),
            "WINDLASS_POCKET_DIR": str(self.pocket),
        }


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    """A home of the test's own for Windlass, in this process and in all it starts."""
    found = Places(*(tmp_path / name for name in ("home", "config", "state", "pocket")))
    for variable, path in found.env.items():
        Path(path).mkdir()
        monkeypatch.setenv(variable, path)
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return found
