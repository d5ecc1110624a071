"""`data send --with rsync`: a plain folder at the site, file by file, by the rsync that is on both sides."""

from pathlib import Path

from windlass.app.data.globus_sends import expand_path
from windlass.app.session import Session
from windlass.core.shell import quote
from windlass.core.site import Site
from windlass.edges.data_route import make_transfer_site
from windlass.edges.ssh_target import SshTarget
from windlass.errors import UsageError


def make_rsync(session: Session, site: Site, source: Path, path: str) -> list[str]:
    """As words for a shell-less start; quoted, they can be pasted. It may be given again after a cut."""
    if site.is_local:
        raise UsageError(f"{site.name} is this very machine: there is nothing to send by rsync")
    if site.login.transfer_root:
        raise UsageError(f"data reaches {site.name} in two hops, which rsync cannot do", hint="windlass data send")
    where = session.environ.get("WINDLASS_SSH_CONFIG")
    target = SshTarget(site=make_transfer_site(site), config=Path(where) if where else None)
    *ssh, host = target.make_argv(options={})
    slash = "/" if source.is_dir() else ""
    return [
        "rsync",
        "--archive",
        "--partial",
        "--info=progress2",
        "--mkpath",
        f"--rsh={' '.join(map(quote, ssh))}",
        f"{source.absolute()}{slash}",  # `a:b` would be a host, and `-n` an option
        f"{host}:{expand_path(session, site, path)}/",
    ]
