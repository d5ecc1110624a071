"""What the mirror holds of a run, as values: for pages, for the terminal's screen, for notebooks. Nobody is asked."""

from dataclasses import dataclass, field, replace

from windlass.app.services.attending import find_attended
from windlass.app.watching.lately import load_lately
from windlass.app.watching.watch import Watch
from windlass.core.codec import from_json
from windlass.core.ending.hiding import find_assigned, find_values, hide
from windlass.core.events import read_events
from windlass.core.farm.folding import fold_pilots
from windlass.core.gauges.nodes import summarise_node
from windlass.core.gauges.series import NodeGauges
from windlass.core.plan import Plan
from windlass.core.record import RunRecord, RunState
from windlass.core.snapshot import Manifest
from windlass.core.watching.alarms import WatchedRun
from windlass.core.watching.ansi import strip
from windlass.core.watching.chain import Link, make_chain
from windlass.core.watching.log_names import LogName, read_log_name, read_numbers
from windlass.core.watching.metrics import Metric, Reader, choose_files
from windlass.edges.mirror import Held, Index
from windlass.errors import NotFound, RunFolderGone
from windlass_job import wire

_MOST_SCRIPT = 1 << 20


@dataclass(frozen=True, kw_only=True)
class LogHere:
    """One log, as far as it is here."""

    about: LogName
    path: str  # in the run folder
    held: Held
    are_streams_known: bool = False  # which of its bytes were written to which

    @property
    def streams(self) -> str:
        """Where that is told, in the run folder."""
        return f"{wire.STREAMS}/{self.about.name}"


@dataclass(frozen=True, kw_only=True)
class RunSeen:
    record: RunRecord
    index: Index
    plan: Plan | None = None
    chain: tuple[Link, ...] = ()
    metrics: dict[str, Metric] = field(default_factory=dict)
    logs: tuple[LogHere, ...] = ()  # oldest first


class RunReader:
    """Keeps what it has read, so that a page that is asked for again reads only what is new."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._metrics: dict[str, tuple[Reader, dict[str, tuple[int, int]]]] = {}
        self._gauges: dict[str, tuple[object, tuple[NodeGauges, ...]]] = {}

    def load(self, word: str) -> RunSeen:
        """NotFound for a run that is not known."""
        return self.see(self._watch.session.store.load(word))

    def see(self, record: RunRecord) -> RunSeen:
        index = self._watch.mirror.load(record.run_id)
        events = read_events(self.read_text(record.run_id, wire.EVENTS))
        return RunSeen(
            record=record,
            index=index,
            plan=self._load_plan(record.run_id),
            chain=make_chain(record, events, self._watch.session.clock()),
            metrics=self.load_metrics(record.run_id, index),
            logs=list_logs(record, index),
        )

    def watch_run(self, record: RunRecord) -> WatchedRun:
        """As far as alarms look at it: at files only while it runs."""
        attended = find_attended(self._watch.session, record)
        if record.state is not RunState.RUNNING:
            return WatchedRun(record=record, attended=attended)
        index = self._watch.mirror.load(record.run_id)
        logs = [held.mtime for path, held in index.files.items() if path.startswith(f"{wire.LOGS}/") and held.size]
        metrics = self.load_metrics(record.run_id, index)
        return WatchedRun(
            record=record,
            attended=attended,
            log_changed=max(logs, default=None),
            gauges=self.load_gauges(record.run_id, index),
            metrics={name: metric.last for name, metric in metrics.items() if metric.last is not None},
        )

    def load_metrics(self, run_id: str, index: Index) -> dict[str, Metric]:
        """Read on from where the last call stopped; anew where a file was written anew."""
        names = choose_files(path for path in index.files if path.startswith(f"{wire.METRICS}/"))
        reader, done = self._metrics.get(run_id, (Reader(), {}))
        if any(index.files[name].end < done.get(name, (0, 0))[0] for name in names) or set(done) - set(names):
            reader, done = Reader(), {}
        for name in names:
            begin, end = done.get(name, (0, 0))[0], index.files[name].end
            if end > begin:
                reader.add(name, self._read_range(run_id, name, begin, end))
                done[name] = end, index.files[name].mark
        self._metrics[run_id] = reader, done
        return reader.metrics

    def load_gauges(self, run_id: str, index: Index) -> tuple[NodeGauges, ...]:
        """In a few numbers for each node, of the last quarter of an hour. Kept until a file has grown."""
        files = index.files.items()
        stamp = tuple(sorted((path, one.end, one.mark) for path, one in files if path.startswith(f"{wire.GAUGES}/")))
        kept, gauges = self._gauges.get(run_id, (None, ()))
        if kept != stamp:
            gauges = tuple(summarise_node(node) for node in load_lately(self._watch.mirror, run_id, index).nodes)
            self._gauges[run_id] = stamp, gauges
        return gauges

    def load_code(self, run_id: str) -> Manifest | None:
        """What was sent of the project; None where that is not here."""
        text = self._watch.mirror.read(run_id, wire.MANIFEST)
        try:
            return from_json(text, Manifest, error=RunFolderGone, what=wire.MANIFEST) if text else None
        except RunFolderGone:  # of another version
            return None

    def read_text(self, run_id: str, path: str) -> str:
        return self._watch.mirror.read(run_id, path).decode(errors="replace")

    def read_safe(self, run_id: str, path: str) -> str:
        """A script or a diff for people: no escape sequences, nothing called a password, key or token."""
        text = strip(self.read_text(run_id, path)[:_MOST_SCRIPT])
        return self.hide(text, also=find_assigned(text))

    def hide(self, text: str, also: frozenset[str] = frozenset()) -> str:
        return hide(text, find_values(self._watch.session.environ) | also)

    def _load_plan(self, run_id: str) -> Plan | None:
        text = self._watch.mirror.read(run_id, wire.PLAN_JSON)
        try:
            return from_json(text, Plan, error=RunFolderGone, what=wire.PLAN_JSON) if text else None
        except RunFolderGone:  # of another version
            return None

    def _read_range(self, run_id: str, path: str, begin: int, end: int) -> bytes:
        file = self._watch.mirror.find_file(run_id, path)
        if file is None:
            return b""
        try:
            with open(file, "rb") as opened:
                opened.seek(begin)
                return opened.read(end - begin)
        except OSError:  # the copy was just removed
            return b""


def fold_farm(watch: Watch, record: RunRecord) -> RunRecord:
    """The run that leads a farm, as all its pilots are; any other as it is."""
    return fold_pilots([record, *_list_others(watch, record)])[0] if record.leads_farm else record


def _list_others(watch: Watch, lead: RunRecord) -> list[RunRecord]:
    return [one for one in watch.session.store.pilots([lead.run_id]) if one.run_id != lead.run_id]


def list_logs(record: RunRecord, index: Index) -> tuple[LogHere, ...]:
    """Oldest first."""
    found = [path for path in index.files if path.startswith(f"{wire.LOGS}/")]
    names = {path: path.removeprefix(f"{wire.LOGS}/") for path in found}
    found.sort(key=lambda path: (read_numbers(names[path]), names[path]))
    logs = [
        LogHere(about=read_log_name(names[path], record.submissions), path=path, held=index.files[path])
        for path in found
    ]
    return tuple(replace(one, are_streams_known=one.streams in index.files) for one in logs)


def find_log(seen: RunSeen, name: str | None) -> LogHere:
    """By its name; the newest where none is given."""
    if not seen.logs:
        raise NotFound(f"run {seen.record.run_id} has printed nothing yet")
    if name is None:
        return seen.logs[-1]
    found = next((one for one in seen.logs if one.about.name == name), None)
    if found is None:
        raise NotFound(f"run {seen.record.run_id} has no log {name!r}")
    return found
