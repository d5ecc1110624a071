"""The reader against what a real sbatch 22.05.8 made of 73 scripts."""

import csv
from pathlib import Path

import pytest

from windlass.core.finding import Severity
from windlass.core.sbatch.script import Option, Script, read_script
from windlass.core.sbatch.values import read_megabytes, read_minutes
from windlass.lint import lint_script
from windlass.pocket.directives import check_script, read_directives
from windlass.pocket.errors import PocketError
from windlass.pocket.model import Kind
from windlass.pocket.request import Submitter, make_request, merge

SCRIPTS = Path(__file__).parent / "scripts"


def load_expected() -> list[tuple[str, str, str]]:
    with (SCRIPTS / "expected.tsv").open(encoding="utf-8", errors="replace") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    return [(f"{row[0]}_{row[1]}.sh", row[2], row[3] if len(row) > 3 else "") for row in rows]


EXPECTED = load_expected()


def read(name: str) -> Script:
    return read_script((SCRIPTS / name).read_bytes())


def format_as_sbatch(option: Option) -> str:
    """A value as `sbatch -v` lists it."""
    match option.name:
        case "time":
            minutes = read_minutes(option.value) or 0
            days, hours = divmod(minutes // 60, 24)
            return (f"{days}-" if days else "") + f"{hours:02}:{minutes % 60:02}:00"
        case "mem":
            size = read_megabytes(option.value)
            return "0?" if not size else f"{size // 1024}G" if size % 1024 == 0 else str(size)
        case "output" | "error":
            return f"WD/{option.value}"
        case "gres":
            return f"gres:{option.value}"
        case _:
            return option.value


def test_all_fixtures_are_expected() -> None:
    assert {name for name, _, _ in EXPECTED} == {path.name for path in SCRIPTS.glob("*.sh")}
    assert len(EXPECTED) == 73


@pytest.mark.parametrize(("name", "verdict"), [(name, verdict) for name, verdict, _ in EXPECTED])
def test_verdict_is_sbatchs_own(name: str, verdict: str) -> None:
    assert read(name).is_accepted is (verdict == "accepted")


@pytest.mark.parametrize(
    ("name", "options"), [(name, text) for name, verdict, text in EXPECTED if verdict == "accepted"]
)
def test_effective_options_are_sbatchs_own(name: str, options: str) -> None:
    script = read(name)

    found = {one.name: format_as_sbatch(one) for one in script.options}

    assert "; ".join(f"{key}={found[key]}" for key in sorted(found)) == options


@pytest.mark.parametrize(("name", "said"), [(name, text) for name, verdict, text in EXPECTED if verdict == "rejected"])
def test_refusal_is_sbatchs_own(name: str, said: str) -> None:
    first = read(name).troubles[0].said

    if name == "B06_hash_slurm_comment.sh":  # the complaint about #SLURM comes first, and refuses nothing by itself
        assert first == "Invalid directive found in batch script: _NTASKS"
    elif name == "D03_hyphen_em_dash.sh":  # sbatch prints one byte of the dash
        assert first.startswith("invalid option --")
    else:
        assert first == said.removeprefix("error: ").removeprefix("fatal: ")


OF_PLUGINS = ("D20_pyxis_option.sh", "D20_shifter_option.sh")  # refused only where Slurm lacks the plugin


@pytest.mark.parametrize("name", [name for name, verdict, _ in EXPECTED if verdict == "rejected"])
def test_what_sbatch_refuses_is_an_error(name: str) -> None:
    marks = lint_script(read(name))

    assert any(mark.severity is Severity.ERROR or (name in OF_PLUGINS and mark.code == "S119") for mark in marks)


@pytest.mark.parametrize(("name", "verdict"), [(name, verdict) for name, verdict, _ in EXPECTED])
def test_pocket_gives_the_same_verdict(name: str, verdict: str) -> None:
    data = (SCRIPTS / name).read_bytes()
    submitter = Submitter(user="alice", uid=1000, directory="/home/alice", host="login")

    def submit() -> None:
        check_script(data)
        options = merge(read_directives(data, name))
        make_request(options, submitter, kind=Kind.BATCH, partition="pocket", command=name)

    if verdict == "accepted":
        submit()
    else:
        with pytest.raises(PocketError):
            submit()
