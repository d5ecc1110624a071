"""Whether a run's modules can be loaded: what happened when a login shell of the site loaded them as the job will."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

# Lmod breaks its sentences where the terminal ends, and Tcl 3.2 calls nothing a failure.
_ABSENT = re.compile(
    r"The following module\(s\) are unknown:|Unable to locate a modulefile for|"
    r"These\s+module\(s\)\s+(?:or\s+extension\(s\)\s+)?exist\s+but\s+cannot\s+be\s+loaded\s+as\s+requested"
)
_LONGEST = 400


@dataclass(frozen=True, kw_only=True)
class ModulesSeen:
    """One trial; kept for ten minutes, so plain values only."""

    failed: str | None = None  # the first that could not be loaded
    said: str = ""  # why, in the words of the module system
    is_absent: bool = False  # there is none of that name, or not before others: certain. Else it may load on a node
    near: tuple[str, ...] = ()  # names that may be meant
    load: tuple[str, ...] = ()  # what to load instead, where that is known
    loaded: tuple[str, ...] = ()  # what was loaded in the end, by itself or with others
    python: str | None = None  # "3.11.4": what python3 then was
    brings_python: bool = False  # and it was another one than without modules


def read_trial(answers: Mapping[str, str]) -> ModulesSeen | None:
    """None: it did not come to an end."""
    loads = [
        (question.removeprefix("load "), said) for question, said in answers.items() if question.startswith("load ")
    ]
    for place, (name, said) in enumerate(loads):
        is_last = place == len(loads) - 1
        if _ABSENT.search(said) or (is_last and "failed" in answers):
            return ModulesSeen(failed=name, said=_shorten(said), is_absent=_ABSENT.search(said) is not None)
    if "loaded" not in answers:
        return None
    where, _, version = answers.get("python", "").partition("\n")
    return ModulesSeen(
        loaded=read_loaded(answers["loaded"]),
        python=version.strip() if re.fullmatch(r"\d+\.\d+\.\d+", version.strip()) else None,
        brings_python=where == "other",
    )


def read_loaded(text: str) -> tuple[str, ...]:
    """Of $LOADEDMODULES."""
    return tuple(one for one in text.strip().split(":") if one)


def _shorten(said: str) -> str:
    """Lmod's first sentences, without its advice."""
    words = said.replace("Lmod has detected the following error:", "")
    words = re.split(
        r"Please check the spelling|Try: \"module spider|While processing the following module|\n\s*\n\s*\n", words
    )[0]
    line = " ".join(words.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} …"
