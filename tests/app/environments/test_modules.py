"""Modules of the test cluster's real Lmod, through ssh: found, tried beforehand, loaded in jobs, told after."""

from pathlib import Path

import pytest

from tests.cluster.cluster import SlurmCluster
from windlass.app.environments.modules import find_modules, list_there
from windlass.app.environments.modules_by_job import ask_by_job
from windlass.app.explaining import explain_run
from windlass.app.following import wait
from windlass.app.planning import Planned, Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.core.finding import Severity
from windlass.core.record import RunState
from windlass.core.toml.layers import Flag
from windlass.edges.site_files import add_site
from windlass.errors import EnvironmentNotFound, SiteNotReady

pytestmark = [pytest.mark.slurm, pytest.mark.parametrize("session", ["slurm-ssh"], indirect=True)]

STAGE = ("Stages/2024", "GCC/12.3.0", "OpenMPI/4.1.5")
SOFTWARE = '[software]\nmodules = "lmod"\npurge_modules = true\nalways_load = ["Stages/2024"]\n'


@pytest.fixture
def staged(session: Session) -> str:
    """The cluster as a site with a stage of the year, which is sticky."""
    return _add(session, "staged", SOFTWARE)


@pytest.fixture
def jobs_only(session: Session) -> str:
    """And as one whose login nodes have no modules."""
    return _add(session, "jobs-only", f"{SOFTWARE}modules_on_login = false\n")


def _add(session: Session, name: str, software: str) -> str:
    root = session.site("slurm-ssh").root
    add_site(name, f'root = "{root}"\n[login]\nhost = "login"\n[rules]\npoll_s = 1\n{software}', session.folders)
    return name


def _plan(session: Session, project: Path, site: str, modules: str, command: str = "true") -> Planned:
    project.mkdir(exist_ok=True)
    project.joinpath("windlass.toml").write_text(f"[environment]\nmodules = {modules}\n")
    flags = (Flag(key="run.command", value=command), Flag(key="resources.time", value="2min"))
    return plan_run(session, Wanted(project=project, site=site, flags=flags))


def test_a_module_is_found_with_all_it_needs(slurm: SlurmCluster, session: Session, staged: str) -> None:
    newest, *others = find_modules(session, staged, "PyTorch", version="2.1").found
    extension = find_modules(session, staged, "numpy").found[0]
    mentioned = find_modules(session, staged, "toml").found[0]
    asked = session.host(session.site(staged)).round_trips

    there = list_there(session, staged)

    assert (newest.load, newest.gpu, others) == ((*STAGE, "PyTorch/2.1.0-CUDA-12"), "CUDA 12", [])
    assert (extension.load, extension.inside) == ((*STAGE[:2], "SciPy-bundle/2023.07"), "numpy/1.25.1")
    assert mentioned.load == extension.load
    assert there.versions["PyTorch"][:2] == ("2.1.0-CUDA-12", "1.12.0-CUDA-11.7")
    assert session.host(session.site(staged)).round_trips == asked  # the names were kept


def test_what_is_not_there_is_told_with_what_is(slurm: SlurmCluster, session: Session, staged: str) -> None:
    with pytest.raises(EnvironmentNotFound, match=r"has PyTorch but no version 9: .*PyTorch/2\.1\.0-CUDA-12"):
        find_modules(session, staged, "PyTorch", version="9")
    with pytest.raises(EnvironmentNotFound) as problem:
        find_modules(session, staged, "pyhton")
    assert problem.value.hint == "windlass modules find python --on staged"


def test_modules_of_a_run_are_tried_before_it_is_sent(
    slurm: SlurmCluster, session: Session, staged: str, tmp_path: Path
) -> None:
    def find(modules: str) -> list[tuple[Severity, str, str | None]]:
        found = _plan(session, tmp_path / "project", staged, modules).findings
        return [(one.severity, one.message, one.hint) for one in found if one.code == "C320"]

    (nested,) = find('["PyTorch"]')
    (unknown,) = find('["GCC", "PyTorch/9"]')
    (refused,) = find('["gpu-only"]')
    fine = find('["GCC", "OpenMPI", "PyTorch"]')

    whole = '[environment] modules = ["Stages/2024", "GCC/12.3.0", "OpenMPI/4.1.5", "PyTorch/2.1.0-CUDA-12"]'
    assert nested[0] is Severity.ERROR
    assert "exist but cannot be loaded as requested" in nested[1]
    assert nested[2] == whole
    assert unknown[0] is Severity.ERROR
    assert 'are unknown: "PyTorch/9"; there are: ' in unknown[1]
    assert unknown[2] == whole
    assert (refused[0], "this module is for compute nodes" in refused[1]) == (Severity.WARNING, True)
    assert fine == []


def test_a_run_keeps_a_sticky_module_and_tells_what_was_loaded(
    slurm: SlurmCluster, session: Session, staged: str, tmp_path: Path
) -> None:
    """Her login shell loads a stage, which the job's purge leaves and the site's stage then replaces."""
    start_file = slurm.home("alice") / ".bash_profile"
    start_file.write_text("module load Stages/2023\n")
    planned = _plan(session, tmp_path / "project", staged, '["pytorch"]', "test $EBROOTPYTORCH = /opt/pytorch-2.3")

    try:
        done = wait(session, start_run(session, planned))
    finally:
        start_file.unlink()

    assert "module purge || true" in planned.script
    log = next(Path(done.folder, "logs").glob("*.out")).read_text()
    assert "The following modules were not unloaded" in log
    assert done.state is RunState.DONE
    assert done.modules == ("Stages/2024", "gcc/12.3", "python/3.11", "pytorch/2.3")


def test_a_module_that_fails_in_the_job_ends_it_at_once_and_is_explained(
    slurm: SlurmCluster, session: Session, jobs_only: str, tmp_path: Path
) -> None:
    planned = _plan(session, tmp_path / "project", jobs_only, '["PyTorch/2.1.0-CUDA-12"]', "touch started")
    ended = wait(session, start_run(session, planned))

    record, diagnoses = explain_run(session, ended)

    assert record.state is RunState.FAILED
    assert not Path(record.folder, "code", "started").exists()
    assert (diagnoses[0].code, diagnoses[0].message) == (
        "D602",
        "the module PyTorch/2.1.0-CUDA-12 could not be loaded",
    )
    assert diagnoses[0].hint is not None
    assert diagnoses[0].hint.startswith("windlass modules find PyTorch --on jobs-only")


def test_a_job_asks_where_login_nodes_have_no_modules(slurm: SlurmCluster, session: Session, jobs_only: str) -> None:
    with pytest.raises(SiteNotReady, match="are there only in jobs"):
        find_modules(session, jobs_only, "SciPy-bundle")

    ask = ask_by_job(session, jobs_only, (), wait_s=60)
    (found,) = find_modules(session, jobs_only, "SciPy-bundle", ask=ask).found

    assert found.load == (*STAGE[:2], "SciPy-bundle/2023.07")
    assert session.store.list(limit=None) == ()
