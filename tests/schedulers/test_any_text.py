"""Whatever a site prints, no reader raises."""

from hypothesis import given
from hypothesis import strategies as st

from tests.schedulers.recorded import VERSIONS, list_answers, load_answer
from windlass.core.jobs import JobSeen
from windlass.core.names import read_token
from windlass.schedulers.slurm import limits, survey
from windlass.schedulers.slurm.fields import SEPARATOR, drop_refused, read_count, read_seconds, read_time
from windlass.schedulers.slurm.history import HISTORY_FIELDS, read_accounting_problem, read_history
from windlass.schedulers.slurm.job_ids import count_tasks, pick_valid_ids
from windlass.schedulers.slurm.merge import merge_jobs
from windlass.schedulers.slurm.one_job import read_jobs
from windlass.schedulers.slurm.queue import QUEUE_FIELDS, read_queue
from windlass.schedulers.slurm.reasons import read_waiting
from windlass.schedulers.slurm.refusals import read_refusal, read_unavailable
from windlass.schedulers.slurm.submit import read_cancel, read_estimate, read_submit
from windlass.schedulers.slurm.tres import read_tres, read_weights
from windlass.schedulers.slurm.words import read_state

_NUMBERS = ("1", "45_1", "45_[2-5%1]", "58+0", "1-00:00:00", "0:9", "٣", "1e9", "UNLIMITED", "N/A", "(null)")
_NAMES = ("PENDING", "JobId=1 ", "JobName=", " UserId=a(1) GroupId=", "PartitionName=x", "gpu:a:1")
_WORDS = st.sampled_from((*_NUMBERS, *_NAMES, SEPARATOR, "=", ",", "|", "\n", "\r", " "))
_TEXTS = st.one_of(st.text(), st.lists(st.one_of(_WORDS, st.text(max_size=5)), max_size=60).map("".join))
_RECORDED = [load_answer(version, name).out for version in VERSIONS for name in list_answers(version)]
_DAMAGED = st.builds(
    lambda text, at, length: text[:at] + text[at + length :],
    st.sampled_from([text for text in _RECORDED if text]),
    st.integers(0, 5000),
    st.integers(0, 40),
)


def _rows(columns: int) -> st.SearchStrategy[str]:
    return st.lists(st.one_of(_WORDS, st.text(max_size=12)), min_size=columns, max_size=columns).map(SEPARATOR.join)


@given(st.one_of(_TEXTS, _DAMAGED, _rows(len(QUEUE_FIELDS)), _rows(len(HISTORY_FIELDS))))
def test_job_readers(text: str) -> None:
    jobs: list[JobSeen] = [*read_queue(text), *read_history(text), *read_jobs(text)]

    assert all(job.base_id.isdecimal() and count_tasks(job.job_id) >= 1 for job in jobs)
    assert len(merge_jobs(jobs, jobs)) >= len(jobs)


@given(st.one_of(_TEXTS, _DAMAGED))
def test_survey_readers(text: str) -> None:
    survey.read_partitions(text, text, config=survey.read_config(text))
    limits.add_parents(limits.read_associations(text, cluster="x"), text)
    limits.read_qos(text)
    limits.read_default_account(text)
    survey.read_version(text)
    survey.read_gpus(text)
    config = survey.read_config(text)
    survey.read_max_array(config)
    survey.read_has_accounting(config)
    survey.read_enforces_partition_limits(config)
    survey.read_enforces_limits(config)
    survey.read_memory_is_counted(config)
    survey.read_bills_the_largest(config)
    read_tres(text)
    read_weights(text)


@given(_TEXTS, _TEXTS, st.integers(-1, 255))
def test_answer_readers(out: str, err: str, exit_code: int) -> None:
    for read in (read_submit, read_estimate, read_cancel, read_accounting_problem, read_unavailable):
        read(out, err, exit_code)
    read_refusal(err, exit_code)
    drop_refused(QUEUE_FIELDS, err)


@given(_TEXTS)
def test_word_readers(text: str) -> None:
    read_state(text)
    read_waiting(text)
    read_time(text)
    read_seconds(text)
    read_count(text)
    read_token(text)
    pick_valid_ids([text])


@given(st.integers(1, 10**17), st.text(max_size=40).filter(lambda text: "\n" not in text))
def test_a_number_is_found_behind_any_notice(number: int, notice: str) -> None:
    answer = read_submit(f"{notice}\n{number}\n", "", 0)

    assert getattr(answer, "job_id", None) == str(number)


@given(st.text(alphabet=st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=80))
def test_any_name_on_one_line_is_read_back(name: str) -> None:
    values = {"id": "7", "state": "RUNNING", "comment": "windlass:a-aaaaa:1", "name": name}

    (job,) = read_queue(SEPARATOR.join(values.get(field.name, "") for field in QUEUE_FIELDS) + "\n")

    assert (job.name, job.token) == (name.strip(), "windlass:a-aaaaa:1")
