"""Long work on data sets where they lie: over a real sshd, by a process that outlives the connection."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.transfers import make_files, make_ssh_site, open_site, read_set
from tests.conftest import Places
from tests.edges.sshd import run_sshd
from tests.waiting import wait_until
from windlass.app.data.packing import PackOptions, pack_here, pack_there, try_packing, try_packing_there
from windlass.app.data.sampling import fetch_sample
from windlass.app.data.sets import find_set
from windlass.app.data.taking import Sampling, extract_here, extract_there, find_packed, verify_here, verify_there
from windlass.app.session import Session
from windlass.core.site import Site
from windlass.edges.site_work import SiteWork
from windlass.errors import DataDamaged, DataFailed, DataNotFound, UsageError

SMALL = PackOptions(shard_bytes=1 << 20)


@pytest.fixture
def site(tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with run_sshd(tmp_path / "sshd") as server:
        monkeypatch.setenv("WINDLASS_SSH_CONFIG", str(server.config))
        yield make_ssh_site(tmp_path / "root")


def flip(shard: Path, at: int) -> None:
    content = bytearray(shard.read_bytes())
    content[at] ^= 1
    shard.write_bytes(content)


def test_a_folder_at_the_site_is_packed_verified_sampled_and_extracted_there(site: Site, tmp_path: Path) -> None:
    made = make_files(tmp_path / "raw", count=20, size=100_000)
    with open_site(site) as session:
        packed = pack_there(session, site, str(tmp_path / "raw"), "pets", SMALL)
        again = pack_there(session, site, str(tmp_path / "raw"), "pets", SMALL)
        path = find_set(session, site, "pets").set.path
        whole = verify_there(session, site, path)
        few = fetch_sample(session, site, "pets", tmp_path / "few", Sampling(per_class=2))
        plain = extract_there(session, site, path, str(tmp_path / "plain"), ["cats/*"])

    assert read_set(tmp_path / "root" / "data" / "pets") == made
    assert (packed.files, packed.classes, packed.site) == (20, 2, "hpc")
    assert packed.shards > 1
    assert again.new_files == 0
    assert (whole.count, whole.files) == (0, 20)
    assert few.files == 4
    assert plain.files == 10
    assert len(list((tmp_path / "few").rglob("*.jpg"))) == 4
    for one in (tmp_path / "plain").rglob("*.jpg"):
        assert one.read_bytes() == made[f"{one.parent.name}/{one.name}".encode()]


def test_a_folder_without_a_place_at_the_site_is_refused_with_one(site: Site, tmp_path: Path) -> None:
    make_files(tmp_path / "raw", count=2, size=1000)
    with open_site(site) as session:
        path = pack_there(session, site, str(tmp_path / "raw"), "pets", SMALL).path
        with pytest.raises(UsageError, match="'out/plain' is no absolute folder at hpc") as relative:
            extract_there(session, site, path, "out/plain")
        with pytest.raises(DataFailed, match="is a variable in it not set") as unset:
            extract_there(session, site, path, "$NO_SUCH_SCRATCH/plain")
        plain = relative.value.hint.splitlines()[0].split()[4] if relative.value.hint else ""
        done = extract_there(session, site, path, plain)

    assert f"windlass data get {path} out/plain --extract --on hpc" in (relative.value.hint or "")
    assert (relative.value.done, unset.value.done) == ("nothing was written", "nothing was changed")
    assert (done.path, done.files) == (str(tmp_path / "plain"), 2)


def test_what_was_sent_in_part_is_told_as_such(site: Site, tmp_path: Path) -> None:
    half = tmp_path / "root" / "data" / "half"
    half.mkdir(parents=True)
    with open_site(site) as session:
        with pytest.raises(DataNotFound, match="half is not whole at hpc") as by_name:
            find_packed(session, site, "half")
        with pytest.raises(DataDamaged, match="no packed data set") as read:
            verify_there(session, site, str(half))
        with pytest.raises(DataDamaged) as taken:
            extract_there(session, site, str(half), str(tmp_path / "plain"))

    assert "windlass data send SOURCE --name half --on hpc" in (by_name.value.hint or "")
    assert [one.value.done for one in (by_name, read)] == ["nothing was changed"] * 2
    assert taken.value.done == "the data set is as it was"


def test_long_work_is_done_on_the_transfer_node_where_it_sees_the_root(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_files(tmp_path / "raw", count=4, size=1000)
    with run_sshd(tmp_path / "other") as other:
        extra = other.config.read_text().replace("Host site gate", "Host data-mover")
        config = Path(os.environ["WINDLASS_SSH_CONFIG"])
        config.write_text(config.read_text() + extra)
        there = replace(site, login=replace(site.login, transfer_host="data-mover"))
        with open_site(there) as session:
            pack_there(session, there, str(tmp_path / "raw"), "pets", SMALL)
            logins = other.count_logins()
            hops = replace(there, login=replace(there.login, transfer_root="/landing"))

            assert session.transfer_host(hops) is session.host(hops)

    assert logins == 1
    assert len(read_set(tmp_path / "root" / "data" / "pets")) == 4


def test_a_flipped_bit_at_the_site_is_named(site: Site, tmp_path: Path) -> None:
    make_files(tmp_path / "raw", count=6, size=1000)
    there = tmp_path / "root" / "data" / "pets"
    with open_site(site) as session:
        pack_there(session, site, str(tmp_path / "raw"), "pets", SMALL)
        flip(there / "shard-00000.tar", 600)
        found = verify_there(session, site, str(there))

    (damage,) = found.damages
    assert (damage.shard, damage.name) == ("shard-00000.tar", "cats/0001.jpg")


def test_what_cannot_be_done_at_the_site_is_told_in_words(site: Site, tmp_path: Path) -> None:
    with open_site(site) as session:
        with pytest.raises((DataNotFound, DataFailed), match="nowhere"):
            pack_there(session, site, str(tmp_path / "nowhere"), "pets", SMALL)
        with pytest.raises((DataNotFound, DataDamaged), match="is no packed data set"):
            verify_there(session, site, str(tmp_path))


@pytest.fixture
def pipes(tmp_path: Path) -> tuple[Path, Path]:
    """A data set of three shards and more, and pipes in place of two indexes: who verifies it waits in both."""
    make_files(tmp_path / "raw", count=40, size=100_000)
    pets = tmp_path / "root" / "data" / "pets"
    assert pack_here(tmp_path / "raw", pets, SMALL).shards > 2
    found = (pets / "shard-00000.idx", pets / "shard-00001.idx")
    for path in found:
        path.rename(path.with_suffix(".kept"))
        os.mkfifo(path)
    return found


def open_pipes(pipes: tuple[Path, Path]) -> None:
    """Whoever waits reads what is no index, and goes on; whoever comes later finds the indexes."""
    for path in pipes:
        path.write_bytes(b"no index")
        path.with_suffix(".kept").rename(path)


def make_work(session: Session, site: Site) -> SiteWork:
    request = {"verb": "verify", "path": f"{site.root}/data/pets"}
    return SiteWork(session.host(site), site, site.root, request)


def test_the_same_work_asked_for_twice_is_done_once(site: Site, pipes: tuple[Path, Path]) -> None:
    with open_site(site) as session:
        first, second = make_work(session, site), make_work(session, site)

        words = (first.start(), second.start())
        open_pipes(pipes)
        *_, last = second.follow()

    assert words == ("started", "running")
    assert [one["shard"] for one in (last.result or {})["damages"]] == ["shard-00000.tar", "shard-00001.tar"]


def test_work_that_is_stopped_says_so_and_can_be_gone_on_with(site: Site, pipes: tuple[Path, Path]) -> None:
    with open_site(site) as session:
        work = make_work(session, site)
        work.start()
        work.stop()
        open_pipes(pipes)
        *_, stopped = work.follow()
        word = work.start()
        *_, last = work.follow()

    assert (stopped.result or {})["kind"] == "stopped"
    assert word == "started"
    assert ((last.result or {})["ok"], (last.result or {})["count"]) == (True, 0)


def test_work_that_was_killed_is_started_again(site: Site, pipes: tuple[Path, Path]) -> None:
    with open_site(site) as session:
        work = make_work(session, site)
        work.start()
        os.kill(find_worker(work.folder), signal.SIGKILL)
        for path in pipes:
            path.with_suffix(".kept").rename(path)
        *_, last = work.follow(silent_looks=2)

    assert ((last.result or {})["ok"], (last.result or {})["count"]) == (True, 0)


def find_worker(folder: str) -> int:
    """Its process, by its command line."""
    for path in Path("/proc").iterdir():
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if path.name.isdigit() and folder.encode() in words:
            return int(path.name)
    raise AssertionError(f"nobody works in {folder}")


def test_work_goes_on_when_the_connection_is_gone(site: Site, tmp_path: Path) -> None:
    make_files(tmp_path / "raw", count=4, size=1000)
    settings = {"name": "pets", "shard_bytes": 1 << 20}
    target = f"{site.root}/data/pets"
    request = {"verb": "pack", "source": str(tmp_path / "raw"), "target": target, "settings": settings}
    with open_site(site) as session:
        work = SiteWork(session.host(site), site, site.root, request)
        assert work.start() == "started"

    result = Path(work.folder) / "result.json"
    wait_until(result.is_file, "the work to end")

    assert json.loads(result.read_text())["files"] == 4
    assert len(read_set(Path(target))) == 4


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    make_files(tmp_path / "raw", count=6, size=1000)
    (tmp_path / "raw" / "broken").symlink_to("nowhere")

    trial = try_packing(tmp_path / "raw", PackOptions())

    assert (trial.files, trial.shards, trial.classes) == (6, 1, 2)
    assert any("link that leads nowhere" in line for line in trial.told)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raw"]


def test_a_dry_run_at_a_site_counts_what_lies_there(site: Site, tmp_path: Path) -> None:
    make_files(tmp_path / "raw", count=6, size=1000)
    (tmp_path / "raw" / "broken").symlink_to("nowhere")
    (tmp_path / "labels.csv").write_text("path,label\ncats/0001.jpg,young\ndogs/0000.jpg,old\n")
    labelled = PackOptions(labels=str(tmp_path / "labels.csv"))

    with open_site(site) as session:
        trial = try_packing_there(session, site, str(tmp_path / "raw"), PackOptions())
        by_table = try_packing_there(session, site, str(tmp_path / "raw"), labelled)
        with pytest.raises(DataFailed, match="nowhere is not there") as caught:
            try_packing_there(session, site, str(tmp_path / "nowhere"), PackOptions())

    assert trial == try_packing(tmp_path / "raw", PackOptions())
    assert by_table == try_packing(tmp_path / "raw", labelled)
    assert caught.value.done == "nothing was written"
    assert not (tmp_path / "root" / "data").exists()


def test_packing_does_not_write_into_strange_folders(tmp_path: Path) -> None:
    make_files(tmp_path / "raw", count=2, size=10)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years")
    for target in ("mine", "raw", "raw/packed", "mine/thesis.txt"):
        with pytest.raises(UsageError):
            pack_here(tmp_path / "raw", tmp_path / target, PackOptions())

    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years"
    assert sorted(path.name for path in (tmp_path / "raw").iterdir()) == ["cats", "dogs"]


def test_packed_again_only_what_changed_is_added(tmp_path: Path) -> None:
    make_files(tmp_path / "raw", count=10, size=1000)
    pack_here(tmp_path / "raw", tmp_path / "packed", PackOptions())
    (tmp_path / "raw" / "cats" / "0001.jpg").write_bytes(b"another")
    (tmp_path / "raw" / "dogs" / "0002.jpg").unlink()

    packed = pack_here(tmp_path / "raw", tmp_path / "packed", PackOptions())

    assert (packed.files, packed.new_files, packed.dead_files) == (9, 1, 2)
    assert read_set(tmp_path / "packed")[b"cats/0001.jpg"] == b"another"


def test_anew_mends_what_was_damaged(tmp_path: Path) -> None:
    made = make_files(tmp_path / "raw", count=4, size=1000)
    pack_here(tmp_path / "raw", tmp_path / "packed", PackOptions())
    flip(tmp_path / "packed" / "shard-00000.tar", 600)
    assert verify_here(tmp_path / "packed").count == 1

    pack_here(tmp_path / "raw", tmp_path / "packed", PackOptions(anew=True))

    assert verify_here(tmp_path / "packed").count == 0
    assert read_set(tmp_path / "packed") == made


def test_extracted_again_only_what_lacks_is_written(tmp_path: Path) -> None:
    made = make_files(tmp_path / "raw", count=4, size=1000)
    pack_here(tmp_path / "raw", tmp_path / "packed", PackOptions())
    extract_here(tmp_path / "packed", tmp_path / "out")
    (tmp_path / "out" / "cats" / "0001.jpg").unlink()

    done = extract_here(tmp_path / "packed", tmp_path / "out")

    assert (done.files, done.kept) == (1, 3)
    assert (tmp_path / "out" / "cats" / "0001.jpg").read_bytes() == made[b"cats/0001.jpg"]
