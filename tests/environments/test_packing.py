"""An environment as one file: packed, unpacked elsewhere, entered there; and files that somebody made up or broke."""

import io
import json
import os
import shutil
import stat
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.environments.packed_envs import ENV_ID, copy_environment, make_environment, pack, put_in_place
from windlass_job import disk
from windlass_job.relocating import Finder, Found, replace_binary, replace_in_value, replace_text
from windlass_job.staging.env_unpacking import Refused, Unpacked, unpack_environment


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its root."""
    root = tmp_path_factory.mktemp("site")
    make_environment(root)
    return root


@pytest.fixture
def root(built: Path, tmp_path: Path) -> Path:
    """To be changed."""
    copy_environment(built, tmp_path / "site")
    return tmp_path / "site"


def unpack(path: Path, target: Path) -> Unpacked:
    with path.open("rb", buffering=0) as file:
        return unpack_environment(file.readinto, os.fsencode(target), lambda: None)


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def run(*argv: str | Path) -> str:
    return subprocess.run([*argv], check=True, capture_output=True, text=True).stdout


def test_a_packed_environment_works_elsewhere_without_the_folder_it_was_built_in(tmp_path: Path) -> None:
    root = tmp_path / "site"
    make_environment(root)
    card = pack(root)
    shutil.move(root / "envs" / ENV_ID / "build-1", tmp_path / "gone")

    done = unpack(Path(card["packed"]), tmp_path / "node")

    home = tmp_path / "node"
    assert done.files == card["files"] + 1
    said = run(home / "bin" / "greet")
    assert f"hello from {home}/lib/" in said
    assert f"in {home}\n" in said
    entered = run("bash", "-c", 'source "$1/bin/activate" && echo "$VIRTUAL_ENV" && command -v python', "-", home)
    assert entered.split() == [str(home), f"{home}/bin/python"]
    assert _find(home, str(root / "envs" / ENV_ID / "build-1")) == []


def _find(folder: Path, text: str) -> list[str]:
    found = subprocess.run(
        ["grep", "-rlI", "--exclude=.windlass-env.json", text, folder], check=False, capture_output=True, text=True
    )
    return found.stdout.split()


def test_nothing_is_compiled_again_on_the_node(built: Path, tmp_path: Path) -> None:
    card = pack(built)
    unpack(Path(card["packed"]), tmp_path / "node")
    cached = list((tmp_path / "node").rglob("greet/__pycache__/*.pyc"))
    before = [path.stat().st_mtime_ns for path in cached]

    said = subprocess.run(
        [tmp_path / "node" / "bin" / "python", "-v", "-c", "import greet"], capture_output=True, text=True, check=True
    ).stderr

    assert cached
    assert f"{cached[0]} matches" in said
    assert [path.stat().st_mtime_ns for path in cached] == before


def test_modules_without_bytecode_are_compiled_once_where_it_is_packed(root: Path) -> None:
    prefix = root / "envs" / ENV_ID / "build-1"
    for folder in prefix.rglob("__pycache__"):
        shutil.rmtree(folder)

    pack(root)

    assert list(prefix.rglob("greet/__pycache__/*.pyc"))


def test_the_same_folder_gives_the_same_bytes_and_tar_reads_them(built: Path) -> None:
    first = pack(built, again=True)
    content = Path(first["packed"]).read_bytes()

    second = pack(built, again=True)

    assert Path(second["packed"]).read_bytes() == content
    assert first["crc32"] == second["crc32"]
    with tarfile.open(first["packed"]) as archive:
        members = archive.getmembers()
    assert len(members) == first["files"] + 1
    assert members[-1].name == ".windlass-env.json"


def test_what_was_packed_since_it_was_built_is_not_packed_again(root: Path) -> None:
    first = pack(root)
    again = pack(root)
    shutil.copytree(root / "envs" / ENV_ID / "build-1", root / "envs" / ENV_ID / "build-2", symlinks=True)
    put_in_place(root / "envs" / ENV_ID / "build-2")
    anew = pack(root)

    assert (first["is_new"], again["is_new"], anew["is_new"]) == (True, False, True)
    assert json.loads((root / "envs" / ENV_ID / "env.json").read_text())["packed"] == first["packed"]
    assert anew["path"].endswith("build-2")


def test_links_modes_and_long_names_are_kept(root: Path, tmp_path: Path) -> None:
    prefix = root / "envs" / ENV_ID / "build-1"
    deep = prefix / "share" / ("d" * 90) / ("é" * 60)
    deep.mkdir(parents=True)
    (deep / ("x" * 120)).write_text("long")
    (deep / "tool").write_bytes(b"#!/bin/sh\n")
    (deep / "tool").chmod(0o550)
    os.link(deep / "tool", deep / "tool-2")
    (prefix / "share" / "far").symlink_to(deep / ("x" * 120))
    (prefix / "share" / "out").symlink_to("/nowhere/at/all")
    (prefix / "share" / "closed").mkdir(mode=0o500)
    os.mkfifo(prefix / "share" / "pipe")

    card = pack(root)
    unpack(Path(card["packed"]), tmp_path / "node")

    there = tmp_path / "node" / deep.relative_to(prefix)
    assert (tmp_path / "node" / "share" / "far").resolve() == there / ("x" * 120)
    assert (tmp_path / "node" / "share" / "far").read_text() == "long"
    assert str((tmp_path / "node" / "share" / "out").readlink()) == "/nowhere/at/all"
    assert stat.S_IMODE((there / "tool").stat().st_mode) == 0o750  # our own files stay writable for us
    assert (there / "tool").samefile(there / "tool-2")
    assert any("share/pipe" in line for line in card["told"])
    assert not (tmp_path / "node" / "share" / "pipe").exists()


def test_what_the_nodes_still_read_from_elsewhere_is_told(root: Path) -> None:
    site_packages = next((root / "envs" / ENV_ID / "build-1").glob("lib/python3*/site-packages"))
    (site_packages / "mine.pth").write_text("/home/me/mine/src\nimport os\n")
    about = {"url": "file:///home/me/other", "dir_info": {"editable": True}}
    (site_packages / "greet-1.0.dist-info" / "direct_url.json").write_text(json.dumps(about))

    told = "\n".join(pack(root)["told"])

    assert "/home/me/mine/src is read where it lies" in told
    assert "greet is an editable install of file:///home/me/other" in told


def test_a_disk_that_is_full_leaves_the_old_file_as_it_was(root: Path, tmp_path: Path) -> None:
    card = pack(root)
    content = Path(card["packed"]).read_bytes()
    with (root / "envs" / ENV_ID / "build-1" / "huge").open("wb") as file:
        file.truncate(10**13)

    with pytest.raises(disk.Refused, match=r"the packed environment needs .* MB, and .* has .* MB free") as refused:
        pack(root, again=True)

    assert refused.value.kind == "no-space"
    assert Path(card["packed"]).read_bytes() == content
    assert list_names(root / "envs" / ENV_ID) == ["build-1", "current", "env.json", "env.tar", "env.tar.json"]


def test_stopped_in_the_middle_nothing_is_left(root: Path) -> None:
    def stop(done: int, total: int, words: str = "") -> None:
        if total:
            raise KeyboardInterrupt

    from windlass_job.working.env_packing import VERBS

    with pytest.raises(KeyboardInterrupt):
        VERBS["pack-env"]({"root": str(root), "id": ENV_ID}, stop)

    assert list_names(root / "envs" / ENV_ID) == ["build-1", "current", "env.json"]


# ---- made up by somebody else ----------------------------------------------------------------------------------------

TABLE = json.dumps({"version": 1, "prefixes": ["/old"], "files": []}).encode()


def make_tar(path: Path, *members: tuple[str, bytes | None, str], table: bytes = TABLE) -> Path:
    """Each member: name, content (None: no file), and where it links to (hard: with a leading =)."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content, link in (*members, (".windlass-env.json", table, "")):
            info = tarfile.TarInfo(name)
            info.size = len(content or b"")
            if content is None:
                info.type = tarfile.LNKTYPE if link.startswith("=") else tarfile.SYMTYPE if link else tarfile.DIRTYPE
                info.linkname = link.removeprefix("=")
            archive.addfile(info, io.BytesIO(content) if content is not None else None)
    return path


@pytest.mark.parametrize(
    "members",
    [
        [("../out", b"x", "")],
        [("/OUTSIDE/out", b"x", "")],
        [("a", None, ""), ("a/../../out", b"x", "")],
        [("a", None, "OUTSIDE"), ("a/out", b"x", "")],
        [("out", None, "OUTSIDE/out"), ("out", b"x", "")],
        [("a", None, "OUTSIDE"), ("a", None, ""), ("a/out", b"x", "")],
        [("h", None, "=OUTSIDE/secret")],
        [("h", None, "=../outside/secret")],
        [("..", None, "")],
        [("a//b", b"x", "")],
    ],
)
def test_no_name_and_no_link_leads_out_of_the_target(
    tmp_path: Path, members: list[tuple[str, bytes | None, str]]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s")
    filled = [
        (name.replace("/OUTSIDE", str(outside)), data, link.replace("OUTSIDE", str(outside)))
        for name, data, link in members
    ]
    path = make_tar(tmp_path / "hostile.tar", *filled)

    with pytest.raises((Refused, FileExistsError)):
        unpack(path, tmp_path / "node")

    assert list_names(outside) == ["secret"]
    assert list_names(tmp_path) == ["hostile.tar", "node", "outside"]


@pytest.mark.parametrize("named", ["../outside/secret", "/etc/hostname", "link"])
def test_a_table_that_names_strange_files_is_refused(tmp_path: Path, named: str) -> None:
    (tmp_path / "outside").mkdir()
    secret = tmp_path / "outside" / "secret"
    secret.write_text("/old/bin")
    table = {"version": 1, "prefixes": ["/old"], "files": [[named, "text", 0, [[0, 0]]]]}
    path = make_tar(tmp_path / "a.tar", ("link", None, str(secret)), table=json.dumps(table).encode())

    with pytest.raises(Refused, match="none of its files"):
        unpack(path, tmp_path / "node")

    assert secret.read_text() == "/old/bin"


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.95])
def test_a_file_that_was_cut_short_is_refused(built: Path, tmp_path: Path, share: float) -> None:
    content = Path(pack(built)["packed"]).read_bytes()
    cut = tmp_path / "cut.tar"
    cut.write_bytes(content[: int(len(content) * share) // 512 * 512])

    with pytest.raises(Refused, match="cut short"):
        unpack(cut, tmp_path / "node")


# ---- paths in files --------------------------------------------------------------------------------------------------

OLD = b"/scratch/me/windlass/envs/conda-1/build-1"


def find(content: bytes, *, room: int | None = None, piece: int = 7) -> tuple[Found, list[bytes]]:
    finder = Finder([OLD, b"/mnt" + OLD])
    for at in range(0, len(content), piece):
        finder.feed(content[at : at + piece])
    found = finder.end(b"file", room)
    assert found is not None
    return found, finder.prefixes


def in_text(content: bytes, new: bytes, piece: int = 7) -> bytes:
    return replace_text(content, *find(content, piece=piece), new)


def in_binary(content: bytes, new: bytes, room: int | None = None) -> tuple[bytes, int]:
    done = bytearray(content)
    failed = replace_binary(done, *find(content, room=room), new)
    assert len(done) == len(content)
    return bytes(done), failed


@pytest.mark.parametrize("piece", [1, 7, 41, 42, 10_000])
def test_every_whole_path_in_a_text_is_replaced(piece: int) -> None:
    text = b"a " + OLD + b"/lib -I" + OLD + b"/include " + OLD + b"0/lib /mnt" + OLD + b":" + OLD

    done = in_text(text, b"/n", piece)

    assert done == b"a /n/lib -I/n/include " + OLD + b"0/lib /n:/n"


def test_a_first_line_that_has_become_too_long_looks_its_program_up() -> None:
    done = in_text(b"#!" + OLD + b"/bin/python3.11\nprint()\n", b"/" + b"n" * 130)

    assert done == b"#!/usr/bin/env python3.11\nprint()\n"


def test_a_string_in_a_program_is_filled_up_and_never_grows_over_its_neighbour() -> None:
    room = b"\0" * 30
    content = b"\x7fELF..\0" + OLD + b"/lib:" + OLD + b"/lib64\0" + room + b"next\0"

    shorter, _ = in_binary(content, b"/n")
    longer, failed = in_binary(content, OLD + b"0123456789", 15)
    same, too_long = in_binary(content, OLD + b"x")

    assert shorter.startswith(b"\x7fELF..\0/n/lib:/n/lib64\0\0")
    assert shorter.endswith(b"\0next\0")
    assert OLD + b"0123456789/lib:" + OLD + b"0123456789/lib64\0" in longer
    assert (failed, longer[-5:]) == (0, b"next\0")
    assert (same, too_long) == (content, 1)


def test_bytecode_and_unknown_binaries_are_left_alone() -> None:
    finder = Finder([OLD])
    finder.feed(b"\x80\x04pickle\0" + OLD)
    assert finder.end(b"a.pkl", None) is None
    finder.begin()
    finder.feed(OLD)
    assert finder.end(b"__pycache__/a.pyc", None) is None


def test_variables_lead_to_the_node() -> None:
    old = ["/s/envs/e/current", "/s/envs/e/build-1"]

    assert (
        replace_in_value("/s/envs/e/current/bin:/usr/bin:/s/envs/e/build-1/bin", old, "/n") == "/n/bin:/usr/bin:/n/bin"
    )
    assert replace_in_value("/s/envs/e/build-12/bin", old, "/n") == "/s/envs/e/build-12/bin"


def test_condas_libraries_get_the_room_that_their_packages_left(tmp_path: Path) -> None:
    """As conda installs: the placeholder of 255 letters is replaced, and filled up with NULs."""
    prefix = tmp_path / "envs" / ENV_ID / "build-1"
    (prefix / "conda-meta").mkdir(parents=True)
    (prefix / "bin").mkdir()
    placeholder = "/opt/" + "placehold_" * 25
    paths = [{"_path": "libz.so", "prefix_placeholder": placeholder, "file_mode": "binary"}]
    (prefix / "conda-meta" / "z-1.json").write_text(json.dumps({"name": "z", "paths_data": {"paths": paths}}))
    old = os.fsencode(prefix) + b"/share/z"
    filled = old.ljust(len(placeholder) + len("/share/z") + 1, b"\0")
    (prefix / "libz.so").write_bytes(b"\x7fELF\0" + filled + b"next\0")
    (prefix / "plain.so").write_bytes(b"\x7fELF\0" + filled + b"next\0")  # that nobody knows
    put_in_place(prefix)
    target = tmp_path / ("longer" * 10) / "env"
    target.parent.mkdir()

    done = unpack(Path(pack(tmp_path)["packed"]), target)

    content = (target / "libz.so").read_bytes()
    assert content == b"\x7fELF\0" + (os.fsencode(target) + b"/share/z").ljust(len(filled), b"\0") + b"next\0"
    assert (target / "plain.so").read_bytes() == (prefix / "plain.so").read_bytes()
    assert done.left_alone == 1
