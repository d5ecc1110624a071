"""The data of a run is measured where it lies, and the walk knows its limits."""

import os
from pathlib import Path

from windlass.core.case import DataSeen
from windlass.core.run import Data
from windlass.edges.data_size import measure_data
from windlass.edges.local_host import LocalHost
from windlass.edges.site_data import fetch_data_seen

HALF_A_DAY_S = 43_200


def fill(folder: Path, files: int) -> Path:
    for number in range(files):
        inner = folder / f"part{number % 3}"
        inner.mkdir(parents=True, exist_ok=True)
        (inner / f"{number}.bin").write_bytes(b"x" * 100)
    return folder


def test_a_folder_is_counted_in_bytes_and_files(tmp_path: Path) -> None:
    fill(tmp_path / "data", 7)

    (seen,) = measure_data(tmp_path, {"set": Data(source="data")}, None)

    assert seen == DataSeen(name="set", bytes=700, files=7)


def test_one_file_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "set.tar").write_bytes(b"x" * 1000)

    (seen,) = measure_data(tmp_path, {"set": Data(source="~/set.tar")}, tmp_path)

    assert seen == DataSeen(name="set", bytes=1000, files=1)


def test_the_walk_gives_up_in_time_and_says_so(tmp_path: Path) -> None:
    fill(tmp_path / "data", 9)

    (seen,) = measure_data(tmp_path, {"set": Data(source="data")}, None, most_files=5)

    assert (seen.files, seen.is_partial) == (5, True)


def test_links_are_not_followed_in_circles(tmp_path: Path) -> None:
    (fill(tmp_path / "data", 3) / "again").symlink_to(tmp_path / "data")

    (seen,) = measure_data(tmp_path, {"set": Data(source="data")}, None)

    assert (seen.files, seen.is_partial) == (4, False)


def test_what_lies_elsewhere_is_passed_over(tmp_path: Path) -> None:
    sources = ("$SCRATCH/x", "https://example.org/x.tar", "nosuch", "~/x", "~bob/x", "a\0b", "x" * 5000)

    assert measure_data(tmp_path, {str(at): Data(source=one) for at, one in enumerate(sources)}, None) == ()


def test_the_site_tells_of_its_own(tmp_path: Path) -> None:
    old = fill(tmp_path / "my data", 4) / "part0" / "0.bin"
    os.utime(old, (HALF_A_DAY_S, HALF_A_DAY_S))
    sources = {"set": Data(source=f"{tmp_path}/my data"), "gone": Data(source=f"{tmp_path}/gone")}
    host = LocalHost()

    seen = fetch_data_seen(host, {**sources, "unset": Data(source="$NOSUCH/x"), "web": Data(source="s3://x")})
    host.close()

    assert seen == (
        DataSeen(name="set", bytes=400, files=4, oldest=HALF_A_DAY_S),
        DataSeen(name="gone", is_missing=True),
    )
