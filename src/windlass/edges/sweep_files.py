"""What this laptop keeps of sweeps: STATE/sweeps/TOKEN.journal and .sampler (a study), SWEEP.json (as last seen)."""

from pathlib import Path

import msgspec

from windlass.core.sweep.seen import SweepSeen
from windlass.edges.files import make_private_folder, save_file
from windlass.edges.folders import Folders

NAME = "sweeps"


def find_folder(folders: Folders) -> Path:
    return folders.state / NAME


def find_journal(folders: Folders, token: str) -> Path:
    return find_folder(folders) / f"{token}.journal"


def find_memory(folders: Folders, token: str) -> Path:
    """Of the sampler of a study."""
    return find_folder(folders) / f"{token}.sampler"


def save_seen(folders: Folders, seen: SweepSeen) -> None:
    folder = find_folder(folders)
    make_private_folder(folder)
    save_file(folder / f"{seen.sweep_id}.json", _encode(seen), is_durable=False)


def load_seen(folders: Folders, sweep_id: str) -> SweepSeen | None:
    """None: it was never looked at from here, or what was kept cannot be read."""
    try:
        return msgspec.json.decode((find_folder(folders) / f"{sweep_id}.json").read_bytes(), type=SweepSeen)
    except (OSError, msgspec.MsgspecError, UnicodeError):
        return None


def is_seen(folders: Folders, sweep_id: str) -> bool:
    """Whether it was looked at from here, without reading all of its trials."""
    return (find_folder(folders) / f"{sweep_id}.json").is_file()


def list_seen(folders: Folders) -> list[SweepSeen]:
    """The newest look first."""
    try:
        names = [one.stem for one in find_folder(folders).glob("*.json")]
    except OSError:
        return []
    found = [seen for seen in (load_seen(folders, name) for name in names) if seen is not None]
    return sorted(found, key=lambda one: -one.asked)


def _encode(seen: SweepSeen) -> bytes:
    return msgspec.json.encode(seen, enc_hook=lambda value: dict(value.items()))
