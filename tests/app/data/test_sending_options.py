"""What `data send` takes as `data pack` does, and names of sets that lie elsewhere at the site."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.transfers import SHARD, make_files, make_local_site, open_site, read_set
from tests.conftest import Places
from windlass.app.data.info import load_info
from windlass.app.data.packing import PackOptions, pack_here, pack_there
from windlass.app.data.sending import SendOptions, send
from windlass.app.data.sets import find_set, register_set
from windlass.app.session import Session
from windlass.core.site import Area, Site
from windlass.errors import UsageError
from windlass_job.shards.card import load_card
from windlass_job.shards.extracting import extract


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


def test_labels_and_words_for_the_card_are_sent(session: Session, site: Site, source: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("path,label\ncats/0001.jpg,tom\ndogs/0000.jpg,rex\n")
    options = SendOptions(labels=str(tmp_path / "labels.csv"), about={"licence": "CC0"})

    send(session, site, source, "pets", options=options)

    card = load_card(bytes(tmp_path / "root/data/pets"))
    assert card.classes == ("rex", "tom")
    assert card.about["licence"] == "CC0"


def test_words_for_the_card_are_sent_where_no_file_has_changed(session: Session, site: Site, source: Path) -> None:
    send(session, site, source, "pets")
    options = SendOptions(about={"licence": "MIT"})

    sent = send(session, site, source, "pets", options=options)

    assert (sent.is_unchanged, sent.new_files, sent.removed_files, sent.sent_bytes) == (False, 0, 0, 0)
    assert load_card(bytes(Path(sent.path))).about["licence"] == "MIT"
    assert send(session, site, source, "pets", options=options).is_unchanged


def test_links_to_folders_are_followed_when_asked(session: Session, site: Site, source: Path, tmp_path: Path) -> None:
    make_files(tmp_path / "elsewhere", count=2)
    (source / "birds").symlink_to(tmp_path / "elsewhere" / "cats")

    with pytest.raises(UsageError, match="add --follow-links"):
        send(session, site, source, "pets")
    send(session, site, source, "pets", options=SendOptions(follow_links=True))

    assert load_card(bytes(tmp_path / "root/data/pets")).classes == ("birds", "cats", "dogs")


def test_what_is_sent_is_compressed_where_that_pays(session: Session, site: Site, tmp_path: Path) -> None:
    made = {}
    for number in range(200):
        path = tmp_path / "texts" / f"{number:03}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"the same word again " * (500 + number))
        made[path.name.encode()] = path.read_bytes()
    options = SendOptions(compress=True, shard_bytes=SHARD)

    sent = send(session, site, tmp_path / "texts", "texts", options=options)
    (tmp_path / "texts" / "200.txt").write_bytes(b"new " * 3000)
    again = send(session, site, tmp_path / "texts", "texts", options=options)

    assert sent.sent_bytes < sum(map(len, made.values())) / 5
    assert again.files == 201
    extract(bytes(tmp_path / "root/data/texts"), bytes(tmp_path / "out"))
    assert {path.name.encode(): path.read_bytes() for path in (tmp_path / "out").iterdir()} == {
        **made,
        b"200.txt": b"new " * 3000,
    }


def test_shards_are_as_large_as_the_site_wants_its_files(
    session: Session, site: Site, source: Path, tmp_path: Path
) -> None:
    areas = (
        Area(name="work", path=str(tmp_path / "root"), advised_file_mb=1000),
        Area(name="tape", path=str(tmp_path / "tape"), advised_file_mb=10_000),
    )
    strict = replace(site, storage=areas)

    send(session, strict, source, "sent")
    pack_there(session, strict, str(source), "packed", PackOptions())
    send(session, strict, source, "kept", options=SendOptions(to=str(tmp_path / "tape/kept")))

    words = [load_info(tmp_path / path).about["shards"] for path in ("root/data/sent", "root/data/packed", "tape/kept")]
    assert words == [f"no smaller than {size} MB, because the site advises it" for size in (960, 960, 9600)]


def test_what_is_packed_already_goes_as_it_is(session: Session, site: Site, source: Path, tmp_path: Path) -> None:
    pack_here(source, tmp_path / "packed", PackOptions())

    with pytest.raises(UsageError, match=r"is packed already: --labels, --licence is for"):
        send(
            session,
            site,
            tmp_path / "packed",
            "pets",
            options=SendOptions(labels="labels.csv", about={"licence": "CC0"}),
        )


def test_a_set_that_is_sent_elsewhere_has_its_name(session: Session, site: Site, source: Path, tmp_path: Path) -> None:
    sent = send(session, site, source, "tox", options=SendOptions(to=str(tmp_path / "project/tox")))

    assert sent.is_named
    assert find_set(session, site, "tox").set.path == str(tmp_path / "project/tox")
    assert send(session, site, source, "tox").is_unchanged


def test_a_name_of_another_set_stays_so(session: Session, site: Site, source: Path, tmp_path: Path) -> None:
    send(session, site, source, "tox")

    sent = send(session, site, source, "tox", options=SendOptions(to=str(tmp_path / "project/tox")))

    assert not sent.is_named
    assert find_set(session, site, "tox").set.path == str(tmp_path / "root/data/tox")


def test_packing_at_a_site_follows_the_name(session: Session, site: Site, source: Path, tmp_path: Path) -> None:
    pack_here(source, tmp_path / "project/tox", PackOptions(name="tox"))
    register_set(session, site, "tox", str(tmp_path / "project/tox"))
    added = make_files(tmp_path / "source", count=24)

    packed = pack_there(session, site, str(source), "tox", PackOptions())

    assert (packed.path, packed.new_files) == (str(tmp_path / "project/tox"), 4)
    assert read_set(tmp_path / "project/tox") == added
    assert not (tmp_path / "root/data/tox").exists()
