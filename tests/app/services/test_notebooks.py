"""`windlass notebook run`: executed as a job, brought home, and the cell that failed named."""

import json
from pathlib import Path

import pytest

from tests.app.services.foreground import foreground
from tests.app.services.venv import find_services
from windlass.app.environments.seen import load_recipe
from windlass.app.planning import Wanted
from windlass.app.session import Session

HEAD = '[resources]\ntime = "5m"\ncpus = 1\nmemory = "1G"\n'


def make_notebook(path: Path, *sources: str) -> None:
    """A heading, then code; its kernel is that of somebody's laptop."""
    cells: list[dict[str, object]] = [{"cell_type": "markdown", "id": "head", "metadata": {}, "source": "# Explore"}]
    for number, source in enumerate(sources):
        empty: dict[str, object] = {"execution_count": None, "metadata": {}, "outputs": []}
        cells.append({"cell_type": "code", "id": f"cell-{number}", "source": source, **empty})
    kernel = {"name": "conda-env-mine-py", "display_name": "mine"}
    book = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(book))


def read_outputs(path: Path) -> list[str]:
    cells = json.loads(path.read_text())["cells"]
    return ["".join(out.get("text", "")) for cell in cells for out in cell.get("outputs", ())]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.mark.slurm
@pytest.mark.parametrize("session", ["slurm-ssh"], indirect=True)
def test_it_runs_on_a_node_and_comes_home_as_far_as_it_came(
    session: Session, site_name: str, project: Path, tmp_path: Path
) -> None:
    (project / "windlass.toml").write_text(f'{HEAD}[environment]\nvenv = "{find_services()}"\n')
    make_notebook(
        project / "explore.ipynb",
        "import os; node = os.environ['SLURMD_NODENAME']",
        "print('on', node)",
        "def load(): raise ValueError('no such set')\nload()",
        "print('never')",
    )
    before = (project / "explore.ipynb").read_text()

    with foreground("notebook", "run", "explore.ipynb", "--on", site_name, cwd=project) as command:
        assert command.wait() == 7

    [record] = session.store.list()
    assert f"run {record.run_id}: cell 4 failed: ValueError: no such set" in command.said
    assert "load()" in command.said
    home = project / "windlass-results" / record.run_id / "explore.ipynb"
    outputs = read_outputs(home)
    assert outputs[0].startswith("on node")
    assert "never\n" not in outputs
    assert (project / "explore.ipynb").read_text() == before


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_what_cannot_be_executed_is_told_before(session: Session, project: Path) -> None:
    make_notebook(project / "explore.ipynb", "1")
    (project / "windlass.toml").write_text(HEAD)
    with (
        foreground("notebook", "run", "explore.ipynb", cwd=project) as missing,
        foreground("notebook", "run", "other.ipynb", cwd=project) as nowhere,
    ):
        assert (missing.wait(), nowhere.wait()) == (3, 2)

    assert "nbclient or ipykernel is not in the environment of this run" in missing.said
    assert "python3 -m pip install nbclient ipykernel" in missing.said
    assert "there is no file other.ipynb" in nowhere.said
    assert session.store.list() == ()


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_what_the_project_names_and_nobody_built_here_is_built_by_the_line_that_is_told(
    session: Session, project: Path
) -> None:
    """On one's own machine nothing is built unasked; and a project of notebooks has no command of its own."""
    make_notebook(project / "explore.ipynb", "1")
    (project / "windlass.toml").write_text(f'{HEAD}[environment]\nvenv = "requirements.txt"\n')
    (project / "requirements.txt").write_text("nbclient>=0.5\nipykernel\n")

    with foreground("notebook", "run", "explore.ipynb", cwd=project) as command:
        assert command.wait() == 3

    assert "try: windlass env build --on here\n  nothing was submitted" in command.said
    assert "the next start builds it" not in command.said
    assert "sending" not in command.said
    recipe = load_recipe(session, Wanted(project=project))
    assert "nbclient>=0.5" in recipe.files["requirements.txt"]
    assert session.store.list() == ()


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_what_the_project_does_not_name_is_written_down_and_then_built(session: Session, project: Path) -> None:
    make_notebook(project / "explore.ipynb", "1")
    (project / "windlass.toml").write_text(f'{HEAD}[environment]\nvenv = "requirements.txt"\n')
    (project / "requirements.txt").write_text("nbclient-extras\nipykernel\n")

    with foreground("notebook", "run", "explore.ipynb", cwd=project) as command:
        assert command.wait() == 3

    assert "write nbclient ipykernel into requirements.txt" in command.said
    assert ", then: windlass env build --on here" in command.said
