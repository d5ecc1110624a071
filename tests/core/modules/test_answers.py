"""Texts recorded from Lmod 8.6.19 (the test cluster's tree) and Environment Modules 5.2.0, read into values."""

from pathlib import Path

from windlass.core.modules.answers import Details, Mention, read_keyword, read_names, read_spider, read_whatis
from windlass.core.modules.asking import make_details_script, read_system, split_answers
from windlass.core.modules.trial import ModulesSeen, read_trial


def load(name: str) -> dict[str, str]:
    return split_answers((Path(__file__).parent / "answers" / f"{name}.txt").read_text())


LMOD = load("lmod-8.6.19-details")
TCL = load("tcl-5.2.0-details")


def test_the_system_tells_its_name_and_banners_are_passed_over() -> None:
    assert read_system(LMOD) == "lmod 8.6.19"
    assert read_system(TCL) == "tcl"
    assert read_system(split_answers("Welcome\n")) is None


def test_names_of_the_whole_hierarchy() -> None:
    names = read_names(load("lmod-8.6.19-names")["names"])

    assert len(names) == 23
    assert {"gcc/12.3", "openmpi/4.1.5", "PyTorch/2.1.0-CUDA-12", "numpy/1.25.1"} <= set(names)
    assert "PyTorch/" not in names


def test_names_in_sight_of_tcl_without_marks_and_folders() -> None:
    names = read_names(load("tcl-5.2.0-names")["names"])

    assert names == (
        "PyTorch/1.7.0-CrayGNU-20.11-cuda",
        "PyTorch/1.8.0-CrayGNU-20.11-cuda",
        "cray-python/3.9.4.1",
        "cudatoolkit/11.0",
        "daint-gpu/19.10",
        "gcc/12.3",
        "gcc/13.3",
    )


def test_what_must_be_loaded_before() -> None:
    found = read_spider(LMOD["module PyTorch/2.1.0-CUDA-12"])

    assert found == Details(
        about="Tensors and networks on GPUs", ways=(("Stages/2024", "GCC/12.3.0", "OpenMPI/4.1.5"),)
    )
    assert read_spider(LMOD["module openmpi/4.1.5"]).ways == (("gcc/12.3",),)


def test_what_can_be_loaded_directly() -> None:
    assert read_spider(LMOD["module pytorch/2.3"]).ways == ((),)


def test_several_ways_and_a_sentence_that_was_broken() -> None:
    text = (
        '    You will need to load all module(s) on any one of the lines below before the\n"x/1" module is available to'
        " load.\n\n      gcc/12\n      intel/2023  mkl\n \n    Help:\n      see the page\n"
    )

    assert read_spider(text).ways == (("gcc/12",), ("intel/2023", "mkl"))


def test_an_extension_names_the_modules_that_have_it() -> None:
    assert read_spider(LMOD["module numpy/1.25.1"]).providers == (
        ("Stages/2024", "GCC/12.3.0", "SciPy-bundle/2023.07"),
    )


def test_nothing_is_made_of_an_error() -> None:
    assert read_spider(LMOD["module nosuch/1.0"]) == Details()
    assert read_keyword(LMOD["module nosuch/1.0"]) == ()


def test_modules_that_speak_of_a_word() -> None:
    assert read_keyword(LMOD["about"]) == (
        Mention(names=("SciPy-bundle/2023.07",), about="numpy, scipy and pandas for Python"),
    )
    assert read_whatis(TCL["about"]) == (
        Mention(names=("cray-python/3.9.4.1",), about="Python with numpy, scipy and mpi4py"),
    )


def test_a_trial_that_went_well_tells_what_came_along_and_the_python() -> None:
    assert read_trial(load("lmod-8.6.19-trial")) == ModulesSeen(
        loaded=("Stages/2024", "GCC/12.3.0", "OpenMPI/4.1.5"), python="3.11.2"
    )
    assert read_trial(load("tcl-5.2.0-trial")) == ModulesSeen(
        loaded=("daint-gpu/19.10", "gcc/12.3", "PyTorch/1.8.0-CrayGNU-20.11-cuda"), python="3.11.2"
    )


def test_a_trial_ends_at_the_first_that_fails() -> None:
    lmod = read_trial(load("lmod-8.6.19-unknown"))
    tcl = read_trial(load("tcl-5.2.0-unknown"))

    assert lmod == ModulesSeen(
        failed="nosuch/1.0", said='The following module(s) are unknown: "nosuch/1.0"', is_absent=True
    )
    assert tcl == ModulesSeen(failed="nosuch", said="ERROR: Unable to locate a modulefile for 'nosuch'", is_absent=True)


def test_a_failure_of_old_tcl_that_it_calls_none() -> None:
    seen = read_trial({"tcl": "", "load x": "ERROR:105: Unable to locate a modulefile for 'x'", "loaded": "gcc/12"})

    assert seen is not None
    assert (seen.failed, seen.is_absent) == ("x", True)


def test_one_that_refuses_the_login_node_is_not_absent() -> None:
    seen = read_trial(load("lmod-8.6.19-refusing"))

    assert seen == ModulesSeen(failed="gpu-only", said="this module is for compute nodes")


def test_a_trial_that_was_cut_is_unknown() -> None:
    assert read_trial({"lmod 8.6.19": "", "load gcc": ""}) is None


def test_words_are_quoted_for_the_shell() -> None:
    assert "module keyword 'a b; $(x)'" in make_details_script((), "a b; $(x)", (), purge=False)
