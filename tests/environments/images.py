"""A small image for the tests of containers: bash and Python of this machine, with the libraries they need."""

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

CACHE = Path(os.environ.get("WINDLASS_TEST_CACHE", "/var/cache/windlass-tests"))
APPTAINER = CACHE / "apptainer" / "usr" / "bin"

_PROGRAMS = ("bash", "env", "cat", "ls", "sleep", "id", "true", "mkdir")
_LEFT_OUT = (
    *("test", "idlelib", "tkinter", "lib2to3", "ensurepip", "turtledemo", "pydoc_data", "config-*", "*.pyc"),
    *("dist-packages", "site-packages", "distutils"),
)


def reason_there_is_no_apptainer() -> str | None:
    if not (APPTAINER / "apptainer").exists():
        return "there is no Apptainer for the tests: run tests/cluster/install.sh"
    if not shutil.which("mksquashfs"):
        return "mksquashfs is missing: run tests/cluster/install.sh"
    return None


@cache
def make_tree() -> Path:
    """A root folder that Apptainer takes for an image; made once for this machine's Python."""
    python = Path(shutil.which("python3", path="/usr/bin:/bin") or sys.executable).resolve()
    tree = CACHE / f"tree-1-{python.name}"
    if tree.exists():
        return tree
    aside = tree.with_name(f"{tree.name}.{os.getpid()}")
    _fill(aside, python)
    aside.rename(tree)
    return tree


@cache
def make_small_tree() -> Path:
    """The same without Python: a tenth of it."""
    tree = CACHE / "tree-1-small"
    if not tree.exists():
        aside = tree.with_name(f"{tree.name}.{os.getpid()}")
        _fill(aside, None)
        aside.rename(tree)
    return tree


@cache
def make_image() -> Path:
    """The same as one .sif file."""
    image = make_tree().with_name(f"{make_tree().name}.sif")
    if not image.exists():
        aside = image.with_name(f"{image.stem}.{os.getpid()}.sif")
        run_apptainer("build", "--mksquashfs-args", "-comp gzip -Xcompression-level 1", str(aside), str(make_tree()))
        aside.rename(image)
    return image


def run_apptainer(*words: str) -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        "PATH": f"{APPTAINER}:{os.environ['PATH']}:/usr/sbin",
        "APPTAINER_CACHEDIR": str(CACHE / "oci"),
    }
    done = subprocess.run(["apptainer", *words], env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done


def _fill(tree: Path, python: Path | None) -> None:
    for folder in ("bin", "etc", "tmp", "var/tmp", "proc", "sys", "dev", "root", "home", "usr/bin"):
        (tree / folder).mkdir(parents=True, exist_ok=True)
    (tree / "tmp").chmod(0o1777)
    (tree / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/bash\n")
    (tree / "etc/group").write_text("root:x:0:\n")
    (tree / "etc/windlass-image").write_text("this is inside\n")
    programs = {name: Path(shutil.which(name, path="/usr/bin:/bin") or name) for name in _PROGRAMS}
    programs |= {"python3": python} if python else {}
    for name, program in programs.items():
        shutil.copy(program.resolve(), tree / "bin" / name)
    (tree / "bin/sh").symlink_to("bash")
    libraries = [*programs.values(), *(_copy_python(tree, python) if python else ())]
    _copy_libraries(tree, libraries)


def _copy_python(tree: Path, python: Path) -> list[Path]:
    """What it imports; the libraries among it."""
    library = Path(f"/usr/lib/{python.name}")
    shutil.copytree(library, tree / str(library).lstrip("/"), ignore=shutil.ignore_patterns(*_LEFT_OUT))
    return list(library.glob("lib-dynload/*.so"))


def _copy_libraries(tree: Path, programs: list[Path]) -> None:
    """With their loader, where the programs look for them."""
    said = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True, check=False).stdout
    for name in sorted(set(re.findall(r"(/\S+\.so[.\d]*) \(0x", said))):
        target = tree / name.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(name, target)
