"""Wheels as people read them."""

from typing import TYPE_CHECKING

from windlass.cli.output import Output

if TYPE_CHECKING:
    from windlass.app.environments.wheels import Checked
    from windlass.core.wheels.checking import Entry
    from windlass.core.wheels.names import Wheel

FOUND_HEAD = ("NAME", "VERSION", "PYTHON", "PLATFORM", "WHERE")
_CHECKED_HEAD = ("PACKAGE", "ASKED", "VERDICT", "WHEEL", "FOR")
_FEW = 3


def make_found_row(wheel: "Wheel") -> tuple[str, ...]:
    platforms = sorted({tag.rpartition("-")[2] for tag in wheel.tags}) if wheel.file else [""]
    return (wheel.name, str(wheel.version), ", ".join(sorted(wheel.pythons)), ", ".join(platforms), wheel.folder)


def show_checked(output: Output, checked: "Checked", *, only_missing: bool) -> None:
    entries = checked.report.missing if only_missing else checked.report.entries
    if entries:
        output.show_table(_CHECKED_HEAD, [_make_row(one) for one in entries])
    for entry in checked.report.missing:
        if entry.there:
            output.tell(f"{entry.name}: the house has {', '.join(entry.there)}")
        output.tell(f"{entry.name}: fix: {entry.fix}")
    for line in checked.told:
        output.tell(line)
    output.tell(_sum_up(checked))


def _sum_up(checked: "Checked") -> str:
    report = checked.report
    house = f"{checked.wheels:,} wheels of {checked.site} were looked through for {checked.platform}"
    if report.missing:
        names = ", ".join(one.name for one in report.missing[:8])
        return f"{len(report.missing)} of {len(report.entries)} packages are missing: {names}; {house}"
    return f"all {len(report.entries)} packages are there; {house}"


def _make_row(entry: "Entry") -> tuple[str, ...]:
    verdict = str(entry.state) if entry.version is None else f"{entry.state} {entry.version}"
    by = ", ".join(entry.by[:_FEW]) + (" …" if len(entry.by) > _FEW else "")
    return (entry.name, " ".join(entry.wanted[:_FEW]), verdict, entry.wheel or "", by)
