"""Fetching and verifying at a site, whatever happens: no namespaces, Pythons of their own, others at its caches."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.app.environments.prefetches import ID, make_step, work
from tests.waiting import wait_until
from windlass.core.codec import from_json
from windlass.core.prefetch import TELL_OFFLINE
from windlass.core.prefetched import Ended, Prefetched
from windlass.core.run import PrefetchPlace
from windlass.core.shell import quote_all
from windlass.errors import PrefetchFailed
from windlass_job import wire
from windlass_job.working.holding import hold_now
from windlass_job.working.prefetch_card import is_card


@pytest.mark.parametrize(("option", "is_verified"), [("", True), ("-I", False)])
def test_where_only_python_refuses_connections_it_must_have_been_asked(
    tmp_path: Path, option: str, *, is_verified: bool
) -> None:
    """A Python that reads no PYTHONPATH, as many in containers, has the network on: it is not called verified."""
    told = work(tmp_path, verify=make_step(f"{sys.executable} {option} -c 'print(1)'"))

    card = told["card"]
    assert isinstance(card, dict)
    assert (card["verified"] is not None) is is_verified, card
    assert is_verified or "cannot be verified" in card["problem"]


@pytest.mark.parametrize(
    ("box", "how"),
    [
        ("unshare --map-root-user --net", "a container without a network"),
        ("false", "refused connections, because the container does not start without a network"),
        ("env", "refused connections, because the container does not start without a network"),
    ],
)
def test_a_container_takes_the_network_off_itself_and_else_its_python_refuses(
    tmp_path: Path, box: str, how: str
) -> None:
    """The box is a stand-in for the runtime: one that has no network, one that does not start, one that has."""
    inside = f'$BOX {quote_all(("bash", "-c", TELL_OFFLINE, "windlass"))} {sys.executable} -c "print(1)"'

    told = work(tmp_path, verify={**make_step(inside), "offline_env": {"BOX": box}})

    card = told["card"]
    assert isinstance(card, dict)
    assert card["verified"]["how"] == how, card


def test_secrets_go_also_where_the_work_is_stopped_while_another_is_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / wire.CACHES / f".prefetch-{ID}"
    folder.mkdir(parents=True)
    (folder / "1").mkdir()
    (folder / "1" / "of the other").write_text("still in use")
    secrets = tmp_path / wire.CACHES / f".secrets-{ID}"
    secrets.write_text('TOKEN="word"\n')
    held = hold_now(os.fsencode(tmp_path / wire.CACHES / ".locks" / f"prefetch-{ID}"), "it is being done")
    assert held is not None
    with held:
        told = work(tmp_path, behind=tmp_path / "work", secrets=str(secrets), fetch=make_step("true"))
        (tmp_path / "work" / "stop").touch()
        wait_until(lambda: (tmp_path / "work" / "result.json").exists(), what="the work to stop", timeout_s=20)

    assert told["word"] == "started"
    assert json.loads((tmp_path / "work" / "result.json").read_text())["kind"] == "stopped"
    assert not secrets.exists()
    assert (folder / "1" / "of the other").exists()


def test_a_secret_that_the_command_prints_is_in_no_card_and_no_answer(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets"
    secrets.write_text('TOKEN="hunter22word"\n')
    step = make_step("bash -c 'echo \"HTTPError: 401 for $TOKEN\"; exit 1'")

    failed = work(tmp_path, secrets=str(secrets), fetch=step)
    secrets.write_text('TOKEN="hunter22word"\n')
    told = work(tmp_path, secrets=str(secrets), verify=step)

    card = (tmp_path / wire.CACHES / f"prefetch-{ID}.json").read_text()
    assert "HTTPError: 401 for ***" in card
    assert failed["problem"] == "HTTPError: 401 for ***"
    assert "hunter22word" not in f"{failed} {told} {card}"


_CARD: dict[str, object] = {
    "id": ID,
    "name": "train",
    "command": "python train.py",
    "where": "login",
    "ended": "done",
    "made": 1.5,
    "files": {"train.py": "ab"},
    "caches": {"torch": {"files": 1, "bytes": 2}},
    "new_bytes": 2,
    "paths": ["data"],
    "verified": {"how": "a box", "made": 2, "ended": "step", "files": {}},
    "problem": None,
}
_VALUES: tuple[object, ...] = (
    None,
    5,
    -1,
    1e400,
    True,
    "x",
    [],
    [5],
    {},
    {"x": 5},
    {"x": {"files": "1", "bytes": 2}},
    {"how": "a box"},
)


def test_a_card_counts_where_the_laptop_can_read_it() -> None:
    assert is_card(_CARD)
    assert all(is_card({**_CARD, "where": str(place)}) for place in PrefetchPlace)
    assert all(is_card({**_CARD, "ended": str(end)}) for end in Ended)
    for key in _CARD:
        for value in _VALUES:
            card = {**_CARD, key: value}
            if is_card(card):
                from_json(json.dumps(card).encode(), Prefetched, error=PrefetchFailed, what=f"{key} = {value}")
    assert [key for key in _CARD if not is_card({**_CARD, key: ["x", 5]})] == list(_CARD)
