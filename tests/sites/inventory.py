"""The rows of the inventory as facts of site files: row -> (site, {key: what the document says})."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from windlass.core.units import read_duration


@dataclass(frozen=True)
class Has:
    """A text, or one of several, holds all these words."""

    words: tuple[str, ...]

    def __eq__(self, other: object) -> bool:
        texts = (other,) if isinstance(other, str) else other if isinstance(other, tuple | Mapping) else ()
        return any(all(word in text for word in self.words) for text in texts)

    __hash__ = None  # type: ignore[assignment]


def has(*words: str) -> Has:
    return Has(words)


def time(text: str) -> timedelta:
    return read_duration(text)


# row of the inventory: site, {key of the site file: what the document says}
Rows = dict[str, tuple[str, Mapping[str, object]]]  # id -> the site, and what its file says by dotted key

SDUMONT: Rows = {
    "SD-02": ("sdumont", {"machine.petaflops": 5.1, "machine.cores": 36_472, "machine.nodes": 1_134}),
    "SD-03": (
        "sdumont",
        {"node.b715.count": 198, "node.b715.gpu": "k40", "node.b715.gpus": 2, "node.b715.memory_gb": 64}
        | {"gpu.k40.capability": "3.5", "node.b715.processor": has("E5-2695v2")},
    ),
    "SD-04": (
        "sdumont",
        {"node.ai.count": 1, "node.ai.gpu": "v100", "node.ai.gpus": 8, "node.ai.memory_gb": 384}
        | {"gpu.v100.capability": "7.0", "node.ai.processor": has("6148")},
    ),
    "SD-05": (
        "sdumont",
        {"node.bseq.count": 94, "node.bseq.gpu": "v100", "node.bseq.gpus": 4, "node.bseq.memory_gb": 384},
    ),
    "SD-06": ("sdumont", {"software.operating_system": has("Red Hat", "7.6"), "rules.login_for": has("Slurm")}),
    "SD-07": ("sdumont", {"partition.nvidia.nodes": ("b715",), "partition.nvidia.max_time": time("48h")}),
    "SD-08": ("sdumont", {"partition.nvidia_small.nodes": ("b715",), "partition.nvidia_small.max_time": time("1h")}),
    "SD-09": (
        "sdumont",
        {"partition.nvidia_dev.nodes": ("b715",), "partition.nvidia_dev.max_time": time("20m")}
        | {"partition.nvidia_dev.for_tests": True},
    ),
    "SD-10": ("sdumont", {"partition.nvidia_scal.nodes": ("b715",), "partition.nvidia_scal.max_time": time("18h")}),
    "SD-11": ("sdumont", {"partition.nvidia_long.nodes": ("b715",), "partition.nvidia_long.max_time": time("31d")}),
    "SD-12": (
        "sdumont",
        {"partition.het_scal.nodes": ("het_cpu", "b715"), "partition.het_scal.max_time": time("18h")}
        | {"node.het_cpu.count": 64, "node.het_cpu.gpus": 0, "partition.het_scal.max_nodes": 64},
    ),
    "SD-13": ("sdumont", {"partition.gdl.nodes": ("ai",), "partition.gdl.max_time": time("48h")}),
    "SD-14": (
        "sdumont",
        {"partition.sequana_gpu_shared.nodes": ("bseq",), "partition.sequana_gpu_shared.max_time": time("96h")},
    ),
    "SD-16": ("sdumont", {"login.vpn": has("VPN of LNCC"), "notes": has("VPN first")}),
    "SD-17": ("sdumont", {"login.transfer_note": has("scp", "Syncthing")}),
    "SD-18": ("sdumont", {"login.host": "login.sdumont.lncc.br", "storage.scratch.purpose": has("/scratch/PROJECT")}),
    "SD-19": ("sdumont", {"login.options": {"ServerAliveInterval": "30", "IPQoS": "throughput"}}),
    "SD-20": (
        "sdumont",
        {"root": "$SCRATCH/windlass", "storage.scratch.path": "$SCRATCH", "rules.jobs_from_home": False}
        | {"storage.home.in_jobs": False},
    ),
    "SD-21": ("sdumont", {"onboarding": has("Miniconda", "$SCRATCH")}),
    "SD-25": ("sdumont", {"notes": has("conda", "permission")}),
    "SD-26": ("sdumont", {"gpu.k40.wheels": has("nelsonliu"), "gpu.v100.wheels": None}),
    "SD-27": ("sdumont", {"notes": has("TensorFlow", "both")}),
    "SD-32": ("sdumont", {"notes": has("sequana_g is sequana_gpu_shared")}),
    "SD-35": ("sdumont", {"links": has("jupyter")}),
    "SD-36": ("sdumont", {"rules.requeue": False, "accounting.unit_name": "allocation units (UA)"}),
}
ALLIANCE: Rows = {
    "CA-01": ("narval", {"login.host": "narval.alliancecan.ca"}),
    "CA-02": ("narval", {"onboarding": has("ssh key")}),
    "CA-03": (
        "narval",
        {"storage.home.path": "/home/$USER", "storage.home.quota_gb": 50, "storage.home.quota_files": 500_000}
        | {"storage.home.per_group": False, "storage.home.purpose": has("source code", "job scripts")},
    ),
    "CA-04": (
        "narval",
        {"storage.scratch.quota_gb": 20_000, "storage.scratch.quota_files": 1_000_000}
        | {"storage.scratch.purge_days": 60, "storage.scratch.backed_up": False}
        | {"storage.scratch.advised_file_mb": 100, "storage.scratch.per_group": False},
    ),
    "CA-05": (
        "narval",
        {"storage.project.quota_gb": 1_000, "storage.project.quota_files": 500_000}
        | {"storage.project.per_group": True, "storage.project.purpose": has("times a month")},
    ),
    "CA-06": ("narval", {"local_scratch": "$SLURM_TMPDIR", "notes": has("$SLURM_TMPDIR")}),
    "CA-07": (
        "narval",
        {"storage.nearline.quota_gb": 2_000, "storage.nearline.quota_files": 5_000}
        | {"storage.nearline.per_group": True, "storage.nearline.in_jobs": False}
        | {"storage.nearline.advised_file_mb": 10_000, "storage.nearline.purpose": has("10 GB", "4 TB", "1 TB")},
    ),
    "CA-08": (
        "narval",
        {"storage.home.quota_command": "diskusage_report", "storage.scratch.quota_command": "diskusage_report"},
    ),
    "CA-09": ("narval", {"storage.project.quota_command": "lfs quota -u $USER /project"}),
    "CA-10": ("graham", {"login.transfer_host": "gra-dtn1.alliancecan.ca", "notes": has("data transfer node")}),
    "CA-11": ("narval", {"login.globus_after": time("1m"), "login.globus": "computecanada#narval-dtn"}),
    "CA-13": ("narval", {"rules.data_in_memory_gb": 10}),
    "CA-14": ("narval", {"rules.data_on_node_gb": 100, "notes": has("in the job, in $SLURM_TMPDIR")}),
    "CA-15": ("narval", {"notes": has("larger ones on project")}),
    "CA-16": ("narval", {"notes": has("few large archives")}),
    "CA-22": ("narval", {"rules.tmp_in_memory": True, "notes": has("/tmp", "df")}),
    "CA-25": ("narval", {"root": "$SCRATCH/windlass"}),
    "CA-26": (
        "narval",
        {"rules.needs_account": True, "accounting.account_command": "sshare -U"}
        | {"accounting.account_prefixes": ("def-", "rrg-"), "accounting.account_rule": has("_gpu")},
    ),
    "CA-27": ("narval", {"rules.advised_link_time": time("24h")}),
    "CA-35": ("narval", {"notes": has("no display")}),
    "CA-37": ("narval", {"software.modules": "lmod"}),
    "CA-39": ("narval", {"software.wheelhouse": has("/wheelhouse"), "notes": has("--no-index")}),
    "CA-40": ("narval", {"software.wheel_command": "avail_wheels"}),
    "CA-47": ("narval", {"gpu.a100.capability": "8.0"}),
    "CA-57": (
        "narval",
        {"rules.gpu_dialect": "gres", "rules.compute_internet": False, "rules.login_internet": True},
    ),
    "CA-60": ("narval", {"rules.chain": "array", "rules.advised_link_time": time("24h")}),
}
JSC: Rows = {
    "JS-01": ("jureca-dc", {"links": has("venv_template"), "onboarding": has("JuDoor")}),
    "JS-03": ("jureca-dc", {"rules.login_gpus": False, "rules.login_for": has("compiling", "moving data")}),
    "JS-04": (
        "jureca-dc",
        {"node.gpu.count": 192, "node.gpu.cores": 128, "node.gpu.memory_gb": 512, "node.gpu.gpus": 4}
        | {"gpu.a100.memory_gb": 40, "machine.cores": 192 * 128, "machine.gpus": 192 * 4}
        | {"machine.network": has("HDR"), "node.gpu.processor": has("7742", "2.25 GHz")},
    ),
    "JS-05": (
        "juwels-booster",
        {"node.gpu.count": 936, "node.gpu.cores": 48, "node.gpu.threads_per_core": 2, "node.gpu.gpus": 4}
        | {"machine.cores": 936 * 96, "machine.gpus": 936 * 4, "machine.memory_tb": 468, "gpu.a100.memory_gb": 40},
    ),
    "JS-08": (
        "jureca-dc",
        {"rules.whole_nodes": True, "rules.max_time": time("24h"), "partition.dc-gpu.max_time": time("24h")},
    ),
    "JS-09": ("jureca-dc", {"rules.login_for": has("not for training")}),
    "JS-10": ("jureca-dc", {"rules.needs_account": True, "onboarding": has("JuDoor", "usage agreement")}),
    "JS-12": ("jureca-dc", {"links": has("jupyter"), "notes": has("Jupyter", "nobody types")}),
    "JS-16": (
        "jureca-dc",
        {"software.modules": "lmod", "software.always_load": ("Stages/2024",), "notes": has("compiler, MPI")},
    ),
    "JS-17": ("jureca-dc", {"notes": has("module spider NAME/VERSION")}),
    "JS-21": ("jureca-dc", {"partition.dc-gpu.nodes": ("gpu",)}),
    "JS-24": ("jureca-dc", {"notes": has("reservation")}),
    "JS-27": ("jureca-dc", {"storage.project.path": "/p/project", "storage.scratch.path": "/p/scratch"}),
    "JS-31": ("jureca-dc", {"rules.compute_internet": False}),
    "JS-32": ("jureca-dc", {"rules.login_internet": True, "notes": has("login node first")}),
    "JS-39": ("jureca-dc", {"network.host_suffix": "i"}),
}
CSCS: Rows = {
    "CS-01": ("daint", {"onboarding": has("passport")}),
    "CS-02": ("daint", {"notes": has("never share an account")}),
    "CS-03": (
        "daint",
        {"login.jump": ("ela.cscs.ch",), "login.host": "daint.cscs.ch", "notes": has("ela", "no Slurm")},
    ),
    "CS-04": (
        "daint",
        {"accounting.unit": "node-hours", "accounting.shared_by": "lab"}
        | {"accounting.balance_page": "https://account.cscs.ch"},
    ),
    "CS-05": (
        "daint",
        {"rules.max_nodes_interactive": 3, "links": has("jupyter"), "node.gpu.gpu": "p100", "node.gpu.gpus": 1},
    ),
    "CS-06": ("daint", {"notes": has("Stop My Server")}),
    "CS-08": ("daint", {"root": "$SCRATCH/windlass", "rules.jobs_from_home": False}),
    "CS-09": ("daint", {"software.modules_on_login": False, "software.always_load": ("daint-gpu",)}),
    "CS-10": ("daint", {"rules.poll_s": 60}),
    "CS-11": ("daint", {"notes": has("cancel what has finished")}),
    "CS-12": (
        "daint",
        {"node.gpu.cores": 12, "rules.gpu_dialect": "constraint", "node.gpu.features": ("gpu",)}
        | {"network.env": {"NCCL_DEBUG": "INFO", "NCCL_IB_HCA": "ipogif0", "NCCL_IB_CUDA_SUPPORT": "1"}},
    ),
    "CS-13": (
        "daint",
        {"accounting.period": "quarter", "partition.normal.forbidden": None}
        | {"partition.low.forbidden": "small projects are not entitled to it"},
    ),
    "CS-15": ("daint", {"notes": has("Horovod", "Gloo", "DALI")}),
    "CS-16": ("daint", {"network.interface": "ipogif0"}),
    "CS-17": ("daint", {"notes": has("SPARK_WORKER_CORES=12", "HDFS")}),
    "CS-19": ("daint", {"storage.scratch.quota_files": 1_000_000, "storage.scratch.blocks_jobs": True}),
    "CS-20": ("daint", {"datasets": has("imagenet-train")}),
    "CS-21": ("daint", {"notes": has("TFRecord or LMDB", "1.4 million")}),
    "CS-22": ("daint", {"login.transfer_note": has("$HOME through ela", "git clone")}),
    "CS-23": ("daint", {"login.transfer_note": has("Globus reaches $SCRATCH", "account of your own")}),
    "CS-27": ("daint", {"datasets": has("imagenet-tfrecord")}),
    "CS-28": ("daint", {"gpu.p100.memory_gb": 16}),
    "CS-29": ("daint", {"support": has("ticket at https://jira.cscs.ch", "not by e-mail", "working days")}),
}
WILSON: Rows = {
    "WI-02": ("wilson", {"links": has("jupyter")}),
    "WI-04": ("wilson", {"rules.needs_account": False, "accounting.account_command": has("sacctmgr", "name=$USER")}),
    "WI-05": ("wilson", {"accounting.account_command": has("User,Account,QOS,DefaultQOS"), "qos.opp.is_default": True}),
    "WI-06": ("wilson", {"qos.opp.priority": 0, "qos.opp.max_time": time("8h"), "qos.opp.max_submitted": 50}),
    "WI-07": (
        "wilson",
        {"qos.regular.priority": 25, "qos.regular.max_time": time("24h"), "qos.regular.is_default": False},
    ),
    "WI-08": (
        "wilson",
        {"qos.test.priority": 75, "qos.test.max_time": time("4h"), "qos.test.max_running": 1}
        | {"qos.test.max_submitted": 3, "qos.test.for_tests": True},
    ),
    "WI-09": ("wilson", {"qos.admin.priority": 100, "qos.admin.hidden": True}),
    "WI-10": (
        "wilson",
        {"node.cpu.count": 90, "node.cpu.cores": 16, "partition.cpu_gce.max_nodes": 50}
        | {"partition.cpu_gce.max_time": time("24h"), "partition.cpu_gce.default_time": time("8h")}
        | {"partition.cpu_gce.whole_nodes": True},
    ),
    "WI-11": (
        "wilson",
        {"node.cpu_test.count": 10, "node.cpu_test.cores": 16, "partition.cpu_gce_test.max_nodes": 5}
        | {"partition.cpu_gce_test.max_time": time("4h"), "partition.cpu_gce_test.default_time": time("1h")}
        | {"partition.cpu_gce_test.whole_nodes": True},
    ),
    "WI-12": (
        "wilson",
        {"partition.gpu_gce.nodes": ("a100", "v100", "p100", "p100nvlink"), "partition.gpu_gce.whole_nodes": False}
        | {"partition.gpu_gce.max_time": time("24h"), "partition.gpu_gce.default_time": time("8h")},
    ),
    "WI-13": (
        "wilson",
        {"partition.gpu_gce_ppc.nodes": ("v100nvlinkppc64",), "partition.gpu_gce_ppc.max_nodes": 1}
        | {"partition.gpu_gce_ppc.default_time": time("8h"), "node.v100nvlinkppc64.architecture": "ppc64le"}
        | {"node.v100.architecture": "x86_64"},
    ),
    "WI-14": (
        "wilson",
        {"node.a100.count": 1, "node.a100.gpus": 4, "node.a100.cores": 64, "node.a100.memory_gb": 512}
        | {"gpu.a100.memory_gb": 80, "gpu.a100.cuda_cores": 6912},
    ),
    "WI-15": (
        "wilson",
        {"node.v100.count": 4, "node.v100.gpus": 2, "node.v100.cores": 40, "node.v100.memory_gb": 188}
        | {"gpu.v100.memory_gb": 32, "gpu.v100.cuda_cores": 5120},
    ),
    "WI-16": (
        "wilson",
        {"node.p100.count": 1, "node.p100.gpus": 8, "node.p100.cores": 16, "node.p100.memory_gb": 768}
        | {"gpu.p100.memory_gb": 16, "gpu.p100.cuda_cores": 3584},
    ),
    "WI-17": (
        "wilson",
        {"node.p100nvlink.count": 1, "node.p100nvlink.gpus": 2, "node.p100nvlink.cores": 28}
        | {"node.p100nvlink.memory_gb": 1000, "gpu.p100nvlink.memory_gb": 16, "gpu.p100nvlink.cuda_cores": 3584},
    ),
    "WI-18": (
        "wilson",
        {"node.v100nvlinkppc64.count": 1, "node.v100nvlinkppc64.gpus": 4, "node.v100nvlinkppc64.cores": 32}
        | {"node.v100nvlinkppc64.threads_per_core": 4, "node.v100nvlinkppc64.memory_gb": 1000}
        | {"gpu.v100nvlinkppc64.memory_gb": 32},
    ),
    "WI-19": ("wilson", {"rules.needs_gpu_type": False, "notes": has("first that is free")}),
    "WI-20": ("wilson", {"rules.one_gpu_kind": True}),
    "WI-21": ("wilson", {"notes": has("shared by jobs, a GPU never")}),
    "WI-22": ("wilson", {"rules.gpu_dialect": "gres", "notes": has("counts for each node")}),
    "WI-23": (
        "wilson",
        {"rules.jobs_from_home": False, "storage.home.path": "/nashome", "storage.home.in_jobs": False}
        | {"root": "/work1/$USER/windlass"},
    ),
    "WI-25": ("wilson", {"software.driver": "515.48.07", "software.cuda": "11.7"}),
    "WI-27": ("wilson", {"software.container": "apptainer", "software.container_module": "apptainer"}),
    "WI-28": ("wilson", {"software.container_cache": has("/wclustre/")}),
    "WI-30": ("wilson", {"software.operating_system": has("Linux 7")}),
    "WI-31": ("wilson", {"notes": has("8.4 GB", "/wclustre")}),
    "WI-33": ("wilson", {"software.container_home": "/work1/$USER", "notes": has("--nv", "--home")}),
    "WI-36": (
        "wilson",
        {"partition.gpu_gce.default_cpus_per_gpu": 2, "partition.gpu_gce.default_memory_per_gpu_gb": 30}
        | {"node.a100.cpus_per_gpu": 16, "node.v100.cpus_per_gpu": 20, "node.p100.cpus_per_gpu": 2}
        | {"node.p100nvlink.cpus_per_gpu": 14, "node.v100nvlinkppc64.cpus_per_gpu": 8}
        | {"node.a100.memory_per_gpu_gb": 126, "node.v100.memory_per_gpu_gb": 92, "node.p100.memory_per_gpu_gb": 92}
        | {"node.p100nvlink.memory_per_gpu_gb": 500, "node.v100nvlinkppc64.memory_per_gpu_gb": 250},
    ),
}
ROWS: Rows = {**SDUMONT, **ALLIANCE, **JSC, **CSCS, **WILSON}
