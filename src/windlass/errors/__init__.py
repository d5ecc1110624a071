"""Every error a user can meet: its code, its exit code, what it means and what to do.

The docstring of a class is what `windlass explain CODE` prints.
"""

from collections.abc import Iterator

from windlass.errors.calls import CallFailed, NotSendable, OtherPython, PilotsGone, ResultNotReadable
from windlass.errors.data import (
    ConvertError,
    DataDamaged,
    DataFailed,
    DataInUse,
    DataNotFound,
    LibraryMissing,
    TransferBusy,
    TransferFailed,
)
from windlass.errors.environments import (
    EnvironmentFailed,
    EnvironmentInUse,
    EnvironmentNotFound,
    PrefetchFailed,
    RequirementsInvalid,
    WheelsMissing,
)
from windlass.errors.farms import TasksFailed, TasksInvalid
from windlass.errors.general import (
    CheckFailed,
    ClusterRefused,
    ClusterUnavailable,
    ConfigError,
    ConnectionLost,
    DiskFull,
    ExitCode,
    HostKeyChanged,
    HostUnreachable,
    Interrupted,
    JobFailed,
    LoginNeeded,
    NotFound,
    OutputLost,
    PlanError,
    RunFolderGone,
    SiteNotReady,
    SnapshotError,
    StoreError,
    SubmissionUnclear,
    UsageError,
    WindlassError,
)
from windlass.errors.services import (
    InteractiveRefused,
    ServiceFailed,
    ServiceMissing,
    TunnelFailed,
)
from windlass.errors.watching import ExtraMissing, ServerNotStarted

__all__ = [
    "ERRORS",
    "CallFailed",
    "CheckFailed",
    "ClusterRefused",
    "ClusterUnavailable",
    "ConfigError",
    "ConnectionLost",
    "ConvertError",
    "DataDamaged",
    "DataFailed",
    "DataInUse",
    "DataNotFound",
    "DiskFull",
    "EnvironmentFailed",
    "EnvironmentInUse",
    "EnvironmentNotFound",
    "ExitCode",
    "ExtraMissing",
    "HostKeyChanged",
    "HostUnreachable",
    "InteractiveRefused",
    "Interrupted",
    "JobFailed",
    "LibraryMissing",
    "LoginNeeded",
    "NotFound",
    "NotSendable",
    "OtherPython",
    "OutputLost",
    "PilotsGone",
    "PlanError",
    "PrefetchFailed",
    "RequirementsInvalid",
    "ResultNotReadable",
    "RunFolderGone",
    "ServerNotStarted",
    "ServiceFailed",
    "ServiceMissing",
    "SiteNotReady",
    "SnapshotError",
    "StoreError",
    "SubmissionUnclear",
    "TasksFailed",
    "TasksInvalid",
    "TransferBusy",
    "TransferFailed",
    "TunnelFailed",
    "UsageError",
    "WheelsMissing",
    "WindlassError",
]


def _list_kinds(kind: type[WindlassError]) -> Iterator[type[WindlassError]]:
    yield kind
    for one in kind.__subclasses__():
        yield from _list_kinds(one)


# Every error that this room names, by its code.
ERRORS: dict[str, type[WindlassError]] = {
    kind.code: kind for kind in sorted(_list_kinds(WindlassError), key=lambda kind: kind.code)
}
