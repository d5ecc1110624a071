"""New code over the files of a run: whole, never through a link, and with signs of life."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.job.deputy_requests import CODE, make_run
from windlass.edges.host import Host, Json, Reply, Request
from windlass.edges.local_host import LocalHost
from windlass_job.deputy import Call
from windlass_job.deputy_files import hash_files
from windlass_job.deputy_folders import remove_run

NEW = b"print('new')\n"
DIFF = b"- old\n+ new\n"


@pytest.fixture
def host() -> Iterator[Host]:
    local = LocalHost()
    yield local
    local.close()


@pytest.fixture
def run(tmp_path: Path, host: Host) -> Path:
    assert host.ask([make_run(tmp_path)])[0].ok
    return tmp_path / "runs" / "a-11111"


def test_files_and_links_are_put_over_what_is_there(host: Host, run: Path) -> None:
    (run / "code" / "result.pt").write_text("kept")
    (run / "code" / "latest").symlink_to("old")

    files = [make_file("new/train.py", mode=0o755), make_link("latest", "new"), make_link("deep/data", "/scratch/data")]
    first, second = (update(host, run, *files) for _ in range(2))

    assert sorted(first.values["changed"]) == ["deep/data", "latest", "new/train.py"]
    assert second.values["changed"] == []
    assert (run / "code" / "new" / "train.py").read_bytes() == NEW
    assert os.access(run / "code" / "new" / "train.py", os.X_OK)
    assert [str((run / "code" / name).readlink()) for name in ("latest", "deep/data")] == ["new", "/scratch/data"]
    assert [(run / "code" / name).read_bytes() for name in ("é.py", "result.pt")] == [CODE, b"kept"]
    assert json.loads((run / "snapshot.json").read_text()) == {"files": files}


def test_a_file_that_may_now_be_run_is_changed(host: Host, run: Path) -> None:
    update(host, run, make_file("go", mode=0o644))

    assert update(host, run, make_file("go", mode=0o755)).values["changed"] == ["go"]
    assert os.access(run / "code" / "go", os.X_OK)


def test_a_link_that_stands_where_a_file_comes_is_replaced_and_its_target_left(
    host: Host, run: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text("mine")
    (run / "code" / "a.py").symlink_to(tmp_path / "mine")

    assert update(host, run, make_file("a.py")).ok
    assert not (run / "code" / "a.py").is_symlink()
    assert (tmp_path / "mine").read_text() == "mine"


@pytest.mark.parametrize("target", ["outside", "not-there"])
def test_nothing_is_written_through_a_link_out_of_the_run(host: Host, run: Path, tmp_path: Path, target: str) -> None:
    (tmp_path / "outside").mkdir()
    (run / "code" / "data").symlink_to(tmp_path / target)

    file, link = (update(host, run, make_file("b.py"), one) for one in (make_file("data/a"), make_link("data/a", "b")))

    assert not file.ok
    assert not link.ok
    assert "by a link" in file.problem
    assert sorted(path.name for path in (run / "code").iterdir()) == ["data", "é.py"], "and nothing else was written"
    assert list((tmp_path / "outside").iterdir()) == []
    assert not (tmp_path / "not-there").exists()


def test_a_link_within_the_code_may_be_followed(host: Host, run: Path) -> None:
    (run / "code" / "real").mkdir()
    (run / "code" / "alias").symlink_to("real")

    assert update(host, run, make_file("alias/a.py")).ok
    assert (run / "code" / "real" / "a.py").read_bytes() == NEW


def test_a_folder_is_not_replaced(host: Host, run: Path) -> None:
    (run / "code" / "results").mkdir()

    for one in (make_file("results"), make_link("results", "x")):
        assert "is a folder at the site" in update(host, run, one).problem


def test_papers_are_written_beside_the_code(host: Host, run: Path) -> None:
    papers = {"changes.diff": DIFF, "snapshot.json": b'{"of": "the laptop"}'}

    assert update(host, run, make_file("a.py"), papers=papers).ok
    assert {name: (run / name).read_bytes() for name in papers} == papers


def test_papers_stay_in_the_run_folder(host: Host, run: Path, tmp_path: Path) -> None:
    (run / "out").symlink_to(tmp_path)

    assert not update(host, run, papers={"../x": b""}).ok
    assert not update(host, run, papers={"out/x": b""}).ok
    assert not (tmp_path / "x").exists()


def test_only_a_run_is_updated(host: Host, tmp_path: Path) -> None:
    (tmp_path / "runs" / "a-11111").mkdir(parents=True)

    assert update(host, tmp_path / "runs" / "a-11111").kind == "not-found"


def test_signs_of_life_come_while_much_is_hashed_and_removed(run: Path, tmp_path: Path) -> None:
    (run / "code" / "large").write_bytes(bytes(5 << 20))
    (run / "code" / "many").mkdir()
    (run / "code" / "many" / "outside").symlink_to(tmp_path)
    for number in range(100):
        (run / "code" / "many" / str(number)).touch()
    beats: list[str] = []
    hashing: Json = {"folder": str(run / "code"), "paths": ["large"], "sizes": [4 << 20]}
    removing: Json = {"root": str(tmp_path), "run_id": run.name}

    hash_files(Call(hashing, b"", lambda: beats.append("hash")))
    remove_run(Call(removing, b"", lambda: beats.append("remove")))

    assert beats.count("hash") >= 4
    assert beats.count("remove") >= 100
    assert list((tmp_path / "runs").iterdir()) == []
    assert tmp_path.is_dir()


def update(host: Host, run: Path, *files: Json, papers: dict[str, bytes] | None = None) -> Reply:
    papers = papers or {}
    arguments: Json = {
        "root": str(run.parent.parent),
        "run_id": run.name,
        "manifest": {"files": list(files)},
        "blobs": [{"sha256": hashlib.sha256(NEW).hexdigest(), "bytes": len(NEW)}],
        "files": [{"path": path, "bytes": len(content), "mode": 0o644} for path, content in papers.items()],
    }
    payload = NEW + b"".join(papers.values())
    return host.ask([Request(operation="update_code", arguments=arguments, payload=payload)])[0]


def make_file(path: str, *, mode: int = 0o644) -> Json:
    return {"path": path, "sha256": hashlib.sha256(NEW).hexdigest(), "mode": mode, "link": None}


def make_link(path: str, target: str) -> Json:
    return {"path": path, "sha256": None, "mode": 0o777, "link": target}
