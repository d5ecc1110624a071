"""How long does it take to know what 5,000 files hold? Cold and warm, beside git, sha256sum and tar."""

import random
import subprocess
import tempfile
from pathlib import Path

from benchmarks.report import Row, show, time_together_ms
from windlass.edges.snapshot import Snapshot, take_snapshot

FILES = 5_000


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        project = Path(home) / "project"
        _make_project(project)
        kept = Path(home) / "cache"
        _take(project, kept)
        caches = (Path(home) / f"cold-{number}" for number in range(1000))
        times = time_together_ms(
            {
                "windlass snapshot, cold": lambda: _take(project, next(caches)),
                "windlass snapshot, warm": lambda: _take(project, kept),
                "git ls-files | sha256sum": lambda: _run("git ls-files -z | xargs -0 sha256sum", project),
                "git status": lambda: _run("git status --porcelain", project),
                "tar to nowhere": lambda: _run("tar --exclude=.git -cf - . | cat", project),
            },
            repeats=5,
        )
    peer = "git ls-files | sha256sum"
    budgets = {"windlass snapshot, cold": 5.0, "windlass snapshot, warm": 2.0}
    rows = [
        Row(what=name, value=spent, peer="sha256sum", ratio=spent / times[peer], budget=budgets.get(name))
        for name, spent in times.items()
    ]
    show(f"snapshot of {FILES} files, 20 MB", rows)


def _take(project: Path, cache: Path) -> Snapshot:
    return take_snapshot(project, include=(), exclude=(), max_mb=500, max_files=20_000, cache_folder=cache)


def _make_project(project: Path) -> None:
    source = random.Random(1)
    for number in range(FILES):
        folder = project / f"package{number // 100:02d}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"module{number}.py").write_bytes(source.randbytes(4_000))
    _run("git init -q . && git add . && git -c user.name=b -c user.email=b@c commit -qm bench", project)


def _run(line: str, folder: Path) -> None:
    subprocess.run(["bash", "-c", line], cwd=folder, stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    main()
