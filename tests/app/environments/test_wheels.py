"""A wheelhouse, an index and pip, all real: what is checked, downloaded for a site and sent there."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import ATTEMPT, SPEC
from tests.conftest import Places
from tests.environments.houses import make_wheel, serve_index
from windlass.app.environments.locking import lock_resolved
from windlass.app.environments.seen import look_at_environment
from windlass.app.environments.wheels import check_wheels, choose_wheels, find_in_house
from windlass.app.environments.wheels_sent import bring_wheels, download_wheels, send_wheels
from windlass.app.session import Session
from windlass.core.environment import Recipe
from windlass.core.facts import NOTHING_SEEN
from windlass.core.planning import make_plan
from windlass.core.run import Environment, Wheels
from windlass.core.site import Site
from windlass.core.wheels.checking import State
from windlass.core.wheels.platform import Platform, make_platform
from windlass.core.wheels.requirements import Requirements, read_requirements
from windlass.edges.folders import find_folders
from windlass.edges.local_host import LocalHost
from windlass.edges.site_files import add_site
from windlass.errors import EnvironmentFailed, RequirementsInvalid, SiteNotReady, WheelsMissing
from windlass.launchers import LAUNCHERS

PYTHON = f"cp{sys.version_info[0]}{sys.version_info[1]}"
OF_THIS = f"{PYTHON}-{PYTHON}-linux_{os.uname().machine}"
OF_POWER = make_platform("3.9.1", "ppc64le", "2.17")


@pytest.fixture
def session(places: Places, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """With a site `house` on this machine; pip knows of no index but those that a test names."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    house = places.home / "wheelhouse"
    text = f'root = "{places.home}/root"\n[software]\nslurm_path = "@pocket"\nwheelhouse = "{house}"\n'
    add_site("house", text, find_folders(os.environ))
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        yield opened


@pytest.fixture
def site(session: Session) -> Site:
    return session.site("house")


@pytest.fixture
def house(places: Places) -> Path:
    """Sub-folders as the Alliance has them."""
    folder = places.home / "wheelhouse"
    make_wheel(folder / "generic", "tree", "0.2.1")
    make_wheel(folder / "gentoo" / "avx2", "net", "2.1.2+cc", tag=OF_THIS, needs=("tree>=0.2", "gone; extra=='x'"))
    make_wheel(folder / "gentoo" / "avx2", "net", "2.0.0", tag="cp36-cp36m-linux_x86_64")
    make_wheel(folder / "gentoo" / "generic", "other-cdf", "1.0", tag="cp36-cp36m-linux_x86_64")
    (folder / "gentoo" / "generic" / "notes.txt").write_text("no wheel")
    return folder


def check(session: Session, site: Site, project: Path, text: str) -> dict[str, tuple[State, str | None]]:
    (project / "requirements.txt").write_text(text)
    checked = check_wheels(session, site, Environment(venv="requirements.txt"), project)
    return {one.name: (one.state, one.version) for one in checked.report.entries}


def test_says_of_every_package_and_its_needs_what_the_house_has(
    session: Session, site: Site, house: Path, tmp_path: Path
) -> None:
    found = check(session, site, tmp_path, "net==2.1.2\nother-cdf\nnothing\n")

    assert found == {
        "net": (State.TAKEN, "2.1.2+cc"),
        "tree": (State.TAKEN, "0.2.1"),
        "other-cdf": (State.OTHER_PYTHON, None),
        "nothing": (State.MISSING, None),
    }


def test_one_round_trip_for_the_names_and_one_for_each_level_of_needs(
    session: Session, site: Site, house: Path, tmp_path: Path
) -> None:
    host = session.host(site)
    before = host.round_trips

    check(session, site, tmp_path, "net")

    assert host.round_trips - before == 3  # names; what net needs; what tree needs


def test_only_the_folders_count_that_the_sites_own_pip_names(
    session: Session, site: Site, house: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "pip.conf"
    settings.write_text(f"[install]\nfind-links = {house}/generic {house}/gentoo/generic\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))

    assert check(session, site, tmp_path, "net\ntree") == {"net": (State.MISSING, None), "tree": (State.TAKEN, "0.2.1")}


def test_a_wheel_that_cannot_be_read_does_not_hide_the_others(
    session: Session, site: Site, house: Path, tmp_path: Path
) -> None:
    (house / "generic" / "bad-1.0-py3-none-any.whl").write_bytes(b"no zip")

    assert check(session, site, tmp_path, "bad\ntree")["tree"] == (State.TAKEN, "0.2.1")


def test_a_house_that_is_not_there_is_told(session: Session, site: Site, tmp_path: Path) -> None:
    with pytest.raises(SiteNotReady, match="wheelhouse of house cannot be listed"):
        check(session, site, tmp_path, "net")


def test_a_search_as_avail_wheels_has_it(session: Session, site: Site, house: Path) -> None:
    _, found = find_in_house(session, site, Environment(), ["*cdf*", "net"], all_versions=True, any_python=True)
    _, fitting = find_in_house(session, site, Environment(), ["net<3"], all_versions=False, any_python=False)

    assert [(one.name, str(one.version)) for one in found] == [
        ("other-cdf", "1.0"),
        ("net", "2.1.2+cc"),
        ("net", "2.0.0"),
    ]
    assert [str(one.version) for one in fitting] == ["2.1.2+cc"]


def test_a_site_with_a_command_only_is_asked_by_it(session: Session, places: Places, tmp_path: Path) -> None:
    command = tmp_path / "avail_wheels"
    table = "name version python arch\n---- ---- ---- ----\ntree 0.2.1 py3 generic\n"
    command.write_text(f"#!/bin/sh\nprintf '{table}'\n")
    command.chmod(0o755)
    text = f'root = "{places.home}/root"\n[software]\nslurm_path = "@pocket"\nwheel_command = "{command}"\n'
    add_site("asked", text, session.folders)

    found = check(session, session.site("asked"), tmp_path, "tree\nnet")

    assert found == {"tree": (State.TAKEN, "0.2.1"), "net": (State.MISSING, None)}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """What it has for another machine depends on markers that do not hold on this one."""
    top = tmp_path / "index"
    for name, version, tag, needs in (
        ("net", "2.1", "cp39-cp39-manylinux2014_ppc64le", ("power; platform_machine == 'ppc64le'", "late>=1")),
        ("net", "2.1", OF_THIS, ("never",)),
        ("net", "3.0", "cp39-cp39-manylinux_2_28_ppc64le", ()),
        ("power", "1.0", "py3-none-any", ()),
        ("late", "1.5", "py3-none-any", ("old; python_version < '3.10'", "new; python_version >= '3.10'")),
        ("old", "1.0", "py3-none-any", ()),
    ):
        make_wheel(top / name, name, version, tag=tag, needs=needs)
    (top / "source").mkdir()
    (top / "source" / "source-1.0.tar.gz").write_bytes(b"sources")
    with serve_index(top) as address:
        yield address


def ask(index: str, text: str) -> Requirements:
    lines = f"-i {index}\n{text}"
    return read_requirements("requirements.txt", {"requirements.txt": lines}.get)


def test_downloads_for_the_sites_python_processor_and_markers(session: Session, index: str) -> None:
    wheels = download_wheels(session, ask(index, "net"), OF_POWER)

    assert [one.name for one in wheels] == [
        "late-1.5-py3-none-any.whl",
        "net-2.1-cp39-cp39-manylinux2014_ppc64le.whl",
        "old-1.0-py3-none-any.whl",
        "power-1.0-py3-none-any.whl",
    ]


def test_what_was_downloaded_is_kept_and_a_damaged_cache_is_filled_again(session: Session, index: str) -> None:
    wanted = ask(index, "power")
    told: list[str] = []
    session.tell = told.append

    first = download_wheels(session, wanted, OF_POWER)
    second = download_wheels(session, wanted, OF_POWER)
    shutil.rmtree(session.folders.cache / "wheels" / "files")
    third = download_wheels(session, wanted, OF_POWER)

    assert first == second == third
    assert "downloaded before" in " ".join(told)
    assert sum(line.startswith("downloading wheels") for line in told) == 2


def test_a_package_without_a_wheel_is_refused_in_words(session: Session, index: str) -> None:
    with pytest.raises(WheelsMissing, match=r"no wheel of source for Python 3\.9 on ppc64le") as caught:
        download_wheels(session, ask(index, "source"), OF_POWER)

    assert caught.value.hint


def test_a_password_of_an_index_is_in_no_word_and_no_file(session: Session, index: str) -> None:
    told: list[str] = []
    session.tell = told.append
    wanted = ask(index.replace("http://", "http://me:s3cretword@"), "power\nmissing")

    with pytest.raises(WheelsMissing) as caught:
        download_wheels(session, wanted, OF_POWER)

    assert "s3cretword" not in f"{caught.value!r} {caught.value.said} {caught.value.details} {told}"
    kept = [path for path in session.folders.cache.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()]
    assert kept == []


def bring(session: Session, site: Site, index: str, text: str) -> tuple[Path, int]:
    wanted = ask(index, text)
    recipe = Recipe(kind="venv", files={"requirements.txt": text}, read_private=lambda: wanted)
    brought = bring_wheels(session, site, recipe)
    return Path(brought.folder), brought.sent


def test_what_is_sent_is_installed_there_without_any_index(
    session: Session, site: Site, index: str, places: Places, tmp_path: Path
) -> None:
    folder, sent = bring(session, site, index, "power\nlate; python_version < '3'")
    _, again = bring(session, site, index, "power\nlate; python_version < '3'")

    words = ["--no-index", "--find-links", str(folder), "--target", str(tmp_path / "there"), "power"]
    done = subprocess.run([sys.executable, "-m", "pip", "install", *words], capture_output=True, text=True, check=False)

    assert folder == places.home / "root" / "wheels" / folder.name
    assert sent > 0
    assert again == 0
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "there" / "power.py").is_file()


def test_another_environment_takes_over_what_is_there(session: Session, site: Site, index: str) -> None:
    first, _ = bring(session, site, index, "power")
    second, sent = bring(session, site, index, "power\nold")

    shared = [folder / "power-1.0-py3-none-any.whl" for folder in (first, second)]
    assert sent == (second / "old-1.0-py3-none-any.whl").stat().st_size
    assert shared[0].stat().st_ino == shared[1].stat().st_ino


def test_a_large_wheel_goes_on_where_it_was_cut(session: Session, site: Site, tmp_path: Path, places: Places) -> None:
    """Three pieces, the first of which arrived before the cable was pulled; then one is damaged there."""
    big = make_wheel(tmp_path / "files" / "big", "big", body="#" * 20_000_000)
    with serve_index(tmp_path / "files") as address:
        wheels = download_wheels(session, ask(address, "big"), OF_POWER)
    seen: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        seen.append((done, total))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        send_wheels(session, site, "venv-big", wheels, progress=stop)
    brought = send_wheels(session, site, "venv-big", wheels, progress=lambda done, total: seen.append((done, total)))

    size = big.stat().st_size
    assert seen[0] == (8_000_000, size)
    assert seen[-1] == (size - 8_000_000, size - 8_000_000)
    assert (Path(brought.folder) / big.name).read_bytes() == big.read_bytes()
    assert [path for path in (places.home / "root" / "blobs").rglob("*") if path.is_file()] == []


def test_an_index_that_is_not_reached_is_told(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_RETRIES", "1")
    wanted = read_requirements("requirements.txt", {"requirements.txt": "-i http://127.0.0.1:9/\npower"}.get)

    with pytest.raises(EnvironmentFailed, match="does not reach the index") as caught:
        download_wheels(session, wanted, OF_POWER)

    assert "nothing was sent" in str(caught.value.done)


def test_a_lock_pins_versions_and_sums_for_the_site(session: Session, site: Site, index: str, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(f"-i {index}\npower>=1\nold")

    locked = lock_resolved(session, site, Environment(venv="requirements.txt"), tmp_path, tmp_path / "my.lock")

    again = read_requirements("my.lock", {"my.lock": locked.path.read_text()}.get)
    assert [(str(one), len(one.hashes)) for one in again.lines] == [("old==1.0", 1), ("power==1.0", 1)]
    assert f"Python {sys.version_info[0]}.{sys.version_info[1]}" in locked.path.read_text().splitlines()[0]


def test_where_packages_come_from_is_chosen_with_a_reason(session: Session, site: Site, index: str) -> None:
    bare = Site(name="bare", root=site.root, software=type(site.software)())

    asked = choose_wheels(session, site, Environment(wheels=Wheels.PYPI))
    house = choose_wheels(session, site, Environment())
    near = choose_wheels(session, bare, Environment(), index=index)
    before = session.host(bare).round_trips
    far = choose_wheels(session, bare, Environment(), index="http://127.0.0.1:9/")
    once = choose_wheels(session, bare, Environment(), index="http://127.0.0.1:9/")

    assert [one.wheels for one in (asked, house, near, far)] == [
        Wheels.PYPI,
        Wheels.WHEELHOUSE,
        Wheels.PYPI,
        Wheels.LAPTOP,
    ]
    assert "did not reach" in far.reason
    assert once == far
    assert session.host(bare).round_trips - before == 1


def test_the_plan_says_where_packages_will_come_from_and_why(
    session: Session, site: Site, house: Path, tmp_path: Path
) -> None:
    (tmp_path / "requirements.txt").write_text("net")
    spec = replace(SPEC, environment=Environment(venv="requirements.txt"))

    seen = look_at_environment(session, site, spec.environment, tmp_path, NOTHING_SEEN, ask=True)
    plan = make_plan(spec, site, NOTHING_SEEN, ATTEMPT, launchers=LAUNCHERS, environment=seen)

    (why,) = [one.why for one in plan.reasons if (one.field, one.value) == ("wheels", "wheelhouse")]
    assert why == f"house has wheels of its own: {house}"


def test_a_list_with_a_project_of_the_laptops_is_refused_before_the_site_is_asked(
    session: Session, site: Site, tmp_path: Path
) -> None:
    with pytest.raises(RequirementsInvalid, match=r"requirements\.txt:1"):
        check(session, site, tmp_path, "-e .\n")

    assert isinstance(session.host(site), LocalHost)
    assert session.host(site).round_trips == 0


def run_cli(arguments: list[str], project: Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "windlass", "wheels", *arguments, "--on", "house"]
    return subprocess.run(argv, cwd=project, capture_output=True, text=True, check=False)


def test_the_command_says_what_is_missing_and_exits_with_1(
    session: Session, site: Site, house: Path, tmp_path: Path
) -> None:
    (tmp_path / "requirements.txt").write_text("net==2.1.9\ntree\n")

    words = run_cli(["check", "requirements.txt", "--missing"], tmp_path)
    values = run_cli(["check", "requirements.txt", "--json"], tmp_path)
    (tmp_path / "requirements.txt").write_text("tree\n")
    well = run_cli(["check"], tmp_path)

    assert (words.returncode, values.returncode, well.returncode) == (1, 1, 0), words.stderr
    assert "net==2.1.2 in requirements.txt:1" in words.stderr
    assert "tree" not in words.stdout
    assert json.loads(values.stdout)["missing"] == ["net"]
    assert "all 1 packages are there" in well.stderr


def test_a_platform_is_told_in_words() -> None:
    assert str(Platform(python=(3, 11), glibc=(2, 28))) == "Python 3.11 on x86_64, glibc 2.28"
