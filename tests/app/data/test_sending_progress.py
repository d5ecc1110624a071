"""How fast a sending goes, as its progress tells."""

from windlass.app.data.sending_progress import Pace


def test_the_rate_is_that_of_late_and_forgets_what_was_there_before_a_cut() -> None:
    pace = Pace(100.0)
    assert pace.measure(100.0, 0) is None

    rates = [pace.measure(101.0 + second, 10**9 + 500 * second) for second in range(60)]

    assert rates[0] == 10**9
    assert rates[-1] == 500
