"""Where jobs should read data, and what the quota says: by real sizes and the site's rules."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.transfers import make_files, make_ssh_site
from tests.conftest import Places
from tests.shards.sets import pack_small
from windlass.app.data.advice import advise
from windlass.app.session import Session
from windlass.core.facts import Facts, SeenQuota
from windlass.core.run import Staging
from windlass.core.site import Area, NodeType, Site
from windlass.edges.folders import find_folders
from windlass.edges.local_host import LocalHost

GB = 10**9
NODE = NodeType(name="gpu", memory_gb=400, gpus=4, local_disk_gb=200)


@pytest.fixture
def site(tmp_path: Path, places: Places) -> Site:
    area = Area(name="scratch", path=str(tmp_path), quota_files=1000, quota_gb=500)
    return replace(make_ssh_site(tmp_path / "root"), node_types=(NODE,), storage=(area,))


@pytest.fixture
def session(site: Site, tmp_path: Path) -> Iterator[Session]:
    used = SeenQuota(area="scratch", path=str(tmp_path), used_files=900, limit_files=1000, source="quota -s")
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        opened.pretend(site, LocalHost(), Facts(root=str(tmp_path / "root"), quotas=(used,)))
        yield opened


def make_large(folder: Path, gigabytes: int) -> Path:
    """As large as it says, and takes no room on the disk."""
    folder.mkdir()
    with (folder / "all.bin").open("wb") as file:
        file.truncate(gigabytes * GB)
    return folder


@pytest.mark.parametrize(
    ("gigabytes", "stage"), [(9, Staging.MEMORY), (11, Staging.NODE), (99, Staging.NODE), (101, Staging.SHARED)]
)
def test_the_nearest_place_that_holds_it(
    session: Session, site: Site, tmp_path: Path, gigabytes: int, stage: Staging
) -> None:
    found = advise(session, site, str(make_large(tmp_path / "set", gigabytes)))

    assert found.stage is stage
    assert found.why_stage


def test_a_job_with_little_memory_has_none_for_data(session: Session, site: Site, tmp_path: Path) -> None:
    folder = str(make_large(tmp_path / "set", 9))

    assert advise(session, site, folder, memory_mb=16_000).stage is Staging.NODE


def test_a_small_disk_does_not_take_it(session: Session, site: Site, tmp_path: Path) -> None:
    small = replace(site, node_types=(replace(NODE, local_disk_gb=40),))
    session.pretend(small, LocalHost(), Facts(root=str(tmp_path / "root")))

    assert advise(session, small, str(make_large(tmp_path / "set", 50))).stage is Staging.SHARED


def test_what_the_quota_says_before_and_after(session: Session, site: Site, tmp_path: Path) -> None:
    make_files(tmp_path / "many", count=200, size=10)

    found = advise(session, site, str(tmp_path / "many"))

    assert (found.files, found.packed_files) == (200, 3)
    assert found.room is not None
    assert (found.room.area, found.room.used_files, found.room.limit_files) == ("scratch", 900, 1000)
    assert not found.room.fits(found.files, found.bytes)
    assert found.room.fits(found.packed_files, found.packed_bytes)


def test_more_nodes_get_smaller_shards(session: Session, site: Site, tmp_path: Path) -> None:
    folder = str(make_large(tmp_path / "set", 64))

    one, many = (advise(session, site, folder, nodes=nodes) for nodes in (1, 16))

    assert many.shard_bytes < one.shard_bytes


def test_shards_are_as_large_as_the_file_system_wants_them(session: Session, site: Site, tmp_path: Path) -> None:
    area = replace(site.storage[0], advised_file_mb=3000)
    strict = replace(site, storage=(area,))

    found = advise(session, strict, str(make_large(tmp_path / "set", 64)), nodes=16)

    assert found.shard_bytes >= 3000 * 10**6
    assert "the site advises" in found.why_shards


def test_a_packed_set_is_taken_as_it_is(session: Session, site: Site, tmp_path: Path) -> None:
    make_files(tmp_path / "many", count=20, size=10)
    pack_small(tmp_path / "many", tmp_path / "root" / "data" / "pets")

    here = advise(session, site, str(tmp_path / "root" / "data" / "pets"))
    there = advise(session, site, "pets")

    assert here.is_packed
    assert there.is_packed
    assert here.files == there.files == there.packed_files == 3


def test_a_site_that_cannot_be_asked_is_known_by_its_file(site: Site, tmp_path: Path) -> None:
    make_files(tmp_path / "many", count=20, size=10)
    nowhere = replace(site, login=replace(site.login, host="nosuch.invalid"))
    with Session(folders=find_folders(os.environ), environ=os.environ) as session:
        found = advise(session, nowhere, str(tmp_path / "many"))

    assert found.room is not None
    assert (found.room.limit_files, found.room.used_files) == (1000, None)
