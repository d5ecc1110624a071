"""What a project's files say of a conda environment, and what they may not say."""

import pytest

from windlass.environments.conda_files import Source, Wanted, read_wanted
from windlass.errors import PlanError

_YAML = "name: x\nchannels:\n  - conda-forge\ndependencies:\n  - python=3.11\n  - numpy\n"
_EXPLICIT = "# platform: linux-64\n@EXPLICIT\nhttps://example.org/forge/linux-64/python-3.11.4-0.conda#d41d8\n"
_LOCK = "version: 1\npackage:\n- name: python\n  manager: conda\n  platform: linux-64\n  url: https://example.org/x\n"
_PIXI = '[workspace]\nchannels = ["conda-forge"]\nplatforms = ["linux-64"]\n[dependencies]\npython = "3.11.*"\n'


def _read(value: str, platform: str = "x86_64", **files: str) -> Wanted | None:
    texts = {name.replace("__", "/").replace("_", "."): text for name, text in files.items()}
    return read_wanted(value, texts.get, platform)


def _must_read(value: str, platform: str = "x86_64", **files: str) -> Wanted:
    wanted = _read(value, platform, **files)
    assert wanted is not None
    return wanted


def test_an_environment_yml_is_laid_as_it_is() -> None:
    wanted = _must_read("environment.yml", environment_yml=_YAML)

    assert (wanted.source, wanted.file, wanted.files) == (Source.YAML, "environment.yml", {"environment.yml": _YAML})
    assert wanted.needs_internet


@pytest.mark.parametrize(
    ("name", "text", "source", "laid"),
    [
        ("linux.lock", _EXPLICIT, Source.EXPLICIT, "explicit.txt"),
        ("linux.txt", _EXPLICIT, Source.EXPLICIT, "explicit.txt"),
        ("locked.yml", _LOCK, Source.LOCK, "conda-lock.yml"),
    ],
)
def test_a_lock_is_known_by_what_is_in_it(name: str, text: str, source: Source, laid: str) -> None:
    wanted = _must_read(name, **{name.replace(".", "_"): text})

    assert (wanted.source, wanted.files) == (source, {laid: text})


def test_the_pip_part_brings_its_files_along() -> None:
    text = _YAML + "  - pip\n  - pip:\n      - rich\n      - -r ../more.txt  # ours\n"

    wanted = _must_read("envs/gpu.yml", envs__gpu_yml=text, more_txt="-r some/other.txt\n", some__other_txt="click\n")

    assert wanted.file == "envs/gpu.yml"
    assert set(wanted.files) == {"envs/gpu.yml", "more.txt", "some/other.txt"}


@pytest.mark.parametrize("line", ["-e .", ".", "./lib", "-e ./lib[extra]", "mine @ file:///home/me/mine"])
def test_the_projects_own_code_is_no_part_of_an_environment(line: str) -> None:
    with pytest.raises(PlanError, match=r"environment.yml:8: .* is the project's own code"):
        _read("environment.yml", environment_yml=f"{_YAML}  - pip:\n    - '{line}'\n")


def test_a_file_that_pip_would_miss_is_told_with_its_line() -> None:
    with pytest.raises(PlanError, match=r"environment.yml:8 reads gone.txt"):
        _read("environment.yml", environment_yml=f"{_YAML}  - pip:\n    - -r gone.txt\n")


@pytest.mark.parametrize(
    "address",
    [
        "https://conda.example.org/t/ab-1234567890-cdef/private",
        "https://me:hunter22@conda.example.org/private",
        "https://0123456789abcdef@conda.example.org/private",
    ],
)
def test_a_token_in_a_channel_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(PlanError, match=r"environment.yml:4 holds a token or password") as refused:
        _read("environment.yml", environment_yml=_YAML.replace("forge\n", f"forge\n  - {address}\n"))

    assert not any(secret in f"{refused.value}{refused.value.hint}" for secret in ("1234567890", "hunter22", "9abcdef"))


def test_a_token_of_pip_or_in_a_lock_is_refused_too() -> None:
    secret = "https://me:hunter22@wheels.example.org/all"
    with pytest.raises(PlanError, match=r"more.txt:1 holds a token"):
        _read("e.yml", e_yml=f"{_YAML}  - pip:\n    - -r more.txt\n", more_txt=f"-i {secret}\n")
    with pytest.raises(PlanError, match=r"explicit.txt:3 holds a token"):
        _read("e.txt", e_txt=_EXPLICIT.replace("/forge/", "/t/ab-1234567890/forge/"))


def test_no_refusal_repeats_a_password() -> None:
    address = "git+https://me:hunter22@example.org/net.git"
    with pytest.raises(PlanError) as refused:
        _read("e.yml", e_yml=f"{_YAML}  - pip:\n    - -e {address}\n")

    assert "hunter22" not in f"{refused.value} {refused.value.hint}"


def test_a_reference_to_a_token_is_none() -> None:
    text = _YAML.replace("forge\n", "forge\n  - https://conda.example.org/t/$TOKEN/private\n")

    assert _must_read("environment.yml", environment_yml=text).source is Source.YAML


def test_channels_in_folders_of_the_site_need_no_internet() -> None:
    block = _YAML.replace("conda-forge", "file:///shared/channel  # ours\n  - nodefaults")
    short = _YAML.replace("channels:\n  - conda-forge", 'channels: ["/shared/channel"]')

    assert not _must_read("e.yml", e_yml=block).needs_internet
    assert not _must_read("e.yml", e_yml=short).needs_internet
    assert _must_read("e.yml", e_yml=block + "  - pip:\n    - rich\n").needs_internet


def test_pixi_takes_its_lock_and_a_named_environment() -> None:
    manifest = _PIXI + "[feature.gpu.dependencies]\n[environments]\ngpu = ['gpu']\n"

    wanted = _must_read("pixi.toml:gpu", pixi_toml=manifest, pixi_lock="version: 6\n")

    assert (wanted.source, wanted.file, wanted.environment) == (Source.PIXI, "pixi.toml", "gpu")
    assert wanted.is_locked
    with pytest.raises(PlanError, match="no environment 'cpu'") as refused:
        _read("pixi.toml:cpu", pixi_toml=manifest)
    assert refused.value.hint == "it has default, gpu"


def test_pixi_lives_in_pyproject_too() -> None:
    project = '[project]\nname = "x"\n' + _PIXI.replace("[", "[tool.pixi.", 1).replace("[dep", "[tool.pixi.dep")

    assert _must_read("pixi.lock", pixi_lock="version: 6\n", pyproject_toml=project).file == "pyproject.toml"
    with pytest.raises(PlanError, match=r"no \[tool.pixi\]"):
        _read("pyproject.toml", pyproject_toml="[project]\n")
    own = '[tool.pixi.feature.x.pypi-dependencies]\nme = { path = ".", editable = true }\n'
    with pytest.raises(PlanError, match="project's own code"):
        _read("pyproject.toml", pyproject_toml=project + own)


@pytest.mark.parametrize(("name", "text"), [("e.lock", _EXPLICIT), ("lock.yml", _LOCK), ("pixi.toml", _PIXI)])
def test_a_lock_for_another_platform_is_refused(name: str, text: str) -> None:
    with pytest.raises(PlanError, match=r"is for linux-64, and the nodes are ppc64le \(linux-ppc64le\)"):
        _read(name, "ppc64le", **{name.replace(".", "_"): text})


@pytest.mark.parametrize("value", ["train", "/scratch/me/env", "$SCRATCH/env", "~/envs/x", "torch-2.1"])
def test_what_names_no_file_is_at_the_site(value: str) -> None:
    assert _read(value) is None


@pytest.mark.parametrize("value", ["gone.yml", "my env", "a;b", "../x.yml", "-n"])
def test_what_is_neither_is_refused(value: str) -> None:
    with pytest.raises(PlanError):
        _read(value)


def test_a_file_that_is_something_else_is_refused() -> None:
    with pytest.raises(PlanError, match=r"neither an environment.yml nor a lock"):
        _read("requirements.txt", requirements_txt="numpy\n")


@pytest.mark.parametrize(
    "text", ["[[[", "environments = 3\nworkspace = 3\n", "pypi-dependencies = 3\n[environments]\n"]
)
def test_a_manifest_with_odd_shapes_is_no_traceback(text: str) -> None:
    with pytest.raises(PlanError):
        _read("pixi.toml:gpu", pixi_toml=text)
