"""The texts of `scontrol show`. Pure."""

import re
from pathlib import PurePath

from windlass.pocket import patterns
from windlass.pocket.hostlist import fold
from windlass.pocket.model import Job, Kind, State
from windlass.pocket.outputs import output_pattern, output_values
from windlass.pocket.programs.squeue_fields import format_memory
from windlass.pocket.settings import Partition, Settings
from windlass.pocket.timeforms import format_long, format_moment


def format_job(job: Job, now: float) -> str:
    request = job.request
    values = output_values(job)
    folder = PurePath(request.chdir)
    output = folder / patterns.expand(output_pattern(job), values)
    error = folder / patterns.expand(request.error, values) if request.error else output
    used = int((job.end_at or now) - job.start_at) if job.start_at and job.state is not State.PENDING else 0
    started = job.state is not State.PENDING and job.start_at is not None
    end = job.end_at
    if end is None and started and job.time_limit_s is not None:
        end = (job.start_at or now) + job.time_limit_s
    array = f" ArrayJobId={job.array_id} ArrayTaskId={job.array_index}" if job.array_id is not None else ""
    if job.array_limit:
        array += f" ArrayTaskThrottle={job.array_limit}"
    uid = request.uid
    lines = [
        f"JobId={job.id}{array} JobName={_plain(job.name)}",
        f"UserId={request.user}({uid}) GroupId={request.user}({uid}) MCS_label=N/A",
        f"Priority={int(not job.is_held)} Nice=0 Account={request.account or '(null)'} QOS={request.qos or 'normal'}",
        f"JobState={job.state} Reason={job.reason} Dependency={request.dependency or '(null)'}",
        f"Requeue={int(request.may_requeue)} Restarts={job.restarts} BatchFlag={int(request.kind is Kind.BATCH)} "
        f"Reboot=0 ExitCode={job.exit_code}:{job.exit_signal}",
        f"RunTime={format_long(used)} TimeLimit={format_long(job.time_limit_s)} TimeMin=N/A",
        f"SubmitTime={format_moment(job.submit_at)} EligibleTime={format_moment(job.begin_at or job.submit_at)}",
        f"AccrueTime={format_moment(job.begin_at or job.submit_at)}",
        f"StartTime={format_moment(job.start_at if started else job.begin_at)} EndTime={format_moment(end)} "
        "Deadline=N/A",
        "SuspendTime=None SecsPreSuspend=0 LastSchedEval=Unknown Scheduler=Main",
        f"Partition={request.partition} AllocNode:Sid={request.submit_host}:0",
        "ReqNodeList=(null) ExcNodeList=(null)",
        f"NodeList={fold(job.node_names) if started else ''}",
    ]
    if started:
        lines.append(f"BatchHost={job.node_names[0]}")
    lines += [
        f"NumNodes={len(job.layout)} NumCPUs={job.cpus} NumTasks={job.tasks} "
        f"CPUs/Task={request.cpus_per_task or 1} ReqB:S:C:T=0:0:*:*",
        f"TRES={_tres(job)}",
        f"Socks/Node=* NtasksPerN:B:S:C={request.ntasks_per_node or 0}:0:*:* CoreSpec=*",
        f"MinCPUsNode={request.min_cpus or 1} MinMemoryNode={format_memory(job.layout[0].memory_mb)} MinTmpDiskNode=0",
        f"Features={request.constraint or '(null)'} DelayBoot=00:00:00",
        f"OverSubscribe={'NO' if request.is_exclusive else 'OK'} Contiguous=0 Licenses=(null) Network=(null)",
        f"Command={_plain(request.command)}",
        f"WorkDir={_plain(request.chdir)}",
    ]
    if job.comment:
        lines.append(f"Comment={_plain(job.comment)}")
    if request.kind is Kind.BATCH:
        lines += [f"StdErr={error}", f"StdIn={request.input or '/dev/null'}", f"StdOut={output}", "Power="]
    if job.gpu_count:
        kind = f"{request.gpu_type}:" if request.gpu_type else ""
        lines.append(f"TresPerNode=gres:gpu:{kind}{job.layout[0].gpus}")
    return "\n   ".join(lines) + "\n"


def format_partition(partition: Partition, settings: Settings) -> str:
    machine = settings.machine
    lines = [
        f"PartitionName={partition.name}",
        "AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL",
        f"AllocNodes=ALL Default={'YES' if partition.is_default else 'NO'} QoS=N/A",
        f"DefaultTime={'NONE' if partition.max_time_s is None else format_long(partition.max_time_s)} "
        "DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO",
        f"MaxNodes=UNLIMITED MaxTime={format_long(partition.max_time_s)} MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED",
        "Nodes=pocket1",
        "PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO",
        f"State=UP TotalCPUs={machine.cpus} TotalNodes=1 SelectTypeParameters=NONE",
        "DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED",
        f"TRES=cpu={machine.cpus},mem={machine.memory_mb}M,node=1"
        + (f",gres/gpu={machine.gpus}" if machine.gpus else ""),
    ]
    return "\n   ".join(lines) + "\n"


def format_node(name: str, settings: Settings, running: list[Job]) -> str:
    machine = settings.machine
    cpus = sum(job.cpus for job in running)
    memory = sum(job.memory_mb for job in running)
    kind = f":{machine.gpu_type}" if machine.gpu_type else ""
    lines = [
        f"NodeName={name} Arch=x86_64 CoresPerSocket={machine.cpus}",
        f"CPUAlloc={cpus} CPUEfctv={machine.cpus} CPUTot={machine.cpus} CPULoad=N/A",
        "AvailableFeatures=(null)",
        "ActiveFeatures=(null)",
        f"Gres={f'gpu{kind}:{machine.gpus}' if machine.gpus else '(null)'}",
        f"NodeAddr=127.0.0.1 NodeHostName={name} Version=22.05.0",
        f"RealMemory={machine.memory_mb} AllocMem={memory} FreeMem=N/A Sockets=1 Boards=1",
        f"State={node_state(cpus, machine.cpus).upper()} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A",
        f"Partitions={','.join(one.name for one in settings.partitions)}",
    ]
    return "\n   ".join(lines) + "\n"


def format_config(settings: Settings, state: str, host: str) -> str:
    values = {
        "ClusterName": "pocket",
        "EnforcePartLimits": "ALL",
        "KillWait": f"{settings.kill_wait_s:g} sec",
        "MaxArraySize": "1001",
        "MinJobAge": "300 sec",
        "SLURM_VERSION": "22.05.0",
        "SlurmctldHost[0]": host,
        "StateSaveLocation": state,
    }
    return "Configuration data of slurm-pocket\n" + "\n".join(f"{key:<23} = {text}" for key, text in values.items())


def node_state(used: int, total: int) -> str:
    if used == 0:
        return "idle"
    return "allocated" if used >= total else "mixed"


def _tres(job: Job) -> str:
    words = [f"cpu={job.cpus}"]
    if job.memory_mb:
        words.append(f"mem={format_memory(job.memory_mb)}")
    words += [f"node={len(job.layout)}", f"billing={job.cpus}"]
    return ",".join(words + ([f"gres/gpu={job.gpu_count}"] if job.gpu_count else []))


def _plain(text: str) -> str:
    return re.sub(r"[\r\n]+", "\\\\n", text)
