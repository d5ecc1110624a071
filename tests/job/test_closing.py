"""An order that comes late, from a laptop that is long gone, must find the door closed."""

from pathlib import Path

import pytest

from tests.job.deputy_requests import make_run, make_submit
from windlass.edges.host import Host, Json, Reply, Request
from windlass.edges.local_host import LocalHost

RUN = "a-11111"


def ask(host: Host, operation: str, folder: Path, **more: object) -> Reply:
    arguments: Json = {"folder": str(folder), "number": 1, "token": "token-1", **more}
    return host.ask([Request(operation=operation, arguments=arguments)])[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / RUN


def test_a_run_closed_before_its_folder_was_made_is_not_made_any_more(tmp_path: Path, folder: Path) -> None:
    host = LocalHost()

    closed = ask(host, "close_submission", folder)
    again = ask(host, "close_submission", folder)
    prepared, submitted = host.ask(
        [make_run(tmp_path), _only_if_ok(make_submit(folder, ["touch", str(tmp_path / "x")]))]
    )

    assert closed.ok
    assert again.ok
    assert (prepared.kind, submitted.kind) == ("exists", "skipped")
    assert not (tmp_path / "x").exists()
    assert ask(host, "submission", folder).values["folder_gone"]


def test_a_submission_closed_before_it_was_begun_sends_nothing(tmp_path: Path, folder: Path) -> None:
    host = LocalHost()
    host.ask([make_run(tmp_path)])

    closed = ask(host, "close_submission", folder)
    again = ask(host, "close_submission", folder)
    (submitted,) = host.ask([make_submit(folder, ["touch", str(tmp_path / "x")])])

    assert closed.ok
    assert again.ok
    assert submitted.values["state"] == "refused"
    assert not (tmp_path / "x").exists()


def test_what_was_begun_is_not_closed(tmp_path: Path, folder: Path) -> None:
    host = LocalHost()
    host.ask([make_run(tmp_path), make_submit(folder, ["echo", "7"])])

    closed = ask(host, "close_submission", folder)

    assert closed.kind == "exists"


def test_after_a_refusal_the_same_number_may_be_tried_again(tmp_path: Path, folder: Path) -> None:
    host = LocalHost()
    (_, refused) = host.ask([make_run(tmp_path), make_submit(folder, ["sh", "-c", "echo no >&2; exit 1"])])

    forgotten = ask(host, "forget_intent", folder, refused=True)
    (submitted,) = host.ask([make_submit(folder, ["echo", "7"])])

    assert refused.values["state"] == "refused"
    assert forgotten.ok
    assert (submitted.values["state"], submitted.values["existed"]) == ("submitted", False)


def test_a_submitted_job_is_never_forgotten(tmp_path: Path, folder: Path) -> None:
    host = LocalHost()
    host.ask([make_run(tmp_path), make_submit(folder, ["echo", "7"])])

    assert ask(host, "forget_intent", folder, refused=True).kind == "exists"


def _only_if_ok(request: Request) -> Request:
    return Request(operation=request.operation, arguments=request.arguments, only_if_ok=True)
