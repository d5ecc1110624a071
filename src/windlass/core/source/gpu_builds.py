"""Which GPUs a build of PyTorch has kernels for, and which driver a CUDA needs. Figures were read from the wheels."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

# PyPI's wheels for Linux x86_64, by release: CUDA, and the architectures in libtorch (none has PTX for newer ones).
PYPI: dict[tuple[int, int], tuple[str, tuple[int, ...]]] = {
    (1, 2): ("10.0", (35, 50, 60, 61, 70, 75)),
    (1, 3): ("10.1", (37, 50, 60, 61, 70, 75)),
    (1, 4): ("10.1", (37, 50, 60, 61, 70, 75)),
    (1, 5): ("10.2", (37, 50, 60, 61, 70, 75)),
    (1, 6): ("10.2", (37, 50, 60, 70, 75)),
    (1, 7): ("10.2", (37, 50, 60, 70, 75)),
    **dict.fromkeys(((1, 8), (1, 9), (1, 10), (1, 11), (1, 12)), ("10.2", (37, 50, 60, 70))),
    **dict.fromkeys(((1, 13), (2, 0)), ("11.7", (37, 50, 60, 70, 75, 80, 86))),
    **dict.fromkeys(((2, 1), (2, 2), (2, 3), (2, 4)), ("12.1", (50, 60, 70, 75, 80, 86, 90))),
    **dict.fromkeys(((2, 5), (2, 6)), ("12.4", (50, 60, 70, 75, 80, 86, 90))),
    (2, 7): ("12.6", (50, 60, 70, 75, 80, 86, 90)),
    **dict.fromkeys(((2, 8), (2, 9), (2, 10)), ("12.8", (70, 75, 80, 86, 90, 100, 120))),
    **dict.fromkeys(((2, 11), (2, 12), (2, 13), (2, 14)), ("13.0", (75, 80, 86, 90, 100, 120))),
    (2, 15): ("13.2", (75, 80, 86, 90, 100, 120)),
}
# Builds of download.pytorch.org, by release and CUDA. What is not here is not known.
_CU126 = (50, 60, 70, 75, 80, 86, 90)
_NEW = (75, 80, 86, 90, 100, 120)
OTHER: dict[tuple[int, int], dict[str, tuple[int, ...]]] = {
    (2, 0): {"11.7": (37, 50, 60, 70, 75, 80, 86), "11.8": (37, 50, 60, 70, 75, 80, 86, 90)},
    (2, 7): {"11.8": (37, 50, 60, 70, 75, 80, 86, 90), "12.6": _CU126, "12.8": _NEW},
    (2, 8): {"12.6": _CU126, "12.8": (70, *_NEW), "12.9": (70, *_NEW)},
    (2, 9): {"12.6": _CU126, "12.8": (70, *_NEW), "13.0": _NEW},
    (2, 11): {"12.6": _CU126, "12.8": _NEW, "13.0": _NEW},
    **{(2, minor): {"12.6": _CU126, "13.0": _NEW, "13.2": _NEW} for minor in (12, 13, 14)},
}
NEWEST = max(PYPI)
# Where the wheels of PyPI run: x86_64 needs this glibc from this release on (manylinux_2_28; before: any).
NEEDS_GLIBC_2_28 = (2, 7)

# The first whose wheel for aarch64 holds code for GPUs; which, was not read. For ppc64le PyPI has no wheel at all.
FIRST_FOR_GPUS_ON_ARM = (2, 11)

# By a word in the name that Slurm or the site gives it; longer words first.
_CAPABILITIES: tuple[tuple[str, int], ...] = (
    *(("gb200", 100), ("gb300", 103), ("gh200", 90), ("b200", 100), ("b300", 103), ("h100", 90), ("h200", 90)),
    *(("h800", 90), ("a100", 80), ("a800", 80), ("a30", 80), ("a40", 86), ("a10", 86), ("a16", 86), ("a2", 86)),
    *(("a6000", 86), ("a5000", 86), ("a4000", 86), ("a4500", 86), ("3090", 86), ("3080", 86), ("4090", 89)),
    *(("l40s", 89), ("l40", 89), ("l4", 89), ("t4", 75), ("2080", 75), ("titanrtx", 75), ("rtx6000", 75)),
    *(("rtx8000", 75), ("v100s", 70), ("v100l", 70), ("v100", 70), ("titanv", 70), ("p100l", 60), ("p100", 60)),
    *(("p40", 61), ("p4", 61), ("1080", 61), ("m40", 52), ("m60", 52), ("k80", 37), ("k40", 35), ("k40m", 35)),
    *(("k20", 35), ("k20x", 35)),
)
# The oldest driver that runs a CUDA of this major version at all (a newer minor one runs on it too).
_DRIVERS = {"11": "450.80.02", "12": "525.60.13", "13": "580.65.06"}
_DRIVERS_10 = {"10.0": "410.48", "10.1": "418.39", "10.2": "440.33"}  # before 11 each minor one needed its own


_CODE = re.compile(r"(sm|compute)_(\d+)[a-z]?")  # as compilers of CUDA call it


@dataclass(frozen=True, kw_only=True)
class Build:
    """A PyTorch that pip would install."""

    version: tuple[int, ...]
    cuda: str | None  # "12.6"; None: not known
    kernels: tuple[int, ...] | None  # None: not known
    is_default: bool = True  # PyPI's own

    @property
    def name(self) -> str:
        return ".".join(map(str, self.version)) + ("" if self.is_default or not self.cuda else f"+{tag_of(self.cuda)}")


def find_build(version: tuple[int, ...], cuda: str | None = None) -> Build:
    """`cuda` as the version (+cu118) or the index says; None: what PyPI has."""
    release = version[:2] if len(version) > 1 else (*version, 0)[:2]
    major, minor = release
    own = PYPI.get((major, minor))
    if version == (1, 3, 0):
        own = None  # dropped sm_35 in 1.3.1; what 1.3.0 holds was not read
    if cuda is None or (own is not None and own[0] == cuda):
        if own is None and (major, minor) > NEWEST:
            # Old architectures do not come back; what is new is not known.
            return Build(version=version, cuda=None, kernels=None)
        return Build(version=version, cuda=own[0] if own else None, kernels=own[1] if own else None)
    kernels = OTHER.get((major, minor), {}).get(cuda)
    if kernels is None and cuda.startswith("12.") and (2, 1) <= (major, minor) <= (2, 6):
        kernels = _CU126  # as PyPI's of these releases
    return Build(version=version, cuda=cuda, kernels=kernels, is_default=False)


def has_kernels(build: Build, capability: int) -> bool | None:
    """Code for 8.0 runs on 8.6, and not the other way round; None: not known."""
    if build.kernels is None:
        is_newer = build.cuda is None and build.version[:2] > NEWEST
        return False if is_newer and capability < min(PYPI[NEWEST][1]) else None
    return any(one // 10 == capability // 10 and one <= capability for one in build.kernels)


def code_runs_on(code: Sequence[str], capability: int) -> bool:
    """Code for 8.0 runs on 8.6 and not the other way round; PTX is compiled for whatever is newer."""
    for one in code:
        match = _CODE.fullmatch(one)
        if match is None:  # a word that is not known is not held against it
            return True
        number = int(match[2])
        is_same_line = number // 10 == capability // 10 or match[1] == "compute"
        if is_same_line and number <= capability:
            return True
    return False


def find_last_working(
    capabilities: Sequence[int], *, driver: str | None = None, cuda: str | None = None
) -> tuple[Build | None, Build | None]:
    """The newest release of PyPI that has kernels for all of them and runs on the driver; the newest of another index.

    `cuda` is the newest that the driver runs, where the driver itself is not known.
    """

    def works(build: Build) -> bool:
        return runs_on(build, driver=driver, cuda=cuda) and all(has_kernels(build, one) for one in capabilities)

    own = [find_build(release) for release in PYPI]
    other = [find_build(release, one) for release, cudas in OTHER.items() for one in cudas]
    return (
        max((one for one in own if works(one)), key=lambda one: one.version, default=None),
        max((one for one in other if works(one)), key=lambda one: (one.version, one.cuda), default=None),
    )


def runs_on(build: Build, *, driver: str | None, cuda: str | None) -> bool:
    """What is not known is not held against it."""
    oldest = find_oldest_driver(build.cuda) if build.cuda else None
    if oldest and driver and _numbers(driver):
        return _numbers(driver) >= _numbers(oldest)
    return not (build.cuda and cuda and not driver and _numbers(build.cuda)[:1] > _numbers(cuda)[:1])


def find_first_working(capability: int) -> Build | None:
    """The oldest release of PyPI that has kernels for a GPU that is newer than the rest."""
    own = [find_build(release) for release in sorted(PYPI)]
    return next((one for one in own if has_kernels(one, capability)), None)


def find_capability(name: str, written: str | None = None) -> int | None:
    """8.0 -> 80, by what the site file says, else by the GPU's name; None: not known."""
    if written and (match := re.fullmatch(r"(?:sm_?)?(\d+)\.?(\d)", written.strip())):
        return int(match[1] + match[2])
    words = re.sub(r"[^a-z0-9]+", " ", name.lower()).split()
    joined = "".join(words)
    for known, capability in _CAPABILITIES:
        if known in words or (len(known) > 4 and known in joined):
            return capability
    return next((capability for known, capability in _CAPABILITIES if any(_begins(w, known) for w in words)), None)


def _begins(word: str, known: str) -> bool:
    """`a100l`, `h100sxm`, `v100x4`: the name goes on with letters."""
    return len(known) > 3 and re.fullmatch(rf"{known}[a-z]\w*", word) is not None


def format_capability(capability: int) -> str:
    return f"{capability // 10}.{capability % 10}"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(one) for one in re.findall(r"\d+", version))


def find_oldest_driver(cuda: str) -> str | None:
    return _DRIVERS_10.get(cuda) or _DRIVERS.get(cuda.partition(".")[0])


def tag_of(cuda: str) -> str:
    """12.6 -> cu126"""
    return "cu" + cuda.replace(".", "")


def read_tag(tag: str) -> str | None:
    """cu126 -> 12.6"""
    match = re.fullmatch(r"cu(\d\d)(\d)", tag)
    return f"{match[1]}.{match[2]}" if match else None
