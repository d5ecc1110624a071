"""Secrets of a run as they lie at a site: secrets.env, which only its user can read."""

import json
import os
from typing import Dict, Tuple


def read_secrets(text: str) -> Tuple[Dict[str, str], int]:
    """NAME=value lines with JSON values, and how many lines are something else. Their text is told to nobody."""
    secrets: Dict[str, str] = {}
    bad_lines = 0
    for line in text.split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, value = line.partition("=")
        try:
            # Python 3.6 without a locale cannot pass on an "é" that it did not get from outside.
            secret = os.fsdecode(json.loads(value).encode("utf-8"))
        except (ValueError, AttributeError):
            secret = "\0"
        if name and "\0" not in name + secret:
            secrets[name] = secret
        else:
            bad_lines += 1
    return secrets, bad_lines
