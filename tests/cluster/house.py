"""A machine of its own in which a real Slurm plays one centre after another (`centre.py` says how each is set up).

It shares nothing with the test cluster but the programs: other namespaces, other files, other database. It ends with
the process that started it, and leaves nothing.
"""

import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.centre import Centre, make_account_commands, make_files, make_late_account_commands
from tests.waiting import wait_until

_SCRIPTS = Path(__file__).parent
_NAMESPACES = ("--mount", "--net", "--uts", "--ipc", "--pid")
_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the real sbatch made of a script."""

    job_id: str | None  # None: refused
    said: str  # on stderr


@dataclass(frozen=True, kw_only=True)
class Look:
    """A job as squeue shows it: CONFIGURING is as near to running as a job gets here."""

    state: str
    reason: str
    partition: str
    nodes: int


class House:
    """Namespaces with munge and a database, for one session."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="windlass-centres-"))
        self.folder.chmod(0o755)
        self.share = self.folder / "share"
        for name in ("etc", "log"):
            (self.share / name).mkdir(parents=True)
        with (self.share / "log" / "house.log").open("wb") as log:
            # Whoever started it may be killed: it must not outlive its tests.
            argv = ["setpriv", "--pdeathsig", "KILL", "unshare", *_NAMESPACES, "--fork", "--kill-child"]
            self._process = subprocess.Popen(
                [*argv, _SCRIPTS / "centre-house.sh", self.folder],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_until(self._is_settled, "the house of the centres", pause_s=0.05)
        if self._process.poll() is not None:
            raise RuntimeError(f"the house of the centres did not start:\n{self.read_logs()}")

    @property
    def pid(self) -> int:
        return int((self.folder / "pid").read_text())

    def enter(self, argv: Sequence[str]) -> list[str]:
        """The command that runs this one inside, as root."""
        return ["nsenter", f"--target={self.pid}", *_NAMESPACES, "--root", "--wd", *argv]

    def run(
        self, argv: Sequence[str], *, stdin: str = "", timeout_s: float = 60, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.enter(argv),
            input=stdin,
            env={"PATH": f"/usr/sbin:/sbin:{_PATH}", "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )
        if check and done.returncode:
            raise subprocess.SubprocessError(
                f"{shlex.join(argv)}: exit code {done.returncode}\n{done.stdout}{done.stderr}\n{self.read_logs()}"
            )
        return done

    def slurm(self, *arguments: str) -> None:
        """One of the steps of centre-slurm.sh."""
        self.run(["bash", "-s", "--", *arguments], stdin=(_SCRIPTS / "centre-slurm.sh").read_text())

    def read_logs(self) -> str:
        logs = sorted((self.share / "log").glob("*.log"))
        return "\n".join(f"{log.name}: {line}" for log in logs for line in log.read_text().splitlines()[-8:])

    def close(self) -> None:
        # Its first process takes the others with it.
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(timeout=20)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _is_settled(self) -> bool:
        return (self.share / "ready").exists() or self._process.poll() is not None


class LiveCentre:
    """A centre whose Slurm runs, as its user sees it."""

    def __init__(self, house: House, centre: Centre) -> None:
        self.house = house
        self.centre = centre
        self.site = centre.site
        self._start()

    @property
    def home(self) -> str:
        return self.centre.variables.get("HOME", f"/home/{self.centre.user}")

    def enter(self, argv: Sequence[str], *, user: str | None = None) -> list[str]:
        """The command that runs this one as the user after login."""
        name = user or self.centre.user
        variables = {"HOME": self.home, "USER": name, "LOGNAME": name, "PATH": _PATH, "LANG": "C.UTF-8"}
        variables |= self.centre.variables
        return self.house.enter(
            [
                *("setpriv", "--reuid", name, "--regid", name, "--init-groups"),
                *("env", "-i", "-C", self.home, *(f"{key}={value}" for key, value in variables.items())),
                *argv,
            ]
        )

    def run(
        self, *argv: str, user: str | None = None, stdin: str = "", timeout_s: float = 60
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.enter(argv, user=user),
            input=stdin,
            env={"PATH": f"/usr/sbin:/sbin:{_PATH}"},
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )

    def write_python(self, path: Path, *, user: str | None = None) -> Path:
        """A program that is the centre's python3, for `LocalHost`."""
        path.write_text(f'#!/bin/sh\nexec {shlex.join(self.enter(["/usr/bin/python3"], user=user))} "$@"\n')
        path.chmod(0o755)
        return path

    def submit(self, script: str, *options: str, user: str | None = None) -> Verdict:
        done = self.run("sbatch", "--parsable", *options, user=user, stdin=script)
        return Verdict(job_id=done.stdout.strip() if done.returncode == 0 else None, said=done.stderr.strip())

    def look(self) -> dict[str, Look]:
        """All jobs, by number; of an array the task that got furthest."""
        done = self.run("squeue", "--noheader", "--array", "--format=%F|%T|%r|%P|%D")
        looks: dict[str, Look] = {}
        for line in done.stdout.splitlines():
            job_id, state, reason, partition, nodes = line.split("|")
            if job_id not in looks or state != "PENDING":
                looks[job_id] = Look(state=state, reason=reason, partition=partition, nodes=int(nodes))
        return looks

    def show(self, job_id: str) -> dict[str, str]:
        text = self.run("scontrol", "--oneliner", "show", "job", job_id).stdout
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def manage(self, *argv: str) -> str:
        """As the operators of the centre."""
        return self.house.run(argv).stdout

    def cancel_all(self) -> None:
        self.house.run(["scancel", "--user", self.centre.user])
        wait_until(lambda: not self.look(), "an empty queue", pause_s=0.05)

    def enforce_partition_limits(self, how: str) -> None:
        """ALL, ANY or NO."""
        conf = self.house.share / "etc" / "slurm.conf"
        lines = conf.read_text().splitlines()
        kept = [line for line in lines if not line.startswith("EnforcePartLimits=")]
        conf.write_text("\n".join([f"EnforcePartLimits={how}", *kept]) + "\n")
        self.house.slurm("reconfigure")

    def stop(self) -> None:
        self.house.slurm("stop")

    def _start(self) -> None:
        etc = self.house.share / "etc"
        shutil.rmtree(etc)
        etc.mkdir()
        for name, text in make_files(self.centre).items():
            (etc / name).write_text(text)
        self._make_folders()
        self.house.slurm("start-database", self.centre.site.name.replace("-", "_"))
        for stage in make_account_commands(self.centre):
            self._sacctmgr(stage)
        known = self.manage("sacctmgr", "-nP", "show", "assoc", f"user={self.centre.user}", "format=account")
        assert sorted(known.split()) == sorted(one.account for one in self.centre.members), known
        if not self.centre.has_default_account:
            self._forget_default_account()
        self.house.slurm("start-controller")
        self._sacctmgr(make_late_account_commands(self.centre))

    def _make_folders(self) -> None:
        folders = [self.home, *(value for value in self.centre.variables.values() if value.startswith("/"))]
        root = self.site.root.split("$")[0].rstrip("/")
        for folder in (*folders, *([f"{root}/{self.centre.user}"] if root else [])):
            self.house.run(["install", "-d", "-o", self.centre.user, "-g", self.centre.user, folder])

    def _sacctmgr(self, commands: Sequence[Sequence[str]]) -> None:
        """All at once: each takes half a second to commit, alone or not."""
        if not commands:
            return
        lines = [f"sacctmgr -i -Q {shlex.join(command)} >/dev/null & pids+=($!)" for command in commands]
        self.house.run(["bash", "-c", "\n".join(["pids=()", *lines, 'for pid in "${pids[@]}"; do wait "$pid"; done'])])

    def _forget_default_account(self) -> None:
        """Newer Slurm can have users without one; here the database must be told behind its back."""
        name = self.site.name.replace("-", "_")
        self.house.run(
            [
                *("mariadb", "--no-defaults", "--socket=/run/mysql/socket", f"accounts_{name}", "-e"),
                f"update {name}_assoc_table set is_def=0 where user='{self.centre.user}'",
            ]
        )
