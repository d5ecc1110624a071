"""What is known of a run's data before it is sent: on this laptop, at the site, or nowhere."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.transfers import make_files, make_ssh_site, open_site
from tests.builders import SPEC
from tests.conftest import Places
from tests.edges.sshd import run_sshd
from tests.shards.sets import pack_small
from windlass.app.data.seen import add_data_sets, look_at_data
from windlass.core.case import DataSeen
from windlass.core.facts import NOTHING_SEEN, Facts
from windlass.core.run import Data
from windlass.core.site import Site
from windlass.edges.snapshot import take_snapshot


@pytest.fixture
def site(tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with run_sshd(tmp_path / "sshd") as server:
        monkeypatch.setenv("WINDLASS_SSH_CONFIG", str(server.config))
        yield make_ssh_site(tmp_path / "root")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    make_files(tmp_path / "project" / "images", count=6, size=1000)
    return tmp_path / "project"


def look(
    site: Site, project: Path, data: Mapping[str, Data], exclude: tuple[str, ...] = ()
) -> tuple[Facts, dict[str, DataSeen]]:
    spec = replace(SPEC, data=dict(data))
    snapshot = take_snapshot(
        project, include=(), exclude=exclude, max_mb=200, max_files=1000, cache_folder=project.parent / "cache"
    )
    with open_site(site) as session:
        facts = add_data_sets(session, site, spec, NOTHING_SEEN)
        return facts, {one.name: one for one in look_at_data(session, snapshot, spec, site, facts)}


def test_a_data_set_of_the_site_is_found_by_its_name(site: Site, project: Path, tmp_path: Path) -> None:
    pack_small(project / "images", tmp_path / "root" / "data" / "pets")

    facts, seen = look(site, project, {"x": Data(source="set:pets")})

    known = facts.data_set("pets")
    assert known is not None
    assert (known.path, known.files) == (f"{site.root}/data/pets", 6)
    assert (seen["x"].files, seen["x"].bytes) == (3, known.archived)  # a shard, its index and the card
    assert not seen["x"].is_here


@pytest.mark.parametrize("exclude", [(), ("images/**",)])
def test_what_a_set_was_packed_from_is_seen_in_the_code(
    site: Site, project: Path, tmp_path: Path, exclude: tuple[str, ...]
) -> None:
    pack_small(project / "images", tmp_path / "root" / "data" / "pets")

    _, seen = look(site, project, {"x": Data(source="set:pets")}, exclude)

    assert (seen["x"].raw_folder, seen["x"].raw_files) == ((None, 0) if exclude else ("images", 6))


def test_one_that_is_not_there_is_told_with_the_names_of_those_that_are(
    site: Site, project: Path, tmp_path: Path
) -> None:
    pack_small(project / "images", tmp_path / "root" / "data" / "pets")

    facts, seen = look(site, project, {"x": Data(source="set:pest")})

    assert facts.data_sets == ()
    assert facts.data_names == ("pets",)
    assert seen == {}


def test_a_name_for_a_plain_folder_is_counted_there(site: Site, project: Path, tmp_path: Path) -> None:
    pointer = tmp_path / "root" / "data" / "raw.json"
    pointer.parent.mkdir(parents=True)
    pointer.write_text(f'{{"path": "{project / "images"}"}}')

    _, seen = look(site, project, {"x": Data(source="set:raw")})

    assert seen["x"].files == 6


@pytest.mark.parametrize("exclude", [(), ("images/**",)])
def test_data_in_the_project_goes_along_or_stays_here(site: Site, project: Path, exclude: tuple[str, ...]) -> None:
    _, seen = look(site, project, {"x": Data(source="./images")}, exclude)

    assert (seen["x"].files, seen["x"].is_here, seen["x"].is_sent) == (6, True, not exclude)


def test_a_path_that_only_the_site_has_is_looked_at_there(site: Site, project: Path, tmp_path: Path) -> None:
    _, seen = look(site, project, {"x": Data(source=str(tmp_path / "nowhere")), "y": Data(source=str(project))})

    assert seen["x"].is_missing
    assert not seen["x"].is_here
    assert (seen["y"].files, seen["y"].is_here, seen["y"].is_missing) == (6, False, False)


def test_a_run_without_data_asks_nothing(site: Site, project: Path) -> None:
    with open_site(site) as session:
        add_data_sets(session, site, SPEC, NOTHING_SEEN)

        assert session.host(site).round_trips == 0
