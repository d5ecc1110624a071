"""What tests of trainings in a job share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.job.trainings import Home


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    made.stop()
