"""How fast do 50,000 files reach a site over ssh? Against one archive through ssh, rsync and scp, near and far."""

import contextlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.edges.proxy import run_proxy
from tests.edges.sshd import Sshd, run_sshd

from benchmarks.data.corpus import make_jpegs
from benchmarks.report import Row, show

TITLE = "50,000 JPEGs (2.3 GB) to a site over ssh"
ROUNDS = 3
DELAY_S = 0.01  # each way
CHANGED = 100
FEW = 2000  # files, where all of them would take minutes

# What `windlass data send` does, from the start of its process; the last line tells what travelled.
SENDING = """
import json, os, sys; from pathlib import Path
from windlass.app.session import Session; from windlass.app.data.sending import send
from windlass.edges.folders import find_folders; from windlass.core.site import Login, Site
site = Site(name="hpc", root=sys.argv[1], login=Login(host=sys.argv[3]))
with Session(folders=find_folders(os.environ), environ=os.environ) as session:
    sent = send(session, site, Path(sys.argv[2]), "set")
print(json.dumps({"bytes": sent.sent_bytes, "seconds": sent.seconds}))
"""


class Field:
    """An sshd, reached directly as `near` and after 20 ms as `far`."""

    def __init__(self, folder: Path, server: Sshd, far_port: int) -> None:
        self.folder = folder
        self.config = folder / "config"
        self.source = make_jpegs()
        self.archive = folder / "one.tar"
        self.env = {
            **os.environ,
            "WINDLASS_SSH_CONFIG": str(self.config),
            "WINDLASS_STATE_DIR": str(folder / "state"),
            "WINDLASS_CONFIG_DIR": str(folder / "settings"),
            "XDG_RUNTIME_DIR": str(folder / "run"),
        }
        (folder / "run").mkdir(mode=0o700)
        known = folder / "known"
        known.write_text(f"host {server.host_key}\n")
        lines: list[str] = []
        for name, port in (("near", server.port), ("far", far_port)):
            host, *rest = server.make_lines(name, known_hosts=known)
            lines += [host, f"Port {port}", "HostKeyAlias host", *(one for one in rest if not one.startswith("Port"))]
        self.config.write_text("\n".join(lines) + "\n")

    def ssh(self, host: str, *options: str) -> list[str]:
        return ["ssh", "-F", str(self.config), *options, host]

    def send(self, host: str, root: Path) -> dict[str, float]:
        argv = [sys.executable, "-c", SENDING, str(root), str(self.source), host]
        done = subprocess.run(argv, env=self.env, check=True, capture_output=True, text=True)
        return dict(json.loads(done.stdout.splitlines()[-1]))

    def forget(self) -> None:
        """As if nothing had been sent, and no connection were open."""
        for socket in (self.folder / "run").rglob("*.s"):
            subprocess.run(
                ["ssh", "-F", str(self.config), "-o", f"ControlPath={socket}", "-O", "exit", "near"],
                capture_output=True,
                check=False,
            )
            socket.unlink(missing_ok=True)
        for name in ("root", "state", "x.tar", "copy"):
            path = self.folder / name
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        os.sync()


def main() -> None:
    with _open_field() as field:
        subprocess.run(["tar", "cf", str(field.archive), "-C", str(field.source), "."], check=True)
        rows = [*_measure_all(field, "near"), *_measure_all(field, "far"), *_measure_changes(field)]
        rows += _measure_files(field)
    show(TITLE, rows)


@contextlib.contextmanager
def _open_field() -> Iterator[Field]:
    with tempfile.TemporaryDirectory(dir="/tmp") as home:
        folder = Path(home)
        with (
            run_sshd(folder / "sshd", ["Subsystem sftp internal-sftp"]) as server,
            run_proxy(server.port, delay_s=DELAY_S) as port,
        ):
            field = Field(folder, server, port)
            try:
                yield field
            finally:
                field.forget()


def _measure_all(field: Field, host: str) -> list[Row]:
    def pipe(*options: str, then: str = "") -> None:
        command = f"cat > {field.folder}/x.tar{then}"
        with (
            field.archive.open("rb") as archive,
            subprocess.Popen(["cat"], stdin=archive, stdout=subprocess.PIPE) as cat,
        ):
            subprocess.run([*field.ssh(host, *options), command], stdin=cat.stdout, check=True)

    gcm = "Ciphers=aes128-gcm@openssh.com"
    taken = _take_turns(
        field,
        {
            "windlass": lambda: field.send(host, field.folder / "root"),
            "cat | ssh": pipe,
            "cat | ssh, our cipher": lambda: pipe("-o", gcm),
            "cat | ssh, our cipher, on the disk": lambda: pipe("-o", gcm, then=f"; sync {field.folder}/x.tar"),
        },
    )
    ours = taken["windlass"]
    where = "loopback" if host == "near" else "20 ms"
    rows = [
        Row(
            what=f"data send, from files, {where}",
            value=ours,
            unit="s",
            peer="cat | ssh",
            ratio=ours / taken["cat | ssh"],
            budget=1.1,
            note="verified and on the disk at the end",
        )
    ]
    for name, seconds in taken.items():
        if name != "windlass":
            rows.append(
                Row(what=f"{name} of one archive, {where}", value=seconds, unit="s", peer="us", ratio=seconds / ours)
            )
    return rows


def _take_turns(field: Field, works: dict[str, Callable[[], object]]) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            field.forget()
            started = time.monotonic()
            work()
            taken[name].append(time.monotonic() - started)
    return {name: statistics.median(found) for name, found in taken.items()}


def _measure_changes(field: Field) -> list[Row]:
    """On a copy made of links, so that the corpus stays as it is."""
    copy, chance = field.folder / "copy", random.Random(5)
    field.forget()
    subprocess.run(["cp", "-al", str(field.source), str(copy)], check=True)
    original, field.source = field.source, copy
    files = sorted(path for path in copy.rglob("*") if path.is_file())
    first = field.send("near", field.folder / "root")
    seconds, shares = [], []
    for _ in range(ROUNDS + 2):
        for path in chance.sample(files, CHANGED):
            content = chance.randbytes(path.stat().st_size)
            path.unlink()
            path.write_bytes(content)
        os.sync()
        started = time.monotonic()
        sent = field.send("near", field.folder / "root")
        seconds.append(time.monotonic() - started)
        shares.append(100 * sent["bytes"] / first["bytes"])
    field.source = original
    return [
        Row(what="sent again after 100 changed files", value=statistics.median(seconds), unit="s", budget=1.0),
        Row(what="bytes that travelled then", value=statistics.median(shares), unit="%", budget=2.0),
    ]


def _measure_files(field: Field) -> list[Row]:
    """Programs that send file by file: on a part, told for all."""
    few = field.folder / "few"
    folders = sorted(path for path in field.source.iterdir() if path.is_dir())
    count = 0
    for folder in folders:
        shutil.copytree(folder, few / folder.name)
        count += sum(1 for _ in folder.iterdir())
        if count >= FEW:
            break
    ssh = f"ssh -F {field.config}"
    works: dict[str, list[str]] = {
        "rsync -a": ["rsync", "-a", "-e", ssh, f"{few}/", f"near:{field.folder}/copy/"],
        "scp -r": ["scp", "-q", "-r", "-F", str(field.config), str(few), f"near:{field.folder}/copy"],
    }
    whole = field.source
    rows = []
    for name, argv in works.items():
        if shutil.which(argv[0]) is None:
            continue
        field.forget()
        started = time.monotonic()
        subprocess.run(argv, check=True)
        scaled = (time.monotonic() - started) * 50_000 / count
        rows.append(Row(what=f"{name} of the folder", value=scaled, unit="s", note=f"{count} files, scaled to 50,000"))
    field.source = whole
    return rows


if __name__ == "__main__":
    main()
