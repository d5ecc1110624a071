"""`windlass data` as a user types it: words, JSON, exit codes, and never a traceback."""

import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.app.transfers import make_files, read_set
from tests.cli.conftest import Windlass
from tests.conftest import Places
from tests.waiting import wait_until
from windlass.app.data.background_sends import Job
from windlass.cli.commands.data import command
from windlass.cli.data_words import SENDS_HEAD, make_send_row
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site


@pytest.fixture
def pets(project: Path) -> Path:
    make_files(project / "pets", count=8, size=1000)
    return project / "pets"


def read_json(done: subprocess.CompletedProcess[str]) -> Any:
    document = json.loads(done.stdout)
    assert document["version"] == 1
    return document


@pytest.mark.parametrize("name", command.list_commands(None))  # type: ignore[arg-type]
def test_every_verb_has_help_and_most_an_example(windlass: Windlass, name: str) -> None:
    done = windlass("data", name, "--help")

    assert done.returncode == 0
    assert f"windlass data {name}" in done.stdout
    assert "Examples:" in done.stdout or name in ("unregister", "globus-login", "sends")


def test_the_story_of_a_data_set(windlass: Windlass, pets: Path, project: Path) -> None:
    packed = windlass("data", "pack", "pets", "packed/pets", "--licence", "CC0")
    assert (packed.returncode, packed.stdout) == (0, "packed/pets\n")
    assert "8 files, 8.0 kB in 1 shard, 2 classes" in packed.stderr

    info = windlass("data", "info", "packed/pets")
    assert "classes  2: cats, dogs" in info.stdout
    assert "licence  CC0" in info.stdout

    sent = windlass("data", "send", "packed/pets", "--name", "pets")
    assert sent.returncode == 0, sent.stderr
    assert " copied on this machine in " in sent.stderr
    taken = windlass("data", "extract", "pets", "taken")
    assert (taken.returncode, taken.stdout) == (0, f"{project / 'taken'}\n"), taken.stderr
    listed = windlass("data", "ls")
    assert listed.stdout.splitlines()[0].split()[:3] == ["NAME", "FILES", "SIZE"]
    assert listed.stdout.splitlines()[1].split()[:4] == ["pets", "8", "8.0", "kB"]

    got = windlass("data", "get", "pets", "back")
    assert got.returncode == 0, got.stderr
    assert read_set(project / "back") == read_set(project / "packed" / "pets")

    assert windlass("data", "rm", "pets").returncode == 2  # nobody is there to ask
    gone = windlass("data", "rm", "pets", "--yes")
    assert (gone.returncode, "is gone" in gone.stderr) == (0, True)
    assert "has no data sets yet" in windlass("data", "ls").stderr


def test_every_answer_is_json_too(windlass: Windlass, pets: Path) -> None:
    packed = read_json(windlass("data", "pack", "pets", "packed", "--json"))["packed"]
    trial = read_json(windlass("data", "pack", "pets", "--dry-run", "--json"))["trial"]
    known = read_json(windlass("data", "register", "animals", str(pets.parent / "packed"), "--json"))["set"]
    listed = read_json(windlass("data", "ls", "--json"))["sets"]
    info = read_json(windlass("data", "info", "animals", "--json"))["set"]
    whole = read_json(windlass("data", "verify", "animals", "--json"))["verified"]
    advice = read_json(windlass("data", "advise", "pets", "--json"))["advice"]
    shared = read_json(windlass("data", "share", "animals", "--all", "--dry-run", "--json"))["shared"]
    few = read_json(windlass("data", "sample", "packed", "few", "-n", "1", "--json"))["sample"]

    assert packed["files"] == trial["files"] == known["set"]["files"] == info["files"] == whole["files"] == 8
    assert [one["set"]["name"] for one in listed] == ["animals"]
    assert (advice["files"], advice["packed_files"]) == (8, 3)
    assert shared["is_done"] is False
    assert few["files"] == 2


def flip_a_bit(folder: Path) -> None:
    shard = folder / "shard-00000.tar"
    content = bytearray(shard.read_bytes())
    content[600] ^= 1
    shard.write_bytes(content)


def test_a_flipped_bit_is_named_and_is_exit_code_1(windlass: Windlass, pets: Path, project: Path) -> None:
    windlass("data", "pack", "pets", "packed")
    flip_a_bit(project / "packed")

    done = windlass("data", "verify", "packed")
    told = windlass("data", "verify", "packed", "--json")

    assert done.returncode == told.returncode == 1
    assert "E802" in done.stderr
    assert "'cats/0001.jpg' in shard-00000.tar" in done.stderr
    assert read_json(told)["verified"]["damages"][0]["name"] == "cats/0001.jpg"


def test_what_is_damaged_is_mended_by_the_command_that_is_told(windlass: Windlass, pets: Path, project: Path) -> None:
    """A folder here, a name at run.site, a path at a site."""
    windlass("data", "pack", "pets", "packed")
    named = Path(read_json(windlass("data", "send", "pets", "--json"))["sent"]["path"])
    path = project / "far" / "pets"
    windlass("data", "send", "pets", "--name", "second", "--to", str(path))
    for folder in (project / "packed", named, path):
        flip_a_bit(folder)

    for args, mending in {
        ("packed",): "pack SOURCE packed --anew",
        ("pets",): "send SOURCE --name pets --on here --anew",
        (str(path), "--on", "here"): f"send SOURCE --to {path} --on here --anew",
    }.items():
        told = windlass("data", "verify", *args)
        extracted = windlass("data", "extract", args[0], str(project / "plain"), *args[1:])
        mended = windlass("data", *mending.replace("SOURCE", "pets").split())

        assert f"windlass data {mending}\n" in told.stderr
        assert f"windlass data {mending}\n" in extracted.stderr
        assert mended.returncode == 0, mended.stderr
        assert windlass("data", "verify", *args).returncode == 0
    assert not (project / "pets" / "dataset.json").exists()


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("pack", "nowhere", "x"), 1),
        (("pack", "pets", "pets/inside"), 2),
        (("pack", "pets", "x", "--shard-size", "large"), 2),
        (("pack", "pets", "x", "--on", "here"), 2),  # a target of one's own is for packing here
        (("info", "./nowhere"), 6),
        (("info", "nosuch"), 6),
        (("info", "pets"), 6),  # a folder that is not packed, and no data set of that name
        (("verify", "./pets"), 6),
        (("extract", "./pets", "out"), 6),
        (("sample", "./pets", "out"), 6),
        (("rm", "nosuch", "--yes"), 6),
        (("share", "nosuch", "--all"), 6),
        (("share", "nosuch"), 2),
        (("register", "two words", "/"), 1),
        (("register", "x", "/nowhere/at/all"), 6),
        (("unregister", "nosuch"), 6),
        (("ls", "--on", "nosuch"), 6),
        (("advise", "nosuch"), 6),
        (("advise", "pets", "--memory", "much"), 2),
        (("convert", "pets", "x", "--to", "parchment"), 2),
        (("send", "nowhere"), 2),
        (("send", "pets", "--name", "../up"), 2),
        (("get", "nosuch"), 6),
        (("sends", "--stop", "nosuch"), 6),
        (("nosuch",), 2),
    ],
)
def test_bad_input_ends_in_words_and_an_exit_code(
    windlass: Windlass, pets: Path, args: tuple[str, ...], code: int
) -> None:
    done = windlass("data", *args)

    assert "Traceback" not in done.stderr
    assert done.returncode == code, done.stderr
    assert "error[E" in done.stderr or "Usage" in done.stderr


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("pack", "nowhere", "x"), 1, "nothing was written"),
        (("pack", "empty", "x"), 1, "empty holds no files"),
        (("pack", "packed", "x"), 1, "packed is a packed data set already"),
        (("pack", "pets", "x", "--shard-size", "12Q"), 2, "'12Q' is no size; write"),
        (("verify", "pets"), 6, "windlass data pack pets pets-packed"),
        (("verify", "./pets"), 6, "pets is not packed"),
        (("verify", "plain"), 6, "--name pets-packed --on here"),
        (("register", "rel", "packed"), 2, "is no absolute path at here"),
        (("get", "plaim"), 6, "did you mean 'plain'?"),
        (("get", "sent", "pets"), 2, "windlass data get sent pets-packed --on here"),
        (("convert", "packed", "x", "--to", "webdatset"), 2, "did you mean 'webdataset'?"),
        (("extract", "packed", "x", "--only", "nosuch/*"), 6, "no file of packed is like 'nosuch/*'"),
        (("extract", "sent", "$PWD/x", "--only", "nosuch/*", "--on", "here"), 6, "is like 'nosuch/*'"),
    ],
)
def test_a_slip_is_told_with_what_was_meant(
    windlass: Windlass, pets: Path, project: Path, args: tuple[str, ...], code: int, words: str
) -> None:
    (project / "empty").mkdir()
    windlass("data", "pack", "pets", "packed")
    windlass("data", "send", "packed", "--name", "sent")
    windlass("data", "register", "plain", str(pets))
    before = sorted(pets.iterdir())

    done = windlass("data", *args)

    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert words in " ".join(done.stderr.split())
    assert not (project / "x" / "dataset.json").exists()
    assert sorted(pets.iterdir()) == before


def test_ctrl_c_says_what_was_done_and_the_same_command_goes_on(places: Places, project: Path) -> None:
    make_files(project / "pets", count=400, size=200_000)
    arguments = (sys.executable, "-m", "windlass", "data", "pack", "pets", "packed", "--shard-size", "4M")
    process = subprocess.Popen(arguments, cwd=project, stderr=subprocess.PIPE, text=True, start_new_session=True)
    wait_until(lambda: bool(list(project.glob("packed/shard-*.tar"))) or process.poll() is not None, "a shard")
    os.killpg(process.pid, signal.SIGINT)
    _, words = process.communicate(timeout=60)

    again = subprocess.run(arguments, cwd=project, capture_output=True, text=True, check=False)

    assert process.returncode in (0, 130)  # it may have been done before
    if process.returncode:
        assert "the same command goes on with it" in words
    assert again.returncode == 0, again.stderr
    assert len(read_set(project / "packed")) == 400


def test_a_run_names_a_data_set_and_the_plan_knows_it(windlass: Windlass, pets: Path, project: Path) -> None:
    (project / "windlass.toml").write_text('[run]\ncommand = "true"\nexclude = ["pets/**"]\n[data.pets]\n')
    lacking = windlass("plan", "--on", "here")
    windlass("data", "send", "pets")
    planned = windlass("plan", "--on", "here", "--json")

    assert "C418" in lacking.stderr + lacking.stdout
    assert "windlass data send" in lacking.stderr + lacking.stdout
    assert "C418" not in planned.stdout
    assert any(one["name"] == "pets" for one in read_json(planned)["plan"]["data"])


def test_a_set_that_a_live_run_reads_is_kept(windlass: Windlass, pets: Path, project: Path) -> None:
    windlass("data", "send", "pets")
    (project / "windlass.toml").write_text('[run]\ncommand = "sleep 60"\nexclude = ["pets/**"]\n[data.pets]\n')
    run_id = windlass("run", "-d").stdout.strip()

    refused = windlass("data", "rm", "pets", "--yes")
    windlass("cancel", run_id)
    windlass("wait", run_id)
    removed = windlass("data", "rm", "pets", "--yes")

    assert refused.returncode == 1
    assert run_id in refused.stderr
    assert removed.returncode == 0, removed.stderr


def test_a_dry_run_at_a_site_is_of_what_lies_there(windlass: Windlass, pets: Path) -> None:
    (pets.parent / "labels.csv").write_text("path,label\n" + "".join(f"cats/000{one}.jpg,{one}\n" for one in (1, 3, 5)))
    here = windlass("data", "pack", "pets", "--on", "here", "--dry-run")  # as packing itself has it
    done = windlass("data", "pack", str(pets), "--on", "here", "--dry-run")
    labelled = ("--labels", str(pets.parent / "labels.csv"), "--json")
    told = windlass("data", "pack", str(pets), "--on", "here", "--dry-run", *labelled)

    assert (here.returncode, "is no absolute path" in here.stderr) == (1, True)
    assert done.stdout.startswith("as it is  8 files, "), done.stderr
    assert "a folder for each class" in done.stdout
    assert "nothing was written" in done.stderr
    assert read_json(told)["trial"]["classes"] == 3


def test_what_is_much_is_packed_in_a_job(windlass: Windlass, pets: Path) -> None:
    run_id = windlass("data", "pack", str(pets), "--name", "pets", "--on", "here", "--as-job", "--time", "5m").stdout

    assert windlass("wait", run_id.strip()).returncode == 0
    assert '"files": 8' in windlass("logs", run_id.strip()).stdout
    assert windlass("data", "verify", "pets", "--on", "here").returncode == 0


def test_paths_of_a_packing_job_are_those_of_the_login_node(
    windlass: Windlass, pets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In jobs the variable is another one; what only jobs have is left to them."""
    monkeypatch.setenv("LAB_SCRATCH", str(pets.parent))
    monkeypatch.setenv("LAB_NAME", pets.name)
    Path.home().joinpath(".bash_profile").write_text(
        f'[ -z "$SLURM_JOB_ID" ] || export LAB_SCRATCH={tmp_path}/elsewhere ONLY_IN_JOBS={pets.parent}\n'
    )
    text = 'root = "$LAB_SCRATCH/far"\n[software]\nslurm_path = "@pocket"\nmodules = "lmod"\n[rules]\npoll_s = 1\n'
    add_site("far", text, find_folders(os.environ))

    for source, name in (("$LAB_SCRATCH/$LAB_NAME", "one"), ("$ONLY_IN_JOBS/$LAB_NAME", "two")):
        packed = windlass("data", "pack", source, "--name", name, "--on", "far", "--as-job", "--time", "5m")
        assert windlass("wait", packed.stdout.strip()).returncode == 0, windlass("logs", packed.stdout.strip()).stdout
        assert windlass("data", "verify", name, "--on", "far").returncode == 0

    assert not (tmp_path / "elsewhere").exists()


def test_what_is_not_there_afterwards_is_exit_code_1(windlass: Windlass, pets: Path, project: Path) -> None:
    windlass("data", "pack", "pets", "packed")
    plain = project / "plain"
    assert windlass("data", "extract", "packed", "plain").returncode == 0
    first = next(path for path in sorted(plain.rglob("*")) if path.is_file())
    first.write_bytes(b"mine")

    done = windlass("data", "extract", "packed", "plain")
    told = windlass("data", "extract", "packed", "plain", "--json")

    assert (done.returncode, told.returncode, first.read_bytes()) == (1, 1, b"mine")
    assert "are there already with other content" in done.stderr
    assert "--force" in done.stderr
    assert read_json(told)["extracted"]["told"]


@pytest.mark.parametrize(
    ("state", "total", "rate", "expected"),
    [
        ("running", 10_000_000, 2e6, ("2.0 MB/s", "4 s")),
        ("running", 0, 2e6, ("2.0 MB/s", "-")),  # of Globus
        ("running", 10_000_000, None, ("-", "-")),
        ("failed", 10_000_000, 2e6, ("-", "-")),
    ],
)
def test_sends_tell_the_rate_and_the_time_left(
    state: str, total: int, rate: float | None, expected: tuple[str, str]
) -> None:
    job = Job(
        id="pets-1",
        site="far",
        name="pets",
        source="pets",
        started=0.0,
        state=state,
        done_bytes=2_000_000,
        total_bytes=total,
        rate=rate,
        message="",
        pid=2,
        log=None,
    )

    row = dict(zip(SENDS_HEAD, make_send_row(job), strict=True))

    assert (row["RATE"], row["LEFT"]) == expected


def test_for_a_name_that_no_folder_can_hold_no_force_is_advised(windlass: Windlass, project: Path) -> None:
    with zipfile.ZipFile(project / "set.zip", "w") as archive:
        archive.writestr("n" * 1000, b"x")
    assert windlass("data", "pack", "set.zip", "packed").returncode == 0

    done = windlass("data", "extract", "packed", "plain")

    assert done.returncode == 1
    assert "1 name too long for this file system, left out: 'nnn" in done.stderr
    assert "--force" not in done.stderr


def test_damaged_members_of_a_zip_are_exit_code_1(windlass: Windlass, project: Path) -> None:
    with zipfile.ZipFile(project / "set.zip", "w") as archive:
        archive.writestr("bad.bin", bytes(2000))
        archive.writestr("good.bin", b"good")
    content = bytearray((project / "set.zip").read_bytes())
    content[1000] ^= 1
    (project / "set.zip").write_bytes(content)

    done = windlass("data", "pack", "set.zip", "packed")
    sent = windlass("data", "send", "set.zip", "--name", "set", "--on", "here", "--json")

    assert (done.returncode, sent.returncode) == (1, 1)
    assert "1 damaged member of the archive, left out: 'bad.bin'" in done.stderr
    assert "next:" not in done.stderr
    assert read_json(sent)["sent"]["files"] == 1


def test_a_name_with_a_dot_is_quoted_for_the_run_file(windlass: Windlass, pets: Path, project: Path) -> None:
    done = windlass("data", "send", "pets", "--name", "my.set", "--on", "here")
    (project / "windlass.toml").write_text('[run]\ncommand = "true"\n[data."my.set"]\n')

    assert 'in windlass.toml: [data."my.set"]' in done.stderr
    assert windlass("plan", "--on", "here").returncode == 0


def test_what_stays_is_told_when_a_set_is_removed(windlass: Windlass, pets: Path) -> None:
    path = read_json(windlass("data", "send", "pets", "--on", "here", "--json"))["sent"]["path"]
    Path(path, "notes.txt").write_text("mine")

    asked = windlass("data", "rm", "pets", "--on", "here")
    done = windlass("data", "rm", "pets", "--on", "here", "--yes")

    assert "stays there, because it is not the data set's: notes.txt" in asked.stderr
    assert "stays there, because it is not the data set's: notes.txt" in done.stderr
    assert [one.name for one in Path(path).iterdir()] == ["notes.txt"]
