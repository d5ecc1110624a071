"""`data send` into a data set that is there: nothing is lost by a slip, and classes keep their numbers."""

import os
from pathlib import Path

import pytest

from tests.app.transfers import SHARD, list_visible, make_files, open_site, read_set, site, source, there
from windlass.app.data.sending import SendOptions, send
from windlass.core.site import Site
from windlass.errors import UsageError
from windlass_job.shards.card import load_card
from windlass_job.shards.packing import Settings, pack
from windlass_job.shards.sources import choose_source

__all__ = ["site", "source", "there"]

SMALL = SendOptions(shard_bytes=SHARD)


def test_most_of_a_data_set_from_elsewhere_is_not_replaced_by_mistake(
    source: Path, site: Site, there: Path, tmp_path: Path
) -> None:
    made = make_files(source)
    few = tmp_path / "few"
    other = make_files(few, count=4, seed=2)
    moved = tmp_path / "moved"
    make_files(moved)
    with open_site(site) as session:
        send(session, site, source, "pets", options=SMALL)
        with pytest.raises(UsageError, match="60 of its 60 files would be replaced or removed") as caught:
            send(session, site, few, "pets", options=SMALL)
        assert read_set(there) == made
        send(session, site, moved, "pets", options=SMALL)  # the same files from another place

        send(session, site, few, "pets", options=SendOptions(replace=True))

    assert str(source) in caught.value.message
    assert str(few) in caught.value.message
    assert f"windlass data send {few} --name pets --replace --on here-too" in (caught.value.hint or "")
    assert read_set(there) == other


def test_classes_keep_their_numbers_when_all_is_sent_anew(source: Path, site: Site, there: Path) -> None:
    make_files(source, count=4)
    anew = SendOptions(anew=True)
    with open_site(site) as session:
        send(session, site, source, "pets")
        (source / "birds").mkdir()
        (source / "birds/0001.jpg").write_bytes(b"a bird")
        send(session, site, source, "pets")
        kept = send(session, site, source, "pets", options=anew)
        classes = load_card(os.fsencode(there)).classes
        for path in (source / "cats").iterdir():
            path.unlink()
        (source / "cats").rmdir()
        changed = send(session, site, source, "pets", options=anew)

    assert (classes, kept.told) == (("cats", "dogs", "birds"), ())
    assert load_card(os.fsencode(there)).classes == ("birds", "dogs")
    assert changed.told == ("classes are numbered anew: birds is 0, was 2",)


def test_a_folder_that_holds_both_files_and_a_packed_data_set_is_not_sent(
    source: Path, site: Site, there: Path
) -> None:
    make_files(source, count=4)
    packed = source.with_name("packed")
    pack(choose_source(os.fsencode(source)), os.fsencode(packed), Settings(name="pets"))
    for path in packed.iterdir():
        path.rename(source / path.name)

    with (
        open_site(site) as session,
        pytest.raises(UsageError, match=r"packed data set .* and other files \(cats, dogs"),
    ):
        send(session, site, source, "pets")

    assert not list_visible(there)


def test_a_folder_without_files_is_not_sent(source: Path, site: Site, there: Path) -> None:
    made = make_files(source, count=4)
    empty = source.with_name("empty")
    empty.mkdir()
    with open_site(site) as session:
        send(session, site, source, "pets")
        for options in (SMALL, SendOptions(anew=True)):
            with pytest.raises(UsageError, match="holds no files"):
                send(session, site, empty, "pets", options=options)

    assert read_set(there) == made


def test_a_file_of_another_program_is_an_ordinary_one(source: Path, site: Site, there: Path) -> None:
    made = make_files(source, count=4)
    (source / "dataset.json").write_bytes(b'{"version": 3}')
    with open_site(site) as session:
        send(session, site, source, "pets")

    assert read_set(there) == {**made, b"dataset.json": b'{"version": 3}'}
