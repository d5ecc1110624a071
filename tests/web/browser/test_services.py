"""What the page of a run opens at another port is reached by its button, with and without JavaScript."""

import http.server
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.web.browser.visitor import Visitor
from tests.web.house import House, make_run
from tests.web.test_services import NOTEBOOK, open_at
from windlass.core.record import RunState

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def notebook() -> Iterator[str]:
    """The address of something that answers with the path it was asked for."""

    class Echo(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/plain")
            self.end_headers()
            self.wfile.write(self.path.encode())

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/lab?token=7f3a9c"
        server.shutdown()


@pytest.mark.parametrize("with_script", [True, False])
def test_a_button_leads_to_it(chromium: "Browser", house: House, notebook: str, with_script: bool) -> None:
    house.add(make_run("notebook", state=RunState.RUNNING, command=NOTEBOOK))
    open_at(house, notebook)
    with Visitor(chromium, house) as visitor:
        page = visitor.go("/runs/notebook/open/jupyter", with_script=with_script)
        page.get_by_role("button", name="Open JupyterLab").click()
        while not with_script and not page.get_by_role("button", name="Go to JupyterLab").is_visible():
            page.reload()
        with page.expect_popup() as popup:
            page.get_by_role("button", name="Go to JupyterLab").click()
        popup.value.wait_for_url(notebook)

        assert popup.value.inner_text("body") == "/lab?token=7f3a9c"
        assert "7f3a9c" not in page.content()
