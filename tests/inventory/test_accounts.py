"""Accounts, QOS and cost of the centres: who pays how much, with which priority, and how many jobs one may have."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import HOUR, plan_for
from tests.inventory.cases import ACCOUNT, find, list_codes, list_errors, make_case
from tests.sites.shipped import load
from windlass.core.facts import Association, Balance, Facts, Reservation, SeenQos
from windlass.core.job import make_script
from windlass.core.run import Resources

ONE = Resources(gpus=1, time=HOUR)
QOS = ("opp", "regular", "test")
SIX = tuple(
    Association(account=name, qos=QOS, default_qos="opp", is_default=name == "wc_test")
    for name in ("wc_test", "wc_beams", "wc_cosmo", "wc_lattice", "wc_neutrino", "wc_theory")
)


def at_wilson(**more: object) -> Facts:
    """What Slurm there says of its QOS, with the numbers of the site file."""
    shown = tuple(
        SeenQos(name=one.name, max_time=one.max_time, max_submit=one.max_submitted, max_jobs=one.max_running)
        for one in load("wilson").qos
    )
    facts = Facts(root="/work1/alice/windlass", associations=SIX, qos=shown, enforces_limits=True)
    return replace(facts, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("site", [pytest.param("jureca-dc", id="JS-10"), pytest.param("narval", id="CA-26")])
def test_a_job_that_nobody_pays_for_is_refused(site: str) -> None:
    paid, unpaid = make_case(site, ONE), make_case(site, ONE, planned={"account": None})

    assert "C101" not in list_codes(paid)
    assert "C101" in [one.code for one in list_errors(unpaid)]
    assert f"#SBATCH --account={ACCOUNT}\n" in make_script(paid.plan)


def test_the_default_account_is_taken_among_six() -> None:
    """WI-04, WI-05."""
    assert plan_for(ONE, site=load("wilson"), facts=at_wilson()).account == "wc_test"


def test_an_account_that_is_not_among_mine_is_refused() -> None:
    """WI-05."""
    case = make_case("wilson", replace(ONE, account="wc_other"), facts=at_wilson())

    assert "wc_test" in find(case, "C102").message


def test_a_qos_that_is_not_among_mine_is_refused() -> None:
    """WI-05, WI-09."""
    case = make_case("wilson", replace(ONE, account="wc_test", qos="admin"), facts=at_wilson())

    assert find(case, "C103").refusal == "Invalid qos specification"


@pytest.mark.parametrize(
    ("hours", "qos", "links"),
    [
        pytest.param(8, None, 1, id="WI-06"),  # the default holds it
        pytest.param(9, "regular", 1, id="WI-07"),
        pytest.param(24, "regular", 1, id="WI-07-longest"),
        pytest.param(25, "regular", 2, id="WI-07-too-long"),
    ],
)
def test_the_qos_that_holds_the_run_is_named(hours: int, qos: str | None, links: int) -> None:
    asked = Resources(gpus=1, gpu="v100", time=hours * HOUR)

    for facts in (Facts(), at_wilson()):
        plan = plan_for(asked, site=load("wilson"), facts=facts)
        assert (plan.qos, plan.links) == (qos, links)


@pytest.mark.parametrize(
    ("qos", "limit"),
    [pytest.param("opp", 8, id="WI-06"), pytest.param("regular", 24, id="WI-07"), pytest.param("test", 4, id="WI-08")],
)
def test_longer_than_its_qos_is_an_error(qos: str, limit: int) -> None:
    asked = replace(ONE, account="wc_test", qos=qos)
    planned = {"link_time": limit * HOUR + timedelta(minutes=1)}

    assert "C210" not in list_codes(make_case("wilson", asked, facts=at_wilson(), planned={"link_time": limit * HOUR}))
    assert "C210" in [one.code for one in list_errors(make_case("wilson", asked, facts=at_wilson(), planned=planned))]


@pytest.mark.parametrize(("qos", "most"), [pytest.param("opp", 50, id="WI-06"), pytest.param("test", 3, id="WI-08")])
def test_one_job_too_many_is_an_error(qos: str, most: int) -> None:
    asked = replace(ONE, account="wc_test", qos=qos)
    full, beyond = (make_case("wilson", asked, facts=at_wilson(), planned={"links": most + n}) for n in (0, 1))
    crowded = make_case("wilson", asked, facts=at_wilson(jobs_in_queue=most))

    assert "C104" not in list_codes(full)
    assert find(beyond, "C104").refusal == "QOSMaxSubmitJobPerUserLimit"
    assert "C104" in list_codes(crowded)


def test_of_two_tests_one_waits_and_this_is_told() -> None:
    """WI-08."""
    case = make_case("wilson", replace(ONE, account="wc_test", qos="test"), facts=at_wilson(jobs_in_queue=1))

    assert "runs 1 job of yours at once" in find(case, "C110").message


@pytest.mark.parametrize("site", ["beluga", "graham", "narval", "cedar"])
def test_a_user_may_have_a_thousand_jobs(site: str) -> None:
    """CA-58."""
    codes = [list_codes(make_case(site, ONE, facts=Facts(jobs_in_queue=n), planned={})) for n in (999, 1000)]

    assert ["C104" in one for one in codes] == [False, True]


def test_a_budget_of_the_laboratory_is_held_against_the_run() -> None:
    """CS-04, CS-13: 16 nodes for 16 hours are 256 node-hours."""
    asked = Resources(gpus=16, time=16 * HOUR)

    def with_left(hours: float) -> Facts:
        return Facts(balances=(Balance(account=ACCOUNT, unit="node-hours", limit=300, used=300 - hours),))

    too_much = find(make_case("daint", asked, facts=with_left(255)), "C702")
    assert "the run may use 256 node-hours; account prof has 255 left" in too_much.message
    assert "quarter" in too_much.message
    assert "C702" not in list_codes(make_case("daint", asked, facts=with_left(256)))


@pytest.mark.parametrize(("name", "codes"), [("training2441", []), ("training2442", ["C601"])])
def test_a_reservation_that_is_not_there_is_refused(name: str, codes: list[str]) -> None:
    """JS-24."""
    there = Reservation(name="training2441", starts=0.0, ends=4e9, accounts=(ACCOUNT,))
    case = make_case("jureca-dc", replace(ONE, reservation=name), facts=Facts(reservations=(there,), user="alice"))

    assert [code for code in list_codes(case) if code.startswith("C60")] == codes
    assert f"#SBATCH --reservation={name}\n" in make_script(case.plan)
