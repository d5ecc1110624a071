"""Ctrl-C in the midst of moving data: what was and was not done is told, and the same command goes on."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.app.transfers import SHARD, make_files, make_local_site, open_site, read_set
from tests.conftest import Places
from windlass.app.data.converting import convert
from windlass.app.data.getting import get
from windlass.app.data.packing import PackOptions, pack_here
from windlass.app.data.sending import SendOptions, send
from windlass.app.data.taking import extract_here
from windlass.core.site import Site
from windlass.errors import Interrupted


@pytest.fixture
def press_ctrl_c() -> Iterator[Callable[..., None]]:
    """As progress: once, when half of the work is done. Whoever started these tests may have ignored the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    pressed: list[bool] = []

    def press(*told: int | None) -> None:
        done, total = told[-3::2] if len(told) > 2 else told
        if done and total and done >= total / 2 and not pressed:
            pressed.append(True)
            os.kill(os.getpid(), signal.SIGINT)

    yield press
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def site(tmp_path: Path, places: Places) -> Site:
    return make_local_site(tmp_path / "root")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    make_files(tmp_path / "source")
    return tmp_path / "source"


def test_sending(source: Path, site: Site, tmp_path: Path, press_ctrl_c: Callable[..., None]) -> None:
    options = SendOptions(shard_bytes=SHARD, streams=1)
    with open_site(site) as session:
        with pytest.raises(Interrupted) as caught:
            send(session, site, source, "pets", options=options, progress=press_ctrl_c)
        send(session, site, source, "pets", options=options)

    assert caught.value.done == "what arrived whole stays; the same command goes on from there"
    assert len(read_set(tmp_path / "root/data/pets")) == 60


def test_getting(source: Path, site: Site, tmp_path: Path, press_ctrl_c: Callable[..., None]) -> None:
    with open_site(site) as session:
        send(session, site, source, "pets", options=SendOptions(shard_bytes=SHARD))
        with pytest.raises(Interrupted) as caught:
            get(session, site, "pets", tmp_path / "back", streams=1, progress=press_ctrl_c)
        get(session, site, "pets", tmp_path / "back")

    assert caught.value.done == "what came so far is kept; the same command goes on from there"
    assert len(read_set(tmp_path / "back")) == 60


def test_extracting(source: Path, tmp_path: Path, press_ctrl_c: Callable[..., None]) -> None:
    pack_here(source, tmp_path / "packed", PackOptions())
    with pytest.raises(Interrupted) as caught:
        extract_here(tmp_path / "packed", tmp_path / "plain", progress=press_ctrl_c)
    again = extract_here(tmp_path / "packed", tmp_path / "plain")

    assert "the same command goes on" in (caught.value.done or "")
    assert again.kept >= 30
    assert again.kept + again.files == 60


def test_converting(source: Path, tmp_path: Path, press_ctrl_c: Callable[..., None]) -> None:
    pack_here(source, tmp_path / "packed", PackOptions())
    with pytest.raises(Interrupted) as caught:
        convert(tmp_path / "packed", tmp_path / "made.zip", to="zip", progress=press_ctrl_c)

    assert caught.value.done == f"nothing was written: {tmp_path / 'made.zip'} is as it was"
    assert sorted(path.name for path in tmp_path.iterdir() if "made" in path.name) == []
