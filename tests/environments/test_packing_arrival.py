"""A packed environment that comes from another node: unpacked while it arrives, in pieces, anew, or not to its end."""

import os
import subprocess
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.environments.packed_envs import make_environment, pack
from windlass_job.staging.checking import Damaged, make_sum_check
from windlass_job.staging.env_unpacking import unpack_arriving
from windlass_job.staging.items import FAILED, WAITING, Arrival, Item, Part
from windlass_job.staging.laying import Laid
from windlass_job.staging.window import SIZE, UNPACKING


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = tmp_path_factory.mktemp("site")
    make_environment(root)
    return pack(root)


def receive(folder: Path, card: dict[str, Any], bring: Callable[[Arrival, bytes], None]) -> list[str]:
    """What is told of it; `bring` is the node before this one."""
    target = os.fsencode(folder / "env.tar")
    check = make_sum_check("the packed environment", card["crc32"])
    part = Part(os.fsencode(card["packed"]), target, card["bytes"], check)
    laid = Laid([Item(0, "env.tar", [part], True)], lambda text: None)
    arrival = laid.store.arrivals[0]
    arrival.pass_through(UNPACKING)
    sender = threading.Thread(target=bring, args=(arrival, Path(card["packed"]).read_bytes()))
    sender.start()
    try:
        return unpack_arriving(laid, arrival, os.fsencode(folder / "env"))
    finally:
        sender.join(20)
        assert not sender.is_alive()


def send(arrival: Arrival, content: bytes, *, pause_s: float = 0.0) -> None:
    for at in range(0, len(content), 5_000):
        arrival.write(memoryview(content)[at : at + 5_000])
        time.sleep(pause_s)


def bring_slowly(arrival: Arrival, content: bytes) -> None:
    send(arrival, content, pause_s=0.002)
    arrival.end_part()


def bring_damaged_first(arrival: Arrival, content: bytes) -> None:
    damaged = bytearray(content)
    damaged[len(content) // 2] ^= 1
    send(arrival, bytes(damaged))
    with pytest.raises(Damaged):
        arrival.end_part()
    arrival.give_up(WAITING, "")
    send(arrival, content)
    arrival.end_part()


@pytest.mark.parametrize("bring", [bring_slowly, bring_damaged_first])
def test_it_works_once_it_has_come_whole(
    tmp_path: Path, card: dict[str, Any], bring: Callable[[Arrival, bytes], None]
) -> None:
    told = receive(tmp_path, card, bring)

    said = subprocess.run([tmp_path / "env" / "bin" / "greet"], capture_output=True, text=True, check=True).stdout
    assert told == []
    assert f"in {tmp_path}/env\n" in said
    assert [one.name for one in tmp_path.iterdir()] == ["env"]  # the tar is on no disk


def test_whoever_brings_it_does_not_wait_for_an_unpacking_that_failed(tmp_path: Path) -> None:
    """It is no tar, and larger than what is held in memory; that it came as it was sent is known only at its end."""
    content = b"no tar" * (SIZE // 4)
    (tmp_path / "packed").write_bytes(content)
    card = {"packed": str(tmp_path / "packed"), "bytes": len(content), "crc32": zlib.crc32(content)}

    def bring(arrival: Arrival, content: bytes) -> None:
        for at in range(0, len(content), 1 << 20):
            arrival.write(memoryview(content)[at : at + (1 << 20)])
        arrival.end_part()

    with pytest.raises(OSError, match="the packed environment is damaged"):
        receive(tmp_path, card, bring)


def test_what_does_not_come_leaves_nothing(tmp_path: Path, card: dict[str, Any]) -> None:
    def bring(arrival: Arrival, content: bytes) -> None:
        send(arrival, content[: len(content) // 2])
        arrival.give_up(FAILED, "this node is full")

    with pytest.raises(OSError, match="this node is full"):
        receive(tmp_path, card, bring)

    assert list(tmp_path.iterdir()) == []
