"""venv: what is read, what identifies it, what is built, and how a job goes in; the shell is run by bash itself."""

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import BARE_SITE, CPU_NODE, SITE
from tests.environments.wheelhouse import make_wheel
from windlass.app.environments.seen import read_recipe
from windlass.core.environment import Entering, Recipe, make_path, narrow_to_nodes
from windlass.core.run import BuildPlace, Environment, Resources, Wheels
from windlass.core.site import Partition, Software
from windlass.core.wheels.platform import make_platform
from windlass.edges.laptop_pip import run_download
from windlass.environments import KINDS
from windlass.environments.venv_script import CHECK
from windlass.errors import PlanError, WindlassError
from windlass_job import wire

VENV = KINDS["venv"]
HOUSE = replace(SITE, software=Software(wheelhouse="/house"))
FILES = {
    "requirements.txt": "-r more.txt\n-c limits.txt\nnumpy==1.26.4 --hash=sha256:aa --hash=sha256:bb\n",
    "more.txt": "tqdm --hash=sha256:cc\n",
    "limits.txt": "tqdm<5\n",
    "pyproject.toml": '[project]\nname = "mine"\nversion = "1"\ndependencies = ["tqdm>=4"]\n',
}


def read(environment: Environment, files: dict[str, str] = FILES) -> Recipe:
    recipe = VENV.read(environment, HOUSE, files.get)
    assert recipe is not None
    return recipe


def enter(environment: Environment, recipe: Recipe) -> Entering:
    return VENV.enter(environment, recipe, make_path(recipe, "/root"), HOUSE)


def check_bash(lines: str) -> None:
    done = subprocess.run(["bash", "-n"], input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_run_without_a_venv_has_none() -> None:
    assert VENV.read(Environment(conda="environment.yml"), SITE, FILES.get) is None


def test_all_that_a_list_includes_is_in_the_recipe() -> None:
    recipe = read(Environment(venv="requirements.txt"))

    assert "numpy==1.26.4" in recipe.files["requirements.txt"]
    assert "tqdm" in recipe.files["requirements.txt"]
    assert recipe.files["constraints.txt"] == "tqdm<5\n"


def test_the_dependencies_of_a_project_are_enough() -> None:
    assert read(Environment(venv="pyproject.toml")).files["requirements.txt"] == "tqdm>=4\n"


def test_what_changes_the_environment_changes_its_identity() -> None:
    wanted = Environment(venv="requirements.txt")
    others = (
        replace(wanted, modules=("python/3.11",)),
        replace(wanted, python="3.11"),
        replace(wanted, system_packages=True),
        replace(wanted, wheels=Wheels.PYPI),
        replace(wanted, venv="pyproject.toml"),
    )

    assert len({read(one).id for one in (wanted, *others)}) == 6
    assert read(wanted).id == read(replace(wanted, pack=True)).id
    assert read(wanted, {**FILES, "limits.txt": "tqdm<4\n"}).id != read(wanted).id
    assert read(wanted, {**FILES, "README": "else"}).id == read(wanted).id


def test_nodes_of_another_kind_have_an_environment_of_their_own() -> None:
    power = replace(CPU_NODE, name="power", architecture="ppc64le")
    partition = Partition(name="power", nodes=("power",))
    both = replace(SITE, node_types=(*SITE.node_types, power), partitions=(*SITE.partitions, partition))
    wanted = Environment(container="docker://net")

    def read_at(resources: Resources) -> Recipe:
        recipe = KINDS["container"].read(wanted, narrow_to_nodes(both, resources), FILES.get)
        assert recipe is not None
        return recipe

    somewhere, on_power = read_at(Resources()), read_at(Resources(partition="power"))
    on_gpus = read_at(Resources(gpu="a100"))

    assert [one.platform for one in (somewhere, on_power, on_gpus)] == ["", "ppc64le", "x86_64"]
    assert len({one.id for one in (somewhere, on_power, on_gpus)}) == 3
    for site, platform in (
        (SITE, "x86_64"),
        (BARE_SITE, ""),
        (narrow_to_nodes(both, Resources(partition="power")), "ppc64le"),
    ):
        recipe = VENV.read(Environment(venv="requirements.txt"), site, FILES.get)
        assert recipe is not None
        assert recipe.platform == platform


def test_it_sees_the_packages_of_modules_where_there_are_modules() -> None:
    assert read(Environment(venv="requirements.txt")).settings["system"] == "no"
    assert read(Environment(venv="requirements.txt", modules=("torch",))).settings["system"] == "yes"
    alone = Environment(venv="requirements.txt", modules=("torch",), system_packages=False)
    assert read(alone).settings["system"] == "no"


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        (Environment(venv="missing.txt"), "there is no file missing.txt"),
        (Environment(venv="requirements.txt", python="2.7"), "no version of Python 3"),
        (Environment(venv="requirements.txt", python="3.11; rm -rf /"), "no version of Python 3"),
    ],
)
def test_what_cannot_be_read_is_told(environment: Environment, words: str) -> None:
    with pytest.raises(WindlassError, match=words):
        read(environment)


def test_a_password_in_the_address_of_an_index_is_refused() -> None:
    files = {"requirements.txt": "-i https://me:s3cret@example.org/index\nnumpy\n"}

    with pytest.raises(WindlassError) as told:
        read(Environment(venv="requirements.txt"), files)

    assert "s3cret" not in str(told.value)
    assert "s3cret" not in str(read(Environment(venv="requirements.txt", wheels=Wheels.LAPTOP), files).files)


@pytest.mark.parametrize("modules", [(), ("gcc/12.3", "python/3.11")])
@pytest.mark.parametrize("wheels", [Wheels.WHEELHOUSE, Wheels.PYPI, Wheels.LAPTOP])
def test_the_script_is_valid_bash(modules: tuple[str, ...], wheels: Wheels) -> None:
    recipe = read(Environment(venv="requirements.txt", modules=modules, python="3.11"))
    build = VENV.make_build(replace(recipe, wheels=wheels), HOUSE)

    check_bash(build.script)
    assert build.needs_internet is (wheels is Wheels.PYPI)
    assert ("--no-index" in build.script) is (wheels is not Wheels.PYPI)
    assert ("--system-site-packages" in build.script) is bool(modules)


def test_sums_of_pypi_are_not_asked_of_a_wheelhouse() -> None:
    recipe = read(Environment(venv="requirements.txt"))
    at_pypi = replace(recipe, wheels=Wheels.PYPI)

    assert b"--hash" not in VENV.make_build(recipe, HOUSE).files["requirements.txt"]
    assert VENV.make_build(at_pypi, HOUSE).files["requirements.txt"].count(b"--hash") == 3


def run_entering(entering: Entering, folder: Path) -> subprocess.CompletedProcess[str]:
    lines = "\n".join(("set -e", *entering.lines, 'echo "$VIRTUAL_ENV" "${PATH%%:*}"'))
    return subprocess.run(["bash", "-c", lines], capture_output=True, text=True, check=False, cwd=folder)


def make_folder(folder: Path, check: str) -> Path:
    """What a build leaves, as far as going in looks at it."""
    prefix = folder / "build-1"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin" / "python").symlink_to("/usr/bin/python3")
    (prefix / CHECK).write_text(check)
    (folder / "current").symlink_to("build-1")
    return prefix


def test_a_job_goes_into_the_build_itself_and_not_through_the_link(tmp_path: Path) -> None:
    wanted = Environment(venv="requirements.txt")
    recipe = read(wanted)
    prefix = make_folder(tmp_path / "a b" / wire.ENVS / recipe.id, "exit 0\n")

    entering = VENV.enter(wanted, recipe, make_path(recipe, str(tmp_path / "a b")), SITE)
    done = run_entering(entering, tmp_path)

    assert done.stdout == f"{prefix} {prefix}/bin\n", done.stderr


def test_a_job_is_refused_where_the_environment_is_not_there_or_not_what_it_was(tmp_path: Path) -> None:
    wanted = Environment(venv="requirements.txt")
    recipe = read(wanted)
    entering = VENV.enter(wanted, recipe, make_path(recipe, str(tmp_path)), SITE)

    missing = run_entering(entering, tmp_path)
    make_folder(tmp_path / wire.ENVS / recipe.id, "echo 'windlass: other Python' >&2; exit 1\n")
    other = run_entering(entering, tmp_path)

    assert (missing.returncode, other.returncode) == (wire.EXIT_ENVIRONMENT, wire.EXIT_ENVIRONMENT)
    assert f"the environment {recipe.id} is not at alpha" in missing.stderr
    assert "other Python" in other.stderr


def test_a_folder_at_the_site_is_used_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to("/usr/bin/python3")
    wanted = Environment(venv=str(tmp_path))
    recipe = read(wanted)
    assert VENV.find is not None

    found = subprocess.run(["bash", "-c", VENV.find(recipe, SITE)], capture_output=True, text=True, check=True)
    nowhere = subprocess.run(
        ["bash", "-c", VENV.find(replace(recipe, existing="$HOME/no such"), SITE)], capture_output=True, text=True
    )

    assert re.fullmatch(rf"windlass-python 3\.\d+\.\d+\n{tmp_path}\n", found.stdout)
    assert "there is no environment of Python at $HOME/no such" in nowhere.stderr
    assert run_entering(enter(wanted, recipe), tmp_path).stdout.startswith(str(tmp_path))


def test_every_node_makes_its_own_where_that_is_wanted() -> None:
    wanted = Environment(venv="requirements.txt", build=BuildPlace.NODE)
    recipe = read(wanted)
    lines = "\n".join(enter(wanted, recipe).lines)

    check_bash(lines)
    assert recipe.is_made_by_jobs
    assert "srun" in lines


def test_nodes_take_packages_from_where_they_surely_can() -> None:
    wanted = Environment(venv="requirements.txt", build=BuildPlace.NODE)
    inside, outside = (replace(SITE, rules=replace(SITE.rules, compute_internet=one)) for one in (True, None))

    chosen = [VENV.read(wanted, site, FILES.get) for site in (HOUSE, inside, outside)]
    asked = read(replace(wanted, wheels=Wheels.LAPTOP))

    assert [one and one.wheels for one in chosen] == [Wheels.WHEELHOUSE, Wheels.PYPI, Wheels.LAPTOP]
    assert asked.wheels is Wheels.LAPTOP
    assert f"export WINDLASS_WHEELS={SITE.root}/wheels/{asked.id}" in "\n".join(enter(wanted, asked).lines)


@pytest.mark.slow
def test_a_login_node_that_fetches_for_such_a_run_makes_one_too_and_none_in_a_strangers_folder(tmp_path: Path) -> None:
    make_wheel(tmp_path / "house", "words", "2.0")
    site = replace(SITE, software=Software(wheelhouse=str(tmp_path / "house")))
    wanted = Environment(venv="requirements.txt", build=BuildPlace.NODE)
    recipe = VENV.read(wanted, site, {"requirements.txt": "words\n"}.get)
    assert recipe is not None
    entering = VENV.enter(wanted, recipe, make_path(recipe, "/root"), site)

    made = run_entering(entering, tmp_path)
    folder = tmp_path / ".windlass" / "environment" / "windlass-0"
    if os.geteuid() == 0:
        os.chown(folder, 65534, 65534)
        refused = run_entering(entering, tmp_path)
        assert (refused.returncode, refused.stdout) == (wire.EXIT_ENVIRONMENT, "")
        assert f"{folder} belongs to another user" in refused.stderr

    assert made.stdout.startswith(str(folder)), made.stderr
    assert list(folder.glob("*/lib/python*/site-packages/words*"))


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [(Environment(conda="base"), "pack = true"), (Environment(container="/images/torch.sif"), 'build = "login"')],
)
def test_only_a_venv_is_made_on_every_node(wanted: Environment, hint: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="makes a venv on every node") as told:
        read_recipe(replace(wanted, build=BuildPlace.NODE), SITE, tmp_path)

    assert hint in str(told.value.hint)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder of somebody else's")
@pytest.mark.parametrize("trap", ["the folder", "the one above", "a link", "a link above"])
def test_what_somebody_else_laid_on_a_node_is_not_entered(tmp_path: Path, trap: str) -> None:
    """/tmp of a node is everybody's, and numbers of jobs can be guessed: another user's Python would run as ours."""
    wanted = Environment(venv="requirements.txt", build=BuildPlace.NODE)
    site = replace(HOUSE, local_scratch="$LOCAL")
    recipe = VENV.read(wanted, site, FILES.get)
    assert recipe is not None
    lines = "\n".join((*VENV.enter(wanted, recipe, make_path(recipe, "/root"), site).lines, "echo entered"))
    above = tmp_path / "windlass-7"
    folder = above / str(recipe.existing).rpartition("/")[2]
    laid = tmp_path / "theirs" if trap == "a link" else folder
    (laid / "bin").mkdir(parents=True)
    (laid / CHECK).touch()
    above.mkdir(exist_ok=True)
    if trap == "a link":
        folder.symlink_to(laid)
    if trap == "a link above":  # to what is ours: whoever laid it can have it lead elsewhere later
        above.rename(tmp_path / "ours")
        above.symlink_to(tmp_path / "ours")
    else:
        os.chown(above if trap == "the one above" else laid, 65534, -1)
    env = {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path), "SLURM_JOB_ID": "7", wire.ENV_RUN_DIR: str(tmp_path)}

    done = subprocess.run(["bash", "-c", lines], env=env, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (wire.EXIT_ENVIRONMENT, "")
    assert ("is a link" if "link" in trap else "belongs to another user") in done.stderr


@pytest.mark.parametrize("wheels", [Wheels.AUTO, Wheels.WHEELHOUSE, Wheels.LAPTOP])
def test_addresses_are_for_login_nodes_that_fetch_themselves(wheels: Wheels) -> None:
    files = {"requirements.txt": "mine @ git+https://example.org/mine@v1\n"}
    asked = Environment(venv="requirements.txt", wheels=wheels)

    assert "mine@" in read(replace(asked, wheels=Wheels.PYPI), files).files["requirements.txt"].replace(" @", "@")
    with pytest.raises(WindlassError, match="comes from a git repository") as caught:
        read(asked, files)
    assert (caught.value.hint or "").startswith('wheels = "pypi"')


def test_wheels_of_the_project_are_found_by_pip_on_the_laptop(tmp_path: Path) -> None:
    make_wheel(tmp_path / "wheels", "greet", "1.5")
    (tmp_path / "requirements.txt").write_text("--no-index\n--find-links ./wheels\ngreet\n")
    recipe = read_recipe(Environment(venv="requirements.txt", wheels=Wheels.LAPTOP), SITE, tmp_path)
    assert recipe is not None
    assert recipe.read_private is not None
    (tmp_path / "new").mkdir()

    run_download(recipe.read_private(), make_platform("3.11", "x86_64", "2.28"), tmp_path / "new", print)

    assert [one.name for one in (tmp_path / "new").iterdir()] == ["greet-1.5-py3-none-any.whl"]


@pytest.mark.parametrize("wheels", [Wheels.AUTO, Wheels.PYPI])
def test_wheels_of_the_project_are_not_where_a_login_node_installs(wheels: Wheels, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("--find-links ./wheels\ngreet\n")

    with pytest.raises(WindlassError, match="is a folder of the project") as caught:
        read_recipe(Environment(venv="requirements.txt", wheels=wheels), SITE, tmp_path)

    assert (caught.value.hint or "").startswith('wheels = "laptop"')
