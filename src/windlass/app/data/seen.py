"""What is known of a run's data before it is sent: where it lies, how large it is, and whether it is there at all."""

from dataclasses import replace
from pathlib import Path

from windlass.app.session import Session
from windlass.core.case import DataSeen
from windlass.core.facts import Facts, SeenSet
from windlass.core.run import Data, RunSpec
from windlass.core.site import Site
from windlass.edges.data_sets import fetch_sets
from windlass.edges.data_size import measure_data
from windlass.edges.folders import find_home
from windlass.edges.site_data import fetch_data_seen
from windlass.edges.snapshot import Snapshot


def add_data_sets(session: Session, site: Site, spec: RunSpec, facts: Facts) -> Facts:
    """With the data sets that the run names; looked at each time, because one may have been sent a moment ago."""
    names = [one.set_name for one in spec.data.values() if one.set_name is not None]
    if not names:
        return facts
    seen = fetch_sets(session.host(site), site, names)
    return replace(facts, data_sets=seen.sets, data_names=seen.names)


def look_at_data(
    session: Session, snapshot: Snapshot, spec: RunSpec, site: Site, facts: Facts | None
) -> tuple[DataSeen, ...]:
    """On this machine and at the site; facts None: the site is not asked."""
    seen = {one.name: one for one in _look_everywhere(session, snapshot, spec, site, facts)}
    for name, data in spec.data.items():
        raw, files = _find_raw(data, snapshot, facts)
        if files:
            seen[name] = replace(seen.get(name, DataSeen(name=name)), raw_folder=raw, raw_files=files)
    return tuple(seen.values())


def _find_raw(data: Data, snapshot: Snapshot, facts: Facts | None) -> tuple[str, int]:
    """The folder of the project that a data set was packed from, and how many of its files go along with the code."""
    if data.set_name is None:
        return "", 0
    known = facts.data_set(data.set_name) if facts is not None else None
    source = Path(known.about.get("source", "") if known is not None else "")
    project = snapshot.project.resolve()
    raw = source.relative_to(project).as_posix() if source.is_relative_to(project) else data.set_name
    return raw, sum(one.path.startswith(f"{raw}/") for one in snapshot.manifest.files)


def _look_everywhere(
    session: Session, snapshot: Snapshot, spec: RunSpec, site: Site, facts: Facts | None
) -> tuple[DataSeen, ...]:
    here = {one.name: one for one in measure_data(snapshot.project, spec.data, find_home(session.environ))}
    if site.is_local:
        there = {} if facts is None else _look_there(session, site, _leave_out(spec, here), facts)
        return (*here.values(), *there.values())
    there = {} if facts is None else _look_there(session, site, dict(spec.data), facts)
    found = (_join(name, one, here.get(name), there.get(name), snapshot) for name, one in spec.data.items())
    return tuple(one for one in found if one is not None)


def _leave_out(spec: RunSpec, here: dict[str, DataSeen]) -> dict[str, Data]:
    return {name: one for name, one in spec.data.items() if name not in here}


def _look_there(session: Session, site: Site, data: dict[str, Data], facts: Facts) -> dict[str, DataSeen]:
    paths = {name: one for name, one in data.items() if one.set_name is None}
    seen = {one.name: one for one in fetch_data_seen(session.host(site), paths)}
    for name, one in data.items():
        known = facts.data_set(one.set_name)
        if known is not None and known.kind in ("packed", "file"):
            seen[name] = _make_seen(name, known)
    plain = {
        name: Data(source=known.path)
        for name, one in data.items()
        if (known := facts.data_set(one.set_name)) is not None and known.kind == "folder"
    }
    return seen | {one.name: one for one in fetch_data_seen(session.host(site), plain)}


def _make_seen(name: str, known: SeenSet) -> DataSeen:
    """What file systems count: of a packed set the shards, their indexes and the card."""
    files = known.files if known.shards is None else 2 * known.shards + 1
    size = known.bytes if known.archived is None else known.archived
    return DataSeen(name=name, bytes=size, files=files, oldest=known.oldest_use)


def _join(name: str, data: Data, here: DataSeen | None, there: DataSeen | None, snapshot: Snapshot) -> DataSeen | None:
    """What the site has counts; what it has not, and the laptop has, is told as such."""
    if there is not None and not there.is_missing:
        return there
    if here is None:
        return there
    return replace(here, is_here=True, is_missing=there is not None, is_sent=_is_sent(data.source, here, snapshot))


def _is_sent(source: str, here: DataSeen, snapshot: Snapshot) -> bool:
    """Whether as many files of it go along with the code as there are."""
    if source.startswith(("/", "~")):
        return False
    path = source.removeprefix("./").rstrip("/")
    sent = [one for one in snapshot.manifest.files if one.path == path or one.path.startswith(f"{path}/")]
    return bool(sent) and len(sent) >= (here.files or 0)
