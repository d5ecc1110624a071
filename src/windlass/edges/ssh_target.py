"""Where ssh goes and how: a site's login facts as a command line; the user's own configuration does the rest."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass.core.site import Site
from windlass.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class SshTarget:
    """config: in place of ~/.ssh/config."""

    site: Site
    config: Path | None = None
    program: str = "ssh"

    @property
    def host(self) -> str:
        host = self.site.login.host
        if not host or host.startswith("-") or any(char.isspace() for char in host):
            raise UsageError(f"site {self.site.name} has no login host that ssh could use: {host!r}")
        return host

    def make_argv(self, *, options: Mapping[str, str], flags: Sequence[str] = ()) -> list[str]:
        login = self.site.login
        # Of the user's configuration for interactive use, this would get in the way of ours.
        fixed = {
            "RemoteCommand": "none",
            "RequestTTY": "no",
            "ClearAllForwardings": "yes",
            "PermitLocalCommand": "no",
            "ServerAliveInterval": "30",
            "ServerAliveCountMax": "3",
            "ConnectTimeout": "10",
        }
        argv = [self.program]
        argv += ["-F", str(self.config)] if self.config else []
        argv += ["-l", login.user] if login.user else []
        argv += ["-p", str(login.port)] if login.port else []
        argv += ["-J", ",".join(login.jump)] if login.jump else []
        for name, value in {**fixed, **login.options, **options}.items():
            argv += ["-o", f"{name}={value}"]
        return [*argv, *flags, self.host]

    def make_id(self) -> str:
        """Short and ours: OpenSSH's own %C does not contain the jump host, nor the configuration file."""
        login = self.site.login
        parts = (self.host, login.user, login.port, login.jump, sorted(login.options.items()), self.config)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
