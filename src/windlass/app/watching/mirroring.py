"""What is new in the small files of runs, brought here: one round trip a site for all runs that are looked at."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

from windlass.app.session import Session
from windlass.core.record import RunRecord
from windlass.core.watching.log_search import read_query
from windlass.edges.host import Reply, Request, expect
from windlass.edges.mirror import Change, Index, Mirror
from windlass.edges.run_lock import HeldAlready
from windlass.errors import RunFolderGone

NAME = "mirror"  # STATE/mirror/
LITTLE = 256 << 10  # of a new part of a log, while only the state of its run is shown
MUCH = 4 << 20  # while the log itself is looked at
_MOST_AT_ONCE = 16 << 20
_MOST_ROUNDS = 8
_AROUND = 2000  # bytes before and behind what was found at the site
_SEARCH_S = 20.0  # of a login node for one search
_LATE_S = 10.0  # so long after its end a run's log may still come in
_KNOWN = ("size", "mtime", "end", "mark")


def open_mirror(session: Session) -> Mirror:
    return Mirror(session.folders.state / NAME)


def bring(session: Session, site_name: str, wanted: Mapping[str, int], records: Sequence[RunRecord]) -> frozenset[str]:
    """The runs of which something is new. wanted: run id -> how much of a log at once.

    A run that is over is read once more and then left alone. One whose files another process brings is passed over.
    """
    mirror = open_mirror(session)
    left = [one for one in records if one.run_id in wanted and not is_complete(one, mirror.load(one.run_id))]
    news: set[str] = set()
    with ExitStack() as stack:
        changes: dict[str, Change] = {}
        for record in left:
            try:
                changes[record.run_id] = stack.enter_context(mirror.change(record.run_id))
            except HeldAlready:
                continue
        left = [one for one in left if one.run_id in changes]
        for _ in range(_MOST_ROUNDS):
            left = _bring_once(session, site_name, wanted, [(one, changes[one.run_id]) for one in left], news)
            if not left:
                break
    return frozenset(news)


def bring_range(session: Session, record: RunRecord, path: str, begin: int, count: int) -> None:
    """Bytes of a log that are not here, because it is long."""
    arguments = {"path": f"{record.folder}/{path}", "from_byte": begin, "limit": min(count, _MOST_AT_ONCE)}
    host = session.host(session.site(record.site))
    reply = host.ask([Request(operation="read", arguments=arguments, idempotent=True)])[0]
    expect(reply, RunFolderGone, f"{path} of {record.run_id} cannot be read")
    with open_mirror(session).change(record.run_id, waits=True) as change:
        change.fill(path, int(reply.values["from_byte"]), reply.payload, size=int(reply.values["size"]))


@dataclass(frozen=True, kw_only=True)
class FoundThere:
    """By a search at the site."""

    lines: int
    looked: int  # up to this byte of the log


def bring_found(session: Session, record: RunRecord, path: str, query: str, *, begin: int, most: int) -> FoundThere:
    """The first lines of a long log from there on with these words, and what stands around them."""
    _, ignores_case = read_query(query)
    where = {"path": f"{record.folder}/{path}", "limit": most, "around": _AROUND, "seconds": _SEARCH_S}
    arguments = {**where, "words": query, "ignores_case": ignores_case, "from_byte": begin}
    host = session.host(session.site(record.site))
    reply = host.ask([Request(operation="find_in_file", arguments=arguments, idempotent=True)])[0]
    expect(reply, RunFolderGone, f"{path} of {record.run_id} cannot be searched")
    with open_mirror(session).change(record.run_id, waits=True) as change:
        at = 0
        for first, count in reply.values["spans"]:
            change.fill(path, int(first), reply.payload[at : at + count], size=int(reply.values["size"]))
            at += count
    return FoundThere(lines=reply.values["found"], looked=reply.values["looked"])


def is_complete(record: RunRecord, index: Index) -> bool:
    """It was read after its end: nothing can be added any more, unless it is resumed."""
    return record.state.is_final and index.final_of == len(record.submissions)


def _bring_once(
    session: Session,
    site_name: str,
    wanted: Mapping[str, int],
    pairs: Sequence[tuple[RunRecord, Change]],
    news: set[str],
) -> list[RunRecord]:
    """Those of which there is more than fits into one answer."""
    if not pairs:
        return []
    runs = [make_question(record, change.index, wanted[record.run_id]) for record, change in pairs]
    arguments = {"runs": runs, "limit": _MOST_AT_ONCE}
    host = session.host(session.site(site_name))
    reply = host.ask([Request(operation="read_new", arguments=arguments, idempotent=True)])[0]
    expect(reply, RunFolderGone, f"the run folders at {site_name} cannot be read")
    more, at = [], 0
    for (record, change), told in zip(pairs, reply.values["runs"], strict=True):
        at = take(change, told, reply, at)
        change.note(asked=session.clock(), is_gone=bool(told.get("gone")))
        if told["files"]:
            news.add(record.run_id)
        if told.get("is_cut"):
            more.append(record)
        elif _is_over(record, session.clock()):
            change.note(final_of=len(record.submissions))
    return more


def make_question(record: RunRecord, index: Index, most: int = LITTLE) -> dict[str, Any]:
    """For `read_new`: what is here of a run already."""
    known = {path: {name: asdict(held)[name] for name in _KNOWN} for path, held in index.files.items()}
    return {"folder": record.folder, "known": known, "most": most}


def take(change: Change, told: Mapping[str, Any], reply: Reply, at: int) -> int:
    """Its files in the answer of `read_new`, whose bytes begin at `at`; where those of the next run begin."""
    for file in told["files"]:
        count = sum(count for _, count in file.get("pieces", ()))
        change.take(file, reply.payload[at : at + count])
        at += count
    return at


def _is_over(record: RunRecord, now: float) -> bool:
    return record.state.is_final and now - (record.ended or record.updated) > _LATE_S
