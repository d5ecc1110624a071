"""What the readers of a dialect answer, besides the jobs of `core/jobs.py`."""

from dataclasses import dataclass
from enum import StrEnum


class RefusalKind(StrEnum):
    """Why a job was not taken; `UNCLEAR` and `UNAVAILABLE` do not say that it was not."""

    ACCOUNT = "account"
    PARTITION = "partition"
    QOS = "qos"
    SUBMIT_LIMIT = "submit limit"  # too many jobs in the queue
    LIMIT = "limit"  # one job asks for more than a limit allows
    TIME = "time"
    NODE_COUNT = "node count"
    NODE_SHAPE = "node shape"  # no node is like that
    CPU = "cpu"
    MEMORY = "memory"
    GPU = "gpu"
    FEATURE = "feature"
    NODE_NAME = "node name"
    ARRAY = "array"
    DEPENDENCY = "dependency"
    RESERVATION = "reservation"
    LICENSE = "license"
    OPTION = "option"
    SCRIPT = "script"
    SITE_RULE = "site rule"  # the centre's own plugin said no
    PERMISSION = "permission"
    NOT_INSTALLED = "not installed"
    UNCLEAR = "unclear"  # the answer was lost: the job may be in the queue
    UNAVAILABLE = "unavailable"  # the controller did not answer: the job is hardly in the queue, but may be
    UNKNOWN = "unknown"

    @property
    def is_certain(self) -> bool:
        """Nothing was submitted, for sure."""
        return self not in (RefusalKind.UNCLEAR, RefusalKind.UNAVAILABLE)


@dataclass(frozen=True, kw_only=True)
class Refusal:
    kind: RefusalKind
    cause: str  # in plain words, with no full stop
    hint: str | None = None
    said: str = ""  # the batch system's own words


@dataclass(frozen=True, kw_only=True)
class Submitted:
    job_id: str
    cluster: str | None = None  # told where a site has several


@dataclass(frozen=True, kw_only=True)
class ExpectedStart:
    """What backfill thinks now; it moves."""

    at: float | None  # seconds since 1970
    nodes: str | None = None
    partition: str | None = None


@dataclass(frozen=True, kw_only=True)
class AccountingUnavailable:
    """The history cannot be asked: an answer, not an error, since the queue and the run folder tell most."""

    cause: str
    said: str = ""
    is_lasting: bool = False  # the site keeps none, rather than: it does not answer now


@dataclass(frozen=True, kw_only=True)
class Unavailable:
    """The batch system did not answer the question."""

    cause: str
    said: str = ""
    is_missing: bool = False  # its programs are not there at all
