"""Every plan that Windlass makes for a centre is taken by its sbatch, and starts."""

import pytest

from tests.centres.judging import Court, Fate, assert_accepted, try_all
from tests.centres.rows import make_id
from tests.centres.wishes import Wish, list_wishes
from windlass.core.case import Case
from windlass.errors import PlanError

pytestmark = [pytest.mark.slurm, pytest.mark.xdist_group("centres")]
_WISHES = list_wishes()
Trials = dict[str, tuple[dict[str, Case | PlanError], dict[str, Fate]]]


@pytest.fixture(scope="module")
def trials() -> Trials:
    """By centre: all its wishes are tried together, since Slurm takes a second to start what it takes."""
    return {}


@pytest.mark.parametrize(
    ("name", "wish"), [pytest.param(one.name, one.id, id=make_id(one.name, one.id, one.about)) for one in _WISHES]
)
def test_plan_is_accepted_and_starts(court: Court, trials: Trials, name: str, wish: str) -> None:
    if name not in trials:
        cases = {one.id: _plan(court, one) for one in _WISHES if one.name == name}
        trials[name] = cases, try_all(court, {id: case for id, case in cases.items() if isinstance(case, Case)})
    cases, fates = trials[name]
    case = cases[wish]
    assert isinstance(case, Case), case
    assert_accepted(case, fates[wish])


def _plan(court: Court, wish: Wish) -> Case | PlanError:
    try:
        return court.make_case(wish.resources)
    except PlanError as problem:
        return problem
