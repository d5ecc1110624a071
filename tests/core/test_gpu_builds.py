"""Which GPUs PyTorch's builds have kernels for: the table, and how it is asked."""

import pytest

from windlass.core.source.code import Code, Language, SourceFile
from windlass.core.source.gpu_builds import (
    PYPI,
    find_build,
    find_capability,
    find_first_working,
    find_last_working,
    find_oldest_driver,
    has_kernels,
    read_tag,
    tag_of,
)
from windlass.core.source.pins import find_pins, find_torch_module

K40, K80, P100, V100, T4, A100, A40, L40, H100, B200 = 35, 37, 60, 70, 75, 80, 86, 89, 90, 100


@pytest.mark.parametrize(
    ("release", "runs"),
    [
        ((1, 2), {K40, K80, P100, V100, T4}),
        ((1, 3, 1), {K80, P100, V100, T4}),
        ((1, 12, 1), {K80, P100, V100, T4}),
        ((1, 13, 1), {K80, P100, V100, T4, A100, A40, L40}),
        ((2, 1, 2), {P100, V100, T4, A100, A40, L40, H100}),
        ((2, 7, 1), {P100, V100, T4, A100, A40, L40, H100}),
        ((2, 10, 0), {V100, T4, A100, A40, L40, H100, B200}),
        ((2, 11, 0), {T4, A100, A40, L40, H100, B200}),
        ((2, 15, 0), {T4, A100, A40, L40, H100, B200}),
    ],
)
def test_what_pypis_wheels_run_on(release: tuple[int, ...], runs: set[int]) -> None:
    kinds = (K40, K80, P100, V100, T4, A100, A40, L40, H100, B200)

    assert {one for one in kinds if has_kernels(find_build(release), one)} == runs


@pytest.mark.parametrize(
    ("release", "cuda", "capability", "expected"),
    [
        ((2, 14, 0), "12.6", V100, True),
        ((2, 14, 0), "13.0", V100, False),
        ((2, 0, 1), "11.8", H100, True),
        ((2, 0, 1), None, H100, False),
        ((2, 7, 0), "12.8", V100, False),
        ((2, 7, 0), "12.8", B200, True),
        ((2, 7, 0), "11.8", K80, True),
        ((2, 3, 0), "11.8", V100, None),  # not established
        ((1, 3, 0), None, K40, None),  # was not read
        ((9, 9), None, V100, False),  # what was dropped does not come back
        ((9, 9), None, A100, None),
    ],
)
def test_other_builds_and_what_is_not_known(
    release: tuple[int, ...], cuda: str | None, capability: int, expected: bool | None
) -> None:
    assert has_kernels(find_build(release, cuda), capability) is expected


def test_the_last_that_works_on_old_gpus_and_the_first_on_new_ones() -> None:
    def last(capability: int) -> list[str | None]:
        return [one.name if one else None for one in find_last_working([capability])]

    assert last(V100) == ["2.10", "2.14+cu126"]
    assert last(P100) == ["2.7", "2.14+cu126"]
    assert last(K80) == ["2.0", "2.7+cu118"]
    assert last(K40) == ["1.2", None]
    assert find_first_working(H100) == find_build((2, 1))
    assert find_first_working(B200) == find_build((2, 8))


def test_what_is_advised_has_kernels_for_all_gpus_and_runs_on_the_driver() -> None:
    def last(*capabilities: int, driver: str | None = None, cuda: str | None = None) -> list[str | None]:
        return [one.name if one else None for one in find_last_working(capabilities, driver=driver, cuda=cuda)]

    assert last(P100, A100, driver="515.48.07") == ["2.0", "2.7+cu118"]
    assert last(P100, A100, cuda="11.7") == ["2.0", "2.7+cu118"]
    assert last(P100, B200) == [None, None]


@pytest.mark.parametrize(
    ("name", "written", "capability"),
    [
        ("a100", None, A100),
        ("NVIDIA_A100-SXM4-80GB", None, A100),
        ("a100_1g.5gb", None, A100),
        ("a100l", None, A100),
        ("v100", None, V100),
        ("v100l", None, V100),
        ("k40m", None, K40),
        ("gh200", None, H100),
        ("l40s", None, L40),
        ("l4", None, L40),
        ("a4000", None, A40),
        ("quadro_rtx_6000", None, T4),
        ("mine", "8.0", A100),
        ("mine", "sm_90", H100),
        ("mine", "10.0", B200),
        ("mi250", None, None),
        ("gpu", None, None),
        ("", None, None),
    ],
)
def test_capability_by_site_file_or_name(name: str, written: str | None, capability: int | None) -> None:
    assert find_capability(name, written) == capability


def test_drivers_and_tags() -> None:
    assert find_oldest_driver("11.8") == "450.80.02"
    assert find_oldest_driver("10.2") == "440.33"
    assert find_oldest_driver("99.1") is None
    assert find_oldest_driver("new") is None
    assert [read_tag(tag_of(cuda)) for cuda, _ in PYPI.values()] == [cuda for cuda, _ in PYPI.values()]


def pinned(path: str, text: str) -> list[tuple[tuple[int, ...] | None, tuple[int, ...] | None, str | None]]:
    code = Code(files=(SourceFile(path=path, text=text, language=Language.OTHER),))
    return [(pin.exact, pin.newest, pin.build) for pin in find_pins(code, ("torch", "pytorch"))]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("requirements.txt", "numpy\ntorch==2.1.2\n", [((2, 1, 2), None, None)]),
        ("requirements.txt", "torch == 2.1.2 ; python_version > '3.8'  # x", [((2, 1, 2), None, None)]),
        ("requirements.txt", "torch==2.1.2+cu118", [((2, 1, 2), None, "cu118")]),
        ("requirements.txt", "-f https://download.pytorch.org/whl/cu126\ntorch", [(None, None, "cu126")]),
        ("requirements.txt", "torch>=2.0,<2.5", [(None, (2, 5), None)]),
        ("requirements.txt", "torch~=2.1.0", [(None, (2, 2), None)]),
        ("requirements.txt", "torch~=2.1", [(None, (3,), None)]),
        ("requirements.txt", "torchvision==0.16\n# torch==1.0\ntorch-geometric==2.0", []),
        ("pyproject.toml", '[project]\ndependencies = ["torch>=2.0"]', [(None, None, None)]),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "^2.1"', [(None, (3,), None)]),
        ("pyproject.toml", "[project\nbroken", []),
        ("uv.lock", '[[package]]\nname = "torch"\nversion = "2.13.0"\n', [((2, 13, 0), None, None)]),
        ("environment.yml", "dependencies:\n  - pytorch=2.1\n  - pytorch-cuda=12.1\n", [((2, 1), None, "cu121")]),
        ("environment.yml", "dependencies:\n  - pip:\n    - torch==2.1.0\n", [((2, 1, 0), None, None)]),
        ("environment.yml", "dependencies:\n  - pytorch==2.1.0=py3.9_cuda\n", [((2, 1, 0), None, None)]),
        ("Pipfile", '[packages]\ntorch = "==2.1.2"\n', [((2, 1, 2), None, None)]),
    ],
)
def test_pins_are_read(path: str, text: str, expected: list[object]) -> None:
    assert pinned(path, text) == expected


def test_a_module_names_torch_and_cuda() -> None:
    assert find_torch_module(["gcc", "PyTorch/2.1.2-foss-2023a-CUDA-12.1.1"]) == (
        "PyTorch/2.1.2-foss-2023a-CUDA-12.1.1",
        (2, 1, 2),
        "12.1",
    )
    assert find_torch_module(["torchvision", "cuda/12.1"]) is None
