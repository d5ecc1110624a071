"""The fixture `court`: the centre of a test, each started once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.centres.judging import Court, take_facts
from tests.centres.worlds import make_centre
from tests.cluster.cluster import reason_it_cannot_run
from tests.cluster.house import House, LiveCentre

_HERE = Path(__file__).parent


class _Stage:
    """One centre at a time. `NAME@NO` is the same one with a Slurm that enforces no partition limits at submission."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._court: Court | None = None
        self._name = ""
        self._broken: dict[str, Exception] = {}

    def play(self, name: str) -> Court:
        if self._court is None or self._name != name:
            self._court, self._name = self._change(name), name
        return self._court

    def _change(self, name: str) -> Court:
        (centre, _, enforces), (old, _, old_enforces) = name.partition("@"), self._name.partition("@")
        live = self._court.live if self._court is not None and old == centre else self._start(centre)
        if (old != centre and enforces) or (old == centre and enforces != old_enforces):
            live.enforce_partition_limits(enforces or live.centre.enforces_partition_limits)
        return Court(live=live, facts=take_facts(live))

    def _start(self, centre: str) -> LiveCentre:
        if centre in self._broken:
            pytest.fail(f"{centre} did not start: {self._broken[centre]}")
        self._house.slurm("stop")
        self._court = None
        try:
            return LiveCentre(self._house, make_centre(centre))
        except Exception as problem:
            # Told for each of its tests, but waited for only once.
            self._broken[centre] = problem
            raise


@pytest.fixture(scope="session")
def stage() -> Iterator[_Stage]:
    reason = reason_it_cannot_run()
    if reason:
        pytest.skip(reason)
    house = House()
    yield _Stage(house)
    house.close()


@pytest.fixture
def court(stage: _Stage, name: str) -> Court:
    """Of the centre that the test is parametrised with."""
    return stage.play(name)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of one centre one after another: each takes seconds to start."""
    places = [index for index, item in enumerate(items) if item.path.is_relative_to(_HERE)]
    mine = sorted((items[index] for index in places), key=_name_centre)
    for index, item in zip(places, mine, strict=True):
        items[index] = item


def _name_centre(item: pytest.Item) -> str:
    return str(item.callspec.params.get("name", "")) if hasattr(item, "callspec") else ""
