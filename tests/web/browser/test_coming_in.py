"""From the file that `windlass dash` opens to the page: a browser must bring the cookie, which is strict."""

from pathlib import Path

import pytest

from tests.web.browser.visitor import Visitor
from tests.web.house import House
from windlass.cli.browser import save_opening_page
from windlass.web.serving import Running


@pytest.mark.parametrize("with_script", [True, False])
def test_the_file_that_is_opened_leads_to_today(
    visitor: Visitor, sample: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_script: bool
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    running = Running(pid=1, port=sample.port, token=sample.keys.token)
    page = visitor.open(with_script=with_script)

    page.goto(save_opening_page(running.make_address()).as_uri())
    page.wait_for_url(f"{visitor.address}/")

    assert page.get_by_role("heading", level=1).inner_text() == "Today"
    assert "token" not in page.url
