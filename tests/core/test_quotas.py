"""Reports about storage, in the forms the programs document."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.seen.quotas import Disk, QuotaRow, make_quota, pick_quota, read_disk, read_quotas

TIB = 1024**4
GIB = 1024**3
HOME = Disk(path="/home/alice", device="/dev/sda1", mount="/home")

QUOTA = """\
Disk quotas for user alice (uid 1001):
     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace
      /dev/sda1   51200   90000  102400             120    9000   10000
filer.example.org:/vol/projects/long
                2048000*1000000 4000000   6days  500000*  400000  600000    none
"""
NO_QUOTA = "Disk quotas for user alice (uid 1001): none\n"
LFS = """\
Disk quotas for usr alice (uid 1001):
     Filesystem  kbytes   quota   limit   grace   files   quota   limit   grace
       /project 1073741824       0 2147483648       -  250000       0  500000       -
uid 1001 is using default file quota setting
"""
LFS_HUMAN = """\
Disk quotas for grp def-prof (gid 2002):
     Filesystem    used   quota   limit   grace   files   quota   limit   grace
       /project  [1.5T]      0k      2T       -  400000       0  500000       -
"""
MMLS = """\
                     Block Limits                             |     File Limits
Filesystem type        KB    quota    limit in_doubt    grace |    files   quota    limit in_doubt    grace  Remarks
scratch    USR   10485760 20971520 31457280        0     none |     5000       0    10000        0     none
"""
MMLS_FILESET = """\
                     Block Limits                                    |     File Limits
Filesystem Fileset type          KB    quota    limit in_doubt grace |    files   quota    limit in_doubt    grace
fs1        root    USR         1024        0        0        0  none |       10       0        0        0     none
fs1        proj-a  FILESET  2097152  4194304  4194304        0  none |      200     300      300        0     none
"""
MMLS_Y = (
    "mmlsquota::HEADER:version:reserved:reserved:filesystemName:quotaType:id:name:blockUsage:blockQuota:blockLimit:"
    "blockInDoubt:blockGrace:filesUsage:filesQuota:filesLimit:filesInDoubt:filesGrace:remarks:quota:defQuota:fid:"
    "filesetname:\n"
    "mmlsquota::0:1:::scratch:USR:1001:alice:1048576:0:2097152:0:none:77:0:1000:0:none:::off:0::\n"
)
REPORT = """\
                            Description                Space           # of files
                     /home (user alice)         280 kB/47 GB              25/500k
                  /scratch (user alice)         4096 B/18 TB              1/1000k
                 /project (group alice)           0 B/2048 GB             0/1025k
              /project (group def-prof)        16 kB/9536 GB              4.5k/500k
"""


def test_quota_of_linux_is_read_with_wrapped_names_and_stars() -> None:
    first, second = read_quotas(QUOTA)

    assert first == QuotaRow(
        place="/dev/sda1",
        owner="user alice",
        used_bytes=51200 * 1024,
        limit_bytes=102400 * 1024,
        used_files=120,
        limit_files=10000,
    )
    assert second.place == "filer.example.org:/vol/projects/long"
    assert (second.used_bytes, second.limit_files) == (2048000 * 1024, 600000)


def test_quota_for_people_on_a_file_server_is_read() -> None:
    text = (
        "Disk quotas for user ann (uid 12345):\n"
        "     Filesystem   space   quota   limit   grace   files   quota   limit   grace\n"
        "192.0.2.7:/export  249M    100G    105G            4953    500k   1000k\n"
    )

    (row,) = read_quotas(text)

    assert (row.place, row.used_bytes, row.limit_bytes) == ("192.0.2.7:/export", 249 << 20, 105 << 30)
    assert (row.used_files, row.limit_files) == (4953, 1_000_000)


def test_lfs_quota_tells_bytes_and_files() -> None:
    (row,) = read_quotas(LFS)

    assert (row.place, row.used_bytes, row.limit_bytes) == ("/project", TIB, 2 * TIB)
    assert (row.used_files, row.limit_files) == (250_000, 500_000)


def test_lfs_quota_for_people_is_read_too() -> None:
    (row,) = read_quotas(LFS_HUMAN)

    assert (row.owner, row.used_bytes, row.limit_bytes) == ("group def-prof", 3 * TIB // 2, 2 * TIB)


@pytest.mark.parametrize(
    ("text", "place", "used", "limit", "files", "most"),
    [
        (MMLS, "scratch", 10 * GIB, 30 * GIB, 5000, 10000),
        (MMLS_FILESET, "proj-a", 2 * GIB, 4 * GIB, 200, 300),
        (MMLS_Y, "scratch", GIB, 2 * GIB, 77, 1000),
    ],
)
def test_mmlsquota_is_read(text: str, place: str, used: int, limit: int, files: int, most: int) -> None:
    row = read_quotas(text)[-1]

    assert row.place == place
    assert (row.used_bytes, row.limit_bytes, row.used_files, row.limit_files) == (used, limit, files, most)


def test_the_alliance_report_is_read() -> None:
    home, scratch, _, group = read_quotas(REPORT)

    assert (home.place, home.used_bytes, home.limit_bytes) == ("/home", 280 * 1024, 47 * GIB)
    assert (scratch.limit_bytes, scratch.used_files, scratch.limit_files) == (18 * TIB, 1, 1_000_000)
    assert (group.owner, group.used_files) == ("group def-prof", 4500)


def test_a_report_about_many_areas_is_asked_for_the_right_one() -> None:
    rows = read_quotas(REPORT)
    scratch = Disk(path="/scratch/alice", device="lustre", mount="/scratch")
    project = Disk(path="/project/def-prof/alice", device="lustre", mount="/project")

    assert pick_quota(rows, scratch, per_group=False) == rows[1]
    assert pick_quota(rows, project, per_group=True) == rows[3]


def test_two_groups_that_both_fit_are_not_guessed_between() -> None:
    rows = read_quotas(REPORT)
    project = Disk(path="/project/6001234", device="lustre", mount="/project")

    assert pick_quota(rows, project, per_group=True) is None


def test_a_device_is_found_by_where_the_path_lies() -> None:
    row = pick_quota(read_quotas(QUOTA), HOME, per_group=False)

    assert row is not None
    assert row.limit_files == 10000


@pytest.mark.parametrize("text", ["", NO_QUOTA, "quota: command not found", "used 5 of 10 GB", "\0\0", "-" * 5000])
def test_a_text_of_no_known_form_tells_nothing(text: str) -> None:
    assert read_quotas(text) == ()


@pytest.mark.parametrize(
    ("command", "rows"),
    [
        ("diskusage_report", 4),
        ("LANG=C /usr/local/bin/diskusage_report --all | cat", 4),
        ("our_own_report", 4),
        ("lfs quota -u $USER /project", 0),
        ("mmlsquota", 0),
    ],
)
def test_the_command_tells_how_its_report_is_read(command: str, rows: int) -> None:
    assert len(read_quotas(REPORT, command)) == rows


@pytest.mark.parametrize(
    ("command", "text"),
    [("lfs quota -h /project", LFS_HUMAN), ("mmlsquota -Y", MMLS_Y), ("quota -s", QUOTA), ("diskusage_report", REPORT)],
)
def test_a_report_is_read_as_well_by_its_command_as_by_its_form(command: str, text: str) -> None:
    assert read_quotas(text, command) == read_quotas(text) != ()


def test_df_stands_in_with_the_numbers_of_the_whole_file_system() -> None:
    blocks = "Filesystem 1024-blocks Used Available Capacity Mounted on\ntmpfs 1000 250 750 25% /mnt/my area\n"
    inodes = "Filesystem Inodes IUsed IFree IUse% Mounted on\ntmpfs 40 10 30 25% /mnt/my area\n"

    disk = read_disk("/mnt/my area/x", blocks, inodes)

    assert disk is not None
    quota = make_quota("scratch", disk, None, source="df")
    assert (quota.used_bytes, quota.limit_bytes) == (250 * 1024, 1000 * 1024)
    assert (quota.used_files, quota.limit_files, quota.is_shared) == (10, 40, True)


def test_a_file_system_without_fixed_inodes_has_no_limit_of_files() -> None:
    blocks = "Filesystem 1024-blocks Used Available Capacity Mounted on\nbtrfs 1000 250 750 25% /\n"
    inodes = "Filesystem Inodes IUsed IFree IUse% Mounted on\nbtrfs 0 0 0 - /\n"

    disk = read_disk("/x", blocks, inodes)

    assert disk is not None
    assert make_quota("home", disk, None, source="df").limit_files is None


def test_df_may_be_a_sites_own_quota_command() -> None:
    text = (
        "Filesystem 1024-blocks Used Available Capacity Mounted on\nceph 1000 250 750 25% /work1\n"
        "Filesystem Inodes IUsed IFree IUse% Mounted on\nceph 40 10 30 25% /work1\n"
    )

    (row,) = read_quotas(text)

    assert (row.place, row.limit_bytes, row.limit_files) == ("/work1", 1000 * 1024, 40)


_WORDS = [*QUOTA.split(), *MMLS.split(), *REPORT.split(), "\n", "  ", ":"]


@given(st.one_of(st.text(), st.lists(st.sampled_from(_WORDS)).map(" ".join)))
def test_no_text_makes_a_reader_raise(text: str) -> None:
    for row in read_quotas(text):
        assert row.limit_bytes is None or row.limit_bytes > 0
    read_disk("/x", text, text)
