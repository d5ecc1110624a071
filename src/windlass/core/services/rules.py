"""What a site wants of those who work on its nodes themselves."""

from windlass.core.site import Site
from windlass.errors import InteractiveRefused


def check_interactive(site: Site, *, nodes: int, what: str) -> None:
    """what: such as "a shell". Raises where the site's file says that it would be refused, or is unwelcome."""
    page = site.links.get("jupyter")
    instead = f"use the site's own pages: {page}" if page else "windlass run submits a batch job"
    if site.rules.interactive is False:
        raise InteractiveRefused(
            f"{site.name} does not want {what} on its nodes (rules.interactive)", hint=instead, done="nothing was asked"
        )
    most = site.rules.max_nodes_interactive
    if most is not None and nodes > most:
        raise InteractiveRefused(
            f"{what} of {nodes} nodes is more than {site.name} gives: {most} at most (rules.max_nodes_interactive)",
            hint=f"--nodes {most}, or for more: windlass run",
            done="nothing was asked",
        )


def check_login_service(site: Site, *, what: str) -> str | None:
    """A word of caution, or None. Raises where the site forbids it."""
    if site.rules.login_services is False:
        raise InteractiveRefused(
            f"{site.name} does not want {what} on its login nodes (rules.login_services)",
            hint="without --on-site it runs on this machine",
            done="nothing was started",
        )
    if site.rules.login_services is None:
        return (
            f"whether {site.name} allows {what} on its login nodes is not known: it runs there with the least priority"
        )
    return None
