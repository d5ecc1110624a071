"""What a check refuses, the centre's sbatch refuses in the words that the check quotes."""

import pytest

from tests.centres.judging import Court, Fate, assert_quoted, hear, list_errors, try_together
from tests.centres.rows import make_id
from tests.centres.slips import Slip, list_slips
from tests.centres.worlds import NAMES
from windlass.core.case import Case
from windlass.errors import PlanError

pytestmark = [pytest.mark.slurm, pytest.mark.xdist_group("centres")]
# Two also with Slurm's default: what is over a partition's limit is taken, and waits for ever.
_SLIPS = {name: list_slips(name) for name in (*NAMES, "sdumont@NO", "wilson@NO")}
Trials = dict[str, dict[str, tuple[Case, Fate]]]


@pytest.fixture(scope="module")
def trials() -> Trials:
    """By centre: all its slips are tried together, since Slurm takes a second to say why a job waits."""
    return {}


@pytest.mark.parametrize(
    ("name", "slip"),
    [
        pytest.param(name, slip, id=make_id(name, slip.id, slip.about))
        for name, slips in _SLIPS.items()
        for slip in slips
    ],
)
def test_check_quotes_slurm(court: Court, trials: Trials, name: str, slip: Slip) -> None:
    if name not in trials:
        cases = {one.id: court.make_case(one.resources, **one.changes) for one in _SLIPS[name]}
        fates = try_together(court, cases, timeout_s=10)
        trials[name] = {id: (case, fates[id]) for id, case in cases.items()}
    case, fate = trials[name][slip.id]
    if slip.asked is not None and not list_errors(case):
        # Windlass does not even plan it, and Slurm agrees.
        assert hear(fate)
        with pytest.raises(PlanError):
            court.make_case(slip.asked)
        return
    assert_quoted(case, fate)
