"""The environment with every framework, which `make test-frameworks` makes; without it these tests are skipped."""

from pathlib import Path

import pytest

VENV = Path(__file__).parents[2] / ".venv-frameworks"


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder of its Python and of the frameworks' own programs."""
    if not (VENV / ".windlass-complete").exists():
        pytest.skip("the frameworks are not installed: make test-frameworks")
    return VENV / "bin"
