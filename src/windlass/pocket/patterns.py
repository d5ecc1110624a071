"""File name patterns of --output and --error: %j, %A_%a, %x, %4t …"""

import re
from collections.abc import Mapping


def expand(pattern: str, values: Mapping[str, str]) -> str:
    """Put the values in; a backslash anywhere switches all patterns off, as sbatch(1) says."""
    if "\\" in pattern:
        return pattern.replace("\\", "")

    def put(match: re.Match[str]) -> str:
        width, letter = match[1], match[2]
        if letter == "%":
            return "%"
        if letter not in values:
            return match[0]
        value = values[letter]
        # Slurm limits the padding to ten digits, and pads numbers only.
        return value.zfill(min(int(width), 10)) if width and value.isdigit() else value

    return re.sub(r"%(\d*)([A-Za-z%])", put, pattern)
