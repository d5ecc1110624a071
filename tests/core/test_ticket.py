"""The first page for a support desk."""

from dataclasses import replace

from tests.builders import PLAN, RECORD, SITE
from windlass.core.ending.symptoms import JobFacts, Symptoms
from windlass.core.ending.ticket import make_advice, make_summary
from windlass.core.finding import Diagnosis
from windlass.core.jobs import JobState
from windlass.core.record import RunState

FAILED = replace(RECORD, state=RunState.FAILED, reason="node failed", nodes="n7", started=1000.0, ended=4600.0)


def test_an_administrator_finds_what_to_look_for() -> None:
    job = JobFacts(state=JobState.NODE_FAILED, exit_code=0, asked_memory_mb=1024, used_memory_mb=900)
    symptoms = Symptoms(record=FAILED, site=SITE, job=job, plan=replace(PLAN, partition="gpu", account="def-prof"))

    text = make_summary(symptoms, (Diagnosis(code="D302", message="a node failed (n7)"),), user="alice")

    for line in (
        "Run digits-k3f9w by alice at alpha failed: node failed",
        "job numbers    45",
        "nodes          n7",
        "Slurm says     node failed, exit code 0:0",
        "started        1970-01-01 00:16:40 UTC",
        "ran for        1 h",
        "memory a node  1024 MB asked for, 900 MB seen in one task",
        "partition      gpu",
        "account        def-prof",
        "D302  a node failed (n7)",
    ):
        assert line in text.splitlines()


def test_what_is_not_known_is_said_to_be_unknown() -> None:
    text = make_summary(Symptoms(record=replace(RECORD, submissions=())), ())

    assert "job numbers    none: it never got one" in text
    assert "nodes          unknown" in text


def test_the_site_file_tells_where_to_send_it() -> None:
    desk = replace(SITE, support="ticket at https://desk.example; not by e-mail")

    assert (
        make_advice(Symptoms(record=FAILED, site=desk)) == "send it to: ticket at https://desk.example; not by e-mail"
    )
    assert "knows no address" in make_advice(Symptoms(record=FAILED, site=SITE))
    assert "knows no address" in make_advice(Symptoms(record=FAILED))
