"""Drafting a site file: what was seen stands in it, what was not is asked for, and it can always be read."""

import tomllib
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.facts import Association, Facts, NodeShape, SeenPartition, SeenQos
from windlass.core.seen.discovery import AreaSeen, Discovered, Shell, make_look_script, read_look
from windlass.core.seen.draft import choose_root, make_draft
from windlass.core.site import ModuleSystem, Site
from windlass.core.toml.site_file import read_site

HOUR = timedelta(hours=1)
FAT = NodeShape(nodes=2, cpus=48, memory_mb=498_000, gpus=(("a100", 4),))
THIN = NodeShape(nodes=9, cpus=40, memory_mb=187_000)
SCRATCH = AreaSeen(
    path="/scratch/alice", variable="SCRATCH", kind="lustre", is_writable=True, size_gb=5000.0, free_gb=9.0
)
SHELL = Shell(programs=frozenset({"sbatch", "lfs", "apptainer"}), modules=ModuleSystem.LMOD, areas=(SCRATCH,))
SEEN = Discovered(
    host="login.example.org",
    day="2026-11-16",
    cluster="alpha",
    shell=SHELL,
    bare_shell=SHELL,
    needs_account=True,
    gpu_dialect="gres",
    facts=Facts(
        user="alice",
        partitions=(
            SeenPartition(name="gpu", max_time=24 * HOUR, gpus=(("a100", 4),), shapes=(FAT, THIN)),
            SeenPartition(name="test", max_time=HOUR, shapes=(FAT,), whole_nodes=True, is_default=True),
        ),
        associations=(Association(account="def-prof", qos=("normal",), default_qos="normal"),),
        qos=(SeenQos(name="normal", max_time=12 * HOUR, max_submit=50), SeenQos(name="admin")),
        max_array=1001,
    ),
)


def read_draft(seen: Discovered) -> Site:
    site = read_site(tomllib.loads(make_draft(seen)), "alpha")
    assert isinstance(site, Site), site
    return site


def test_what_was_seen_stands_in_it() -> None:
    site = read_draft(SEEN)

    assert site.title == "alpha"
    assert site.root == "$SCRATCH/windlass"
    assert [one.name for one in site.node_types] == ["a100x4", "cpu40"]
    assert site.partition("gpu").nodes == ("a100x4", "cpu40")  # type: ignore[union-attr]
    assert site.partition("test").whole_nodes  # type: ignore[union-attr]
    assert [one.name for one in site.qos] == ["normal"], "only those that are the user's"
    assert site.rules.needs_account
    assert site.rules.max_array == 1000
    assert site.software.container == "apptainer"
    assert site.storage[0].quota_command == "lfs quota -u $USER /scratch/alice"


def test_what_was_not_seen_is_asked_for() -> None:
    text = make_draft(SEEN)

    for key in ("compute_internet", "purge_days", "capability", "transfer_host", "unit"):
        assert f"# ? {key} =" in text
    assert "# ? needs_account" not in text


def test_a_login_shell_is_needed_where_only_it_has_slurm() -> None:
    assert read_draft(replace(SEEN, bare_shell=Shell())).login.login_shell
    assert not read_draft(SEEN).login.login_shell


@pytest.mark.parametrize(
    ("disk", "root"),
    [
        (replace(SCRATCH, is_writable=False), "$HOME/windlass"),
        (replace(SCRATCH, variable=None, path="/work1/alice"), "/work1/$USER/windlass"),
        (replace(SCRATCH, variable=None, path="/nearline"), "$HOME/windlass"),
        (replace(SCRATCH, variable="HOME", path="/home/alice"), "$HOME/windlass"),
    ],
)
def test_runs_lie_in_the_first_large_place_that_can_be_written_to(disk: AreaSeen, root: str) -> None:
    assert choose_root(replace(SEEN, shell=replace(SHELL, areas=(disk,)))) == root


def test_that_gpus_must_be_asked_for_is_noted() -> None:
    assert read_draft(SEEN).notes == ()
    assert "no GPU" in read_draft(replace(SEEN, gpus_must_be_asked=True)).notes[0]


def test_a_machine_of_which_nothing_was_seen_has_a_draft_too() -> None:
    site = read_draft(Discovered(host="login", day="2026-11-16", facts=Facts()))

    assert site.partitions == ()
    assert site.login.host == "login"


NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,20}", fullmatch=True)
KINDS = st.one_of(st.just(""), NAMES)  # "" is a GPU without a type
SHAPES = st.builds(
    NodeShape,
    nodes=st.integers(1, 9999),
    cpus=st.integers(1, 512),
    memory_mb=st.integers(1, 10**7),
    gpus=st.lists(st.tuples(KINDS, st.integers(1, 16)), max_size=2).map(tuple),
    features=st.lists(NAMES, max_size=3).map(tuple),
)


@given(st.lists(st.builds(SeenPartition, name=NAMES, shapes=st.lists(SHAPES, max_size=3).map(tuple)), max_size=4))
def test_whatever_a_machine_is_called_the_draft_can_be_read(partitions: list[SeenPartition]) -> None:
    unique = {one.name: one for one in partitions}
    read_draft(replace(SEEN, facts=replace(SEEN.facts, partitions=tuple(unique.values()))))


def test_the_look_is_read_between_other_words() -> None:
    told = read_look(
        "Welcome to alpha!\nvariable\tSCRATCH\t/scratch/alice\nvariable\tEVIL\tx\nprogram\tsbatch\nmodules\tlmod\t8.7\n"
        "disk\t/scratch/alice\tyes\tlustre\t1000000\t500000\ndisk\t/work\tno\t\t\t\ndisk\tshort\n"
    )

    assert told.variables == {"SCRATCH": "/scratch/alice"}
    assert told.programs == {"sbatch"}
    assert told.modules is ModuleSystem.LMOD
    assert told.areas == (
        AreaSeen(path="/scratch/alice", variable="SCRATCH", kind="lustre", is_writable=True, size_gb=1.0, free_gb=0.5),
        AreaSeen(path="/work"),
    )


def test_the_script_names_nothing_of_the_users() -> None:
    assert "VARIABLES" not in make_look_script()
    assert "PLACES" not in make_look_script()
