"""Real frameworks in real jobs: `make test-frameworks` installs them; without, these tests are skipped."""

from pathlib import Path

import pytest

from tests.app.conftest import session, site_name
from tests.frameworks.world import VENV

__all__ = ["python", "session", "site_name"]

_ROOM = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before -m deselects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_ROOM):
            item.add_marker(pytest.mark.frameworks)


@pytest.fixture(scope="session")
def python() -> Path:
    """The Python that has all frameworks."""
    if not (VENV / ".windlass-complete").exists():
        pytest.skip("the frameworks are not installed: make test-frameworks")
    return VENV / "bin" / "python"
