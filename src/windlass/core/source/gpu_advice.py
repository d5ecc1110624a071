"""What to write where a build of PyTorch does not fit the GPUs, and how sure a finding about them is."""

from collections.abc import Callable
from dataclasses import replace

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.placing.misfits import find_misfit
from windlass.core.placing.queues import make_queues
from windlass.core.source.gpu_builds import find_capability, find_last_working, tag_of
from windlass.core.source.software import find_gpu_kinds, find_machine

_MOST_PLACES = 3
_INDEX = "https://download.pytorch.org/whl/"


def soften(case: Case, found: Finding, kind: str) -> Finding:
    """Another kind of GPU, for which there are kernels, may come as well."""
    ways = [f"--gpu {kind}"] if case.site.rules.typed_gpus else []
    ways += [found.hint] if found.hint else []
    message = f"{found.message}; the job may get one"
    return replace(found, severity=Severity.WARNING, message=message, hint=", or ".join(ways) or None)


def list_builds(case: Case) -> list[str]:
    """The same for every finding: what has kernels for all GPUs that may come, else the oldest, and runs on the driver.

    A build of another index only where it is newer than PyPI's. All of them are for x86_64.
    """
    if find_machine(case) not in (None, "x86_64"):
        return []
    software = case.site.software
    kinds = [capability for _, capability in find_gpu_kinds(case)]
    for capabilities in (kinds, kinds[:1]):
        own, other = find_last_working(capabilities, driver=software.driver, cuda=software.cuda)
        if own or other:
            break
    ways = [f'"torch=={own.name}.*" from PyPI'] if own else []
    if other and other.cuda and (own is None or other.version > own.version):
        ways.append(f'"torch=={other.version[0]}.{other.version[1]}.*" with -i {_INDEX}{tag_of(other.cuda)}')
    return ways


def list_places(case: Case, fits: Callable[[int], bool | None]) -> list[str]:
    """Other partitions of the site that could take the run, whose GPUs the build has code for.

    fits: of a capability.
    """
    site, machine = case.site, find_machine(case)
    resources = replace(case.spec.resources, partition=None, gpu=None)
    found: dict[str, list[str]] = {}
    for queue in make_queues(site, case.facts):
        name = queue.kind or queue.gpu
        if name is None or queue.name == case.plan.partition or find_misfit(resources, site, queue) is not None:
            continue
        if queue.architecture is not None and machine not in (None, queue.architecture):
            continue
        kind = site.gpu(name)
        capability = find_capability(name, kind.capability if kind else None)
        if capability is not None and fits(capability):
            found.setdefault(queue.name, []).append(name)
    places = (f"--partition {name} ({', '.join(dict.fromkeys(kinds))})" for name, kinds in found.items())
    return list(places)[:_MOST_PLACES]
