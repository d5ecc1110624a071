"""`fetch`: a run's results brought home, verified, only what is new, going on after a cut."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass.app.edited import Edited
from windlass.app.session import Session
from windlass.app.written import find_written, load_manifest, propose_pattern
from windlass.core.job import make_code_folder
from windlass.core.record import RunRecord
from windlass.edges.downloads import Target, Wanted
from windlass.edges.files import save_file
from windlass.edges.host import Host, Json, Request, expect
from windlass.errors import ConnectionLost, RunFolderGone, UsageError
from windlass_job import wire

FOLDER = "windlass-results"  # PROJECT/windlass-results/RUN_ID/
PAPERS = ".windlass"  # logs, plan and events, beside the results
_PAPERS = (f"{wire.LOGS}/*", f"{wire.STREAMS}/*", "*.json", "*.jsonl", "*.sh", wire.DIFF)
_CHUNK = 4_000_000
_MOST_FILES = 100_000
_WORTH_SEEDING = 1_000_000  # smaller ones are fetched sooner than they are compared
_BATCH_FILES = 200  # verified together
_BATCH_BYTES = 100_000_000

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Fetched:
    folder: Path
    files: int
    new_files: int
    new_bytes: int
    results: int = 0  # of the files, those the run file asks for; of a farm what its tasks wrote
    proposal: str | None = None  # where nothing matched: a pattern of what the run wrote
    left_out: tuple[str, ...] = ()  # links that lead out of the run
    kept: tuple[str, ...] = ()  # what was changed here since it was fetched, under the names it has now


def fetch_run(
    session: Session,
    record: RunRecord,
    *,
    to: Path | None = None,
    patterns: Sequence[str] = (),
    progress: Progress = lambda done, total: None,
) -> Fetched:
    """Results into `to`, by default beside the project; papers and logs into `.windlass` there.

    patterns: default: run.results, and of a farm that has none what its tasks wrote.
    """
    host = session.host(session.site(record.site))
    folder = to or make_default_folder(record)
    base = make_code_folder(record.folder, record.workdir)
    results = _list_results(host, record, base, tuple(patterns))
    papers = Haul(host, record.folder, Target(folder / PAPERS), list_files(host, record.folder, _PAPERS).files)
    edited = Edited(session, record, base, Target(folder))
    haul = Haul(host, base, Target(folder), results.files, edited)
    meter = Meter(progress, haul.new_bytes + papers.new_bytes)
    changed = haul.bring(meter, verify=True)
    if changed:
        raise ConnectionLost(
            f"{len(changed)} of {len(haul.new)} files changed while they were fetched, {changed[0]} among them",
            hint="run the same fetch again",
            done="the others are here and verified",
        )
    papers.bring(meter, verify=False)  # the run rewrites its status all the time
    _make_links(haul.target, results.links, edited)
    haul.target.clean_up()
    papers.target.clean_up()
    count = len(results.files) + len(results.links)
    return Fetched(
        folder=folder,
        files=count + len(papers.files),
        new_files=len(haul.new) + len(papers.new),
        new_bytes=meter.total,
        results=count,
        proposal=None if count else _propose(host, record, base),
        left_out=results.left_out,
        kept=tuple(edited.kept),
    )


def _make_links(target: Target, links: tuple[tuple[str, str], ...], edited: Edited) -> None:
    edited.begin((), links)
    for name, points_to in links:
        edited.make_way_for_link(name, points_to)
        target.make_link(name, points_to)
    edited.end((), links)


def _list_results(host: Host, record: RunRecord, base: str, patterns: tuple[str, ...]) -> "Listed":
    wanted = patterns or record.results
    return list_files(host, base, wanted) if wanted or not record.leads_farm else _list_written(host, record, base)


def _propose(host: Host, record: RunRecord, base: str) -> str | None:
    try:
        return propose_pattern([one.name for one in _list_written(host, record, base).files])
    except UsageError:  # more files than anybody lists
        return None


def _list_written(host: Host, record: RunRecord, base: str) -> "Listed":
    """Files that were not sent so; nothing where it is not known what was sent."""
    sent = load_manifest(host, record.folder)
    if sent is None:
        return Listed()
    there = list_files(host, base, ("**",))
    return Listed(files=find_written(host, base, record.workdir, sent, there.files))


@dataclass(frozen=True, kw_only=True)
class Listed:
    files: tuple[Wanted, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()


class Meter:
    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self.total = total
        self._done = 0

    def add(self, count: int) -> None:
        self._done += count
        self._progress(self._done, self.total)


class Haul:
    """Files of one folder at the site, on their way to one folder here."""

    def __init__(
        self, host: Host, base: str, target: Target, files: Sequence[Wanted], edited: Edited | None = None
    ) -> None:
        """edited: None for what is Windlass's own."""
        self._edited = edited
        self.target = target
        self.files = files
        self.new = [one for one in files if not target.has(one)]
        self._host = host
        self._base = base

    @property
    def new_bytes(self) -> int:
        return sum(one.size for one in self.new)

    def bring(self, meter: Meter, *, verify: bool, grows: bool = False) -> list[str]:
        """In batches; nothing takes its name before it is whole and, where asked for, verified.

        grows: files are mostly written at their ends, so only the end is fetched. Back come those that changed
        otherwise while they were fetched: they are as they were.
        """
        self.target.prepare()
        if self._edited is not None:
            self._edited.begin(self.new)
        changed: list[str] = []
        for batch in _make_batches(self.new):
            for one in batch:
                self._download(one, meter, grows=grows)
            good = self._verify(batch) if verify else batch
            if grows:
                good = [*good, *self._bring_anew([one for one in batch if one not in good], meter)]
            for one in batch:
                if one in good:
                    self._finish(one)
                else:
                    self.target.drop_part(one)
                    changed.append(one.name)
        if self._edited is not None:
            self._edited.end(self.files)
        return changed

    def _finish(self, wanted: Wanted) -> None:
        if self._edited is not None:
            self._edited.make_way(wanted)
        self.target.finish(wanted)

    def _bring_anew(self, rewritten: Sequence[Wanted], meter: Meter) -> list[Wanted]:
        """What was taken for grown and is another file: all of it."""
        for one in rewritten:
            self.target.drop_part(one)
            self._download(one, meter, grows=False)
        return self._verify(rewritten) if rewritten else []

    def _download(self, wanted: Wanted, meter: Meter, *, grows: bool) -> None:
        if grows and wanted.size > _WORTH_SEEDING:
            self.target.seed_part(wanted)
        part = self.target.open_part(wanted)
        meter.add(part.written)
        try:
            while part.written < wanted.size:
                limit = min(_CHUNK, wanted.size - part.written)
                path = f"{self._base}/{wanted.name}"
                arguments = {"path": path, "from_byte": part.written, "limit": limit}
                reply = self._host.ask([Request(operation="read", arguments=arguments, idempotent=True)])[0]
                payload = expect(reply, RunFolderGone, f"{path} cannot be read").payload
                if not payload:
                    break  # shorter than it was: told by the checksum
                part.write(payload)
                meter.add(len(payload))
        finally:
            part.close()

    def _verify(self, batch: Sequence[Wanted]) -> list[Wanted]:
        """Those whose checksum is the site's, of as many bytes as were there when the fetch began."""
        arguments = {
            "folder": self._base,
            "paths": [one.name for one in batch],
            "sizes": [one.size for one in batch],
        }
        reply = self._host.ask([Request(operation="hash_files", arguments=arguments, idempotent=True)])[0]
        told = expect(reply, RunFolderGone, "the fetched files cannot be verified").values["sha256"]
        return [one for one, sha256 in zip(batch, told, strict=True) if self.target.hash_part(one) == sha256]


def make_default_folder(record: RunRecord) -> Path:
    """A folder git and our own snapshots pass over, so that results are not sent back with the next run."""
    folder = find_default_folder(record).parent
    if folder.is_symlink():
        raise UsageError(f"{folder} is a link: nothing is written through it", hint="windlass fetch --to FOLDER")
    Target(folder / record.run_id).prepare()
    if not (folder / ".gitignore").exists():
        save_file(folder / ".gitignore", b"*\n", mode=0o644)
    return folder / record.run_id


def find_default_folder(record: RunRecord) -> Path:
    """Where results of this run go, or lie; nothing is made."""
    project = Path(record.project) if record.project else None
    if project is None or not project.is_dir():
        project = Path.cwd()
    return project / FOLDER / record.run_id


def list_files(host: Host, folder: str, patterns: Sequence[str]) -> Listed:
    if not patterns:
        return Listed()
    arguments = {"folder": folder, "patterns": list(patterns), "limit": _MOST_FILES}
    reply = host.ask([Request(operation="list_files", arguments=arguments, idempotent=True)])[0]
    expect(reply, RunFolderGone, f"the files in {folder} cannot be listed")
    if reply.values.get("truncated"):
        raise UsageError(
            f"more than {_MOST_FILES} files match {', '.join(patterns)}",
            hint="name fewer: windlass fetch RUN --only 'runs/*.pt'",
        )
    listed: list[Json] = reply.values["files"]
    links = [one for one in listed if one.get("link")]
    return Listed(
        files=tuple(
            Wanted(name=str(one["path"]), size=int(one["size"]), mtime=float(one["mtime"]))
            for one in listed
            if not one.get("link")
        ),
        links=tuple((str(one["path"]), str(one["link"])) for one in links if one.get("inside")),
        left_out=tuple(str(one["path"]) for one in links if not one.get("inside")),
    )


def _make_batches(files: Sequence[Wanted]) -> Iterator[list[Wanted]]:
    batch: list[Wanted] = []
    for one in files:
        if batch and (len(batch) >= _BATCH_FILES or sum(it.size for it in batch) + one.size > _BATCH_BYTES):
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch
