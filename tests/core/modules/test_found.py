"""Which modules are meant, in which order, and the whole line that loads one."""

import pytest

from tests.core.modules.test_answers import LMOD, load
from windlass.core.modules.answers import Details, read_names, read_spider
from windlass.core.modules.found import (
    complete,
    list_similar,
    make_found,
    pick_names,
    sort_newest_first,
    tell_gpu,
)

NAMES = read_names(load("lmod-8.6.19-names")["names"])
STAGE = ("Stages/2024",)


def test_the_newest_comes_first() -> None:
    assert sort_newest_first(("t/2.9", "t/2.10", "t/2.9-rc1", "t/2.2.1")) == ("t/2.10", "t/2.9", "t/2.9-rc1", "t/2.2.1")


def test_all_of_that_name_whatever_the_case() -> None:
    assert pick_names(NAMES, "pytorch") == (
        "pytorch/2.3",
        "PyTorch/2.1.0-CUDA-12",
        "PyTorch/1.12.0-CUDA-11.7",
        "PyTorch/1.8.1-Python-3.8.5",
    )
    assert pick_names(("bio/GROMACS/2021",), "gromacs") == ("bio/GROMACS/2021",)


@pytest.mark.parametrize(
    ("name", "version", "found"),
    [
        ("PyTorch", "1.12", ("PyTorch/1.12.0-CUDA-11.7",)),
        ("PyTorch/2.1.0-CUDA-12", None, ("PyTorch/2.1.0-CUDA-12",)),
        ("PyTorch", "1.1", ()),  # not 1.12
        ("Lightning", None, ("PyTorch-Lightning/1.9",)),
        ("nosuch", None, ()),
    ],
)
def test_names_and_versions(name: str, version: str | None, found: tuple[str, ...]) -> None:
    assert pick_names(NAMES, name, version) == found


def test_similar_names() -> None:
    assert list_similar(NAMES, "PyTorch", but=("PyTorch/1",)) == ("pytorch", "PyTorch-Lightning", "torch")
    assert "numpy" in list_similar(NAMES, "nunpy")
    assert list_similar(NAMES, "zzzz") == ()


def test_the_whole_line_with_what_the_site_always_loads() -> None:
    (found,) = make_found("PyTorch/2.1.0-CUDA-12", read_spider(LMOD["module PyTorch/2.1.0-CUDA-12"]), STAGE)

    assert found.load_line == "module load Stages/2024 GCC/12.3.0 OpenMPI/4.1.5 PyTorch/2.1.0-CUDA-12"
    assert found.toml_line == 'modules = ["Stages/2024", "GCC/12.3.0", "OpenMPI/4.1.5", "PyTorch/2.1.0-CUDA-12"]'
    assert found.gpu == "CUDA 12"


def test_what_a_login_shell_has_loaded_already_is_added() -> None:
    (found,) = make_found("OpenMPI/4.1.5", Details(ways=(("GCC/12.3.0",),)), STAGE)

    assert found.load == ("Stages/2024", "GCC/12.3.0", "OpenMPI/4.1.5")


def test_another_stage_takes_the_place_of_the_usual_one() -> None:
    (found,) = make_found("PyTorch/1.12.0-CUDA-11.7", read_spider(LMOD["module PyTorch/1.12.0-CUDA-11.7"]), STAGE)

    assert found.load == ("Stages/2023", "GCC/11.3.0", "OpenMPI/4.1.4", "PyTorch/1.12.0-CUDA-11.7")


def test_of_several_ways_that_of_the_site_then_the_shortest_then_the_newest() -> None:
    ways = (
        ("Stages/2023", "GCC/11"),
        ("Stages/2024", "Intel/2023"),
        ("Stages/2024", "GCC/11"),
        ("Stages/2024", "GCC/12"),
    )

    (found,) = make_found("x/1", Details(ways=ways), STAGE)

    assert found.load == ("Stages/2024", "GCC/12", "x/1")
    assert found.others[0] == ("Stages/2024", "GCC/11", "x/1")
    assert found.others[-1] == ("Stages/2023", "GCC/11", "x/1")


def test_an_extension_is_found_in_its_module() -> None:
    (found,) = make_found("numpy/1.25.1", read_spider(LMOD["module numpy/1.25.1"]), STAGE)

    assert (found.name, found.inside) == ("SciPy-bundle/2023.07", "numpy/1.25.1")
    assert found.load_line == "module load Stages/2024 GCC/12.3.0 SciPy-bundle/2023.07"


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("PyTorch/2.1.2-foss-2023a-CUDA-12.1.1",), "CUDA 12.1.1"),
        (("PyTorch/1.8.0-CrayGNU-20.11-cuda",), "CUDA"),
        (("torch/2.4.0+cu121",), "CUDA 12.1"),
        (("GCC/12", "CUDA/12.2", "PyTorch/2.1"), "CUDA 12.2"),
        (("cudatoolkit/11.0",), "CUDA 11.0"),
        (("PyTorch/2.2-rocm5.7",), "ROCm 5.7"),
        (("TensorFlow/2.15-CPU",), "no GPU"),
        (("jax/0.4-gpu",), "GPU"),
        (("gcc/12.3", "python/3.11"), None),
        (("barracuda/1.0",), None),
    ],
)
def test_what_names_tell_about_gpus(names: tuple[str, ...], told: str | None) -> None:
    assert tell_gpu(names) == told


def test_nothing_is_loaded_twice() -> None:
    assert complete(("Stages/2024", "GCC"), ("Stages/2024", "proxy")) == ("proxy", "Stages/2024", "GCC")
