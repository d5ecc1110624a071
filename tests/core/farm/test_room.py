"""What limits of a site leave for pilots."""

from dataclasses import replace

from tests.builders import SITE
from tests.checks.cases import MINE, PAID
from windlass.core.farm.room import find_room
from windlass.core.farm.sizing import Asked, choose_size
from windlass.core.farm.values import FarmNeeds


def test_jobs_that_are_in_the_queue_already_take_their_part() -> None:
    """The account may have ten jobs there."""
    room = find_room(PAID, SITE, replace(MINE, jobs_in_queue=7))

    size = choose_size(10_000, FarmNeeds(cpus=64), room, Asked())

    assert size.pilots == 3
    assert [one.why for one in size.reasons if one.field == "pilots"] == [
        "account def-prof lets you have 10 jobs in the queue, and 7 are there already"
    ]


def test_a_rule_of_the_site_counts_too() -> None:
    site = replace(SITE, rules=replace(SITE.rules, max_submitted=2))

    assert choose_size(10_000, FarmNeeds(cpus=64), find_room(PAID, site, MINE), Asked()).pilots == 2
