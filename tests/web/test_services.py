"""TensorBoard and JupyterLab of a run, opened and closed by buttons of its page."""

import os
import signal
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from tests.app.services.events import TRAIN
from tests.app.services.foreground import foreground, get_page
from tests.app.services.test_tensorboard import find_own_board, is_gone, list_shown
from tests.app.services.venv import find_services
from tests.app.test_story import wait_for_words
from tests.waiting import wait_until
from tests.web.house import FORM_KEY, SITE, House, make_run
from windlass.app.cancelling import cancel_runs
from windlass.app.planning import Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.services.background import Opened
from windlass.app.services.opening import OPENABLES, Services
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState
from windlass.core.services.shaping import make_jupyter_command
from windlass.edges.local_ports import find_free_port

IS_OPEN = 'id="opened"'
NOTEBOOK = make_jupyter_command(idle=None, listen="loopback", folder=None)


def test_a_run_offers_what_it_has(guest: House) -> None:
    training = make_run("training", state=RunState.RUNNING)
    notebook = make_run("notebook", state=RunState.RUNNING, command=NOTEBOOK)
    over = make_run("over", state=RunState.DONE, command=NOTEBOOK)
    guest.add(training, notebook, over)

    offered = {
        run: [
            kind for kind in ("tensorboard", "jupyter") if f"/runs/{run}/open/{kind}" in guest.get(f"/runs/{run}").text
        ]
        for run in ("training", "notebook", "over")
    }

    assert offered == {"training": ["tensorboard"], "notebook": ["jupyter"], "over": []}
    assert "There is nothing to open" in guest.get("/runs/over/open/jupyter").text
    assert "There is nothing to open" in guest.get("/runs/training/open/jupyter").text
    assert guest.get("/runs/training/open/other").status == 404


def test_nothing_is_opened_without_the_word_of_our_own_forms(guest: House) -> None:
    guest.add(make_run("training", state=RunState.RUNNING))
    key = guest.find_form_key("/runs/training/open/tensorboard")

    for path in ("/runs/training/open/tensorboard", "/runs/training/open/tensorboard/close"):
        assert guest.post(path, {"form_key": "x" * len(key)}).status == 403

    assert "Open TensorBoard" in guest.get("/runs/training/open/tensorboard").text


def test_what_cannot_be_opened_says_why_and_can_be_tried_again(guest: House) -> None:
    guest.add(make_run("training", state=RunState.RUNNING, site=SITE))  # of a site that is in no file
    path = "/runs/training/open/tensorboard"

    assert guest.post(path, {"form_key": guest.find_form_key(path)}).headers["location"] == path

    wait_until(lambda: 'class="bad"' in guest.get(path).text, "the problem")
    assert f"{SITE}" in guest.get(path).text
    assert "Open TensorBoard" in guest.get(path).text


def test_the_token_of_what_is_open_stands_on_no_page(guest: House) -> None:
    guest.add(make_run("notebook", state=RunState.RUNNING, command=NOTEBOOK))
    open_at(guest, "http://127.0.0.1:8888/lab?token=7f3a9c")
    path = "/runs/notebook/open/jupyter"
    form = {"form_key": guest.find_form_key(path)}
    guest.post(path, form)
    wait_until(lambda: IS_OPEN in guest.get(path).text, "the way to it")

    page = guest.get(path)

    assert "7f3a9c" not in page.text
    assert "127.0.0.1:8888" in page.text
    assert "form-action 'self' http://127.0.0.1:*;" in page.headers["content-security-policy"]
    assert guest.post(f"{path}/go", {}).status == 403
    there = guest.post(f"{path}/go", form)
    assert (there.status, there.headers["location"]) == (303, "http://127.0.0.1:8888/lab?token=7f3a9c")
    guest.post(f"{path}/close", form)
    assert guest.post(f"{path}/go", form).headers["location"] == path


@pytest.mark.slow
def test_tensorboard_is_opened_shown_and_closed(guest: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{find_services()}/bin:{os.environ['PATH']}")
    record = start_training(guest, tmp_path / "project")
    path = f"/runs/{record.run_id}/open/tensorboard"
    form = {"form_key": guest.find_form_key(path)}

    boards = []
    for _ in range(2):  # closed by its button, then with the dashboard
        guest.post(path, form)
        guest.post(path, form)  # a double click
        wait_until(lambda: IS_OPEN in guest.get(path).text, "the way to it")
        address = guest.post(f"{path}/go", form).headers["location"]
        wait_until(lambda at=address: list_shown(at) == [f"{record.run_id}/runs/first"], "the run")  # type: ignore[misc]
        assert get_page(address)[0] == 200
        boards.append(find_own_board(address))
        if len(boards) == 1:
            guest.post(f"{path}/close", form)
            assert is_gone(boards[0])
            assert "Open TensorBoard" in guest.get(path).text
    guest.desk.services.close_all()
    assert is_gone(boards[1])
    cancel_runs(guest.session, [record])


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_tensorboard_ends_with_the_dashboard_however_that_ends(
    house: House, tmp_path: Path, number: signal.Signals
) -> None:
    record = start_training(house, tmp_path / "project")
    path = {"PATH": f"{find_services()}/bin:{os.environ['PATH']}"}
    with foreground("dash", "--no-browser", "--port", str(find_free_port()), env=path) as dash:
        entrance = dash.wait_for_address()
        visitor = build_opener(HTTPCookieProcessor())
        page = f"{entrance.partition('/enter')[0]}/runs/{record.run_id}/open/tensorboard"
        visitor.open(entrance).close()

        def read() -> str:
            with visitor.open(page) as answer:
                return str(answer.read().decode())

        form = urlencode({"form_key": FORM_KEY.findall(read())[0]}).encode()
        visitor.open(page, form).close()
        wait_until(lambda: IS_OPEN in read(), "the way to it")
        with visitor.open(f"{page}/go", form) as board_page:
            board = find_own_board(board_page.geturl())
        dash.process.send_signal(number)
        wait_until(lambda: is_gone(board), "it ends with the dashboard")
    cancel_runs(house.session, [record])


def open_at(house: House, address: str) -> None:
    """What is opened from now on is at that address already."""

    def work(session: Session, opened: Opened) -> None:
        opened.show(address)
        opened.sleep(600)

    kinds = {
        kind: replace(one, open=lambda open_session, record: Opened(open_session, work))
        for kind, one in OPENABLES.items()
    }
    house.desk.services = Services(house.desk.open_session, kinds)


def start_training(house: House, project: Path) -> RunRecord:
    project.mkdir()
    (project / "train.py").write_text(TRAIN)
    (project / "windlass.toml").write_text(
        '[run]\nname = "board"\ncommand = "python3 train.py"\n[resources]\ntime = "5m"\ncpus = 1\nmemory = "200M"\n'
    )
    record = start_run(house.session, plan_run(house.session, Wanted(project=project, site="here")))
    wait_for_words(house.session, record, b"first")
    return record
