"""Fetching and verifying at a site, whatever happens: no namespaces, Pythons of their own, others at its caches."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.app.environments.prefetches import ID, make_step, work
from tests.cluster.cluster import wait_until
from windlass_job import wire
from windlass_job.working.behind import take_lock


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


def test_secrets_go_also_where_the_work_is_stopped_while_another_is_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / wire.CACHES / f".prefetch-{ID}"
    folder.mkdir(parents=True)
    (folder / "of the other").write_text("still in use")
    secrets = tmp_path / wire.CACHES / f".secrets-{ID}"
    secrets.write_text('TOKEN="word"\n')
    lock = take_lock(os.fsencode(folder))
    assert lock is not None
    try:
        told = work(tmp_path, behind=tmp_path / "work", secrets=str(secrets), fetch=make_step("true"))
        (tmp_path / "work" / "stop").touch()
        wait_until(lambda: (tmp_path / "work" / "result.json").exists(), what="the work to stop", timeout_s=20)
    finally:
        os.close(lock)

    assert told["word"] == "started"
    assert json.loads((tmp_path / "work" / "result.json").read_text())["kind"] == "stopped"
    assert not secrets.exists()
    assert (folder / "of the other").exists()
