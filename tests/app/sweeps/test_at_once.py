"""Several who go on with the same sweep at once: nothing is tried twice, and who is refused has changed nothing."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from windlass.app.planning import Wanted
from windlass.app.refreshing import rebuild
from windlass.app.session import Session
from windlass.app.sweeps.following import follow_sweep
from windlass.app.sweeps.holding import hold_sweep
from windlass.app.sweeps.looking import SweepReader, find_sweep
from windlass.app.sweeps.resuming import More, resume_sweep, resuming
from windlass.app.sweeps.starting import plan_sweep, send_sweep
from windlass.core.farm.values import FarmNeeds
from windlass.core.record import RunRecord
from windlass.core.site import Site
from windlass.core.sweep.wish import Method, Sweep
from windlass.edges.host import Host, Reply, Request
from windlass.errors import UsageError

pytestmark = pytest.mark.parametrize("session", ["here"], indirect=True)

WINDLASS = Path(sys.executable).parent / "windlass"
Start = Callable[..., RunRecord]


@pytest.fixture
def start(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    monkeypatch.setenv("WINDLASS_TEST_BEAT_S", "1")
    project = tmp_path / "project"
    project.mkdir()
    (project / "windlass.toml").write_text('[run]\nname = "once"\ncommand = "true"\n')

    def act(**wish: Any) -> RunRecord:
        sweep = Sweep(command="echo loss={x} {trial}", pattern="loss=(.*)", seed=3, **wish)
        wanted = Wanted(project=project, site="here")
        return send_sweep(session, plan_sweep(session, wanted, sweep, needs=FarmNeeds(), pilots=1))

    return act


class Slow:
    """Something happens just before trials are added through it."""

    def __init__(self, host: Host, before: Callable[[], object]) -> None:
        self._host, self._before = host, before

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        if any(one.operation == "farm_add" for one in requests):
            before, self._before = self._before, lambda: None
            before()
        return self._host.ask(requests)

    @property
    def name(self) -> str:
        return self._host.name

    @property
    def round_trips(self) -> int:
        return self._host.round_trips

    def close(self) -> None:
        self._host.close()


class SlowSession(Session):
    before: Callable[[], object]

    def __enter__(self) -> "SlowSession":
        return self

    def host(self, site: Site) -> Host:
        host = super().host(site)
        self._hosts[site.name] = host if isinstance(host, Slow) else Slow(host, self.before)
        return self._hosts[site.name]


@pytest.fixture
def other(tmp_path: Path, session: Session) -> Iterator[SlowSession]:
    """Another laptop, with the same site."""
    folders = replace(session.folders, state=tmp_path / "another-laptop")
    with SlowSession(folders=folders, environ=os.environ) as opened:
        opened.before = lambda: None
        yield opened


def read(session: Session, record: RunRecord) -> SweepReader:
    reader = SweepReader(session=session, record=record)
    reader.look()
    return reader


def count_wanted(session: Session, record: RunRecord) -> int | None:
    card = read(session, record).card
    assert card is not None
    return card.sweep.trials


def test_three_at_once_add_what_each_asked_for(session: Session, start: Start) -> None:
    record = start(space={"x": "0..1"}, trials=4)

    words = [str(WINDLASS), "sweep", "resume", record.run_id, "--trials", "2", "-d"]
    started = [subprocess.Popen(words, stdout=subprocess.DEVNULL) for _ in range(3)]

    assert [one.wait(60) for one in started] == [0, 0, 0]
    values = [one["x"] for one in read(session, record).values]
    assert len(values) == len(set(values)) == count_wanted(session, record) == 10


@pytest.mark.parametrize(
    ("wish", "more", "added", "total"),
    [
        ({"space": {"x": "0..1"}, "trials": 4}, More(trials=2), 2, 8),
        ({"space": {"x": "1,2"}}, More(space={"x": "1,2,3"}), 0, 3),
    ],
    ids=["random", "grid"],
)
def test_who_was_overtaken_by_another_laptop_looks_anew(
    session: Session, other: SlowSession, start: Start, wish: dict[str, Any], more: More, added: int, total: int
) -> None:
    record = start(**wish)
    other.before = lambda: resume_sweep(session, record, more)
    rebuild(other, "here")

    resumed = resume_sweep(other, find_sweep(other, record.run_id), more)

    values = [one["x"] for one in read(session, record).values]
    assert resumed.added == added
    assert len(values) == len(set(values)) == total


def test_who_is_refused_has_changed_nothing(session: Session, start: Start) -> None:
    record = start(space={"x": "0..1"}, trials=2, parallel=1, method=Method.OPTUNA)

    with hold_sweep(session, record, waits=False):  # as who drives it does
        words = [str(WINDLASS), "sweep", "resume", record.run_id, "--trials", "3"]
        refused = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)

    assert refused.returncode == 2
    assert "another windlass on this machine drives" in refused.stderr
    assert count_wanted(session, record) == 2


def test_a_search_is_held_from_its_change_to_its_end(session: Session, start: Start) -> None:
    record = start(space={"x": "0..1"}, trials=1, parallel=1, method=Method.OPTUNA)

    with resuming(session, record, More(trials=1)):
        with pytest.raises(UsageError, match="another windlass"):
            resume_sweep(session, record, More(trials=1))
        seen = follow_sweep(session, record, show=lambda _: None, is_held=True)

    assert len(seen.trials) == 2
