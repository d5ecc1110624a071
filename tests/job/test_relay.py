"""Many connections over one pair of pipes: nothing lost, nobody held up, every end told."""

import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.waiting import wait_until
from windlass.edges.bundle import BOOTSTRAP, PYTHON_FLAGS
from windlass.edges.relay import Relay, RelayFailed
from windlass_job.relaying import far, frames

FAR = [sys.executable, *PYTHON_FLAGS, "-c", BOOTSTRAP]
BYTES = bytes(range(256)) * 20_000  # more than any window, with every byte that could be taken for an end of line


@contextmanager
def serving(talk: Callable[[socket.socket], None]) -> Iterator[int]:
    """A service of one connection after another, each in a thread of its own."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    end, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=talk, args=(end,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]


@contextmanager
def relayed(port: int, argv: list[str] = FAR, **order: object) -> Iterator[tuple[Relay, int]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        relay = Relay(argv, {"port": port, **order}, listener, hello_s=20)
        try:
            yield relay, listener.getsockname()[1]
        finally:
            relay.close()


def echo(end: socket.socket) -> None:
    """All that comes, when all has come."""
    with end, end.makefile("rb") as stream:
        end.sendall(stream.read())


def ask(port: int, content: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as end, end.makefile("rb") as stream:
        sender = threading.Thread(target=send_all, args=(end, content))
        sender.start()
        answer = stream.read()
        sender.join()
    return answer


def send_all(end: socket.socket, content: bytes) -> None:
    end.sendall(content)
    end.shutdown(socket.SHUT_WR)


def test_bytes_go_both_ways_and_each_end_is_passed_on() -> None:
    with serving(echo) as port, relayed(port) as (_, local):
        assert ask(local, BYTES) == BYTES


def test_many_connections_at_once() -> None:
    with serving(echo) as port, relayed(port) as (_, local), ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda number: ask(local, b"%d" % number * 5000), range(60)))

    assert answers == [b"%d" % number * 5000 for number in range(60)]


def test_one_who_does_not_read_holds_up_nobody() -> None:
    def pour(end: socket.socket) -> None:
        with end:
            try:
                while True:
                    end.sendall(BYTES)
            except OSError:
                return

    def answer(end: socket.socket) -> None:
        (pour if end.recv(1) == b"p" else echo)(end)

    with serving(answer) as port, relayed(port) as (relay, local):
        lazy = socket.create_connection(("127.0.0.1", local))
        lazy.sendall(b"p")
        assert lazy.recv(1)

        assert ask(local, b"e" + b"x" * 100_000) == b"x" * 100_000
        lazy.close()
        wait_until(lambda: not relay._exchange.has_connections, "the one who left is forgotten")


def test_a_service_that_is_not_there_yet_is_told_and_found_later() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    with relayed(port) as (relay, local):
        assert ask(local, b"") == b""
        assert f"port {port} of " in relay.refusal
        assert "refused" in relay.refusal

        with socket.create_server(("127.0.0.1", port)) as listener:
            thread = threading.Thread(target=lambda: echo(listener.accept()[0]))
            thread.start()
            assert ask(local, b"now") == b"now"
            thread.join()


def test_a_connection_that_breaks_there_breaks_here() -> None:
    def break_off(end: socket.socket) -> None:
        end.recv(1)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        end.close()

    with (
        serving(break_off) as port,
        relayed(port) as (_, local),
        socket.create_connection(("127.0.0.1", local), timeout=20) as end,
        suppress(ConnectionResetError),
    ):
        end.sendall(b"x")
        assert end.recv(1) == b""


def test_noise_before_and_an_end_by_itself() -> None:
    noisy = ["bash", "-c", 'echo "Welcome to the machine"; exec "$@"', "-", *FAR]
    with serving(echo) as port, relayed(port, noisy) as (relay, local):
        assert ask(local, b"x") == b"x"
        assert relay.hello["network"] == far.name_network()

        relay._process.kill()
        wait_until(lambda: not relay.is_alive, "the relay sees it")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["bash", "-c", "echo srun: error: Invalid job id specified >&2; exit 1"], "Invalid job id specified"),
        (["/no/such/program"], "cannot run /no/such/program"),
    ],
)
def test_what_does_not_come_up_says_why(argv: list[str], says: str) -> None:
    with pytest.raises(RelayFailed, match=says), relayed(1, argv):
        pass


def test_a_far_end_that_says_nothing_is_not_waited_for_long() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(RelayFailed, match="no answer"):
        Relay(["sleep", "60"], {"port": 1}, listener, hello_s=0.2)


def test_the_port_of_another_user_is_not_called(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        assert far.find_stranger(port) is None
        line = f"   0: 0100007F:{port:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000  5002  0 123 1"
        (tmp_path / "tcp").write_text(f"  sl  local_address rem_address\n{line}\n")
        assert far.list_owners(str(tmp_path / "tcp"), port) == [5002]
        assert far.list_owners(str(tmp_path / "tcp"), port + 1) == []


@given(st.lists(st.tuples(st.integers(frames.OPEN, frames.BYE), st.integers(0, 2**32 - 1), st.binary(max_size=300))))
def test_frames_come_out_as_they_went_in(sent: list[tuple[int, int, bytes]]) -> None:
    stream = b"".join(frames.pack(*one) for one in sent)
    reader = frames.Reader()

    got = [frame for at in range(0, len(stream), 7) for frame in reader.feed(stream[at : at + 7])]

    assert [tuple(frame) for frame in got] == sent


@pytest.mark.parametrize("noise", [b"slurmstepd: error: ", bytes([3, 0, 0, 0, 1, 0xFF, 0, 0, 0])])
def test_something_else_between_the_frames_is_noticed(noise: bytes) -> None:
    with pytest.raises(frames.Garbled):
        list(frames.Reader().feed(frames.pack(frames.ALIVE) + noise))
