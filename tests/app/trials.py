"""One trial of exactly-once: a submission, something killed in its midst, the next command, and the jobs there are."""

import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.app.victims import Place, Told, Victim, look, resume, run_command, submit, submit_and_die
from tests.cluster.cluster import SlurmCluster
from windlass.core.record import RunRecord, RunState
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site
from windlass_job import wire

_PATIENCE_S = 60.0
_PID_S = 5.0

# The login node's Python and sbatch, as the site file names them: ours, which do as the trial's folder says.
_PYTHON = """#!/bin/sh
echo $$ > {folder}/deputy.pid
point=$(cat {folder}/die-at)
[ -z "$point" ] || export WINDLASS_TEST_DIE_AT="$point"
exec python3 "$@"
"""
# Held, so that the jobs stay in the queue and are counted there.
_SBATCH = """#!/bin/sh
echo $$ > {folder}/sbatch.pid
read -r before after < {folder}/sbatch-takes
[ "$before" = 0 ] || sleep "$before"
[ "$after" != 0 ] || exec /usr/bin/sbatch --hold "$@"
/usr/bin/sbatch --hold "$@" || exit
sleep "$after"
"""


@dataclass(kw_only=True)
class Bench:
    """A laptop of its own with a site of its own; trials on it come one after the other."""

    place: Place
    folder: Path  # at the site: the programs above and what they are told
    random: random.Random
    duration_s: float = 0.5  # of an undisturbed submission
    known: set[str] = field(default_factory=set)
    late: int = 0  # kills that found the submission over

    def tell(self, *, die_at: str = "", sbatch_takes: tuple[float, float] = (0, 0)) -> None:
        for name, text in (("die-at", die_at), ("sbatch-takes", "{} {}\n".format(*sbatch_takes))):
            (self.folder / "told").write_text(text)
            (self.folder / "told").replace(self.folder / name)  # whole: an sbatch that is late may read it now
        (self.folder / "sbatch.pid").unlink(missing_ok=True)

    def measure(self) -> None:
        """The first, undisturbed; it also surveys the site and sends the files."""
        self.tell()
        for _ in range(2):
            victim = Victim(submit, self.place)
            victim.wait_for_start()
            start = time.monotonic()
            told = victim.end()
            assert told.records, told.problem
            self.duration_s = time.monotonic() - start

    def pick_moment(self) -> float:
        return self.random.uniform(0, self.duration_s)

    def note_kill(self, victim: Victim) -> None:
        """Just before it: one that comes too late does not count, and the next ones come earlier."""
        is_late = victim.has_answered()
        self.late += is_late
        self.duration_s *= 0.7 if is_late else 1.05

    def look(self) -> list[RunRecord]:
        """The next command: all that is on record, after it was looked at. What is in flight is looked at again."""
        self.tell()
        deadline = time.monotonic() + _PATIENCE_S
        told = run_command(look, self.place)
        while not told.records or any(one.state is RunState.SUBMITTING for one in told.records):
            if time.monotonic() > deadline:
                raise TimeoutError(f"still not clear: {told}")
            told = run_command(look, self.place)
        return list(told.records)

    def look_for_new(self) -> RunRecord | None:
        """The run of the last submission; None when it never came onto the record."""
        new = [record for record in self.look() if record.run_id not in self.known]
        self.known |= {record.run_id for record in new}
        assert len(new) <= 1
        return new[0] if new else None

    def resume(self, record: RunRecord) -> Told:
        self.tell()
        return run_command(resume, self.place, record.run_id)

    def read_pid(self, name: str) -> int | None:
        """Of `deputy` or `sbatch`, once it is there."""
        deadline = time.monotonic() + _PID_S
        while time.monotonic() < deadline:
            with suppress(FileNotFoundError, ValueError):
                return int((self.folder / f"{name}.pid").read_text())
        return None


@contextmanager
def open_bench(slurm: SlurmCluster, project: Path, number: int, host: str) -> Iterator[Bench]:
    # Short: ssh's control socket lies below it.
    home = Path(tempfile.mkdtemp(prefix=f"wx{number}-", dir="/tmp"))
    folder = Path(tempfile.mkdtemp(prefix="once-", dir=slurm.home("alice")))
    (folder / "bin").mkdir()
    for name, text in (("python", _PYTHON), ("bin/sbatch", _SBATCH)):
        (folder / name).write_text(text.format(folder=folder))
        (folder / name).chmod(0o755)
    for path in (folder, folder / "bin"):
        shutil.chown(path, "alice")
        path.chmod(0o755)
    env = {
        **os.environ,
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(home),
        "WINDLASS_CONFIG_DIR": str(home / "config"),
        "WINDLASS_STATE_DIR": str(home / "state"),
        "WINDLASS_SSH_CONFIG": str(slurm.ssh_config),
    }
    site = (
        f'root = "{folder}/root"\n[login]\nhost = "{host}"\n'
        f'[software]\npython = "{folder}/python"\nslurm_path = "{folder}/bin"\n'
    )
    name = f"site{number}"
    add_site(name, site, find_folders(env))
    bench = Bench(place=Place(env=env, project=project, site=name), folder=folder, random=random.Random(number))
    try:
        yield bench
    finally:
        for pid in find_masters(bench):
            _kill(pid)
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


# ---- what is killed ------------------------------------------------------------------------------------------------


def kill_client(bench: Bench) -> None:
    """`windlass run` itself, at a random moment."""
    bench.tell()
    victim = Victim(submit, bench.place)
    victim.wait_for_start()
    time.sleep(bench.pick_moment())
    bench.note_kill(victim)
    victim.kill()
    victim.end()


def kill_ssh(bench: Bench) -> None:
    """The ssh process that carries our frames."""
    _kill_during(bench, lambda victim: _find_children(victim.pid, "ssh"))


def kill_master(bench: Bench) -> None:
    """The shared connection below it."""
    _kill_during(bench, lambda victim: find_masters(bench))


def kill_deputy(bench: Bench) -> None:
    """On the login node, at a random moment."""
    _kill_during(bench, lambda victim: [bench.read_pid("deputy")])


def kill_sbatch(bench: Bench) -> None:
    """Before it asked the controller, in its midst, or when it had its answer already."""
    takes = bench.random.choice([(0.3, 0), (0, 0.3), (0, 0)])
    bench.tell(sbatch_takes=takes)
    victim = Victim(submit, bench.place)
    victim.wait_for_start()
    pid = bench.read_pid("sbatch")
    time.sleep(bench.random.uniform(0, 0.2 if any(takes) else 0.02))
    bench.note_kill(victim)
    _kill(pid)
    victim.end()


def kill_client_of_slow_sbatch(bench: Bench) -> None:
    """sbatch is still under way when the next command looks."""
    bench.tell(sbatch_takes=bench.random.choice([(2, 0), (0, 2), (1, 1), (7, 0)]))
    victim = Victim(submit, bench.place)
    victim.wait_for_start()
    bench.read_pid("sbatch")
    victim.kill()
    victim.end()


def kill_client_of_stopped_sbatch(bench: Bench) -> None:
    """sbatch hangs, as on a file system that does not answer, and goes on when everybody has looked away."""
    bench.tell(sbatch_takes=(0.2, 0))
    victim = Victim(submit, bench.place)
    victim.wait_for_start()
    pid = bench.read_pid("sbatch")
    assert pid is not None
    _kill(pid, signal.SIGSTOP)
    victim.kill()
    victim.end()
    (seen,) = (one for one in run_command(look, bench.place).records if one.run_id not in bench.known)
    assert seen.state is RunState.SUBMITTING
    _kill(pid, signal.SIGCONT)


def kill_client_of_stopped_deputy(bench: Bench) -> None:
    """The order lies in the pipe of a deputy that hangs; by the time it goes on, we have said it was not sent."""
    bench.tell()
    victim = Victim(submit, bench.place)
    victim.wait_for_start()
    deputy = bench.read_pid("deputy")
    assert deputy is not None
    time.sleep(bench.pick_moment() * 0.7)
    bench.note_kill(victim)
    _kill(deputy, signal.SIGSTOP)
    time.sleep(0.05)
    victim.kill()
    victim.end()
    try:
        run_command(look, bench.place)
    finally:
        _kill(deputy, signal.SIGCONT)
    _wait_for_end(deputy)


def make_client_kill(point: str) -> Callable[[Bench], None]:
    def kill(bench: Bench) -> None:
        bench.tell()
        assert run_command(submit_and_die, bench.place, point) == Told()

    return kill


def make_deputy_kill(point: str) -> Callable[[Bench], None]:
    def kill(bench: Bench) -> None:
        bench.tell(die_at=point)
        run_command(submit, bench.place)

    return kill


def _kill_during(bench: Bench, find: Callable[[Victim], Iterable[int | None]]) -> None:
    bench.tell()
    victim = Victim(submit, bench.place)
    victim.wait_for_start()
    targets = list(find(victim))
    assert targets
    time.sleep(bench.pick_moment())
    bench.note_kill(victim)
    for pid in targets:
        _kill(pid)
    victim.end()


# ---- processes -----------------------------------------------------------------------------------------------------


def find_masters(bench: Bench) -> list[int]:
    """The ssh that holds the shared connection: its control socket lies in the bench's own folder."""
    mark = bench.place.env["XDG_RUNTIME_DIR"].encode()
    return [pid for pid, words in _list_processes() if b"ControlMaster=yes" in words and mark in words]


def _find_children(parent: int, name: str) -> list[int]:
    found = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(pid) for pid in found if Path(f"/proc/{pid}/comm").read_text().strip() == name]


def _list_processes() -> Iterator[tuple[int, bytes]]:
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            with suppress(OSError):
                yield int(path.name), (path / "cmdline").read_bytes()


def _kill(pid: int | None, number: int = signal.SIGKILL) -> None:
    """One that is gone already is fine: the moment came late."""
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _wait_for_end(pid: int) -> None:
    """A zombie has ended too; some machines keep them for a while."""
    deadline = time.monotonic() + _PATIENCE_S
    with suppress(OSError):
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            assert time.monotonic() < deadline, "the deputy does not end"
            time.sleep(0.01)


# ---- what there is in the end --------------------------------------------------------------------------------------


def count_jobs(prefix: str) -> Counter[str]:
    """Jobs by token, of queue and history together: each job once."""
    queue = _run("squeue", "--all", "--noheader", "--states=all", "--Format=JobID:|,Name:60|,Comment:100")
    history = _run("sacct", "--allusers", "-X", "-n", "-P", "-S", "now-1hours", "-o", "JobIDRaw,JobName,Comment")
    tokens: dict[str, str] = {}
    for line in (queue + history).splitlines():
        job_id, name, comment, *_ = (*(word.strip() for word in line.split("|")), "", "")
        if name.startswith(prefix):
            tokens[job_id] = tokens.get(job_id) or comment or wire.TOKEN.format(run_id=name, number="?")
    return Counter(tokens.values())


def _run(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout
