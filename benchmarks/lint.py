"""How long do a thousand scripts take? CPU time, beside reading the files, and beside shellcheck where it is."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.report import Row, count_cpu_ms, show

COUNT = 1000
BUDGET_MS = 5000
_TESTS = Path(__file__).parent.parent / "tests"
_READ = "import pathlib, sys; [p.read_bytes() for p in pathlib.Path(sys.argv[1]).iterdir()]"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder)
        program = Path(sys.executable).with_name("windlass")
        quiet = {**os.environ, "WINDLASS_STATE_DIR": name}
        reading = count_cpu_ms([sys.executable, "-c", _READ, folder], env=quiet)
        ours = count_cpu_ms(["sh", "-c", f"{program} -q lint {folder} || true"], env=quiet)
        rows = [
            Row(what=f"read {COUNT} files in Python", value=reading),
            Row(
                what=f"windlass lint, {COUNT} scripts",
                value=ours,
                budget=BUDGET_MS,
                note=f"{ours / reading:.0f}x reading",
            ),
        ]
        if shutil.which("shellcheck"):
            # A hundred of them: it takes a while.
            files = " ".join(str(file) for file in sorted(folder.iterdir())[: COUNT // 10])
            peer = 10 * count_cpu_ms(["sh", "-c", f"shellcheck -s bash {files} || true"], env=quiet)
            rows.append(
                Row(what=f"shellcheck, {COUNT} scripts (from 100)", value=peer, note=f"ours is {ours / peer:.2f}x")
            )
    show("lint, CPU time", rows)


def fill(folder: Path) -> None:
    """Good scripts of five centres, the broken ones, and what Windlass writes."""
    sources = [
        *sorted((_TESTS / "lint" / "good").glob("*.sh")),
        *sorted((_TESTS / "lint" / "scripts").glob("*.sh")),
        *sorted((_TESTS / "core" / "golden").glob("*.sh")),
    ]
    for number in range(COUNT):
        (folder / f"job{number:04}.sh").write_bytes(sources[number % len(sources)].read_bytes())


if __name__ == "__main__":
    main()
