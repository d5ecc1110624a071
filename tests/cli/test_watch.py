"""`windlass watch`: what it says of settings that cannot be used."""

from tests.cli.conftest import Windlass
from tests.conftest import Places

BROKEN = '[notices]\nevents = ["x"]\n'


def test_a_trial_with_a_mistake_in_the_settings_fails_and_says_one_thing(windlass: Windlass, places: Places) -> None:
    (places.config / "config.toml").write_text(BROKEN)

    done = windlass("watch", "--test")

    assert done.returncode == 2
    assert "config.toml:2" in done.stderr
    assert "told" not in done.stderr
    assert done.stdout == ""


def test_who_watches_with_a_mistake_in_the_settings_is_told_all_and_that(windlass: Windlass, places: Places) -> None:
    (places.config / "config.toml").write_text(BROKEN)

    done = windlass("watch", "--once")

    assert done.returncode == 0
    assert done.stderr.count("your [notices] are not used, and all is told") == 1
    assert "no notices are told" not in done.stderr


def test_a_trial_with_good_settings_tells(windlass: Windlass, places: Places) -> None:
    (places.config / "config.toml").write_text("[notices]\ndesktop = false\n")

    done = windlass("watch", "--test")

    assert done.returncode == 0
    assert "this is how a notice looks" in done.stdout
