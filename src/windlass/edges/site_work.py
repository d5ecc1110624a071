"""Long work at a site that goes on while the laptop sleeps: started there, and looked at now and then."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from windlass.core.site import Site
from windlass.edges.host import Host, Json, Request, expect, make_command, read_completed
from windlass.edges.job_zip import make_job_zip
from windlass.errors import DataFailed, SiteNotReady, WindlassError
from windlass_job import wire

_FIRST_LOOK_S = 0.1
_LOOK_S = 1.0
_SILENT_LOOKS = 15  # then it is asked for whether it still lives
_MOST_RESTARTS = 3

Sleep = Callable[[float], None]


@dataclass(frozen=True, kw_only=True)
class Look:
    """How far it is, in the words of the packer; `result` when it ended."""

    done: tuple[int, ...] = ()
    told_at: float = 0.0  # by the clock there: one that reads a large file tells the same again, later
    words: str = ""  # what it said last
    result: Json | None = None


class SiteWork:
    """One piece of work. Asked for again it is found again: its folder is named after the request."""

    def __init__(self, host: Host, site: Site, root: str, request: Json) -> None:
        """root: with its variables filled in."""
        self._host = host
        self._site = site
        self._root = root
        self._request = request
        text = json.dumps(request, sort_keys=True)
        name = f"{request['verb']}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        self.folder = f"{root}/{wire.WORK}/{name}"

    def start(self) -> str:
        """`started`, or `running` where it was going on already."""
        request = json.dumps(self._request).encode()
        program = lay_program(self._host, self._site, self._root)
        write = _make_write({f"{self.folder}/request.json": request})
        argv = [self._site.software.python, "-I", program, wire.WORK_VERB, "--folder", self.folder]
        written, ran = self._host.ask([write, make_command(argv, timeout_s=60)])
        expect(written, SiteNotReady, f"nothing can be written to {self.folder} at {self._site.name}")
        done = read_completed(ran)
        word = done.out.strip()
        if done.exit_code or word not in ("started", "running"):
            raise SiteNotReady(
                f"{self._host.name}: the work could not be started", said=done.err or done.out, hint=self._say_check()
            )
        return word

    def follow(
        self,
        *,
        killed: type[WindlassError] = DataFailed,
        hint: str | None = None,
        sleep: Sleep = time.sleep,
        silent_looks: int = _SILENT_LOOKS,
    ) -> Iterator[Look]:
        """Until it ends; the last one has the result. A worker that was killed is started again, where it was."""
        pause_s, silent, restarts = _FIRST_LOOK_S, 0, 0
        last: tuple[tuple[int, ...], float] = ((-1,), 0.0)
        while True:
            sleep(pause_s)
            pause_s = min(_LOOK_S, pause_s * 1.5)
            look = self.look()
            now = (look.done, look.told_at)
            silent = 0 if now != last else silent + 1
            last = now
            if look.result is None and silent >= silent_looks:
                silent = 0
                restarts += self.start() == "started"
            if restarts > _MOST_RESTARTS:
                raise killed(f"the work in {self.folder} at {self._site.name} was killed {restarts} times", hint=hint)
            yield look
            if look.result is not None:
                return

    def look(self) -> Look:
        progress, result = self._host.ask([self._make_read(name) for name in ("progress.json", "result.json")])
        told = (_read_json(progress.payload) if progress.ok else None) or {}
        return Look(
            done=tuple(told.get("done") or ()),
            told_at=float(told.get("time") or 0),
            words=str(told.get("words") or ""),
            result=_read_json(result.payload) if result.ok else None,
        )

    def stop(self) -> None:
        """At its next sign of life; what it has done stays done."""
        self._host.ask([_make_write({f"{self.folder}/stop": b""})])

    def _make_read(self, name: str) -> Request:
        return Request(operation="read", arguments={"path": f"{self.folder}/{name}"}, idempotent=True)

    def _say_check(self) -> str:
        return f"windlass site check {self._site.name}"


def lay_program(host: Host, site: Site, root: str) -> str:
    """Where our own program lies at the site. Sent only when it is not there: it is named after its content."""
    content = make_job_zip()
    digest = hashlib.sha256(content).hexdigest()
    name = f"{wire.TOOLS}/windlass_job-{digest[:12]}.pyz"
    look = Request(operation="hash_files", arguments={"folder": root, "paths": [name]}, idempotent=True)
    reply = host.ask([look])[0]
    if not reply.ok or reply.values["sha256"] != [digest]:
        laid = host.ask([_make_write({f"{root}/{name}": content})])[0]
        expect(laid, SiteNotReady, f"nothing can be written to {root} at {site.name}")
    return f"{root}/{name}"


def fetch_root(host: Host, site: Site) -> str:
    """The site's root as a path there."""
    reply = host.ask([Request(operation="facts", arguments={"root": site.root}, idempotent=True)])[0]
    return str(expect(reply, SiteNotReady, f"{site.name}: its root {site.root} is no path there").values["root"])


def fetch_paths(host: Host, texts: Sequence[str]) -> list[str]:
    """Each with the variables of the login node in it; one that means nothing there is left as it is, for the job."""
    asked = [Request(operation="facts", arguments={"root": text}, idempotent=True) for text in texts]
    replies = host.ask(asked)
    return [str(reply.values["root"]) if reply.ok else text for text, reply in zip(texts, replies, strict=True)]


def _make_write(files: dict[str, bytes]) -> Request:
    listed = [{"path": path, "bytes": len(content), "mode": 0o600} for path, content in files.items()]
    return Request(operation="write", arguments={"files": listed}, payload=b"".join(files.values()))


def _read_json(content: bytes) -> Json | None:
    try:
        found = json.loads(content)
    except ValueError:  # being written
        return None
    return found if isinstance(found, dict) else None
