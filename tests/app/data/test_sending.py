"""A folder becomes a data set at a site, on the way; what changed follows; what is cut goes on."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.app.transfers import (
    SHARD,
    list_visible,
    make_files,
    make_local_site,
    open_site,
    read_set,
    site,
    source,
    there,
)
from tests.conftest import Places
from tests.edges.places import FULL_PLACES, FullPlace, small_disk
from windlass.app.data.sending import SendOptions, send
from windlass.app.data.sending_estimate import Estimate
from windlass.app.data.sending_ways import open_way
from windlass.app.session import Session
from windlass.core.site import Site
from windlass.errors import ConnectionLost, DataDamaged, TransferBusy, TransferFailed, UsageError
from windlass_job.shards.packing import Settings, pack, plan_packing
from windlass_job.shards.sources import choose_source

__all__ = ["site", "source", "there"]

SMALL = SendOptions(shard_bytes=SHARD)


def test_a_folder_arrives_as_a_data_set(source: Path, site: Site, there: Path) -> None:
    made = make_files(source)
    seen: list[tuple[int, int]] = []

    with open_site(site) as session:
        sent = send(session, site, source, "pets", options=SMALL, progress=lambda *now: seen.append(now))

    assert read_set(there) == made
    assert sent.shards >= 5
    assert sent.files == len(made)
    assert sent.bytes == sum(map(len, made.values()))
    assert seen[-1][0] == seen[-1][1]
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert not (there / ".sending").exists()


def test_what_is_packed_on_the_way_is_what_is_packed_here(
    source: Path, site: Site, there: Path, tmp_path: Path
) -> None:
    make_files(source)
    packing = plan_packing(choose_source(os.fsencode(source)), Settings(name="pets", shard_bytes=SHARD))

    with open_site(site) as session:
        send(session, site, source, "pets", options=SMALL)

    for shard in packing.shards:
        stream = packing.stream(shard)
        assert (there / shard.name).read_bytes() == b"".join(bytes(one) for one in stream.iterate_pieces())


def test_nothing_travels_when_nothing_changed(source: Path, site: Site, there: Path) -> None:
    make_files(source)

    with open_site(site) as session:
        send(session, site, source, "pets", options=SMALL)
        before = {path.name: path.stat().st_mtime_ns for path in there.iterdir()}
        again = send(session, site, source, "pets", options=SMALL)

    assert again.is_unchanged
    assert again.sent_bytes == 0
    assert {path.name: path.stat().st_mtime_ns for path in there.iterdir()} == before


def test_only_what_changed_travels(source: Path, site: Site, there: Path) -> None:
    made = make_files(source)
    with open_site(site) as session:
        first = send(session, site, source, "pets", options=SMALL)
        (source / "cats/0001.jpg").write_bytes(b"another cat")
        (source / "dogs/0000.jpg").unlink()
        (source / "birds").mkdir()
        (source / "birds/0001.jpg").write_bytes(b"a bird")

        second = send(session, site, source, "pets", options=SMALL)

    expected = {**made, b"cats/0001.jpg": b"another cat", b"birds/0001.jpg": b"a bird"}
    del expected[b"dogs/0000.jpg"]
    assert read_set(there) == expected
    assert second.is_delta
    assert second.sent_bytes < first.sent_bytes / 50
    assert (second.new_files, second.removed_files, second.shards) == (2, 2, first.shards + 1)
    assert second.dead_share > 0


def test_one_changed_file_of_many_small_ones_is_a_small_share(source: Path, site: Site) -> None:
    make_files(source, count=100, size=20)
    with open_site(site) as session:
        first = send(session, site, source, "pets")
        (source / "cats/0001.jpg").write_bytes(b"another cat")
        second = send(session, site, source, "pets")

    assert first.dead_share == 0
    assert second.dead_share == pytest.approx(1 / 101)


def test_what_is_added_to_a_shared_data_set_is_shared_too(source: Path, site: Site, there: Path) -> None:
    make_files(source)
    with open_site(site) as session:
        send(session, site, source, "pets", options=SMALL)
        os.chown(there, -1, 12345)
        there.chmod(0o2750)
        for path in there.iterdir():
            os.chown(path, -1, 12345)
            path.chmod(0o640)
        (source / "cats/0001.jpg").write_bytes(b"another cat")

        sent = send(session, site, source, "pets", options=SMALL)

    assert sent.is_delta
    assert {(path.stat().st_gid, path.stat().st_mode & 0o777) for path in there.iterdir()} == {(12345, 0o640)}


def test_a_laptop_that_forgot_what_it_sent_asks_the_site(source: Path, site: Site, there: Path, places: Places) -> None:
    made = make_files(source)
    with open_site(site) as session:
        first = send(session, site, source, "pets", options=SMALL)
        for path in session.folders.cache.rglob("*.idx"):
            path.write_bytes(b"damaged")
        (source / "cats/0001.jpg").write_bytes(b"another cat")

        second = send(session, site, source, "pets", options=SMALL)

    assert read_set(there) == {**made, b"cats/0001.jpg": b"another cat"}
    assert second.sent_bytes < first.sent_bytes / 50


def test_all_of_it_anew_takes_the_place_of_what_was_there(source: Path, site: Site, there: Path) -> None:
    make_files(source)
    with open_site(site) as session:
        send(session, site, source, "pets", options=SMALL)
        names = list_visible(there)
        made = make_files(source, seed=2)

        sent = send(session, site, source, "pets", options=SendOptions(shard_bytes=SHARD, anew=True))

    assert read_set(there) == made
    assert not sent.is_delta
    assert list_visible(there) & names == {"dataset.json"}


def test_a_packed_data_set_goes_as_it_is(source: Path, site: Site, there: Path, tmp_path: Path) -> None:
    made = make_files(source)
    packed = tmp_path / "packed"
    pack(choose_source(os.fsencode(source)), os.fsencode(packed), Settings(name="pets", shard_bytes=SHARD))

    with open_site(site) as session:
        send(session, site, packed, "pets")
        again = send(session, site, packed, "pets")

    assert read_set(there) == made
    for path in packed.glob("shard-*"):
        assert (there / path.name).read_bytes() == path.read_bytes()
    assert again.is_unchanged


def test_a_damaged_packed_data_set_is_refused_with_the_file_named(
    source: Path, site: Site, there: Path, tmp_path: Path
) -> None:
    make_files(source, count=4)
    packed = tmp_path / "packed"
    pack(choose_source(os.fsencode(source)), os.fsencode(packed), Settings(name="pets"))
    with (packed / "shard-00000.tar").open("r+b") as file:
        file.seek(2000)
        byte = file.read(1)
        file.seek(2000)
        file.write(bytes([byte[0] ^ 1]))

    with open_site(site) as session, pytest.raises(DataDamaged, match=r"itself is damaged.*cats/0001.jpg") as caught:
        send(session, site, packed, "pets")

    assert caught.value.hint == f"windlass data pack SOURCE {packed} --verify   # SOURCE: what it was packed from"
    assert "goes on" not in (caught.value.done or "")
    assert list_visible(there) == set()


def test_any_name_arrives(source: Path, site: Site, there: Path) -> None:
    names = [b"line\nbreak", b"\xff\xfe not text", "ünï/cødé".encode(), b"-rf", b" ", b"a" * 250, b"quote'\"$(id)"]
    for name in names:
        path = os.path.join(os.fsencode(source), name)  # noqa: PTH118  # bytes
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        with open(path, "wb") as file:
            file.write(name)

    with open_site(site) as session:
        send(session, site, source, "pets")

    assert read_set(there) == {name: name for name in names}


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "new\nline", "-rf"])
def test_a_name_that_is_a_path_is_refused(source: Path, site: Site, name: str) -> None:
    make_files(source, count=1)

    with open_site(site) as session, pytest.raises(UsageError, match="no name for a data set"):
        send(session, site, source, name)


def test_a_source_that_is_not_there_is_told(source: Path, site: Site) -> None:
    with open_site(site) as session, pytest.raises(UsageError, match="there is no"):
        send(session, site, source, "pets")


def test_whoever_decides_may_say_no_before_anything_travels(source: Path, site: Site, there: Path) -> None:
    make_files(source)
    asked: list[Estimate] = []

    def refuse(estimate: Estimate) -> None:
        asked.append(estimate)
        raise UsageError("no")

    with open_site(site) as session, pytest.raises(UsageError, match="no"):
        send(session, site, source, "pets", decide=refuse)

    assert asked[0].files == 60
    assert list_visible(there) == set()


# ---- two at once


def test_two_laptops_do_not_send_at_once(source: Path, site: Site, there: Path) -> None:
    make_files(source, count=2)
    with open_site(site) as session:
        with (
            open_way(session, site, str(there), laptop="another"),
            pytest.raises(TransferBusy, match="somebody is sending"),
        ):
            send(session, site, source, "pets")

        assert send(session, site, source, "pets").files == 2


def test_a_holder_that_was_killed_keeps_nobody_out(source: Path, site: Site, there: Path) -> None:
    make_files(source, count=2)
    with open_site(site) as session:
        with pytest.raises(ConnectionLost, match="ended"):
            _begin_and_kill(session, site, there)

        assert send(session, site, source, "pets").files == 2


def _begin_and_kill(session: Session, site: Site, there: Path) -> None:
    with open_way(session, site, str(there), laptop="another") as way:
        os.kill(int(way.hello["pid"]), signal.SIGKILL)
        way.fetch_index("none")


def test_one_laptop_takes_over_from_its_own_command_that_was_cut_off(source: Path, site: Site, there: Path) -> None:
    make_files(source, count=2)
    with (
        open_site(site) as session,
        open_way(session, site, str(there), laptop="mine"),
        open_way(session, site, str(there), laptop="mine") as second,
    ):
        assert second.path == str(there)


# ---- places that behave badly


def test_a_disk_that_is_too_small_is_told_before_anything_travels(source: Path, tmp_path: Path, places: Places) -> None:
    make_files(source)
    with small_disk(tmp_path, size_kb=3000) as disk:
        site = make_local_site(disk)
        with open_site(site) as session, pytest.raises(TransferFailed, match=r"3\.\d MB left, and 6\.\d MB are"):
            send(session, site, source, "pets", options=SMALL)


@pytest.mark.parametrize("small", FULL_PLACES)
def test_a_disk_that_fills_up_leaves_what_is_whole(
    source: Path, tmp_path: Path, places: Places, small: FullPlace
) -> None:
    made = make_files(source)
    with small(tmp_path, size_kb=9000) as disk:
        site = make_local_site(disk)
        filler = disk / "filler"

        def fill(_: Estimate) -> None:
            filler.write_bytes(bytes(5_000_000))

        one = SendOptions(shard_bytes=SHARD, streams=1)
        with open_site(site) as session:
            with pytest.raises(TransferFailed, match=r"No space left|Disk quota exceeded"):
                send(session, site, source, "pets", options=one, decide=fill)
            left = list_visible(disk / "data" / "pets")
            assert "dataset.json" not in left
            assert any(name.endswith(".tar") for name in left)
            filler.unlink()

            again = send(session, site, source, "pets", options=one)

        assert again.sent_bytes < 4_500_000
        assert read_set(disk / "data" / "pets") == made


def test_a_place_that_cannot_be_written_is_told(source: Path, tmp_path: Path, places: Places) -> None:
    make_files(source, count=1)
    with small_disk(tmp_path, size_kb=1000) as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        site = make_local_site(disk)

        with open_site(site) as session, pytest.raises(TransferFailed, match="Read-only file system"):
            send(session, site, source, "pets")


def test_a_damaged_card_at_the_site_is_not_added_to(source: Path, site: Site, there: Path) -> None:
    make_files(source, count=1)
    with open_site(site) as session:
        send(session, site, source, "pets")
        (there / "dataset.json").write_text("{}")

        with pytest.raises(TransferFailed, match="no card"):
            send(session, site, source, "pets")
