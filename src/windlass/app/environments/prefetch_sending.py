"""Caches that were filled on this laptop, on their way to a site: as a data set, packed on the way and verified."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from windlass.app.data.sending import SendOptions, send
from windlass.app.data.sets import look_before_removing, remove_set
from windlass.app.session import Session
from windlass.core.site import Site
from windlass.edges.host import Json
from windlass.errors import PrefetchFailed

Progress = Callable[[int, int], None]


@contextmanager
def send_caches(session: Session, site: Site, caches: Path, name: str, progress: Progress) -> Iterator[Json]:
    """What `lay` of the verb reads. The data set is removed afterwards: what was in it lies in the caches then."""
    stage = caches.with_name("sent")
    shutil.rmtree(stage, ignore_errors=True)
    links = dict(_lay_out(caches, stage))
    if not stage.is_dir():
        raise PrefetchFailed("nothing was fetched into the caches on this machine", done="nothing was sent")
    try:
        sent = send(session, site, stage, name, options=SendOptions(anew=True, kind="folder"), progress=progress)
        yield {"packed": sent.path, "bytes": sent.bytes, "links": links}
        remove_set(session, site, look_before_removing(session, site, name))
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _lay_out(caches: Path, stage: Path) -> Iterator[tuple[str, str]]:
    """Hard links to all files, and the symbolic links apart: a hub keeps each file once, and names that lead to it."""
    for folder, _, names in os.walk(caches):
        below = Path(folder).relative_to(caches)
        if not below.parts or below.parts[0].startswith("."):
            continue  # cards, logs, and our own work
        for one in names:
            path = Path(folder, one)
            if path.is_symlink():
                yield str(below / one), os.readlink(path)  # noqa: PTH115  # the text, not a path
            elif path.is_file():
                (stage / below).mkdir(parents=True, exist_ok=True)
                os.link(path, stage / below / one)
