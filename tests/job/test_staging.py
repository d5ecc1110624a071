"""The agent stages the data of a job on one node: through, extracted, from plain files; what it does when it cannot."""

import json
import os
import re
import signal
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.job.harness import Job
from tests.job.packed import make_files, write_packed
from tests.waiting import wait_until


def want(stage: str = "node", *, extract: bool = False) -> dict[str, Any]:
    return {"name": "set", "stage": stage, "extract": extract}


WAIT = """
for i in $(seq 500); do grep -q data_local "$WINDLASS_RUN_DIR"/events.jsonl && break; sleep 0.02; done
"""
# A training that reads every byte as `cat` gives it to it, local or not, and waits until all is local.
READ = (
    WAIT
    + r"""
set -e
cd "$WINDLASS_DATA_SET"
echo "path $PWD"
cat $(cat origin)/shard-*.tar | cksum; cat shard-*.tar | cksum; ls -a | wc -l; stat -c %a ../..
"""
)


def test_a_packed_set_is_staged_through_to_the_node(make_job: Callable[..., Job], tmp_path: Path) -> None:
    write_packed(tmp_path / "shared", make_files(60, 20_000))
    job = make_job(want(), source=tmp_path / "shared")

    code = job.run("bash", "-c", READ)

    lines = job.printed.splitlines()
    assert code == 0, job.log
    assert lines[0].startswith(f"path {tmp_path}/scratch/windlass-{os.getuid()}/digits-k3f9w.")
    assert lines[1] == lines[2]
    assert lines[4] == "700"
    local = job.find_event("data_local")
    size = sum(path.stat().st_size for path in (tmp_path / "shared").glob("shard-*"))
    assert (local["read"], local["received"], local["failed"]) == (size, 0, 0)
    assert "were read from the shared file system" in job.log


def test_the_command_starts_before_anything_is_copied(make_job: Callable[..., Job], tmp_path: Path) -> None:
    """The source is a pipe that gives nothing until the command has read through `origin`."""
    write_packed(tmp_path / "shared", make_files(12, 2_000), shards=1)
    shard = tmp_path / "shared" / "shard-00000.tar"
    content = shard.read_bytes()
    shard.unlink()
    os.mkfifo(shard)
    job = make_job(want(), source=tmp_path / "shared")

    with job.start(
        "bash", "-c", 'cd "$WINDLASS_DATA_SET"; ls; cat dataset.json > /dev/null; cat shard-*.idx | wc -c'
    ) as process:
        wait_until(lambda: "dataset.json" in job.printed, "the command reads")
        assert "shard-00000.tar" not in job.printed
        assert process.wait(30) == 0
    assert content


def test_a_small_set_goes_into_memory_by_itself(make_job: Callable[..., Job], tmp_path: Path) -> None:
    write_packed(tmp_path / "shared", make_files(10, 1_000))
    job = make_job(want("auto"), source=tmp_path / "shared")

    code = job.run("bash", "-c", 'echo "$WINDLASS_DATA_SET"')

    place = job.printed.strip()
    assert code == 0
    assert place.startswith(f"/dev/shm/windlass-{os.getuid()}/")
    assert not Path(place).parent.parent.exists()


def test_data_that_does_not_fit_is_read_where_it_lies_and_the_numbers_are_told(
    make_job: Callable[..., Job], tmp_path: Path
) -> None:
    write_packed(tmp_path / "shared", make_files(10, 1_000))
    card = json.loads((tmp_path / "shared" / "dataset.json").read_text())
    card["shards"][0]["bytes"] = 10**16
    (tmp_path / "shared" / "dataset.json").write_text(json.dumps(card))
    job = make_job(want(), source=tmp_path / "shared")

    code = job.run("bash", "-c", 'echo "$WINDLASS_DATA_SET"')

    assert code == 0
    assert job.printed.strip() == str(tmp_path / "shared")
    assert re.search(r"needs 10000000\.0 GB, and .*scratch has [\d.]+ GB free: it is read where it lies", job.log)


def test_nothing_at_the_source_is_told_and_the_command_runs(make_job: Callable[..., Job], tmp_path: Path) -> None:
    job = make_job(want(), source=tmp_path / "nowhere")

    code = job.run("bash", "-c", 'echo "$WINDLASS_DATA_SET"')

    assert (code, job.printed.strip()) == (0, str(tmp_path / "nowhere"))
    assert f"data.set: there is nothing at {tmp_path}/nowhere" in job.log


def test_a_name_that_points_elsewhere_is_followed(make_job: Callable[..., Job], tmp_path: Path) -> None:
    write_packed(tmp_path / "far", make_files(10, 1_000))
    (tmp_path / "set.json").write_text(json.dumps({"path": str(tmp_path / "far")}))
    job = make_job(want("shared"), source=tmp_path / "set")

    assert job.run("bash", "-c", 'echo "$WINDLASS_DATA_SET"') == 0
    assert job.printed.strip() == str(tmp_path / "far")


@pytest.mark.parametrize("damage", ["missing", "flipped", "short", "index"])
def test_a_shard_that_is_no_good_is_left_to_the_origin_and_named(
    make_job: Callable[..., Job], tmp_path: Path, damage: str
) -> None:
    write_packed(tmp_path / "shared", make_files(30, 2_000))
    shard = tmp_path / "shared" / ("shard-00001.idx" if damage == "index" else "shard-00001.tar")
    content = bytearray(shard.read_bytes())
    if damage == "missing":
        shard.unlink()
    else:
        content[700] ^= 1
        shard.write_bytes(content[:-2000] if damage == "short" else content)
    job = make_job(want(), source=tmp_path / "shared")

    code = job.run("bash", "-c", WAIT + 'ls "$WINDLASS_DATA_SET"')

    assert code == 0
    here = set(job.printed.split())
    assert {"shard-00000.tar", "shard-00002.tar", "shard-00003.tar"} <= here
    assert "shard-00001.tar" not in here
    assert re.search(r"1 of 4 files are read where they lie: .*shard-00001", job.log)
    assert job.find_event("data_local")["failed"] == 1


def test_a_set_is_extracted_before_the_command(make_job: Callable[..., Job], tmp_path: Path) -> None:
    files = make_files(30, 2_000)
    write_packed(tmp_path / "shared", files)
    job = make_job(want(extract=True), source=tmp_path / "shared")

    code = job.run("bash", "-c", 'cd "$WINDLASS_DATA_SET"; find . -type f | wc -l; cat c1/0001.bin | wc -c; ls -a ..')

    assert code == 0, job.log
    assert job.printed.split()[:2] == [str(len(files)), str(len(files["c1/0001.bin"]))]


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "zip"])
def test_an_archive_of_others_is_extracted_and_nothing_leaves_the_target(
    make_job: Callable[..., Job], tmp_path: Path, ending: str
) -> None:
    source = tmp_path / f"data.{ending}"
    _write_evil(source, tmp_path)
    job = make_job(want(extract=True), source=source)

    # With an end of its last line: the agent may tell of the copying at any time, in the same log.
    code = job.run("bash", "-c", 'cd "$WINDLASS_DATA_SET"; find . -type f | sort; cat a/one; echo')

    assert code == 0, job.log
    # What the archive would have written through its link lies in a folder of that name.
    through = [] if ending == "zip" else ["./out/escaped"]
    assert job.printed.split() == ["./a/one", *through, "./two", "first"], job.log
    assert not (tmp_path / "escaped").exists()
    assert not Path("/tmp/h-windlass-escaped").exists()
    assert re.search(r"data\.set on this node: .*\.\./", job.log)


def _write_evil(path: Path, folder: Path) -> None:
    import io
    import zipfile

    contents = {"a/one": b"first", "two": b"second", "../../../../escaped": b"x", "/tmp/h-windlass-escaped": b"x"}
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in contents.items():
                archive.writestr(zipfile.ZipInfo(name), content)
        return
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as tar:
        link = tarfile.TarInfo("out")
        link.type, link.linkname = tarfile.SYMTYPE, str(folder)
        tar.addfile(link)
        for name, content in {**contents, "out/escaped": b"x"}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        pipe = tarfile.TarInfo("pipe")
        pipe.type = tarfile.FIFOTYPE
        tar.addfile(pipe)


def test_files_that_are_needed_and_cannot_be_extracted_end_the_job_with_a_sentence(
    make_job: Callable[..., Job], tmp_path: Path
) -> None:
    write_packed(tmp_path / "shared", make_files(30, 2_000))
    (tmp_path / "shared" / "shard-00002.tar").unlink()
    job = make_job(want(extract=True), source=tmp_path / "shared")

    code = job.run("bash", "-c", "echo started")

    assert code == 123
    assert job.printed == ""
    assert job.status["state"] == "failed"
    assert "shard-00002.tar cannot be read: no such file or directory" in job.status["reason"]


def test_a_plain_file_is_there_before_the_command(make_job: Callable[..., Job], tmp_path: Path) -> None:
    source = tmp_path / "train.h5"
    source.write_bytes(os.urandom(100_000))
    job = make_job(want(), source=source)

    code = job.run("bash", "-c", f'cmp "$WINDLASS_DATA_SET" {source} && echo "$WINDLASS_DATA_SET"')

    assert code == 0, job.log
    assert job.printed.startswith(str(tmp_path / "scratch"))


def test_a_folder_is_copied_and_packing_is_advised(make_job: Callable[..., Job], tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "x").write_text("x")
    (folder / "link").symlink_to("inner/x")
    job = make_job(want(), source=folder)

    code = job.run("bash", "-c", 'cd "$WINDLASS_DATA_SET"; pwd; cat inner/x link; echo')

    assert code == 0, job.log
    assert job.printed.split()[0].startswith(str(tmp_path / "scratch"))
    assert job.printed.split()[1] == "xx"
    assert "packed it would be there at once" in job.log


def test_two_sets_that_cannot_be_copied_are_both_read_where_they_lie(
    make_job: Callable[..., Job], tmp_path: Path
) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    names = ["a" * 256, "b" * 256]  # no disk has room for such names
    job = make_job(*[{"name": name, "stage": "node", "extract": False} for name in names], source=folder)
    job.env.update({f"WINDLASS_DATA_{name.upper()}": str(folder) for name in names})

    code = job.run("bash", "-c", "env | grep -c ^WINDLASS_DATA_[AB]*=" + str(folder))

    assert (code, job.printed.strip()) == (0, "2"), job.log
    assert job.log.count("is read where it lies: it cannot be laid out: File name too long") == 2


def test_the_next_link_of_a_chain_has_its_data_too(make_job: Callable[..., Job], tmp_path: Path) -> None:
    write_packed(tmp_path / "shared", make_files(30, 2_000))
    job = make_job(want(), source=tmp_path / "shared")

    for link in ("1", "2"):
        job.env.update({"WINDLASS_LINK": link, "WINDLASS_SUBMISSION": link})
        with job.start("bash", "-c", 'cd "$WINDLASS_DATA_SET" && echo "in $PWD"; sleep 60') as process:
            wait_until(lambda: f"in {tmp_path}" in job.log and _count_local(job) == int(link), "it is there")  # noqa: B023
            os.kill(process.pid, signal.SIGUSR1)
            assert process.wait(30) == 0, job.log

    places = re.findall(r"^in (.*/digits-k3f9w\..*)$", job.log, re.MULTILINE)
    assert len(set(places)) == 2, job.log
    assert [event["link"] for event in job.events if event["kind"] == "data_local"] == [1, 2]


def _count_local(job: Job) -> int:
    return job.kinds.count("data_local")


def test_a_keeper_that_is_killed_costs_nothing_but_the_copy(make_job: Callable[..., Job], tmp_path: Path) -> None:
    write_packed(tmp_path / "shared", make_files(30, 2_000))
    job = make_job(want(), source=tmp_path / "shared")

    with job.start(
        "bash", "-c", 'echo asleep; sleep 1; cat "$WINDLASS_DATA_SET"/dataset.json > /dev/null && echo read'
    ) as process:
        wait_until(lambda: "asleep" in job.printed, "the command runs")
        keeper = next(
            int(path.name)
            for path in Path("/proc").iterdir()
            if path.name.isdigit() and _is_keeper(path, str(job.folder))
        )
        os.kill(keeper, signal.SIGKILL)
        assert process.wait(30) == 0

    assert job.printed.split() == ["asleep", "read"]


def _is_keeper(process: Path, folder: str) -> bool:
    try:
        words = (process / "cmdline").read_bytes().decode().split("\0")
    except OSError:
        return False
    return "stage-node" in words and any(word.startswith(folder) for word in words)


def test_what_a_dead_start_of_this_run_left_is_used_again_if_whole(
    make_job: Callable[..., Job], tmp_path: Path
) -> None:
    write_packed(tmp_path / "shared", make_files(30, 2_000))
    left = tmp_path / "scratch" / f"windlass-{os.getuid()}" / "digits-k3f9w.1.1-1"
    other = left.with_name("other-run.1.1-1")
    for folder, run in ((left, "digits-k3f9w"), (other, "other-run")):
        (folder / "data").mkdir(parents=True)
        (folder / ".owner.json").write_text(json.dumps({"job": "999999999", "run": run}))
        (folder / ".lock").touch()
    write_packed(left / "data" / "set", make_files(30, 2_000))
    spoiled = left / "data" / "set" / "shard-00002.tar"
    content = bytearray(spoiled.read_bytes())
    content[600] ^= 1
    spoiled.write_bytes(content)
    job = make_job(want(), source=tmp_path / "shared")

    code = job.run("bash", "-c", READ)

    lines = job.printed.splitlines()
    assert code == 0
    assert lines[1] == lines[2]
    local = job.find_event("data_local")
    assert local["read"] == len(content)
    assert "were still there from an earlier start" in job.log


# One keeper a node, as srun does it; this one is of before Slurm 20.11.
OLD_SRUN = """
for word in "$@"; do [ "$word" = --overlap ] && { echo "srun: unrecognized option '--overlap'" >&2; exit 1; }; done
while [[ $1 == --* ]]; do shift; done
tee >(SLURM_NODEID=0 "$@") >(SLURM_NODEID=1 "$@") > /dev/null
"""


def test_nodes_whose_own_disk_is_one_and_the_same_read_the_data_where_it_lies(
    make_job: Callable[..., Job], tmp_path: Path
) -> None:
    write_packed(tmp_path / "shared", make_files(10, 1_000))
    job = make_job(want(), source=tmp_path / "shared")
    job.env["SLURM_JOB_NODELIST"] = "n[1-2]"
    job.add_program("srun", OLD_SRUN)

    code = job.run("bash", "-c", 'echo "$WINDLASS_DATA_SET" "${WINDLASS_NODE_DIR-none}"')

    assert code == 0
    assert job.printed.split() == [str(tmp_path / "shared"), "none"]
    assert "data.set is read where it lies: not every node could stage it" in job.log


def test_without_srun_the_data_is_read_where_it_lies(make_job: Callable[..., Job], tmp_path: Path) -> None:
    write_packed(tmp_path / "shared", make_files(10, 1_000))
    job = make_job(want(), source=tmp_path / "shared")
    job.env["SLURM_JOB_NODELIST"] = "n[1-2]"
    job.add_program("srun", "echo 'srun: error: Unable to create step' >&2; exit 1")

    code = job.run("bash", "-c", 'echo "$WINDLASS_DATA_SET"')

    assert (code, job.printed.strip()) == (0, str(tmp_path / "shared"))
    assert "only 0 of 2 nodes answered: srun: error: Unable to create step" in job.log
