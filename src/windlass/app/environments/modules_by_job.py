"""Asking for modules in a short job, for sites whose login nodes have no `module`."""

from collections.abc import Mapping

from windlass.app.environments.modules import Ask
from windlass.app.errands import await_errand, send_errand
from windlass.app.session import Session
from windlass.core.modules.asking import split_answers
from windlass.core.shell import quote
from windlass.core.toml.layers import Flag
from windlass.errors import SiteNotReady

_ANSWER = "modules.txt"
_LONGEST_S = 300


def ask_by_job(session: Session, site_name: str, flags: tuple[Flag, ...], *, wait_s: float) -> Ask:
    """One job for each script; it is gone when its answer is there."""

    def ask(script: str) -> Mapping[str, str]:
        own = {"run.name": "windlass-modules", "run.command": _write_answer(script), "resources.time": f"{_LONGEST_S}s"}
        settings = tuple(Flag(key=key, value=value, option=key) for key, value in own.items())
        _, record = send_errand(session, site_name, (*settings, *flags))
        session.tell(f"job {record.job_id} asks for modules; waiting at most {wait_s:g} s")
        record, payload = await_errand(session, record, _ANSWER, wait_s=wait_s)
        if payload is None:
            raise SiteNotReady(
                f"the job that asked for modules {record.state.said_of_a_run} and left no answer; it was removed",
                hint="windlass modules find NAME --job --wait 3600",
            )
        return split_answers(payload.decode(errors="replace"))

    return ask


def _write_answer(script: str) -> str:
    """The modules of the run are not loaded in it: it is asked from where a job begins."""
    return f"bash -lc {quote(script)} > {_ANSWER}"
