"""Conda environments: built by a client from a channel in a folder, and entered by shells that know no conda."""

import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import SITE
from tests.conftest import Places
from tests.environments.conda_site import (
    RECORDER,
    CondaSite,
    load_card,
    make_conda_site,
    make_test_channel,
    make_wheel,
    make_yaml,
    wait_for,
    wait_until_gone,
)
from windlass.core.environment import make_path
from windlass.core.run import Environment
from windlass.core.site import Software
from windlass.environments.conda import KIND
from windlass.errors import PlanError
from windlass_job.working.environments import BuildFailed

pytestmark = pytest.mark.slow

_EXPLICIT = "@EXPLICIT\nhttps://example.org/forge/noarch/x-1-0.conda\n"
_LOCK = "package:\n- name: x\n  manager: conda\n"
_PIXI = '[workspace]\nchannels = ["x"]\n[dependencies]\n'
_CREATE = ["create", "--yes", "--prefix", "PREFIX", "--file"]
_ENV_CREATE = ["env", "create", "--prefix", "PREFIX", "--file", "environment.yml"]
_INSTALL = ["install", "--manifest-path", "PREFIX/pixi.toml", "--environment", "default"]


@pytest.fixture
def place(places: Places, tmp_path: Path) -> CondaSite:
    return make_conda_site(places, tmp_path)


def test_a_training_runs_in_what_was_built(place: CondaSite, tmp_path: Path) -> None:
    place.add_client("micromamba")
    channel = make_test_channel(tmp_path / "channel")
    recipe = place.read("environment.yml", {"environment.yml": make_yaml(channel, "python", "net")})

    card = place.build(recipe)
    ran = place.enter(
        recipe, 'net-train; echo "$NET_HOME $NET_UNSET $CONDA_PREFIX"; cat "$CONDA_PREFIX/share/prefix.txt"'
    )

    prefix = str(place.folder(recipe) / "build-1")
    assert ran.stdout.splitlines() == ["trained by net 1.0", f"{prefix}/net <> {prefix}", prefix], ran.stderr
    assert card["path"] == prefix
    assert card["python"] == subprocess.check_output([f"{prefix}/bin/python", "-V"], text=True).split()[1]
    assert list(place.home.iterdir()) == [place.home / ".profile"], "nothing lands in home"
    assert (place.root / "caches" / "rattler" / "pkgs").is_dir()


def test_the_pip_part_is_installed_too(place: CondaSite, tmp_path: Path) -> None:
    place.add_client("micromamba")
    make_wheel(tmp_path, "fromwheel")
    channel = make_test_channel(tmp_path / "channel", pip=True)
    yaml = make_yaml(channel, "python", "pip", pip=("--no-index", "-r more.txt"))
    files = {"environment.yml": yaml, "more.txt": f"--find-links {tmp_path}\nfromwheel\n"}
    recipe = place.read("environment.yml", files)

    card = place.build(recipe)

    assert card["packages"]["fromwheel"] == "1.0"
    assert place.enter(recipe, "python -c 'import fromwheel; print(fromwheel.NAME)'").stdout == "fromwheel\n"


def test_an_explicit_list_is_built(place: CondaSite, tmp_path: Path) -> None:
    place.add_client("micromamba")
    channel = make_test_channel(tmp_path / "channel")
    packages = sorted((tmp_path / "channel").rglob("*.tar.bz2"))
    recipe = place.read("all.lock", {"all.lock": "@EXPLICIT\n" + "".join(f"{one.as_uri()}\n" for one in packages)})

    place.build(recipe)

    assert channel.startswith("file:")
    assert place.enter(recipe, "net-train").stdout == "trained by net 1.0\n"


def test_pixi_builds_below_its_manifest(place: CondaSite, tmp_path: Path) -> None:
    place.add_client("pixi")
    channel = make_test_channel(tmp_path / "channel")
    manifest = f'[workspace]\nchannels = ["{channel}"]\n[dependencies]\npython = "*"\n[environments]\ngpu = ["gpu"]\n'
    manifest += '[feature.gpu.dependencies]\nnet = "*"\n'
    recipe = place.read("pixi.toml:gpu", {"pixi.toml": manifest, "pixi.lock": "version: 6\n"})

    card = place.build(recipe)

    assert card["path"] == f"{place.folder(recipe)}/build-1/.pixi/envs/gpu"
    assert place.enter(recipe, "net-train").stdout == "trained by net 1.0\n"


def test_a_package_that_the_channel_lacks_is_told_and_the_old_one_works(place: CondaSite, tmp_path: Path) -> None:
    place.add_client("micromamba")
    channel = make_test_channel(tmp_path / "channel")
    recipe = place.read("environment.yml", {"environment.yml": make_yaml(channel, "python", "net")})
    place.build(recipe)
    before = load_card(place.folder(recipe))
    repodata = tmp_path / "channel" / "noarch" / "repodata.json"
    repodata.write_text(repodata.read_text().replace('"net', '"not-net'))

    with pytest.raises(BuildFailed, match="No candidates were found for net") as failed:
        place.build(recipe, again=True)

    assert failed.value.answer["kind"] == "build-failed"
    assert load_card(place.folder(recipe)) == before
    assert sorted(one.name for one in place.folder(recipe).glob("build-*")) == ["build-1"]
    assert place.enter(recipe, "net-train").stdout == "trained by net 1.0\n"


def test_a_build_that_is_killed_leaves_the_old_one_and_nothing_of_its_own(place: CondaSite, tmp_path: Path) -> None:
    client = place.add_client("micromamba")
    channel = make_test_channel(tmp_path / "channel")
    recipe = place.read("environment.yml", {"environment.yml": make_yaml(channel, "python", "net")})
    place.build(recipe)
    linked = tmp_path / "linked"
    # All is linked, and it does not come back.
    hangs = f'[ "$1" = --version ] || {{ echo $$ > {linked}.new; mv {linked}.new {linked}; exec sleep 600; }}\n'
    place.add_program("micromamba", client.read_text().replace("exec ", "") + hangs)

    building = place.start_build(recipe)
    wait_for(linked)
    building.kill()
    building.wait()

    assert place.enter(recipe, "net-train").stdout == "trained by net 1.0\n"
    wait_until_gone(int(linked.read_text()))
    place.add_client("micromamba")
    anew = Path(place.build(recipe, again=True)["path"])
    assert sorted(place.folder(recipe).glob("build-*")) == [place.folder(recipe) / "build-1", anew]


@pytest.mark.parametrize(
    ("client", "file", "text", "words"),
    [
        ("micromamba", "environment.yml", make_yaml("forge", "python"), [*_CREATE, "environment.yml"]),
        ("mamba", "environment.yml", make_yaml("forge", "python"), _ENV_CREATE),
        ("conda", "environment.yml", make_yaml("forge", "python"), _ENV_CREATE),
        ("micromamba", "x.lock", _EXPLICIT, [*_CREATE, "explicit.txt"]),
        ("mamba", "x.lock", _EXPLICIT, [*_CREATE, "explicit.txt"]),
        ("conda", "x.lock", _EXPLICIT, [*_CREATE, "explicit.txt"]),
        ("micromamba", "x.yml", _LOCK, [*_CREATE, "conda-lock.yml"]),
        ("mamba", "x.yml", _LOCK, [*_CREATE, "conda-lock.yml"]),
        ("conda-lock", "x.yml", _LOCK, ["install", "--prefix", "PREFIX", "conda-lock.yml"]),
        ("pixi", "pixi.toml", _PIXI, _INSTALL),
    ],
)
def test_each_client_is_called_in_its_own_words(
    place: CondaSite, client: str, file: str, text: str, words: list[str]
) -> None:
    called = place.add_program(client)
    recipe = place.read(file, {file: text})

    place.build(recipe)

    prefix = f"{place.folder(recipe)}/build-1"
    argv = Path(f"{called}.argv").read_text().splitlines()
    env = dict(line.partition("=")[::2] for line in Path(f"{called}.env").read_text().splitlines())
    assert argv == [client, *(word.replace("PREFIX", prefix) for word in words)]
    caches = f"{place.root}/caches/"
    moved = {"CONDA_PKGS_DIRS", "RATTLER_CACHE_DIR", "PIXI_CACHE_DIR", "PIP_CACHE_DIR", "UV_CACHE_DIR"}
    moved |= {"MAMBA_ROOT_PREFIX"} if client == "micromamba" else set()
    assert all(env[name].startswith(caches) for name in moved)
    assert ("MAMBA_ROOT_PREFIX" in env) == (client == "micromamba")


def test_tokens_of_the_sites_own_settings_stay_out_of_the_log(place: CondaSite) -> None:
    place.add_program("conda")
    recipe = place.read("environment.yml", {"environment.yml": make_yaml("forge", "python")})

    place.build(recipe)

    log = place.read_log(recipe)
    assert "asking https://conda.example.org/t/***/private and https://***@example.org/x" in log
    assert "hunter22" not in log
    assert "1234567890" not in log


def test_the_fastest_client_is_taken_unless_the_site_file_names_one(place: CondaSite, tmp_path: Path) -> None:
    programs = {name: place.add_program(name) for name in ("conda", "mamba", "micromamba")}
    files = {"environment.yml": make_yaml("forge", "python")}
    elsewhere = tmp_path / "opt" / "mamba"
    elsewhere.parent.mkdir()
    elsewhere.write_text(RECORDER)
    elsewhere.chmod(0o755)

    place.build(place.read("environment.yml", files))
    for chosen in ("conda", str(elsewhere)):
        named = replace(place, software=Software(conda=chosen))
        named.build(named.read("environment.yml", files))

    called = {name for name, path in programs.items() if Path(f"{path}.argv").exists()}
    assert called == {"micromamba", "conda"}
    assert Path(f"{elsewhere}.argv").exists()


def test_a_client_is_found_by_the_variable_that_modules_set(place: CondaSite, tmp_path: Path) -> None:
    program = place.add_program("mamba")
    moved = program.rename(tmp_path / "mamba")
    with (place.home / ".profile").open("a") as profile:
        profile.write(f"export MAMBA_EXE={moved}\nconda() {{ echo a function is no program; }}\n")

    place.build(place.read("environment.yml", {"environment.yml": make_yaml("forge", "python")}))

    assert Path(f"{moved}.argv").exists()


def test_without_a_client_nothing_is_built_and_it_is_told_what_to_load(place: CondaSite) -> None:
    recipe = place.read("environment.yml", {"environment.yml": make_yaml("forge", "python")})

    with pytest.raises(BuildFailed) as failed:
        place.build(recipe)

    assert failed.value.answer["problem"] == (
        "error: there is no micromamba, mamba or conda on the PATH at alpha, which environment.yml needs"
    )
    assert any("windlass modules find micromamba --on alpha" in line for line in failed.value.answer["tail"])
    gone = replace(place, software=Software(conda="/opt/gone/conda"))
    with pytest.raises(BuildFailed, match=r"software.conda = /opt/gone/conda, and there is no such program"):
        gone.build(gone.read("environment.yml", {"environment.yml": make_yaml("forge", "python")}))


@pytest.mark.parametrize("chosen", ["/opt/bin/python", "conda"])
def test_a_client_that_cannot_build_it_is_refused_before(place: CondaSite, chosen: str) -> None:
    odd = replace(place, software=Software(conda=chosen))
    with pytest.raises(PlanError, match=r"is no program that builds from conda-lock.yml"):
        KIND.make_build(odd.read("x.yml", {"x.yml": _LOCK}), odd.site)


def test_the_python_that_was_asked_for_must_come_out(place: CondaSite, tmp_path: Path) -> None:
    place.add_client("micromamba")
    files = {"environment.yml": make_yaml(make_test_channel(tmp_path / "channel"), "python")}
    with pytest.raises(BuildFailed, match=r"\[environment\] python = 3.4, and environment.yml gives Python 3"):
        place.build(place.read("environment.yml", files, python="3.4"))

    card = place.build(place.read("environment.yml", files))
    assert place.build(place.read("environment.yml", files, python=card["python"].rpartition(".")[0]))


def test_a_login_node_without_gpus_gets_the_builds_for_gpus() -> None:
    site = replace(SITE, software=Software(cuda="$(id)12.4"))  # a value, whatever is in it
    recipe = KIND.read(Environment(conda="e.yml"), site, {"e.yml": make_yaml("forge", "pytorch")}.get)

    assert recipe is not None
    lines = "\n".join(line for line in KIND.make_build(recipe, site).script.splitlines() if "cuda" in line.lower())
    for env, told in (({}, "$(id)12.4"), ({"CONDA_OVERRIDE_CUDA": "11.8"}, "11.8")):
        done = subprocess.run(
            ["bash", "-c", f'{lines}\nprintf %s "$CONDA_OVERRIDE_CUDA"'], env=env, capture_output=True
        )
        assert done.stdout.decode() == told


def test_variables_that_were_set_for_an_environment_are_there(place: CondaSite, tmp_path: Path) -> None:
    folder = tmp_path / "existing"
    (folder / "conda-meta").mkdir(parents=True)
    odd = '{"env_vars": {"DATA": "it\'s $HOME; `x`", "OLD": "***unset***", "not a name": "x"}}'
    (folder / "conda-meta" / "state").write_text(odd)

    ran = place.enter(place.read(str(folder), {}), 'echo "$DATA ${OLD-none} $CONDA_PREFIX"')

    assert ran.stdout == f"it's $HOME; `x` none {folder}\n", ran.stderr


def test_a_base_environment_that_is_active_does_not_matter(place: CondaSite, tmp_path: Path) -> None:
    base, mine = (_make_existing(tmp_path / name) for name in ("base", "mine"))
    before = f'export CONDA_PREFIX={base} CONDA_DEFAULT_ENV=base CONDA_SHLVL=1 PATH="{base}/bin:$PATH"'
    with (place.home / ".profile").open("a") as profile:
        profile.write(f"{before}\n")
    entering = KIND.enter(Environment(), place.read(str(mine), {}), str(mine), place.site)
    script = "\n".join((*entering.lines, 'echo "$CONDA_PREFIX $(command -v python)"'))

    ran = subprocess.run(["bash", "-lc", script], capture_output=True, text=True, check=True)

    assert ran.stdout.splitlines()[-1] == f"{mine} {mine}/bin/python"


def _make_existing(folder: Path) -> Path:
    (folder / "conda-meta").mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    return folder


@pytest.mark.parametrize("way", ["client", "conda's folder", "envs_dirs", "its list", "usual"])
def test_an_environment_is_found_by_its_name(place: CondaSite, tmp_path: Path, way: str) -> None:
    place.home.joinpath(".conda").mkdir()
    profile = place.home / ".profile"
    if way == "client":
        made = _make_existing(tmp_path / "far" / "away")
        place.add_program("conda", f"#!/bin/sh\n[ \"$1 $2\" = 'env list' ] && echo 'train  *  {made}'\n")
    elif way == "conda's folder":
        made = _make_existing(tmp_path / "forge" / "envs" / "train")
        profile.write_text(f"export CONDA_EXE={place.programs}/conda\n")
        (tmp_path / "forge" / "bin").mkdir()
        profile.write_text(f"export CONDA_EXE={tmp_path}/forge/bin/conda\n")
        place.add_program("conda", "#!/bin/sh\nexit 1\n").rename(tmp_path / "forge" / "bin" / "conda")
    elif way == "envs_dirs":
        made = _make_existing(tmp_path / "two words" / "train")
        profile.write_text(f"export CONDA_ENVS_DIRS='/gone:{made.parent}'\n")
    elif way == "its list":
        made = _make_existing(tmp_path / "listed" / "train")
        place.home.joinpath(".conda", "environments.txt").write_text(f"/gone/train\n{made}\n")
    else:
        made = _make_existing(place.home / "miniforge3" / "envs" / "train")
    recipe = place.read("train", {})
    assert KIND.find is not None

    found = subprocess.run(["bash", "-lc", KIND.find(recipe, place.site)], capture_output=True, text=True, check=False)

    version = platform.python_version()
    assert found.stdout.splitlines()[-2:] == [f"windlass-python {version}", str(made)], found.stderr


def test_a_name_that_nobody_knows_is_told_with_those_there_are(place: CondaSite) -> None:
    for name in ("one", "two"):
        _make_existing(place.home / "micromamba" / "envs" / name)
    recipe = place.read("train", {})

    ran = place.enter(recipe, "echo started")

    assert ran.returncode == 119
    assert ran.stdout == ""
    assert "is called train" in ran.stderr
    assert "those found: one two" in ran.stderr


def test_a_job_stops_where_the_environment_is_gone(place: CondaSite) -> None:
    recipe = place.read("environment.yml", {"environment.yml": make_yaml("forge", "python")})

    ran = place.enter(recipe, "echo started")

    assert (ran.returncode, ran.stdout) == (119, "")
    assert (
        ran.stderr
        == f"windlass: the environment {recipe.id} is not at alpha; this builds it: windlass env build --on alpha\n"
    )
    assert make_path(recipe, "/r") == f"/r/envs/{recipe.id}/current"


def test_the_same_file_is_the_same_environment(place: CondaSite) -> None:
    text = make_yaml("forge", "python")
    same = [place.read("environment.yml", {"environment.yml": text}).id for _ in range(2)]
    other = place.read("environment.yml", {"environment.yml": text + "  - numpy\n"}).id

    assert same[0] == same[1] != other
