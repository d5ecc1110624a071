"""What goes wrong while data moves: leftovers of others, damage on the way, processes that hang, data in use."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from tests.app.transfers import SHARD, list_visible, make_files, make_local_site, open_site, read_set
from tests.conftest import Places
from windlass.app.data.getting import get
from windlass.app.data.sending import SendOptions, send
from windlass.app.data.taking import verify_there
from windlass.core.site import Site
from windlass.edges.bundle import BOOTSTRAP, PYTHON_FLAGS
from windlass.edges.channel import ChannelClosed
from windlass.edges.data_stream import DataStream
from windlass.edges.folders import find_folders
from windlass.edges.run_lock import HeldAlready, hold_run
from windlass.edges.site_files import add_site
from windlass.edges.site_work import SiteWork
from windlass.errors import DataFailed, DataInUse, UsageError
from windlass_job.moving.giving import land
from windlass_job.moving.receiving import Receiving
from windlass_job.shards.packing import Settings, plan_packing
from windlass_job.shards.sources import choose_source

SMALL = SendOptions(shard_bytes=SHARD)


@pytest.fixture
def site(tmp_path: Path, places: Places) -> Site:
    return make_local_site(tmp_path / "root")


@pytest.fixture
def there(tmp_path: Path) -> Path:
    return tmp_path / "root/data/pets"


# ---- what comes from a site


def test_shards_of_another_packing_are_not_taken_for_the_new_ones(site: Site, there: Path, tmp_path: Path) -> None:
    """Same names, same sizes, same times: the bytes tell."""
    with open_site(site) as session:
        make_files(tmp_path / "source")
        send(session, site, tmp_path / "source", "pets", options=SMALL)
        get(session, site, "pets", tmp_path / "back")
        times = {path.name: path.stat().st_mtime_ns for path in there.iterdir()}
        shutil.rmtree(there)
        made = make_files(tmp_path / "source", seed=2)
        send(session, site, tmp_path / "source", "pets", options=SMALL)
        for path in there.iterdir():
            os.utime(path, ns=(times[path.name], times[path.name]))
        get(session, site, "pets", tmp_path / "back")

    assert read_set(tmp_path / "back") == made


def test_what_cannot_be_extracted_is_told_and_stays_packed(site: Site, tmp_path: Path) -> None:
    with open_site(site) as session:
        made = make_files(tmp_path / "source")
        send(session, site, tmp_path / "source", "pets", options=SMALL)
        (tmp_path / "back/cats/0001.jpg/mine").mkdir(parents=True)
        with pytest.raises(DataFailed, match="not all files"):
            get(session, site, "pets", tmp_path / "back", extract=True, force=True)

    assert read_set(tmp_path / ".back.windlass-get") == made
    assert (tmp_path / "back/cats/0003.jpg").read_bytes() == made[b"cats/0003.jpg"]


def test_copies_at_a_landing_place_are_of_this_version_and_for_us_alone(tmp_path: Path) -> None:
    """Files of one name and size in two folders, and one that changed since."""
    landing = tmp_path / "windlass-landing-get"
    for folder, content in (("a", b"first"), ("b", b"other")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x").write_bytes(content)

    first = land(str(tmp_path / "a"), "x", bytes(landing))
    other = land(str(tmp_path / "b"), "x", bytes(landing))
    (tmp_path / "a/x").write_bytes(b"third")
    os.utime(tmp_path / "a/x", ns=(5, 5))
    third = land(str(tmp_path / "a"), "x", bytes(landing))

    copies = [Path(os.fsdecode(one)) / "x" for one in (first, other, third)]
    assert [one.read_bytes() for one in copies] == [b"first", b"other", b"third"]
    assert {one.stat().st_mode & 0o777 for one in copies} == {0o600}
    assert landing.stat().st_mode & 0o777 == 0o700


def test_a_file_keeps_its_ending(tmp_path: Path, places: Places) -> None:
    add_site("mine", f'root = "{tmp_path}/root"\n', find_folders(os.environ))
    (tmp_path / "labels.csv").write_text("path,label\n")
    (tmp_path / "here").mkdir()

    argv = [sys.executable, "-m", "windlass", "data", "get", str(tmp_path / "labels.csv"), "--on", "mine"]
    subprocess.run(argv, cwd=tmp_path / "here", check=True)

    assert list_visible(tmp_path / "here") == {"labels.csv"}


# ---- what goes to a site


def test_a_compressed_archive_is_read_anew_when_a_part_of_it_must_be_sent_again(
    site: Site, there: Path, tmp_path: Path
) -> None:
    made = make_files(tmp_path / "source")
    with tarfile.open(tmp_path / "pets.tar.gz", "w:gz", compresslevel=1) as archive:
        archive.add(tmp_path / "source", arcname=".")
    packing = plan_packing(choose_source(bytes(tmp_path / "pets.tar.gz")), Settings(name="pets", shard_bytes=SHARD))
    (there / ".sending").mkdir(parents=True)
    for shard in packing.shards[1:3]:
        (there / ".sending" / f"{packing.identify(shard)}.part").write_bytes(b"damaged")

    with open_site(site) as session:
        sent = send(session, site, tmp_path / "pets.tar.gz", "pets", options=SMALL)

    assert read_set(there) == made
    assert sent.files == len(made)


def test_whoever_cleans_up_leaves_what_is_the_next_senders(tmp_path: Path) -> None:
    cut_off, taking_over = Receiving(bytes(tmp_path), "one"), Receiving(bytes(tmp_path), "two")
    cut_off.begin("laptop")
    taking_over.begin("laptop")
    part = tmp_path / ".sending" / ("0" * 16 + ".part")
    part.write_bytes(b"on its way")

    cut_off.clean_up()
    assert part.read_bytes() == b"on its way"
    taking_over.check_ours()

    taking_over.clean_up()
    assert list(tmp_path.iterdir()) == []


def test_a_set_whose_card_is_damaged_is_sent_anew(site: Site, there: Path, tmp_path: Path) -> None:
    with open_site(site) as session:
        make_files(tmp_path / "source")
        send(session, site, tmp_path / "source", "pets", options=SMALL)
        (there / "dataset.json").write_text("{}")
        (there / "mine.tar").write_bytes(b"mine")
        shutil.rmtree(tmp_path / "source")
        made = make_files(tmp_path / "source", count=20, seed=2)
        sent = send(session, site, tmp_path / "source", "pets", options=SendOptions(shard_bytes=SHARD, anew=True))

    assert read_set(there) == made
    assert len(list_visible(there)) == 1 + 2 * sent.shards + 1
    assert (there / "mine.tar").read_bytes() == b"mine"


def test_shards_that_a_run_reads_are_not_removed(site: Site, there: Path, tmp_path: Path) -> None:
    made = make_files(tmp_path / "source")
    anew = SendOptions(shard_bytes=SHARD, anew=True)
    run = tmp_path / "root/runs/digits-1"
    with open_site(site) as session:
        send(session, site, tmp_path / "source", "pets", options=SMALL)
        run.mkdir(parents=True)
        (run / "plan.json").write_text(json.dumps({"data": {"pets": {"source": "set:pets"}}}))
        (run / "status.json").write_text('{"state": "running"}')
        with pytest.raises(DataInUse, match="digits-1"):
            send(session, site, tmp_path / "source", "pets", options=anew)
        assert read_set(there) == made

        (run / "status.json").write_text('{"state": "done"}')
        send(session, site, tmp_path / "source", "pets", options=anew)

    assert read_set(there) == made


def test_a_name_that_the_site_would_refuse_is_refused_here(site: Site, tmp_path: Path) -> None:
    make_files(tmp_path / "source", count=1)

    with open_site(site) as session, pytest.raises(UsageError, match="no name for a data set"):
        send(session, site, tmp_path / "source", "pets.json")


def test_who_comes_second_is_refused_at_once(tmp_path: Path) -> None:
    with hold_run(tmp_path, "pets", waits=False), pytest.raises(HeldAlready), hold_run(tmp_path, "pets", waits=False):
        pass

    with hold_run(tmp_path, "pets", waits=False):
        assert (tmp_path / "pets.lock").exists()


@pytest.mark.parametrize("size", [0, 64 << 20], ids=["asked", "writing"])
def test_a_porter_that_hangs_is_given_up(size: int) -> None:
    """Its process is there, its connection too."""
    stream = DataStream([sys.executable, *PYTHON_FLAGS, "-c", BOOTSTRAP], patience_s=1)
    try:
        stream.call("ping")
        os.kill(int(stream.hello["pid"]), signal.SIGSTOP)
        with pytest.raises(ChannelClosed) as caught:
            stream.call("probe", bytes(size))
    finally:
        os.kill(int(stream.hello["pid"]), signal.SIGKILL)
        stream.close()

    assert caught.value.reason == "silent"


# ---- long work at a site


def test_work_that_tells_the_same_again_is_not_begun_a_second_time(site: Site, tmp_path: Path) -> None:
    with open_site(site) as session:
        work = SiteWork(session.host(site), site, str(tmp_path / "root"), {"verb": "verify", "path": "/nowhere"})
        folder = Path(work.folder)
        folder.mkdir(parents=True)
        looks = iter(range(1, 8))

        def advance(_: float) -> None:
            number = next(looks)
            (folder / "progress.json").write_text(json.dumps({"done": [5, 10], "time": number}))
            if number == 7:
                (folder / "result.json").write_text('{"ok": true}')

        *_, last = work.follow(sleep=advance, silent_looks=2)

    assert last.result == {"ok": True}
    assert not (folder / "request.json").exists()


def test_samples_of_other_days_are_removed_at_the_site(site: Site, there: Path, tmp_path: Path) -> None:
    make_files(tmp_path / "source", count=2)
    samples = tmp_path / "root/work/samples"
    for name in ("old", "new"):
        (samples / name).mkdir(parents=True)
        (samples / name / "shard-00000.tar").write_bytes(b"some")
    os.utime(samples / "old", (time.time() - 100_000,) * 2)

    with open_site(site) as session:
        send(session, site, tmp_path / "source", "pets")
        verify_there(session, site, str(there))

    assert [path.name for path in samples.iterdir()] == ["new"]
