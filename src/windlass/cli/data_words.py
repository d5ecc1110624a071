"""Data sets as people read them: rows, cards, advice, changes of modes."""

import stat
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from windlass.cli.output import Output, make_printable
from windlass.core.shell import quote
from windlass.core.toml.writing import format_key, format_string
from windlass.core.units import Unreadable, format_bytes, format_human_duration, format_seconds, read_memory
from windlass.errors import DataFailed, ExitCode, UsageError

if TYPE_CHECKING:
    from windlass.app.data.advice import Advice
    from windlass.app.data.background_sends import Job
    from windlass.app.data.getting_source import Got
    from windlass.app.data.info import SetInfo
    from windlass.app.data.packing import PackedSet, WouldPack
    from windlass.app.data.room import Room
    from windlass.app.data.sending import Sent
    from windlass.app.data.sets import Change, KnownSet, Removed, Shared, Sharing
    from windlass.app.data.taking import Damage

SENDS_HEAD = ("ID", "NAME", "SITE", "STATE", "DONE", "OF", "RATE", "LEFT", "WORDS")
SETS_HEAD = ("NAME", "FILES", "SIZE", "KIND", "PURGED", "READ BY", "WHERE")
_DAY_S = 86_400
_FEW = 8
_MUCH_DEAD = 0.3


def format_count(count: int, noun: str) -> str:
    """1 file, 50,000 files, 10 classes"""
    ending = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{count:,} {noun}{ending}"


def read_size_bytes(text: object) -> int:
    """`512M` as bytes; nothing is 0: to be chosen."""
    return 0 if text is None else (read_size_mb(str(text)) or 0) << 20


def read_size_mb(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return read_memory(text)
    except Unreadable as problem:
        raise UsageError(f"{text[:80]!r} {problem}", hint="such as 512M or 4G") from problem


# ---- the sets of a site


def make_set_row(known: "KnownSet", now: float) -> tuple[str, ...]:
    one = known.set
    size = "" if one.bytes is None else format_bytes(one.bytes)
    files = "" if one.files is None else f"{one.files:,}"
    return (one.name, files, size, _say_kind(known), _say_purge(known, now), _say_readers(known), one.path)


def _say_kind(known: "KnownSet") -> str:
    kind = f"{known.set.kind}, damaged" if known.set.problem and known.set.kind == "packed" else known.set.kind
    return f"{kind}, the site's" if known.set.of_the_site else kind


def _say_purge(known: "KnownSet", now: float) -> str:
    """By when somebody must have read it again."""
    if known.purge_at is None:
        return ""
    left = known.purge_at - now
    return f"in {int(left // _DAY_S)} days" if left >= _DAY_S else "any day"


def _say_readers(known: "KnownSet") -> str:
    one = known.set
    words = {"all": "everybody", "group": f"group {one.group}", "owner": one.owner or ""}
    return words.get(one.readers or "", "")


def show_info(output: Output, info: "SetInfo", *, with_classes: bool) -> None:
    rows = _list_facts(info)
    width = max(len(label) for label, _ in rows)
    for label, words in rows:
        output.show_words(f"{label:<{width}}  {make_printable(words)}")
    if with_classes:
        output.show("\n".join(f"{number}\t{_show_name(name)}" for number, name in enumerate(info.classes)))


def _list_facts(info: "SetInfo") -> list[tuple[str, str]]:
    rows = [("name", _show_name(info.name)), ("where", f"{info.path}{f' at {info.site}' if info.site else ''}")]
    if info.known is not None and info.known.set.problem:
        rows.append(("damaged", info.known.set.problem))
    if info.files is not None and info.bytes is not None:
        rows.append(("holds", f"{format_count(info.files, 'file')}, {format_bytes(info.bytes)}"))
    if info.shards is not None:
        largest = f", the largest {format_bytes(info.largest_shard)}" if info.largest_shard else ""
        rows.append(("packed", f"{format_count(info.shards, 'shard')}, {format_bytes(info.archived or 0)}{largest}"))
    if info.dead_share:
        advice = ": pack or send it anew to be rid of them" if info.dead_share > _MUCH_DEAD else ""
        rows.append(("dead", f"{100 * info.dead_share:.0f} % of the packed files were replaced or removed{advice}"))
    if info.classes:
        rows.append(("classes", f"{len(info.classes):,}: {_list_few(info.classes)}"))
    if info.columns:
        rows.append(("columns", ", ".join(map(_show_name, info.columns))))
    if info.known is not None:
        rows += _list_place(info.known)
    rows += [(key, str(value)) for key, value in info.about.items() if value not in (None, "")]
    return rows


def _list_place(known: "KnownSet") -> list[tuple[str, str]]:
    one, rows = known.set, []
    if known.area:
        rows.append(("area", known.area))
    if known.purge_at is not None:
        rows.append(("purged", f"{datetime.fromtimestamp(known.purge_at):%Y-%m-%d}, unless it is read before"))
    if one.mode is not None:
        rows.append(("read by", f"{_say_readers(known)} ({stat.filemode(one.mode)[-9:]} {one.owner}:{one.group})"))
    return rows


def _list_few(names: Sequence[str]) -> str:
    shown = ", ".join(map(_show_name, names[:_FEW]))
    return f"{shown}, …" if len(names) > _FEW else shown


def _show_name(name: str) -> str:
    """On one line: a name may hold what ends one."""
    return make_printable(name).replace("\n", "\\n").replace("\t", "\\t")


def format_removal(one: "Removed") -> str:
    if one.only_the_name:
        return f"{one.name}: only the name; {one.path} stays"
    size = f", {format_bytes(one.bytes)}" if one.bytes is not None else ""
    files = f" with {format_count(one.files, 'file')}{size}" if one.files is not None else ""
    return f"{one.name}: {one.path}{files}{format_kept(one)}"


def format_kept(one: "Removed") -> str:
    """What in its folder is not the data set's."""
    return (
        f"; stays there, because it is not the data set's: {', '.join(map(make_printable, one.kept))}"
        if one.kept
        else ""
    )


def show_sharing(output: Output, shared: "Shared", sharing: "Sharing") -> None:
    for change in shared.changes:
        output.show(format_change(change))
    if shared.count > len(shared.changes):
        output.tell(f"and {shared.count - len(shared.changes)} more of the same kind")
    for folder in shared.blocked:
        output.tell(f"{folder} lets them not pass: they cannot reach it until its owner opens it (chmod g+x {folder})")
    if not shared.count:
        output.tell("nothing has to change")
    elif not shared.is_done:
        would = f"{format_count(shared.count, 'change')} would be made"
        output.tell(f"{would}; the same command without --dry-run makes them")
    else:
        again = "" if sharing.undo else f"; windlass data share {shared.set.name} --undo takes it back"
        output.tell(f"{format_count(shared.count, 'change')} made{again}")


def format_change(change: "Change") -> str:
    """rwx------ -> rwxr-x---  alice -> lab  /path"""
    group = "" if change.group == change.old_group else f"  {change.old_group} -> {change.group}"
    return f"{_say_mode(change.old_mode)} -> {_say_mode(change.mode)}{group}  {make_printable(change.path)}"


def _say_mode(mode: int) -> str:
    return stat.filemode(mode)[-9:]


# ---- work


def show_packed(output: Output, packed: "PackedSet") -> None:
    output.show(packed.path)
    for line in packed.told:
        output.tell(f"note: {make_printable(line)}")
    size = f"{format_count(packed.files, 'file')}, {format_bytes(packed.bytes)}"
    classes = f", {format_count(packed.classes, 'class')}" if packed.classes else ""
    output.tell(f"{size} in {format_count(packed.shards, 'shard')}{classes}{_say_delta(packed)}")
    if packed.advice:
        output.tell(packed.advice)


def judge_told(output: Output, told: Sequence[str], source: str, path: str) -> int:
    """The exit code; an error where files of the source should have been taken along and could not be read."""
    from windlass_job.shards.told import find_faults

    faults = find_faults(told)
    if not faults:
        return int(ExitCode.OK)
    if output.as_json:
        return int(ExitCode.FAILED)
    raise DataFailed(
        f"not all files of {source} could be read",
        details=[make_printable(line) for line in faults],
        hint="mend them or leave them out, and give the same command again: only they are added",
        done=f"all others are in {path}",
    )


def _say_delta(packed: "PackedSet") -> str:
    if packed.new_files == packed.files and not packed.dead_files:
        return ""
    if not packed.new_files and not packed.dead_files:
        return "; no file has changed"
    return f"; {packed.new_files:,} new, {packed.dead_files:,} replaced or removed"


def show_trial(output: Output, trial: "WouldPack", room: "Room | None", site: str) -> None:
    """What a dry run found, and what the site's quota would say to it."""
    output.show(f"as it is  {format_count(trial.files, 'file')}, {format_bytes(trial.bytes)} ({trial.layout})")
    after = f"{format_count(count_packed(trial.shards), 'file')}, {format_bytes(trial.archived)}"
    indexes = "its index" if trial.shards == 1 else "an index each"
    output.show(f"packed    {after} ({format_count(trial.shards, 'shard')} with {indexes}, and a card)")
    for line in trial.told:
        output.tell(f"note: {make_printable(line)}")
    _show_room(
        output, room, site, before=(trial.files, trial.bytes), after=(count_packed(trial.shards), trial.archived)
    )
    output.tell("nothing was written")


def count_packed(shards: int) -> int:
    return 2 * shards + 1


def format_damage(one: "Damage") -> str:
    place = f"{one.name!r} in {one.shard}" if one.name is not None else one.shard
    return f"{place}: {one.problem}"


def show_sent(output: Output, sent: "Sent") -> None:
    from windlass.edges.data_route import THIS_MACHINE

    output.show(sent.path)
    for line in sent.told:
        output.tell(f"note: {make_printable(line)}")
    entry = f"[{format_key(('data', sent.name))}]"
    if not sent.is_named:
        entry += f" with source = {format_string(sent.path)}, because {sent.name} is another's name there"
    if sent.is_unchanged:
        output.tell(f"{sent.site} has it as it is: nothing was sent")
        return
    took = format_human_duration(timedelta(seconds=max(1, round(sent.seconds))))
    rate = f" ({format_bytes(int(sent.sent_bytes / sent.seconds))}/s)" if sent.seconds > 0 else ""
    way = "copied on" if sent.host == THIS_MACHINE else "sent over"
    what = f"{format_bytes(sent.sent_bytes)} {way} {sent.host} in {took}{rate}, verified there"
    came, went = format_count(sent.new_files, "file"), f"{sent.removed_files:,}"
    delta = f"; {came} new or changed, {went} replaced or removed" if sent.is_delta else ""
    output.tell(f"{what}{delta}")
    holds = f"{format_count(sent.files, 'file')}, {format_bytes(sent.bytes)}, {format_count(sent.shards, 'shard')}"
    output.tell(f"{sent.name} at {sent.site}: {holds}; in windlass.toml: {entry}")
    if sent.dead_share > _MUCH_DEAD:
        output.tell(
            f"{100 * sent.dead_share:.0f} % of the packed files were replaced or removed: --anew sends it fresh"
        )


def show_got(output: Output, got: "Got") -> None:
    output.show(str(got.path))
    output.tell(
        f"{format_count(got.files, 'file')}, {format_bytes(got.bytes)}; {format_bytes(got.fetched_bytes)} travelled"
    )
    for line in got.left_out:
        output.tell(line)


def make_send_row(job: "Job") -> tuple[str, ...]:
    done, total = format_bytes(job.done_bytes or 0), format_bytes(job.total_bytes or 0)
    return (job.id, job.name, job.site, job.state, done, total, *_tell_pace(job), job.message or "")


def _tell_pace(job: "Job") -> tuple[str, str]:
    """The rate, and the time left at it."""
    if job.state != "running" or not job.rate or job.rate < 1:
        return "-", "-"
    left = job.total_bytes - job.done_bytes  # Globus tells no total
    return f"{format_bytes(int(job.rate))}/s", format_seconds(left / job.rate) if left > 0 else "-"


# ---- advice


def show_advice(output: Output, found: "Advice") -> None:
    more = "more than " if found.is_partial else ""
    output.show(f"as it is  {more}{format_count(found.files, 'file')}, {format_bytes(found.bytes)}")
    if not found.is_packed:
        after = f"{format_count(found.packed_files, 'file')}, {format_bytes(found.packed_bytes)}"
        output.show_words(f"packed    {after}: shards of {format_bytes(found.shard_bytes)}, {found.why_shards}")
    output.show_words(f'in jobs   stage = "{found.stage}": {found.why_stage}')
    before, packed = (found.files, found.bytes), (found.packed_files, found.packed_bytes)
    _show_room(output, found.room, found.site, before=before, after=packed)
    if not found.is_packed:
        verb = "send" if found.is_here else "pack"
        output.tell(f"next: windlass data {verb} {quote(found.what)} --on {found.site}")


def _show_room(
    output: Output, room: "Room | None", site: str, *, before: tuple[int, int], after: tuple[int, int]
) -> None:
    if room is None or room.fits(*after) is None:
        output.show(f"quota     {site} tells none for its data folder")
        return
    output.show_words(f"quota     {room.area} of {site}: {_say_limits(room)}")
    for label, (files, size) in {"as it is": before, "packed": after}.items():
        if label == "packed" and before == after:
            continue
        verdict = "it fits" if room.fits(files, size) else f"does NOT fit: {_say_excess(room, files, size)}"
        output.show_words(f"          {label}: {verdict}")


def _say_limits(room: "Room") -> str:
    parts = []
    if room.limit_files is not None:
        used = f"{room.used_files:,} of " if room.used_files is not None else ""
        parts.append(f"{used}{room.limit_files:,} files")
    if room.limit_bytes is not None:
        used = f"{format_bytes(room.used_bytes)} of " if room.used_bytes is not None else ""
        parts.append(f"{used}{format_bytes(room.limit_bytes)}")
    return f"{', '.join(parts)} ({room.source})"


def _say_excess(room: "Room", files: int, size: int) -> str:
    parts = []
    if room.limit_files is not None and files + (room.used_files or 0) > room.limit_files:
        parts.append(f"{files + (room.used_files or 0) - room.limit_files:,} files too many")
    if room.limit_bytes is not None and size + (room.used_bytes or 0) > room.limit_bytes:
        parts.append(f"{format_bytes(size + (room.used_bytes or 0) - room.limit_bytes)} too much")
    return ", ".join(parts)
