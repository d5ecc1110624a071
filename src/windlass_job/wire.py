"""The words both sides share: names of files, events, states and variables. Values only, no logic.

The laptop (package `windlass`) imports this module; of the rest only `shards`, `relaying` and `farming`.
"""

PROTOCOL = 1
"""Version of the deputy's protocol, of plan.json, status.json and the events."""

# ---- the run folder, relative to it -------------------------------------------------------------

RUN_JSON = "run.json"  # who, what, when: enough to know the run again without the laptop
PLAN_JSON = "plan.json"  # what was decided
SCRIPT = "job-{number}.sh"  # what was submitted, one for each submission
JOB_ZIP = "windlass_job.pyz"  # the agent: one zip of Python
TASK_SH = "task.sh"  # the first process of a task whose command is one plain program
CODE = "code"  # the user's files; the command runs here and leaves its results here
MANIFEST = "snapshot.json"  # what `code` held when it was sent
DIFF = "changes.diff"  # what git had not yet committed
SECRETS = "secrets.env"  # 0600, NAME=value lines, each value JSON
LOGS = "logs"  # logs/JOB.out: what each job printed
STREAMS = "streams"  # streams/JOB.out: which bytes of that log were written to which stream; see agent/streams.py
STDOUT, STDERR, BOTH = "o", "e", "m"  # their letters there
EVENTS = "events.jsonl"  # what happened, a line each
STATUS = "status.json"  # the last word of the agent, replaced whole
GAUGES = "gauges"  # gauges/NODE.jsonl: what each node did; gauges/data.LINK.RANK.jsonl: how long a rank waited for data
METRICS = "metrics"  # metrics/LINK.RANK.jsonl: what run.log told
SPARK_LOGS = "spark"  # launcher spark: what its daemons said, and its event logs
PROGRESS = "progress.json"  # what run.progress told last, replaced whole
NETWORK_TEST = "network"  # network/JOB.ATTEMPT/NODE.json: whom each node could talk to before the training
CLAIMS = "claims"  # claims/LINK.SUBMISSION.ATTEMPT: who took a link; the greatest submission, link, attempt counts
CLAIM = "{link}.{number}.{attempt}"
CLAIM_HOLDER = "{number}.holder"  # the job, or array, that a submission belongs to
SERVICE = "service"  # 0700: of a notebook or another service in the job
SERVICE_CARD = "card.json"  # service/card.json: where it listens, whether anybody uses it
SERVICE_TOKEN = "token"  # service/token: 0600, the word by which it lets its user in
NOTES = "notes.jsonl"  # what people wrote about the run, a line each
STOP = "stop"  # holds the number of the last submission whose links must not start any more
SUBMISSIONS = "submissions"  # submissions/NUMBER/: intent.json, sbatch.out, sbatch.err, receipt.json
INTENT = "intent.json"  # written before sbatch is called
RECEIPT = "receipt.json"  # written when the answer is known
SUBMIT_OUT = "sbatch.out"  # what sbatch said
SUBMIT_ERR = "sbatch.err"  # what sbatch complained of

# ---- a farm, in the folder of the run that leads it -------------------------------------------------

FARM = "farm"  # farm/: card.json, stops.json, tasks/ log/ beats/ pilots/ wanted/ functions/; see windlass_job/farming
FARM_CARD = "card.json"  # farm/card.json: what a task takes, how often it is tried
FARM_STOPS = "stops.json"  # farm/stops.json: {"tasks": [...]} that are not to run, or not to run on
FARM_FUNCTIONS = "functions"  # farm/functions/DIGEST: a function that calls name, pickled once
FARM_CLOUDPICKLE = "cloudpickle.zip"  # farm/functions/cloudpickle.zip: for functions that are sent as code
FARM_RESULTS = ".res"  # farm/pilots/WORKER.res: what calls returned or raised, one after another
FARM_RESULTS_INDEX = ".rix"  # farm/pilots/WORKER.rix: of each: TASK ATTEMPT OFFSET BYTES
FARM_OVER = "windlass: all tasks of the farm are over"  # a pilot's last line: no link is needed any more

# ---- a site's root folder -----------------------------------------------------------------------

RUNS = "runs"  # ROOT/runs/RUN_ID/
DATA = "data"  # ROOT/data/NAME/: a packed data set; ROOT/data/NAME.json: where one of that name lies
LANDING = "windlass-landing-"  # TRANSFER_ROOT/windlass-landing-NAME/: data on its way to where only others may write
WORK = "work"  # ROOT/work/ID/: long work on data sets that goes on while the laptop sleeps
ENVS = "envs"  # ROOT/envs/ID/: an environment; `current` leads to the folder it was last built in
ENV_CARD = "env.json"  # ROOT/envs/ID/env.json: what it is; written last
ENV_CURRENT = "current"
PACKED_ENV = "env.tar"  # ROOT/envs/ID/env.tar: all of it as one file, which every node of a job unpacks for itself
PACKED_CARD = "env.tar.json"  # what that file is: its sum, and the paths that stand in it
ENV_LOG = "build.log"  # ROOT/envs/ID/build.log: what its last build said
WHEELS = "wheels"  # ROOT/wheels/ID/: wheels that were sent from the laptop for the environment ID
IMAGES = "images"  # ROOT/images/: layers of images on their way, which other images may share
CONTAINER_HOME = "container-home"  # ROOT/container-home/: what containers see as home where jobs do not see it
CACHES = "caches"  # ROOT/caches/: weights and data sets of hubs, fetched where there is internet
SAMPLES = "samples"  # ROOT/work/samples/NAME/: taken to be fetched, and removed after a day
TOOLS = "tools"  # ROOT/tools/: our own program for such work
BLOBS = "blobs"  # ROOT/blobs/ab/abcdef...: file contents by SHA-256

# ---- submission tokens --------------------------------------------------------------------------

TOKEN = "windlass:{run_id}:{number}"  # in the job's comment; a job without it is not ours

# ---- environment of the user's command ----------------------------------------------------------

ENV_RUN_ID = "WINDLASS_RUN_ID"  # such as digits-k3f9w
ENV_RUN_DIR = "WINDLASS_RUN_DIR"  # the run folder
ENV_LINK = "WINDLASS_LINK"  # 1, 2, 3 ...
ENV_LINKS = "WINDLASS_LINKS"  # the last link that is planned
ENV_NUMBER = "WINDLASS_SUBMISSION"  # 1 for the first submission, one more for each resume
ENV_CHECKPOINTS = "WINDLASS_CHECKPOINT_DIR"  # from [checkpoint] folder; the agent makes it
ENV_POCKET_JOB = "WINDLASS_POCKET_JOB"  # only in jobs of pocket, whose nodes are all this machine
ENV_HOST_SUFFIX = "WINDLASS_HOST_SUFFIX"  # the site's: behind the name of a host it names the fast network
ENV_DATA = "WINDLASS_DATA_"  # and the name of the data in capitals: where this node reads it; see make_data_variable
ENV_PACKED = "WINDLASS_PACKED_ENV"  # the one file of the environment that every node unpacks for itself
ENV_OWN_ENV = "WINDLASS_OWN_ENV"  # of `build = "node"`: the folder of the venv on every node, which the agent removes
ENV_NODE_DIR = "WINDLASS_NODE_DIR"  # a folder on the node's own disk that is this job's; set by the agent
ENV_NETWORK_TESTED = "WINDLASS_NETWORK_TESTED"  # the nodes of this job have proved that they can talk
ENV_ATTEMPT = "WINDLASS_ATTEMPT"  # which start of this link; set by the agent
ENV_START = "WINDLASS_START"  # tells this start of the agent from all others; set by the agent
ENV_TRY = "WINDLASS_TRY"  # which start of the command within this attempt; set by the agent
ENV_DEADLINE = "WINDLASS_DEADLINE"  # when the job ends by the plan, in seconds since 1970: Slurm 22.05 does not say it
ENV_STOP_SIGNAL = "WINDLASS_STOP_SIGNAL"  # by which the command is asked to stop, such as TERM; set by the agent
ENV_PORTS = "WINDLASS_PORT_BLOCK"  # the first of this job's 16 ports on its first node, which the agent holds
ENV_CHAIN = "WINDLASS_CHAIN"  # how the next link comes: array, dependency or requeue
ENV_CHAIN_FIRST = "WINDLASS_CHAIN_FIRST"  # the first submission of this chain; by dependency each link is one
ENV_LINK_S = "WINDLASS_LINK_S"  # how many seconds a link has by the plan
ENV_NOTICE_S = "WINDLASS_NOTICE_S"  # how long before its end it is asked to stop
ENV_SITE = "WINDLASS_SITE"  # the site's name
ENV_TOKEN = "WINDLASS_TOKEN"  # how the job is known again
ENV_REPLICA = "WINDLASS_REPLICA"  # launcher mps: which copy of the command this is, from 0
ENV_REPLICAS = "WINDLASS_REPLICAS"  # launcher mps: how many there are
ENV_TASK = "WINDLASS_TASK"  # in a task of a farm: its number, from 0
ENV_TASK_ATTEMPT = "WINDLASS_TASK_ATTEMPT"  # which try of it, from 1
ENV_TASK_METRICS = "WINDLASS_TASK_METRICS"  # a file on the node: what the task tells by run.log
ENV_SPARK_SECRET = "WINDLASS_SPARK_SECRET"  # launcher spark: what its processes know each other by

# ---- the script that builds an environment ------------------------------------------------------

ENV_PREFIX = "WINDLASS_PREFIX"  # the empty folder it fills
ENV_ROOT = "WINDLASS_ROOT"  # the site's root: caches go below it, off home
ENV_PROBE = "WINDLASS_PROBE"  # a program for the new Python, which tells what it is ...
ENV_PROBED = "WINDLASS_PROBED"  # ... into this file
ENV_RESOLVE = "WINDLASS_RESOLVE"  # a program for the site's Python, which tells what the tag of an image names
ENV_WHEELS = "WINDLASS_WHEELS"  # a folder: wheels that were sent from the laptop for it
ENV_FACTS = "WINDLASS_FACTS"  # what the script itself tells of it: JSON with fields of env.json, which win
ENV_OFFLINE = "WINDLASS_OFFLINE"  # of a prefetch: a file that is made inside a container where no network is
ENV_HOOK = "WINDLASS_HOOK"  # of a prefetch: folders that its script puts before PYTHONPATH as the last it does
WAITING = "waiting: "  # so begin the words of long work that waits for another, on whichever host
BUILD_BEGINS = "windlass: building"  # a line of the log: what the login shell's start files say is over

# ---- ports: a job has the block FIRST_PORT + PORT_BLOCK * (its number % PORT_BLOCKS) ---------------

MASTER_PLACE = 1  # of MASTER_PORT in the block of a job; the first port is held by the agent
FIRST_PORT = 10000  # all below the range from which systems give ports by themselves (32768 and up)
PORT_BLOCK = 16  # the first is held by the agent, the second is MASTER_PORT, the rest is for launchers
PORT_BLOCKS = 1250

# ---- events: {"t": seconds, "kind": ..., "link": 1, "job": "45_1", "node": "n1", ...} ------------

LINK_STARTED = "link_started"  # python, modules, nodes, cpus, restart
COMMAND_STARTED = "command_started"  # pid
STOP_REQUESTED = "stop_requested"  # signal, why: the end of time (notice) or hours (budget) is near, or cancel
COMMAND_ENDED = "command_ended"  # exit_code, signal
COMMAND_RESTARTED = "command_restarted"  # number of the new try, exit_code, signal: it broke down after saving
FENCED_OFF = "fenced_off"  # by: the greater claim; the command was killed
LINK_ENDED = "link_ended"  # outcome
REPLANNED = "replanned"  # unit_s, left, needs_s, links_needed, links_left, time_limit_s
NETWORK_TESTED = "network_tested"  # is_well, sentence, sick, figures: before the command, on several nodes
DATA_READY = "data_ready"  # seconds, sets (name: memory or node), nodes: the command can read its data
DATA_LOCAL = "data_local"  # seconds, nodes; bytes read (from shared storage), received (from nodes), adopted; failed
ENV_READY = "environment_ready"  # seconds, place (memory or node), path, files, nodes: unpacked on every node
RESULTS_BROUGHT = "results_brought"  # files, bytes, failed, nodes: from the nodes' own disks to the run folder
SAVED = "saved"  # step, seconds, at: a checkpoint was published; several in quick succession are told as one
NOTE = "note"  # text: something the agent could not do, and went on without

# ---- gauges/NODE.jsonl: heads {"gauges": 2, "columns": [...], ...} and rows [...]; see core/gauges/lines.py ----------

GAUGE_FORMAT = 2
GAUGE_TIME = "t"
GAUGE_COLUMNS = (
    GAUGE_TIME,
    "memory_mb",
    "memory_peak_mb",
    "oom_kills",
    "cpu_cores",
    "full_cores",
    "read_mb_s",
    "write_mb_s",
    "shared_read_mb_s",
    "shared_write_mb_s",
    "shared_ops_s",
)  # of the node; then gpuN.use, gpuN.memory_mb, gpuN.power_w for each GPU, and rankN.cpu_cores for each rank

# ---- outcomes of a link -------------------------------------------------------------------------

DONE = "done"  # the command ended by itself with 0, or has said that it is finished
CUT = "cut"  # the wall clock was near: asked to stop; the next link goes on
FAILED = "failed"  # the command ended by itself with something else
TERMINATED = "terminated"  # cancelled or preempted: Slurm knows which
SKIPPED = "skipped"  # nothing left to do, or told to stop
DUPLICATE = "duplicate"  # another job holds this link
SPENT = "spent"  # the hours that the user set for the run are used up: asked to stop, and no later link starts
MOVED = "moved"  # nodes could not talk: the rest was submitted again without them
FENCED = "fenced"  # another job has taken over
RUNNING = "running"  # status.json only

STALLED = "two links in a row saved nothing"  # reason in status.json, with EXIT_STALLED
NO_LINK_LEFT = "all links are used"  # reason in status.json of a job that Slurm started once more than was planned

# ---- hours that the user set for a run ----------------------------------------------------------

BUDGET_USED_UP = "its budget{words} is used up"  # reason in status.json
LEAST_LINK_S = 5.0  # of what is left, beside the time to save: with less a link is not started

# ---- the job zip's commands ---------------------------------------------------------------------

NETWORK_TASK = "network-task"  # one task a node: whom it can talk to
STAGE_NODE = "stage-node"  # one task a node: holds its data, brings back its results, cleans up
RANK_ENV = "rank-env"  # the first process of each task of srun: sets its rank
TASK_FENCE = "task-fence"  # beside the program of a task: ends it when another job has taken over
MPI = "mpi"  # on the first node: finds out which --mpi= of srun the program's MPI speaks
MPS = "mps"  # one task a node: copies of the command that share a GPU
GAUGES_VERB = "gauges"  # one task a node: what it does, a row every few seconds
SECRET = "secret"  # on the first node: a word that only the processes of this job know
WORK_VERB = "work"  # at the site or in a job: what takes long
SHELL = "shell"  # on the first node: COMMAND, watched over
TIED = "tied"  # on the login node: COMMAND, which ends with its connection
NOTEBOOK = "notebook"  # on the first node: a notebook, executed cell by cell
JUPYTER = "jupyter"  # on the first node: JupyterLab, watched over
SPARK = "spark"  # one task a node: its part of a Spark cluster
FARM_VERB = "farm"  # one task a node: takes tasks of a farm, and runs them
CALLS_VERB = "farm-calls"  # one a slot of a farm: runs calls of Python functions, one after another

# ---- calls of Python functions, as tasks of a farm ------------------------------------------------

CALL_DIGEST = 32  # a row is the digest of its function, in so many letters, and then the pickled arguments
CALL_VALUE = b"v"  # a result begins with this letter, and then comes the pickled value
CALL_ERROR = b"x"  # or with this one: a pickled tuple (KIND, text, traceback, pickled exception or None)
RAISED = "raised"  # KIND: by the function
NO_FUNCTION = "function"  # it cannot be loaded there
NO_ARGUMENTS = "arguments"  # they cannot be loaded there
NO_RESULT = "result"  # it cannot be pickled
OTHER_PYTHON = "python"  # code of one minor version does not run in another

# ---- the agent's own exit codes -----------------------------------------------------------------

EXIT_SPENT = 0  # its own budget is used up, which is no failure
EXIT_CUT = 0  # a cut link is no failure: `afterok` chains and mails stay quiet
EXIT_ENVIRONMENT = 119  # the environment is not there, or not what it was built for: the command was not started
EXIT_FENCED_OFF = 120  # a greater claim was made: the command was killed
EXIT_STALLED = 121  # the command ended well, but two links in a row saved nothing
EXIT_MOVED = 0  # the rest of the run waits in another job
EXIT_NETWORK = 122  # the nodes could not talk to each other: the command was not started
EXIT_DATA = 123  # data that was to be extracted on the nodes could not be: the command was not started
EXIT_IDLE = 124  # a shell that nobody used was ended
EXIT_NOT_STARTED = 127  # the command could not be started


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"


def is_data_name(name: str) -> bool:
    """A folder, a part of a variable and of a run file, and the stem of a pointer NAME.json: what all of them bear."""
    if not 0 < len(name) <= 100 or name[0] not in _LETTERS or name.endswith(".json"):
        return False
    return all(char in _LETTERS or char in ".-" for char in name)


def make_data_variable(name: str) -> str:
    """my-set -> WINDLASS_DATA_MY_SET: in every process of a job the folder or file of [data.my-set]."""
    return ENV_DATA + "".join(char if char in "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" else "_" for char in name.upper())
