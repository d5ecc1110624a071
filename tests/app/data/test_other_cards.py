"""A dataset.json of another program, as nnU-Net puts one into every raw data set, makes no packed data set."""

import os
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from tests.app.transfers import list_visible, make_local_site, open_site
from tests.conftest import Places
from tests.shards.sets import make_tree, pack_small, read_tree
from windlass.app.data.advice import advise
from windlass.app.data.converting import recognise
from windlass.app.data.getting import get
from windlass.app.data.info import is_here, load_info
from windlass.app.data.sets import find_set, register_set
from windlass.app.data.taking import Sampling, extract_here, sample_here, verify_here
from windlass.core.site import Site
from windlass.edges.data_sample import copy_sample
from windlass.errors import DataDamaged, DataNotFound
from windlass_job import deputy_data
from windlass_job.reading.finding import find
from windlass_job.shards import card
from windlass_job.staging.laying import FOLDER
from windlass_job.staging.sources import look

FILES = {
    b"dataset.json": b'{"channel_names": {"0": "CT"}, "labels": {"background": 0}}',
    b"imagesTr/a.nii.gz": b"1" * 1000,
    b"labelsTr/a.nii.gz": b"2" * 100,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "nn", FILES)


@pytest.fixture
def site(tmp_path: Path, places: Places) -> Site:
    return make_local_site(tmp_path / "root")


def test_it_comes_as_the_folder_that_it_is(site: Site, folder: Path, tmp_path: Path) -> None:
    with open_site(site) as session:
        got = get(session, site, str(folder), tmp_path / "copy")

    assert got.kind == "folder"
    assert read_tree(tmp_path / "copy") == FILES


def test_it_has_a_name_at_the_site_as_any_folder(site: Site, folder: Path) -> None:
    with open_site(site) as session:
        register_set(session, site, "nn", str(folder))
        known = find_set(session, site, "nn").set

    assert (known.kind, known.problem) == ("folder", None)


def test_advice_counts_its_files(site: Site, folder: Path) -> None:
    with open_site(site) as session:
        found = advise(session, replace(site, storage=()), str(folder))

    assert (found.files, found.is_packed) == (3, False)


def test_verbs_about_packed_sets_say_that_it_is_none(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for call in (
        lambda: verify_here(folder),
        lambda: extract_here(folder, out),
        lambda: sample_here(folder, out, Sampling()),
        lambda: load_info(folder),
    ):
        with pytest.raises(DataNotFound) as caught:
            call()
        assert "windlass data pack" in str(caught.value.hint)
        assert "what was taken" not in str(caught.value.done)
    assert not out.exists()


def test_what_is_damaged_leaves_nothing_of_a_sample(folder: Path, tmp_path: Path) -> None:
    pack_small(folder / "imagesTr", tmp_path / "set")
    (tmp_path / "set" / "dataset.json").write_bytes(b"{")

    with pytest.raises(DataDamaged) as caught:
        sample_here(tmp_path / "set", tmp_path / "out", Sampling())

    assert caught.value.done == "nothing was written"


def test_it_is_no_format_of_ours_and_sampled_as_files(folder: Path, tmp_path: Path) -> None:
    assert recognise(folder) is None
    assert copy_sample(folder, tmp_path / "sample").files == 3
    assert list_visible(tmp_path / "sample") == list_visible(folder)


def test_it_is_staged_as_a_folder(folder: Path) -> None:
    found = look(str(folder))

    assert (found.kind, found.files) == (FOLDER, 3)


def test_the_data_of_a_run_is_found_beside_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    monkeypatch.setenv("WINDLASS_DATA_NN", "/near/nn")

    assert not is_here("nn")
    assert find("nn") == "/near/nn"


@pytest.mark.parametrize("by", [card, deputy_data])
def test_what_a_damaged_card_belongs_to_is_told_by_its_indexes(by: ModuleType, folder: Path, tmp_path: Path) -> None:
    pack_small(folder, tmp_path / "set")
    path = tmp_path / "set" / "dataset.json"
    before = path.read_bytes()
    for content in (before, b"", b"[]", before[:50], before.replace(b"shards/1", b"shards/9")):
        path.write_bytes(content)
        assert by.is_packed(bytes(tmp_path / "set"))

    path.unlink()
    os.mkfifo(path)  # nobody waits for its writer
    assert by.is_packed(bytes(tmp_path / "set"))
    assert not by.is_packed(bytes(folder))
    assert not by.is_packed(bytes(tmp_path))
