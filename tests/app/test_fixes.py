"""A diagnosis's patch, in the project's own file."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import RECORD
from windlass.app.mending import apply_fix, make_fix
from windlass.core.finding import Setting
from windlass.core.record import RunRecord, RunState
from windlass.errors import UsageError

TEXT = '[run]\ncommand = "x"\n[resources]\ntime = "3m"  # short\n[checkpoint]\nnotice = "1m"\n'
LONGER = (Setting(key="checkpoint.notice", value='"2m"'),)


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    (tmp_path / "windlass.toml").write_text(TEXT)
    return replace(RECORD, state=RunState.FAILED, project=str(tmp_path))


def test_it_is_shown_and_written(record: RunRecord) -> None:
    fix = make_fix(record, LONGER)

    assert fix is not None
    assert '-notice = "1m"\n+notice = "2m"\n' in fix.diff
    apply_fix(fix)
    assert fix.path.read_text() == TEXT.replace('"1m"', '"2m"')
    assert fix.next_command == "windlass run --on alpha"


def test_what_would_make_the_file_wrong_is_not_offered(record: RunRecord) -> None:
    assert make_fix(record, (Setting(key="checkpoint.notice", value='"1h"'),)) is None
    assert make_fix(record, (Setting(key="resources.nosuch", value="1"),)) is None


def test_what_the_file_asks_for_is_never_lowered(record: RunRecord) -> None:
    less = (Setting(key="resources.time", value='"2m"'), Setting(key="checkpoint.folder", value='"saved"'))

    fix = make_fix(record, less)

    assert fix is not None
    assert fix.kept == ("resources.time",)
    assert fix.after == TEXT + 'folder = "saved"\n'


def test_line_ends_of_windows_stay(record: RunRecord) -> None:
    path = Path(record.project or "") / "windlass.toml"
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    fix = make_fix(record, (Setting(key="resources.cpus", value="4"),))
    assert fix is not None

    apply_fix(fix)

    assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n") == TEXT.count("\n") + 1


def test_a_file_that_was_changed_meanwhile_is_left_as_it_is(record: RunRecord) -> None:
    fix = make_fix(record, LONGER)
    assert fix is not None
    fix.path.write_text("# changed\n" + TEXT)

    with pytest.raises(UsageError, match="has changed meanwhile"):
        apply_fix(fix)

    assert fix.path.read_text() == "# changed\n" + TEXT


def test_a_run_that_lives_is_cancelled_first(record: RunRecord) -> None:
    fix = make_fix(replace(record, state=RunState.WAITING), LONGER)

    assert fix is not None
    assert fix.next_command == f"windlass cancel {record.run_id} && windlass run --on alpha"


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"[run\n", b"\0"])
def test_a_file_that_is_away_or_no_toml_gets_no_fix(record: RunRecord, content: bytes | None) -> None:
    path = Path(record.project or "") / "windlass.toml"
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)

    assert make_fix(record, LONGER) is None
