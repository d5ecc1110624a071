"""`windlass tensorboard` with the real TensorBoard: on this machine, over what was fetched, and on a login node."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.services.events import TRAIN
from tests.app.services.foreground import foreground, get_page
from tests.app.services.venv import find_services
from tests.app.test_story import wait_for_words
from tests.builders import RECORD
from tests.waiting import wait_until
from windlass.app.following import wait
from windlass.app.planning import Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.services.tensorboard import choose_where
from windlass.app.session import Session
from windlass.app.syncing import sync_run
from windlass.core.record import RunRecord
from windlass.core.services.boards import Where
from windlass.edges.local_ports import find_free_port
from windlass.edges.ssh_host import SshHost
from windlass.errors import ServiceMissing, UsageError

SETTINGS = '[run]\nname = "board"\ncommand = "python3 train.py"\n[resources]\ntime = "5m"\ncpus = 1\nmemory = "200M"\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    (folder / "windlass.toml").write_text(SETTINGS)
    return folder


@pytest.fixture
def with_tensorboard() -> dict[str, str]:
    return {"PATH": f"{find_services()}/bin:{os.environ['PATH']}"}


def start(session: Session, project: Path, site_name: str) -> RunRecord:
    record = start_run(session, plan_run(session, Wanted(project=project, site=site_name)))
    wait_for_words(session, record, b"first")
    return record


def say(record: RunRecord, word: str) -> None:
    (Path(record.folder) / "code" / word).touch()


def load_losses(address: str, run: str) -> list[float]:
    status, page = get_page(f"{address}data/plugin/scalars/scalars?tag=loss&run={run}")
    return [row[2] for row in json.loads(page)] if status == 200 else []


def list_shown(address: str) -> list[str]:
    return sorted(json.loads(get_page(f"{address}data/runs")[1]))


def find_boards() -> list[str]:
    found = subprocess.run(["pgrep", "-f", "tensorboard.*--flagfile="], capture_output=True, text=True, check=False)
    return found.stdout.split()


def find_flags(pid: str) -> Path:
    words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    [flags] = [word.partition("=")[2] for word in words if word.startswith("--flagfile=")]
    return Path(flags)


def see_flags(pid: str) -> Path:
    """As that process sees them: a node of the cluster has a /tmp of its own."""
    return Path(f"/proc/{pid}/root{find_flags(pid)}")


def find_own_board(address: str) -> str:
    """The process whose options hold the word of this address."""
    word = address.rstrip("/").rpartition("/")[2]
    [found] = [pid for pid in find_boards() if has_word(pid, word)]
    return found


def has_word(pid: str, word: str) -> bool:
    try:
        return f"path_prefix=/{word}" in see_flags(pid).read_text()
    except (OSError, ValueError):  # one of another test, which has just ended
        return False


def cut(session: Session, site_name: str) -> None:
    """The shared connection dies, as after a sleep of the laptop."""
    host = session.host(session.site(site_name))
    assert isinstance(host, SshHost)
    subprocess.run(["pkill", "-9", "-f", f"ControlPath={host.master.path}.*-N"], check=True)


def find_parent(pid: str) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def is_gone(pid: str) -> bool:
    return not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_runs_of_this_machine_are_shown_side_by_side_as_they_go_on(
    session: Session, project: Path, with_tensorboard: dict[str, str]
) -> None:
    first, second = start(session, project, "here"), start(session, project, "here")
    taken = find_free_port()

    with (
        socket.create_server(("127.0.0.1", taken)),
        foreground("tensorboard", first.run_id, second.run_id, "--port", str(taken), env=with_tensorboard) as command,
    ):
        address = command.wait_for_address()
        assert f"port {taken} of this machine is taken" in command.said
        assert f":{taken}/" not in address
        assert get_page(address)[0] == 200
        wait_until(lambda: len(list_shown(address)) == 2, "both runs")
        assert list_shown(address) == sorted(f"{one.run_id}/runs/first" for one in (first, second))

        say(first, "go")
        wait_until(lambda: load_losses(address, f"{first.run_id}/runs/first") == [0.5, 0.25], "the new row")
        check_only_its_user_gets_in(address)
        board = find_own_board(address)
        flags = find_flags(board)

        assert command.interrupt() == 130
    assert "TensorBoard is ended" in command.said
    assert f"the files of {first.run_id} stay in {first.folder}/code" in command.said
    assert is_gone(board)
    assert not flags.parent.exists()


def enter_network(pid: str) -> list[str]:
    """The words before a command that make it see that process's network; none where it is ours."""
    theirs, ours = (Path(f"/proc/{one}/ns/net").readlink() for one in (pid, "self"))
    return [] if theirs == ours else ["nsenter", "--target", pid, "--net"]


def check_only_its_user_gets_in(address: str) -> None:
    base, word = re.fullmatch(r"(http://127.0.0.1:\d+/)([\w-]{32})/", address).groups()  # type: ignore[union-attr]
    assert get_page(base)[0] == get_page(f"{base}data/environment")[0] == get_page(f"{base}x{word}/")[0] == 404
    board = find_own_board(address)
    folder = see_flags(board).parent
    assert folder.stat().st_mode & 0o777 == 0o700
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert word.encode() not in process.read_bytes()
        except OSError:
            continue  # it has just ended
    told = [path for path in Path("/tmp/.tensorboard-info").glob("*") if word in path.read_text()]
    assert told == []
    listens = subprocess.run([*enter_network(board), "ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
    lines = [line.split()[3] for line in listens.splitlines() if f"pid={board}," in line]
    assert len(lines) == 1
    assert lines[0].startswith("127.0.0.1:")


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_it_ends_with_a_windlass_that_is_killed_and_starts_again_when_it_is_killed_itself(
    session: Session, project: Path, with_tensorboard: dict[str, str]
) -> None:
    record = start(session, project, "here")
    with foreground("tensorboard", record.run_id, env=with_tensorboard) as command:
        address = command.wait_for_address()
        board, before = find_own_board(address), len(command.lines)
        os.kill(int(board), signal.SIGKILL)
        command.wait_for("the way to TensorBoard was cut", after=before)
        command.wait_for("the way to TensorBoard is open again", after=before)
        assert get_page(address)[0] == 200

        board = find_own_board(address)
        flags = find_flags(board)
        command.process.kill()
        wait_until(lambda: is_gone(board), "TensorBoard ends with the command")
        wait_until(lambda: not flags.parent.exists(), "its folder is removed")

    with foreground("tensorboard", record.run_id, env=with_tensorboard) as command:
        board = find_own_board(command.wait_for_address())
        flags = find_flags(board)
        os.kill(find_parent(board), signal.SIGKILL)
        wait_until(lambda: is_gone(board), "it ends with the one that started it")
        shutil.rmtree(flags.parent)


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_where_no_tensorboard_or_no_event_file_or_no_run_is_that_is_told(
    session: Session, project: Path, tmp_path: Path, with_tensorboard: dict[str, str]
) -> None:
    with foreground("tensorboard", "nobody", env=with_tensorboard) as unknown:
        assert unknown.wait() == 6
    assert "nobody" in unknown.said

    (project / "train.py").write_text("print('first')")
    record = wait(session, start(session, project, "here"))
    with foreground("tensorboard", record.run_id, env={"PATH": "/usr/bin:/bin"}) as missing:
        assert missing.wait() == 3
    assert "E922" in missing.said
    assert "uv tool install tensorboard" in missing.said

    with foreground("tensorboard", record.run_id, env=with_tensorboard) as empty:
        empty.wait_for_address()
    looked = f"looked for **/events.out.tfevents.* in {record.folder}/code"
    assert f"run {record.run_id} has no event files: {looked}" in empty.said

    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "tensorboard").write_text("#!/bin/sh\necho no such module: numpy; exit 7\n")
    (broken / "tensorboard").chmod(0o755)
    with foreground("tensorboard", record.run_id, env={"PATH": f"{broken}:/usr/bin:/bin"}) as failing:
        assert failing.wait() == 1
    assert "TensorBoard ended with 7 at this laptop" in failing.said
    assert "no such module: numpy" in failing.said


@pytest.mark.slurm
@pytest.mark.parametrize("session", ["slurm-ssh"], indirect=True)
def test_files_come_through_jump_host_and_login_node_while_the_run_goes_on(
    session: Session, site_name: str, project: Path, with_tensorboard: dict[str, str]
) -> None:
    record = start(session, project, site_name)
    shown = f"{record.run_id}/runs/first"
    with foreground("tensorboard", record.run_id, "--every", "1", env=with_tensorboard) as command:
        address = command.wait_for_address()
        wait_until(lambda: load_losses(address, shown) == [0.5], "the first row")
        cut(session, site_name)
        say(record, "go")
        wait_until(lambda: load_losses(address, shown) == [0.5, 0.25], "the row that came later", timeout_s=60)
        say(record, "end")
        command.wait_for(f"run {record.run_id} has ended: all of it is here, and is shown on")
        assert load_losses(address, shown) == [0.5, 0.25]
        assert command.interrupt() == 130
    folder = project / "windlass-results" / record.run_id
    assert f"the files of {record.run_id} stay in {folder}" in command.said

    with foreground(
        "tensorboard", record.run_id, "--fetched", env={**with_tensorboard, "WINDLASS_SSH_CONFIG": "/nowhere"}
    ) as fetched:
        address = fetched.wait_for_address()
        wait_until(lambda: load_losses(address, shown) == [0.5, 0.25], "what is here")


@pytest.mark.slurm
@pytest.mark.parametrize("session", ["slurm-ssh"], indirect=True)
def test_on_the_login_node_it_ends_with_the_command_with_the_laptop_and_with_nothing_left(
    session: Session, site_name: str, project: Path
) -> None:
    (project / "windlass.toml").write_text(f'{SETTINGS}[environment]\nvenv = "{find_services()}"\n')
    record = start(session, project, site_name)
    shown = f"{record.run_id}/runs/first"
    with foreground("tensorboard", record.run_id, "--on-site") as command:
        address = command.wait_for_address()
        assert "is not known: it runs there with the least priority" in command.said
        wait_until(lambda: load_losses(address, shown) == [0.5], "the first row")
        first = find_own_board(address)
        status = dict(line.split(":", 1) for line in Path(f"/proc/{first}/status").read_text().splitlines())
        assert status["Uid"].split()[0] != "0"  # alice's, on the login node
        assert os.getpriority(os.PRIO_PROCESS, int(first)) == 19
        check_only_its_user_gets_in(address)
        flags = find_flags(first)

        before = len(command.lines)
        cut(session, site_name)
        command.wait_for("the way to TensorBoard is open again", after=before)
        assert get_page(address)[0] == 200
        wait_until(lambda: is_gone(first), "the one before has ended", timeout_s=60)
        assert not flags.parent.exists()

        second = find_own_board(address)
        assert command.interrupt() == 130
    assert f"nothing of it runs on at {site_name}, and nothing was copied" in command.said
    wait_until(lambda: is_gone(second), "it ends with the command")
    assert not (project / "windlass-results").exists()

    with foreground("tensorboard", record.run_id, "--on-site") as killed:
        third = find_own_board(killed.wait_for_address())
        killed.process.kill()
        wait_until(lambda: is_gone(third), "it ends with a laptop that died")
    say(record, "go")
    say(record, "end")


@pytest.mark.slurm
@pytest.mark.parametrize("session", ["slurm-ssh"], indirect=True)
def test_without_one_on_the_laptop_a_site_that_allows_it_runs_one_and_another_is_left_alone(
    session: Session, site_name: str, project: Path
) -> None:
    record = start(session, project, site_name)
    path = {"PATH": "/usr/bin:/bin"}
    with foreground("tensorboard", record.run_id, env=path) as unasked:
        assert unasked.wait() == 3
    assert f"windlass tensorboard {record.run_id} --on-site" in unasked.said
    with foreground("tensorboard", record.run_id, "--on-site", env=path) as missing:
        assert missing.wait() == 3
    assert f"tensorboard is not installed at {site_name}" in missing.said

    written = session.folders.config / "sites" / f"{site_name}.toml"
    text = written.read_text()
    written.write_text(text.replace("[rules]\n", "[rules]\nlogin_services = true\n"))
    with foreground("tensorboard", record.run_id, env=path) as allowed:
        assert allowed.wait() == 3
    assert f"so one on the login node of {site_name}" in allowed.said

    written.write_text(text.replace("[rules]\n", "[rules]\nlogin_services = false\n"))
    with foreground("tensorboard", record.run_id, "--on-site", env=path) as refused:
        assert refused.wait() == 3
    assert f"{site_name} does not want TensorBoard on its login nodes" in refused.said
    say(record, "go")
    say(record, "end")


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_fetched_shows_what_is_here_or_says_where_it_looked(
    session: Session, project: Path, with_tensorboard: dict[str, str]
) -> None:
    record = start(session, project, "here")
    with foreground("tensorboard", record.run_id, "--fetched", env=with_tensorboard) as empty:
        assert empty.wait() == 6
    assert f"no event files of {record.run_id} are here" in empty.said
    assert f"in {project}/windlass-results/{record.run_id}" in empty.said

    sync_run(session, record)
    with foreground("tensorboard", record.run_id, "--fetched", env=with_tensorboard) as fetched:
        address = fetched.wait_for_address()
        wait_until(lambda: list_shown(address) == [f"{record.run_id}/runs/first"], "what is here")


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_one_tensorboard_at_a_site_is_for_runs_of_that_site_alone(session: Session) -> None:
    near, far = replace(RECORD, site="here"), replace(RECORD, run_id="far-1", site="narval")

    with pytest.raises(UsageError, match="these runs are at here and narval"):
        choose_where(session, [near, far], Where.SITE, has_program=True)
    with pytest.raises(UsageError, match="on this very machine"):
        choose_where(session, [near], Where.SITE, has_program=True)
    with pytest.raises(ServiceMissing) as caught:
        choose_where(session, [near, far], None, has_program=False)
    assert "--on-site" not in str(caught.value.hint)
    assert choose_where(session, [near, far], None, has_program=True) is Where.LAPTOP


@pytest.mark.slurm
@pytest.mark.parametrize("session", ["slurm-ssh"], indirect=True)
def test_a_login_that_is_needed_again_is_told_and_files_come_when_it_is_done(
    session: Session,
    site_name: str,
    project: Path,
    with_tensorboard: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good = Path(os.environ["WINDLASS_SSH_CONFIG"]).read_text()
    config = tmp_path / "ssh_config"
    config.write_text(good)
    monkeypatch.setenv("WINDLASS_SSH_CONFIG", str(config))
    record = start(session, project, site_name)
    shown = f"{record.run_id}/runs/first"
    with foreground("tensorboard", record.run_id, "--every", "1", env=with_tensorboard) as command:
        address = command.wait_for_address()
        wait_until(lambda: load_losses(address, shown) == [0.5], "the first row")
        config.write_text(f"Host login\n  PreferredAuthentications none\n{good}")
        cut(session, site_name)
        before = len(command.lines)
        command.wait_for(f"windlass login {site_name} in another terminal; files come again then", after=before)
        assert get_page(address)[0] == 200
        config.write_text(good)
        say(record, "go")
        wait_until(lambda: load_losses(address, shown) == [0.5, 0.25], "the row that came later", timeout_s=60)
    say(record, "end")
