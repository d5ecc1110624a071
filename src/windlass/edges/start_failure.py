"""Why a deputy did not start, when the connection itself was good. Pure: what was heard in, error out."""

from windlass.edges.channel import ChannelClosed
from windlass.errors import ConnectionLost, SiteNotReady, WindlassError

_NOT_FOUND = 127
_NOT_EXECUTABLE = 126


def explain_start(closed: ChannelClosed, *, place: str, python: str) -> WindlassError:
    """place: where it was to start, in words."""
    said = "\n".join((closed.noise + "\n" + closed.words).strip().splitlines()[-8:]) or None
    if closed.reason == "too-old":
        return SiteNotReady(
            f"{python} {place} is Python {closed.noise}; Windlass needs 3.6 or newer",
            hint=_name_the_setting(),
        )
    if "Unknown option: -I" in closed.words:
        return SiteNotReady(
            f"{python} {place} is older than Python 3.4; Windlass needs 3.6 or newer",
            said=said,
            hint=_name_the_setting(),
        )
    if closed.reason == "protocol":
        return SiteNotReady(f"another version of Windlass answered {place}", said=said)
    if closed.reason == "silent":
        return ConnectionLost(f"nothing answered {place} in time", said=said)
    if closed.exit_code in (_NOT_FOUND, _NOT_EXECUTABLE) or "not found" in closed.words.lower():
        return SiteNotReady(f"there is no {python} {place}", said=said, hint=_name_the_setting())
    return SiteNotReady(f"our helper does not start {place} (exit code {closed.exit_code})", said=said)


def _name_the_setting() -> str:
    return 'name another one in the site file: [software] python = "/path/to/python3"'
