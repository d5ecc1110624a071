"""Where this node reads a data set of the run file from."""

import os

from windlass_job import wire
from windlass_job.shards.card import is_packed


def find(name: str) -> str:
    """The folder that this node reads [data.NAME] from; a path is returned as it is."""
    if os.sep in name or is_packed(os.fsencode(name)):
        return name
    variable = wire.make_data_variable(name)
    found = os.environ.get(variable)
    if found is None:
        raise FileNotFoundError(
            "there is no packed data set in {}, and the variable {} is not set: is there a [data.{}] in the run "
            "file?".format(os.path.abspath(name), variable, name)
        )
    return found
