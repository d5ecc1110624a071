"""What pocket reads and writes: times, lists, patterns, directives, options."""

from pathlib import Path

import platformdirs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.pocket import hostlist, patterns
from windlass.pocket.arrays import read_array
from windlass.pocket.directives import check_script, read_directives
from windlass.pocket.errors import PocketError
from windlass.pocket.getopt import parse
from windlass.pocket.options import SBATCH
from windlass.pocket.places import VARIABLE, find_places
from windlass.pocket.request import merge
from windlass.pocket.signals import read_warning
from windlass.pocket.timeforms import format_long, format_short, read_duration, read_moment


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("72", 72 * 60),
        ("0:03", 3),
        ("3:00", 180),
        ("1:00:00", 3600),
        ("1-00", 86400),
        ("1-2:03", 93780),
        ("0-00:60:00", 3600),
        ("UNLIMITED", None),
        ("0", None),
    ],
)
def test_reads_all_forms_of_a_time_limit(text: str, seconds: int | None) -> None:
    assert read_duration(text) == seconds


@pytest.mark.parametrize("text", ["24h", "=1:00", "", "1:2:3:4", "foo", "-5"])
def test_refuses_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        read_duration(text)


@given(st.integers(min_value=1, max_value=10**8))
def test_a_long_time_reads_back(seconds: int) -> None:
    assert read_duration(format_long(seconds)) == seconds


def test_writes_short_times_as_squeue() -> None:
    assert [format_short(s) for s in (0, 65, 3600, 90000)] == ["0:00", "1:05", "1:00:00", "1-01:00:00"]


def test_reads_moments() -> None:
    now = read_moment("2026-01-02T12:00:00", 0)

    assert read_moment("now+60", now) == now + 60
    assert read_moment("now+2hours", now) == now + 7200
    assert read_moment("16:00", now) == now + 4 * 3600
    assert read_moment("11:00", now) == now + 23 * 3600
    assert read_moment("tomorrow", now) == now + 12 * 3600


@given(st.lists(st.integers(min_value=0, max_value=300), min_size=1, unique=True).map(sorted))
def test_a_folded_list_of_hosts_unfolds(numbers: list[int]) -> None:
    names = [f"node{number}" for number in numbers]

    assert hostlist.expand(hostlist.fold(names)) == names


def test_folds_as_slurm_does() -> None:
    assert hostlist.fold(["pocket1", "pocket2", "pocket3", "pocket7"]) == "pocket[1-3,7]"
    assert hostlist.fold(["pocket1"]) == "pocket1"
    assert hostlist.expand("a[08-10],b") == ["a08", "a09", "a10", "b"]


def test_patterns() -> None:
    values = {"j": "42", "x": "train", "a": "7"}

    assert patterns.expand("%x-%5j_%a.%%.%Q", values) == "train-00042_7.%.%Q"
    assert patterns.expand("\\%j", values) == "%j"


def test_arrays() -> None:
    assert read_array("0-9:3,20%2").indices == (0, 3, 6, 9, 20)
    assert read_array("0-9:3,20%2").limit == 2
    for wrong in ("5-1", "a", "1-", "1001", "1%", ""):
        with pytest.raises(PocketError, match="Invalid job array"):
            read_array(wrong)


def test_signals() -> None:
    warning = read_warning("B:USR1@50")

    assert (warning.number, warning.lead_s, warning.batch_only) == (10, 50, True)
    assert read_warning("SIGTERM").lead_s == 60
    with pytest.raises(ValueError, match="FOO"):
        read_warning("FOO@60")


# Scripts that a real sbatch 22.05.8 accepted, with what it took from them.
@pytest.mark.parametrize(
    ("lines", "options"),
    [
        ("#SBATCH --nodes=2\nset -e\n#SBATCH --nodes=3", {"nodes": "2"}),
        ("# SBATCH --nodes=2\n##SBATCH --nodes=2\n  #SBATCH --nodes=2\n#sbatch --nodes=2", {}),
        ("#SBATCH --nodes=1\n\n# more\n#SBATCH -N2", {"nodes": "2"}),
        ("#SBATCH --nodes=2# comment", {"nodes": "2"}),
        ("#SBATCH --nodes=1 #SBATCH --time=5", {"nodes": "1"}),
        ('#SBATCH --job-name="my job"', {"job-name": "my job"}),
        ("#SBATCH --err=e.txt --out=o.txt", {"error": "e.txt", "output": "o.txt"}),
        ("#SBATCH --tasks-per-node=2", {"ntasks-per-node": "2"}),
        ("#SBATCH --output=$HOME/x-%j.out", {"output": "$HOME/x-%j.out"}),
        ("#SBATCH -p=gpu", {"partition": "=gpu"}),
        ("#SBATCH ", {}),
        ("<<<<<<< HEAD\n#SBATCH --nodes=2", {}),
    ],
)
def test_reads_directives_as_sbatch(lines: str, options: dict[str, str]) -> None:
    assert dict(read_directives(f"#!/bin/bash\n{lines}\n".encode(), "x.sh")) == options


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("#SBATCH —nodes=2", "Invalid directive found in batch script: —nodes=2"),
        ("#SBATCH --ntaks-per-node=4", "sbatch: unrecognized option '--ntaks-per-node=4'"),
        (
            "#SBATCH --gpu=1",
            "sbatch: option '--gpu=1' is ambiguous; possibilities: '--gpu-bind' '--gpu-freq' '--gpus' "
            "'--gpus-per-node' '--gpus-per-socket' '--gpus-per-task'",
        ),
        ("#SBATCH --qos", "sbatch: option '--qos' requires an argument"),
        ("#SBATCH --mem=4 G", "Invalid directive found in batch script: G"),
        ("#SBATCH nodes=1", "Invalid directive found in batch script: nodes=1"),
        ("#SLURM_NTASKS is set", "Change from #SLURM to #SBATCH in your script"),
        ("#SBATCH -c=4", 'Invalid numeric value "=4" for --cpus-per-task.'),
        ("#SBATCH -t=4", "Invalid --time specification"),
        ("#SBATCH --nodes=${NODES}", '"${NODES}" is not a valid node count'),
        ("#SBATCH --nodes=4-1", "Maximum node count 1 is less than minimum node count 4"),
        ("#SBATCH --mem=1.5G", "Invalid --mem specification"),
        ("#SBATCH --mem=4G --mem-per-cpu=1G", "fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive."),
        ("#SBATCH --exclusive=yes", "Invalid --exclusive specification"),
        ("#SBATCH --gres=gpus:2", "Invalid generic resource (gres) specification"),
        ("#SBATCH --gres=gpu:kepler:N", "Invalid generic resource (gres) specification"),
        ("#SBATCH --signal=FOO@60", "Invalid --signal specification"),
        ("#SBATCH --mail-type=FOO", "Invalid --mail-type specification"),
    ],
)
def test_refuses_directives_as_sbatch(line: str, message: str) -> None:
    with pytest.raises(PocketError) as caught:
        merge(read_directives(f"#!/bin/bash\n{line}\n".encode(), "x.sh"))

    assert caught.value.lines[0].startswith(message)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (b"", "Batch script is empty!"),
        (b"echo hi\n", "This does not look like a batch script.  The first"),
        (b"\n#!/bin/bash\n", "This does not look like a batch script.  The first"),
        (b"#!/bin/bash\r\necho\r\n", "Batch script contains DOS line breaks (\\r\\n)"),
    ],
)
def test_refuses_what_is_no_script(script: bytes, message: str) -> None:
    with pytest.raises(PocketError) as caught:
        check_script(script)

    assert caught.value.lines[0] == message


@pytest.mark.parametrize("words", [["-N", "2"], ["-N2"], ["--nodes=2"], ["--nodes", "2"]])
def test_all_forms_of_an_option(words: list[str]) -> None:
    parsed = parse(SBATCH, [*words, "run.sh", "--nodes=9"])

    assert parsed.options == (("nodes", "2"),)
    assert parsed.operands == ("run.sh", "--nodes=9")


def test_a_stronger_source_silences_its_rival() -> None:
    options = merge([("mem", "4G")], [("mem-per-cpu", "1G")])

    assert "mem" not in options
    assert options.get("mem-per-cpu", int) == 1024


def test_the_state_folder_is_where_platformdirs_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)

    assert find_places().state == Path(platformdirs.user_state_path("windlass", appauthor=False)) / "pocket"
