"""The texts of sbatch's refusals, one entry each; the first that matches decides, so special ones come first."""

from typing import NamedTuple

from windlass.schedulers.answers import RefusalKind


class KnownRefusal(NamedTuple):
    text: str  # in lower case, as part of what was said
    kind: RefusalKind
    cause: str
    hint: str | None = None


_SHOW_SITE = "`windlass site show SITE` lists what you may use there"
FIND_SLURM = "set software.slurm_path or login.login_shell in the site file"
_KIND = RefusalKind

KNOWN_REFUSALS: tuple[KnownRefusal, ...] = (
    # -- the answer got lost: the job may be there -------------------------------------------------------------
    KnownRefusal("timed out", _KIND.UNCLEAR, "Slurm's answer did not come: it may or may not have taken the job"),
    KnownRefusal(
        "zero bytes were transmitted or received",
        _KIND.UNCLEAR,
        "Slurm's answer was cut: it may or may not have taken the job",
    ),
    KnownRefusal(
        "message receive failure", _KIND.UNCLEAR, "Slurm's answer got lost: it may or may not have taken the job"
    ),
    KnownRefusal(
        "unexpected message received",
        _KIND.UNCLEAR,
        "Slurm's answer was not understood: it may or may not have taken the job",
    ),
    KnownRefusal(
        "connection reset by peer", _KIND.UNCLEAR, "the connection to Slurm broke: it may or may not have taken the job"
    ),
    KnownRefusal("unable to contact slurm controller", _KIND.UNAVAILABLE, "Slurm's controller does not answer"),
    KnownRefusal(
        "slurm backup controller in standby",
        _KIND.UNAVAILABLE,
        "Slurm's main controller is away and its backup not yet on duty",
    ),
    KnownRefusal(
        "communication connection failure", _KIND.UNAVAILABLE, "the connection to Slurm's controller could not be made"
    ),
    KnownRefusal("message send failure", _KIND.UNAVAILABLE, "Slurm's controller could not be reached"),
    KnownRefusal("transport endpoint is not connected", _KIND.UNAVAILABLE, "Slurm's controller could not be reached"),
    KnownRefusal(
        "unable to establish controller machine",
        _KIND.UNAVAILABLE,
        "this host does not know where Slurm's controller is",
    ),
    KnownRefusal(
        "could not establish a configuration source", _KIND.UNAVAILABLE, "this host has no Slurm configuration"
    ),
    KnownRefusal(
        "unable to process configuration file", _KIND.UNAVAILABLE, "Slurm's configuration on this host is broken"
    ),
    KnownRefusal(
        "protocol authentication error", _KIND.UNAVAILABLE, "Slurm does not accept this host's identity (munge)"
    ),
    KnownRefusal("munge encode failed", _KIND.UNAVAILABLE, "the munge service of this host is down"),
    KnownRefusal("slurm temporarily unable to accept job", _KIND.UNAVAILABLE, "Slurm takes no jobs for the moment"),
    # -- limits: one word, then a general line -----------------------------------------------------------------
    KnownRefusal(
        "submitjob",
        _KIND.SUBMIT_LIMIT,
        "you have as many jobs in the queue as you may; every task of an array counts",
        "wait until some end, or use fewer links (max_links under [checkpoint])",
    ),
    KnownRefusal(
        "maxwall",
        _KIND.TIME,
        "the job asks for more time than your account or QOS allows",
        "set a shorter link_time under [resources]: the run becomes a longer chain",
    ),
    KnownRefusal(
        "maxgres",
        _KIND.GPU,
        "the job asks for more GPUs than your account or QOS allows",
        "ask for fewer GPUs, or another qos",
    ),
    KnownRefusal(
        "maxcpu",
        _KIND.CPU,
        "the job asks for more CPUs than your account or QOS allows",
        "ask for fewer CPUs, or another qos",
    ),
    KnownRefusal(
        "maxmem",
        _KIND.MEMORY,
        "the job asks for more memory than your account or QOS allows",
        "ask for less memory, or another qos",
    ),
    KnownRefusal(
        "maxnode",
        _KIND.NODE_COUNT,
        "the job asks for more nodes than your account or QOS allows",
        "ask for fewer nodes, or another qos",
    ),
    KnownRefusal(
        "mingres",
        _KIND.GPU,
        "the QOS wants at least some GPUs, and the job asks for fewer",
        "ask for GPUs, or another qos or partition",
    ),
    KnownRefusal(
        "grpbillingminutes",
        _KIND.LIMIT,
        "the hours granted to the account are used up",
        "choose another account",
    ),
    KnownRefusal(
        "grpcpuminutes",
        _KIND.LIMIT,
        "the hours granted to the account are used up",
        "choose another account",
    ),
    KnownRefusal(
        "job violates accounting/qos policy",
        _KIND.LIMIT,
        "the job is over a limit of your account or QOS (jobs in the queue, size or time)",
        _SHOW_SITE,
    ),
    # -- who and where -----------------------------------------------------------------------------------------
    KnownRefusal(
        "invalid account or account/partition combination",
        _KIND.ACCOUNT,
        "the account is wrong, is missing, has expired, or may not use this partition",
        "set account under [resources]; " + _SHOW_SITE,
    ),
    KnownRefusal(
        "account not permitted to use this partition",
        _KIND.ACCOUNT,
        "the partition does not take this account",
        _SHOW_SITE,
    ),
    KnownRefusal("invalid wckey", _KIND.ACCOUNT, "this site wants a valid workload key (wckey)", _SHOW_SITE),
    KnownRefusal(
        "invalid partition",
        _KIND.PARTITION,
        "there is no such partition",
        "set partition under [resources]; " + _SHOW_SITE,
    ),
    KnownRefusal(
        "user's group not permitted to use this partition",
        _KIND.PARTITION,
        "your group may not use this partition",
        _SHOW_SITE,
    ),
    KnownRefusal(
        "required partition not available",
        _KIND.PARTITION,
        "the partition is down",
        "wait, or choose another partition",
    ),
    KnownRefusal(
        "requested partition configuration not available now",
        _KIND.PARTITION,
        "the partition cannot give this now",
        "wait, or choose another partition",
    ),
    KnownRefusal(
        "no partition specified or system default partition",
        _KIND.PARTITION,
        "this site has no default partition, so one must be named",
        "set partition under [resources]; " + _SHOW_SITE,
    ),
    KnownRefusal(
        "invalid qos",
        _KIND.QOS,
        "there is no such QOS, or your account may not use it",
        "set qos under [resources]; " + _SHOW_SITE,
    ),
    KnownRefusal(
        "qos not permitted to use this partition",
        _KIND.QOS,
        "the partition does not take this QOS",
        _SHOW_SITE,
    ),
    KnownRefusal("no cluster '", _KIND.OPTION, "Slurm knows no such cluster"),
    # -- what ---------------------------------------------------------------------------------------------------
    KnownRefusal(
        "invalid time-min specification", _KIND.TIME, "the shortest acceptable time is longer than the time asked for"
    ),
    KnownRefusal(
        "requested time limit is invalid",
        _KIND.TIME,
        "the job asks for more time than the partition allows, or the site wants a time and none was given",
        "set a shorter link_time under [resources]: the run becomes a longer chain",
    ),
    KnownRefusal(
        "time limit specification required",
        _KIND.TIME,
        "this site wants a time limit",
        "set time under [resources]",
    ),
    KnownRefusal(
        "memory specification can not be satisfied",
        _KIND.MEMORY,
        "no node has so much memory, or memory cannot be asked for at this site",
        "ask for less memory, or set memory_can_be_asked = false in the site file",
    ),
    KnownRefusal(
        "are mutually exclusive", _KIND.MEMORY, "two ways of asking for memory clash; one may come from an outer job"
    ),
    KnownRefusal(
        "cpu count per node can not be satisfied",
        _KIND.CPU,
        "no node has so many CPUs",
        "ask for fewer CPUs a task",
    ),
    KnownRefusal(
        "more processors requested than permitted",
        _KIND.CPU,
        "the job asks for more CPUs than the partition has or allows",
        "ask for fewer",
    ),
    KnownRefusal("cpu count specification invalid", _KIND.CPU, "the number of CPUs makes no sense to Slurm"),
    KnownRefusal(
        "node count specification invalid",
        _KIND.NODE_COUNT,
        "the partition does not allow so many (or so few) nodes",
        "ask for another number of nodes",
    ),
    KnownRefusal(
        "invalid generic resource",
        _KIND.GPU,
        "this site has no such kind of GPU, or spells it otherwise",
        "set gpu under [resources]; " + _SHOW_SITE,
    ),
    KnownRefusal(
        "requested gres option unsupported",
        _KIND.GPU,
        "this site does not take GPUs asked for in this way",
        "set gpu_dialect in the site file",
    ),
    KnownRefusal(
        "cannot find gpu specification",
        _KIND.GPU,
        "this partition is for jobs that ask for GPUs",
        "ask for GPUs, or choose another partition",
    ),
    KnownRefusal(
        "invalid gres",
        _KIND.GPU,
        "this site has no such kind of GPU, or spells it otherwise",
        _SHOW_SITE,
    ),
    KnownRefusal(
        "invalid tres",
        _KIND.GPU,
        "this site has no such kind of resource, or spells it otherwise",
        _SHOW_SITE,
    ),
    KnownRefusal(
        "requested node configuration is not available",
        _KIND.NODE_SHAPE,
        "no node of the partition has all that the job asks for (GPUs and their kind, CPUs, memory)",
        _SHOW_SITE,
    ),
    KnownRefusal(
        "required node not available",
        _KIND.NODE_SHAPE,
        "the nodes it needs are down, drained or reserved",
        "wait, or do not ask for these nodes",
    ),
    KnownRefusal(
        "invalid feature specification",
        _KIND.FEATURE,
        "no node has this feature",
        "correct constraint under [resources]",
    ),
    KnownRefusal("invalid node name", _KIND.NODE_NAME, "there is no node of this name"),
    KnownRefusal(
        "invalid job array",
        _KIND.ARRAY,
        "the chain has more links than one array may have at this site (MaxArraySize)",
        'set max_links under [checkpoint], or chain = "dependency" in the site file',
    ),
    KnownRefusal(
        "job dependency problem",
        _KIND.DEPENDENCY,
        "the job to wait for does not exist, or Slurm cannot read the dependency",
    ),
    KnownRefusal(
        "requested reservation",
        _KIND.RESERVATION,
        "there is no such reservation, or it is not yours",
        "correct reservation under [resources]",
    ),
    KnownRefusal(
        "access denied to requested reservation",
        _KIND.RESERVATION,
        "the reservation is not yours",
        "correct reservation under [resources]",
    ),
    KnownRefusal("invalid license", _KIND.LICENSE, "this site has no such license"),
    KnownRefusal("maximum number of jobs", _KIND.SUBMIT_LIMIT, "Slurm's queue is full", "try again later"),
    # -- the script ---------------------------------------------------------------------------------------------
    KnownRefusal("dos line breaks", _KIND.SCRIPT, "the script has Windows line ends"),
    KnownRefusal("does not look like a batch script", _KIND.SCRIPT, "the script does not begin with #!"),
    KnownRefusal("batch script is empty", _KIND.SCRIPT, "the script is empty"),
    KnownRefusal("unable to open file", _KIND.SCRIPT, "the script is not there or cannot be read"),
    KnownRefusal(
        "pathname of a file, directory or other parameter too long",
        _KIND.SCRIPT,
        "the script, a path or a value is too long for this Slurm",
    ),
    KnownRefusal("unrecognized option", _KIND.OPTION, "this Slurm is too old or too new for an option of the script"),
    KnownRefusal("invalid --", _KIND.OPTION, "this Slurm cannot read a value of the script"),
    KnownRefusal("invalid time specification", _KIND.OPTION, "this Slurm cannot read a time in the script"),
    # -- who says no, without saying why -------------------------------------------------------------------------
    KnownRefusal("access/permission denied", _KIND.PERMISSION, "you may not do that"),
    KnownRefusal("user not found on host", _KIND.PERMISSION, "Slurm's controller does not know your user name"),
    KnownRefusal("invalid user id", _KIND.PERMISSION, "Slurm's controller does not know your user"),
    KnownRefusal(
        "unspecified error",
        _KIND.SITE_RULE,
        "a rule of this centre's own refused the job",
        "read the centre's words above",
    ),
)
