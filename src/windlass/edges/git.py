"""Asking git about a project: its files, its commit, its uncommitted changes. Nothing of the repository is run."""

import os
import signal
import stat
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

_LONGEST_S = 60.0
_MOST_BYTES = 1 << 30
MAX_DIFF_BYTES = 5_000_000
_MOST_DIFF_PATHS = 2000

_SAFE = (
    "--no-pager",
    "-c",
    "core.fsmonitor=false",  # may be a program
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "diff.noprefix=false",
    "-c",
    "diff.mnemonicPrefix=false",
    "-c",
    "diff.autoRefreshIndex=false",  # would write the index
)


class GitFailed(Exception):
    """git is missing, refuses (another user's folder), or takes too long; its words are the message."""


@dataclass(frozen=True, kw_only=True)
class GitFiles:
    """Paths relative to the folder asked about, each with whether git tracks it."""

    paths: Mapping[str, bool]
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class GitState:
    """Where the work tree stands; without a first commit `commit` is None."""

    commit: str | None = None
    branch: str | None = None  # None: detached
    remote: str | None = None  # without user, password or token
    changed: tuple[str, ...] = ()  # tracked files that differ from the commit


def find_git_root(folder: Path) -> Path | None:
    """The nearest folder from here up that is a work tree (in a worktree or submodule .git is a file)."""
    for one in (folder, *folder.parents):
        if (one / ".git").exists():
            return one
    return None


def list_git_files(folder: Path) -> GitFiles:
    """What git tracks or would offer to track, files of submodules and of repositories inside included.

    Tracked files that are no longer there are listed too: the caller looks at each anyway.
    """
    paths: dict[str, bool] = {}
    notices: list[str] = []
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        inside, said = _list_one(folder / prefix)
        notices += [f"git: {line}" for line in said]
        for path, is_tracked in inside.items():
            whole = prefix + path.removesuffix("/")
            if not _is_folder(f"{folder}/{whole}"):
                paths[whole] = is_tracked
            elif (folder / whole / ".git").exists():
                waiting.append(whole + "/")
            elif is_tracked:
                notices.append(f"submodule {whole} is not checked out: git submodule update --init {whole}")
    return GitFiles(paths=paths, notices=tuple(notices))


def fetch_git_state(folder: Path) -> GitState:
    branch = _text(_try_git(folder, "symbolic-ref", "--quiet", "--short", "HEAD"))
    commit = _text(_try_git(folder, "rev-parse", "--verify", "--quiet", "HEAD"))
    changed: tuple[str, ...] = ()
    if commit:
        changed = _list_changed(folder)
    return GitState(commit=commit, branch=branch, remote=_fetch_remote(folder), changed=changed)


def fetch_diff(folder: Path, paths: Sequence[str]) -> tuple[bytes, bool]:
    """The uncommitted changes of these files, and whether they were cut to MAX_DIFF_BYTES."""
    if not paths:
        return b"", False
    asked = [f":(literal){path}" for path in paths[:_MOST_DIFF_PATHS]]
    diff = run_git(folder, *_no_filters(folder), "diff", *_PLAIN_DIFF, "HEAD", "--", *asked, limit=MAX_DIFF_BYTES + 1)
    is_cut = len(diff) > MAX_DIFF_BYTES
    if is_cut:
        diff = diff[: diff.rfind(b"\n", 0, MAX_DIFF_BYTES) + 1]
    return diff, is_cut or len(paths) > _MOST_DIFF_PATHS


def strip_credentials(url: str) -> str | None:
    """A remote's address as it may be written down; None when it cannot be told what of it is secret."""
    if "://" not in url:
        return url  # a path, or git@host:path, where git is no secret
    try:
        parts = urlsplit(url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
        where = host + (f":{parts.port}" if parts.port else "")
    except ValueError:
        return None
    if "@" in parts.path + parts.query + parts.fragment:
        return None  # a password with a slash in it looks like this
    if parts.scheme not in ("http", "https") and parts.username:
        where = f"{parts.username}@{where}"
    return urlunsplit((parts.scheme, where, parts.path, "", ""))


_PLAIN_DIFF = (
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-renames",
    "--submodule=short",
    "--relative",
)


def run_git(folder: Path, *arguments: str, limit: int = _MOST_BYTES, timeout_s: float = _LONGEST_S) -> bytes:
    """Its output, at most `limit` bytes of it."""
    return _run(folder, arguments, limit=limit, timeout_s=timeout_s)[0]


def _list_one(folder: Path) -> tuple[dict[str, bool], list[str]]:
    arguments = ("ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard")
    out, err = _run(folder, arguments, limit=_MOST_BYTES, timeout_s=_LONGEST_S)
    listed = {os.fsdecode(entry[2:]): not entry.startswith(b"?") for entry in out.split(b"\0") if entry}
    return listed, err.splitlines()[:3]


def _list_changed(folder: Path) -> tuple[str, ...]:
    """By `status`, which unlike `diff` can tell a touched file from a changed one without writing the index."""
    prefix = (_try_git(folder, "rev-parse", "--show-prefix") or b"").removesuffix(b"\n")
    options = ("--porcelain", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=none")
    entries = run_git(folder, *_no_filters(folder), "status", *options, "--", ".").split(b"\0")
    return tuple(os.fsdecode(entry[3:].removeprefix(prefix)) for entry in entries if entry)


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _fetch_remote(folder: Path) -> str | None:
    answer = _try_git(folder, "config", "-z", "--get-regexp", r"^remote\..*\.url$") or b""
    urls = dict(entry.split("\n", 1) for entry in os.fsdecode(answer).split("\0") if "\n" in entry)
    url = urls.get("remote.origin.url") or next(iter(urls.values()), None)
    return strip_credentials(url) if url else None


def _no_filters(folder: Path) -> list[str]:
    """A filter is a program that the repository's configuration names, and git would run it to compare files.

    Without it a changed file under Git LFS shows as binary, which is all that can be said of it anyway.
    """
    answer = os.fsdecode(_try_git(folder, "config", "-z", "--name-only", "--get-regexp", r"^filter\.") or b"")
    drivers = {name.split(".", 1)[1].rpartition(".")[0] for name in answer.split("\0") if name.count(".") >= 2}
    options: list[str] = []
    for driver in sorted(drivers):
        for setting in ("clean=", "smudge=", "process=", "required=false"):
            options += ["-c", f"filter.{driver}.{setting}"]
    return options


def _try_git(folder: Path, *arguments: str) -> bytes | None:
    """For questions where git's "no" is an answer."""
    try:
        return run_git(folder, *arguments)
    except GitFailed:
        return None


def _text(answer: bytes | None) -> str | None:
    return (answer or b"").decode(errors="replace").strip() or None


def _run(folder: Path, arguments: Sequence[str], *, limit: int, timeout_s: float) -> tuple[bytes, str]:
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                ["git", "-C", str(folder), *_SAFE, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=_make_environment(),
                start_new_session=True,
            )
        except OSError as error:
            raise GitFailed(f"git cannot be run: {error.strerror}") from error
        out, is_late = _read_bounded(process, limit=limit, timeout_s=timeout_s)
        errors.seek(0)
        said = errors.read(100_000).decode(errors="replace").strip()
    if is_late:
        raise GitFailed(f"git {arguments[0]} took longer than {timeout_s:.0f} s")
    if process.returncode != 0 and len(out) < limit:
        raise GitFailed(said.partition("\n")[0].removeprefix("fatal: ") or f"git ended with {process.returncode}")
    return out, said


def _read_bounded(process: subprocess.Popen[bytes], *, limit: int, timeout_s: float) -> tuple[bytes, bool]:
    late = threading.Event()

    def stop() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(timeout_s, stop)
    timer.daemon = True
    timer.start()
    assert process.stdout is not None
    try:
        with process.stdout:
            out = process.stdout.read(limit)
        if len(out) >= limit:
            _kill(process)
        process.wait()
    finally:
        timer.cancel()
        _kill(process)
        process.wait()
    return out, late.is_set()


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)  # its own session: submodules are asked by children


def _make_environment() -> dict[str, str]:
    """Without GIT_DIR and the like, which are set inside hooks and would lead to another repository."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(("GIT_CONFIG", "GIT_EXEC_PATH", "GIT_CEILING"))
    }
    # No lock taken, nobody asked for a password, and no missing object fetched over the network.
    fixed = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "none", "LC_ALL": "C"}
    return {**kept, **fixed}
