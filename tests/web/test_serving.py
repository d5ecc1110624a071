"""`windlass dash` as a process: its address, its state file, a second one, and its end."""

import contextlib
import html
import http.client
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Places
from tests.waiting import wait_until
from windlass.web.serving import PREFERRED_PORT

pytestmark = pytest.mark.slow
COMMAND = [sys.executable, "-m", "windlass", "--json", "dash", "--no-browser", "--port", "0"]


@pytest.fixture
def dash(places: Places) -> Iterator[tuple[subprocess.Popen[str], dict[str, object]]]:
    pytest.importorskip("starlette")
    process = subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    yield process, _read(process)
    if process.poll() is None:
        process.kill()
    process.communicate()


def _read(process: subprocess.Popen[str]) -> dict[str, object]:
    """The one JSON document on its stdout, which it writes when it is ready."""
    assert process.stdout is not None
    text = ""
    for line in process.stdout:
        text += line
        if line == "}\n":
            break
    told: dict[str, object] = json.loads(text)
    return told


def test_a_second_one_finds_the_first(dash: tuple[subprocess.Popen[str], dict[str, object]]) -> None:
    first, told = dash

    second = subprocess.run(COMMAND, capture_output=True, text=True, timeout=60, check=True)

    again = json.loads(second.stdout)
    assert (told["started"], again["started"]) == (True, False)
    assert again["address"] == told["address"]
    assert again["pid"] == first.pid


def test_a_second_one_says_that_the_first_has_another_port(
    dash: tuple[subprocess.Popen[str], dict[str, object]],
) -> None:
    first, told = dash

    second = subprocess.run([*COMMAND[:-1], "1"], capture_output=True, text=True, timeout=60, check=True)

    assert f"running already at port {told['port']}, and not at 1" in second.stderr
    assert f"kill {first.pid}" in second.stderr


def test_where_the_usual_port_is_taken_it_says_which_it_has(places: Places) -> None:
    pytest.importorskip("starlette")
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):  # then somebody else has it, which does as well
            taken.bind(("127.0.0.1", PREFERRED_PORT))
            taken.listen()
        process = subprocess.Popen(COMMAND[:-2], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        told = _read(process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)

    assert f"port {PREFERRED_PORT} is taken, so it is at {told['port']}" in said


def test_the_token_is_on_no_command_line_of_a_browser(
    dash: tuple[subprocess.Popen[str], dict[str, object]], tmp_path: Path
) -> None:
    """Everybody on this machine may read those."""
    _, told = dash
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(f'#!/bin/sh\necho "$@" > {seen}.part && mv {seen}.part {seen}\n')
    browser.chmod(0o755)
    words = [word for word in COMMAND if word != "--no-browser"]

    subprocess.run(words, capture_output=True, env={**os.environ, "BROWSER": str(browser)}, timeout=60, check=True)

    opened = seen.read_text().strip()
    page = Path(opened.removeprefix("file://"))
    assert page.name == "open.html"
    assert str(told["address"]) not in opened
    assert html.escape(str(told["address"])) in page.read_text()
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


def test_the_page_with_the_token_goes_with_the_dashboard(places: Places, tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    own = tempfile.mkdtemp(prefix="w-")  # no other dashboard of this user puts its page there
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(f'#!/bin/sh\necho "$@" > {seen}.part && mv {seen}.part {seen}\n')
    browser.chmod(0o755)
    words = [word for word in COMMAND if word != "--no-browser"]
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "BROWSER": str(browser), "XDG_RUNTIME_DIR": own},
    )
    _read(process)
    wait_until(seen.exists, "the browser was started")
    page = Path(seen.read_text().strip().removeprefix("file://"))
    assert page.exists()
    assert page.is_relative_to(own)

    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)

    assert not page.exists()
    shutil.rmtree(own)


def test_it_listens_on_loopback_alone_and_keeps_its_token_private(
    dash: tuple[subprocess.Popen[str], dict[str, object]], places: Places
) -> None:
    process, told = dash
    state = places.state / "dash.json"

    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    assert str(told["address"]).startswith("http://127.0.0.1:")
    listening = Path(f"/proc/{process.pid}/net/tcp")
    if listening.exists():
        port = f":{int(str(told['port'])):04X}"
        rows = [line.split() for line in listening.read_text().splitlines()[1:]]
        assert [row[1] for row in rows if row[3] == "0A" and row[1].endswith(port)] == [f"0100007F{port}"]


def test_ctrl_c_ends_it_also_while_a_page_listens(
    dash: tuple[subprocess.Popen[str], dict[str, object]], places: Places
) -> None:
    process, told = dash
    port, path = int(str(told["port"])), str(told["address"]).partition(f":{told['port']}")[2]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path)
    cookie = str(connection.getresponse().headers["set-cookie"]).partition(";")[0]
    listener = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    listener.request("GET", "/news", headers={"cookie": cookie})
    assert listener.getresponse().readline() == b"retry: 3000\n"

    process.send_signal(signal.SIGINT)

    assert process.wait(30) in (0, 130, -signal.SIGINT)
    assert not (places.state / "dash.json").exists()


def test_a_port_that_is_taken_is_told(places: Places) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = [*COMMAND[:-1], str(taken.getsockname()[1])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "E932"


_FLOOD = """
import os, socket, sys, time
os.setuid(int(sys.argv[2]))
kept = []
for _ in range(300):
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex(("127.0.0.1", int(sys.argv[1])))
    kept.append(one)
time.sleep(3.5)  # the kernel asks again after one second, and after three
for one in kept:
    try:
        one.send(b"GET / HT")
    except OSError:
        pass
print("sent", flush=True)
time.sleep(100)
"""
_NOBODY = 65534


@pytest.mark.parametrize(
    "user",
    [
        pytest.param(os.getuid(), id="own"),
        pytest.param(
            _NOBODY, id="other", marks=pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
        ),
    ],
)
def test_connections_that_ask_nothing_do_not_shut_it(places: Places, tmp_path: Path, user: int) -> None:
    """As another user of the machine may make them; it answers again, and says little about it."""
    pytest.importorskip("starlette")
    said = tmp_path / "said"
    with said.open("wb") as errors:
        limited = ["bash", "-c", 'ulimit -n 128; exec "$@"', "bash", *COMMAND]
        process = subprocess.Popen(limited, stdout=subprocess.PIPE, stderr=errors, text=True)
    told = _read(process)
    path = str(told["address"]).partition(f":{told['port']}")[2]
    flood = subprocess.Popen(
        [sys.executable, "-c", _FLOOD, str(told["port"]), str(user)], stdout=subprocess.PIPE, text=True
    )
    assert flood.stdout is not None

    def answers() -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", int(str(told["port"])), timeout=2)
        with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(connection):
            connection.request("GET", path)
            return connection.getresponse().status == 200
        return False

    try:
        assert flood.stdout.readline() == "sent\n"
        wait_until(answers, "an answer", timeout_s=60 if user == os.getuid() else 5)
    finally:
        for one in (flood, process):
            one.kill()
            one.communicate()
    words = said.read_text()
    # Of others most are gone before they are too many.
    assert words.count("takes no more connections") in ((1,) if user == os.getuid() else (0, 1)), words
    assert words.count("\n") < 10, words
