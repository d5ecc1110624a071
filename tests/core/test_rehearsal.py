"""Rehearsals, the pure part: a site's folders and queues, and what is said of what was seen."""

import tomllib
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import GPU_NODE, PLAN, SITE, plan_for
from windlass.core.facts import NOTHING_SEEN, Association, Facts
from windlass.core.finding import Diagnosis, Finding, Severity
from windlass.core.rehearsal.engine import Tempo, find_node, find_scale, make_pocket_settings
from windlass.core.rehearsal.evidence import Evidence, LinkSeen, Sample, Saved, Written
from windlass.core.rehearsal.findings import REHEARSED, judge
from windlass.core.rehearsal.links import find_incomplete
from windlass.core.rehearsal.stage import Folder, fill_in, find_folder, make_folders, make_root, make_variables
from windlass.core.rehearsal.words import began_again, count, find_exception, list_missing, list_not_written
from windlass.core.run import Resources
from windlass.core.site import Area, Rules
from windlass.pocket.layout import Machine
from windlass.pocket.settings import read_settings
from windlass_job import wire

HOME = Folder(name="home", path="/home/alice", may_write=False, quota_files=100)
SCRATCH = Folder(name="scratch", path="/scratch/alice", quota_files=10)
CHAIN = replace(PLAN, links=4, checkpoint_folder="checkpoints", memory_mb=1000)
SAVED = Saved(files=1, bytes=10, last=14.5, names=("checkpoints/a",))
GOOD = LinkSeen(number=1, outcome=wire.CUT, ended=15.0, asked=14.0, saved=SAVED, text="step 1\nstep 9\n")
NEXT = replace(GOOD, number=2, text="step 10\nstep 19\n", went_on_from=True)
EVIDENCE = Evidence(plan=CHAIN, site=SITE, folders=(HOME, SCRATCH), links=(GOOD, NEXT), gpus_here=8)
BROKEN = replace(GOOD, outcome=wire.FAILED, exit_code=1, asked=None, saved=Saved())

Change = Callable[[Evidence], Evidence]


def with_link(**changes: object) -> Change:
    """The first link otherwise, and no second."""
    return lambda evidence: replace(evidence, links=(replace(GOOD, **changes),))  # type: ignore[arg-type]


def broken(text: str) -> Change:
    return lambda evidence: replace(evidence, links=(replace(BROKEN, text=text),))


# code -> what trips it, and how bad it is
TRIPS: dict[str, tuple[Change, Severity]] = {
    "R101": (lambda one: replace(one, refusal="sbatch: error: Invalid qos specification"), Severity.ERROR),
    "R102": (broken("ValueError: shapes differ"), Severity.ERROR),
    "R103": (with_link(hosts=("example.org",)), Severity.WARNING),
    "R104": (broken("OSError: [Errno 30] Read-only file system: '/home/alice/.cache'"), Severity.ERROR),
    "R105": (with_link(was_killed=True, saved=Saved()), Severity.ERROR),
    "R106": (with_link(saved=Saved()), Severity.ERROR),
    "R107": (lambda one: replace(one, links=(GOOD, replace(NEXT, text=GOOD.text, went_on_from=False))), Severity.ERROR),
    "R108": (with_link(asked=14.0, ended=14.0 + 100), Severity.WARNING),
    "R109": (
        lambda one: replace(one, written=(Written(folder=HOME, files=1, bytes=5, names=("x",)),)),
        Severity.ADVICE,
    ),
    "R110": (
        lambda one: replace(one, written=(Written(folder=SCRATCH, files=6, bytes=5, is_run_folder=True),)),
        Severity.WARNING,
    ),
    "R111": (with_link(memory_mb=950.0), Severity.WARNING),
    "R112": (lambda one: replace(one, plan=replace(CHAIN, gpus_per_node=4), gpus_here=0), Severity.ADVICE),
    "R113": (lambda one: replace(one, modules=("load python",)), Severity.ADVICE),
    "R114": (lambda one: replace(one, is_unfinished=True), Severity.WARNING),
    "R115": (lambda one: replace(one, laptop_only={"/data/x": "/data/x"}), Severity.ERROR),
}


def find(evidence: Evidence, code: str) -> Finding | None:
    return next((one for one in judge(evidence, ()) if one.code == code), None)


@pytest.mark.parametrize("code", TRIPS)
def test_each_finding_is_told_when_it_is_so(code: str) -> None:
    change, severity = TRIPS[code]

    found = find(change(EVIDENCE), code)

    assert found is not None
    assert found.severity is severity


def test_every_code_has_an_example() -> None:
    assert TRIPS.keys() == REHEARSED.keys()


def test_a_good_rehearsal_has_no_errors_and_no_warnings() -> None:
    found = judge(EVIDENCE, ())

    assert [one.code for one in found if one.severity is not Severity.ADVICE] == []


def test_what_the_checks_said_comes_with_it_the_worst_first() -> None:
    error = Finding(code="C101", severity=Severity.ERROR, message="an account is missing")

    found = judge(EVIDENCE, (error,))

    assert found[0] == error


def test_a_cause_takes_the_place_of_the_mere_breakdown() -> None:
    text = "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>"
    evidence = replace(EVIDENCE, links=(replace(BROKEN, text=text, hosts=("example.org",)),))

    codes = [one.code for one in judge(evidence, ()) if one.severity is Severity.ERROR]

    assert codes == ["R103"]


def test_a_likely_cause_is_quoted_with_its_code_and_fix() -> None:
    diagnosis = Diagnosis(code="D401", message="out of memory", hint='memory = "8G"')

    found = find(replace(broken("Killed")(EVIDENCE), diagnoses=(diagnosis,)), "R102")

    assert found is not None
    assert "out of memory (D401)" in found.message
    assert found.hint == 'memory = "8G"'


def test_a_training_that_insists_on_a_gpu_is_not_called_broken() -> None:
    evidence = broken("RuntimeError: Found no NVIDIA driver on your system.")(EVIDENCE)
    evidence = replace(evidence, plan=replace(CHAIN, gpus_per_node=4), gpus_here=0)

    codes = {one.code: one.severity for one in judge(evidence, ())}

    assert "R102" not in codes
    assert codes["R112"] is Severity.WARNING


def test_a_link_whose_command_hardly_lived_is_not_judged() -> None:
    hardly = replace(NEXT, outcome=None, was_killed=True, went_on_from=False, text="", saved=Saved(), command_s=0.03)
    evidence = replace(EVIDENCE, links=(GOOD, hardly))

    codes = {one.code for one in judge(evidence, ()) if one.severity is not Severity.ADVICE}

    assert codes == {"R114"}
    assert find(replace(evidence, links=(GOOD, replace(hardly, command_s=9.0))), "R107") is not None


def test_a_breakdown_that_was_mended_by_a_restart_is_told() -> None:
    text = "Traceback (most recent call last):\n  File x\nValueError: shapes differ\nstep 10\n"

    found = find(replace(EVIDENCE, links=(GOOD, replace(NEXT, text=text, restarts=1))), "R102")

    assert found is not None
    assert found.severity is Severity.WARNING
    assert "link 2 broke down and was started again once: ValueError: shapes differ" in found.message


def test_a_breakdown_while_it_stops_is_told() -> None:
    text = "Traceback (most recent call last):\n  File x\nOSError: cannot save\n"

    assert find(with_link(exit_code=1, text=text)(EVIDENCE), "R102") is not None
    assert find(with_link(exit_code=143, text="step 1\n")(EVIDENCE), "R102") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[rank1]: Traceback (most recent call last):\n[rank1]:   File x\n[rank1]: KeyError: 'a'\n", "KeyError: 'a'"),
        ("Traceback (most recent call last):\n  File x\ntorch.x.SignalException: Process 1 got signal: 15\n", None),
        ("Error: nothing was raised\n", None),
    ],
)
def test_what_was_raised_is_found(text: str, expected: str | None) -> None:
    assert find_exception(text) == expected


def test_a_single_job_that_was_killed_with_nothing_saved_was_not_seen_to_its_end() -> None:
    alone = with_link(was_killed=True, saved=Saved())(replace(EVIDENCE, plan=replace(PLAN, links=1)))

    found = find(alone, "R105")

    assert found is not None
    assert found.severity is Severity.WARNING
    assert find_incomplete(alone) is not None
    assert find_incomplete(with_link(was_killed=True)(replace(EVIDENCE, plan=replace(PLAN, links=1)))) is None


def test_why_there_was_no_second_link_is_told() -> None:
    evidence = with_link(was_killed=True, outcome=None, saved=Saved())(EVIDENCE)

    found = find(evidence, "R114")

    assert found is not None
    assert "left nothing to go on from" in found.message
    assert find(replace(evidence, most_links=1), "R114") is None


def test_one_gpu_is_one() -> None:
    found = find(replace(EVIDENCE, plan=replace(CHAIN, gpus_per_node=1), gpus_here=0), "R112")

    assert found is not None
    assert found.message.startswith("1 GPU a node")


def test_a_single_job_need_not_save() -> None:
    evidence = with_link(saved=Saved())(replace(EVIDENCE, plan=replace(PLAN, links=1)))

    assert find(evidence, "R106") is None


def test_a_link_that_read_its_checkpoint_goes_on_even_where_nothing_is_counted() -> None:
    links = (replace(GOOD, text=""), replace(NEXT, text="", went_on_from=True))

    assert find(replace(EVIDENCE, links=links), "R107") is None


def test_progress_that_was_told_counts_more_than_words() -> None:
    links = (
        replace(GOOD, first_done=0, last_done=5),
        replace(NEXT, first_done=0, last_done=5, went_on_from=None),
    )

    found = find(replace(EVIDENCE, links=links), "R107")

    assert found is not None


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["epoch 1\nepoch 2", "epoch 1"], True),
        (["epoch 1\nepoch 2", "epoch 3"], False),
        (["Epoch: 0 step 5\nEpoch: 1 step 0", "Epoch: 2 step 0"], False),
        (["nothing is counted", "nor here"], None),
        (["epoch 1", "epoch 1"], None),  # the first came no further: it may well go on
    ],
)
def test_a_log_tells_whether_a_link_began_again(texts: list[str], expected: bool | None) -> None:
    assert began_again(texts) is expected


def test_numbers_that_go_down_are_not_counted() -> None:
    assert count("step 5\nstep 1\nepoch 1\nepoch 2") == {"epoch": (1, 2)}


def test_paths_are_found_in_the_words_of_python_and_of_a_shell() -> None:
    text = "OSError: [Errno 30] Read-only file system: '/home/a/x'\ntouch: cannot touch '/usr/y': Permission denied\n"

    assert list_not_written(text) == (("/home/a/x", "Read-only file system"), ("/usr/y", "Permission denied"))


def test_missing_files_are_found() -> None:
    text = (
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/x y'\ncat: /data/z: No such file or directory"
    )

    assert list_missing(text) == ("/data/x y", "/data/z")


def test_folders_have_their_real_paths_and_variables() -> None:
    site = replace(
        SITE,
        root="$SCRATCH/windlass",
        storage=(Area(name="scratch", path="$SCRATCH"), Area(name="project", path="/p/project")),
        rules=Rules(jobs_from_home=False),
    )

    folders = make_folders(site, NOTHING_SEEN, "alice")
    variables = make_variables(folders, site, NOTHING_SEEN, "alice")

    assert {one.name: (one.path, one.may_write) for one in folders} == {
        "scratch": ("/scratch/alice", True),
        "project": ("/p/project", True),
        "home": ("/home/alice", False),
    }
    assert variables["SCRATCH"] == "/scratch/alice"
    assert make_root(site, NOTHING_SEEN, variables) == "/scratch/alice/windlass"


def test_a_root_that_was_seen_tells_where_scratch_is() -> None:
    site = replace(SITE, root="$SCRATCH/windlass", storage=(Area(name="scratch", path="$SCRATCH"),))
    facts = Facts(root="/lustre/7/al/windlass", home="/u/al", user="al")

    folders = make_folders(site, facts, "alice")

    assert {one.name: one.path for one in folders} == {"scratch": "/lustre/7/al", "home": "/u/al"}


def test_the_innermost_folder_holds_a_path() -> None:
    inner = Folder(name="inner", path="/scratch/alice/inner")

    assert find_folder("/scratch/alice/inner/x", (SCRATCH, inner)) == inner
    assert find_folder("/elsewhere", (SCRATCH, inner)) is None


def test_unknown_variables_stay() -> None:
    assert fill_in("$A/${B}/~", {"A": "/a"}) == "/a/${B}/~"


def test_pocket_reads_the_settings_of_a_pretended_site() -> None:
    plan = plan_for(Resources(nodes=2, gpus_per_node=4, time=timedelta(hours=20)))
    facts = Facts(associations=(Association(account="ml"),))

    text = make_pocket_settings(
        plan, SITE, facts, Tempo(), starts=1, modules="/m", node_folders=("/tmp",), is_strict=True
    )
    settings = read_settings(tomllib.loads(text), Machine(cpus=1, memory_mb=1), "pocket.toml")

    assert settings.machine.gpus == 8
    assert settings.machine.cpus == 2 * (GPU_NODE.cores or 0)
    assert settings.default_partition == "cpu"
    assert settings.partition("pocket") is None
    assert settings.pretence.node == "fat{:03}"
    assert settings.pretence.accounts == ("ml",)
    assert settings.pretence.clock.shrink_limit(20 * 3600, 120) == 24  # 14 s, and the notice


def test_the_clock_never_runs_slower_than_a_real_one() -> None:
    assert find_scale(replace(PLAN, link_time=timedelta(seconds=10), notice=timedelta(seconds=2)), Tempo()) == 1.0


def test_the_kind_of_node_is_the_one_with_the_gpus() -> None:
    assert find_node(plan_for(Resources(gpus=4)), SITE) == GPU_NODE


def test_an_environment_of_the_site_was_not_entered() -> None:
    found = find(replace(EVIDENCE, environment="venv-3f2a9c1b7d"), "R113")

    assert found is not None
    assert "environment venv-3f2a9c1b7d" in found.message


def test_data_that_could_not_be_laid_is_told() -> None:
    sample = Sample(name="images", source="s3://x", why_not="it is an address")

    found = find(replace(EVIDENCE, samples=(sample,)), "R113")

    assert found is not None
    assert "data.images (s3://x); it is an address" in found.message
