"""sbatch and scancel: what real Slurms said, and what it means."""

import pytest

from tests.schedulers.recorded import VERSIONS, list_answers, load_answer
from windlass.schedulers.answers import ExpectedStart, Refusal, RefusalKind, Submitted
from windlass.schedulers.slurm.history import read_accounting_problem
from windlass.schedulers.slurm.refusal_texts import KNOWN_REFUSALS
from windlass.schedulers.slurm.refusals import get_unclear_words, read_refusal, read_unavailable
from windlass.schedulers.slurm.submit import read_cancel, read_estimate, read_submit, read_submitted

_KIND = RefusalKind
_EXPECTED = {
    "account": _KIND.ACCOUNT,
    "partition": _KIND.PARTITION,
    "qos": _KIND.QOS,
    "time": _KIND.TIME,
    "qos-time": _KIND.TIME,
    "qos-gpus": _KIND.GPU,
    "submit-limit": _KIND.SUBMIT_LIMIT,
    "cpus": _KIND.CPU,
    "memory": _KIND.MEMORY,
    "gpu-kind": _KIND.NODE_SHAPE,
    "gres": _KIND.GPU,
    "feature": _KIND.FEATURE,
    "node-count": _KIND.NODE_COUNT,
    "processors": _KIND.CPU,
    "node-name": _KIND.NODE_NAME,
    "array": _KIND.ARRAY,
    "dependency": _KIND.DEPENDENCY,
    "reservation": _KIND.RESERVATION,
    "license": _KIND.LICENSE,
    "time-min": _KIND.TIME,
    "option": _KIND.OPTION,
    "value": _KIND.OPTION,
    "no-script": _KIND.SCRIPT,
    "no-shebang": _KIND.SCRIPT,
    "dos": _KIND.SCRIPT,
    "empty": _KIND.SCRIPT,
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", _EXPECTED)
def test_a_refusal_is_recognised_and_quoted(version: str, name: str) -> None:
    answer = load_answer(version, f"refused-{name}")

    refusal = read_submit(answer.out, answer.err, answer.exit_code)

    assert isinstance(refusal, Refusal)
    assert refusal.kind is _EXPECTED[name]
    assert answer.err.splitlines()[0] in refusal.said


@pytest.mark.parametrize("version", VERSIONS)
def test_every_recorded_refusal_is_tested(version: str) -> None:
    recorded = {name.removeprefix("refused-") for name in list_answers(version, "refused-")}

    assert recorded == set(_EXPECTED)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_submission_answers_its_number(version: str) -> None:
    answer = load_answer(version, "submitted")

    submitted = read_submit(answer.out, answer.err, answer.exit_code)

    assert submitted == Submitted(job_id=answer.out.strip())


@pytest.mark.parametrize("version", VERSIONS)
def test_the_expected_start_is_read(version: str) -> None:
    answer, refused = load_answer(version, "estimate"), load_answer(version, "estimate-refused")

    estimate = read_estimate(answer.out, answer.err, answer.exit_code)
    refusal = read_estimate(refused.out, refused.err, refused.exit_code)

    assert isinstance(estimate, ExpectedStart)
    assert estimate.at is not None
    assert (estimate.partition, bool(estimate.nodes)) == ("cpu", True)
    assert isinstance(refusal, Refusal)
    assert refusal.kind is _KIND.ACCOUNT


@pytest.mark.parametrize("version", VERSIONS)
def test_a_silent_controller_is_no_refusal(version: str) -> None:
    sbatch, squeue = load_answer(version, "controller-down-sbatch"), load_answer(version, "controller-down-squeue")

    refusal = read_submit(sbatch.out, sbatch.err, sbatch.exit_code)
    problem = read_unavailable(squeue.out, squeue.err, squeue.exit_code)

    assert isinstance(refusal, Refusal)
    assert (refusal.kind, refusal.kind.is_certain) == (_KIND.UNAVAILABLE, False)
    assert problem is not None
    assert "Unable to contact slurm controller" in problem.said
    for name in ("partitions", "scancel"):
        answer = load_answer(version, f"controller-down-{name}")
        assert read_unavailable(answer.out, answer.err, answer.exit_code)


@pytest.mark.parametrize("version", VERSIONS)
def test_missing_accounting_is_told_apart_from_one_that_is_down(version: str) -> None:
    off, down = load_answer(version, "accounting-off-sacct"), load_answer(version, "accounting-down-sacct")

    for answer, is_lasting in ((off, True), (down, False)):
        problem = read_accounting_problem(answer.out, answer.err, answer.exit_code)
        assert problem is not None
        assert problem.is_lasting is is_lasting
    history = load_answer(version, "history")
    assert read_accounting_problem(history.out, history.err, history.exit_code) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_cancelling_what_is_gone_is_fine(version: str) -> None:
    for name in ("cancel-unknown", "cancel-ended"):
        answer = load_answer(version, name)
        assert read_cancel(answer.out, answer.err, answer.exit_code) is None


def test_cancelling_what_is_not_ours_is_refused() -> None:
    refusal = read_cancel("", "scancel: error: Kill job error on job id 1: Access/permission denied\n", 1)

    assert refusal is not None
    assert refusal.kind is _KIND.PERMISSION


def test_one_ended_job_among_others_does_not_hide_the_refusal() -> None:
    err = (
        "scancel: error: Kill job error on job id 1: Job/step already completing or completed\n"
        "scancel: error: Kill job error on job id 2: Access/permission denied\n"
    )

    assert read_cancel("", err.splitlines()[0] + "\n", 1) is None
    refusal = read_cancel("", err, 1)
    assert refusal is not None
    assert refusal.kind is _KIND.PERMISSION


@pytest.mark.parametrize(
    ("out", "expected"),
    [
        ("123\n", Submitted(job_id="123")),
        ("123;alps\n", Submitted(job_id="123", cluster="alps")),
        ("Welcome, 2 nodes are down\n--> 17\n123\n", Submitted(job_id="123")),
        ("", None),
        ("Submitted batch job 123\n", None),
        ("12", None),
        ("0\n", None),
        ("123 456\n", None),
    ],
)
def test_only_a_line_that_is_exactly_a_number_is_believed(out: str, expected: Submitted | None) -> None:
    assert read_submitted(out) == expected


def test_success_without_a_number_is_unclear() -> None:
    answer = read_submit("thank you\n", "", 0)

    assert isinstance(answer, Refusal)
    assert (answer.kind, answer.said) == (_KIND.UNCLEAR, "thank you")


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", _KIND.UNCLEAR),
        ("sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received", _KIND.UNCLEAR),
        (
            "sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Job violates accounting/QOS policy (…)",
            _KIND.SUBMIT_LIMIT,
        ),
        ("sbatch: error: Requested GRES option unsupported by configured SelectType plugin", _KIND.GPU),
        ("sbatch: error: Cannot find GPU specification, you may not submit a job not requesting GPUs", _KIND.GPU),
        (
            "srun: fatal: SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive.",
            _KIND.MEMORY,
        ),
        (
            "sbatch: error: use -A PROJECT\nsbatch: error: Batch job submission failed: Unspecified error",
            _KIND.SITE_RULE,
        ),
        ("sbatch: error: the moon is full", _KIND.UNKNOWN),
    ],
)
def test_texts_of_other_sites(said: str, kind: RefusalKind) -> None:
    refusal = read_refusal(said)

    assert (refusal.kind, refusal.said) == (kind, said)


def test_sbatch_that_is_not_there_is_no_refusal_of_slurms() -> None:
    assert read_refusal("sbatch: No such file or directory", 127).kind is _KIND.NOT_INSTALLED


def test_silence_is_unclear() -> None:
    assert read_refusal("", 1).kind is _KIND.UNCLEAR


def test_the_catalogue_is_written_so_that_it_can_match() -> None:
    assert all(known.text == known.text.lower().strip() for known in KNOWN_REFUSALS)
    assert "unable to contact slurm controller" in get_unclear_words()
