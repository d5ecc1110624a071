"""The first lines of the screen: how many runs there are, and how old is what each site told."""

from windlass import __version__
from windlass.app.record_words import format_ago
from windlass.core.watching.looks import Look
from windlass.core.watching.today import SiteState, Today
from windlass.screen.lines import Line, Part, clean, spread


def make_head(today: Today | None, width: int) -> Line:
    counts = _count(today) if today else "reading what is known …"
    return spread((("windlass top", "bold"), (f"  {counts}", "")), ((f"{__version__}  ? help", "dim"),), width)


def make_site_lines(today: Today, problem: str | None, now: float) -> tuple[Line, ...]:
    """One line for all that answer, one for each that does not. problem: why nothing can be read here at all."""
    good = [_tell_seen(one, now) for one in today.sites if one.look.problem is None]
    lines: list[Line] = []
    if good:
        lines.append((("seen: ", "dim"), (", ".join(good), "")))
    lines += [_tell_lost(one, now) for one in today.troubled]
    if problem is not None:
        lines.append((("! ", "bold red"), (clean(problem), "bold red")))
    return tuple(lines)


def _count(today: Today) -> str:
    counts = ((len(today.running), "running"), (len(today.waiting), "waiting"), (len(today.ended), "ended"))
    words = [f"{count} {name}" for count, name in counts]
    alarms = f"{len(today.alarms)} alarm{'s' if len(today.alarms) != 1 else ''}"
    return ", ".join([*words, alarms] if today.alarms else words)


def _tell_seen(site: SiteState, now: float) -> str:
    age_s = site.look.count_age_s(now)
    if age_s is None:
        return f"{clean(site.name)} not yet asked"
    return f"{clean(site.name)} {format_ago(age_s)} ago"


def _tell_lost(site: SiteState, now: float) -> Line:
    """A site that is lost is a line with its reason, how old the rest is, and what to do."""
    look = site.look
    parts: list[Part] = [("! ", "bold red"), (clean(site.name), "bold red")]
    parts.append((f": no answer{_tell_since(look, now)}{_tell_old(look, now)}", "red"))
    if look.hint:  # first: a narrow terminal cuts the end off
        parts.append((f"  {clean(look.hint)}", "bold"))
    parts.append((f"  {clean(look.problem or '')}", "red"))
    return tuple(parts)


def _tell_since(look: Look, now: float) -> str:
    return f" for {format_ago(now - look.failing_since)}" if look.failing_since is not None else ""


def _tell_old(look: Look, now: float) -> str:
    age_s = look.count_age_s(now)
    return " (never seen)" if age_s is None else f" (seen {format_ago(age_s)} ago)"
