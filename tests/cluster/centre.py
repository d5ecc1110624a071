"""From a site file to the configuration of a real Slurm that judges jobs as the centre does.

Every node of the profile is there, as a node "in the cloud" that is never switched on: slurmctld schedules on it,
and a job that would start stays in CONFIGURING with its nodes. So 5704 nodes cost nothing, and no job ever runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType

from windlass.core.site import GpuDialect, NodeType, Partition, Site

ADDRESS = "10.78.0.1"
OUTSIDERS = "outsiders"  # an account that nobody here has: it owns the partitions that are closed
_NOTHING: Mapping[str, str] = MappingProxyType({})
_MEMORY_MB_WHEN_UNKNOWN = 64_000


@dataclass(frozen=True, kw_only=True)
class Member:
    """One account of the user's, with limits in sacctmgr's words: {"MaxWall": "30"}."""

    account: str
    partition: str | None = None  # None: all
    qos: tuple[str, ...] = ()  # empty: those that the site file offers
    limits: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    group_limits: Mapping[str, str] = field(default_factory=lambda: _NOTHING)  # of all users together


@dataclass(frozen=True, kw_only=True)
class Centre:
    """What a site file does not tell of a centre: who the user is, and how strict slurmctld is."""

    site: Site
    members: tuple[Member, ...]
    user: str = "rosa"
    has_default_account: bool = True  # the first
    enforces_partition_limits: str = "ALL"  # or ANY, NO
    variables: Mapping[str, str] = field(default_factory=lambda: _NOTHING)  # of the user's login shell
    settings: Mapping[str, str] = field(default_factory=lambda: _NOTHING)  # more lines of slurm.conf


def make_files(centre: Centre) -> dict[str, str]:
    """Everything that goes to /etc/slurm."""
    files = {
        "slurm.conf": make_slurm_conf(centre),
        "gres.conf": make_gres_conf(centre.site),
        "slurmdbd.conf": _DATABASE.format(address=ADDRESS, cluster=_cluster_name(centre.site)),
        "cgroup.conf": "",
    }
    if not centre.site.rules.names_partition:
        files["job_submit.lua"] = make_router(centre.site)
    return files


def make_slurm_conf(centre: Centre) -> str:
    site = centre.site
    # Where the script names several partitions for the job, one that takes it is enough.
    enforce = "ANY" if not site.rules.names_partition and centre.enforces_partition_limits == "ALL" else None
    settings = {
        "ClusterName": _cluster_name(site),
        "EnforcePartLimits": enforce or centre.enforces_partition_limits,
        "MaxArraySize": str(site.rules.max_array or 1001),
        "AccountingStorageTRES": ",".join(["gres/gpu", *(f"gres/gpu:{kind}" for kind in _list_types(site))]),
        **({} if site.rules.names_partition else {"JobSubmitPlugins": "lua"}),
        **centre.settings,
    }
    lines = [
        _COMMON.format(address=ADDRESS).strip(),
        *(f"{name}={value}" for name, value in settings.items()),
        *(_make_node(site, one) for one in site.node_types),
        *(line for one in list_partitions(site) for line in [_make_partition(site, one)]),
    ]
    return "\n".join(lines) + "\n"


def make_gres_conf(site: Site) -> str:
    lines = [
        f"NodeName={_name_nodes(one)} Name=gpu{f' Type={kind}' if kind else ''} Count={one.gpus}"
        for one in site.node_types
        if one.gpus
        for kind in [_find_type(site, one)]
    ]
    return "\n".join(lines) + "\n"


def list_partitions(site: Site) -> tuple[Partition, ...]:
    """As Slurm there has them: a site that chooses by itself has one for each kind of node and each bin of time."""
    if site.rules.names_partition:
        return site.partitions
    bins = site.rules.time_bins or (site.rules.max_time or timedelta(days=7),)
    return tuple(
        Partition(name=f"{node.name}_b{number}", nodes=(node.name,), max_time=limit)
        for node in site.node_types
        for number, limit in enumerate(bins, start=1)
    )


def make_router(site: Site) -> str:
    """job_submit.lua: a job that names no partition goes to all that have the right nodes and enough time."""
    rows = [
        f'  {{name = "{one.name}", minutes = {_minutes(one.max_time)}, kind = "{_find_type(site, node)}"}},'
        for one in list_partitions(site)
        for node in [site.node_type(one.nodes[0])]
        if node
    ]
    return _ROUTER.replace("@partitions@", "\n".join(rows))


def make_account_commands(centre: Centre) -> list[list[list[str]]]:
    """Arguments of sacctmgr, in stages: what is in one stage can be done at once. Before slurmctld starts."""
    offered = [one for one in centre.site.qos if not one.hidden]
    default = next((one.name for one in offered if one.is_default), None)
    accounts = list(dict.fromkeys([*(one.account for one in centre.members), OUTSIDERS]))
    first: list[list[str]] = [["add", "account", ",".join(accounts), "Description=x", "Organization=x"]]
    for qos in centre.site.qos:
        limits = {
            "Priority": qos.priority,
            "MaxWall": None if qos.max_time is None else _minutes(qos.max_time),
            "MaxJobsPU": qos.max_running,
            "MaxSubmitJobsPU": qos.max_submitted,
        }
        first.append(["add", "qos", qos.name, *(f"{k}={v}" for k, v in limits.items() if v is not None)])
    alike: dict[tuple[object, ...], list[Member]] = {}
    for one in centre.members:
        alike.setdefault((one.partition, one.qos, tuple(one.limits.items())), []).append(one)
    users = []
    for same in alike.values():
        one, names = same[0], ",".join(member.account for member in same)
        allowed = one.qos or tuple(qos.name for qos in offered)
        users.append(
            [
                *("add", "user", centre.user, f"Account={names}"),
                *([f"Partition={one.partition}"] if one.partition else []),
                *([f"QOS={','.join(allowed)}"] if allowed else []),
                *([f"DefaultQOS={default}"] if default in allowed else []),
                *(f"{name}={value}" for name, value in {**_common_limits(centre.site), **one.limits}.items()),
            ]
        )
    groups = [
        ["modify", "account", one.account, "set", *(f"{name}={value}" for name, value in one.group_limits.items())]
        for one in centre.members
        if one.group_limits
    ]
    # Two that add the same user at once lose accounts; the first one becomes the default.
    return [first, *([one] for one in users), *([groups] if groups else [])]


def make_late_account_commands(centre: Centre) -> list[list[str]]:
    """Limits on GPUs: the database learns that there are GPUs from slurmctld."""
    return [
        ["modify", "qos", qos.name, "set", f"MaxTRESPU=gres/gpu={qos.max_gpus}"]
        for qos in centre.site.qos
        if qos.max_gpus is not None
    ]


def _common_limits(site: Site) -> dict[str, str]:
    return {} if site.rules.max_submitted is None else {"MaxSubmitJobs": str(site.rules.max_submitted)}


def _make_node(site: Site, node: NodeType) -> str:
    kind = _find_type(site, node)
    memory = _MEMORY_MB_WHEN_UNKNOWN if node.memory_gb is None else int(node.memory_gb * 1000)
    words = [
        f"NodeName={_name_nodes(node)} NodeAddr={ADDRESS} State=CLOUD",
        f"Sockets=1 CoresPerSocket={node.cores or 1} ThreadsPerCore={node.threads_per_core}",
        f"RealMemory={memory}",
        *([f"Gres=gpu:{f'{kind}:' if kind else ''}{node.gpus}"] if node.gpus else []),
        f"Feature={','.join(dict.fromkeys((node.architecture, *node.features)))}",
    ]
    return " ".join(words)


def _make_partition(site: Site, partition: Partition) -> str:
    types = [node for name in partition.nodes if (node := site.node_type(name))]
    whole = site.rules.whole_nodes if partition.whole_nodes is None else partition.whole_nodes
    times = [limit for limit in (partition.max_time, site.rules.max_time) if limit is not None]
    closed = partition.forbidden or partition.category not in (None, site.category)
    words = {
        "Nodes": ",".join(_name_nodes(node) for node in types),
        "Default": "YES" if partition.is_default else None,
        "MaxTime": _minutes(min(times)) if times else None,
        "DefaultTime": None if partition.default_time is None else _minutes(partition.default_time),
        "MaxNodes": partition.max_nodes,
        "MinNodes": partition.min_nodes if partition.min_nodes > 1 else None,
        "OverSubscribe": "EXCLUSIVE" if whole else None,
        "AllowAccounts": OUTSIDERS if closed else ",".join(partition.accounts) or None,
        "AllowQos": ",".join(partition.qos) or None,
        "DefCpuPerGPU": partition.default_cpus_per_gpu,
        "DefMemPerGPU": None
        if partition.default_memory_per_gpu_gb is None
        else int(partition.default_memory_per_gpu_gb * 1000),
    }
    return f"PartitionName={partition.name} " + " ".join(f"{k}={v}" for k, v in words.items() if v is not None)


def _find_type(site: Site, node: NodeType) -> str:
    """How Slurm spells the node's GPUs; empty where they have no type."""
    kind = site.gpu(node.gpu) if node.gpu else None
    untyped = site.rules.gpu_dialect is GpuDialect.CONSTRAINT or kind is None
    return "" if untyped or kind is None else kind.spelled or kind.name


def _list_types(site: Site) -> list[str]:
    return list(dict.fromkeys(kind for node in site.node_types if node.gpus and (kind := _find_type(site, node))))


def _name_nodes(node: NodeType) -> str:
    return f"{node.name.replace('_', '')}-[1-{node.count or 1}]"


def _cluster_name(site: Site) -> str:
    return site.name.replace("-", "_")


def _minutes(limit: timedelta | None) -> int:
    return int((limit or timedelta(days=365)).total_seconds()) // 60


_COMMON = """
SlurmctldHost=centre({address})
SlurmUser=slurm
AuthType=auth/munge
MpiDefault=none
MailProg=/bin/true
StateSaveLocation=/run/slurm/state
SlurmdSpoolDir=/run/slurm/spool
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmctldLogFile=/share/log/slurmctld.log
SlurmctldDebug=info
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
# Nodes are said to be on their way for as long as the tests last; PrivateData shows those that are off.
ResumeProgram=/bin/true
SuspendProgram=/bin/true
ResumeTimeout=60000
SuspendTime=60000
PrivateData=cloud
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,bf_interval=1,bf_window=50000,bf_resolution=600,bf_continue
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=256
PriorityType=priority/multifactor
PriorityWeightQOS=2000
MaxJobCount=20000
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={address}
AccountingStorageEnforce=associations,limits,qos
JobAcctGatherType=jobacct_gather/none
GresTypes=gpu
"""

_DATABASE = """
AuthType=auth/munge
DbdHost=centre
DbdAddr={address}
SlurmUser=slurm
PidFile=/run/slurm/slurmdbd.pid
LogFile=/share/log/slurmdbd.log
DebugLevel=info
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=3306
StorageUser=slurm
StoragePass=slurm
StorageLoc=accounts_{cluster}
"""

_ROUTER = """
local partitions = {
@partitions@
}

-- "gpu:a100:4" asks for one kind, "gpu:4" for any; nodes without GPUs have the kind "".
local function list(asked, minutes)
  local wants_gpu = string.find(asked, "gpu") ~= nil
  local kind = string.match(asked, "gpu:(%a[%w_]*)")
  local names = {}
  for _, one in ipairs(partitions) do
    local fits = (one.kind ~= "") == wants_gpu and (kind == nil or kind == one.kind)
    if fits and one.minutes >= minutes then table.insert(names, one.name) end
  end
  return #names > 0 and table.concat(names, ",") or nil
end

function slurm_job_submit(job, parts, uid)
  if job.partition == nil then
    local asked = (job.tres_per_node or "") .. (job.tres_per_job or "") .. (job.tres_per_task or "")
    local minutes = job.time_limit ~= slurm.NO_VAL and job.time_limit or 60
    -- Too long, or of no known kind: to any, and Slurm itself says what is wrong.
    job.partition = list(asked, minutes) or list(asked, 0) or list("gpu", 0)
  end
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, parts, uid)
  return slurm.SUCCESS
end

return slurm.SUCCESS
"""
