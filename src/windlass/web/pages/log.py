"""A log: its end as it grows, any part of it, what is found in it; by link, rank, stream; repeated lines folded."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from windlass.app.watching.mirroring import FoundThere, bring_found, bring_range
from windlass.app.watching.reading_logs import Choice, OpenLog, open_log
from windlass.app.watching.reading_runs import LogHere, RunSeen, find_log
from windlass.core.ending.hiding import find_values
from windlass.core.watching.log_search import MOST_HITS
from windlass.core.watching.log_streams import Stream
from windlass.core.watching.safe_lines import make_safe
from windlass.web.desk import Desk
from windlass.web.door import read_form, refuse_form

_MOST_SHOWN = 200  # hits with their context
_PIECE = 4 << 20
_LONGEST_QUERY = 500
_STREAMS = {one.value: one for one in Stream}


@dataclass(frozen=True, kw_only=True)
class _Asked:
    file: str | None
    query: str
    choice: Choice
    at: int | None
    before: int | None
    folds: bool
    there: int | None  # lines that a search at the site has found
    since: int  # from this byte
    looked: int | None  # to that one


def show(desk: Desk, request: Request) -> Response:
    seen = desk.reader.load(request.path_params["run"])
    record = seen.record
    desk.attend(request, record.run_id)
    asked = _read(request)
    values = {"record": record, "seen": seen, "asked": asked, "log": None, "found": None, "page": None, "lines": ()}
    values["streams"] = list(_STREAMS)
    if seen.logs:
        log = find_log(seen, asked.file)
        values["log"] = log
        with open_log(desk.watch, record.run_id, log) as opened:
            values |= _search(desk, opened, asked) if asked.query else _read_page(desk, opened, asked)
            values["traceback"] = opened.find_traceback()
    is_end = asked.at is None and asked.before is None and not asked.query
    is_coming = not record.state.is_final or not seen.index.asked
    return desk.show(request, "log.html", values, live=record.run_id if is_end and is_coming else None)


async def bring(desk: Desk, request: Request) -> Response:
    """A part of a long log that is not here yet."""
    from starlette.concurrency import run_in_threadpool

    form = await read_form(request)
    if form is None:
        return refuse_form()
    seen = await run_in_threadpool(desk.reader.load, request.path_params["run"])
    log = find_log(seen, form.get("file"))
    begin = _number(form.get("begin")) or 0

    def work() -> None:
        with desk.open_session() as session:
            bring_range(session, seen.record, log.path, begin, _PIECE)

    await run_in_threadpool(work)
    return _lead_to(seen, log, _read_choice(form), at=str(begin))


async def search_there(desk: Desk, request: Request) -> Response:
    """In all of a long log, at its site: what is found comes here."""
    from starlette.concurrency import run_in_threadpool

    form = await read_form(request)
    if form is None:
        return refuse_form()
    seen = await run_in_threadpool(desk.reader.load, request.path_params["run"])
    log, query = find_log(seen, form.get("file")), form.get("q", "")[:_LONGEST_QUERY]
    begin = _number(form.get("begin")) or 0

    def work() -> FoundThere:
        with desk.open_session() as session:
            return bring_found(session, seen.record, log.path, query, begin=begin, most=_MOST_SHOWN)

    found = await run_in_threadpool(work) if query else None
    told = {"there": str(found.lines), "since": str(begin), "looked": str(found.looked)} if found is not None else {}
    return _lead_to(seen, log, _read_choice(form), q=query, **told)


def _lead_to(seen: RunSeen, log: LogHere, choice: Choice, **more: str) -> Response:
    words = urlencode({"file": log.about.name, **choice.as_query(), **more})
    return RedirectResponse(f"/runs/{seen.record.run_id}/log?{words}", status_code=303)


def _search(desk: Desk, opened: OpenLog, asked: _Asked) -> dict[str, object]:
    hits = opened.search(asked.query, most=MOST_HITS, choice=asked.choice)
    secrets = find_values(desk.watch.session.environ)
    shown = hits.hits[:_MOST_SHOWN]
    blocks = [make_safe(lines, secrets) for lines in opened.read_around(shown)]
    return {"found": blocks, "shown": len(shown), "total": len(hits.hits), "is_cut": hits.is_cut}


def _read_page(desk: Desk, opened: OpenLog, asked: _Asked) -> dict[str, object]:
    if not asked.choice.is_all:
        page = opened.read_chosen(asked.choice, at=asked.at, before=asked.before, folds=asked.folds)
    elif asked.at is not None:
        page = opened.read_from(asked.at, folds=asked.folds)
    elif asked.before is not None:
        page = opened.read_before(asked.before, folds=asked.folds)
    else:
        page = opened.read_end(folds=asked.folds)
    return {"page": page, "lines": make_safe(page.lines, find_values(desk.watch.session.environ))}


def _read(request: Request) -> _Asked:
    given = request.query_params
    return _Asked(
        file=given.get("file"),
        query=given.get("q", "")[:_LONGEST_QUERY],
        there=_number(given.get("there")),
        since=_number(given.get("since")) or 0,
        looked=_number(given.get("looked")),
        choice=_read_choice(given),
        at=_number(given.get("at")),
        before=_number(given.get("before")),
        folds=given.get("fold") != "0",
    )


def _read_choice(given: Mapping[str, str]) -> Choice:
    return Choice(rank=_number(given.get("rank")), stream=_STREAMS.get(given.get("stream", "")))


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and text.isascii() and len(text) < 16 else None
