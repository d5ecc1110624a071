"""Another machine's world: what is seen, what may be written, and whom one can talk to."""

import subprocess
from pathlib import Path

import pytest

from windlass.pocket import launch
from windlass.pocket.network import read_question, refuse
from windlass.pocket.world import Seen, World, is_possible, load_world, save_world

needs_namespaces = pytest.mark.skipif(
    not is_possible(without_network=True), reason="this system gives users no namespaces"
)
SYSTEM = [name for name in ("usr", "etc", "lib", "lib64", "bin", "sbin", "opt") if Path(f"/{name}").is_dir()]


@pytest.fixture
def world(tmp_path: Path) -> World:
    for name in ("root", "scratch", "home", "pocket"):
        (tmp_path / name).mkdir()
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.1\noptions attempts:1\n")
    (tmp_path / "nsswitch.conf").write_text("hosts: files dns\n")
    own = [name for name in SYSTEM if not Path(f"/{name}").is_symlink()]
    seen = [Seen(source=f"/{name}", target=f"/{name}") for name in own]
    seen += [Seen(source=f"/{name}", target=f"/{name}", may_write=True) for name in ("proc", "dev")]
    seen += [Seen(source=launch.ROOT, target=launch.ROOT)]
    seen += [
        Seen(source=str(tmp_path / "scratch"), target="/scratch/alice", may_write=True),
        Seen(source=str(tmp_path / "home"), target="/home/alice"),
        Seen(source=str(tmp_path / "pocket"), target="/run/pocket", may_write=True),
    ]
    seen += [
        Seen(source=str(tmp_path / name), target=str(Path(f"/etc/{name}").resolve()))
        for name in ("resolv.conf", "nsswitch.conf")
        if Path(f"/etc/{name}").exists()
    ]
    return World(
        base=str(tmp_path / "root"),
        is_closed=True,
        seen=tuple(seen),
        links={f"/{name}": str(Path(f"/{name}").readlink()) for name in SYSTEM if name not in own},
        has_network=False,
        interface="fabric0",
        questions=str(tmp_path / "asked"),
        variables={"HOME": "/home/alice"},
        unset=("SECRET_OF_THE_LAPTOP",),
        pocket="/run/pocket",
    )


def run_inside(world: World, tmp_path: Path, line: str) -> str:
    save_world(tmp_path / "world.json", world)
    done = subprocess.run(
        [*launch.command("world", str(tmp_path / "world.json")), "bash", "-c", line],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


def test_a_world_is_read_as_it_was_written(world: World, tmp_path: Path) -> None:
    save_world(tmp_path / "world.json", world)

    assert load_world(tmp_path / "world.json") == world


@needs_namespaces
def test_only_what_is_named_is_seen(world: World, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")

    assert "No such file" in run_inside(world, tmp_path, f"cat {tmp_path}/mine")


@needs_namespaces
def test_folders_are_at_their_real_paths_and_some_are_read_only(world: World, tmp_path: Path) -> None:
    said = run_inside(world, tmp_path, "touch /scratch/alice/a && touch ~/b; touch /c; touch /usr/d")

    assert (tmp_path / "scratch" / "a").exists()
    assert said.count("Read-only file system") == 3


@needs_namespaces
def test_there_is_no_way_out_and_questions_are_noted(world: World, tmp_path: Path) -> None:
    said = run_inside(world, tmp_path, "getent hosts data.example.org || echo none; cat /proc/net/dev")

    assert "none" in said
    assert (tmp_path / "asked").read_text().split()[0] == "data.example.org"
    assert "lo:" in said
    assert "eth0" not in said


@needs_namespaces
def test_processes_still_talk_over_loopback(world: World, tmp_path: Path) -> None:
    line = (
        "exec 3<>/dev/udp/127.0.0.1/9 && echo loopback; "
        "unshare --user --map-root-user --mount true && echo nested || true"
    )

    assert "loopback" in run_inside(world, tmp_path, line)


@needs_namespaces
def test_nothing_of_it_stays_on_this_machine(world: World, tmp_path: Path) -> None:
    run_inside(world, tmp_path, "true")

    assert list((tmp_path / "root").iterdir()) == []
    assert not Path("/scratch/alice").exists()


def test_a_question_is_read_and_refused() -> None:
    packet = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04data\x07example\x03org\x00\x00\x01\x00\x01"

    assert read_question(packet) == "data.example.org"
    assert refuse(packet)[:4] == b"\x12\x34\x81\x82"
    assert refuse(packet)[12:] == packet[12:]
