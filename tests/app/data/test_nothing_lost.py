"""What is not the data set's own is never replaced or removed by packing, sending, fetching and removing."""

import json
import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.transfers import SHARD, list_visible, make_files, make_local_site, make_ssh_site, open_site, read_set
from tests.conftest import Places
from tests.edges.places import small_disk
from tests.edges.sshd import run_sshd
from tests.shards.sets import pack_small, read_files
from windlass.app.data.getting import get
from windlass.app.data.info import fetch_info
from windlass.app.data.packing import PackOptions, pack_here, pack_there
from windlass.app.data.sampling import fetch_sample
from windlass.app.data.sending import SendOptions, send
from windlass.app.data.sets import Sharing, list_sets, look_before_removing, remove_set, share_set
from windlass.app.data.taking import Sampling
from windlass.app.session import Session
from windlass.core.site import Site
from windlass.edges.downloads import Target, Wanted
from windlass.errors import DataDamaged, DataFailed, DataInUse, DiskFull, TransferFailed, UsageError
from windlass_job.shards.card import load_card, save_card

SMALL = SendOptions(shard_bytes=SHARD)


@pytest.fixture
def site(tmp_path: Path, places: Places) -> Site:
    return make_local_site(tmp_path / "root")


@pytest.fixture
def session(site: Site) -> Iterator[Session]:
    with open_site(site) as opened:
        yield opened


@pytest.fixture
def source(tmp_path: Path) -> Path:
    make_files(tmp_path / "source", count=20)
    return tmp_path / "source"


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """Somebody's WebDataset."""
    folder = tmp_path / "wds"
    folder.mkdir()
    for number in range(3):
        (folder / f"shard-{number:05}.tar").write_bytes(b"somebody's %d" % number)
    return folder


def test_shards_of_others_are_not_packed_over(source: Path, theirs: Path, places: Places) -> None:
    before = read_files(theirs)

    with pytest.raises(UsageError, match="did not make") as caught:
        pack_here(source, theirs, PackOptions())

    assert caught.value.hint == f"windlass data pack {source} {theirs}-packed"
    assert read_files(theirs) == before


def test_shards_of_others_are_not_sent_over(session: Session, site: Site, source: Path, theirs: Path) -> None:
    before = read_files(theirs)

    with pytest.raises(UsageError, match=r"did not make \(shard-00000.tar") as caught:
        send(session, site, source, "pets", options=SendOptions(to=str(theirs)))

    assert "nothing was sent" in (caught.value.done or "")
    assert read_files(theirs) == before


def test_a_set_is_not_sent_among_other_files(session: Session, site: Site, source: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")

    with pytest.raises(UsageError, match=r"notes\.txt"):
        send(session, site, source, "pets", options=SendOptions(to=str(tmp_path / "mine")))

    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def test_plain_files_are_not_written_over(session: Session, site: Site, tmp_path: Path) -> None:
    there, mine = tmp_path / "there", tmp_path / "mine"
    for folder, words in ((there, b"theirs"), (mine, b"mine")):
        folder.mkdir()
        (folder / "same.txt").write_bytes(b"the same")
        (folder / "a.txt").write_bytes(words)
        os.utime(folder / "same.txt", (10**9, 10**9 if folder == there else 10**9 + 5))
    (there / "new.txt").write_bytes(b"new")

    with pytest.raises(UsageError, match=r"holds other files of the same name \(a.txt\)") as caught:
        get(session, site, str(there), mine)
    with pytest.raises(UsageError, match=r"a\.txt"):
        get(session, site, str(there / "a.txt"), mine / "a.txt")
    assert caught.value.hint == f"windlass data get {there} {mine} --on here-too --force writes over them"
    assert list_visible(mine) == {"same.txt", "a.txt"}
    assert (mine / "a.txt").read_bytes() == b"mine"

    (there / "a.txt").unlink()
    got = get(session, site, str(there), mine)
    assert got.fetched_bytes == 3
    assert (mine / "same.txt").stat().st_mtime == 10**9 + 5
    (there / "a.txt").write_bytes(b"theirs")
    get(session, site, str(there), mine, force=True)
    assert (mine / "a.txt").read_bytes() == b"theirs"


def test_another_set_of_the_same_name_is_not_fetched_over(
    session: Session, site: Site, source: Path, tmp_path: Path
) -> None:
    make_files(tmp_path / "other", count=4, seed=2)
    pack_here(tmp_path / "other", tmp_path / "q/pets", PackOptions(name="pets"))
    before = read_files(tmp_path / "q/pets")
    send(session, site, source, "pets", options=SMALL)

    with pytest.raises(UsageError, match="holds another data set"):
        get(session, site, "pets", tmp_path / "q/pets")

    assert read_files(tmp_path / "q/pets") == before


def test_the_same_set_packed_anew_is_fetched_over_and_its_old_shards_go(
    session: Session, site: Site, source: Path, tmp_path: Path
) -> None:
    send(session, site, source, "pets", options=SMALL)
    get(session, site, "pets", tmp_path / "back")
    make_files(source, count=20, seed=3)
    send(session, site, source, "pets", options=SendOptions(anew=True))

    get(session, site, "pets", tmp_path / "back")

    assert list_visible(tmp_path / "back") == list_visible(tmp_path / "root/data/pets")
    assert read_set(tmp_path / "back") == read_set(tmp_path / "root/data/pets")


def test_a_set_that_a_run_reads_is_not_packed_anew(session: Session, site: Site, source: Path, tmp_path: Path) -> None:
    pack_there(session, site, str(source), "pets", PackOptions())
    before = read_files(tmp_path / "root/data/pets")
    run = tmp_path / "root/runs/train-abcde"
    run.mkdir(parents=True)
    (run / "plan.json").write_text('{"data": [{"name": "x", "source": "set:pets", "path": "/x"}]}')
    (run / "status.json").write_text('{"state": "running"}')

    with pytest.raises(DataInUse, match="pets is read by train-abcde"):
        pack_there(session, site, str(source), "pets", PackOptions(anew=True))
    with zipfile.ZipFile(tmp_path / "pets.zip", "w") as archive:
        archive.writestr("a.txt", b"another")
    with pytest.raises(DataFailed, match="20 of its 20 files would be replaced") as caught:
        pack_there(session, site, str(tmp_path / "pets.zip"), "pets", PackOptions())

    command = f"windlass data pack {tmp_path}/pets.zip --name pets --on here-too --anew"
    assert (caught.value.hint, caught.value.done) == (command, "nothing was changed")
    assert read_files(tmp_path / "root/data/pets") == before


def test_what_is_not_the_sets_stays_when_it_is_removed(
    session: Session, site: Site, source: Path, tmp_path: Path
) -> None:
    send(session, site, source, "pets", options=SMALL)
    folder = tmp_path / "root/data/pets"
    (folder / "notes.txt").write_text("mine")
    (folder / "sub").mkdir()
    (folder / "sub/more.txt").write_text("mine too")
    (folder / "shard-99999.tar").write_bytes(b"mine as well")

    found = look_before_removing(session, site, "pets")
    remove_set(session, site, found)

    assert found.kept == ("notes.txt", "shard-99999.tar", "sub")
    assert list_visible(folder) == {"notes.txt", "sub", "shard-99999.tar"}
    assert (folder / "sub/more.txt").read_text() == "mine too"
    with pytest.raises(DataFailed, match=r"nothing in .* is a data set's"):
        look_before_removing(session, site, "pets")
    assert not list(folder.parent.glob(".trash*"))


def test_a_set_behind_a_link_is_shared(session: Session, site: Site, source: Path, tmp_path: Path) -> None:
    pack_small(source, tmp_path / "elsewhere")
    (tmp_path / "root/data").mkdir(parents=True)
    (tmp_path / "root/data/pets").symlink_to(tmp_path / "elsewhere")
    for path in ((tmp_path / "elsewhere"), *(tmp_path / "elsewhere").iterdir()):
        path.chmod(0o700 if path.is_dir() else 0o600)

    shared = share_set(session, site, "pets", Sharing(with_all=True))

    assert shared.count > 2
    assert (tmp_path / "elsewhere/dataset.json").stat().st_mode & 0o777 == 0o644


def test_what_was_left_out_is_told_after_a_cut_too(session: Session, site: Site, tmp_path: Path) -> None:
    made = {f"{number}.bin": os.urandom(600_000) for number in range(6)}
    with zipfile.ZipFile(tmp_path / "six.zip", "w") as archive:
        for name, content in made.items():
            archive.writestr(name, content)
    damaged = bytearray((tmp_path / "six.zip").read_bytes())
    damaged[damaged.index(made["1.bin"][1000:1100])] ^= 1
    (tmp_path / "six.zip").write_bytes(damaged)
    aside = tmp_path / "root/data/six/.sending"

    def cut(done: int, total: int) -> None:
        if list(aside.glob("*.done")):
            raise RuntimeError("cut")

    one = SendOptions(shard_bytes=SHARD, streams=1)
    with pytest.raises(RuntimeError):
        send(session, site, tmp_path / "six.zip", "six", options=one, progress=cut)
    assert list(aside.glob("*.done"))
    sent = send(session, site, tmp_path / "six.zip", "six", options=one)

    assert sent.files == 5
    assert "1.bin" in " ".join(sent.told)
    assert sent.bytes == load_card(os.fsencode(tmp_path / "root/data/six")).bytes == 5 * 600_000


@pytest.mark.parametrize("ending", ["tar", "idx"])
def test_a_packed_set_that_is_not_whole_is_not_sent(
    session: Session, site: Site, source: Path, tmp_path: Path, ending: str
) -> None:
    pack_small(source, tmp_path / "packed")
    (tmp_path / f"packed/shard-00000.{ending}").unlink()

    with pytest.raises(DataDamaged, match=rf"shard-00000.{ending}: no such file") as caught:
        send(session, site, tmp_path / "packed", "pets")

    assert caught.value.done == "nothing was sent"
    assert list_sets(session, site).sets == ()


@pytest.mark.parametrize("damage", ["cut index", "no shard"])
def test_a_set_at_the_site_that_is_not_whole_is_not_added_to(
    session: Session, site: Site, source: Path, tmp_path: Path, damage: str
) -> None:
    send(session, site, source, "pets", options=SMALL)
    there = tmp_path / "root/data/pets"
    if damage == "no shard":
        (there / "shard-00001.tar").unlink()
    else:
        os.truncate(there / "shard-00001.idx", 100)
        for path in session.folders.cache.rglob("shard-00001.idx"):
            path.unlink()
    (source / "cats/0001.jpg").write_bytes(b"another cat")

    with pytest.raises(DataDamaged, match=r"pets at here-too is not whole, .*shard-00001") as caught:
        send(session, site, source, "pets", options=SMALL)

    assert caught.value.hint == f"windlass data send {source} --name pets --anew --on here-too"
    send(session, site, source, "pets", options=SendOptions(anew=True))
    assert read_set(there)[b"cats/0001.jpg"] == b"another cat"


def test_very_many_shards_are_replaced(tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as their names are longer than 64 kB, over ssh, where they come in pieces."""
    make_files(tmp_path / "many", count=300, size=100)
    there = tmp_path / "root/data/many"
    pack_small(tmp_path / "many", there, shard_bytes=512)
    card = load_card(os.fsencode(there))
    for shard in card.shards:
        stem = shard.name.removesuffix(".tar")
        for ending in (".tar", ".idx"):
            (there / f"{stem}{ending}").rename(there / f"{stem}{'猫' * 80}{ending}")
        shard.name = f"{stem}{'猫' * 80}.tar"
    save_card(card, os.fsencode(there))

    with run_sshd(tmp_path / "sshd") as server:
        monkeypatch.setenv("WINDLASS_SSH_CONFIG", str(server.config))
        site = make_ssh_site(tmp_path / "root")
        with open_site(site) as session:
            sent = send(session, site, tmp_path / "many", "many", options=SendOptions(anew=True))

    assert len(json.dumps([shard.name for shard in card.shards])) > 1 << 17
    assert sent.shards == 1
    assert len(list_visible(there)) == 3


def test_nothing_is_left_of_a_sending_that_was_refused(tmp_path: Path, places: Places, source: Path) -> None:
    with small_disk(tmp_path, size_kb=600) as disk:
        site = make_local_site(disk)
        with open_site(site) as session:
            with pytest.raises(TransferFailed, match="left, and"):
                send(session, site, source, "pets")
            with pytest.raises(DiskFull) as caught:
                pack_here(source, disk / "packed", PackOptions())
            assert list_sets(session, site).sets == ()

        assert caught.value.done == "nothing was written"
        assert not (disk / "packed").exists()


def test_a_full_disk_is_told_as_such_when_a_part_is_closed(tmp_path: Path) -> None:
    with small_disk(tmp_path, size_kb=100) as disk:
        target = Target(disk)
        target.prepare()
        (disk / "filler").write_bytes(bytes(60_000))
        part = target.open_part(Wanted(name="a", size=200_000, mtime=1.0))

        with pytest.raises(DiskFull, match="no space left") as caught:  # noqa: PT012 - whichever comes first
            for _ in range(50):
                part.write(bytes(4000))
            part.close()
        with pytest.raises(DiskFull, match="no space left"):
            part.close()

    assert "goes on" in (caught.value.done or "")


def test_a_sample_comes_into_a_folder_whose_parent_is_missing(
    session: Session, site: Site, source: Path, tmp_path: Path
) -> None:
    send(session, site, source, "pets", options=SMALL)

    fetch_sample(session, site, "pets", tmp_path / "missing/few", Sampling(per_class=1))
    fetch_sample(session, site, "pets", tmp_path / "missing/again", Sampling(per_class=1))

    assert sum(path.is_file() for path in (tmp_path / "missing/few").rglob("*")) == 2


def test_a_card_of_many_megabytes_is_told(session: Session, site: Site, source: Path, tmp_path: Path) -> None:
    pack_small(source, tmp_path / "root/data/pets", about={"notes": "x" * (17 << 20)})

    assert fetch_info(session, site, "pets").files == 20


def test_a_pipe_is_neither_packed_nor_sent(session: Session, site: Site, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for moved in (
        lambda: pack_here(tmp_path / "pipe", tmp_path / "packed", PackOptions()),
        lambda: send(session, site, tmp_path / "pipe", "pets"),
        lambda: pack_there(session, site, str(tmp_path / "pipe"), "pets", PackOptions()),
    ):
        with pytest.raises((DataFailed, UsageError), match=re.escape("a pipe or a device")):
            moved()
    assert list_sets(session, site).sets == ()
