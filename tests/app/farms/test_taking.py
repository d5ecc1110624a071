"""What `farm run` is given, read as tasks."""

from pathlib import Path

import pytest

from windlass.app.farms.taking import Given, take_tasks
from windlass.errors import UsageError


@pytest.mark.parametrize(("word", "hint"), [(":::+", "--table"), ("::::", "< FILE"), ("::::+", "< FILE")])
def test_what_only_gnu_parallel_knows_is_refused(word: str, hint: str, tmp_path: Path) -> None:
    """As a value of its own it would make other tasks than meant."""
    with pytest.raises(UsageError) as told:
        take_tasks(Given(words=("echo {}", ":::", "1", word, "2")), tmp_path)

    assert word in told.value.message
    assert hint in str(told.value.hint)
