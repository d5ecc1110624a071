"""What a run needs on nodes without internet, and what is known of it at the site."""

from dataclasses import replace

from windlass.app.session import Session
from windlass.core.facts import Facts
from windlass.core.prefetch import list_files_that_matter, make_prefetch_id, name_card
from windlass.core.prefetched import DamagedCard, PrefetchSeen
from windlass.core.run import RunSpec
from windlass.core.site import Site
from windlass.core.source.code import Code
from windlass.edges.prefetched import fetch_prefetched
from windlass.edges.snapshot import Snapshot


def look_at_prefetch(
    session: Session, site: Site, spec: RunSpec, facts: Facts, *, snapshot: Snapshot, code: Code, ask: bool
) -> PrefetchSeen | None:
    """None where nobody needs it. ask: whether the site may be asked."""
    if spec.prefetch is None and site.rules.compute_internet is not False:
        return None
    seen = PrefetchSeen(
        id=make_prefetch_id(spec),
        is_wanted=spec.prefetch is not None,
        files=list_files_that_matter(spec, code, snapshot.manifest),
    )
    if not ask:
        return seen
    root = facts.root or site.root
    found, homes, moved = fetch_prefetched(session.host(site), root, name_card(seen.id))
    seen = replace(seen, is_asked=True, home_caches=homes, moved=moved)
    return replace(seen, damage=found) if isinstance(found, DamagedCard) else replace(seen, found=found)
