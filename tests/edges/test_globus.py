"""Globus through its own library, against the answers that the library itself keeps for tests."""

import json
from pathlib import Path

import pytest

from windlass.edges.globus import TOKENS, Globus
from windlass.errors import LoginNeeded, TransferFailed, UsageError

globus_sdk = pytest.importorskip("globus_sdk")
responses = pytest.importorskip("responses")
testing = pytest.importorskip("globus_sdk.testing")

LAPTOP, SITE = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
SECRET = "the-refresh-token"


@pytest.fixture(autouse=True)
def _answers_only_from_the_library() -> object:
    with responses.mock:
        yield


@pytest.fixture
def globus(tmp_path: Path) -> Globus:
    kept = {"access_token": "access", "refresh_token": SECRET, "expires_at_seconds": 2**33}
    (tmp_path / TOKENS).write_text(json.dumps(kept))
    return Globus(tmp_path, "client")


def _answer(path: str, found: object, *, method: str = "GET", status: int = 200) -> None:
    testing.RegisteredResponse(service="transfer", path=path, method=method, json=found, status=status).add()


def _submit(globus: Globus) -> str:
    return globus.submit(
        source=LAPTOP, source_path="/home/me/pets", target=SITE, target_path="/scratch/pets", label="pets", folder=True
    )


def test_a_transfer_is_submitted_with_checksums(globus: Globus) -> None:
    testing.load_response("transfer.get_submission_id")
    known = testing.load_response("transfer.submit_transfer").metadata

    task = _submit(globus)

    asked = json.loads(testing.get_last_request().body)
    assert task == known["task_id"]
    assert (asked["source_endpoint"], asked["destination_endpoint"]) == (LAPTOP, SITE)
    assert asked["verify_checksum"] is True
    assert asked["submission_id"] == known["submission_id"]
    assert [(one["source_path"], one["destination_path"], one["recursive"]) for one in asked["DATA"]] == [
        ("/home/me/pets", "/scratch/pets", True)
    ]


def test_a_refusal_is_told_in_the_services_words(globus: Globus) -> None:
    testing.load_response("transfer.get_submission_id")
    testing.load_response("transfer.submit_transfer", case="failure")

    with pytest.raises(TransferFailed, match="requires at least one item") as caught:
        _submit(globus)

    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("told", "state"),
    [
        ({"status": "ACTIVE"}, "running"),
        ({"status": "SUCCEEDED"}, "done"),
        ({"status": "FAILED", "fatal_error": {"code": "PERMISSION_DENIED", "description": "denied"}}, "failed"),
        ({"status": "FAILED", "fatal_error": {"code": "CANCELED", "description": "stopped"}}, "stopped"),
        ({"status": "INACTIVE"}, "failed"),
    ],
)
def test_what_became_of_a_task_is_told(globus: Globus, told: dict[str, object], state: str) -> None:
    _answer("/v0.10/task/T", {"task_id": "T", "bytes_transferred": 7, "files": 3, **told})

    task = globus.look("T")

    assert (task.state, task.done_bytes, task.files) == (state, 7, 3)
    assert task.page.endswith("/T")


def test_a_task_is_cancelled(globus: Globus) -> None:
    known = testing.load_response("transfer.cancel_task").metadata

    globus.cancel(known["task_id"])

    assert testing.get_last_request().url.endswith(f"/task/{known['task_id']}/cancel")


def test_an_endpoint_is_found_by_its_name(globus: Globus) -> None:
    found = [{"id": "X", "display_name": "else"}, {"id": SITE, "canonical_name": "centre#dtn"}]
    _answer("/v0.10/endpoint_search", {"DATA": found, "has_next_page": False})

    assert globus.find_endpoint("centre#dtn") == SITE
    assert globus.find_endpoint(LAPTOP) == LAPTOP
    with pytest.raises(UsageError, match="no collection 'centre'"):
        globus.find_endpoint("centre")


def test_a_login_keeps_tokens_for_the_user_alone(tmp_path: Path) -> None:
    testing.load_response("auth.oauth2_exchange_code_for_tokens")
    globus = Globus(tmp_path / "settings", "client")
    shown: list[str] = []

    def ask(address: str) -> str:
        shown.append(address)
        return " the-code \n"

    globus.log_in(ask)

    path = tmp_path / "settings" / TOKENS
    assert shown[0].startswith("https://auth.globus.org/")
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text())["access_token"] == "transfer_access_token"


def test_without_a_login_or_when_it_has_ended_one_is_asked_for(tmp_path: Path, globus: Globus) -> None:
    refused = {"code": "AuthenticationFailed", "message": "token expired"}
    _answer("/v0.10/task/T", refused, status=401)
    testing.load_response("auth.oauth2_exchange_code_for_tokens", case="invalid_grant")

    with pytest.raises(LoginNeeded) as ended:
        globus.look("T")
    with pytest.raises(LoginNeeded):
        Globus(tmp_path / "elsewhere", "client").look("T")

    assert SECRET not in str(ended.value)


def test_a_program_without_an_id_is_told_where_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="WINDLASS_GLOBUS_CLIENT_ID"):
        Globus(tmp_path, None)
