"""Every diagnosis: an end that it explains, and one that it leaves to others; and which of several comes first."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import PLAN, RECORD, SITE
from tests.diagnoses.ends import DONE, FAILED, NO_FILE, PLANNED, RUNNING, after, waits
from tests.diagnoses.examples import EXAMPLES, MORE
from windlass.core.ending.symptoms import JobFacts, RankLog, Symptoms, Waiting, WaitingKind
from windlass.core.events import Event
from windlass.core.facts import Facts, SeenPartition
from windlass.core.jobs import JobState
from windlass.core.record import RunState
from windlass.diagnoses import DIAGNOSES, diagnose

MANY_RANKS = replace(PLAN, nodes=2, tasks_per_node=4)


def codes(symptoms: Symptoms) -> list[str]:
    return [one.code for one in diagnose(symptoms)]


def test_every_diagnosis_has_its_examples() -> None:
    assert list(EXAMPLES) == list(DIAGNOSES)


@pytest.mark.parametrize("code", EXAMPLES)
def test_it_is_found_first(code: str) -> None:
    found = diagnose(EXAMPLES[code].trips)

    assert (found[0].code, found[0].message) == (code, EXAMPLES[code].says)
    assert found[0].hint
    assert tuple((one.key, one.value) for one in found[0].patch) == EXAMPLES[code].sets


@pytest.mark.parametrize("code", EXAMPLES)
def test_a_near_miss_is_left_to_others(code: str) -> None:
    assert code not in codes(EXAMPLES[code].passes)


@pytest.mark.parametrize(("code", "symptoms"), MORE)
def test_other_words_for_it(code: str, symptoms: Symptoms) -> None:
    assert codes(symptoms)[0] == code


@pytest.mark.parametrize("code", EXAMPLES)
def test_a_run_that_is_done_has_nothing_to_explain(code: str) -> None:
    assert diagnose(replace(EXAMPLES[code].trips, record=DONE, trouble="")) == ()


def test_the_last_line_that_tells_is_the_evidence() -> None:
    (found,) = diagnose(after(FAILED, "No module named x", "ModuleNotFoundError: No module named 'a'", "bye"))

    assert found.evidence == ("ModuleNotFoundError: No module named 'a'",)


@pytest.mark.parametrize(("used", "is_told"), [(3, False), (900, True)])
def test_a_sample_that_came_too_early_is_not_told(used: int, is_told: bool) -> None:
    job = JobFacts(state=JobState.OUT_OF_MEMORY, asked_memory_mb=1000, used_memory_mb=used)

    found = diagnose(replace(after(FAILED), job=job))[0]

    assert found.code == "D201"
    assert any("Slurm saw" in line for line in found.evidence) is is_told


def test_a_job_of_others_gets_more_memory_too() -> None:
    job = JobFacts(state=JobState.OUT_OF_MEMORY, asked_memory_mb=4096)

    found = diagnose(Symptoms(record=FAILED, job=job, is_foreign=True))[0]

    assert [(one.key, one.value) for one in found.patch] == [("resources.memory", '"6G"')]


CUT = replace(RECORD, state=RunState.OUT_OF_TIME, reason="its time is used up; it was not finished", link=1)
ASKED = (Event(kind="link_started", time=0, link=1), Event(kind="stop_requested", time=150, link=1, text="notice"))


def test_a_resume_that_would_begin_anew_is_called_so() -> None:
    plan = replace(PLAN, link_time=timedelta(minutes=3), notice=timedelta(seconds=9), checkpoint_folder=None)

    (found,) = diagnose(Symptoms(record=CUT, plan=plan, events=ASKED))

    assert found.message.endswith("not finished; Windlass asked it to stop 30 s before the end")
    assert found.evidence == ("no checkpoint folder is named, so a resume begins anew",)
    assert "resume" not in (found.hint or "")
    assert "save when it gets TERM" in (found.hint or "")
    assert found.patch == ()  # a folder that stays empty would only silence the check that asks for one


def test_links_that_saved_nothing_are_told_with_the_folder_and_what_to_ask() -> None:
    plan = replace(PLAN, notice=timedelta(minutes=2), checkpoint_folder="saved")
    stalled = replace(FAILED, reason="two links in a row saved nothing", exit_code=0)

    (found,) = diagnose(replace(after(stalled, "epoch 2"), plan=plan))

    assert found.evidence == (
        f"looked in {PLAN.folder}/code/saved: no file in it is newer than when these links began",
    )
    assert (found.hint or "").startswith("does it save in saved when it gets TERM, within 2 min?")
    assert 'signal = "USR2"' in (found.hint or "")


def test_links_that_saved_nothing_are_known_by_the_exit_code_alone() -> None:
    silent = replace(FAILED, reason=JobState.FAILED.value, exit_code=121)

    assert codes(Symptoms(record=silent, plan=PLAN)) == ["D309"]
    assert codes(Symptoms(record=silent, is_foreign=True)) == ["D900"]


def test_each_death_of_a_command_that_was_started_again_is_told() -> None:
    (found,) = diagnose(EXAMPLES["D310"].trips)

    assert found.evidence == ("link 1: killed by signal 11", "link 1: exit code 3")


def test_a_run_with_checkpoints_goes_on_from_them() -> None:
    plan = replace(PLAN, link_time=timedelta(minutes=3), notice=timedelta(seconds=9), checkpoint_folder="c")

    (found,) = diagnose(Symptoms(record=CUT, plan=plan, events=ASKED))

    assert (found.hint, found.evidence, found.patch) == (f"windlass resume {CUT.run_id}", (), ())


def test_a_folder_whose_variable_is_not_known_is_told_and_not_set() -> None:
    full = replace(EXAMPLES["D605"].trips, facts=Facts())

    found = diagnose(full)[0]

    assert found.patch == ()
    assert "/scratch/$USER/sif" in (found.hint or "")


def test_a_file_that_is_missing_is_named() -> None:
    (found,) = diagnose(after(replace(FAILED, exit_code=2), NO_FILE))

    assert found.message == "the job does not have '/code/missing.py'"


def test_the_cause_comes_before_what_followed_from_it() -> None:
    log = (
        "[rank1]: Traceback (most recent call last):",
        "[rank1]:   File 'train.py', line 3, in <module>",
        "[rank1]: ModuleNotFoundError: No module named 'timm'",
        "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1)",
        "srun: error: node1: task 1: Exited with exit code 1",
    )

    assert codes(replace(after(FAILED, *log), plan=MANY_RANKS)) == ["D205", "D407", "D409"]


def test_an_exception_of_the_programs_own_comes_before_what_followed_from_it() -> None:
    log = ("Traceback (most recent call last):", "  File 'a.py', line 1", "KeyError: 'lr'")

    found = diagnose(after(FAILED, *log, "srun: error: node1: task 1: Exited with exit code 1"))

    assert [one.code for one in found] == ["D801", "D409"]
    assert found[1].evidence[1] == "the first to fail: KeyError: 'lr'"


def test_what_was_said_long_before_the_end_comes_last() -> None:
    survived = "urllib.error.URLError: <urlopen error [Errno 101] Network is unreachable>"
    log = (survived, *(f"epoch {n}" for n in range(200)), "Traceback (most recent call last):", "  x", "KeyError: 1")

    assert codes(after(FAILED, *log)) == ["D801", "D203"]


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("D606", "wandb: Network error (ConnectTimeout), entering retry loop."),
        ("D203", "WARNING: could not look for a newer version: Network is unreachable"),
        ("D205", "skipped the fast path: ModuleNotFoundError: No module named 'apex'"),
    ],
)
def test_what_a_program_says_and_survives_is_no_cause_of_another_exception(code: str, line: str) -> None:
    log = (line, "Traceback (most recent call last):", "  File 'train.py', line 9", "KeyError: 'lr'")

    assert codes(after(FAILED, *log)) == ["D801", code]


def test_a_package_that_is_missing_is_brought_by_what_windlass_builds() -> None:
    """A line of one's own comes last: environments are built from a list of packages."""
    missing = after(FAILED, "ModuleNotFoundError: No module named 'torch'")
    built = replace(missing, plan=replace(PLAN, environment="venv-3f2a9c1b7d"))

    (plain,), (of_ours,), (foreign,) = (diagnose(one) for one in (missing, built, replace(missing, is_foreign=True)))

    words = ("venv = ", "conda = ", "container = ", "modules = ", "activate = ")
    places = [str(plain.hint).index(word) for word in words]
    assert places == sorted(places)
    assert "write torch into the file that [environment] names" in str(of_ours.hint)
    assert "windlass env show venv-3f2a9c1b7d --on" in str(of_ours.hint)
    assert "[environment]" not in str(foreign.hint)


def test_a_package_is_brought_by_the_environment_that_the_run_asked_for() -> None:
    """On one's own machine nothing is built by itself; a package may have a module of another name."""
    own = replace(SITE, rules=replace(SITE.rules, cuts_to_fit=True))
    missing = replace(after(FAILED, "ModuleNotFoundError: No module named 'net'"), site=own)
    left_out = replace(missing, plan=replace(PLAN, environment_left_out="venv-3f2a9c1b7d"))
    built = replace(missing, plan=replace(PLAN, environment="venv-3f2a9c1b7d"))

    of_none, of_ours, far = (str(diagnose(one)[0].hint) for one in (left_out, built, replace(built, site=SITE)))

    assert of_none.startswith(f"windlass env build --on {missing.record.site}   #")
    assert "venv = " not in of_none
    assert "module of another name" in of_ours
    assert f"then windlass env build --on {missing.record.site}" in of_ours
    assert "the next run builds it" not in of_ours
    assert far.endswith("the next run builds it")


def test_a_hint_comes_after_the_plain_truth() -> None:
    loader = (
        "This DataLoader will create 10 worker processes in total. Our suggested max number of worker in current "
        "system is 1"
    )

    assert codes(after(replace(RECORD, state=RunState.CANCELLED), loader)) == ["D103", "D215"]
    assert codes(after(FAILED, loader)) == ["D900", "D215"]


def test_lightnings_word_about_srun_is_normal_where_one_process_trains() -> None:
    word = "The 'srun' command is available on your system but is not used."

    assert codes(replace(after(RUNNING, word), plan=replace(PLAN, gpus_per_node=1))) == []
    assert codes(replace(after(RUNNING, word, *("step",) * 50), plan=replace(PLAN, gpus_per_node=4))) == []
    assert codes(replace(after(RUNNING, word), plan=replace(PLAN, gpus_per_node=4))) == ["D404"]


def test_an_unknown_end_shows_the_first_traceback_of_the_first_rank_that_failed() -> None:
    def said(rank: int, name: str) -> tuple[str, ...]:
        mark = f"[rank{rank}]: "
        return (mark + "Traceback (most recent call last):", f"{mark}  File 'train.py', line 9", f"{mark}{name}: x")

    both = (said(2, "ValueError"), said(0, "ConnectionError"))
    mixed = [line for pair in zip(*both, strict=True) for line in pair]  # line by line

    found = diagnose(replace(after(FAILED, *mixed), plan=MANY_RANKS))

    assert found[0].message == "rank 2 raised ValueError: x"
    assert found[0].evidence == ("Traceback (most recent call last):", "  File 'train.py', line 9", "ValueError: x")


def test_of_several_logs_the_one_that_fell_silent_first_counts() -> None:
    def log(name: str, word: str, changed: float) -> RankLog:
        return RankLog(name=name, text=f"Traceback (most recent call last):\n  x\n{word}: 1\n", changed=changed)

    logs = (log("0.out", "RuntimeError", 20.0), log("1.out", "IndexError", 10.0))

    assert diagnose(Symptoms(record=FAILED, logs=logs))[0].message == "the program raised IndexError: 1"


def test_of_one_process_the_last_traceback_counts() -> None:
    log = ("Traceback (most recent call last):", "  old", "OSError: 1", "went on", *("epoch",) * 3)

    (found,) = diagnose(
        replace(after(FAILED, *log, "Traceback (most recent call last):", "  new", "ValueError: 7"), plan=PLAN)
    )

    assert found.message == "the program raised ValueError: 7"


def test_a_chain_of_exceptions_is_one_traceback() -> None:
    log = (
        "Traceback (most recent call last):",
        "  a",
        "KeyError: 1",
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        "Traceback (most recent call last):",
        "  b",
        "ValueError: 2",
    )

    (found,) = diagnose(after(FAILED, *log))

    assert found.message == "the program raised ValueError: 2"
    assert found.evidence == log


def test_an_unknown_end_without_words_is_told_all_the_same() -> None:
    (found,) = diagnose(Symptoms(record=replace(FAILED, exit_code=None)))

    assert (found.message, found.evidence) == ("the command ended, for a reason no rule here knows", ())


def test_an_unknown_end_leaves_out_lines_that_say_nothing() -> None:
    (found,) = diagnose(after(FAILED, "+----+", "| lr |", "+----+", "", "|    |", "   "))

    assert found.evidence == ("epoch 1", "| lr |")


def test_memory_is_not_asked_for_beyond_what_a_node_has() -> None:
    oom = "slurmstepd: error: Detected 1 oom_kill event in StepId=45.batch."
    nodes = Facts(partitions=(SeenPartition(name="gpu", memory_mb_per_node=80_000),))
    symptoms = replace(after(FAILED, oom), plan=PLANNED, site=SITE, facts=nodes)

    assert diagnose(symptoms)[0].patch[0].value == '"80000M"'
    full = replace(symptoms, plan=replace(PLANNED, memory_mb=80_000))
    assert diagnose(full)[0].patch == ()
    whole_node = replace(symptoms, plan=replace(PLANNED, memory_mb=0))
    assert diagnose(whole_node)[0].patch == ()


def test_a_run_that_waits_is_told_with_all_that_can_be_seen() -> None:
    waiting = Waiting(words="others are first", since=1000.0, ranks_before=14, nodes=4, hint="windlass ps")

    (found,) = diagnose(replace(waits("Priority", WaitingKind.TURN), waiting=waiting, now=1000.0 + 7800))

    assert found.evidence == (
        "Slurm's reason: Priority",
        "it has waited for 2 h 10 min",
        "14 jobs rank before it in this partition; it waits for 4 nodes",
    )


def test_a_hint_names_the_job() -> None:
    symptoms = replace(
        waits("JobHeldUser", WaitingKind.HELD), waiting=Waiting(kind=WaitingKind.HELD, hint="scontrol release ID")
    )

    assert diagnose(symptoms)[0].hint == "scontrol release 45"


def test_a_run_that_is_well_has_nothing_to_explain() -> None:
    assert diagnose(after(RUNNING, "epoch 2", "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/1")) == ()


def test_a_job_of_somebody_else_is_not_resumed() -> None:
    found = diagnose(replace(after(replace(FAILED, reason="node failed")), is_foreign=True))

    assert found[0].hint == "submit it again"


@given(st.sampled_from(RunState), st.text(), st.none() | st.integers())
def test_any_end_gets_a_diagnosis(state: RunState, log: str, exit_code: int | None) -> None:
    record = replace(RECORD, state=state, exit_code=exit_code)

    found = diagnose(Symptoms(record=record, logs=(RankLog(text=log),)))

    assert found or state in (RunState.DONE, RunState.RUNNING, RunState.SUBMITTING)
    assert {one.code for one in found} <= set(DIAGNOSES)


@pytest.mark.parametrize(
    ("line", "title", "variables"),
    [
        ("wandb: W&B API key is invalid", "Weights & Biases", {"WANDB_MODE"}),
        (
            "mlflow.exceptions.MlflowException: API request to http://mlflow:5000/api/2.0 failed with exception",
            "MLflow",
            {"MLFLOW_TRACKING_URI", "MLFLOW_ALLOW_FILE_STORE"},
        ),
        (
            "COMET ERROR: Failed to connect to the server",
            "Comet",
            {"COMET_START_ONLINE", "COMET_OFFLINE_DIRECTORY"},
        ),
    ],
)
def test_a_tracker_is_told_its_own_way_to_stay_offline(line: str, title: str, variables: set[str]) -> None:
    (found,) = [one for one in diagnose(after(RUNNING, line)) if one.code == "D606"]

    assert found.message == f"{title} tries to reach its server from a node without internet"
    assert {one.key.removeprefix("run.env.") for one in found.patch} == variables
    assert not any("{" in str(one.value) for one in found.patch)
