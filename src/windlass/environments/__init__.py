"""The kinds of environments: what the run file says, how it is built at a site, how a job enters it."""

from windlass.core.environment import Kind
from windlass.environments import conda, container, venv

_KINDS: tuple[Kind, ...] = (venv.KIND, conda.KIND, container.KIND)
KINDS: dict[str, Kind] = {one.name: one for one in _KINDS}
