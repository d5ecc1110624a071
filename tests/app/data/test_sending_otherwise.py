"""Other ways than to wait here: what is offered, what Globus and rsync can carry, and what to do with it there."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.transfers import make_files, make_local_site, make_ssh_site, open_site
from tests.conftest import Places
from tests.shards.sets import pack_small
from windlass.app.data.send_commands import make_pack_command
from windlass.app.data.sending import SendOptions, send
from windlass.app.data.sending_estimate import Estimate, keep_rate, make_offers
from windlass.app.data.sending_otherwise import plan_carrying
from windlass.core.site import Login, Site
from windlass.errors import Interrupted, UsageError

ALL = SendOptions(
    to="/far/my pets",
    streams=3,
    shard_bytes=512 << 20,
    anew=True,
    replace=True,
    kind="folder",
    nodes=4,
    compress=True,
    about={"licence": "CC BY", "description": "of cats"},
)
PACKING = "--source-kind folder --nodes 4 --shard-size 512M --compress --licence 'CC BY' --description 'of cats'"


@pytest.fixture
def site(places: Places) -> Site:
    return make_ssh_site(Path("/far/root"), globus="centre#dtn")


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    make_files(tmp_path / "pets", count=4, size=100)
    return tmp_path / "pets"


def test_more_than_a_minute_is_told_before_anything_travels(places: Places, tmp_path: Path) -> None:
    """By the rate that this way had lately."""
    site = replace(make_local_site(tmp_path / "root"), login=Login(globus="centre#dtn"))
    (tmp_path / "large").mkdir()
    with (tmp_path / "large" / "all.bin").open("wb") as file:
        file.truncate(100 << 20)
    seen: list[Estimate] = []

    def decide(estimate: Estimate) -> None:
        seen.append(estimate)
        raise Interrupted("you said no")

    with open_site(site) as session:
        for seconds in (160, 10):
            keep_rate(session, site, "this machine", 100 << 20, seconds)
            with pytest.raises(Interrupted):
                send(session, site, tmp_path / "large", "pets", options=SendOptions(nodes=2), decide=decide)

    slow, fast = seen
    assert (slow.is_long, fast.is_long) == (True, False)
    assert [one.kind for one in slow.offers] == ["globus", "background"]
    assert all("--nodes 2" in one.command for one in slow.offers)
    assert fast.offers == ()


def test_what_is_offered_asks_for_all_that_was_asked_for(site: Site, pets: Path) -> None:
    globus, background, rsync = make_offers(site, pets, "pets", ALL)
    start = f"windlass data send {pets} --name pets --on hpc --to '/far/my pets'"

    assert background.command == f"{start} --streams 3 --anew --replace {PACKING} --background"
    assert globus.command == f"{start} --anew {PACKING} --with globus"
    assert rsync.command == f"{start} --anew {PACKING} --with rsync"


def test_a_name_with_a_dash_is_no_option_in_what_is_offered(
    site: Site, pets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pets.parent)
    pets.rename("-n")

    _, background, _ = make_offers(site, Path("-n"), "pets", SendOptions())

    assert background.command == "windlass data send ./-n --name pets --on hpc --background"
    assert make_pack_command("-n", "-n packed", SendOptions()) == "windlass data pack ./-n './-n packed'"


def test_only_ways_are_offered_that_carry_it(site: Site, pets: Path) -> None:
    hops = replace(site, login=replace(site.login, globus=None, transfer_root="/landing"))

    (background,) = make_offers(site, pets, "pets", SendOptions(labels="my labels.csv"))

    assert background.command.endswith("--labels 'my labels.csv' --background")
    assert [one.kind for one in make_offers(hops, pets, "pets", SendOptions())] == ["background"]


def test_a_folder_goes_beside_the_data_sets_and_is_packed_there_as_asked(site: Site, pets: Path) -> None:
    plain = plan_carrying(site, pets, "pets", SendOptions(), "rsync")
    wished = plan_carrying(site, pets, "pets", ALL, "rsync")

    assert plain.path == "/far/root/plain/pets"
    assert plain.then == "windlass data pack /far/root/plain/pets --name pets --on hpc"
    assert wished.path == "/far/my pets"
    assert wished.then == f"windlass data pack '/far/my pets' --name pets --on hpc --anew {PACKING}"


def test_a_file_keeps_its_name(site: Site, pets: Path, tmp_path: Path) -> None:
    archive = tmp_path / "photos.tar"
    archive.write_bytes(b"")

    carrying = plan_carrying(site, archive, "photos", SendOptions(), "rsync")

    assert carrying.path == "/far/root/plain/photos"
    assert carrying.then == "windlass data pack /far/root/plain/photos/photos.tar --name photos --on hpc"


def test_a_packed_set_goes_as_it_is(site: Site, pets: Path, tmp_path: Path) -> None:
    pack_small(pets, tmp_path / "packed")

    own = plan_carrying(site, tmp_path / "packed", "pets", SendOptions(), "globus")
    elsewhere = plan_carrying(site, tmp_path / "packed", "pets", SendOptions(to="$LAB/pets"), "globus")
    with pytest.raises(UsageError, match="is packed already: --licence"):
        plan_carrying(site, tmp_path / "packed", "pets", SendOptions(about={"licence": "CC0"}), "globus")

    assert (own.path, own.then) == ("/far/root/data/pets", "windlass data verify pets --on hpc")
    assert elsewhere.path == "$LAB/pets"
    assert elsewhere.then.startswith("windlass data register pets '$LAB/pets' --on hpc && windlass data verify pets")


@pytest.mark.parametrize(
    ("what", "options", "words"),
    [
        ("table.csv", SendOptions(), "a table only names files"),
        ("list.txt", SendOptions(), "a list only names files"),
        ("pets", SendOptions(labels="table.csv"), "--labels is about files as they lie here"),
        ("pets", SendOptions(follow_links=True), "--follow-links is about"),
        ("nowhere", SendOptions(), "there is no"),
        ("linked", SendOptions(), "add --follow-links"),
    ],
)
def test_what_cannot_be_carried_is_refused_with_what_can_be_done(
    site: Site, pets: Path, tmp_path: Path, what: str, options: SendOptions, words: str
) -> None:
    (tmp_path / "table.csv").write_text("path,label\npets/cats/0001.jpg,tom\npets/dogs/0000.jpg,rex\n")
    (tmp_path / "list.txt").write_text("pets/cats/0001.jpg\npets/dogs/0000.jpg\n")
    for name in ("one", "two"):
        (tmp_path / "linked").mkdir(exist_ok=True)
        (tmp_path / "linked" / name).symlink_to(pets / "cats")

    with pytest.raises(UsageError, match=words) as caught:
        plan_carrying(site, tmp_path / what, "my.pets", options, "globus")

    assert caught.value.done == "nothing was sent"
    if what not in ("nowhere", "linked"):
        packing, sending = (caught.value.hint or "").split("\nthen: ")
        assert packing.startswith(f"windlass data pack {tmp_path / what} my.pets-packed")
        assert sending == "windlass data send my.pets-packed --name my.pets --on hpc --with globus"
    if options.labels:
        assert "--labels table.csv" in (caught.value.hint or "")
