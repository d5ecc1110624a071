"""Whatever others wrote into names and logs is text; and who has no token sees nothing."""

import pytest

from tests.web.browser.sample import HOSTILE, MAIN, NASTY
from tests.web.browser.visitor import Visitor

_OUR_SCRIPTS = (
    "[...document.scripts].every(one => one.src.startsWith(location.origin + '/static/') && !one.textContent)"
)
_PLACES = (
    f"/runs/{HOSTILE}",
    f"/runs/{HOSTILE}/log",
    f"/runs/{HOSTILE}/log?q=script",
    f"/runs/{HOSTILE}/log?q={NASTY}",
    f"/runs/{HOSTILE}/papers/changes.diff",
    f"/runs/{HOSTILE}/cancel",
    f"/runs?q={NASTY}",
    "/runs?state=failed",
    f"/runs/{NASTY.replace('/', '')}",
)


@pytest.mark.parametrize("path", _PLACES)
def test_markup_is_text(visitor: Visitor, path: str) -> None:
    page = visitor.go(path)
    page.wait_for_load_state("load")

    assert page.evaluate(_OUR_SCRIPTS)
    assert page.locator("main img, main svg[onload], main iframe, main [onerror]").count() == 0
    assert page.locator("a[href^='javascript:']").count() == 0
    assert "\x1b" not in page.locator("main").inner_text()
    assert visitor.dialogs == []
    assert visitor.hosts == {"127.0.0.1"}


def test_a_hostile_log_is_shown_as_it_is(visitor: Visitor) -> None:
    page = visitor.go(f"/runs/{HOSTILE}/log")

    text = page.locator("ol.log").inner_text()

    assert '<script>alert("windlass")</script>' in text
    assert "<svg/onload=alert(2)>" in text


def test_a_script_of_another_hand_would_not_run(visitor: Visitor) -> None:
    """Even if one came through: the page's own rules forbid it."""
    page = visitor.go("/")

    page.evaluate("""() => {
      const one = document.createElement("div");
      one.innerHTML = '<img src="http://evil.example/x.png" onerror="window.isOurs = true">';
      document.body.append(one);
      const two = document.createElement("script");
      two.textContent = "window.isOurs = true";
      document.body.append(two);
    }""")
    page.wait_for_function("document.images[0].complete")

    assert page.evaluate("window.isOurs") is None
    assert any("Content Security Policy" in one for one in visitor.complaints)


@pytest.mark.parametrize("path", ["/", "/runs", f"/runs/{MAIN}", f"/runs/{MAIN}/log", "/news", "/enter?token=wrong"])
def test_without_the_token_nothing_is_shown(visitor: Visitor, path: str) -> None:
    page = visitor.open()

    answer = page.goto(visitor.address + path)

    assert answer is not None
    assert answer.status == 403
    assert "resnet50" not in page.content()
    assert "come in by the door" in page.content()


def test_a_page_of_another_program_can_neither_read_nor_act(visitor: Visitor) -> None:
    """At another port of this machine: the cookie goes along there, and must not help."""
    page = visitor.go("/")
    stranger = page.context.new_page()
    stranger.goto("about:blank")

    read = stranger.evaluate(
        """async (to) => { try { return await (await fetch(to, {credentials: "include"})).text(); }
                           catch (error) { return "refused"; } }""",
        visitor.address + "/runs",
    )

    assert read == "refused"
