"""A farm of calls made by hand, a real pilot that works on it, and what became of each call."""

import hashlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from windlass_job import wire
from windlass_job.farming import ledger, records, table
from windlass_job.farming.entries import DiskStore, Ledger

SOURCE = Path(__file__).parents[2] / "src"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Of one call."""

    codes: tuple[int, ...]  # of each attempt
    result: bytes | None  # of the last one that left any
    printed: bytes
    last_line: str

    @property
    def value(self) -> object:
        assert self.result is not None, self
        assert self.result[:1] == wire.CALL_VALUE, self
        return pickle.loads(self.result[1:])

    @property
    def error(self) -> tuple[str, str, str, bytes | None]:
        assert self.result is not None, self
        assert self.result[:1] == wire.CALL_ERROR, self
        found: tuple[str, str, str, bytes | None] = pickle.loads(self.result[1:])
        return found


@dataclass
class CallFarm:
    folder: Path
    card: dict[str, object] = field(default_factory=dict)
    python: str = f"{sys.version_info[0]}.{sys.version_info[1]}"
    total: int = 0

    @property
    def root(self) -> bytes:
        return os.fsencode(self.folder / "farm")

    def add(self, function: bytes | Callable[..., object], arguments: Iterable[tuple[object, ...]]) -> None:
        """A function as an import line (module:name) or one that can be imported here."""
        content = function if isinstance(function, bytes) else pickle.dumps(function, 4)
        digest = self.put_function(content, by_value=b"cloudpickle" in content)
        self.add_rows(digest + pickle.dumps((one, {}), 4) for one in arguments)

    def put_function(self, content: bytes, *, by_value: bool) -> bytes:
        digest = hashlib.sha256(content).hexdigest()[: wire.CALL_DIGEST].encode()
        head = json.dumps({"python": self.python, "by_value": by_value, "name": "work"}).encode()
        path = self.folder / "farm" / wire.FARM_FUNCTIONS / digest.decode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(head + b"\n" + content)
        return digest

    def add_rows(self, rows: Iterable[bytes]) -> None:
        tasks = self.root + b"/tasks"
        count = table.write_rows(tasks, self.total, rows)
        table.publish(tasks, table.Segment(self.total, count, table.CALLS))

        def grow(state: ledger.State) -> tuple[ledger.State, bytes]:
            made = ledger.grow(state, count)
            return made, ledger.format_entry(ledger.GROW, "test", made, moved=[])

        Ledger(DiskStore(self.root + b"/log")).append(grow)
        self.total += count

    def start(self, **variables: str) -> "subprocess.Popen[bytes]":
        (self.folder / "farm" / wire.FARM_CARD).write_text(json.dumps({"name": "test", "cpus": 1, **self.card}))
        return subprocess.Popen(
            [sys.executable, "-m", "windlass_job", wire.FARM_VERB, "--farm", os.fsdecode(self.root)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(SOURCE), "TMPDIR": str(self.folder), **variables},
            stdout=subprocess.PIPE,
        )

    def run(self, **variables: str) -> str:
        pilot = self.start(**variables)
        said, _ = pilot.communicate(timeout=60)
        assert pilot.returncode == 0, said
        return said.decode()

    def load(self) -> list[Outcome]:
        ends: dict[int, list[records.Ended]] = {}
        for path in sorted((self.folder / "farm" / "pilots").glob("*.rec")):
            for ended in records.read_ends(path.read_bytes()):
                ends.setdefault(ended.task, []).append(ended)
        results, printed = self._load_pieces(".rix", ".res"), self._load_pieces(".idx", ".out")
        return [
            Outcome(
                codes=tuple(ended.code for ended in ends.get(task, [])),
                result=results[task][-1] if task in results else None,
                printed=b"".join(printed.get(task, [])),
                last_line=ends[task][-1].last_line if task in ends else "",
            )
            for task in range(self.total)
        ]

    def _load_pieces(self, index: str, content: str) -> dict[int, list[bytes]]:
        found: dict[int, list[bytes]] = {}
        for path in sorted((self.folder / "farm" / "pilots").glob("*" + index)):
            whole = path.with_suffix(content).read_bytes()
            for line in path.read_text().splitlines():
                task, _, offset, size = map(int, line.split())
                found.setdefault(task, []).append(whole[offset : offset + size])
        return found
