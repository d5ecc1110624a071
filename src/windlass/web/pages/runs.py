"""All runs, newest first, by words, site and state."""

from starlette.requests import Request
from starlette.responses import Response

from windlass.app.watching.reading_today import list_runs
from windlass.core.record import RunState
from windlass.core.watching.looks import OLD_S
from windlass.web.desk import Desk

_ROWS = 100
_GROUPS = {
    "live": tuple(state for state in RunState if not state.is_final),
    "ended": tuple(state for state in RunState if state.is_final),
}


def show(desk: Desk, request: Request) -> Response:
    desk.attend_fresh(request)
    asked = request.query_params
    state = asked.get("state", "")
    states = _GROUPS.get(state) or tuple(one for one in RunState if one.value == state)
    page = int(asked["page"]) if asked.get("page", "").isdecimal() and len(asked["page"]) < 9 else 1
    words, site = asked.get("q", "").strip()[:200], asked.get("site", "")
    found = list_runs(desk.watch, query=words, site=site or None, states=states, page=page, size=_ROWS)
    choices = [*_GROUPS, *(one.value for one in RunState)]
    looks = desk.watch.looks({one.site for one in found.records if not one.state.is_final})
    shown = {"found": found, "looks": looks, "old_s": OLD_S}
    asked_for = {"q": words, "site": site, "state": state if states else "", "choices": choices}
    return desk.show(request, "runs.html", {**shown, **asked_for}, live="")
