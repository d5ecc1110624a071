"""A chain by itself: its links as bars over time, for the screen and for paper, and as a table."""

from collections.abc import Sequence

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from windlass.core.drawing.gantt import draw_chain
from windlass.core.watching.chain import Link, Phase, count_lost_s
from windlass.web.charts import find_offset_s, format_short_clock
from windlass.web.desk import Desk
from windlass.web.words import format_span


def show(desk: Desk, request: Request) -> Response:
    seen = desk.reader.load(request.path_params["run"])
    record = seen.record
    desk.attend(request, record.run_id)
    values = {
        "seen": seen,
        "record": record,
        "look": desk.watch.looks([record.site])[record.site],
        "phases": list(Phase),
        "lost_s": count_lost_s(seen.chain),
        "gantt": draw(seen.chain) if seen.chain else None,
    }
    return desk.show(request, "chain.html", values, live=None if record.state.is_final else record.run_id)


def draw(links: Sequence[Link]) -> Markup:
    """All text in it was escaped when it was made."""
    begin = links[0].parts[0].begin if links[0].parts else 0.0
    return Markup(draw_chain(links, clock=format_short_clock, span=format_span, offset_s=find_offset_s(begin)))
