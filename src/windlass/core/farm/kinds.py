"""Who set the tasks of a farm, and so how one goes on with them."""

from enum import StrEnum


class TaskKind(StrEnum):
    COMMANDS = "commands"  # `windlass farm`
    TRIALS = "trials"  # `windlass sweep`
    CALLS = "calls"  # of a `windlass.Executor`


def tell_how_to_resume(kind: TaskKind | None, farm: str) -> str:
    """kind: None: it was not kept."""
    if kind is TaskKind.CALLS:
        return f'in Python: windlass.Executor.attach("{farm}")'
    return f"windlass {'sweep' if kind is TaskKind.TRIALS else 'farm'} resume {farm}"


def tell_why_closed(kind: TaskKind | None) -> str:
    if kind is TaskKind.CALLS:
        return "its Executor has ended, or it was cancelled"
    return "the sweep has ended, or it was cancelled" if kind is TaskKind.TRIALS else "it was cancelled"


def list_commands_of_failed(kind: TaskKind | None, farm: str, *, is_closed: bool) -> tuple[str, ...]:
    """What to do about tasks that failed for good: the last one is told where there is room for one."""
    see = f"windlass farm results {farm} --failed"
    if kind is TaskKind.CALLS:
        return (f'in Python call it again; windlass.Executor.attach("{farm}") has the results that are there', see)
    if kind is TaskKind.TRIALS:
        return (f"windlass sweep show {farm}",)
    opened = f"windlass farm resume {farm}, then " if is_closed else ""
    return (see, f"{opened}windlass farm retry {farm}")
