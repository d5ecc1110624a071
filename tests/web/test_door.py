"""Who gets in, and what every answer tells the browser."""

import contextlib
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.house import House, make_run
from windlass.core.record import RunState
from windlass.web.door import Door, Keys
from windlass.web.peers import NOBODY, find_owner

PAGES = ["/", "/runs", "/runs/secret-run", "/runs/secret-run/log", "/runs/secret-run/metrics.json", "/news"]


def test_the_token_gives_a_cookie_that_pages_cannot_read_and_others_do_not_get(house: House) -> None:
    answer = house.enter()

    assert answer.status == 200
    assert find_ways_on(answer.text) == {"/"}
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert house.keys.token not in answer.headers["set-cookie"]
    assert house.get("/").status == 200


def find_ways_on(page: str) -> set[str]:
    """Where it goes by itself, and where its link leads."""
    return set(re.findall(r'(?:url=|<a href=")([^"]*)"', page))


@pytest.mark.parametrize("path", [*PAGES, "/static/windlass.css", "/nowhere", "/alive", "/theme"])
def test_without_the_cookie_nothing_is_shown(house: House, path: str) -> None:
    house.add(make_run("secret-run"))

    answer = house.get(path)

    assert answer.status == 403
    assert "secret-run" not in answer.text
    assert house.keys.token not in answer.text


@pytest.mark.parametrize("token", ["", "wrong", "\u00e9", "0" * 5000])
def test_a_wrong_token_opens_nothing(house: House, token: str) -> None:
    from urllib.parse import quote

    answer = house.get(f"/enter?token={quote(token)}")

    assert answer.status == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("cookie", ["windlass-1=x", "a=b; c", "=;=;", 'windlass="', "x" * 4000])
def test_odd_cookies_open_nothing(house: House, cookie: str) -> None:
    assert house.get("/", cookie=cookie).status == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.evil.example:{port}", ""])
def test_a_name_that_only_leads_here_is_refused(guest: House, host: str) -> None:
    answer = guest.get("/", host=host.format(port=guest.port))

    assert answer.status == 403


def test_localhost_is_this_machine_too(guest: House) -> None:
    assert guest.get("/", host=f"localhost:{guest.port}").status == 200


def test_the_door_has_the_icon_of_the_pages(house: House) -> None:
    """A browser would look for another one, in vain."""
    assert 'rel="icon" href="/static/windlass.svg"' in house.get(f"/enter?token={house.keys.token}").text


def test_the_way_back_after_entering_stays_here(house: House) -> None:
    for to in ("https://evil.example/", "//evil.example", "/\\evil.example", "javascript:1"):
        answer = house.get(f"/enter?token={house.keys.token}&to={to}")
        [way] = find_ways_on(answer.text)
        assert way.startswith("/")
        assert not way.startswith(("//", "/\\"))


def test_the_way_on_keeps_what_is_asked_there(house: House) -> None:
    answer = house.get(f"/enter?token={house.keys.token}&to=%2Fruns%3Fq%3Da%2Bb%26state%3Dwaiting%2520x")

    assert find_ways_on(answer.text) == {"/runs?q=a+b&amp;state=waiting%20x"}


def test_the_way_on_is_only_an_address(house: House) -> None:
    answer = house.get(f"/enter?token={house.keys.token}&to=/%22%3E%3Cscript%3E%3Ca%20href=/&x=1")

    assert "<script" not in answer.text
    assert answer.text.count("<a ") == 1


@pytest.mark.parametrize("path", ["/", "/enter?token=x", "/static/windlass.css", "/nowhere"])
def test_every_answer_forbids_scripts_of_others(guest: House, path: str) -> None:
    headers = guest.get(path).headers

    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "same-origin")
    assert headers["cache-control"] == "no-store" or path.startswith("/static")


def test_a_form_needs_the_word_of_our_own_page(guest: House) -> None:
    guest.add(make_run("live-run", state=RunState.RUNNING))
    key = guest.find_form_key("/runs/live-run/cancel")

    assert guest.post("/runs/live-run/cancel", {}).status == 403
    assert guest.post("/runs/live-run/cancel", {"form_key": "x" * len(key)}).status == 403
    assert guest.post("/theme", {"theme": "dark"}).status == 403
    assert guest.post("/theme", {"theme": "dark", "form_key": key}).status == 303


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
)
def test_a_form_of_another_page_is_refused_even_with_the_word(guest: House, headers: dict[str, str]) -> None:
    key = guest.find_form_key("/")

    assert guest.post("/theme", {"theme": "dark", "form_key": key}, **headers).status == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_pages_only_answer_to_reading(guest: House, method: str) -> None:
    assert guest.ask(method, "/runs").status in (403, 405)


def test_no_action_is_done_by_reading_an_address(guest: House) -> None:
    guest.add(make_run("live-run", state=RunState.RUNNING))

    for verb in ("cancel", "resume", "fetch"):
        assert guest.get(f"/runs/live-run/{verb}").status == 200
    assert guest.session.store.load("live-run").state is RunState.RUNNING


OWN_ENDS = [("127.0.0.1", "127.0.0.1"), ("127.0.0.2", "127.0.0.1"), ("", "::ffff:127.0.0.1")]


@contextlib.contextmanager
def connect(house: House, here: str, there: str) -> Iterator[socket.socket]:
    """From an address of this machine; nothing is sent yet."""
    kind = socket.AF_INET6 if ":" in there else socket.AF_INET
    try:
        opened = socket.socket(kind)
    except OSError as problem:
        pytest.skip(f"no IPv6 here: {problem}")
    with opened:
        opened.settimeout(10)
        try:
            opened.bind((here, 0))
        except OSError as problem:
            pytest.skip(f"{here} is no address of this machine: {problem}")
        opened.connect((there, house.port))
        yield opened


def see_client(opened: socket.socket) -> tuple[str, int]:
    """As the server sees it."""
    address, port = opened.getsockname()[:2]
    return address.removeprefix("::ffff:"), port


@pytest.mark.parametrize(("here", "there"), OWN_ENDS)
def test_the_owner_of_a_connection_is_seen(house: House, here: str, there: str) -> None:
    """From any address of this machine, and by any kind of socket."""
    with connect(house, here, there) as opened:
        owner = find_owner(see_client(opened), house.port)

    if not Path("/proc/net/tcp").exists():
        assert owner is None
    else:
        assert owner == os.getuid()


def test_who_has_closed_already_is_nobody(house: House) -> None:
    """The kernel says root of it, whosever it was."""
    if not Path("/proc/net/tcp").exists():
        pytest.skip("the kernel tells nothing of connections here")
    with connect(house, "127.0.0.1", "127.0.0.1") as opened:
        client = see_client(opened)

    assert find_owner(client, house.port) == NOBODY


def test_where_the_kernel_shows_no_connections_everybody_needs_the_token_alone(tmp_path: Path) -> None:
    assert find_owner(("127.0.0.1", 5), 7, tables=[tmp_path / "tcp", tmp_path / "tcp6"]) is None


@pytest.mark.parametrize(("here", "there"), OWN_ENDS)
def test_another_user_is_refused_from_any_address_even_with_the_cookie(house: House, here: str, there: str) -> None:
    """A cookie of 127.0.0.1 goes to whoever listens at another port of it: it must not be enough."""
    house.enter()
    cookie = house.gather_cookie()

    with connect(house, here, there) as opened:
        house.strangers.add(see_client(opened))
        words = f"GET /runs HTTP/1.1\r\nhost: 127.0.0.1:{house.port}\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n"
        opened.sendall(words.encode())
        said = b"".join(iter(lambda: opened.recv(65536), b""))

    assert said.startswith(b"HTTP/1.1 403")


async def _never(*_: object) -> None:
    raise AssertionError("another user came in")


def test_another_user_of_the_machine_is_refused_even_with_the_token() -> None:
    import asyncio

    keys = Keys()
    door = Door(_never, keys=keys, port=7, find_owner=lambda client, server: os.getuid() + 4711)
    scope = {
        "type": "http", "method": "GET", "path": "/enter", "query_string": f"token={keys.token}".encode(),
        "headers": [(b"host", b"127.0.0.1:7")], "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 7),
        "scheme": "http",
    }  # fmt: skip
    sent: list[dict[str, object]] = []

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    asyncio.run(door(scope, _never, send))  # type: ignore[arg-type]

    assert sent[0]["status"] == 403
    assert not any(name == b"set-cookie" for name, _ in sent[0]["headers"])  # type: ignore[attr-defined]
