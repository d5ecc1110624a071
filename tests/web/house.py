"""A dashboard with runs in it: a real uvicorn in a thread, over a store and a mirror that the test fills."""

import http.client
import json
import os
import re
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

import uvicorn

from tests.builders import PLAN, RECORD
from windlass.app.session import Session
from windlass.app.watching.watch import Watch
from windlass.core.codec import to_json
from windlass.core.record import RunRecord
from windlass.core.watching.looks import Look
from windlass.edges.mirror import Mirror
from windlass.web.application import make_application
from windlass.web.callers import Caller
from windlass.web.desk import Desk
from windlass.web.door import Keys
from windlass.web.peers import NOBODY, find_owner

SITE = "alpha"
FORM_KEY = re.compile(r'name="form_key" value="([^"]+)"')


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class House:
    """The server and what it shows."""

    session: Session
    watch: Watch
    desk: Desk
    server: uvicorn.Server
    keys: Keys
    port: int
    strangers: set[tuple[str, int]]  # callers whom the door is to take for another user's
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def mirror(self) -> Mirror:
        return self.watch.mirror

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers=headers)

    def post(self, path: str, form: Mapping[str, str], **headers: str) -> Answer:
        sent = {"content-type": "application/x-www-form-urlencoded", **headers}
        return self.ask("POST", path, headers=sent, body=urlencode(form).encode())

    def ask(self, method: str, path: str, *, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = {name.replace("_", "-"): value for name, value in (headers or {}).items()}
        if self.cookies and "cookie" not in sent:
            sent["cookie"] = self.gather_cookie()
        try:
            connection.request(method, path, body=body or None, headers=sent)
            answer = connection.getresponse()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def enter(self) -> Answer:
        answer = self.get(f"/enter?token={self.keys.token}")
        name, _, rest = answer.headers.get("set-cookie", "=").partition("=")
        self.cookies[name] = rest.partition(";")[0]
        return answer

    def gather_cookie(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def find_form_key(self, path: str) -> str:
        found = FORM_KEY.search(self.get(path).text)
        assert found is not None
        return found[1]

    def add(self, *records: RunRecord) -> None:
        self.session.store.save_many(records)

    def put(self, run_id: str, files: Mapping[str, bytes], *, asked: float = 1.0) -> None:
        """Files of a run as if they had been brought."""
        with self.mirror.change(run_id) as change:
            for path, content in files.items():
                about: dict[str, object] = {"path": path, "size": len(content), "mtime": asked}
                if "/" in path or path.endswith(".jsonl"):
                    about |= {"is_anew": True, "pieces": [[0, len(content)]], "end": len(content), "mark": 0}
                else:
                    about |= {"is_whole": True, "pieces": [[0, len(content)]]}
                change.take(about, content)
            change.note(asked=asked)

    def set_look(self, look: Look, site: str = SITE) -> None:
        self.session.store.keep(f"look:{site}", look)


def open_house(session: Session) -> tuple[House, threading.Thread]:
    """At a free port; nobody asks any site, because alpha is in no file: it is only shown."""
    opened = socket.socket()
    opened.bind(("127.0.0.1", 0))
    opened.listen(64)
    port = int(opened.getsockname()[1])
    keys, watch = Keys(), Watch(session)

    def open_session() -> Session:
        return Session(folders=session.folders, environ=session.environ)

    desk = Desk(watch, open_session)
    strangers: set[tuple[str, int]] = set()

    def see_owner(client: tuple[str, int], server_port: int) -> int | None:
        """By the real tables, in which the rows of strangers are another's."""
        owner = find_owner(client, server_port)
        return os.getuid() + 4711 if client in strangers and owner not in (None, NOBODY) else owner

    app = make_application(desk, keys=keys, port=port, find_owner=see_owner)
    config = uvicorn.Config(
        app, http=Caller, log_level="warning", lifespan="off", ws="none", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
    thread.start()
    house = House(session=session, watch=watch, desk=desk, server=server, keys=keys, port=port, strangers=strangers)
    return house, thread


def make_run(run_id: str, **values: object) -> RunRecord:
    folder = f"/scratch/alice/windlass/runs/{run_id}"
    return replace(RECORD, run_id=run_id, **{"folder": folder, **values})  # type: ignore[arg-type]  # it checks the names


def make_plan_file(run_id: str) -> bytes:
    return to_json(replace(PLAN, run_id=run_id))


def make_events(*rows: tuple[float, str, dict[str, object]]) -> bytes:
    told = ({"t": t, "kind": kind, "link": 1, "job": "45_1", **more} for t, kind, more in rows)
    return "".join(json.dumps(one) + "\n" for one in told).encode()


def make_lazy_gauges(start: float = 1000.0) -> dict[str, bytes]:
    """Half an hour of a node whose GPU did little, and its one core all it could."""
    columns = ["t", "memory_mb", "cpu_cores", "full_cores", "gpu0.use", "gpu0.memory_mb"]
    head = {"gauges": 2, "columns": columns, "cores": 12, "gpus": [{"uuid": "G", "memory_mb": 80 * 1024}]}
    rows = ([start + 30 * at, 100, 1.0, 1, 7, 30 * 1024] for at in range(120))
    text = "".join(json.dumps(row) + "\n" for row in (head, *rows))
    ends = make_events((start, "link_started", {}), (start + 3600, "link_ended", {"outcome": "done"}))
    return {"gauges/n1.jsonl": text.encode(), "events.jsonl": ends}
