"""Slurm's own mail: only where the site's file says that it arrives."""

from dataclasses import replace

import pytest

from tests.builders import PLAN, SITE
from tests.sites.shipped import load
from windlass.core.job import make_script
from windlass.core.mailing import add_mail
from windlass.core.notices import Notices
from windlass.core.site import Rules, Site

WANTED = Notices(mail="ann@uni.example")


def with_mail(arrives: bool | None) -> Site:
    return replace(SITE, rules=replace(Rules(), slurm_mail=arrives))


def test_mail_is_asked_for_where_it_arrives() -> None:
    script = make_script(add_mail(PLAN, load("jureca-dc"), WANTED))

    assert "#SBATCH --mail-user=ann@uni.example\n#SBATCH --mail-type=BEGIN,END,FAIL\n" in script


@pytest.mark.parametrize("arrives", [None, False])
def test_where_it_does_not_the_plan_says_so(arrives: bool | None) -> None:
    plan = add_mail(PLAN, with_mail(arrives), WANTED)

    assert "--mail" not in make_script(plan)
    assert "windlass watch tells instead" in plan.reasons[-1].why


@pytest.mark.parametrize("settings", [None, Notices()])
def test_who_wants_none_gets_none(settings: Notices | None) -> None:
    assert add_mail(PLAN, with_mail(True), settings) == PLAN
