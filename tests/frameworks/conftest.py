"""Real frameworks in real jobs: `make test-frameworks` installs them; without, these tests are skipped."""

from pathlib import Path

import pytest

from tests.app.conftest import session, site_name
from tests.frameworks.installed import programs

__all__ = ["programs", "python", "session", "site_name"]

_ROOM = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before -m deselects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_ROOM):
            item.add_marker(pytest.mark.frameworks)


@pytest.fixture(scope="session")
def python(programs: Path) -> Path:
    """The Python that has all frameworks."""
    return programs / "python"
