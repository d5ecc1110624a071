"""Which GPUs PyPI's wheels of TensorFlow have code for, by their own word: read by tools/read_tensorflow_wheels.py."""

from collections.abc import Sequence
from dataclasses import dataclass

from windlass.core.source.gpu_builds import code_runs_on

# For Linux x86_64, by release: CUDA, and for what its kernels were compiled; "compute" is compiled on the spot for
# whatever is newer.
_OLD = ("sm_35", "sm_50", "sm_60", "sm_70", "sm_75", "compute_80")
_NEW = ("sm_60", "sm_70", "sm_80", "sm_89", "compute_90")
PYPI: dict[tuple[int, int], tuple[str, tuple[str, ...]]] = {
    (2, 3): ("10.1", ("sm_35", "sm_37", "sm_52", "sm_60", "sm_61", "compute_70")),
    (2, 4): ("11.0", _OLD),
    **{(2, minor): ("11.2", _OLD) for minor in range(5, 12)},
    **{(2, minor): ("11.8", _OLD) for minor in range(12, 15)},
    (2, 15): ("12.2", ("sm_50", "sm_60", "sm_70", "sm_75", "compute_80")),
    (2, 16): ("12.3", ("sm_50", "sm_60", "sm_70", "sm_80", "compute_90")),
    (2, 17): ("12.3", _NEW),
    **{(2, minor): ("12.5", _NEW) for minor in range(18, 22)},
}
NEWEST = max(PYPI)
FIRST_WITH_EXTRA = (2, 14)  # tensorflow[and-cuda] brings CUDA along
# Those of the package `tensorflow` that can use no GPU: at that time `tensorflow-gpu` could.
_WITH_GPUS_OF_1 = (1, 15, 0)


@dataclass(frozen=True, kw_only=True)
class TensorFlow:
    """A wheel that pip would install."""

    version: tuple[int, ...]
    cuda: str | None  # "12.5"; None: not known
    code: tuple[str, ...] | None  # None: not known

    @property
    def name(self) -> str:
        return ".".join(map(str, self.version))

    @property
    def is_for_processors(self) -> bool:
        return (self.version < (2,) and self.version != _WITH_GPUS_OF_1[: len(self.version)]) or (
            self.version[:2] == (2, 0)
        )

    def runs_on(self, capability: int) -> bool | None:
        """None: not known."""
        return code_runs_on(self.code, capability) if self.code is not None else None


def find_tensorflow(version: tuple[int, ...]) -> TensorFlow:
    release = version[:2] if len(version) > 1 else (*version, 0)[:2]
    cuda, code = PYPI.get((release[0], release[1]), (None, None))
    return TensorFlow(version=version, cuda=cuda, code=code)


def list_working(capabilities: Sequence[int]) -> list[TensorFlow]:
    """Releases whose code runs on all of these, the newest first."""
    found = [find_tensorflow(release) for release in sorted(PYPI, reverse=True)]
    return [one for one in found if all(one.runs_on(capability) for capability in capabilities)]
