"""Storage and quotas of the centres: what fits where, in bytes and in files, for how long, and what jobs can see."""

from dataclasses import replace

import pytest

from tests.builders import HOUR, SPEC, plan_for
from tests.inventory.cases import GB, NOW, find, list_codes, list_errors, make_case
from tests.sites.shipped import load
from windlass.checks import run_checks
from windlass.core.case import Case, DataSeen
from windlass.core.facts import Facts, SeenQuota
from windlass.core.job import make_script
from windlass.core.run import Data, Resources, Staging

ONE = Resources(gpus=1, time=HOUR)
DAY_S = 86_400
# row: site, area, GB, files
QUOTAS = {
    "CA-03": ("narval", "home", 50, 500_000),
    "CA-04": ("narval", "scratch", 20_000, 1_000_000),
    "CA-05": ("narval", "project", 1_000, 500_000),
    "CA-07": ("narval", "nearline", 2_000, 5_000),
    "CS-19": ("daint", "scratch", None, 1_000_000),
}


def fill(row: str, *, of_bytes: float = 0.0, of_files: float = 0.0) -> Case:
    """With the run folder in this area, which is so full by its quota command; the limits are the file's."""
    name, area, gigabytes, files = QUOTAS[row]
    seen = SeenQuota(
        area=area,
        path=f"/{area}/alice",
        used_bytes=int(of_bytes * (gigabytes or 0) * GB),
        used_files=int(of_files * files),
        source="diskusage_report",
    )
    facts = Facts(root=f"/{area}/alice/windlass", quotas=(seen,))
    planned = {"folder": f"/{area}/alice/windlass/runs/digits-k3f9w"}
    return make_case(name, ONE, facts=facts, planned=planned, snapshot_mb=1.0, snapshot_files=10)


@pytest.mark.parametrize("row", QUOTAS)
def test_the_quota_in_files_is_warned_of_at_nine_tenths_and_then_refused(row: str) -> None:
    assert "C408" not in list_codes(fill(row, of_files=0.5))
    assert find(fill(row, of_files=0.95), "C408").severity == "warning"
    assert find(fill(row, of_files=1.0), "C408").severity == "error"


@pytest.mark.parametrize("row", [row for row in QUOTAS if QUOTAS[row][2]])
def test_the_quota_in_bytes_is_warned_of_at_nine_tenths_and_then_refused(row: str) -> None:
    assert "C407" not in list_codes(fill(row, of_bytes=0.5))
    assert find(fill(row, of_bytes=0.95), "C407").severity == "warning"
    assert find(fill(row, of_bytes=1.0), "C407").severity == "error"


def test_imagenet_has_more_files_than_scratch_takes() -> None:
    """CS-19, CS-21: and the hint names the formats that hold it in few files."""
    case = make_case("daint", ONE, data=(DataSeen(name="imagenet", bytes=150 * GB, files=1_400_000),))

    assert find(case, "C410").message == "data.imagenet has 1400000 files; scratch holds 1000000"
    assert "TFRecord" in (find(case, "C410").hint or "")


@pytest.mark.parametrize(
    ("gigabytes", "stage"),
    [pytest.param(9, "memory", id="CA-13"), pytest.param(50, "node", id="CA-14"), pytest.param(200, None, id="CA-15")],
)
def test_data_is_kept_as_near_as_its_size_allows(gigabytes: int, stage: str | None) -> None:
    spec = replace(SPEC, data={"set": Data(source="/scratch/set.tar", stage=Staging.SHARED)})
    case = make_case("narval", ONE, spec=spec, data=(DataSeen(name="set", bytes=gigabytes * GB, files=10),))

    assert [code for code in list_codes(case) if code == "C412"] == (["C412"] if stage else [])
    if stage:
        assert find(case, "C412").hint == f'[data.set] stage = "{stage}"'


@pytest.mark.parametrize(("days", "codes"), [(57, []), (61, ["C413"])])
def test_data_that_was_not_used_for_sixty_days_is_told(days: int, codes: list[str]) -> None:
    """CA-04."""
    spec = replace(SPEC, data={"set": Data(source="/scratch/alice/set.tar")})
    facts = Facts(root="/scratch/alice/windlass", quotas=(SeenQuota(area="scratch", path="/scratch/alice"),))
    seen = DataSeen(name="set", bytes=GB, files=1, oldest=NOW - days * DAY_S)
    case = make_case("narval", ONE, facts=facts, spec=spec, data=(seen,))

    assert [code for code in list_codes(case) if code == "C413"] == codes


@pytest.mark.parametrize(
    ("site", "home"),
    [
        pytest.param("wilson", "/nashome/a/alice", id="WI-23"),
        pytest.param("sdumont", "/home/alice", id="SD-20"),
        pytest.param("daint", "/users/alice", id="CS-08"),
    ],
)
def test_no_run_starts_from_home_where_jobs_cannot_use_it(site: str, home: str) -> None:
    in_home = make_case(site, ONE, facts=Facts(root=f"{home}/windlass", home=home))
    as_shipped = make_case(site, ONE, facts=Facts(root="/scratch/alice/windlass", home=home))

    assert "C401" in [one.code for one in list_errors(in_home)]
    assert list_errors(as_shipped) == []


@pytest.mark.parametrize("path", ["/nashome/a/alice/data", "~/data", "$HOME/data"])
def test_a_command_that_reads_from_home_is_told_where_jobs_cannot(path: str) -> None:
    """WI-23."""
    facts = Facts(root="/work1/alice/windlass", home="/nashome/a/alice")
    case = make_case("wilson", ONE, facts=facts, spec=replace(SPEC, command=f"python train.py --data {path}"))

    (told,) = [one for one in run_checks(case) if path in one.message]
    assert told.code == "C405"
    assert "compute nodes do not see home" in told.message


def test_nearline_is_not_read_in_jobs() -> None:
    """CA-07."""
    spec = replace(SPEC, data={"set": Data(source="/nearline/lab/set.tar")})

    assert "compute nodes do not see nearline" in find(make_case("narval", ONE, spec=spec), "C405").message


def test_what_goes_to_tmp_counts_as_memory() -> None:
    """CA-22."""
    case = make_case("narval", ONE, spec=replace(SPEC, command="python train.py --cache /tmp/cache"))

    assert "counts against the job's memory" in find(case, "C414").message


@pytest.mark.parametrize(
    ("site", "folder"),
    [
        pytest.param("sdumont", "$SCRATCH/windlass/runs/", id="SD-20"),
        pytest.param("narval", "$SCRATCH/windlass/runs/", id="CA-25"),
        pytest.param("daint", "$SCRATCH/windlass/runs/", id="CS-08"),
        pytest.param("wilson", "/work1/$USER/windlass/runs/", id="WI-23"),
    ],
)
def test_the_run_folder_lies_where_jobs_belong(site: str, folder: str) -> None:
    plan = plan_for(ONE, site=load(site))

    assert plan.folder.startswith(folder)
    assert f"{folder.split('/')[0]}" in make_script(plan)
