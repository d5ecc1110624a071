"""Reading the text of a project's own files for the checks: bounded, near the top first, only what can matter."""

import os
import re
from collections.abc import Iterable, Set
from pathlib import Path

from windlass.core.snapshot import Manifest, SnapshotFile
from windlass.core.source.code import Binary, Code, Language, SourceFile

MAX_BYTES = 1_000_000  # of one file
MAX_FILES = 1_500
MAX_TOTAL = 12_000_000
MAX_BINARIES = 200
_SHELL = (".sh", ".bash", ".sbatch", ".slurm", ".srm", ".job")
_OTHER = re.compile(
    r"requirements.*\.txt|.*requirements\.txt|constraints.*\.txt|pyproject\.toml|env(?:ironment)?.*\.ya?ml"
    r"|Pipfile(?:\.lock)?|uv\.lock|poetry\.lock|pdm\.lock|setup\.cfg|Makefile"
    r"|.*\.def|(?:Docker|Container)file.*|pip\.(?:conf|ini)|uv\.toml|\.?condarc|\.?mambarc|pixi\.(?:toml|lock)"
    r"|conda-lock\.ya?ml|windlass\.toml"
)
_LIBRARY = re.compile(r".*\.(?:so(?:\.[\d.]+)?|sif)")
# ELF's e_machine, and the two letters of a SIF header, as `uname -m` calls them.
_ELF = {3: "i686", 62: "x86_64", 183: "aarch64", 21: "ppc64le", 243: "riscv64"}
_SIF = {b"02": "x86_64", b"04": "aarch64", b"06": "ppc64le"}


def load_project_code(project: Path, manifest: Manifest, command: str = "", also: Iterable[str] = ()) -> Code:
    """Files the command names come first; what cannot be read is passed over. also: whatever they are called."""
    files = [one for one in manifest.files if one.link is None]
    named = frozenset(also)
    wanted = [(one, language) for one in files if (language := _find_language(one, named)) is not None]
    wanted.sort(key=lambda pair: _rank(pair[0].path, command))
    loaded: list[SourceFile] = []
    passed_over = total = 0
    for file, language in wanted:
        if len(loaded) >= MAX_FILES or file.size > MAX_BYTES or total + file.size > MAX_TOTAL:
            passed_over += 1
            continue
        text = _load_text(project / file.path, language)
        if text is None:
            passed_over += 1
            continue
        total += file.size
        loaded.append(SourceFile(path=file.path, text=text, language=language))
    return Code(
        files=tuple(sorted(loaded, key=lambda one: one.path)),
        passed_over=passed_over,
        paths=frozenset(one.path for one in manifest.files),
        binaries=tuple(_load_binaries(project, files)),
    )


def _find_language(file: SnapshotFile, named: Set[str] = frozenset()) -> Language | None:
    base = file.path.rpartition("/")[2]
    if base.endswith((".py", ".pyw")):
        return Language.PYTHON
    if base.endswith(_SHELL):
        return Language.SHELL
    return Language.OTHER if file.path in named or _OTHER.fullmatch(base) else None


def _rank(path: str, command: str) -> tuple[bool, int, str]:
    return path.rpartition("/")[2] not in command, path.count("/"), path


def _load_text(path: Path, language: Language) -> str | None:
    """As Python would decode it, as far as that is simple: UTF-8, else Latin-1, which never fails."""
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError:
        return None
    if len(content) > MAX_BYTES or b"\0" in content[:8192]:
        return None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return text.replace("\r\n", "\n") if language is Language.PYTHON else text


def _load_binaries(project: Path, files: Iterable[SnapshotFile]) -> Iterable[Binary]:
    """Programs and libraries: what machine they are for."""
    looked = 0
    for file in files:
        is_program = file.mode == 0o755 and _find_language(file) is None and file.size > 64
        if not is_program and not _LIBRARY.fullmatch(file.path):
            continue
        looked += 1
        if looked > MAX_BINARIES:
            return
        if architecture := _find_architecture(project / file.path):
            yield Binary(path=file.path, architecture=architecture)


def _find_architecture(path: Path) -> str | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            head = file.read(64)
    except OSError:
        return None
    if head.startswith(b"\x7fELF") and len(head) >= 20:
        return _ELF.get(int.from_bytes(head[18:20], "big" if head[5] == 2 else "little"))
    if head[32:41] == b"SIF_MAGIC":
        return _SIF.get(head[45:47])
    return None
