"""`windlass explain` and `windlass ticket` as a user types them."""

import json
import re
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import Windlass

RUN_FILE = """\
# my training
[run]
name = "fails"
command = "python3 train.py"

[resources]
time = "10m"  # plenty
memory = "200M"
"""
NO_HUB = "raise OSError(\"We couldn't connect to 'https://huggingface.co' to load this file\")\n"
TOKEN = "hf_abcdefghijklmnopqrstuvwxyz012345"


@pytest.fixture
def failed(windlass: Windlass, project: Path) -> str:
    """The id of a run that wanted something from the internet."""
    (project / "windlass.toml").write_text(RUN_FILE)
    (project / "train.py").write_text(NO_HUB)
    done = windlass("run")
    assert done.returncode == 7, done.stderr
    return json.loads(windlass("ps", "--json").stdout)["runs"][0]["run_id"]  # type: ignore[no-any-return]


def test_the_fix_is_shown_as_a_diff_and_written_when_asked(windlass: Windlass, project: Path, failed: str) -> None:
    done = windlass("explain", failed)

    assert "D203" in done.stdout
    assert '\n+[run.env]\n+HF_HUB_OFFLINE = "1"\n' in done.stdout
    assert (project / "windlass.toml").read_text() == RUN_FILE

    applied = windlass("explain", failed, "--apply")

    assert applied.returncode == 0
    assert "next: windlass run --on here" in applied.stderr
    assert (project / "windlass.toml").read_text().startswith(RUN_FILE)
    assert 'HF_HUB_OFFLINE = "1"' in (project / "windlass.toml").read_text()
    assert "says so already" in windlass("explain", failed).stdout


def test_without_the_projects_file_or_the_site(windlass: Windlass, project: Path, failed: str, tmp_path: Path) -> None:
    document = json.loads(windlass("explain", failed, "--json").stdout)
    assert document["diagnoses"][0]["patch"][0] == {"key": "run.env.HF_HUB_OFFLINE", "value": '"1"'}
    assert document["diff"].startswith("--- a/windlass.toml\n")

    (project / "windlass.toml").unlink()
    done = windlass("explain", failed)
    assert re.search(r"in windlass.toml:\n +\[run.env\]\n +HF_HUB_OFFLINE = \"1\"\n", done.stdout)
    assert windlass("explain", failed, "--apply").returncode == 2

    for folder in (tmp_path / "home").rglob("runs"):
        folder.rename(folder.with_name("gone"))
    summary = windlass("ticket", failed, "--print")
    assert summary.returncode == 0, summary.stderr
    assert summary.stdout.startswith(f"Run {failed} by ")


@pytest.mark.parametrize(
    ("args", "code"), [(("nosuch",), 6), (("4711",), 2), (("4711", "--on", "here"), 6), (("AssocMaxJobsLimit",), 0)]
)
def test_what_is_a_run_a_job_or_a_word(windlass: Windlass, args: tuple[str, ...], code: int) -> None:
    done = windlass("explain", *args)

    assert done.returncode == code
    assert "Traceback" not in done.stderr


def test_a_code_that_is_none_is_told_where_the_others_are(windlass: Windlass) -> None:
    done = windlass("explain", "X999")

    assert done.returncode == 6
    assert "diagnoses are D001 to D900" in done.stderr
    assert "try: windlass explain --list" in done.stderr
    listed = json.loads(windlass("explain", "--list", "--json").stdout)["codes"]
    assert {"E100", "C204", "D301"} <= set(listed)
    assert "D301  All the time that was asked for is used" in windlass("explain", "--list").stdout


def test_a_ticket_has_everything_but_the_secrets(windlass: Windlass, project: Path) -> None:
    openly = '[run.env]\nGITHUB_PAT = "plainpatvalue1234"\nDB_AUTH = "it\'s odd"\n'
    (project / "windlass.toml").write_text(f'{RUN_FILE}\n[run.secrets]\nTHING = "env:THING"\n{openly}')
    says = "print('token = ', os.environ['THING'], 'password=hunter2xyz', os.environ['GITHUB_PAT'])"
    (project / "train.py").write_text(f"import os\n{says}\nprint('token = {TOKEN}')\n1 / 0\n")
    secret = "correct horse battery"
    assert windlass("run", env={"THING": secret}).returncode == 7

    done = windlass("ticket")

    path = Path(done.stdout.strip())
    assert path.stat().st_mode & 0o777 == 0o600
    with tarfile.open(path) as bundle:
        files = {one.name.partition("/")[2]: bundle.extractfile(one).read().decode() for one in bundle}  # type: ignore[union-attr]
    expected = {"README.txt", "job-1.sh", "plan.json", "run.json", "record.json", "windlass.toml", "slurm/sacct.txt"}
    assert expected <= set(files)
    assert "secrets.env" not in files
    (log,) = [text for name, text in files.items() if name.startswith("logs/")]
    assert "ZeroDivisionError" in log
    assert "D801  the program raised ZeroDivisionError" in files["README.txt"]
    hidden = (secret, TOKEN, "plainpatvalue1234", "hunter2xyz", "s odd")
    assert [name for name, text in files.items() if any(word in text for word in hidden)] == []
    assert "GITHUB_PAT" in files["job-1.sh"]
    assert 'THING = "env:THING"' in files["windlass.toml"]
    assert "send it to" in done.stderr

    assert windlass("ticket", "-o", "t.zip").returncode == 0
    with zipfile.ZipFile(project / "t.zip") as zipped:
        assert any(name.endswith("/README.txt") for name in zipped.namelist())
    assert windlass("ticket", "-o", "t.zip").returncode == 2  # nothing is written over
