"""What [environment] container means: how an image is made, and how a job enters it."""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import ATTEMPT, HOUR, SITE, SPEC
from tests.goldens import check_golden
from windlass.core.environment import Around, Entering, EnvironmentSeen, Recipe, add_activation, list_modules, settle
from windlass.core.facts import Facts
from windlass.core.job import make_script
from windlass.core.planning import make_plan
from windlass.core.run import Data, Environment, Resources
from windlass.core.site import Area, GpuKind, ModuleSystem, Site, Software
from windlass.core.source.reach import list_before
from windlass.environments import KINDS
from windlass.environments.container_runtimes import RUNTIMES
from windlass.errors import PlanError
from windlass.launchers import LAUNCHERS

KIND = KINDS["container"]
ROOT = "/scratch/ada/windlass"
DIGEST = "docker://nvcr.io/nvidia/pytorch@sha256:" + "a" * 64
HERE = replace(SITE, software=Software(container="apptainer", container_module="apptainer"))


def read(source: str, site: Site = HERE, files: dict[str, str] | None = None) -> Recipe:
    found = KIND.read(Environment(container=source), site, (files or {}).get)
    assert found is not None
    return found


def enter(environment: Environment, site: Site = HERE, **around: object) -> Entering:
    recipe = KIND.read(environment, site, lambda _: None)
    assert recipe is not None
    path = recipe.existing or f"{ROOT}/envs/{recipe.id}/current"
    told: dict[str, object] = {"workdir": f"{ROOT}/runs/r/code", "folders": (ROOT, "$SLURM_TMPDIR"), **around}
    return settle(KIND.enter(environment, recipe, path, site), Around(**told))  # type: ignore[arg-type]  # one fact each


def run_lines(entering: Entering, tmp_path: Path, **variables: str) -> dict[str, str]:
    """What a batch script's variables are after these lines."""
    lines = "\n".join(("set -e", *entering.lines, "env -0"))
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "USER": "ada", **variables}
    said = subprocess.run(["bash", "-c", lines], env=env, capture_output=True, text=True, check=True).stdout
    return dict(one.split("=", 1) for one in said.split("\0") if "=" in one)


def test_a_run_without_a_container_has_none() -> None:
    assert KIND.read(Environment(modules=("gcc",)), HERE, lambda _: None) is None


@pytest.mark.parametrize("source", ["docker://python:3.11-slim", DIGEST, "oras://host/image:1", "library://ada/x/y:2"])
def test_an_image_is_pulled_off_home_and_told_with_its_sum(source: str) -> None:
    build = KIND.make_build(read(source), HERE)

    assert f"windlass_source={source} windlass_pinned=\n" in build.script
    assert 'apptainer pull "$WINDLASS_PREFIX/image.sif" "$windlass_source"\n' in build.script
    assert ("windlass_pinned=$(python3 " in build.script) is source.startswith("docker://")
    assert 'APPTAINER_CACHEDIR="$WINDLASS_ROOT/images" APPTAINER_TMPDIR="$TMPDIR"' in build.script
    assert "module load apptainer\n" in build.script
    assert (build.path, build.needs_internet) == ("image.sif", True)
    assert subprocess.run(["bash", "-n"], input=build.script.encode(), check=False).returncode == 0


def test_the_site_says_where_the_cache_lies() -> None:
    site = replace(HERE, software=replace(HERE.software, container_cache="/wclustre/$USER/cache"))

    assert 'CACHEDIR=/wclustre/"$USER"/cache' in KIND.make_build(read("docker://a/b"), site).script


def test_an_image_with_cuda_needs_room_for_its_layers_its_files_and_itself() -> None:
    assert KIND.make_build(read(DIGEST), HERE).needs_bytes == 40_000_000_000
    assert KIND.make_build(read("docker://python:3.11-slim"), HERE).needs_bytes == 3_000_000_000
    assert KIND.make_build(read("oras://host/pytorch:1"), HERE).needs_bytes == 10_000_000_000
    text = "Bootstrap: docker\nFrom: nvcr.io/nvidia/pytorch:24.01-py3\n"
    assert KIND.make_build(read("image.def", files={"image.def": text}), HERE).needs_bytes == 40_000_000_000


def test_another_digest_is_another_image_and_other_modules_are_not() -> None:
    assert read(DIGEST).id != read(DIGEST.replace("a" * 64, "b" * 64)).id
    wanted = Environment(container=DIGEST, modules=("gcc/12.3",))
    recipe = KIND.read(wanted, HERE, lambda _: None)
    assert recipe is not None
    assert recipe.id == read(DIGEST).id
    assert list_modules(wanted, HERE) == ("gcc/12.3", "apptainer")


def test_a_definition_comes_with_the_files_it_copies() -> None:
    copies = "%files\n  ./tools/a.py /opt/a.py\n  /data/b /b\n# no\n%post\n  true x\n"
    text = f"Bootstrap: localimage\nFrom: /images/base\n{copies}"

    recipe = read("image.def", files={"image.def": text, "tools/a.py": "print(1)\n"})

    assert recipe.files == {"image.def": text, "tools/a.py": "print(1)\n"}
    build = KIND.make_build(recipe, HERE)
    assert 'apptainer build "$WINDLASS_PREFIX/image.sif" image.def\n' in build.script
    assert set(build.files) == {"image.def", "tools/a.py"}
    assert not build.needs_internet


def test_what_is_copied_from_another_stage_is_no_file_of_the_project() -> None:
    stages = (
        "Bootstrap: docker\nFrom: golang:1\nStage: build\nBootstrap: localimage\nStage: last\nFrom: /images/a.sif\n"
    )
    text = f"{stages}%files from build\n  go/bin/tool /usr/bin/tool\n%files\n  own.txt /own.txt\n"

    assert set(read("image.def", files={"image.def": text, "own.txt": "x"}).files) == {"image.def", "own.txt"}


@pytest.mark.parametrize(
    ("source", "files", "says"),
    [
        ("image.def", {"image.def": "Bootstrap: localimage\nFrom: base.sif\n"}, "'base.sif', which is no full path"),
        ("image.def", {}, "there is no such file in the project"),
        ("image.def", {"image.def": "%files\nlost.bin /x\n"}, "copies lost.bin into the image"),
        ("image.sif", {}, "neither an address nor a file"),
        ("docker://me:secret@host/image", {}, "holds a password: docker://***@host/image"),
        ("python:3.11", {}, "neither an address nor a file"),
    ],
)
def test_what_cannot_be_an_image_is_refused(source: str, files: dict[str, str], says: str) -> None:
    with pytest.raises(PlanError, match=re.escape(says)) as caught:
        read(source, files=files)
    assert "secret" not in str(caught.value) + str(caught.value.hint)


def test_a_runtime_that_is_not_known_is_named() -> None:
    site = replace(HERE, software=Software(container="sarus"))

    with pytest.raises(PlanError, match="sarus, which Windlass does not know; it knows apptainer, singularity"):
        KIND.make_build(read("docker://a/b"), site)


@pytest.mark.parametrize("name", RUNTIMES)
def test_every_runtime_makes_and_enters_images_in_its_own_words(name: str) -> None:
    site = replace(HERE, software=Software(container=name))
    image = f"{ROOT}/envs/{read('docker://a/b').id}/current/image.sif"

    entering = enter(Environment(container="docker://a/b"), replace(site, software=replace(site.software)))

    assert entering.inside[:3] == (name, "--quiet", "exec")
    assert entering.inside[-3:] == ("--pwd", f"{ROOT}/runs/r/code", image.replace(read("docker://a/b").id, _id(site)))
    assert any(f"{name.upper()}_BIND" in line for line in entering.lines)


def _id(site: Site) -> str:
    return read("docker://a/b", site).id


def test_gpus_are_shown_only_to_those_who_have_some() -> None:
    image = Environment(container="/images/x.sif")
    amd = replace(HERE, gpus=(GpuKind(name="mi250x"),))

    assert "--nv" not in enter(image).inside
    assert "--nv" in enter(image, gpus_per_node=4, gpu="a100").inside
    assert "--rocm" in enter(image, gpus_per_node=4, gpu="mi250x").inside
    assert "--rocm" in enter(image, amd, gpus_per_node=4).inside
    assert "--nv" in enter(image, gpus_per_node=1).inside


def test_the_container_sees_what_is_there_under_both_its_names(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    wanted = Environment(container="/images/x.sif", binds=("/usr/share:/share:ro", "$HOME/a b"))
    entering = enter(wanted, folders=(str(link), "/not/there", "$SLURM_TMPDIR"))

    env = run_lines(entering, tmp_path, SLURM_TMPDIR=str(real), APPTAINER_BIND="/cvmfs", PYTHONPATH="/modules")

    binds = f"/cvmfs,{link},{real},/dev/shm,/usr/share:/share:ro,{tmp_path}/a b"
    assert env["APPTAINER_BIND"] == binds
    assert env["APPTAINER_TMPDIR"] == str(real)
    assert "PYTHONPATH" not in env
    assert entering.env == {"PYTHONNOUSERSITE": "1"}


def test_the_site_says_what_stands_for_home(tmp_path: Path) -> None:
    site = replace(HERE, software=replace(HERE.software, container_home="$HOME/place/$USER"))

    env = run_lines(enter(Environment(container="/images/x.sif"), site), tmp_path)

    assert env["APPTAINER_HOME"] == f"{tmp_path}/place/ada"
    assert Path(env["APPTAINER_HOME"]).is_dir()
    assert env["APPTAINER_CONFIGDIR"].startswith(env["APPTAINER_HOME"])


def test_where_jobs_do_not_see_home_it_is_a_folder_of_ours(tmp_path: Path) -> None:
    site = replace(HERE, storage=(Area(name="home", path="/nashome", in_jobs=False),))

    env = run_lines(enter(Environment(container="/images/x.sif"), site, folders=(str(tmp_path),)), tmp_path)

    assert env["APPTAINER_HOME"] == f"{tmp_path}/container-home"
    assert "APPTAINER_HOME" not in run_lines(enter(Environment(container="/images/x.sif")), tmp_path)


@pytest.mark.parametrize("bind", ["data", "/a,/b"])
def test_a_bind_is_a_folder_of_the_site(bind: str) -> None:
    with pytest.raises(PlanError, match="is no folder of the site"):
        enter(Environment(container="/images/x.sif", binds=(bind,)))


def find(image: Path | str) -> "subprocess.CompletedProcess[str]":
    assert KIND.find is not None
    script = KIND.find(read(str(image)), HERE)
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)


def test_an_image_at_the_site_is_looked_at_before(tmp_path: Path) -> None:
    header = b"#!/usr/bin/env run-singularity\n\0" + b"SIF_MAGIC\0" + b"01\0" + b"02\0" + bytes(64)
    whole = header.ljust(112, b"\0") + (4096).to_bytes(8, "little") + (904).to_bytes(8, "little") + bytes(4872)
    (tmp_path / "my image.sif").write_bytes(whole)
    (tmp_path / "cut.sif").write_bytes(whole[:4500])
    (tmp_path / "page.sif").write_bytes(b"<html>not found</html>")

    assert find(tmp_path / "my image.sif").stdout == f"{tmp_path}/my image.sif\n"
    assert "cut.sif is cut off: it has 4500 of 5000 bytes" in find(tmp_path / "cut.sif").stderr
    assert "page.sif is no image: neither SIF nor squashfs" in find(tmp_path / "page.sif").stderr
    assert "lost.sif is not there" in find(tmp_path / "lost.sif").stderr
    assert "is a folder, but no root of a system" in find(tmp_path).stderr


def test_the_facts_of_the_script_are_json_whatever_the_name(tmp_path: Path) -> None:
    script = KIND.make_build(read("docker://a/b:it's%d"), HERE).script
    line = next(one for one in script.splitlines() if one.startswith("printf"))
    (tmp_path / "image.sif").write_bytes(b"abc")
    env = {"PATH": "/usr/bin:/bin", "WINDLASS_PREFIX": str(tmp_path), "WINDLASS_FACTS": str(tmp_path / "facts")}

    subprocess.run(["bash", "-c", line], env=env, check=True)

    facts = json.loads((tmp_path / "facts").read_text())
    assert (facts["source"], facts["bytes"], facts["digest"][:13]) == ("docker://a/b:it's%d", 3, "sha256:ba7816")


def test_what_the_user_activates_comes_last_and_inside(tmp_path: Path) -> None:
    """After a venv in the script of the job; inside a container in every task; and a line that fails ends it."""
    activate = 'export WORDS="$WORDS mine"'
    beside_a_venv = add_activation(Entering(lines=("export WORDS=venv",)), activate)
    boxed = add_activation(Entering(lines=("export WORDS=box",), inside=("env",)), activate)
    broken = add_activation(Entering(inside=("env",)), "false")

    venv, box = (run_lines(one, tmp_path)["WORDS"] for one in (beside_a_venv, boxed))
    command = ["bash", "-c", 'echo "$WORDS"; exit 7']
    inside = subprocess.run([*boxed.inside, *command], env={"WORDS": box}, capture_output=True, text=True)

    assert (venv, box) == ("venv mine", "box")
    assert (inside.stdout, inside.returncode) == ("box mine\n", 7)
    assert subprocess.run([*broken.inside, *command], capture_output=True).returncode == 1
    assert add_activation(boxed, None) == boxed


@pytest.mark.parametrize("is_left_out", [True, False])
def test_what_is_activated_is_part_of_the_environment(is_left_out: bool) -> None:
    wanted = Environment(container="/images/torch.sif", activate="source /opt/more/bin/activate")
    recipe = KIND.read(wanted, HERE, lambda _: None)
    assert recipe is not None
    entering = Entering() if is_left_out else KIND.enter(wanted, recipe, "/images/torch.sif", HERE)
    seen = EnvironmentSeen(recipe=recipe, entering=entering, is_left_out=is_left_out)
    spec = replace(SPEC, environment=wanted)

    plan = make_plan(spec, HERE, Facts(root=ROOT), ATTEMPT, launchers=LAUNCHERS, environment=seen)

    assert ("/opt/more" in make_script(plan)) is not is_left_out
    assert list_before(plan, spec) == (() if is_left_out else (*plan.activate, wanted.activate))


def test_the_script_of_a_training_in_a_container() -> None:
    software = Software(
        modules=ModuleSystem.LMOD, container="apptainer", container_module="apptainer", container_home="/work1/$USER"
    )
    site = replace(SITE, software=software)
    wanted = Environment(container=DIGEST, binds=("/work1/shared:/shared:ro",))
    recipe = KIND.read(wanted, site, lambda _: None)
    assert recipe is not None
    spec = replace(
        SPEC,
        command="python train.py --data /data",
        environment=wanted,
        data={"digits": Data(source="/project/digits")},
        resources=Resources(gpus=8, time=HOUR),
    )
    entering = KIND.enter(wanted, recipe, f"{ROOT}/envs/{recipe.id}/current", site)
    seen = EnvironmentSeen(recipe=recipe, entering=entering)

    plan = make_plan(spec, site, Facts(root=ROOT), ATTEMPT, launchers=LAUNCHERS, environment=seen)

    check_golden(Path(__file__).parent / "golden" / "container-two-nodes.sh", make_script(plan))
    assert plan.environment == recipe.id
