"""pip on this laptop, which fetches wheels for another machine: only files come of it, nothing is installed here.

pip and not uv: uv has no command that keeps wheels. pip chooses wheels by the platform it is told, but judges markers
(`platform_system == "Linux"`) by the laptop (its issue 11664), so that a Mac would miss what torch needs on Linux. Its
one function that tells the markers is therefore given the site's, and what was fetched is checked afterwards.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from windlass.core.credentials import hide_credentials
from windlass.core.wheels.platform import Platform, list_platforms, make_abi, make_markers
from windlass.core.wheels.requirements import Requirements, format_constraints, format_for_laptop
from windlass.edges.files import explain
from windlass.errors import EnvironmentFailed, Interrupted, LibraryMissing, WheelsMissing

_RUNNER = """
import json, sys
from pip._vendor.packaging import markers
theirs, known = json.loads(sys.argv[1]), markers.default_environment
markers.default_environment = lambda: dict(known(), **theirs)
from pip._internal.cli.main import main
sys.exit(main(sys.argv[2:]))
"""
_QUIET = ("--no-input", "--disable-pip-version-check", "--no-color", "--progress-bar=off")
_NO_NETWORK = ("Temporary failure in name resolution", "Failed to establish a new connection", "NewConnectionError")
_MISMATCH = "DO NOT MATCH THE HASHES"
_MOST_SAID = 8

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Pinned:
    """One package of a resolution."""

    name: str
    version: str
    sha256: str | None


def run_download(found: Requirements, platform: Platform, target: Path, tell: Tell) -> None:
    """All wheels that these requirements need there, into an empty folder."""
    with tempfile.TemporaryDirectory(prefix="windlass-pip-") as folder:
        _run(["download", "--dest", str(target)], found, platform, Path(folder), tell)


def run_resolution(found: Requirements, platform: Platform, tell: Tell) -> tuple[Pinned, ...]:
    """The versions that would be taken, with the sums of their wheels; hardly anything is fetched."""
    with tempfile.TemporaryDirectory(prefix="windlass-pip-") as folder:
        report, nowhere = Path(folder, "report.json"), Path(folder, "nowhere")
        words = ["install", "--dry-run", "--ignore-installed", f"--target={nowhere}", f"--report={report}"]
        _run(words, found, platform, Path(folder), tell)
        told = json.loads(report.read_text(encoding="utf-8"))
    pins = []
    for one in told["install"]:
        sums = (one.get("download_info", {}).get("archive_info") or {}).get("hashes") or {}
        pins.append(Pinned(name=one["metadata"]["name"], version=one["metadata"]["version"], sha256=sums.get("sha256")))
    return tuple(sorted(pins, key=lambda pin: pin.name.lower()))


def load_needs(wheel: Path) -> tuple[str, ...]:
    """The lines Requires-Dist of a wheel."""
    try:
        with zipfile.ZipFile(wheel) as opened:
            name = next(one for one in opened.namelist() if one.endswith(".dist-info/METADATA") and one.count("/") == 1)
            head = opened.read(name).decode("utf-8", "replace").split("\n\n")[0]
    except (OSError, zipfile.BadZipFile, StopIteration) as problem:
        raise EnvironmentFailed(f"{wheel.name} is no wheel that can be read: {problem}") from None
    mark = "requires-dist:"
    return tuple(line[len(mark) :].strip() for line in head.splitlines() if line.lower().startswith(mark))


def _run(words: Sequence[str], found: Requirements, platform: Platform, folder: Path, tell: Tell) -> None:
    requirements, constraints = folder / "requirements.txt", folder / "constraints.txt"
    requirements.touch(mode=0o600)  # it may hold credentials: they are in no command line, and no other eyes see them
    requirements.write_text(format_for_laptop(found), encoding="utf-8")
    constraints.write_text(format_constraints(found), encoding="utf-8")
    python = f"{platform.python[0]}.{platform.python[1]}"
    target = [f"--platform={one}" for one in list_platforms(platform)]
    target += ["--implementation=cp", f"--python-version={python}", f"--abi={make_abi(platform.python)}"]
    argv = [*_find_pip(), json.dumps(make_markers(platform)), *words, "--only-binary=:all:", *target, *_QUIET]
    argv += ["-r", str(requirements), "-c", str(constraints)]
    try:
        process = subprocess.Popen(
            argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    except OSError as problem:
        raise explain(problem, Path(argv[0])) from problem
    said = _follow(process, tell)
    if process.returncode:
        raise _explain(said, platform)


def _follow(process: "subprocess.Popen[str]", tell: Tell) -> list[str]:
    """Its words; what it fetches is passed on."""
    said: list[str] = []
    assert process.stdout is not None
    try:
        for line in process.stdout:
            said.append(hide_credentials(line.rstrip()))
            if line.strip().startswith("Downloading "):
                tell(said[-1].strip())
        process.wait()
    except KeyboardInterrupt:
        raise Interrupted("interrupted", done="nothing was sent; what was downloaded is kept by pip") from None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return said


def _explain(said: list[str], platform: Platform) -> EnvironmentFailed | WheelsMissing:
    errors = [line.removeprefix("ERROR: ") for line in said if line.startswith("ERROR: ")]
    text = "\n".join((errors or said)[:_MOST_SAID])
    done = "nothing was sent"
    if any(word in line for line in said for word in _NO_NETWORK):
        return EnvironmentFailed(
            "this laptop does not reach the index of Python packages", said=text, hint="pip download pip", done=done
        )
    if any(_MISMATCH in line for line in said):
        return WheelsMissing(
            "a wheel of the index is not what the list of packages names by its sum",
            said="\n".join(line for line in said[said.index(_find_mismatch(said)) :][:_MOST_SAID]),
            hint="uv lock, or: windlass env lock; then look at what changed",
            done=done,
        )
    for line in errors:
        name = line.rpartition("No matching distribution found for ")[2]
        if name != line:
            return WheelsMissing(
                f"the index has no wheel of {name} for {platform}; what must be compiled first is not taken",
                said=text,
                hint='another version, or wheels = "pypi" in [environment], which compiles at the site',
                done=done,
            )
    return EnvironmentFailed("pip could not fetch the packages", said=text, hint="see its words above", done=done)


def _find_mismatch(said: list[str]) -> str:
    return next(line for line in said if _MISMATCH in line)


@cache
def _find_pip() -> tuple[str, ...]:
    """A Python on this laptop that has pip: ours, the shell's, or one that uv makes."""
    pythons = [sys.executable, *(found for name in ("python3", "python") if (found := shutil.which(name)))]
    for python in pythons:
        # Not in the folder of the project, where `import pip` would run a pip.py of its own.
        if not subprocess.run([python, "-c", "import pip"], cwd="/", capture_output=True, check=False).returncode:
            return python, "-c", _RUNNER
    if uv := shutil.which("uv"):
        return uv, "run", "--no-project", "--with", "pip", "python", "-c", _RUNNER
    raise LibraryMissing(
        f"neither {sys.executable} nor the python3 of your PATH has pip, and there is no uv",
        hint=f"{sys.executable} -m ensurepip",
    )
