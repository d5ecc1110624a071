"""Site files: shipped, own, extended, broken, and added."""

import threading
from pathlib import Path

import pytest

from windlass.edges.folders import Folders, find_folders
from windlass.edges.site_files import add_site, list_site_names, load_site, load_sites
from windlass.errors import ConfigError, NotFound, UsageError, WindlassError


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return find_folders(
        {"WINDLASS_CONFIG_DIR": str(tmp_path / "config"), "WINDLASS_STATE_DIR": str(tmp_path / "state")}
    )


def own(folders: Folders, name: str, text: str) -> None:
    folders.sites.mkdir(parents=True, exist_ok=True)
    (folders.sites / f"{name}.toml").write_text(text)


def look(error: WindlassError) -> str:
    return "\n".join([error.message, *error.details, *([f"hint: {error.hint}"] if error.hint else [])])


def test_every_shipped_site_can_be_read(folders: Folders) -> None:
    found = load_sites(folders)

    assert found.broken == {}
    assert [site.name for site in found.sites] == list_site_names(folders)
    assert "here" in list_site_names(folders)


def test_here_is_this_machine_on_pocket(folders: Folders) -> None:
    here = load_site("here", folders)

    assert here.is_local
    assert here.root == str(folders.data)
    assert here.software.slurm_path == "@pocket"
    assert [one.name for one in here.partitions if one.is_default] == ["pocket"]
    assert (here.rules.needs_account, here.rules.needs_time, here.rules.compute_internet) == (False, False, True)
    assert (here.rules.poll_s, here.rules.requeue) == (1, False)


def test_an_own_site_extends_a_shipped_one(folders: Folders) -> None:
    own(folders, "lab", 'extends = "here"\ntitle = "Lab"\n[rules]\npoll_s = 5\n[partition.big]\nmax_time = "1h"\n')

    lab = load_site("lab", folders)

    assert (lab.name, lab.title, lab.rules.poll_s, lab.rules.compute_internet) == ("lab", "Lab", 5, True)
    assert [one.name for one in lab.partitions] == ["pocket", "big"]
    assert lab.root == str(folders.data)


def test_an_own_site_of_the_same_name_extends_the_shipped_one(folders: Folders) -> None:
    own(folders, "here", 'extends = "here"\n[rules]\npoll_s = 7\n')

    assert load_site("here", folders).rules.poll_s == 7
    assert load_site("here", folders).software.slurm_path == "@pocket"


def test_what_several_sites_share_is_no_site(folders: Folders) -> None:
    own(folders, "_lab", "[rules]\npoll_s = 5\n")
    own(folders, "one", 'extends = "_lab"\ntitle = "One"\n')

    assert load_site("one", folders).rules.poll_s == 5
    assert not [name for name in list_site_names(folders) if name.startswith("_")]
    with pytest.raises(NotFound):
        load_site("_lab", folders)


def test_circles_and_unknown_bases_are_told(folders: Folders) -> None:
    own(folders, "a", 'extends = "b"\n')
    own(folders, "b", 'extends = "a"\n')
    own(folders, "c", '\nextends = "heer"\n')
    own(folders, "d", 'extends = "d"\n')

    found = load_sites(folders).broken

    assert {name: look(error) for name, error in found.items()} == {
        "a": "b.toml:1 extends 'a', which extends it in turn",
        "b": "a.toml:1 extends 'b', which extends it in turn",
        "c": "c.toml:2 extends 'heer', which is no site\nhint: did you mean 'here'?",
        "d": "d.toml:1 extends 'd', which is no site\nhint: windlass sites lists all",
    }


def test_the_problems_of_a_site_file_look_like_this(folders: Folders) -> None:
    own(folders, "lab", 'extends = "here"\n[rules]\npol_s = 5\n[partition.big]\nnodes = ["fat"]\nmax_time = 3\n')

    with pytest.raises(ConfigError) as caught:
        load_site("lab", folders)

    assert look(caught.value) == (
        "lab.toml has 2 problems\n"
        'lab.toml:3  rules.pol_s                  unknown key; did you mean "poll_s"?\n'
        'lab.toml:6  partition.big.max_time = 3   has no unit; write "3m" for minutes or "3h" for hours'
    )


def test_what_does_not_fit_together_is_told_with_its_line(folders: Folders) -> None:
    own(folders, "lab", 'extends = "here"\n[partition.big]\nnodes = ["fat"]\n')

    with pytest.raises(ConfigError) as caught:
        load_site("lab", folders)

    assert look(caught.value) == "lab.toml has 1 problem\nlab.toml:3  partition.big.nodes   there is no [node.fat]"


@pytest.mark.parametrize("name", ["heer", "", "../here", "/etc/passwd", "a\0b", "ü", "x" * 5000, "here.toml", "here/"])
def test_an_unknown_site_is_not_found(folders: Folders, name: str) -> None:
    with pytest.raises(NotFound) as caught:
        load_site(name, folders)

    assert caught.value.details[0].startswith("sites: ")
    if name == "heer":
        assert caught.value.hint == "did you mean 'here'? windlass site discover HOST drafts a new one"


def test_an_added_site_is_there_and_is_not_overwritten(folders: Folders) -> None:
    path = add_site("lab", 'title = "one"\n', folders)

    with pytest.raises(ConfigError, match="already"):
        add_site("lab", 'title = "two"\n', folders)

    assert load_site("lab", folders).title == "one"
    add_site("lab", 'title = "two"\n', folders, replace=True)
    assert load_site("lab", folders).title == "two"
    assert list(folders.sites.iterdir()) == [path]


@pytest.mark.parametrize("text", ["tilte = 1", "a = [", 'extends = "nowhere"'])
def test_a_site_that_cannot_be_read_is_not_added(folders: Folders, text: str) -> None:
    with pytest.raises(ConfigError):
        add_site("lab", text, folders)

    assert not folders.sites.exists()


@pytest.mark.parametrize("name", ["", "../x", "a b", "-x", ".x"])
def test_a_site_needs_a_plain_name(folders: Folders, name: str) -> None:
    with pytest.raises(UsageError):
        add_site(name, "", folders)


def test_of_many_who_add_the_same_site_one_wins(folders: Folders) -> None:
    won: list[int] = []

    def add(number: int) -> None:
        try:
            add_site("lab", f'title = "{number}"\n', folders)
            won.append(number)
        except ConfigError:
            pass

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(won) == 1
    assert load_site("lab", folders).title == str(won[0])
    assert [path.name for path in folders.sites.iterdir()] == ["lab.toml"]


def test_a_link_to_nowhere_hides_nothing(folders: Folders) -> None:
    folders.sites.mkdir(parents=True)
    (folders.sites / "lab.toml").symlink_to("nowhere")

    found = load_sites(folders)

    assert look(found.broken["lab"]) == "there is no file lab.toml"
    assert "here" in [site.name for site in found.sites]


def test_a_folder_that_is_a_file_is_told(folders: Folders) -> None:
    folders.config.parent.mkdir(parents=True, exist_ok=True)
    folders.config.write_text("not a folder")

    with pytest.raises(ConfigError):
        add_site("lab", "", folders)
