"""What tasks need goes to the pilots, and to those that are sent later."""

from datetime import timedelta

from windlass.core.farm.values import FarmNeeds, make_card, read_needs


def test_pilots_that_are_sent_later_know_all_needs() -> None:
    minutes = [timedelta(minutes=number) for number in (1, 2, 3)]
    needs = FarmNeeds(
        cpus=2,
        gpus=3,
        memory_mb=4,
        share=5,
        retries=6,
        task_time=minutes[0],
        task_limit=minutes[1],
        linger=minutes[2],
        output_limit=7,
    )
    usual = FarmNeeds()
    forgotten = [name for name in vars(usual) if getattr(usual, name) == getattr(needs, name)]

    assert not forgotten, "a need that this test does not try"
    assert read_needs(make_card(needs, name="farm", pilots=1, asked={})) == needs
