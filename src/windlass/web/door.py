"""Who may come in: the right host name, this user's own programs, a cookie that only the token gives; and what every
answer says to the browser.

Nothing but `/enter` answers without the cookie, and that only to whoever knows the token.
"""

import hmac
import html
import os
import secrets
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, quote

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from windlass.web.peers import NOBODY, FindOwner, find_owner, is_of_another_user

TOKEN_HEADER = "x-windlass-token"
_MOST_FORM = 64 << 10
_FORMS = "form-action 'self'"
_CSP = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    f"font-src 'self'; object-src 'none'; base-uri 'none'; {_FORMS}; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer browsers call the origin of our own forms "null"
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_OWN_FETCHES = ("same-origin", "none")  # none: typed, or opened from a terminal
_SHUT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Windlass</title>
<h1>Please come in by the door</h1><p>{why}</p><p>Run <code>windlass dash</code> again: it opens the page.</p></html>"""
# A page, not a redirect: whoever came from a file or another page would go on as a stranger, without the strict cookie.
_ENTERED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Windlass</title>
<link rel="icon" href="/static/windlass.svg" type="image/svg+xml">
<meta http-equiv="refresh" content="0;url={to}"><h1>Come in</h1><p><a href="{to}">Go on to Windlass</a></p></html>"""


@dataclass(frozen=True, kw_only=True)
class Keys:
    """Made anew each time the server starts."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    form: str = field(default_factory=lambda: secrets.token_urlsafe(32))  # in every form: no other page knows it


class Door:
    """An ASGI middleware around everything."""

    def __init__(self, app: ASGIApp, *, keys: Keys, port: int, find_owner: FindOwner = find_owner) -> None:
        self._app = app
        self._keys = keys
        self._port = port
        self._find_owner = find_owner
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._cookie = f"windlass-{port}"  # cookies of one host are shared by all its ports

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        refusal = self._refuse(request)
        if refusal is not None:
            await refusal(scope, receive, _with_headers(send))
        elif request.url.path == "/enter":
            await self._enter(request)(scope, receive, _with_headers(send))
        elif request.url.path == "/alive" and self._knows_token(request.headers.get(TOKEN_HEADER, "")):
            await JSONResponse({"pid": os.getpid()})(scope, receive, _with_headers(send))
        elif not self._has_cookie(request):
            await _shut("This page is only for whoever started it.")(scope, receive, _with_headers(send))
        else:
            scope["windlass_keys"] = self._keys
            await self._app(scope, receive, _with_headers(send))

    def _refuse(self, request: Request) -> Response | None:
        """A name that leads here by a trick of DNS, another user of this machine, a page of another program's."""
        if request.headers.get("host", "").lower() not in self._hosts:
            return _shut("This server answers at 127.0.0.1 only.")
        owner = self._find_owner(request.client, self._port) if request.client else NOBODY
        if owner == NOBODY:
            return _shut("Which program asks cannot be seen; one of this system, started by you, may ask again.")
        if is_of_another_user(owner):
            return _shut("This server is another user's.")
        origin = request.headers.get("origin")
        if origin is not None and origin.lower() not in tuple(f"http://{host}" for host in self._hosts):
            return _shut("The request came from another page.")
        if request.headers.get("sec-fetch-site", "none") not in _OWN_FETCHES and request.method != "GET":
            return _shut("The request came from another page.")
        return None

    def _enter(self, request: Request) -> Response:
        if request.method != "GET" or not self._knows_token(request.query_params.get("token", "")):
            return _shut("The token in the address is not that of this server.")
        to = request.query_params.get("to", "/")
        is_ours = to.startswith("/") and not to.startswith(("//", "/\\"))
        address = html.escape(quote(to, safe="/?&=%#.+") if is_ours else "/")
        answer = HTMLResponse(_ENTERED.format(to=address))
        answer.set_cookie(self._cookie, self._keys.session, httponly=True, samesite="strict", path="/")
        return answer

    def _knows_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._keys.token.encode())

    def _has_cookie(self, request: Request) -> bool:
        """Read with care: other programs at this address set cookies too."""
        for header in request.headers.getlist("cookie"):
            try:
                found = SimpleCookie(header).get(self._cookie)
            except CookieError:
                continue
            if found is not None and hmac.compare_digest(found.value.encode(), self._keys.session.encode()):
                return True
        return False


async def read_form(request: Request) -> dict[str, str] | None:
    """What a form of ours sent; None where it lacks the word that only our pages know."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _MOST_FORM:
            return None
    try:
        values = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return None
    form = {name: found[-1] for name, found in values.items()}
    keys: Keys = request.scope["windlass_keys"]
    return form if hmac.compare_digest(form.pop("form_key", "").encode(), keys.form.encode()) else None


def refuse_form() -> Response:
    return _shut("The form was not one of ours, or the server was started anew. Go back and load the page again.")


def let_forms_lead_on(answer: Response) -> Response:
    """To other programs of this machine: browsers want that said of the page that holds the form."""
    answer.headers["content-security-policy"] = _CSP.replace(_FORMS, f"{_FORMS} http://127.0.0.1:*")
    return answer


def _shut(why: str) -> Response:
    return HTMLResponse(_SHUT.format(why=why), status_code=403)


def _with_headers(send: Send) -> Send:
    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return add
