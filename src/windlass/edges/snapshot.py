"""Taking a snapshot of a project: which files are sent, with their hashes, and where the project stands in git.

Files: what git tracks or would offer to track; without git, what the .gitignore files do not name. Links are sent as
links when they lead somewhere inside the project; one that leads outside is left out and named, because it is mostly
a way to data (a file outside comes along, as a file, when `include` names its link). Empty folders are not sent.
"""

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windlass.core.ignore import Patterns, read_ignore_file, read_patterns
from windlass.core.selection import (
    Selection,
    drop_private_keys,
    find_environments,
    hide_removed,
    is_utf8,
    make_exact_pattern,
    make_secret,
)
from windlass.core.snapshot import (
    LeftOut,
    LeftOutReason,
    Manifest,
    SnapshotFile,
    format_left_out,
    format_name,
)
from windlass.core.snapshot_limits import Limits, make_refusal
from windlass.core.toml.writing import format_string, format_value
from windlass.edges.git import GitFailed, GitState, fetch_diff, fetch_git_state
from windlass.edges.hashing import Hashed, Hasher, UnsteadyFile, load_verified
from windlass.edges.links import find_unsent, read_inner_link
from windlass.edges.packed_in_project import find_unread_sets
from windlass.edges.project_files import Found, find_project_files
from windlass.edges.walk import describe_kind
from windlass.errors import SnapshotError

IGNORE_FILE = ".windlassignore"
_MOST_NAMED = 20


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """`notices`: all the user should be told, what was left out among it."""

    project: Path
    manifest: Manifest
    left_out: tuple[LeftOut, ...] = ()
    notices: tuple[str, ...] = ()
    commit: str | None = None
    branch: str | None = None
    remote: str | None = None  # without credentials
    is_dirty: bool = False  # the commit alone does not give these files
    diff: bytes = b""  # uncommitted changes of tracked files
    cache_file: Path | None = None
    held: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    @property
    def total_bytes(self) -> int:
        return self.manifest.total_bytes

    def open_blob(self, sha256: str) -> bytes:
        """The very bytes that have this hash; SnapshotError when the file has changed since the snapshot."""
        if sha256 in self.held:
            return self.held[sha256]
        files = [file for file in self.manifest.files if file.sha256 == sha256]
        for file in files:
            try:
                content = load_verified(f"{self.project}/{file.path}", sha256=sha256, size=file.size)
            except OSError:
                content = None
            if content is not None:
                return content
        if self.cache_file is not None:
            self.cache_file.unlink(missing_ok=True)  # it may be what is wrong
        name = files[0].path if files else sha256
        raise SnapshotError(
            f"{format_name(name)} changed while the project was being sent",
            hint="run the same command again; a file that changes all the time is left out by "
            f"exclude = {format_value([make_exact_pattern(name)])} under [run]",
        )


def take_snapshot(
    project: Path,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    max_mb: int = 200,
    max_files: int = 10_000,
    data: Sequence[str] = (),
    cache_folder: Path | None = None,
    clock: Callable[[], float] = time.time,
) -> Snapshot:
    """Patterns are those of .gitignore. `cache_folder`: where the hashes of unchanged files are remembered.

    data: paths that a source of [data] or the command names: a packed set there, below or around it comes along, and
    so does one whose name stands in the code.
    """
    project = project.resolve()
    if not project.is_dir():
        raise SnapshotError(f"{project} is not a folder")
    now = clock()
    wanted, unwanted = read_patterns(include), _load_exclude(project, exclude)
    found = find_project_files(project, include=wanted, exclude=unwanted)
    environments = find_environments(found.paths)
    packed = find_unread_sets(project, found, data)
    selection = Selection(include=wanted, exclude=unwanted, environments=environments, packed=packed)
    taking = _Taking(project=project, selection=selection, left_out=list(found.left_out))
    taking.select(found.paths)
    limits = Limits(max_mb=max_mb, max_files=max_files)
    if refusal := make_refusal(taking.sizes, limits, exclude=exclude, is_cut=found.is_cut):
        raise refusal
    hasher = Hasher(cache_file=_find_cache_file(cache_folder, project), now=now)
    taking.problems += [(folder, "the folder cannot be read") for folder in found.unreadable]
    taking.hash_all(hasher)
    hasher.save()
    manifest = Manifest(files=tuple(sorted(taking.files, key=lambda file: file.path)))
    state, diff, told = _fetch_history(found, taking)
    untracked = any(not found.paths.get(file.path, False) for file in manifest.files)
    return Snapshot(
        project=project,
        manifest=manifest,
        left_out=tuple(taking.left_out),
        notices=(
            *found.notices,
            *_warn_of_include(wanted, found),
            *format_left_out(taking.left_out),
            *taking.warn_of_links(),
            *told,
        ),
        commit=state.commit,
        branch=state.branch,
        remote=state.remote,
        is_dirty=found.is_git and (untracked or bool(state.changed)),
        diff=diff,
        cache_file=hasher.cache_file,
        held=hasher.held,
    )


def _find_own_output() -> Iterator[tuple[int, int]]:
    """Device and number of the files that this very process prints into: they change while they are sent."""
    for descriptor in (1, 2):
        with contextlib.suppress(OSError):  # closed
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode):
                yield status.st_dev, status.st_ino


@dataclass(kw_only=True)
class _Taking:
    """The work in hand: from paths to files with hashes."""

    project: Path
    selection: Selection
    left_out: list[LeftOut]
    files: list[SnapshotFile] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)  # files found to hold a private key
    _to_hash: dict[str, os.stat_result] = field(default_factory=dict)
    _followed: set[str] = field(default_factory=set)
    _own_output: frozenset[tuple[int, int]] = field(default_factory=lambda: frozenset(_find_own_output()))

    @property
    def sizes(self) -> dict[str, int]:
        sizes = {path: status.st_size for path, status in self._to_hash.items()}
        return sizes | {file.path: file.size for file in self.files}

    def select(self, paths: Mapping[str, bool]) -> None:
        root = str(self.project)
        for path, is_tracked in paths.items():
            verdict = self.selection.decide(path, is_tracked=is_tracked)
            if isinstance(verdict, LeftOut):
                is_told = verdict.reason is LeftOutReason.PACKED and verdict in self.left_out  # once a folder
                if not is_told and os.path.lexists(f"{root}/{path}"):
                    self.left_out.append(verdict)
            elif verdict:
                self._look(path, f"{root}/{path}")

    def hash_all(self, hasher: Hasher) -> None:
        """SnapshotError naming every file that cannot be read."""
        for path, status in self._to_hash.items():
            hashed = hasher.find(path, status) or self._read(hasher, path)
            if hashed is None:
                continue
            if hashed.holds_key and not self.selection.wants_secret(path):
                self.keys.add(path)
                self.left_out.append(make_secret(path))
                continue
            mode = 0o755 if status.st_mode & stat.S_IXUSR else 0o644
            self.files.append(SnapshotFile(path=path, sha256=hashed.sha256, size=hashed.size, mode=mode))
        if self.problems:
            raise _make_unreadable(self.problems)

    def warn_of_links(self) -> list[str]:
        """Links that are sent while what they lead to is not."""
        links = [file.path for file in self.files if file.link is not None]
        unsent = find_unsent(self.project, links, {file.path for file in self.files}) if links else []
        return [f"{format_name(path)} leads to {format_name(target)}, which is not sent" for path, target in unsent]

    def _look(self, path: str, file: str) -> None:
        try:
            status = os.lstat(file)
            if (status.st_dev, status.st_ino) in self._own_output:
                self.left_out.append(LeftOut(path=path, reason=LeftOutReason.OUTPUT))
            elif stat.S_ISREG(status.st_mode):
                self._to_hash[path] = status
            elif stat.S_ISLNK(status.st_mode):
                self._take_link(path, Path(file))
            elif not stat.S_ISDIR(status.st_mode):
                note = describe_kind(status.st_mode)
                self.left_out.append(LeftOut(path=path, reason=LeftOutReason.SPECIAL, note=note))
        except (FileNotFoundError, NotADirectoryError):
            return  # deleted in the work tree, or just now
        except OSError as error:
            self.problems.append((path, error.strerror or str(error)))

    def _take_link(self, path: str, file: Path) -> None:
        target = read_inner_link(self.project, path)
        if target is None and self.selection.include.name(path) and file.is_file():
            self._to_hash[path] = file.stat()
            self._followed.add(path)
        elif target is None:
            note = f"to {file.readlink()}"
            self.left_out.append(LeftOut(path=path, reason=LeftOutReason.OUTSIDE, note=note))
        elif not is_utf8(target):
            self.left_out.append(LeftOut(path=path, reason=LeftOutReason.NAME, note="its target"))
        else:
            self.files.append(SnapshotFile(path=path, sha256=None, size=0, mode=0o777, link=target))

    def _read(self, hasher: Hasher, path: str) -> Hashed | None:
        try:
            return hasher.read(path, f"{self.project}/{path}", follow=path in self._followed)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except UnsteadyFile:
            self.problems.append((path, "it changes while it is read"))
        except OSError as error:
            self.problems.append((path, error.strerror or str(error)))
        return None


def _load_exclude(project: Path, exclude: Sequence[str]) -> Patterns:
    """.windlassignore first, so that the run file has the last word."""
    own: Patterns = Patterns(())
    file = project / IGNORE_FILE
    if file.is_file():
        try:
            own = read_ignore_file(file.read_bytes().decode("utf-8", "surrogateescape"))
        except OSError as error:
            raise SnapshotError(f"{file} cannot be read: {error.strerror}") from error
    return Patterns((*own.patterns, *read_patterns(exclude).patterns))


def _warn_of_include(include: Patterns, found: Found) -> list[str]:
    """A pattern that brings nothing back is mostly a misspelt one."""
    unmet = [
        pattern.text
        for pattern in include.patterns
        if not pattern.is_negated and not any(map(Patterns([pattern]).matches, found.paths))
    ]
    return [f"include: no file matches {format_string(text)}" for text in unmet]


def _find_cache_file(folder: Path | None, project: Path) -> Path | None:
    if folder is None:
        return None
    return folder / f"{hashlib.sha256(os.fsencode(project)).hexdigest()[:16]}.hashes"


def _fetch_history(found: Found, taking: _Taking) -> tuple[GitState, bytes, list[str]]:
    if not found.is_git:
        return GitState(), b"", []
    told: list[str] = []
    try:
        state = fetch_git_state(taking.project)
        shown = [
            path
            for path in state.changed
            if path not in taking.keys and taking.selection.decide(path, is_tracked=True) is True
        ]
        diff, is_cut = fetch_diff(taking.project, shown)
    except GitFailed as error:
        return GitState(), b"", [f"the commit and the uncommitted changes are not recorded: {error}"]
    diff, dropped = drop_private_keys(diff)
    if dropped:
        told.append(f"the recorded changes leave out {dropped} file(s) in which a private key shows")
    diff, hidden = hide_removed(diff)
    if hidden:
        told.append(f"the recorded changes have *** in {hidden} removed line(s) that held a password or token")
    if is_cut:
        told.append("the uncommitted changes are recorded only in part: they are very long (all files are sent)")
    return state, diff, told


def _make_unreadable(problems: Sequence[tuple[str, str]]) -> SnapshotError:
    named = [f"{format_name(path)}: {why}" for path, why in problems[:_MOST_NAMED]]
    if len(problems) > _MOST_NAMED:
        named.append(f"and {len(problems) - _MOST_NAMED} more")
    count = "a file" if len(problems) == 1 else f"{len(problems)} files"
    patterns = [make_exact_pattern(path.removesuffix("/")) for path, _ in problems[:_MOST_NAMED]]
    return SnapshotError(
        f"{count} of the project cannot be read",
        details=named,
        hint=f"make them readable, or leave them out under [run]:\n  exclude = {format_value(patterns)}",
        done="nothing was sent",
    )
