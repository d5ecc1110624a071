"""The login node over ssh: sharing one connection, and saying what is wrong when there is none."""

import contextlib
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.edges.sshd import Sshd, find_free_port, read_public, run_sshd
from tests.waiting import wait_until
from windlass.core.site import Login, Site, Software
from windlass.edges.host import Request, make_command, read_completed
from windlass.edges.runtime_folder import MAX_SOCKET_PATH, find_runtime_folder, make_private_folder
from windlass.edges.ssh_host import SshHost
from windlass.edges.ssh_target import SshTarget
from windlass.edges.ssh_words import explain_ssh
from windlass.errors import (
    ConnectionLost,
    HostKeyChanged,
    HostUnreachable,
    LoginNeeded,
    SiteNotReady,
    UsageError,
    WindlassError,
)

SITE = Site(name="hpc", login=Login(host="site"))
FACTS = Request(operation="facts")
ENV = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with run_sshd(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.fixture
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("r")


def test_many_questions_take_one_login_and_one_session(tmp_path: Path, runtime: Path) -> None:
    count = f'echo x >> {tmp_path}/sessions; exec sh -c "$SSH_ORIGINAL_COMMAND"'
    with run_sshd(tmp_path / "sshd", [f"ForceCommand {count}"]) as server:
        host = SshHost(SITE, config=server.config, runtime=runtime)

        for _ in range(5):
            host.ask([FACTS, make_command(["true"])])

        assert server.count_logins() == 1
        assert (tmp_path / "sessions").read_text() == "x\n"
        assert host.round_trips == 5
        host.close_master()


def test_the_shared_connection_outlives_the_host_and_serves_the_next(sshd: Sshd, runtime: Path) -> None:
    before = sshd.count_logins()

    for _ in range(3):
        host = SshHost(SITE, config=sshd.config, runtime=runtime)
        host.ask([FACTS])
        host.close()

    assert sshd.count_logins() == before + 1
    assert host.close_master() is True
    assert host.close_master() is False
    assert host.master.find() is None


def test_two_hosts_that_open_at_once_share_one_connection(sshd: Sshd, runtime: Path) -> None:
    before = sshd.count_logins()
    argv = [sys.executable, "-c", OPEN_MASTER, str(sshd.config), str(runtime), "unattended"]

    both = [subprocess.Popen(argv, env=ENV) for _ in range(2)]

    assert [process.wait(60) for process in both] == [0, 0]
    assert sshd.count_logins() == before + 1
    SshHost(SITE, config=sshd.config, runtime=runtime).close_master()


def test_the_users_own_connection_is_used_and_never_closed(sshd: Sshd, runtime: Path) -> None:
    config = runtime / "config"
    config.write_text(f"Host site\nControlMaster auto\nControlPath {runtime}/own\n" + sshd.config.read_text())
    ssh = ["ssh", "-F", str(config)]
    subprocess.run([*ssh, "-M", "-N", "-f", "-o", "ControlPersist=60", "site"], check=True, stderr=subprocess.DEVNULL)
    before = sshd.count_logins()
    host = SshHost(SITE, config=config, runtime=runtime)

    host.ask([FACTS])
    closed = host.close_master()

    assert sshd.count_logins() == before
    assert closed is False
    assert subprocess.run([*ssh, "-O", "check", "site"], check=False, stderr=subprocess.DEVNULL).returncode == 0
    subprocess.run([*ssh, "-O", "exit", "site"], check=True, stderr=subprocess.DEVNULL)


def test_a_jump_host_of_the_site_file_is_gone_through(sshd: Sshd, runtime: Path) -> None:
    before = sshd.count_logins()
    host = SshHost(Site(name="hpc", login=Login(host="site", jump=("gate",))), config=sshd.config, runtime=runtime)

    assert host.ask([FACTS])[0].ok

    assert sshd.count_logins() == before + 2
    host.close_master()


def test_a_login_in_the_terminal_opens_the_way_for_unattended_calls(sshd: Sshd, runtime: Path) -> None:
    """A key with a passphrase stands for whatever only a person can answer."""
    locked = sshd.folder / "locked"
    if not locked.exists():
        shutil.copy(sshd.folder / "user", locked)
        subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "open sesame", "-f", locked], check=True)
    config = runtime / "config"
    config.write_text(sshd.config.read_text().replace(str(sshd.folder / "user"), str(locked)))

    before = _fail(config, runtime)
    status, shown = _log_in_at_a_terminal(config, runtime, answer=b"open sesame\n")
    host = SshHost(SITE, config=config, runtime=runtime)

    assert type(before) is LoginNeeded
    assert status == 0, shown
    assert host.ask([FACTS])[0].ok
    assert host.close_master() is True


def test_a_lost_connection_is_opened_again_and_told(sshd: Sshd, runtime: Path) -> None:
    lines: list[str] = []
    host = SshHost(SITE, config=sshd.config, runtime=runtime, tell=lines.append)
    host.ask([FACTS])
    host.master.close()

    [reply] = host.ask([FACTS])

    assert reply.ok
    assert all("trying again" in line for line in lines)
    host.close_master()


def test_a_stale_socket_is_no_obstacle(sshd: Sshd, runtime: Path) -> None:
    host = SshHost(SITE, config=sshd.config, runtime=runtime)
    host.open_master(interactive=False)
    [pid] = _find_masters(host.master.path)
    os.kill(pid, 9)
    wait_until(lambda: not _find_masters(host.master.path), "the master's end", pause_s=0.02)

    assert host.ask([FACTS])[0].ok
    assert host.close_master() is True


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["sh", "dash", "bash", "tcsh", "csh", "fish", "zsh"])
@pytest.mark.parametrize("login_shell", [False, True])
def test_any_login_shell_with_noisy_start_files_will_do(
    tmp_path: Path, runtime: Path, shell: str, login_shell: bool
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    # What a login shell does with ssh's command, after start files that talk, also later from the background.
    noise = "echo Welcome; printf 'no newline {\"'; echo warning >&2; (sleep 0.3; echo late; sleep 0.3; echo later) &"
    with run_sshd(tmp_path / "sshd", [f'ForceCommand {noise} exec {shell} -c "$SSH_ORIGINAL_COMMAND"']) as server:
        site = replace(SITE, login=replace(SITE.login, login_shell=login_shell))
        host = SshHost(site, config=server.config, runtime=runtime)

        words = ["a b", "$HOME", "!x", "'\"\\"]
        command = make_command(["sh", "-c", "sleep 0.2; printf '%s|' \"$@\"", "-", *words])
        answers = {read_completed(host.ask([command])[0]).out for _ in range(4)}

        assert answers == {"".join(f"{word}|" for word in words)}
        host.close_master()


def test_a_folder_with_pythons_names_at_home_does_no_harm(tmp_path: Path, runtime: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "json.py").write_text("raise SystemExit('not this json')")
    with run_sshd(
        tmp_path / "sshd", [f'ForceCommand cd {tmp_path}/home; exec sh -c "$SSH_ORIGINAL_COMMAND"']
    ) as server:
        host = SshHost(SITE, config=server.config, runtime=runtime)

        assert host.ask([FACTS])[0].ok
        host.close_master()


def test_a_refused_session_is_told_and_gone_around(tmp_path: Path, runtime: Path) -> None:
    lines: list[str] = []
    with run_sshd(tmp_path / "sshd", ["MaxSessions 1"]) as server:
        first = SshHost(SITE, config=server.config, runtime=runtime)
        second = SshHost(SITE, config=server.config, runtime=runtime, tell=lines.append)

        assert first.ask([FACTS])[0].ok
        assert second.ask([FACTS])[0].ok

        assert "Session open refused by peer" in lines[0]
        second.close()
        first.close_master()


def test_a_key_that_is_not_accepted_needs_a_login(sshd: Sshd, runtime: Path) -> None:
    error = _fail(sshd.write_config(known=sshd.host_key, key="stranger"), runtime)
    sshd.write_config(known=sshd.host_key)

    assert type(error) is LoginNeeded
    assert "Permission denied" in (error.said or "")
    assert error.hint == "windlass login hpc"


def test_an_unknown_host_key_needs_a_login(sshd: Sshd, runtime: Path) -> None:
    error = _fail(sshd.write_config(known=None), runtime)
    sshd.write_config(known=sshd.host_key)

    assert type(error) is LoginNeeded
    assert "not known yet" in error.message


def test_a_changed_host_key_is_told_with_the_command_that_removes_it(sshd: Sshd, runtime: Path) -> None:
    error = _fail(sshd.write_config(known=read_public(sshd.folder / "stranger")), runtime)
    sshd.write_config(known=sshd.host_key)

    assert type(error) is HostKeyChanged
    assert f"ssh-keygen -R '[127.0.0.1]:{sshd.port}'" in (error.hint or "")


def test_a_host_that_refuses_is_unreachable_and_the_vpn_is_named(tmp_path: Path, runtime: Path) -> None:
    config = tmp_path / "config"
    config.write_text(f"Host site\nHostName 127.0.0.1\nPort {find_free_port()}\n")
    site = replace(SITE, login=replace(SITE.login, vpn="eduVPN of the university"))

    error = _fail(config, runtime, site)

    assert type(error) is HostUnreachable
    assert "Connection refused" in (error.said or "")
    assert "eduVPN of the university" in error.details[0]


def test_a_name_that_does_not_exist_is_unreachable(runtime: Path) -> None:
    error = _fail(Path("/dev/null"), runtime, Site(name="hpc", login=Login(host="no-such-host.invalid")))

    assert type(error) is HostUnreachable


def test_a_missing_ssh_is_told(runtime: Path) -> None:
    with pytest.raises(HostUnreachable, match="cannot run /none/ssh"):
        SshHost(SITE, runtime=runtime, program="/none/ssh").ask([FACTS])


def test_a_missing_python_is_told_with_the_setting(sshd: Sshd, runtime: Path) -> None:
    error = _fail(sshd.config, runtime, replace(SITE, software=Software(python="python9")))

    assert type(error) is SiteNotReady
    assert "there is no python9 at site" in error.message
    assert "[software] python" in (error.hint or "")
    SshHost(SITE, config=sshd.config, runtime=runtime).close_master()


@pytest.mark.slow
def test_a_host_that_never_greets_is_given_up_in_time(tmp_path: Path, runtime: Path) -> None:
    with run_sshd(tmp_path / "sshd", ["ForceCommand exec sleep 60"]) as server:
        host = SshHost(SITE, config=server.config, runtime=runtime, hello_s=0.3)

        with pytest.raises(ConnectionLost, match="nothing answered at site in time"):
            host.ask([FACTS])

        host.close_master()


def test_options_of_the_site_file_go_to_the_command_line(tmp_path: Path) -> None:
    login = Login(host="site", user="me", port=2222, jump=("gate", "inner"), options={"Compression": "yes"})
    target = SshTarget(site=Site(name="hpc", login=login), config=tmp_path / "config")

    argv = target.make_argv(options={}, flags=("-T",))

    text = " ".join(argv)
    assert f"-F {tmp_path}/config -l me -p 2222 -J gate,inner" in text
    assert "-o Compression=yes -T site" in text
    assert "StrictHostKeyChecking" not in text


def test_a_direct_connection_and_one_through_a_jump_host_have_their_own_sockets() -> None:
    direct, jumped = (SshTarget(site=Site(name="hpc", login=Login(host="h", jump=jump))) for jump in ((), ("gate",)))

    assert direct.make_id() != jumped.make_id()


@pytest.mark.parametrize("host", ["-oProxyCommand=id", "a b", ""])
def test_a_host_that_ssh_could_take_for_an_option_is_refused(host: str) -> None:
    with pytest.raises(UsageError):
        SshTarget(site=Site(name="hpc", login=Login(host=host))).make_argv(options={})


def test_sockets_have_a_short_path_of_their_own(tmp_path: Path) -> None:
    long = tmp_path / ("x" * MAX_SOCKET_PATH)
    long.mkdir()

    assert find_runtime_folder({"XDG_RUNTIME_DIR": "/tmp"}, 7) == Path("/tmp/windlass")
    assert find_runtime_folder({"XDG_RUNTIME_DIR": str(long)}, 7) == Path("/tmp/windlass-7")
    assert find_runtime_folder({}, 7) == Path("/tmp/windlass-7")


def test_a_folder_for_sockets_is_private(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "link").symlink_to(tmp_path / "open")

    make_private_folder(tmp_path / "open")

    assert (tmp_path / "open").stat().st_mode & 0o777 == 0o700
    with pytest.raises(UsageError, match="somebody else"):
        make_private_folder(tmp_path / "link")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_somebody_elses_folder_for_sockets_is_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 1, 1)

    with pytest.raises(UsageError, match="somebody else"):
        make_private_folder(tmp_path / "theirs")


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("alice@gate: Permission denied (publickey).\nkex_exchange_identification: Connection closed by remote host",
         LoginNeeded),
        ("ssh: connect to host h port 22: Connection timed out", HostUnreachable),
        ("ssh: connect to host h port 22: No route to host", HostUnreachable),
        ("kex_exchange_identification: read: Connection reset by peer", HostUnreachable),
        ("Received disconnect from 1.2.3.4 port 22:2: Too many authentication failures", LoginNeeded),
        ("channel 0: open failed: connect failed: Name or service not known\nstdio forwarding failed", HostUnreachable),
        ("mux_client_request_session: session request failed: Session open refused by peer", ConnectionLost),
        ("/c: line 1: Bad configuration option: foo\n/c: terminating, 1 bad configuration options", HostUnreachable),
        ("something new", ConnectionLost),
    ],
)  # fmt: skip
def test_sshs_words_have_a_meaning(words: str, kind: type[WindlassError]) -> None:
    error = explain_ssh(words, SITE)

    assert type(error) is kind
    assert error.said == words
    assert error.hint


OPEN_MASTER = """
import sys; from pathlib import Path; from windlass.core.site import *; from windlass.edges.ssh_host import SshHost
host = SshHost(Site(name="hpc", login=Login(host="site")), config=Path(sys.argv[1]), runtime=Path(sys.argv[2]))
host.open_master(interactive=sys.argv[3] == "interactive")
"""


def _log_in_at_a_terminal(config: Path, runtime: Path, *, answer: bytes) -> tuple[int, bytes]:
    pid, terminal = pty.fork()
    if pid == 0:
        argv = [sys.executable, "-c", OPEN_MASTER, str(config), str(runtime), "interactive"]
        os.execve(sys.executable, argv, ENV)
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error
        while piece := os.read(terminal, 4096):
            shown += piece
            if b"passphrase" in piece:
                os.write(terminal, answer)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown


def _fail(config: Path, runtime: Path, site: Site = SITE) -> WindlassError:
    with pytest.raises(WindlassError) as caught:
        SshHost(site, config=config, runtime=runtime).ask([FACTS])
    return caught.value


def _find_masters(path: Path) -> list[int]:
    found = subprocess.run(["pgrep", "-f", f"ControlPath={path} .*-N"], capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split()]
