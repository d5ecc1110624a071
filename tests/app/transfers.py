"""What the tests of moving data share: files to send, sites to send them to, and what must be true afterwards."""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import Places
from windlass.app.session import Session
from windlass.core.site import Login, Site
from windlass.edges.data_route import DataRoute, make_transfer_site
from windlass.edges.folders import find_folders
from windlass_job.shards.folder import Folder

SHARD = 1 << 20


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "source"


@pytest.fixture
def site(tmp_path: Path, places: Places) -> Site:
    return make_local_site(tmp_path / "root")


@pytest.fixture
def there(tmp_path: Path) -> Path:
    return tmp_path / "root" / "data" / "pets"


def make_files(folder: Path, *, count: int = 60, size: int = 100_000, seed: int = 1) -> dict[bytes, bytes]:
    """In two classes; the same for the same seed. Their names, as stored, and contents."""
    made = {}
    chance = random.Random(seed)
    for number in range(count):
        name = f"{'cats' if number % 2 else 'dogs'}/{number:04}.jpg"
        made[name.encode()] = chance.randbytes(size + number)
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(made[name.encode()])
    return made


def read_set(folder: Path) -> dict[bytes, bytes]:
    """All files that are alive, each checked against its checksum."""
    with Folder(os.fsencode(folder)) as found:
        return {entry.name: found.read(entry) for entry in found.iterate()}


def list_visible(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")} if folder.is_dir() else set()


def make_local_site(root: Path) -> Site:
    return Site(name="here-too", root=str(root))


@contextmanager
def open_site(site: Site) -> Iterator[Session]:
    """A session; the shared connections it opened are closed behind it."""
    with Session(folders=find_folders(os.environ), environ=os.environ) as session:
        try:
            yield session
        finally:
            if not site.is_local:
                config = Path(os.environ["WINDLASS_SSH_CONFIG"])
                for one in (make_transfer_site(site), site):
                    DataRoute(one, config=config).close_master()


def make_ssh_site(root: Path, **login: object) -> Site:
    return Site(name="hpc", root=str(root), login=Login(**{"host": "site", **login}))  # type: ignore[arg-type]
