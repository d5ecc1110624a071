"""A table program runs no cell of ours, and reads every number as a number."""

import csv
import io
from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.core.test_spending import BALANCE, GPUS, JOB, WINDOW
from windlass.core.csv_rows import format_row
from windlass.core.spending.report import make_spending
from windlass.core.spending.table import format_csv as format_spending
from windlass.core.spending.uses import Told
from windlass.core.sweep.seen import SweepSeen
from windlass.core.sweep.tables import format_csv as format_trials
from windlass.core.sweep.trials import Trial, TrialState
from windlass.core.sweep.wish import Sweep

FORMULAS = ("=1+1", "+1+1", "-2+3+cmd|' /C calc'!A0", "@SUM(1)", "\t=1+1", "\r=1+1", "\n=1+1", "＝1+1")


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_formula_is_text(formula: str) -> None:
    assert read(format_row(["a", formula]))[0] == ["a", f"'{formula}"]


@pytest.mark.parametrize("cell", [-0.5, -3, "-0.5", "+1e-5", "-inf", "nan", "", "plain", "a=b", "12-3"])
def test_numbers_and_plain_words_stay(cell: object) -> None:
    assert read(format_row([cell, None]))[0] == [str(cell), ""]


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_sweep_has_none(formula: str) -> None:
    values: Mapping[str, str | float] = {formula: formula, "lr": -0.5}
    trial = Trial(number=0, values=values, state=TrialState.FAILED, metric=-0.25, last_line=formula, code=1)
    seen = SweepSeen(sweep_id="s", site="here", sweep=Sweep(metric=formula), trials=(trial,), asked=0.0)

    head, row = read(format_trials(seen))

    assert not [cell for cell in (*head, *row) if cell.startswith(FORMULAS)]
    assert "-0.5" in row
    assert "-0.25" in row


@pytest.mark.parametrize("formula", FORMULAS)
def test_hours_have_none(formula: str) -> None:
    job, balance = replace(JOB, run_id=formula, account=formula), replace(BALANCE, account=formula)
    told = Told(jobs=(job,), balances=(balance,), people={formula: {formula: 3.0}})

    rows = read(format_spending(make_spending("alpha", GPUS, told, WINDOW)))

    hidden = format_spending(make_spending("alpha", GPUS, told, WINDOW), hide=lambda text: text.replace(formula, "***"))

    assert len(rows) == 4
    assert formula not in hidden
    assert not [cell for row in rows for cell in row if cell.startswith(FORMULAS)]
