"""A site's module system, asked in a login shell: only there is `module` defined."""

from windlass.core.modules.asking import split_answers
from windlass.edges.host import Host, make_command, read_completed

_PATIENCE_S = 180.0  # Lmod without a cache opens every file of a tree


def fetch_answers(host: Host, script: str, *, timeout_s: float = _PATIENCE_S) -> dict[str, str] | None:
    """None: it took too long, or there is no bash."""
    request = make_command(["bash", "-lc", script], timeout_s=timeout_s, idempotent=True)
    done = read_completed(host.ask([request])[0])
    return None if done.timed_out or done.exit_code == 127 else split_answers(done.out)
