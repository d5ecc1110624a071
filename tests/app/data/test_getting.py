"""Data sets, folders and files of a site on this laptop: verified, and gone on with after a cut."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.transfers import SHARD, list_visible, make_files, make_local_site, open_site, read_set
from tests.conftest import Places
from windlass.app.data.getting import get
from windlass.app.data.sending import SendOptions, send
from windlass.app.session import Session
from windlass.core.site import Site
from windlass.errors import ConnectionLost, DataNotFound, NotFound, TransferFailed, UsageError
from windlass_job.shards.links import stays_inside


@pytest.fixture
def site(tmp_path: Path, places: Places) -> Site:
    return make_local_site(tmp_path / "root")


def _send(session: Session, site: Site, tmp_path: Path) -> dict[bytes, bytes]:
    made = make_files(tmp_path / "source")
    send(session, site, tmp_path / "source", "pets", options=SendOptions(shard_bytes=SHARD))
    return made


def test_a_data_set_comes_back_as_it_is(site: Site, tmp_path: Path) -> None:
    with open_site(site) as session:
        made = _send(session, site, tmp_path)
        got = get(session, site, "pets", tmp_path / "back")
        again = get(session, site, "pets", tmp_path / "back")

    assert read_set(tmp_path / "back") == made
    assert list_visible(tmp_path / "back") == list_visible(tmp_path / "root/data/pets")
    assert (got.kind, got.files, again.fetched_bytes) == ("set", len(made), 0)


def test_the_centres_own_data_sets_come_by_their_names(site: Site, tmp_path: Path) -> None:
    """The site file names where they lie; our own of the same name win."""
    make_files(tmp_path / "plain", count=2)
    known = {"common": str(tmp_path / "root" / "data" / "pets"), "raw": str(tmp_path / "plain"), "gone": "/no/such/set"}
    with open_site(replace(site, datasets=known)) as session:
        centre = replace(site, datasets=known)
        made = _send(session, centre, tmp_path)
        got = get(session, centre, "common", tmp_path / "common")
        raw = get(session, centre, "raw", tmp_path / "raw")
        with pytest.raises(NotFound, match="/no/such/set"):
            get(session, centre, "gone", tmp_path / "gone")
        with pytest.raises(DataNotFound, match="no data set 'comon'"):
            get(session, centre, "comon", tmp_path / "comon")

    assert (got.kind, read_set(tmp_path / "common") == made) == ("set", True)
    assert (raw.kind, raw.files) == ("folder", 2)
    assert not (tmp_path / "gone").exists()


def test_its_files_come_back_when_asked_for(site: Site, tmp_path: Path) -> None:
    with open_site(site) as session:
        made = _send(session, site, tmp_path)
        get(session, site, "pets", tmp_path / "back", extract=True)

    found = {
        os.fsencode(path.relative_to(tmp_path / "back")): path.read_bytes()
        for path in (tmp_path / "back").rglob("*")
        if path.is_file()
    }
    assert found == made
    assert list(tmp_path.glob(".back*")) == []


def test_a_data_set_is_not_written_among_other_files(site: Site, tmp_path: Path) -> None:
    with open_site(site) as session:
        made = _send(session, site, tmp_path)
        mine = tmp_path / "pets"
        mine.mkdir()
        (mine / "notes.txt").write_text("mine")

        with pytest.raises(UsageError, match=r"holds other files \(notes.txt\)") as caught:
            get(session, site, "pets", mine)
        assert caught.value.hint == f"windlass data get pets {mine}-packed --on here-too"
        with pytest.raises(UsageError, match="with files in it") as extracting:
            get(session, site, "pets", mine, extract=True)
        assert list(mine.iterdir()) == [mine / "notes.txt"]
        assert not list(tmp_path.glob(".pets*"))

        get(session, site, "pets", mine, extract=True, force=True)
        send(session, site, tmp_path / "source", "others", options=SendOptions(shard_bytes=SHARD))
        get(session, site, "others", tmp_path / "back")
        with pytest.raises(UsageError, match="holds another data set"):
            get(session, site, "pets", tmp_path / "back")

    assert f"windlass data get pets {mine}-plain --on here-too --extract" in (extracting.value.hint or "")
    assert (mine / "notes.txt").read_text() == "mine"
    assert all((mine / os.fsdecode(name)).read_bytes() == content for name, content in made.items())


def test_an_extraction_that_was_cut_is_gone_on_with(site: Site, tmp_path: Path) -> None:
    with open_site(site) as session:
        made = _send(session, site, tmp_path)
        get(session, site, "pets", tmp_path / ".back.windlass-get")
        (tmp_path / "back/cats").mkdir(parents=True)
        (tmp_path / "back/cats/0001.jpg").write_bytes(made[b"cats/0001.jpg"])

        get(session, site, "pets", tmp_path / "back", extract=True)

    assert sum(path.is_file() for path in (tmp_path / "back").rglob("*")) == len(made)


def test_a_folder_comes_with_its_times_and_rights(site: Site, tmp_path: Path) -> None:
    made = make_files(tmp_path / "source", count=9, size=10)
    (tmp_path / "source/run.sh").write_bytes(b"#!/bin/sh\n")
    (tmp_path / "source/run.sh").chmod(0o755)
    (tmp_path / "source/link").symlink_to("/etc/passwd")
    os.utime(tmp_path / "source/run.sh", (1_600_000_000, 1_600_000_000))

    with open_site(site) as session:
        got = get(session, site, str(tmp_path / "source"), tmp_path / "back")

    assert (got.kind, got.files) == ("folder", 10)
    assert all((tmp_path / "back" / os.fsdecode(name)).read_bytes() == content for name, content in made.items())
    found = (tmp_path / "back/run.sh").stat()
    assert (found.st_mode & 0o777, found.st_mtime) == (0o755, 1_600_000_000)
    assert not (tmp_path / "back/link").is_symlink()
    assert got.left_out == ("1 link that leads out of the folder, left out: 'link'",)


def test_links_that_stay_inside_and_empty_folders_come_too(site: Site, tmp_path: Path) -> None:
    source = tmp_path / "source"
    make_files(source, count=2, size=10)
    links = {"latest": "cats", "cats/again": "../dogs/0000.jpg", "whole": str(source / "dogs"), "gone": "missing"}
    outside = {"up": "../..", "cats/round": "../dogs/../../x", "other": "/etc"}
    for name, points_to in {**links, **outside}.items():
        (source / name).symlink_to(points_to)
    (source / "empty/deep").mkdir(parents=True)
    os.mkfifo(source / "pipe")

    with open_site(site) as session:
        got = get(session, site, str(source), tmp_path / "back")
        again = get(session, site, str(source), tmp_path / "back")

    found = {str(path.relative_to(tmp_path / "back")): str(path.readlink()) for path in _list_links(tmp_path / "back")}
    assert found == {**links, "whole": "dogs"}
    assert (tmp_path / "back/empty/deep").is_dir()
    assert [line.split(":")[0] for line in got.left_out] == [
        "1 device, pipe or socket",
        "3 links that lead out of the folder, left out",
    ]
    assert again.fetched_bytes == 0


def _list_links(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_symlink()]


def test_what_came_from_there_and_is_unchanged_here_is_brought_up_to_date(site: Site, tmp_path: Path) -> None:
    source, back = tmp_path / "source", tmp_path / "back"
    make_files(source, count=2, size=10)
    (source / "train.log").write_text("step 1\n")
    (source / "latest").symlink_to("cats")
    with open_site(site) as session:
        get(session, site, str(source), back)
        (source / "train.log").write_text("step 1\nstep 2\n")
        (source / "latest").unlink()
        (source / "latest").symlink_to("dogs")
        get(session, site, str(source), back)
        updated = (back / "train.log").read_text(), str((back / "latest").readlink())
        (back / "train.log").write_text("mine")
        (source / "train.log").write_text("step 1\nstep 2\nstep 3\n")

        with pytest.raises(UsageError, match=r"other files of the same name \(train.log\)"):
            get(session, site, str(source), back)

    assert updated == ("step 1\nstep 2\n", "dogs")
    assert (back / "train.log").read_text() == "mine"


def test_a_file_that_came_from_elsewhere_is_not_taken_for_this_one(site: Site, tmp_path: Path) -> None:
    for name in ("one", "another"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.log").write_text(name)
    with open_site(site) as session:
        get(session, site, str(tmp_path / "one"), tmp_path / "back")

        with pytest.raises(UsageError, match=r"other files of the same name \(train.log\)"):
            get(session, site, str(tmp_path / "another"), tmp_path / "back")


@pytest.mark.parametrize(
    ("name", "points_to"),
    [("a/l", "../../x"), ("l", "/etc"), ("l", "a/../.."), ("l", ".."), ("l", ""), ("a/l", "./../..")],
)
def test_a_link_that_would_lead_outside_is_seen_by_its_words(name: str, points_to: str) -> None:
    assert not stays_inside(name.encode(), points_to.encode())
    assert stays_inside(b"a/b/l", b"../../x")


def test_a_file_comes_under_the_name_that_is_given(site: Site, tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_bytes(b"weights")
    (tmp_path / "here").mkdir()
    (tmp_path / "here/model.pt").write_bytes(b"another one of mine")

    with open_site(site) as session:
        named = get(session, site, str(tmp_path / "model.pt"), tmp_path / "here/copy.pt")
        into = get(session, site, str(tmp_path / "model.pt"), tmp_path / "root2")

    assert named.path.read_bytes() == b"weights"
    assert (tmp_path / "here/model.pt").read_bytes() == b"another one of mine"
    assert into.path.read_bytes() == b"weights"


def test_what_is_damaged_at_the_site_is_refused_with_its_name(site: Site, tmp_path: Path) -> None:
    with open_site(site) as session:
        _send(session, site, tmp_path)
        shard = tmp_path / "root/data/pets/shard-00000.tar"
        with shard.open("r+b") as file:
            file.seek(5000)
            file.write(b"\0\1\2\3")

        with pytest.raises(TransferFailed, match=r"shard-00000.tar: it is damaged at the site: .*cats/0001.jpg"):
            get(session, site, "pets", tmp_path / "back")

    assert "dataset.json" not in list_visible(tmp_path / "back")


def test_a_giver_that_is_killed_is_gone_on_from(site: Site, tmp_path: Path) -> None:
    with open_site(site) as session:
        made = _send(session, site, tmp_path)

        def kill(done: int, total: int) -> None:
            if done > total / 2:
                _kill_children()

        with pytest.raises(ConnectionLost) as caught:
            get(session, site, "pets", tmp_path / "back", streams=1, progress=kill)
        assert "dataset.json" not in list_visible(tmp_path / "back")
        again = get(session, site, "pets", tmp_path / "back")

    assert "goes on from there" in (caught.value.done or "")
    assert read_set(tmp_path / "back") == made
    assert again.fetched_bytes < sum(map(len, made.values())) * 0.7


def _kill_children() -> None:
    me = os.getpid()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(after_name[1]) == me and after_name[0] != "Z":
            os.kill(int(path.parent.name), signal.SIGKILL)


def test_what_is_not_there_is_told(site: Site, tmp_path: Path) -> None:
    with open_site(site) as session:
        _send(session, site, tmp_path)
        with pytest.raises(DataNotFound) as caught:
            get(session, site, "petz", tmp_path / "back")
        assert caught.value.hint == "did you mean 'pets'?"
        with pytest.raises(NotFound):
            get(session, site, "/nowhere/at/all", tmp_path / "back")
        (tmp_path / "plain").mkdir()
        with pytest.raises(UsageError, match="nothing to extract"):
            get(session, site, str(tmp_path / "plain"), tmp_path / "back", extract=True)
