"""The data sets of a site: listed, named, shared and removed, on real folders and over a real sshd."""

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.transfers import make_files, make_local_site, make_ssh_site, open_site
from tests.conftest import Places
from tests.edges.sshd import run_sshd
from tests.shards.sets import pack_small
from windlass.app.data.info import fetch_info, load_info
from windlass.app.data.sets import (
    Sharing,
    find_set,
    list_sets,
    look_before_removing,
    register_set,
    remove_set,
    share_set,
    unregister_set,
)
from windlass.app.session import Session
from windlass.core.site import Area, Site
from windlass.errors import DataFailed, DataInUse, DataNotFound, UsageError, WindlassError
from windlass_job.shards.card import CARD

DAY_S = 86_400


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """ROOT/data of the site, with one packed set in it."""
    make_files(tmp_path / "source", count=8, size=1000)
    pack_small(tmp_path / "source", tmp_path / "root" / "data" / "pets", about={"licence": "CC0"})
    return tmp_path / "root" / "data"


@pytest.fixture(params=["local", "ssh"])
def site(
    request: pytest.FixtureRequest, tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Site]:
    if request.param == "local":
        yield make_local_site(tmp_path / "root")
        return
    with run_sshd(tmp_path / "sshd") as server:
        monkeypatch.setenv("WINDLASS_SSH_CONFIG", str(server.config))
        yield make_ssh_site(tmp_path / "root")


@pytest.fixture
def here(tmp_path: Path, places: Places) -> Site:
    return make_local_site(tmp_path / "root")


@pytest.fixture
def session(here: Site) -> Iterator[Session]:
    with open_site(here) as opened:
        yield opened


def test_the_sets_of_a_site_are_listed_in_one_round_trip(site: Site, data: Path) -> None:
    with open_site(site) as session:
        before = session.host(site).round_trips
        listed = list_sets(session, site)
        trips = session.host(site).round_trips - before

    (pets,) = listed.sets
    assert trips == 1
    assert (pets.name, pets.set.kind, pets.set.files, pets.set.classes) == ("pets", "packed", 8, 2)
    assert pets.set.bytes == sum(1000 + number for number in range(8))
    assert pets.set.about["licence"] == "CC0"
    assert listed.folder == str(data)


def test_a_site_without_sets_has_none(session: Session, here: Site) -> None:
    assert list_sets(session, here).sets == ()


def test_broken_sets_are_told_and_hide_no_others(session: Session, here: Site, data: Path) -> None:
    (data / "half").mkdir()
    (data / "cut").mkdir()
    (data / "cut" / CARD).write_text('{"format": "windlass-shards/1", "name"')
    (data / "other").mkdir()
    (data / "other" / CARD).write_text('{"format": "another/9"}')
    (data / "gone.json").write_text('{"path": "/nowhere/at/all"}')
    (data / "silly.json").write_text("[]")

    told = {one.name: one.set for one in list_sets(session, here).sets}

    assert sorted(told) == ["cut", "gone", "half", "other", "pets", "silly"]
    assert told["half"].kind == "partial"
    assert "its card cannot be read" in (told["cut"].problem or "")
    assert "another/9" in (told["other"].problem or "")
    assert (told["gone"].kind, told["gone"].problem) == ("missing", "no such file or directory")
    assert told["silly"].problem == "its pointer cannot be read"
    assert told["pets"].problem is None


HEAD = '{"format": "windlass-shards/1", "name": "x", "columns": [], "classes": [], '


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b"null",
        b"{}",
        f'{HEAD}"files": "many", "bytes": 0, "shards": [], "about": {{}}}}'.encode(),
        f'{HEAD}"files": 1, "bytes": 0, "shards": [{{"name": 7}}], "about": {{}}}}'.encode(),
        f'{HEAD}"files": 1, "bytes": 0, "shards": 3, "about": {{}}}}'.encode(),
        f'{HEAD}"files": 1, "bytes": 0, "shards": [], "about": [1]}}'.encode(),
        f'{HEAD}"files": 1, "bytes": 0, "shards": [{{"name": "a\\u0000b", "bytes": 1}}], "about": {{}}}}'.encode(),
    ],
)
def test_whatever_a_card_or_a_pointer_holds_the_others_are_listed(
    session: Session, here: Site, data: Path, content: bytes
) -> None:
    (data / "odd").mkdir()
    (data / "odd" / CARD).write_bytes(content)
    (data / "pointer.json").write_bytes(content)
    (data / "pipe").mkdir()
    os.mkfifo(data / "pipe" / CARD)
    (data / "nul.json").write_text('{"path": "/a\\u0000b"}')

    told = {one.name: one.set for one in list_sets(session, here).sets}

    assert sorted(told) == ["nul", "odd", "pets", "pipe", "pointer"]
    assert told["pets"].problem is None
    assert all(told[name].problem for name in ("nul", "odd", "pipe", "pointer"))


@pytest.mark.parametrize("suffix", [".tar", ".idx"])
def test_a_shard_that_is_gone_or_cut_is_told(session: Session, here: Site, data: Path, suffix: str) -> None:
    shard = next((data / "pets").glob(f"*{suffix}"))
    if suffix == ".tar":
        os.truncate(shard, 512)
    else:
        shard.unlink()

    problem = find_set(session, here, "pets").set.problem

    assert problem is not None
    assert problem.startswith(shard.name)


def test_when_it_will_be_purged_is_told_by_its_oldest_file(session: Session, here: Site, data: Path) -> None:
    there = replace(here, storage=(Area(name="scratch", path=str(data.parent.parent), purge_days=60),))
    shard = next((data / "pets").glob("*.tar"))
    used = session.clock() - 50 * DAY_S
    os.utime(shard, (used, used))

    (pets,) = list_sets(session, there).sets

    assert pets.area == "scratch"
    assert pets.purge_at == pytest.approx(used + 60 * DAY_S, abs=1)


def test_who_may_read_is_seen_from_all_folders_on_the_way(session: Session, here: Site, data: Path) -> None:
    for folder in (data.parent, data, data / "pets"):
        folder.chmod(0o755)
    data.chmod(0o700)

    assert find_set(session, here, "pets").set.readers == "owner"


def test_a_name_for_what_lies_elsewhere(site: Site, data: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (data / "pets").rename(elsewhere)
    with open_site(site) as session:
        known = register_set(session, site, "animals", str(elsewhere), description="from the zoo")
        info = fetch_info(session, site, "animals")
        path = unregister_set(session, site, "animals")

        assert (known.set.kind, known.set.files, known.set.is_pointer) == ("packed", 8, True)
        assert info.classes == ("cats", "dogs")
        assert path == str(elsewhere)
        assert load_info(elsewhere).files == 8
        with pytest.raises(DataNotFound):
            find_set(session, site, "animals")


def test_a_name_is_not_taken_twice_unless_asked_for(session: Session, here: Site, data: Path, tmp_path: Path) -> None:
    register_set(session, here, "raw", str(tmp_path / "source"))
    register_set(session, here, "raw", str(tmp_path / "source"))  # the same again is no harm
    with pytest.raises(UsageError, match="is the name of"):
        register_set(session, here, "raw", str(tmp_path))
    with pytest.raises(UsageError, match="lies in"):
        register_set(session, here, "pets", str(tmp_path), replace=True)

    assert find_set(session, here, "raw").set.path == str(tmp_path / "source")
    assert register_set(session, here, "raw", str(tmp_path), replace=True).set.path == str(tmp_path)


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", "", "käse", "two words", "x.json", "a" * 101])
def test_a_name_that_could_lead_astray_is_refused(session: Session, here: Site, tmp_path: Path, name: str) -> None:
    with pytest.raises(WindlassError):
        register_set(session, here, name, str(tmp_path))

    assert not (tmp_path / "root").exists()


def test_what_the_centre_has_is_listed_too_and_is_nobodys_to_remove(
    session: Session, here: Site, data: Path, tmp_path: Path
) -> None:
    there = replace(here, datasets={"imagenet": str(tmp_path / "source"), "pets": "/another/pets"})

    told = {one.name: one.set for one in list_sets(session, there).sets}

    assert (told["imagenet"].kind, told["imagenet"].of_the_site) == ("folder", True)
    assert told["pets"].path == str(data / "pets")  # our own of that name wins
    with pytest.raises(UsageError, match="centre's own"):
        look_before_removing(session, there, "imagenet")


def test_a_slip_of_the_pen_is_answered_with_the_nearest_name(session: Session, here: Site, data: Path) -> None:
    with pytest.raises(DataNotFound) as caught:
        find_set(session, here, "pest")

    assert caught.value.hint == "did you mean 'pets'?"


def test_a_removed_set_is_gone_whole(site: Site, data: Path) -> None:
    with open_site(site) as session:
        found = look_before_removing(session, site, "pets")
        remove_set(session, site, found)

        assert list_sets(session, site).sets == ()

    assert found.files == 8
    assert list(data.iterdir()) == []


def test_of_a_name_only_the_name_is_removed(session: Session, here: Site, data: Path, tmp_path: Path) -> None:
    (data / "pets").rename(tmp_path / "elsewhere")
    register_set(session, here, "animals", str(tmp_path / "elsewhere"))

    found = look_before_removing(session, here, "animals")
    remove_set(session, here, found)

    assert found.only_the_name
    assert load_info(tmp_path / "elsewhere").files == 8


def test_a_set_that_a_running_job_reads_is_not_removed(session: Session, here: Site, data: Path) -> None:
    run = data.parent / "runs" / "train-abcde"
    run.mkdir(parents=True)
    (run / "plan.json").write_text('{"data": [{"name": "x", "source": "set:pets", "path": "/x"}]}')
    (run / "status.json").write_text('{"state": "running"}')
    with pytest.raises(DataInUse, match="train-abcde"):
        look_before_removing(session, here, "pets")

    (run / "status.json").write_text('{"state": "done"}')

    assert look_before_removing(session, here, "pets").files == 8


@pytest.mark.parametrize(
    ("read", "is_refused"),
    [
        ("$DATA_TOP/data/pets", True),
        ("${DATA_TOP}/data/../data/pets/", True),
        ("~/data/pets", True),
        ("$DATA_TOP/link/pets", True),  # of a folder above
        ("$DATA_TOP/data/pets/shard-00000.tar", True),
        ("$DATA_TOP/data", True),
        ("$DATA_TOP/data/pets-2", False),
        ("$NOT_SET_HERE/data/pets", False),
        ("data/pets", False),  # of a project
        ("\x00\ud800", False),
    ],
)
def test_a_set_that_a_run_names_by_another_path_is_not_removed(
    session: Session, here: Site, data: Path, monkeypatch: pytest.MonkeyPatch, read: str, is_refused: bool
) -> None:
    (data.parent / "link").symlink_to("data")
    monkeypatch.setenv("DATA_TOP", str(data.parent))
    monkeypatch.setenv("HOME", str(data.parent))
    run = data.parent / "runs" / "train-abcde"
    run.mkdir(parents=True)
    (run / "plan.json").write_text(json.dumps({"data": [{"name": "x", "source": read, "path": read}]}))
    (run / "status.json").write_text('{"state": "running"}')

    if is_refused:
        with pytest.raises(DataInUse, match="train-abcde"):
            look_before_removing(session, here, "pets")
    else:
        assert look_before_removing(session, here, "pets").files == 8


def test_a_plan_that_is_nested_without_end_is_read_all_the_same(session: Session, here: Site, data: Path) -> None:
    run = data.parent / "runs" / "train-abcde"
    run.mkdir(parents=True)
    (run / "status.json").write_text('{"state": "running"}')
    deep = '{"data": ' + "[" * 490 + '"set:%s"' + "]" * 490 + "}"
    (run / "plan.json").write_text(deep % "others")
    assert look_before_removing(session, here, "pets").files == 8

    (run / "plan.json").write_text(deep % "pets")

    with pytest.raises(DataInUse, match="train-abcde"):
        look_before_removing(session, here, "pets")


def test_a_pipe_in_place_of_a_plan_keeps_nobody_waiting(session: Session, here: Site, data: Path) -> None:
    run = data.parent / "runs" / "train-abcde"
    run.mkdir(parents=True)
    os.mkfifo(run / "plan.json")

    assert look_before_removing(session, here, "pets").files == 8


def list_modes(folder: Path) -> dict[str, int]:
    found = (folder, *folder.iterdir())
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in found}


def test_sharing_opens_it_to_the_group_and_undo_closes_it_again(session: Session, here: Site, data: Path) -> None:
    for path in (data.parent, data, data / "pets", *(data / "pets").iterdir()):
        path.chmod(0o700 if path.is_dir() else 0o600)
    closed = list_modes(data / "pets")

    tried = share_set(session, here, "pets", Sharing(group=_find_group(), apply=False))
    assert list_modes(data / "pets") == closed
    shared = share_set(session, here, "pets", Sharing(group=_find_group()))
    opened = list_modes(data / "pets")
    again = share_set(session, here, "pets", Sharing(group=_find_group()))
    share_set(session, here, "pets", Sharing(undo=True))

    assert shared.changes == tried.changes
    assert again.count == 0
    assert opened.pop("pets") == 0o2750
    assert set(opened.values()) == {0o640}
    assert list_modes(data / "pets") == closed
    assert stat.S_IMODE(data.stat().st_mode) == 0o700


def test_sharing_with_all_tells_which_folder_above_keeps_them_out(session: Session, here: Site, data: Path) -> None:
    data.parent.parent.chmod(0o700)

    shared = share_set(session, here, "pets", Sharing(with_all=True))

    assert str(data.parent.parent) in shared.blocked
    assert find_set(session, here, "pets").set.readers == "owner"  # the folder above is not ours to open


def test_undo_of_what_was_never_shared_is_told(session: Session, here: Site, data: Path) -> None:
    with pytest.raises(DataNotFound, match="never shared"):
        share_set(session, here, "pets", Sharing(undo=True))


def test_a_group_that_is_not_there_is_told(session: Session, here: Site, data: Path) -> None:
    with pytest.raises((DataNotFound, DataFailed), match="there is no group nosuchgroup"):
        share_set(session, here, "pets", Sharing(group="nosuchgroup"))


def _find_group() -> str:
    import grp

    return grp.getgrgid(os.getgid()).gr_name
