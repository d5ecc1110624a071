"""A log: its end as it grows, any part of it, what is found in it; by link, rank, stream; repeated lines folded."""

from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from windlass.app.watching.mirroring import FoundThere, bring_found, bring_range
from windlass.app.watching.reading_logs import Choice, OpenLog, open_log
from windlass.app.watching.reading_runs import find_log
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
    looked: int | None  # up to which byte it went


def show(desk: Desk, request: Request) -> Response:
    seen = desk.reader.load(request.path_params["run"])
    record = seen.record
    desk.attend(request, record.run_id)
    asked = _read(request)
    values = {"record": record, "seen": seen, "asked": asked, "log": None, "found": None, "page": None, "lines": ()}
    if seen.logs:
        log = find_log(seen, asked.file)
        values["log"] = log
        with open_log(desk.watch, record.run_id, log) as opened:
            values |= _search(desk, opened, asked) if asked.query else _read_page(desk, opened, asked)
            values["traceback"] = opened.find_traceback()
    is_end = asked.at is None and asked.before is None and not asked.query
    return desk.show(request, "log.html", values, live=record.run_id if is_end and not record.state.is_final else None)


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
    return RedirectResponse(f"/runs/{seen.record.run_id}/log?file={log.about.name}&at={begin}", status_code=303)


async def search_there(desk: Desk, request: Request) -> Response:
    """In all of a long log, at its site: what is found comes here."""
    from starlette.concurrency import run_in_threadpool

    form = await read_form(request)
    if form is None:
        return refuse_form()
    seen = await run_in_threadpool(desk.reader.load, request.path_params["run"])
    log, query = find_log(seen, form.get("file")), form.get("q", "")[:_LONGEST_QUERY]

    def work() -> FoundThere:
        with desk.open_session() as session:
            return bring_found(session, seen.record, log.path, query, most=_MOST_SHOWN)

    found = await run_in_threadpool(work) if query else None
    values = {"file": log.about.name, "q": query, "rank": form.get("rank"), "stream": form.get("stream")}
    if found is not None:
        values |= {"there": str(found.lines), "looked": str(found.looked)}
    words = urlencode({name: value for name, value in values.items() if value})
    return RedirectResponse(f"/runs/{seen.record.run_id}/log?{words}", status_code=303)


def _search(desk: Desk, opened: OpenLog, asked: _Asked) -> dict[str, object]:
    hits = opened.search(asked.query, most=MOST_HITS, choice=asked.choice)
    secrets = find_values(desk.watch.session.environ)
    found = [opened.read_around(hit.begin, hit.end, hit.number) for hit in hits.hits[:_MOST_SHOWN]]
    blocks = [(one.at, make_safe(one.lines, secrets)) for one in found]
    return {"found": blocks, "total": len(hits.hits), "is_cut": hits.is_cut}


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
        looked=_number(given.get("looked")),
        choice=Choice(rank=_number(given.get("rank")), stream=_STREAMS.get(given.get("stream", ""))),
        at=_number(given.get("at")),
        before=_number(given.get("before")),
        folds=given.get("fold") != "0",
    )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and text.isascii() and len(text) < 16 else None
