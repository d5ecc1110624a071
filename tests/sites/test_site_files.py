"""Every shipped file: it loads, each of its facts says where it is from, and what documents disagree on is decided."""

import re
from collections.abc import Iterator, Mapping

import pytest

from tests.sites.shipped import CENTRES, FOLDER, NAMES, load, load_values

ABOUT_THE_FILE = ("sources", "decisions", "extends")


def find_leaves(values: Mapping[str, object], path: tuple[str, ...] = ()) -> Iterator[str]:
    for key, value in values.items():
        if not path and key in ABOUT_THE_FILE:
            continue
        if isinstance(value, Mapping):
            yield from find_leaves(value, (*path, key))
        else:
            yield ".".join((*path, key))


def is_covered(leaf: str, sources: Mapping[str, str]) -> bool:
    parts = leaf.split(".")
    return any(".".join(parts[:length]) in sources for length in range(len(parts), 0, -1))


def test_all_centres_are_there() -> None:
    assert set(CENTRES) == {
        "sdumont", "narval", "beluga", "graham", "cedar", "jureca-dc", "juwels-booster", "daint", "wilson"
    }  # fmt: skip
    assert not [name for name in NAMES if name.startswith("_")], "what several sites share is no site"


@pytest.mark.parametrize("name", NAMES)
def test_it_loads(name: str) -> None:
    assert load(name).title


@pytest.mark.parametrize("name", CENTRES)
def test_every_fact_says_where_it_is_from(name: str) -> None:
    sources = load(name).sources

    assert [leaf for leaf in find_leaves(load_values(name)) if not is_covered(leaf, sources)] == []


@pytest.mark.parametrize("name", CENTRES)
def test_no_source_is_about_nothing(name: str) -> None:
    leaves = list(find_leaves(load_values(name)))

    assert [key for key in load(name).sources if not any(f"{leaf}.".startswith(f"{key}.") for leaf in leaves)] == []


@pytest.mark.parametrize("name", CENTRES)
def test_what_is_not_ours_is_dated_or_says_that_it_is_not(name: str) -> None:
    """A source is a document and its year, a maker's data sheet, or a choice of our own."""
    known = re.compile(r"\b(19|20)\d\d\b|undated|^windlass|NVIDIA, |Intel, |linked|CSCS|Fermilab|Alliance|Jülich")

    assert [where for where in load(name).sources.values() if not known.search(where)] == []


@pytest.mark.parametrize("name", CENTRES)
def test_the_files_name_no_one_of_the_documents(name: str) -> None:
    """Folders of other people must not become somebody's defaults."""
    site = load(name)

    assert "$" in site.root
    for text in (site.root, site.software.container_cache or "", site.software.container_home or ""):
        assert not re.search(r"simone|name\.user|ycao68|strube1|lyongbin", text)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_a_file_can_be_read_by_people(path: object) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()  # type: ignore[attr-defined]

    assert lines[0].startswith("# "), "the first line says what the file is about"
    assert not [line for line in lines if line != line.rstrip()]


@pytest.mark.parametrize(
    ("name", "about", "words"),
    [
        pytest.param("graham", "rules.max_time", "7 days", id="001-graham-7-or-28-days"),
        pytest.param("narval", "chain", "rounded up", id="001-units-are-rounded-up"),
        pytest.param("narval", "sbatch example", "--ntaks-per-node", id="001-example-script"),
        pytest.param("narval", "sbatch example", "CINECA", id="001-lines-of-another-centre"),
        pytest.param("narval", "mem-per-cpu", "1500M", id="001-fraction-of-a-gigabyte"),
        pytest.param("narval", "NCCL", "TORCH_NCCL_ASYNC_ERROR_HANDLING", id="001-variable-nobody-reads"),
        pytest.param("narval", "hdf5", "repeats the serial", id="001-parallel-hdf5"),
        pytest.param("narval", "links", "tunnelling", id="001-link-to-the-key-page"),
        pytest.param("cedar", "rules.compute_internet", "true", id="001-internet-at-cedar"),
        pytest.param("jureca-dc", "software.always_load", "2024", id="002-stages-2023-or-2024"),
        pytest.param("jureca-dc", "logs", "err.7948496", id="002-name-of-the-error-log"),
        pytest.param("jureca-dc", "node names", "jwb0160", id="002-node-of-the-other-machine"),
        pytest.param("jureca-dc", "activate.sh", "sourced", id="002-must-be-sourced"),
        pytest.param("juwels-booster", "machine.cores", "threads", id="002-cores-or-threads"),
        pytest.param("daint", "Large Scale Experiment", "missing", id="003-missing-section"),
        pytest.param("daint", "module available", "avail", id="003-module-available"),
        pytest.param("daint", "support", "ticket", id="003-mail-or-ticket"),
        pytest.param("wilson", "qos.opp.is_default", "sacctmgr", id="004-which-qos-is-the-default"),
        pytest.param("wilson", "interactive", "10 minutes", id="004-interactive-example"),
        pytest.param("wilson", "links", "simple_batch.sh", id="004-link-that-moved"),
        pytest.param("wilson", "partition.gpu_gce.nodes", "11", id="004-eleven-or-seven-workers"),
        pytest.param("sdumont", "MASTER_PORT", "9000", id="000-fixed-port"),
        pytest.param("sdumont", "squeue", "9 characters", id="000-cut-names"),
    ],
)
def test_what_documents_disagree_on_is_decided(name: str, about: str, words: str) -> None:
    assert words in load(name).decisions[about]
