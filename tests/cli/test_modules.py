"""`windlass modules` and what `explain` tells about modules, in words."""

import pytest

from windlass.app.environments.modules import ModuleSearch, ModulesThere
from windlass.cli.commands.modules import show_list, show_search
from windlass.cli.output import Output
from windlass.core.modules.found import FoundModule

FOUND = FoundModule(
    name="SciPy-bundle/2023.07",
    load=("Stages/2024", "GCC/12.3.0", "SciPy-bundle/2023.07"),
    others=(("Stages/2024", "Intel/2023.2.1", "SciPy-bundle/2023.07"),),
    gpu="CUDA 12",
    about="numpy for Python",
    inside="numpy/1.25.1",
)


def test_a_search_gives_lines_to_paste(capsys: pytest.CaptureFixture[str]) -> None:
    mentions = {f"m/{number}": "" for number in range(10)}
    search = ModuleSearch(
        site="alpha", system="lmod 8.6.19", found=(FOUND,), more=("a/1",), similar=("numba",), mentions=mentions
    )

    show_search(Output(), search)

    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        "SciPy-bundle/2023.07  CUDA 12  has numpy/1.25.1  numpy for Python",
        "  module load Stages/2024 GCC/12.3.0 SciPy-bundle/2023.07",
        '  modules = ["Stages/2024", "GCC/12.3.0", "SciPy-bundle/2023.07"]',
        "  or: module load Stages/2024 Intel/2023.2.1 SciPy-bundle/2023.07",
    ]
    assert "m/7, and 2 more" in shown.err
    assert "older ones: a/1" in shown.err


def test_a_list_has_a_row_for_each_name(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("gcc/9", *(f"torch/2.{minor}" for minor in range(12)), "bare")

    show_list(Output(), ModulesThere(site="alpha", system="tcl", names=names))

    shown = capsys.readouterr()
    assert "torch   2.11, 2.10, 2.9, 2.8, 2.7, 2.6, and 6 older" in shown.out
    assert "14 modules (tcl), what is in sight at first" in shown.err
