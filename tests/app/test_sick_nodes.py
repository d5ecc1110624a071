"""The network test before a training on several nodes: well on healthy ones, and a sick one is left behind."""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.test_story import start
from tests.cluster.cluster import SlurmCluster
from tests.conftest import Places
from windlass.app.cancelling import cancel_runs
from windlass.app.following import wait
from windlass.app.logs import read_log
from windlass.app.refreshing import rebuild, refresh
from windlass.app.resuming import resume_run
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site

WELL = r"windlass: network test: 3 nodes talk to each other, all-reduce of 4 MB in [\d.]+ s, slowest from \w+ to \w+"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.sh").write_text("echo rank $RANK of $WORLD_SIZE on $(hostname)\n")
    (folder / "windlass.toml").write_text(
        '[run]\nname = "wide"\ncommand = "bash train.sh"\nlauncher = "srun"\n'
        '[resources]\nnodes = 3\ntime = "5m"\ncpus = 1\nmemory = "200M"\n'
    )
    return folder


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_pretended_nodes_talk_to_each_other(session: Session, project: Path) -> None:
    record = wait(session, start(session, project, "here"))

    words = read_words(session, record)
    assert record.state is RunState.DONE, words
    assert re.search(WELL, words), words
    assert sorted(re.findall(r"rank (\d) of 3", words)) == ["0", "1", "2"]


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_it_is_left_out_where_nobody_wants_it(session: Session, project: Path) -> None:
    record = wait(session, start(session, project, "here", run__network_test="false"))

    assert record.state is RunState.DONE
    assert "network test" not in read_words(session, record)


@pytest.fixture
def fabric(slurm: SlurmCluster, places: Places, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """The real cluster with trainings on its second network, as alice through ssh."""
    slurm.reset()
    root = slurm.home("alice") / f"fabric-{os.getpid()}"
    root.mkdir()
    shutil.chown(root, "alice")
    monkeypatch.setenv("WINDLASS_SSH_CONFIG", str(slurm.ssh_config))
    site = (
        f'root = "{root}"\n[login]\nhost = "login"\n[rules]\npoll_s = 1\n[network]\nhost_suffix = "i"\n'
        '[partition.dev]\nis_default = true\nmax_time = "20m"\n'
    )
    add_site("fabric", site, find_folders(os.environ))
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        yield opened
    slurm.reset()
    shutil.rmtree(root, ignore_errors=True)


@pytest.mark.slurm
def test_healthy_nodes_pass_with_figures(fabric: Session, project: Path) -> None:
    record = wait(fabric, start_on_dev(fabric, project))

    words = read_words(fabric, record)
    assert record.state is RunState.DONE, words
    assert re.search(WELL, words), words
    assert len(record.submissions) == 1


@pytest.mark.slurm
def test_a_mute_node_is_named_left_out_and_the_run_ends_well(
    fabric: Session, project: Path, slurm: SlurmCluster
) -> None:
    slurm.mute_node(2)

    record = wait(fabric, start_on_dev(fabric, project))

    words = read_words(fabric, record)
    sentence = r"node2 cannot be reached by the 2 others: connection timed out \(10\.77\.1\.12:\d+\)"
    assert re.search(sentence, words), words
    assert record.state is RunState.DONE, words
    assert [one.number for one in record.submissions] == [1, 2]
    assert sorted(re.findall(r"rank (\d) of 3", words)) == ["0", "1", "2"]
    assert "node2" not in re.findall(r"rank \d of 3 on (\S+)", words)
    (rebuilt,) = rebuild(fabric, "fabric")
    # When each was sent is told by another clock, and not at all by the job that sent itself.
    assert [replace(one, sent=None) for one in rebuilt.submissions] == [
        replace(one, sent=None) for one in record.submissions
    ]


@pytest.mark.slurm
def test_where_nodes_must_not_be_replaced_the_run_fails_with_the_sentence(
    fabric: Session, project: Path, slurm: SlurmCluster
) -> None:
    slurm.mute_node(2)

    record = wait(fabric, start_on_dev(fabric, project, run__replace_nodes="false"))

    assert (record.state, record.exit_code, len(record.submissions)) == (RunState.FAILED, 122, 1)
    assert (record.reason or "").startswith("node2 cannot be reached by the 2 others: connection timed out")
    assert f"windlass resume {record.run_id} --exclude node2" in (record.reason or "")
    resumed = wait(fabric, resume_run(fabric, record, exclude="node2"))
    assert resumed.state is RunState.DONE
    assert "node2" not in (resumed.nodes or "")


@pytest.mark.slurm
def test_the_first_node_can_be_the_mute_one(fabric: Session, project: Path, slurm: SlurmCluster) -> None:
    slurm.mute_node(1)

    record = wait(fabric, start_on_dev(fabric, project))

    words = read_words(fabric, record)
    assert "node1 cannot be reached by the 2 others: connection timed out" in words
    assert record.state is RunState.DONE, words


@pytest.mark.slurm
def test_too_few_nodes_are_left_and_slurm_says_so(fabric: Session, project: Path, slurm: SlurmCluster) -> None:
    slurm.mute_node(2)

    record = wait(fabric, start_on_dev(fabric, project, resources__nodes="4"))

    assert record.state is RunState.FAILED
    assert "not submitted again without it: Slurm refused it" in (record.reason or "")


@pytest.mark.slurm
def test_a_run_that_waits_again_can_be_cancelled(fabric: Session, project: Path, slurm: SlurmCluster) -> None:
    slurm.mute_node(2)
    (project / "train.sh").write_text("sleep 300\n")
    record = start_on_dev(fabric, project, resources__time="12m", resources__link_time="4m")
    while len(record.submissions) < 2:
        assert not record.state.is_final, record
        (record,) = refresh(fabric, [record]).records

    (cancelled,) = cancel_runs(fabric, [record])
    cancelled = wait(fabric, cancelled)

    assert cancelled.state is RunState.CANCELLED
    assert cancelled.submissions[-1].links == record.submissions[0].links > 1
    slurm.wait_until_idle()


def start_on_dev(session: Session, project: Path, **settings: str) -> RunRecord:
    return start(session, project, "fabric", resources__partition="dev", **settings)


def read_words(session: Session, record: RunRecord) -> str:
    """Of all jobs of the run."""
    return b"".join(read_log(session, record)).decode()
