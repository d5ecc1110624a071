"""What does one command at a site cost? Over our open channel, over a shared ssh connection, over a new one."""

import subprocess
import tempfile
from pathlib import Path

from benchmarks.cluster import find_cluster
from benchmarks.report import Row, show, skip, time_together_ms
from windlass.core.site import Login, Site
from windlass.edges.host import make_command, read_completed
from windlass.edges.ssh_host import SshHost

TITLE = "one command (`true`) at a site"


def main() -> None:
    cluster = find_cluster()
    if isinstance(cluster, str):
        skip(TITLE, cluster)
        return
    with tempfile.TemporaryDirectory(dir="/tmp") as home:
        rows = []
        for host in ("login-direct", "login"):
            rows += _measure(host, cluster.ssh_config, Path(home))
    show(TITLE, rows)


def _measure(name: str, config: Path, home: Path) -> list[Row]:
    host = SshHost(Site(name=name, login=Login(host=name)), config=config, runtime=home / "run")
    shared = ["-o", "ControlMaster=auto", "-o", f"ControlPath={home}/{name}", "-o", "ControlPersist=60"]
    ssh = ["ssh", "-F", str(config)]

    def ask() -> None:
        (reply,) = host.ask([make_command(["true"])])
        assert read_completed(reply).exit_code == 0

    times = time_together_ms(
        {
            "windlass, channel open": ask,
            "ssh, shared connection": lambda: _run([*ssh, *shared, name, "true"]),
            "ssh, new connection": lambda: _run([*ssh, name, "true"]),
        },
        repeats=7,
    )
    host.close_master()
    subprocess.run([*ssh, *shared, "-O", "exit", name], capture_output=True, check=False)
    peer = times["ssh, shared connection"]
    where = "through a jump host" if name == "login" else "direct"
    return [
        Row(
            what=f"{what}, {where}",
            value=spent,
            peer="shared ssh",
            ratio=spent / peer,
            budget=1.0 if "windlass" in what else None,
        )
        for what, spent in times.items()
    ]


def _run(argv: list[str]) -> None:
    subprocess.run(argv, check=True, capture_output=True)


if __name__ == "__main__":
    main()
