"""What a search knows: its study, on this laptop. Made anew, or caught up with, from what lies at the site."""

from pathlib import Path

from windlass.app.session import Session
from windlass.app.sweeps.looking import SweepReader
from windlass.core.sweep.card import SweepCard
from windlass.core.sweep.trials import Trial
from windlass.core.sweep.wish import list_dimensions
from windlass.edges.study import Study
from windlass.edges.sweep_files import find_journal, find_memory
from windlass.errors import UsageError


def open_study(session: Session, card: SweepCard) -> Study:
    """Where it was begun, or one of this laptop's own, which may be empty."""
    memory = find_memory(session.folders, card.token)
    return Study(_find_file(session, card), card.token, card.sweep, memory=memory)


def catch_up(study: Study, reader: SweepReader, trials: tuple[Trial, ...]) -> None:
    """Trials of the sweep that it has never heard of: another laptop asked for them."""
    assert reader.card is not None
    assert reader.measures is not None
    known = study.list_values()
    for mine, trial in zip(known, trials, strict=False):
        if mine != trial.values:
            raise _make_refusal(reader, reader.card, trial)
    space, curves = list_dimensions(reader.card.sweep), reader.measures.curves
    for trial in trials[len(known) :]:
        study.add(trial, space, curves[trial.number].steps if trial.number in curves else {})
    if len(known) < len(trials):
        study.renew_sampler()


def _make_refusal(reader: SweepReader, card: SweepCard, trial: Trial) -> UsageError:
    name = reader.record.run_id
    return UsageError(
        f"trial {trial.number} of this machine's study is another than that of {name}: another laptop went on with it",
        hint=f"rm {_find_file(reader.session, card)}; windlass sweep resume {name}",
        done="nothing was asked for; the study is made anew from the trials",
    )


def _find_file(session: Session, card: SweepCard) -> Path:
    own = find_journal(session.folders, card.token)
    return Path(card.study) if card.study is not None and Path(card.study).exists() else own
