"""Snapshots of real projects: with git, without it, and what is left out."""

import hashlib
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.job.packed import write_packed
from windlass.core.snapshot import LeftOutReason
from windlass.edges.snapshot import Snapshot, take_snapshot
from windlass.errors import SnapshotError

PEM = "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n"


def git(folder: Path, *arguments: str) -> str:
    settings = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always")
    command = ["git", "-C", str(folder), *settings, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def write(folder: Path, *paths: str, text: str = "x\n") -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def make_repository(folder: Path, *paths: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    write(folder, *paths)
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "-m", "first", "--allow-empty")
    return folder


def names(snapshot: Snapshot) -> list[str]:
    return [file.path for file in snapshot.manifest.files]


def left_out(snapshot: Snapshot) -> dict[str, LeftOutReason]:
    return {one.path: one.reason for one in snapshot.left_out}


@pytest.fixture(params=["git", "no git"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return make_repository(folder) if request.param == "git" else folder


def test_a_snapshot_has_every_file_with_its_hash_and_mode(project: Path) -> None:
    write(project, "train.py", "pkg/model.py", text="import torch\n")
    (project / "train.py").chmod(0o775)

    snapshot = take_snapshot(project)

    assert names(snapshot) == ["pkg/model.py", "train.py"]
    model, train = snapshot.manifest.files
    assert (model.mode, train.mode) == (0o644, 0o755)
    assert train.sha256 == hashlib.sha256(b"import torch\n").hexdigest()
    assert snapshot.open_blob(train.sha256) == b"import torch\n"
    assert snapshot.total_bytes == 26
    assert snapshot.manifest.hashes == (train.sha256,)
    assert snapshot.notices == ()


def test_gitignore_is_honoured_at_every_depth(project: Path) -> None:
    write(project, "a.py", "a.log", "sub/keep.log", "sub/b.tmp", "data/x.bin", "sub/data/y")
    write(project, ".gitignore", text="*.log\n/data/\n")
    write(project, "sub/.gitignore", text="!keep.log\n*.tmp\n")

    assert names(take_snapshot(project)) == [".gitignore", "a.py", "sub/.gitignore", "sub/data/y", "sub/keep.log"]


def test_windlassignore_and_exclude_leave_out_and_include_brings_back(project: Path) -> None:
    write(project, "a.py", "big/x", "raw/y", "raw/keep", "ignored/z", "ignored/deep/w")
    write(project, ".gitignore", text="ignored\n")
    write(project, ".windlassignore", text="big/\n")

    snapshot = take_snapshot(project, exclude=["raw/**"], include=["raw/keep", "ignored/deep/*"])

    assert names(snapshot) == [".gitignore", ".windlassignore", "a.py", "ignored/deep/w", "raw/keep"]


def test_environments_and_caches_are_left_out(project: Path) -> None:
    write(project, "a.py", "__pycache__/a.pyc", "myenv/pyvenv.cfg", "myenv/lib/x.py", "node_modules/x.js")
    write(project, ".mypy_cache/x", "conda/conda-meta/history", "conda/bin/python", ".venv/bin/python")

    assert names(take_snapshot(project)) == ["a.py"]


def test_packed_data_sets_are_left_out_and_told_unless_they_are_read(project: Path) -> None:
    """nnU-Net's dataset.json makes no data set of ours."""
    write_packed(project / "packed" / "pets", {"a.txt": b"a", "b.txt": b"b"}, shards=1)
    write(project, "a.py", "nnunet/image.nii", "nnunet/dataset.json", text='{"labels": {}}')
    packed = [f"packed/pets/{name}" for name in ("dataset.json", "shard-00000.idx", "shard-00000.tar")]
    rest = ["a.py", "nnunet/dataset.json", "nnunet/image.nii"]

    snapshot = take_snapshot(project)

    assert names(snapshot) == rest
    assert left_out(snapshot) == {"packed/pets/": LeftOutReason.PACKED}
    (notice,) = snapshot.notices
    assert 'include = ["packed/pets/**"]' in notice
    assert names(take_snapshot(project, include=["packed/pets/**"])) == rest + packed
    assert take_snapshot(project, exclude=["packed/**"]).notices == ()
    for read in ("packed/pets", "./packed/pets/", "packed", packed[1]):
        assert names(take_snapshot(project, data=["", read])) == rest + packed
    assert names(take_snapshot(project, data=["pack", "set:pets"])) == rest


@pytest.mark.parametrize(
    ("code", "is_named"),
    [('Shards("packed/pets")', True), ("Shards(here / 'pets')", True), ("puppets = my_pets = 1", False)],
)
def test_packed_data_sets_whose_name_stands_in_the_code_come_along(project: Path, code: str, is_named: bool) -> None:
    write_packed(project / "packed" / "pets", {"a.txt": b"a"}, shards=1)
    write(project, "train.py", text=code)

    snapshot = take_snapshot(project)

    assert ("packed/pets/dataset.json" in names(snapshot)) is is_named
    assert bool(snapshot.notices) is not is_named


def test_secrets_are_left_out_and_told(project: Path) -> None:
    write(project, "a.py", ".env", "keys/server.pem")
    write(project, "notes.txt", text=PEM)

    snapshot = take_snapshot(project)

    assert names(snapshot) == ["a.py"]
    assert left_out(snapshot) == dict.fromkeys([".env", "keys/server.pem", "notes.txt"], LeftOutReason.SECRET)
    (notice,) = snapshot.notices
    assert "may hold secrets" in notice


def test_include_brings_secrets_back_by_name(project: Path) -> None:
    write(project, ".env", "keys/server.pem")
    write(project, "notes.txt", text=PEM)

    snapshot = take_snapshot(project, include=[".env", "notes.txt", "keys/"])

    assert names(snapshot) == [".env", "notes.txt"]
    assert list(left_out(snapshot)) == ["keys/server.pem"]


def test_links_inside_are_kept_and_links_to_outside_are_left_out(project: Path) -> None:
    outside = project.parent / "datasets"
    write(outside, "huge.bin")
    write(project, "pkg/a.py", "b.py")
    (project / "inside").symlink_to("pkg/a.py")
    (project / "folder").symlink_to("pkg")
    (project / "absolute").symlink_to(project / "b.py")
    (project / "pkg" / "up").symlink_to("../b.py")
    (project / "broken").symlink_to("missing")
    (project / "loop").symlink_to("loop")
    (project / "data").symlink_to(outside)
    (project / "sneaky").symlink_to("../datasets/huge.bin")
    (project / "chain").symlink_to("data/huge.bin")

    snapshot = take_snapshot(project)

    links = {file.path: file.link for file in snapshot.manifest.files if file.link}
    assert links == {
        "inside": "pkg/a.py",
        "folder": "pkg",
        "absolute": "b.py",
        "pkg/up": "../b.py",
        "broken": "missing",
        "loop": "loop",
    }
    assert left_out(snapshot) == dict.fromkeys(["chain", "data", "sneaky"], LeftOutReason.OUTSIDE)
    assert any(f"data (to {outside})" in notice for notice in snapshot.notices)


def test_include_follows_a_link_to_a_file_outside(project: Path) -> None:
    write(project.parent, "vocabulary.txt", text="words")
    (project / "vocabulary").symlink_to("../vocabulary.txt")

    snapshot = take_snapshot(project, include=["vocabulary"])

    (file,) = snapshot.manifest.files
    assert file.link is None
    assert snapshot.open_blob(str(file.sha256)) == b"words"


def test_an_include_without_a_match_is_told(project: Path) -> None:
    write(project, "a.py")

    assert take_snapshot(project, include=["a.py", "dta/x"]).notices == ('include: no file matches "dta/x"',)


def test_a_link_to_something_that_is_not_sent_is_told(project: Path) -> None:
    write(project, "outputs/7/log")
    write(project, ".gitignore", text="outputs/\n")
    (project / "latest").symlink_to("outputs/7")

    assert take_snapshot(project).notices == ("latest leads to outputs/7, which is not sent",)


@pytest.mark.parametrize(
    "name", ["new\nline", "quo'te\"s", "spa ce ", "-rf", "日本語.py", "é", "tab\t", "*", "#a", ":(top)"]
)
def test_strange_names_are_sent_as_they_are(project: Path, name: str) -> None:
    write(project, name, f"folder {name}/x")

    snapshot = take_snapshot(project)

    assert set(names(snapshot)) == {name, f"folder {name}/x"}
    assert all(notice.isprintable() for notice in snapshot.notices)


def test_a_name_that_is_not_utf8_is_left_out_and_told(project: Path) -> None:
    with open(os.fsencode(project) + b"/caf\xe9.txt", "wb") as file:
        file.write(b"x")
    (project / "link").symlink_to(os.fsdecode(b"caf\xe9.txt"))

    snapshot = take_snapshot(project)

    assert names(snapshot) == []
    assert set(left_out(snapshot).values()) == {LeftOutReason.NAME}
    assert "caf\\xe9.txt" in snapshot.notices[0]


def test_pipes_and_sockets_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.py")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)  # a socket's path may not be long
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")

        snapshot = take_snapshot(tmp_path)

    assert names(snapshot) == ["a.py"]
    assert left_out(snapshot) == dict.fromkeys(["pipe", "socket"], LeftOutReason.SPECIAL)


def test_what_this_command_prints_into_is_left_out(project: Path) -> None:
    write(project, "train.py")
    code = f"from windlass.edges.snapshot import *; print(take_snapshot(Path({str(project)!r})).notices, flush=True)"
    with open(project / "out.log", "w") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)

    assert "left out: out.log: is where this command prints" in (project / "out.log").read_text()


def test_too_large_a_project_is_refused_without_reading_it(project: Path) -> None:
    write(project, "train.py")
    (project / "data").mkdir()
    with open(project / "data" / "set.bin", "wb") as file:
        os.truncate(file.fileno(), 1 << 40)  # a hole: reading a terabyte would be noticed

    with pytest.raises(SnapshotError) as raised:
        take_snapshot(project)

    assert "data/set.bin" in raised.value.details[0]
    assert 'exclude = ["data/set.bin"]' in str(raised.value.hint)
    assert names(take_snapshot(project, exclude=["data/set.bin"])) == ["train.py"]


def test_too_many_files_are_refused(project: Path) -> None:
    write(project, *(f"frames/{n}.png" for n in range(30)), "train.py")

    with pytest.raises(SnapshotError, match="at most 20 files"):
        take_snapshot(project, max_files=20)


def test_a_project_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="is not a folder"):
        take_snapshot(tmp_path / "missing")


def test_an_empty_project_is_an_empty_snapshot(project: Path) -> None:
    assert names(take_snapshot(project)) == []


def test_sent_modes_are_only_two(project: Path) -> None:
    write(project, "a", "b")
    (project / "a").chmod(stat.S_ISUID | 0o700)
    (project / "b").chmod(0o400)

    assert [file.mode for file in take_snapshot(project).manifest.files] == [0o755, 0o644]


def test_the_same_files_have_the_same_digest(project: Path, tmp_path: Path) -> None:
    write(project, "a.py", "b/c.py")
    write(tmp_path / "copy", "a.py", "b/c.py")

    assert take_snapshot(project).manifest.digest == take_snapshot(tmp_path / "copy").manifest.digest


def test_a_deep_project_is_taken(project: Path) -> None:
    deep = "d/" * 1500 + "x.py"
    folder = os.open(project, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(os.open("x.py", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)

    snapshot = take_snapshot(project, exclude=["*.log"], include=["*.py"])

    assert deep in names(snapshot)
    subprocess.run(["rm", "-r", project / "d"], check=True)
