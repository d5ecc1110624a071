"""`notebook run`: a notebook executed as a batch job, and brought home."""

from dataclasses import replace
from pathlib import Path

from windlass.app.fetching import fetch_run
from windlass.app.planning import Wanted
from windlass.app.services.cards import load_card
from windlass.app.services.software import make_missing
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState
from windlass.core.services.shaping import Service, make_notebook_command, shape_batch
from windlass.core.toml.layers import Flag
from windlass.errors import JobFailed, ServiceMissing, UsageError, WindlassError

PACKAGE = "nbclient"
INSTALL = "nbclient ipykernel"  # what brings all of them
MODULES = ("nbclient", "nbformat", "ipykernel")


def want_execution(wanted: Wanted, notebook: Path) -> Wanted:
    """The project here, with this notebook in place of its command. Relative to the folder one is in."""
    if not notebook.exists():
        raise UsageError(f"there is no file {notebook}", hint="ls *.ipynb")
    if not notebook.is_file() or notebook.suffix != ".ipynb":
        raise UsageError(f"{notebook} is no notebook", hint="windlass notebook run explore.ipynb")
    project = wanted.project.resolve()
    path = notebook.resolve()
    if not path.is_relative_to(project):
        raise UsageError(f"{notebook} is not in the project {project}, which is what travels to the site")
    name = path.relative_to(project).as_posix()
    command = make_notebook_command(name)
    service = Service(name=path.stem, command=command, results=(name,))
    given = frozenset(flag.key for flag in wanted.flags)
    return replace(
        wanted,
        flags=(*wanted.flags, Flag(key="run.command", value=command, option="windlass notebook run")),
        shape=lambda spec: replace(shape_batch(spec, service, given), workdir="."),
    )


def bring_home(session: Session, record: RunRecord) -> Path:
    """Where the executed notebook lies now, as far as it got; the user's own is left as it is."""
    fetched = fetch_run(session, record)
    return fetched.folder / record.results[0]


def find_failure(session: Session, record: RunRecord) -> WindlassError | None:
    """Which cell it was; None where it is done."""
    if record.state is RunState.DONE:
        return None
    card = load_card(session, record)
    if card is None or not card.problem:
        return JobFailed(f"run {record.run_id} {record.state.said_of_a_run}", hint=f"windlass explain {record.run_id}")
    missing = make_missing(session, record, card)
    if isinstance(missing, ServiceMissing):
        return missing
    said = "\n".join(card.traceback) or None
    return JobFailed(f"run {record.run_id}: {card.problem}", said=said, hint=f"windlass logs {record.run_id}")
