"""Slurm's own mail: asked for only where it is known to arrive, since it is off at many centres."""

from dataclasses import replace

from windlass.core.notices import Notices
from windlass.core.plan import Plan, Reason
from windlass.core.site import Site


def add_mail(plan: Plan, site: Site, notices: Notices | None) -> Plan:
    """The same plan where nobody wants mail."""
    if notices is None or notices.mail is None:
        return plan
    if site.rules.slurm_mail:
        reason = Reason(field="mail", value=notices.mail, why="notices.mail of config.toml; Slurm's mail arrives here")
        return replace(plan, mail=notices.mail, reasons=(*plan.reasons, reason))
    why = "does not arrive here" if site.rules.slurm_mail is False else "is not known to arrive here"
    words = f"Slurm's mail {why} (rules.slurm_mail of {site.name}); windlass watch tells instead"
    return replace(plan, reasons=(*plan.reasons, Reason(field="mail", value="none", why=words)))
