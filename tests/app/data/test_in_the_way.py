"""What is a file here and a folder at the site, or the other way: refused or replaced, and never half of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.app.transfers import make_local_site, open_site
from tests.conftest import Places
from windlass.app.data.getting import get
from windlass.core.site import Site
from windlass.edges.downloads import PARTS
from windlass.errors import UsageError


def _make_folder(path: Path) -> None:
    path.mkdir()
    (path / "inside").write_text("inside")


KINDS: dict[str, Callable[[Path], object]] = {
    "file": lambda path: path.write_text("a whole file"),
    "folder": _make_folder,
    "empty": Path.mkdir,
    "link": lambda path: path.symlink_to("others"),
}
PAIRS = [(here, there) for here in KINDS for there in KINDS if here != there and {here, there} != {"folder", "empty"}]


@pytest.fixture
def site(tmp_path: Path, places: Places) -> Site:
    return make_local_site(tmp_path / "root")


def make_tree(folder: Path, kind: str) -> Path:
    (folder / "others").mkdir(parents=True)
    (folder / "others" / "a").write_text("a")
    KINDS[kind](folder / "x")
    return folder


def describe(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): f"-> {path.readlink()}"
        if path.is_symlink()
        else path.read_text()
        if path.is_file()
        else "folder"
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize(("here", "there"), PAIRS)
def test_another_kind_of_thing_is_refused_and_replaced_by_force(
    site: Site, tmp_path: Path, here: str, there: str
) -> None:
    source, back = make_tree(tmp_path / "source", there), make_tree(tmp_path / "back", here)
    before = describe(back)
    with open_site(site) as session:
        if here != "empty":  # nothing is lost with it
            with pytest.raises(UsageError, match=r"other files of the same name \(x\)") as refused:
                get(session, site, str(source), back)
            assert refused.value.hint is not None
            assert "--force" in refused.value.hint
            assert describe(back) == before
        if here == "folder":
            with pytest.raises(UsageError, match="x is a folder with files in it"):
                get(session, site, str(source), back, force=True)
            assert describe(back) == before
            return
        get(session, site, str(source), back, force=True)

    assert describe(back) == describe(source)
    assert not (back / PARTS).exists()


@pytest.mark.parametrize(("here", "there"), PAIRS)
def test_what_came_from_there_becomes_what_is_there_now(site: Site, tmp_path: Path, here: str, there: str) -> None:
    source = make_tree(tmp_path / "source", here)
    with open_site(site) as session:
        get(session, site, str(source), tmp_path / "back")
        source.rename(tmp_path / "before")
        make_tree(source, there)
        get(session, site, str(source), tmp_path / "back")

    assert describe(tmp_path / "back") == describe(source)


def test_a_single_file_does_not_replace_a_folder(site: Site, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("1")
    (tmp_path / "back/x").mkdir(parents=True)
    (tmp_path / "back/x/mine").write_text("mine")
    with open_site(site) as session:
        with pytest.raises(UsageError, match="same name"):
            get(session, site, str(tmp_path / "x"), tmp_path / "back")
        with pytest.raises(UsageError, match="is a folder with files"):
            get(session, site, str(tmp_path / "x"), tmp_path / "back", force=True)

    assert describe(tmp_path / "back") == {"x": "folder", "x/mine": "mine"}
