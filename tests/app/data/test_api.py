"""`windlass.data`: the verbs from Python, with a real site on this machine."""

from pathlib import Path

import pytest

import windlass
from tests.app.transfers import make_files, read_set
from tests.conftest import Places


@pytest.fixture
def pets(tmp_path: Path, places: Places) -> Path:
    make_files(tmp_path / "pets", count=8, size=1000)
    return tmp_path / "pets"


def test_the_story_of_a_data_set_from_python(pets: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    with windlass.open_session() as session:
        sent = windlass.data.send(pets, "pets", session=session, progress=lambda *now: seen.append(now))
        (known,) = windlass.data.ls(session=session)
        info = windlass.data.info("pets", on="here", session=session)
        whole = windlass.data.verify("pets", on="here", session=session)
        advice = windlass.data.advise(pets, session=session)
        got = windlass.data.get("pets", tmp_path / "back", session=session)
        few = windlass.data.sample("pets", tmp_path / "few", per_class=1, on="here", session=session)
        removed = windlass.data.rm("pets", session=session)

        assert windlass.data.ls(session=session) == ()

    assert sent.files == known.set.files == info.files == whole.files == got.files == removed.files == 8
    assert seen
    assert advice.packed_files == 3
    assert few.files == 2
    assert len(read_set(tmp_path / "back")) == 8


def test_packed_here_extracted_and_converted(pets: Path, tmp_path: Path) -> None:
    options = windlass.data.PackOptions(about={"licence": "CC0"})
    packed = windlass.data.pack(pets, tmp_path / "packed", options)
    plain = windlass.data.extract(packed.path, tmp_path / "plain", only=["cats/*"])
    made = windlass.data.convert(packed.path, tmp_path / "pets.zip", to="zip")

    assert windlass.data.info(packed.path).about["licence"] == "CC0"
    assert (packed.files, plain.files, made.files) == (8, 4, 8)


def test_what_lies_at_a_site_is_packed_there(pets: Path) -> None:
    packed = windlass.data.pack_at("here", str(pets), "pets")

    assert packed.files == windlass.data.info("pets", on="here").files == 8


def test_a_name_is_given_shared_and_forgotten(pets: Path, tmp_path: Path) -> None:
    windlass.data.pack(pets, tmp_path / "packed")
    known = windlass.data.register("animals", str(tmp_path / "packed"), description="of the zoo")
    shared = windlass.data.share("animals", windlass.data.Sharing(with_all=True, apply=False))

    assert known.set.about["description"] == "of the zoo"
    assert not shared.is_done
    assert windlass.data.unregister("animals") == str(tmp_path / "packed")
    with pytest.raises(windlass.WindlassError, match="no data set"):
        windlass.data.info("animals", on="here")
