"""Budgets and storage asked of a real machine: df of a small file system, programs that report, hang and fail."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from windlass.core.facts import Facts, SeenQuota
from windlass.core.site import Accounting, Area, CostUnit, Site, Software
from windlass.edges.host import read_completed
from windlass.edges.local_host import LocalHost
from windlass.edges.numbers import add_numbers, make_number_requests

NOW = 1_794_830_000.0
FREE = Accounting(unit=CostUnit.NONE)
REPORT = "Description  Space  # of files\\n {place} (user ann)  1 GB/2 GB  90/100\\n"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """4 MB and 64 files: a file system whose end a test can reach."""
    if os.geteuid():
        pytest.skip("mounting needs root")
    place = tmp_path / "small disk"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,nr_inodes=64", "small", place], check=False)
    if made.returncode:
        pytest.skip("nothing can be mounted here")
    yield place
    subprocess.run(["umount", place], check=True)


def ask(site: Site, *, limit_s: float = 10.0, has_accounting: bool = True) -> Facts:
    facts = Facts(taken_at=NOW, has_accounting=has_accounting)
    with closing(LocalHost()) as host:
        replies = host.ask(make_number_requests(site, NOW, limit_s=limit_s))
        return add_numbers(facts, site, [read_completed(reply) for reply in replies])


def ask_quotas(*areas: Area, limit_s: float = 10.0) -> dict[str, SeenQuota]:
    facts = ask(Site(name="x", storage=areas, accounting=FREE), limit_s=limit_s)
    return {one.area: one for one in facts.quotas or ()}


def make_program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_df_tells_bytes_and_files_of_a_real_file_system(small_disk: Path) -> None:
    for number in range(20):
        (small_disk / str(number)).write_bytes(b"x" * 4096)

    quota = ask_quotas(Area(name="scratch", path=str(small_disk)))["scratch"]

    assert (quota.limit_bytes, quota.used_bytes) == (4 << 20, 20 * 4096)
    assert (quota.limit_files, quota.used_files) == (64, 21)  # with the folder itself
    assert quota.is_shared


def test_a_full_file_system_shows_that_no_file_is_left(small_disk: Path) -> None:
    for number in range(63):  # the folder itself is one
        (small_disk / str(number)).touch()
    with pytest.raises(OSError, match="No space left"):
        (small_disk / "one too many").touch()

    quota = ask_quotas(Area(name="scratch", path=str(small_disk)))["scratch"]

    assert quota.used_files == quota.limit_files == 64
    assert (quota.used_bytes or 0) < (quota.limit_bytes or 0)


def test_variables_of_the_site_are_filled_in_and_nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    odd = tmp_path / "a 'b' $(touch oops) ;"
    odd.mkdir()
    monkeypatch.setenv("MY_SCRATCH", str(odd))

    quotas = ask_quotas(
        Area(name="by-variable", path="$MY_SCRATCH"), Area(name="by-name", path=str(odd)), Area(name="home", path="~")
    )

    assert quotas["by-variable"].path == quotas["by-name"].path == str(odd)
    assert quotas["home"].path == os.environ["HOME"]
    assert not (Path.cwd() / "oops").exists()


def test_the_sites_own_report_is_believed_before_df(tmp_path: Path) -> None:
    program = make_program(tmp_path, "report", f"printf '{REPORT.format(place=tmp_path)}'; exit 1")

    quota = ask_quotas(Area(name="scratch", path=str(tmp_path), quota_command=str(program)))["scratch"]

    assert (quota.used_files, quota.limit_files, quota.limit_bytes) == (90, 100, 2 << 30)
    assert (quota.source, quota.is_shared) == (str(program), False)


def test_one_report_for_two_areas_is_asked_once(tmp_path: Path) -> None:
    program = make_program(tmp_path, "report", f"echo x >> {tmp_path}/asked; printf '{REPORT.format(place=tmp_path)}'")
    areas = [Area(name=name, path=str(tmp_path), quota_command=str(program)) for name in ("one", "two")]

    quotas = ask_quotas(*areas)

    assert {one.limit_files for one in quotas.values()} == {100}
    assert (tmp_path / "asked").read_text() == "x\n"


def test_the_quota_of_a_group_is_found_in_the_report_that_has_it(tmp_path: Path) -> None:
    of_all = REPORT.format(place="/nowhere") + f" {tmp_path} (group lab)  3 GB/4 GB  700/800\\n"
    lines = "Disk quotas for usr ann (uid 1):\\n Filesystem kbytes quota limit grace files quota limit grace\\n"
    of_user = lines + f" {tmp_path} 5 0 0 - 6 0 0 -\\n"
    areas = (
        Area(name="home", path="/nowhere", quota_command=str(make_program(tmp_path, "all", f"printf '{of_all}'"))),
        Area(
            name="project",
            path=str(tmp_path),
            per_group=True,
            quota_command=str(make_program(tmp_path, "user", f"printf '{of_user}'")),
        ),
    )

    project = ask_quotas(*areas)["project"]

    assert (project.used_files, project.limit_files, project.source) == (700, 800, str(tmp_path / "all"))


def test_what_hangs_is_given_up_and_the_rest_is_told(tmp_path: Path) -> None:
    hangs = Area(name="hangs", path="/", quota_command="sleep 600")
    program = make_program(tmp_path, "report", f"printf '{REPORT.format(place=tmp_path)}'")
    answers = Area(name="answers", path=str(tmp_path), quota_command=str(program))

    quotas = ask_quotas(hangs, answers, limit_s=1.5)

    assert quotas["answers"].limit_files == 100
    assert quotas["hangs"].source == "df"


@pytest.mark.parametrize("command", ["nosuch-program", "exit 3", "echo 'a '(", "head -c 300 /dev/urandom"])
def test_a_command_that_fails_leaves_df(tmp_path: Path, command: str) -> None:
    quota = ask_quotas(Area(name="x", path=str(tmp_path), quota_command=command))["x"]

    assert quota.source == "df"


def test_an_area_that_is_not_there_is_unknown() -> None:
    missing = Area(name="gone", path="/nosuch/$NOSUCH")
    elsewhere = Area(name="nearline", path="/", on_login=False)

    assert ask(Site(name="x", storage=(missing, elsewhere), accounting=FREE)).quotas is None


def test_the_centres_own_word_on_hours_comes_before_slurms(tmp_path: Path) -> None:
    shares = "lab||cpu=600,gres/gpu=60|cpu=60,gres/gpu=6\\n lab|ann||cpu=60,gres/gpu=6\\n"
    make_program(tmp_path / "bin", "sshare", f"printf '{shares}'")
    site = Site(
        name="x",
        accounting=Accounting(unit=CostUnit.CORE_HOURS, balance_command="printf 'account,used,limit\\nlab,1,9\\n'"),
        software=Software(slurm_path=str(tmp_path / "bin")),
    )

    balances = ask(site).balances or ()

    assert [(one.unit, one.limit, one.used) for one in balances] == [("core-hours", 9, 1), ("gpu-hours", 1, 0.1)]
    assert ask(site, has_accounting=False).balances == balances[:1]


def test_where_nothing_is_charged_nothing_is_asked() -> None:
    assert make_number_requests(Site(name="x", accounting=FREE), NOW) == []
