"""Whether a service is in the environment of a run: told before anything is submitted, where it can be known."""

from windlass.app.planning import Planned
from windlass.app.session import Session
from windlass.core.job import list_software_lines
from windlass.core.record import RunRecord
from windlass.core.run import Environment
from windlass.core.services.card import Card
from windlass.core.services.software import ABSENT, is_among, is_listed, make_install_hint, make_question
from windlass.edges.host import make_command, read_completed
from windlass.errors import ServiceFailed, ServiceMissing

_ASK_S = 60.0


def check_software(
    session: Session, planned: Planned, package: str, *, modules: tuple[str, ...], install: str = ""
) -> None:
    """Raises where it is certainly missing. modules: what Python must be able to import; install: what brings them."""
    if _is_there(session, planned, package, modules) is False:
        raise ServiceMissing(
            f"{' or '.join((install or package).split())} is not in the environment of this run at {planned.site.name}",
            hint=_make_hint(planned, install or package),
            done="nothing was submitted",
        )


def _make_hint(planned: Planned, package: str) -> str:
    seen, site = planned.environment, planned.site
    if seen is None or not seen.is_left_out:
        return make_install_hint(planned.spec.environment, site, package)
    if seen.recipe.existing is not None:  # it is not here: what the run is in is the Python one is in
        return make_install_hint(Environment(), site, package)
    is_asked_for = is_among(seen.recipe.files.values(), package.split())
    return make_install_hint(planned.spec.environment, site, package, is_asked_for=is_asked_for)


def _is_there(session: Session, planned: Planned, package: str, modules: tuple[str, ...]) -> bool | None:
    seen, site, plan = planned.environment, planned.site, planned.plan
    sees_modules = bool(planned.spec.environment.system_packages or plan.modules)
    listed = is_listed(seen, package, sees_modules=sees_modules)
    if listed is not None or (seen is not None and (seen.is_missing or seen.recipe.is_made_by_jobs)):
        return listed
    if plan.modules and not site.software.modules_on_login:
        return None
    question = make_question(list_software_lines(plan), plan.inside, modules)
    shell = ["bash", "-lc" if plan.login_shell else "-c", question]
    [reply] = session.host(site).ask([make_command(shell, timeout_s=_ASK_S, idempotent=True)])
    code = read_completed(reply).exit_code
    return True if code == 0 else False if code == ABSENT else None


def make_missing(session: Session, record: RunRecord, card: Card) -> ServiceMissing | ServiceFailed:
    """What the job found when it began: the run has ended by it."""
    if "is not in the environment" not in card.problem:
        return ServiceFailed(f"run {record.run_id}: {card.problem}", hint=f"windlass logs {record.run_id}")
    package = card.problem.partition(" ")[0]
    return ServiceMissing(
        f"run {record.run_id}: {card.problem} ({card.program})",
        hint=f"on a node with internet: {card.program} -m pip install {package}",
        done="the job has ended",
    )
