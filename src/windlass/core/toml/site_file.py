"""A site file: which keys it has, what each may hold, and which must fit together."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from types import MappingProxyType

from windlass.core.site import (
    Accounting,
    Area,
    ChainStyle,
    CostUnit,
    FileTime,
    GpuDialect,
    GpuKind,
    Login,
    Machine,
    ModuleSystem,
    Network,
    NodeType,
    Partition,
    Qos,
    Rules,
    Scheduler,
    Site,
    Software,
)
from windlass.core.toml.leaves import (
    check_env_name,
    check_key,
    check_name,
    choice,
    duration,
    env_value,
    flag,
    line,
    number,
    text,
    whole,
    word,
)
from windlass.core.toml.reading import Many, Named, Problem, Shape, Table, nearest, read_table

_COUNT = whole(1, 10_000_000)
_GIGABYTES = number(0, 1e9)
_TIME = duration(most=timedelta(days=3650))

LOGIN: dict[str, Shape] = {
    "host": word(),
    "user": word(),
    "port": whole(1, 65_535),
    "jump": Many(item=word(), most=16),
    "transfer_host": word(),
    "transfer_root": line(),
    "options": Named(item=line(), check_name=check_name),
    "login_shell": flag(),
    "vpn": line(),
    "globus": line(),
    "globus_after": _TIME,
    "transfer_note": line(),
}
MACHINE: dict[str, Shape] = {
    "nodes": _COUNT,
    "cores": whole(1, 1_000_000_000),
    "gpus": _COUNT,
    "memory_tb": number(0, 1e6),
    "petaflops": number(0, 1e6),
    "network": line(),
    "processor": line(),
}
AREA: dict[str, Shape] = {
    "path": line(),
    "quota_gb": _GIGABYTES,
    "quota_files": _COUNT,
    "per_group": flag(),
    "purge_days": whole(1, 36_500),
    "purge_by": Many(item=choice(FileTime), most=3),
    "backed_up": flag(),
    "in_jobs": flag(),
    "on_login": flag(),
    "blocks_jobs": flag(),
    "advised_file_mb": number(0, 1e9),
    "purpose": line(),
    "quota_command": line(),
}
GPU: dict[str, Shape] = {
    "spelled": word(),
    "memory_gb": _GIGABYTES,
    "capability": word(longest=16),
    "wheels": line(),
    "cuda_cores": _COUNT,
    "link": line(),
}
NODE: dict[str, Shape] = {
    "count": _COUNT,
    "cores": whole(1, 8_192),
    "threads_per_core": whole(1, 16),
    "memory_gb": _GIGABYTES,
    "gpu": word(),
    "gpus": whole(0, 256),
    "architecture": word(longest=32),
    "local_disk_gb": _GIGABYTES,
    "features": Many(item=word()),
    "cpus_per_gpu": whole(1, 8_192),
    "memory_per_gpu_gb": _GIGABYTES,
    "processor": line(),
}
PARTITION: dict[str, Shape] = {
    "nodes": Many(item=word()),
    "max_time": _TIME,
    "default_time": _TIME,
    "max_nodes": _COUNT,
    "min_nodes": _COUNT,
    "whole_nodes": flag(),
    "accounts": Many(item=word()),
    "qos": Many(item=word()),
    "is_default": flag(),
    "for_tests": flag(),
    "category": word(),
    "forbidden": line(),
    "default_cpus_per_gpu": whole(1, 8_192),
    "default_memory_per_gpu_gb": _GIGABYTES,
    "purpose": line(),
}
QOS: dict[str, Shape] = {
    "max_time": _TIME,
    "max_running": _COUNT,
    "max_submitted": _COUNT,
    "max_gpus": _COUNT,
    "priority": whole(0, 2**32),
    "is_default": flag(),
    "hidden": flag(),
    "for_tests": flag(),
    "purpose": line(),
}
ACCOUNTING: dict[str, Shape] = {
    "unit": choice(CostUnit),
    "period": line(),
    "charged_cores_per_node": whole(1, 8_192),
    "balance_command": line(),
    "unit_name": line(),
    "shared_by": line(),
    "balance_page": line(),
    "account_command": line(),
    "account_prefixes": Many(item=word()),
    "account_rule": line(),
}
RULES: dict[str, Shape] = {
    "needs_account": flag(),
    "needs_time": flag(),
    "whole_nodes": flag(),
    "jobs_from_home": flag(),
    "compute_internet": flag(),
    "memory_can_be_asked": flag(),
    "gpu_dialect": choice(GpuDialect),
    "typed_gpus": flag(),
    "needs_gpu_type": flag(),
    "chain": choice(ChainStyle),
    "jobs_submit_jobs": flag(),
    "requeue": flag(),
    "max_submitted": _COUNT,
    "max_array": _COUNT,
    "min_job_time": _TIME,
    "cuts_to_fit": flag(),
    "slurm_mail": flag(),
    "poll_s": whole(1, 86_400),
    "interactive": flag(),
    "max_nodes_interactive": _COUNT,
    "login_services": flag(),
    "max_time": _TIME,
    "names_partition": flag(),
    "advised_link_time": _TIME,
    "time_bins": Many(item=_TIME),
    "tmp_in_memory": flag(),
    "one_gpu_kind": flag(),
    "min_test_time": _TIME,
    "login_gpus": flag(),
    "login_internet": flag(),
    "login_for": line(),
    "data_in_memory_gb": _GIGABYTES,
    "data_on_node_gb": _GIGABYTES,
}
SOFTWARE: dict[str, Shape] = {
    "modules": choice(ModuleSystem),
    "purge_modules": flag(),
    "python": line(),
    "slurm_path": line(),
    "wheelhouse": line(),
    "container": word(),
    "container_module": word(),
    "container_cache": line(),
    "container_home": line(),
    "conda": line(),
    "always_load": Many(item=word()),
    "modules_on_login": flag(),
    "operating_system": line(),
    "driver": word(longest=64),
    "cuda": word(longest=64),
    "wheel_command": line(),
}
NETWORK: dict[str, Shape] = {
    "host_suffix": word(longest=64),
    "interface": word(longest=64),
    "env": Named(item=env_value(), check_name=check_env_name),
}
SITE: dict[str, Shape] = {
    "name": word(longest=64),
    "title": line(),
    "country": line(),
    "category": word(longest=64),
    "replaced_by": line(),
    "machine": Table(fields=MACHINE, kind=Machine),
    "scheduler": choice(Scheduler),
    "root": line(),
    "local_scratch": line(),
    "login": Table(fields=LOGIN, kind=Login),
    "storage": Named(
        item=Table(fields=AREA, kind=Area, needs={"path": 'write where it is: path = "$SCRATCH"'}),
        check_name=check_name,
        name_field="name",
    ),
    "gpu": Named(item=Table(fields=GPU, kind=GpuKind), check_name=check_name, name_field="name", into="gpus"),
    "node": Named(item=Table(fields=NODE, kind=NodeType), check_name=check_name, name_field="name", into="node_types"),
    "partition": Named(
        item=Table(fields=PARTITION, kind=Partition), check_name=check_name, name_field="name", into="partitions"
    ),
    "qos": Named(item=Table(fields=QOS, kind=Qos), check_name=check_name, name_field="name"),
    "accounting": Table(fields=ACCOUNTING, kind=Accounting),
    "rules": Table(fields=RULES, kind=Rules),
    "software": Table(fields=SOFTWARE, kind=Software),
    "network": Table(fields=NETWORK, kind=Network),
    "support": line(),
    "documentation": line(),
    "notes": Many(item=text()),
    "onboarding": Many(item=text()),
    "links": Named(item=line(), check_name=check_name),
    "datasets": Named(item=line(), check_name=check_name),
    "sources": Named(item=line(), check_name=check_key, flatten=True),
    "decisions": Named(item=text(), check_name=check_key, flatten=True),
}
FILE = Table(fields={**SITE, "extends": word(longest=64)})
_MAPPINGS = ("links", "datasets", "sources", "decisions")


def read_site(values: Mapping[str, object], name: str) -> Site | tuple[Problem, ...]:
    """The site, or everything that is wrong with its file. `extends` was resolved by merging the files."""
    made, problems = read_table({key: value for key, value in values.items() if key != "extends"}, Table(fields=SITE))
    if values.get("name", name) != name:
        message = f'the file is called "{name}"; remove the line or rename the file'
        problems += (Problem(path=("name",), message=message),)
    if problems:
        return problems
    for key in _MAPPINGS:
        made[key] = MappingProxyType(made.get(key, {}))
    site = Site(**{**made, "name": name})
    return tuple(_find_conflicts(site)) or site


def find_problems(values: Mapping[str, object]) -> tuple[Problem, ...]:
    """What is wrong with one file by itself; what it leaves out may come from the file it extends."""
    return read_table(values, FILE, partial=True)[1]


def _find_conflicts(site: Site) -> Iterator[Problem]:
    gpus = [one.name for one in site.gpus]
    nodes = [one.name for one in site.node_types]
    levels = [one.name for one in site.qos]
    for node in site.node_types:
        if node.gpu is not None and node.gpu not in gpus:
            yield _unknown(("node", node.name, "gpu"), node.gpu, "gpu", gpus)
    for partition in site.partitions:
        here = ("partition", partition.name)
        yield from (_unknown((*here, "nodes"), one, "node", nodes) for one in partition.nodes if one not in nodes)
        if levels:
            yield from (_unknown((*here, "qos"), one, "qos", levels) for one in partition.qos if one not in levels)
        if partition.max_time and partition.default_time and partition.default_time > partition.max_time:
            yield Problem(path=(*here, "default_time"), message="is longer than max_time")
        if partition.max_nodes is not None and partition.min_nodes > partition.max_nodes:
            yield Problem(path=(*here, "min_nodes"), message="is more than max_nodes")


def _unknown(path: tuple[str, ...], word: str, table: str, known: list[str]) -> Problem:
    found = nearest(word, known)
    meant = f'; did you mean "{found}"?' if found else ""
    return Problem(path=path, message=f"there is no [{table}.{word}]{meant}")
