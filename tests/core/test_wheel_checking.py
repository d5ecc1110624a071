"""Which wheel of a house each requirement gets, what is missing, and what is told about it."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from windlass.core.wheels.checking import Entry, Report, State, check_house
from windlass.core.wheels.house import House, find_wheels, pick_wheel
from windlass.core.wheels.names import read_wheel_name, read_wheel_names, read_wheel_table
from windlass.core.wheels.platform import Platform, list_platforms, list_tags, make_markers, make_platform
from windlass.core.wheels.requirements import Requirements, read_requirements

P311 = Platform(python=(3, 11), machine="x86_64", glibc=(2, 28), python_full="3.11.4")


def make_house(*files: str, installed: Mapping[str, str] = {}) -> House:
    return House(folders=("/w",), wheels=read_wheel_names(files, "/w"), installed=installed)


def ask(text: str) -> Requirements:
    return read_requirements("requirements.txt", {"requirements.txt": text}.get)


def check(text: str, house: House, needs: Mapping[str, tuple[str, ...]] = {}, platform: Platform = P311) -> Report:
    """needs: by the names of files; the others need nothing."""
    metadata = {wheel.path: needs.get(wheel.file, ()) for wheel in house.wheels}
    return check_house(ask(text), house, platform, metadata)


def only(report: Report) -> Entry:
    (entry,) = report.entries
    return entry


def test_takes_the_newest_that_fits_the_python_and_the_processor() -> None:
    house = make_house(
        "torch-2.1.0-cp311-cp311-linux_x86_64.whl",
        "torch-2.3.0-cp312-cp312-linux_x86_64.whl",
        "torch-2.2.0-cp311-cp311-linux_aarch64.whl",
        "torch-2.0.1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
    )

    entry = only(check("torch", house))

    assert (entry.state, entry.version) == (State.TAKEN, "2.1.0")


def test_a_version_with_the_sites_own_mark_is_the_version_that_was_pinned() -> None:
    house = make_house("torch-2.1.2+computecanada-cp311-cp311-linux_x86_64.whl")

    assert only(check("torch==2.1.2", house)).wheel == "torch-2.1.2+computecanada-cp311-cp311-linux_x86_64.whl"


@pytest.mark.parametrize(
    ("wheel", "state", "fix"),
    [
        ("numpy-1.24.2-cp311-cp311-linux_x86_64.whl", State.OTHER_VERSION, "numpy==1.24.2 in requirements.txt:1"),
        ("numpy-1.26.4-cp310-cp310-linux_x86_64.whl", State.OTHER_PYTHON, 'python = "3.10"'),
        ("numpy-1.26.4-cp311-cp311-linux_ppc64le.whl", State.OTHER_PLATFORM, 'wheels = "laptop"'),
        ("numpy-1.26.4-cp311-cp311-manylinux_2_34_x86_64.whl", State.OTHER_PLATFORM, 'wheels = "laptop"'),
        ("scipy-1.0-py3-none-any.whl", State.MISSING, 'wheels = "laptop"'),
    ],
)
def test_says_why_it_cannot_be_had_and_what_to_write(wheel: str, state: State, fix: str) -> None:
    entry = only(check("numpy==1.26.4", make_house(wheel)))

    assert entry.state is state
    assert not entry.is_well
    assert fix in (entry.fix or "")


def test_dependencies_are_followed_by_the_markers_and_extras_of_the_site() -> None:
    house = make_house("a-1.0-py3-none-any.whl", "b-2.0-py3-none-any.whl", "d-1.0-py3-none-any.whl")
    needs = {
        "a-1.0-py3-none-any.whl": (
            "b>=1",
            "c; platform_system == 'Darwin'",
            "d; extra == 'gpu'",
            "e; python_version < '3.8'",
            "f; extra == 'other'",
        )
    }

    report = check("a[gpu]", house, needs)

    assert [(one.name, one.state, one.by) for one in report.entries] == [
        ("a", State.TAKEN, ("requirements.txt:1",)),
        ("b", State.TAKEN, ("a 1.0",)),
        ("d", State.TAKEN, ("a 1.0",)),
    ]


def test_an_older_version_is_taken_where_the_newest_needs_what_is_not_there() -> None:
    house = make_house("a-2.0-py3-none-any.whl", "a-1.0-py3-none-any.whl", "b-1.0-py3-none-any.whl")
    needs = {"a-2.0-py3-none-any.whl": ("b>=2",), "a-1.0-py3-none-any.whl": ("b",)}

    report = check("a", house, needs)

    assert {one.name: one.version for one in report.entries} == {"a": "1.0", "b": "1.0"}


def test_where_no_version_helps_the_newest_one_is_complained_of() -> None:
    house = make_house("a-2.0-py3-none-any.whl", "a-1.0-py3-none-any.whl")
    needs = {"a-2.0-py3-none-any.whl": ("b>=2",), "a-1.0-py3-none-any.whl": ("b>=1",)}

    (missing,) = check("a", house, needs).missing

    assert (missing.name, missing.wanted, missing.by, missing.is_dependency) == ("b", ("b>=2",), ("a 2.0",), True)


def test_two_who_ask_for_what_excludes_each_other_are_both_named() -> None:
    house = make_house("a-1.0-py3-none-any.whl", "b-1.0-py3-none-any.whl", "b-2.0-py3-none-any.whl")

    (missing,) = check("a\nb==1.0", house, {"a-1.0-py3-none-any.whl": ("b>=2",)}).missing

    assert missing.state is State.CONFLICT
    assert "b==1.0 by requirements.txt:2" in (missing.fix or "")
    assert "b>=2 by a 1.0" in (missing.fix or "")


def test_what_a_module_brings_needs_no_wheel() -> None:
    report = check("numpy>=1.20\nscipy>=2", make_house(installed={"numpy": "1.26.4", "scipy": "1.11"}))

    assert [(one.name, one.state) for one in report.entries] == [
        ("numpy", State.INSTALLED),
        ("scipy", State.MISSING),
    ]


def test_a_constraint_holds_for_what_is_needed_and_asks_for_nothing() -> None:
    house = make_house("a-1.0-py3-none-any.whl", "b-1.0-py3-none-any.whl", "b-2.0-py3-none-any.whl")
    files = {"requirements.txt": "a\n-c bounds.txt", "bounds.txt": "b<2\nz==1"}
    wanted = read_requirements("requirements.txt", files.get)
    needs = {wheel.path: ("b",) if wheel.name == "a" else () for wheel in house.wheels}

    report = check_house(wanted, house, P311, needs)

    assert {one.name: one.version for one in report.entries} == {"a": "1.0", "b": "1.0"}


def test_wheels_that_were_not_looked_into_are_told() -> None:
    report = check_house(ask("a"), make_house("a-1.0-py3-none-any.whl"), P311, {})

    assert report.unread == ("/w/a-1.0-py3-none-any.whl",)


def test_a_release_is_preferred_to_what_comes_before_one() -> None:
    wheels = read_wheel_names(["a-1.0-py3-none-any.whl", "a-2.0rc1-py3-none-any.whl"])

    final, early = (pick_wheel(wheels, [SpecifierSet(text)], P311) for text in ("", ">=2.0rc1"))

    assert final is not None
    assert early is not None
    assert (str(final.version), str(early.version)) == ("1.0", "2.0rc1")


def test_finds_by_pattern_version_and_python_as_avail_wheels_does() -> None:
    house = make_house(
        "netCDF4-1.6.4-cp311-cp311-linux_x86_64.whl",
        "netCDF4-1.5.8-cp311-cp311-linux_x86_64.whl",
        "numpy-1.22.2-cp39-cp39-linux_x86_64.whl",
        "numpy-1.23.0-cp39-cp39-linux_x86_64.whl",
    )
    p39 = make_platform("3.9", "x86_64", "2.17")

    cdf = find_wheels(house, ["*cdf*"], P311, all_versions=True)
    newest = find_wheels(house, ["netcdf4"], P311)
    numpy = find_wheels(house, ["numpy<1.23"], p39)

    assert [str(one.version) for one in cdf] == ["1.6.4", "1.5.8"]
    assert [str(one.version) for one in newest] == ["1.6.4"]
    assert [str(one.version) for one in numpy] == ["1.22.2"]


def test_the_table_of_avail_wheels_is_read() -> None:
    text = (
        "name    version    python    arch\n------  ---------  --------  -------\n"
        "numpy   1.26.4     cp311     generic\nmxnet   1.9.1      cp310     avx2\n"
    )

    numpy, mxnet = read_wheel_table(text)

    assert (numpy.name, str(numpy.version), numpy.find_place(P311) is not None) == ("numpy", "1.26.4", True)
    assert mxnet.find_place(P311) is None


@pytest.mark.parametrize(
    ("machine", "glibc", "tag", "fits"),
    [
        ("x86_64", "2.17", "manylinux2014_x86_64", True),
        ("x86_64", "2.17", "manylinux_2_28_x86_64", False),
        ("x86_64", "2.17", "manylinux1_x86_64", True),
        ("ppc64le", "2.28", "manylinux_2_28_ppc64le", True),
        ("ppc64le", "2.28", "manylinux2014_x86_64", False),
        ("aarch64", "2.34", "manylinux_2_17_aarch64", True),
        ("aarch64", "2.34", "linux_aarch64", True),
        ("x86_64", None, "manylinux2014_x86_64", False),
    ],
)
def test_platforms_of_wheels(machine: str, glibc: str | None, tag: str, fits: bool) -> None:
    assert (tag in list_platforms(make_platform("3.11", machine, glibc))) is fits


def test_tags_and_markers_are_the_sites_and_not_the_laptops() -> None:
    old = make_platform("3.7.9", "ppc64le", "2.17")

    assert "cp37-cp37m-linux_ppc64le" in list_tags(old)
    assert "cp36-abi3-manylinux2014_ppc64le" in list_tags(old)
    assert make_markers(old)["python_full_version"] == "3.7.9"
    assert make_markers(old)["platform_machine"] == "ppc64le"


_VERSIONS = st.from_regex(r"[0-9]{1,2}(\.[0-9]{1,2}){0,2}(rc1)?(\+cc)?", fullmatch=True)


@given(st.lists(_VERSIONS, min_size=1, max_size=8, unique=True), _VERSIONS)
def test_what_is_taken_is_the_greatest_of_what_is_allowed(versions: list[str], bound: str) -> None:
    wheels = read_wheel_names(f"a-{one}-py3-none-any.whl" for one in versions)
    asked = SpecifierSet(f"<={Version(bound).base_version}")

    taken = pick_wheel(wheels, [asked], P311)

    allowed = [one.version for one in wheels if asked.contains(one.version, prereleases=True)]
    final = [one for one in allowed if not one.is_prerelease]
    assert (taken and taken.version) == max(final or allowed, default=None)


@given(st.text(alphabet="abc-_.+0123456789whlpycn ", max_size=40))
def test_any_name_is_a_wheel_or_none(text: str) -> None:
    for name in (text, f"{text}.whl"):
        wheel = read_wheel_name(name)
        assert wheel is None or wheel.file == name
