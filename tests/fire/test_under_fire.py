"""A chain under fire ends with the weights of an undisturbed run, and loses no more than a checkpoint at a time.

WINDLASS_BLOWS=50 strikes that often (`make test-fire`); WINDLASS_FIRE_SEED chooses other moments.
"""

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.app.test_story import start
from tests.fire import training
from tests.fire.battle import Report, Terms, fight
from tests.fire.field import Field
from windlass.app.session import Session

pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("session", ["here", pytest.param("slurm-local", marks=pytest.mark.slurm)], indirect=True),
]
_BLOWS = {"here": 6, "slurm-local": 4}
_SEED = int(os.environ.get("WINDLASS_FIRE_SEED", "4"))
_PACE_S = 0.05
_STEPS_A_BLOW = {"here": 90, "slurm-local": 130}  # about: between two blows, and while a blow takes effect
_INTERVAL = 10
# Slurm counts limits in whole minutes.
_LINKS = {"here": ("1h", "30s", "4s"), "slurm-local": ("6h", "3m", "20s")}


@pytest.fixture
def blows(site_name: str) -> int:
    return int(os.environ.get("WINDLASS_BLOWS", _BLOWS[site_name]))


@pytest.fixture
def terms(site_name: str, blows: int) -> Terms:
    return Terms(steps=_STEPS_A_BLOW[site_name] * blows, interval=_INTERVAL, ranks=2)


@pytest.fixture
def project(tmp_path: Path, site_name: str, field: Field, terms: Terms) -> Path:
    total, link, notice = _LINKS[site_name]
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(Path(training.__file__), folder / "training.py")
    (folder / "windlass.toml").write_text(
        f'[run]\nname = "fire"\nlauncher = "srun"\n'
        f'command = "python3 training.py {terms.steps} {terms.interval} {_PACE_S}"\n'
        f'[resources]\ntime = "{total}"\nlink_time = "{link}"\nnodes = 2\ncpus = 1\nmemory = "200M"\n'
        f'[checkpoint]\nfolder = "{field.disk}/checkpoints"\nnotice = "{notice}"\n'
    )
    return folder


def test_a_chain_under_fire(
    session: Session, site_name: str, field: Field, project: Path, terms: Terms, blows: int
) -> None:
    record = start(session, project, site_name)

    report = fight(session, field, record, terms, blows=blows, seed=_SEED, tell=_tell)

    _tell(describe(report))
    assert not report.problems, "\n".join(report.problems)


def describe(report: Report) -> str:
    return (
        f"{len(report.blows)} blows, {report.steps} steps, {report.done_twice} done twice "
        f"({100 * report.done_twice / report.steps:.1f} %), at most {report.most_lost} lost at once; "
        f"{report.starts} starts in {report.links} links, {report.seconds:.0f} s"
    )


def _tell(text: str) -> None:
    print(text, file=sys.__stderr__, flush=True)
