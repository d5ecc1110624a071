"""The folders of Windlass, by variables and by the XDG rules."""

from pathlib import Path

from windlass.edges.folders import find_folders


def test_the_usual_places_are_below_home() -> None:
    folders = find_folders({"HOME": "/home/me"})

    assert folders.config_file == Path("/home/me/.config/windlass/config.toml")
    assert folders.sites == Path("/home/me/.config/windlass/sites")
    assert folders.data == Path("/home/me/.local/share/windlass")
    assert folders.state == Path("/home/me/.local/state/windlass")
    assert folders.cache == Path("/home/me/.cache/windlass")


def test_xdg_variables_are_honoured_and_relative_ones_ignored() -> None:
    folders = find_folders({"HOME": "/home/me", "XDG_CONFIG_HOME": "/etc/me", "XDG_DATA_HOME": "relative"})

    assert folders.config == Path("/etc/me/windlass")
    assert folders.data == Path("/home/me/.local/share/windlass")


def test_our_own_variables_win() -> None:
    environ = {"HOME": "/h", "XDG_CONFIG_HOME": "/x", "WINDLASS_CONFIG_DIR": "/c", "WINDLASS_STATE_DIR": "/s"}

    folders = find_folders(environ)

    assert (folders.config, folders.state) == (Path("/c"), Path("/s"))
    assert (folders.data, folders.cache) == (Path("/s/data"), Path("/s/cache"))
