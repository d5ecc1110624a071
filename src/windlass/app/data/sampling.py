"""`sample --on SITE`: a sample taken where the data lies, and brought here."""

import tempfile
from pathlib import Path

from windlass.app.data.getting import get
from windlass.app.data.taking import Sampling, Written, extract_here, find_packed, sample_there
from windlass.app.data.working import Progress, say_nothing, translate
from windlass.app.session import Session
from windlass.core.site import Site
from windlass.errors import UsageError


def fetch_sample(
    session: Session, site: Site, what: str, target: Path, sampling: Sampling, progress: Progress = say_nothing
) -> Written:
    """Only the sample travels."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is there already", hint="name a new folder", done="nothing was written")
    taken = sample_there(session, site, find_packed(session, site, what), sampling)
    if sampling.packed:
        get(session, site, taken.path, target, progress=progress)
        return Written(path=str(target), files=taken.files, bytes=taken.bytes)
    with translate("nothing was written"):
        target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as folder:
        get(session, site, taken.path, Path(folder, "packed"), progress=progress)
        return extract_here(Path(folder, "packed"), target)
