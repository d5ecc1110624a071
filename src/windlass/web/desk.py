"""What all pages share: the watch, what it has seen, the templates, and who is at the door."""

from collections.abc import Callable, Mapping
from typing import Any

import jinja2
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from windlass import __version__
from windlass.app.record_words import format_progress, format_tasks
from windlass.app.services.opening import Services
from windlass.app.session import Session
from windlass.app.watching.reading_advice import AdviceReader
from windlass.app.watching.reading_gauges import GaugeReader
from windlass.app.watching.reading_runs import RunReader
from windlass.app.watching.watch import Watch
from windlass.core.ending.hiding import find_values, hide
from windlass.core.spending.amounts import format_amount
from windlass.core.watching.ansi import strip
from windlass.core.watching.metrics import shorten_name
from windlass.web import vendor, words
from windlass.web.door import Keys

THEMES = ("auto", "light", "dark")
_PATIENCE_S = 1.0  # with this machine's own Slurm
_THEME_COOKIE = "windlass-theme"


class Desk:
    """One for the server. Pages read; actions open a session of their own."""

    def __init__(self, watch: Watch, open_session: Callable[[], Session]) -> None:
        self.watch = watch
        self.open_session = open_session
        self.services = Services(open_session)
        self.reader = RunReader(watch)
        self.gauges = GaugeReader(watch)
        self.advice = AdviceReader(watch, self.reader)
        self._secrets = find_values(watch.session.environ)
        self._templates = _load_templates(self._finalize)
        self._templates.filters["hint"] = lambda hint: words.format_hint(self.hide(hint))

    def show(
        self, request: Request, template: str, values: Mapping[str, Any], *, status: int = 200, live: str | None = None
    ) -> Response:
        """live: what the page wants to hear of ("", or the id of a run); None: it does not change by itself."""
        keys: Keys = request.scope["windlass_keys"]
        now = self.watch.session.clock()
        shared = {
            "now": now,
            "path": request.url.path,
            "here": request.url.path + (f"?{request.url.query}" if request.url.query else ""),
            "form_key": Markup(keys.form),  # its letters come by chance, and may look like a secret
            "theme": self.find_theme(request),
            "live": live,
            "has_vendor": (vendor.VENDOR / "htmx.min.js").exists(),
            "has_charts": (vendor.VENDOR / "uPlot.min.js").exists(),
            "missing": vendor.tell_missing(),
            "version": __version__,
        }
        text = self._templates.get_template(template).render({**shared, **values})
        return HTMLResponse(text, status_code=status)

    def hide(self, text: str) -> str:
        """What others wrote, without what is called a password, a key or a token."""
        return hide(text, self._secrets)

    def _finalize(self, value: object) -> object:
        """Every text that a template shows comes by here; what must stand as it is goes by `|e`."""
        return self.hide(value) if type(value) is str else value

    def find_theme(self, request: Request) -> str:
        given = request.cookies.get(_THEME_COOKIE, "auto")
        return given if given in THEMES else "auto"

    def keep_theme(self, answer: Response, theme: str) -> None:
        answer.set_cookie(_THEME_COOKIE, theme, max_age=365 * 86_400, httponly=True, samesite="strict", path="/")

    def attend(self, request: Request, *runs: str) -> None:
        """Somebody asked for this page: without JavaScript there is no other sign."""
        self.watch.attend(f"page {request.url.path}", runs)

    def attend_fresh(self, request: Request, *runs: str) -> None:
        """The same for a page that would show runs as they were when somebody looked last."""
        self.attend(request, *runs)
        self.watch.await_looks(within_s=_PATIENCE_S)


def _load_templates(finalize: Callable[[object], object]) -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("windlass.web"),
        autoescape=True,
        finalize=finalize,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        age=words.format_age,
        clock=words.format_clock,
        span=words.format_span,
        size=words.format_size,
        number=words.format_number,
        state=words.format_state,
        standing=words.format_standing,
        tasks=format_tasks,
        progress=format_progress,
        percent=words.count_percent,
        ansi=words.make_class,
        words_only=strip,
        hours=format_amount,
        metric_name=shorten_name,
        day=words.format_day,
    )
    return made
