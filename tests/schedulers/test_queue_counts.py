"""How many jobs count against the limits of each account and QOS."""

from windlass.schedulers.slurm.queue_counts import make_count_command, read_counts

TOLD = "\n".join(
    (
        "2892_[1-3%1]\x1fPENDING\x1fnormal\x1ftiny",
        "2893\x1fRUNNING\x1fhigh\x1fdef-prof",
        "2880_2\x1fRUNNING\x1fnormal\x1ftiny",
        "2870\x1fCANCELLED\x1fnormal\x1ftiny",
        "slurm_load_jobs error: something else",
    )
)


def test_every_task_of_an_array_counts() -> None:
    counts = read_counts(TOLD)

    assert counts.all == 5
    assert dict(counts.by_account) == {"tiny": 4, "def-prof": 1}
    assert dict(counts.by_qos) == {"normal": 4, "high": 1}


def test_an_empty_queue_is_an_answer() -> None:
    assert read_counts("").all == 0


def test_only_my_own_are_asked_for() -> None:
    assert make_count_command()[:2] == ["squeue", "--me"]
