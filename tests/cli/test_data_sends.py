"""`windlass data send --with` and `windlass data sends`: Globus as its own library answers, rsync only named."""

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.app.transfers import make_files
from tests.cli.conftest import Windlass
from tests.conftest import Places
from windlass.cli.main import main
from windlass.edges.folders import find_folders
from windlass.edges.globus import CLIENT_VARIABLE, TOKENS
from windlass.edges.site_files import add_site

globus_sdk = pytest.importorskip("globus_sdk")
responses = pytest.importorskip("responses")
testing = pytest.importorskip("globus_sdk.testing")

LAPTOP, SITE = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
Verb = Callable[..., tuple[int, str, str]]


@pytest.fixture
def archive(project: Path) -> Path:
    make_files(project / "pets", count=4, size=100)
    subprocess.run(["tar", "cf", "photos.tar", "pets"], cwd=project, check=True)
    return project / "photos.tar"


@pytest.fixture(autouse=True)
def _far(places: Places) -> None:
    login = f'[login]\nhost = "far.invalid"\nglobus = "{SITE}"\n'
    add_site("far", f'root = "/far/root"\n{login}', find_folders(os.environ))


@pytest.fixture
def data(
    places: Places, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Verb]:
    """`windlass data ARGS` in this process, where Globus is answered for: exit code, data, words."""
    kept = {"access_token": "access", "refresh_token": "refresh", "expires_at_seconds": 2**33}
    (places.config / TOKENS).write_text(json.dumps(kept))
    (places.home / ".globusonline" / "lta").mkdir(parents=True)
    (places.home / ".globusonline" / "lta" / "client-id.txt").write_text(LAPTOP)
    monkeypatch.setenv(CLIENT_VARIABLE, "client")
    monkeypatch.chdir(project)

    def run(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["data", *args])
        shown = capsys.readouterr()
        return int(ended.value.code or 0), shown.out, shown.err

    with responses.mock:
        yield run


def answer(task_id: str, **told: object) -> None:
    answered = testing.RegisteredResponse(
        service="transfer", path=f"/v0.10/task/{task_id}", json={"task_id": task_id, "files": 4, **told}
    )
    responses.remove("GET", answered.full_url)
    answered.add()


def submit(data: Verb, *args: str) -> tuple[str, str, dict[str, object]]:
    """The task, the words, and what Globus was asked to carry."""
    testing.load_response("transfer.get_submission_id")
    testing.load_response("transfer.submit_transfer")
    code, task, words = data("send", *args, "--with", "globus", "--on", "far")
    assert code == 0, words
    asked = json.loads(testing.get_last_request().body)
    assert (asked["source_endpoint"], asked["destination_endpoint"]) == (LAPTOP, SITE)
    return task.strip(), words, asked["DATA"][0]


def test_globus_carries_a_folder_and_the_site_packs_it(data: Verb, archive: Path) -> None:
    _, words, carried = submit(data, "pets", "--licence", "CC0")

    assert carried["source_path"] == str(archive.parent / "pets")
    assert (carried["destination_path"], carried["recursive"]) == ("/far/root/plain/pets", True)
    assert "when it is there: windlass data pack /far/root/plain/pets --name pets --on far --licence CC0" in words


def test_globus_leaves_an_archive_its_name(data: Verb, archive: Path) -> None:
    _, words, carried = submit(data, "photos.tar")

    assert carried["source_path"] == str(archive)
    assert (carried["destination_path"], carried["recursive"]) == ("/far/root/plain/photos/photos.tar", False)
    assert "windlass data pack /far/root/plain/photos/photos.tar --name photos --on far" in words


def test_what_globus_carries_is_listed_until_it_is_over(data: Verb, archive: Path) -> None:
    task, words, _ = submit(data, "pets")
    assert f"--stop {task} ends it" in words

    answer(task, status="ACTIVE", bytes_transferred=200, effective_bytes_per_second=50)
    _, running, _ = data("sends")
    answer(task, status="SUCCEEDED", bytes_transferred=400)
    _, told, _ = data("sends", "--json")
    responses.reset()  # what is over is not asked about again
    _, over, _ = data("sends")

    assert running.splitlines()[1].split()[:4] == [task, "pets", "far", "running"]
    assert "200 bytes" in running
    (done,) = json.loads(told)["sends"]
    assert (done["id"], done["state"], done["done_bytes"], done["rate"]) == (task, "done", 400, None)
    assert over.splitlines()[1].split()[3] == "done"


def test_a_transfer_is_stopped_where_it_runs(data: Verb, archive: Path) -> None:
    task, _, _ = submit(data, "pets")
    cancel = f"/v0.10/task/{task}/cancel"
    testing.RegisteredResponse(service="transfer", path=cancel, method="POST", json={"code": "Canceled"}).add()
    answer(task, status="FAILED", fatal_error={"code": "CANCELED", "description": "stopped"})

    code, _, words = data("sends", "--stop", task)

    assert (code, f"{task} is stopped" in words) == (0, True)
    assert any(call.request.url.endswith(cancel) for call in responses.calls)


def test_a_service_that_does_not_answer_hides_no_list(data: Verb, archive: Path) -> None:
    task, _, _ = submit(data, "pets")
    unwell = testing.RegisteredResponse(
        service="transfer", path=f"/v0.10/task/{task}", status=400, json={"code": "Unwell", "message": "away"}
    )
    unwell.add()

    code, shown, _ = data("sends")

    assert code == 0
    assert shown.splitlines()[1].split()[3] == "unknown"


def test_nothing_is_submitted_that_globus_would_lose(data: Verb, archive: Path) -> None:
    (archive.parent / "labels.csv").write_text("path,label\npets/cats/0001.jpg,tom\n")

    for args in (("labels.csv",), ("pets", "--labels", "labels.csv")):
        code, _, words = data("send", *args, "--with", "globus", "--on", "far")
        assert (code, "nothing was sent" in words) == (2, True)
        assert f"windlass data pack {args[0]} " in words
    assert not responses.calls


def test_an_archive_that_rsync_brought_is_packed_by_the_next_command(
    windlass: Windlass, archive: Path, tmp_path: Path
) -> None:
    told = windlass("data", "send", "photos.tar", "--to", str(tmp_path / "raw"), "--with", "rsync", "--on", "far")
    *_, source, target = shlex.split(told.stdout)
    (tmp_path / "raw").mkdir()
    shutil.copy(archive.parent / source, target.removeprefix("far.invalid:"))  # as rsync does with a folder
    then = shlex.split(told.stderr.split("then: ")[1])
    packed = windlass(*then[1:-1], "here", "--json")

    assert then[0] == "windlass"
    assert then[-2:] == ["--on", "far"]
    assert packed.returncode == 0, packed.stderr
    found = json.loads(packed.stdout)["packed"]
    assert (found["files"], found["classes"]) == (4, 2)
