"""The parts of a Spark cluster that need no Spark."""

import stat
import subprocess
import sys
from pathlib import Path

from windlass.edges.job_zip import make_job_zip
from windlass_job.starting.spark_parts import find_spark_class, make_share, name_missing, save_settings


def read(path: str) -> dict[str, str]:
    """As Java's Properties: the last line for a key counts."""
    lines = (line.partition(" ") for line in Path(path).read_text().splitlines() if line)
    return {key: value for key, _, value in lines}


def add_program(folder: Path, name: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_a_worker_leaves_room_for_the_daemons_and_an_executor_for_python() -> None:
    share = make_share(4, 16384)

    assert share.worker_mb == 14336
    assert share.executor_mb == 8601
    assert share.cores == 4


def test_a_small_node_still_has_a_worker() -> None:
    assert make_share(1, 1000) == (1, 512, 512)


def test_what_the_user_sets_comes_between_our_wishes_and_what_must_be_so(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.mkdir()
    (users / "spark-defaults.conf").write_text("spark.ui.enabled true\nspark.master local[4]\n")
    (users / "log4j2.properties").write_text("rootLogger.level = warn\n")

    path = save_settings(
        str(tmp_path / "conf"),
        {"spark.master": "spark://n1:1"},
        {"spark.ui.enabled": "false", "spark.x": "y"},
        {"SPARK_CONF_DIR": str(users)},
    )

    assert read(path) == {"spark.ui.enabled": "true", "spark.master": "spark://n1:1", "spark.x": "y"}
    assert (tmp_path / "conf" / "log4j2.properties").exists()
    assert (users / "spark-defaults.conf").read_text().endswith("local[4]\n")


def test_only_the_user_can_read_the_settings(tmp_path: Path) -> None:
    path = save_settings(str(tmp_path / "conf"), {"spark.authenticate.secret": "x"}, {}, {})

    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600


def test_spark_is_found_beside_the_command_first(tmp_path: Path) -> None:
    beside = add_program(tmp_path / "venv", "spark-class")
    at_home = add_program(tmp_path / "home" / "bin", "spark-class")
    on_path = add_program(tmp_path / "path", "spark-class")
    env = {"SPARK_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "path")}

    assert find_spark_class(env, str(tmp_path / "venv")) == beside
    assert find_spark_class(env, None) == at_home
    assert find_spark_class({"PATH": env["PATH"]}, "/nowhere") == on_path
    assert find_spark_class({"PATH": "/nowhere"}, None) is None


def test_workers_that_have_not_come_are_named() -> None:
    assert name_missing(["n1", "n2", "n3"], ["n2"]) == "n1, n3"
    assert name_missing(["127.0.0.1", "127.0.0.1"], ["127.0.0.1"]) == "127.0.0.1"


def run_spark(home: Path) -> "subprocess.CompletedProcess[str]":
    (home / "job.pyz").write_bytes(make_job_zip())
    return subprocess.run(
        [sys.executable, "-I", home / "job.pyz", "spark", "--", "true"],
        env={"PATH": str(home), "TMPDIR": str(home), "WINDLASS_SPARK_SECRET": "x", "SLURM_JOB_NODELIST": "n1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_spark_or_java_a_sentence_says_so_and_nothing_is_left(tmp_path: Path) -> None:
    without_spark = run_spark(tmp_path)
    add_program(tmp_path, "spark-class")
    without_java = run_spark(tmp_path)

    assert (without_spark.returncode, without_java.returncode) == (127, 127)
    assert "spark-class is not on the PATH nor under SPARK_HOME" in without_spark.stderr
    assert "Spark needs Java, and there is none" in without_java.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["job.pyz", "spark-class"]


def test_a_secret_is_another_each_time_and_on_no_command_line(tmp_path: Path) -> None:
    (tmp_path / "job.pyz").write_bytes(make_job_zip())
    words = [sys.executable, "-I", str(tmp_path / "job.pyz"), "secret", "NAME", "--", "bash", "-c"]

    said = [subprocess.check_output([*words, "echo $NAME; tr '\\0' ' ' < /proc/$$/cmdline"], text=True) for _ in "12"]

    secrets = [one.splitlines()[0] for one in said]
    assert len(set(secrets)) == 2
    assert all(len(secret) == 48 and one.count(secret) == 1 for secret, one in zip(secrets, said, strict=True))
