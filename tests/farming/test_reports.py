"""What warm workers and pilots write for each other, read back; and how many calls a worker is given."""

from hypothesis import given
from hypothesis import strategies as st

from windlass_job.farming import calling, reports
from windlass_job.farming.reports import Report

NUMBERS = st.integers(0, 2**31)
REPORTS = st.lists(st.tuples(NUMBERS, st.integers(-3, 255), st.binary(max_size=40), st.binary(max_size=60)), max_size=9)


def make_report(task: int, code: int, lines: bytes, content: bytes) -> bytes:
    head = Report(task, 1, code, len(lines), len(content), task * 3, 1.5, 0.25)
    return reports.format_head(head) + lines + content


@given(REPORTS, st.data())
def test_reports_that_are_whole_are_found_and_no_other(
    told: list[tuple[int, int, bytes, bytes]], data: st.DataObject
) -> None:
    pieces = [make_report(*one) for one in told]
    whole = b"".join(pieces)
    cut = data.draw(st.integers(0, len(whole)))

    found = list(reports.find_whole(whole[:cut]))

    sizes = [sum(map(len, pieces[: count + 1])) for count in range(len(pieces))]
    assert len(found) == sum(size <= cut for size in sizes)
    for (task, code, lines, content), (report, at) in zip(told, found, strict=False):
        assert (report.task, report.code) == (task, code)
        assert whole[at : at + report.text] == lines
        assert whole[at + report.text : at + report.text + report.size] == content


@given(NUMBERS, st.integers(1, 99), st.binary(max_size=100), st.binary(max_size=9))
def test_a_call_is_read_as_it_was_written(task: int, attempt: int, row: bytes, before: bytes) -> None:
    content = before + reports.format_call(task, attempt, row)

    found = reports.read_call(content, len(before))

    assert (found.task, found.attempt, found.size) == (task, attempt, len(row))
    assert content[len(before) + reports.CALL_HEAD :] == row


@given(st.none() | st.floats(0, 1e6))
def test_a_worker_has_calls_for_a_moment_and_never_too_many(mean_s: float | None) -> None:
    depth = calling.choose_depth(mean_s)

    assert 1 <= depth <= 2000
    if mean_s is None or mean_s > 1:
        assert depth == 1
    if depth > 2 and mean_s is not None:
        assert depth * mean_s < 0.06 + mean_s


def test_a_token_is_of_a_size_that_a_pipe_never_cuts() -> None:
    assert 4096 % reports.TOKEN.size == 0
