"""One environment, two login nodes: their locks do not reach each other, and still nobody spoils the other's work."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.app.environments.builds import GOOD, ID, SRC, list_builds, read_thing, start_work, work
from tests.app.transfers import make_local_site, open_site
from tests.conftest import Places
from tests.waiting import wait_until
from windlass.app.environments.registry import list_environments, remove_environments
from windlass_job import faults, wire

_WAIT = 'touch "{0}/begun-$1"; while [ ! -e "{0}/go" ]; do sleep 0.05; done; '


def slow(root: Path, word: str) -> str:
    """A build that says when it begins, and goes on when the test says so."""
    return _WAIT.format(root).replace("$1", word) + GOOD.replace("made", word)


def begin(root: Path, word: str, **more: object) -> "subprocess.Popen[str]":
    process = start_work(root, slow(root, word), **more)  # type: ignore[arg-type]
    wait_until((root / f"begun-{word}").exists, what=f"{word} to begin", timeout_s=20)
    return process


def end(process: "subprocess.Popen[str]") -> dict[str, object]:
    told: dict[str, object] = json.loads(process.communicate(timeout=60)[0].splitlines()[-1])
    return told


def claims(root: Path) -> list[str]:
    return sorted(one.name for one in (root / wire.ENVS / ".locks" / ID).iterdir())


def test_who_holds_it_is_told_with_host_and_time(tmp_path: Path) -> None:
    first = begin(tmp_path, "first", host="login1")
    request = {"verb": "remove-env", "root": str(tmp_path), "id": ID}
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "request.json").write_text(json.dumps(request))
    env = {**os.environ, "PYTHONPATH": str(SRC), faults.HOST_VARIABLE: "login2"}

    subprocess.run([sys.executable, "-m", "windlass_job", "work", "--folder", str(folder)], env=env, check=True)
    progress = folder / "progress.json"
    wait_until(progress.exists, what="the second to say what it waits for", timeout_s=20)
    words = json.loads(progress.read_text())["words"]
    (folder / "stop").touch()
    wait_until((folder / "result.json").exists, what="it to stop", timeout_s=20)
    (tmp_path / "go").touch()
    end(first)

    assert words.startswith(f"{wire.WAITING}{ID} is being built by ")
    assert f" on login1 (process {first.pid}) since 20" in words
    assert (tmp_path / wire.ENVS / ID).exists()


def test_a_holder_that_was_killed_on_another_host_is_followed_after_a_while(tmp_path: Path) -> None:
    first = begin(tmp_path, "first", host="login1")
    first.kill()
    first.wait(timeout=20)

    code, told = work(tmp_path, GOOD, host="login2", hasty=True)

    assert (code, told["is_new"], read_thing(tmp_path)) == (0, True, "made\n")
    # Nobody on login2 can know that it is dead: what it made stays for an hour.
    assert list_builds(tmp_path) == ["build-1", "build-2", "source-1", "source-2", "tmp-1"]
    assert claims(tmp_path) == ["1", "2.over"]


def test_one_that_only_hung_spoils_nothing_when_it_wakes(tmp_path: Path) -> None:
    first = begin(tmp_path, "first", host="login1", hasty=True)
    first.send_signal(signal.SIGSTOP)
    second = start_work(tmp_path, slow(tmp_path, "second"), host="login2", hasty=True)
    wait_until((tmp_path / "begun-second").exists, what="the second to take over", timeout_s=30)

    first.send_signal(signal.SIGCONT)
    lost = end(first)
    (tmp_path / "go").touch()
    made = end(second)

    assert (lost["ok"], lost["kind"]) == (False, "lost")
    assert f"{ID} is being built by" in str(lost["problem"])
    assert "on login2" in str(lost["problem"])
    assert (made["is_new"], read_thing(tmp_path)) == (True, "second\n")
    assert list_builds(tmp_path) == ["build-2", "source-2"]


def test_packing_and_removing_wait_too_and_the_user_is_told_for_whom(tmp_path: Path, places: Places) -> None:
    """The file system's own locks would not tell: the other is on another host."""
    work(tmp_path, GOOD)
    site, said = make_local_site(tmp_path), list[str]()
    first = begin(tmp_path, "first", host="login1", again=True)
    with open_site(site) as session:
        session.tell = said.append
        (built,) = list_environments(session, site)
        with ThreadPoolExecutor() as pool:
            removed = pool.submit(remove_environments, session, site, [built])
            wait_until(lambda: bool(said), what="the user to be told", timeout_s=20)
            is_there = (tmp_path / wire.ENVS / ID).exists()
            (tmp_path / "go").touch()
            removed.result(timeout=30)

    assert said[0].startswith(f"waiting: {ID} is being built by ")
    assert " on login1 (process " in said[0]
    assert (is_there, end(first)["is_new"]) == (True, True)
    assert not (tmp_path / wire.ENVS / ID).exists()


def test_many_at_once_on_many_hosts_build_it_once(tmp_path: Path) -> None:
    script = f'echo x >> "{tmp_path}/count"; sleep 0.3; {GOOD}'
    all_of_them = [start_work(tmp_path, script, host=f"login{number}") for number in range(6)]

    told = [end(one) for one in all_of_them]

    assert sorted(bool(one["is_new"]) for one in told) == [False] * 5 + [True]
    assert (tmp_path / "count").read_text() == "x\n"
    assert claims(tmp_path) == ["6.over"]
