"""The words both sides share: names of files, events, states and variables. Values only, no logic.

The laptop (package `windlass`) imports this module and nothing else of `windlass_job`.
"""

PROTOCOL = 1
"""Version of the deputy's protocol, of plan.json, status.json and the events."""

# ---- the run folder, relative to it -------------------------------------------------------------

RUN_JSON = "run.json"  # who, what, when: enough to know the run again without the laptop
PLAN_JSON = "plan.json"  # what was decided
SCRIPT = "job-{number}.sh"  # what was submitted, one for each submission
JOB_ZIP = "windlass_job.pyz"  # the agent: one zip of Python
CODE = "code"  # the user's files; the command runs here and leaves its results here
MANIFEST = "snapshot.json"  # what `code` held when it was sent
DIFF = "changes.diff"  # what git had not yet committed
SECRETS = "secrets.env"  # 0600, NAME=value lines, each value JSON
LOGS = "logs"  # logs/JOB.out: what each job printed
EVENTS = "events.jsonl"  # what happened, a line each
STATUS = "status.json"  # the last word of the agent, replaced whole
GAUGES = "gauges"  # one file a node
METRICS = "metrics"  # metrics/LINK.RANK.jsonl: what run.log told
PROGRESS = "progress.json"  # what run.progress told last, replaced whole
NETWORK_TEST = "network"  # network/JOB.ATTEMPT/NODE.json: whom each node could talk to before the training
CLAIMS = "claims"  # claims/LINK.SUBMISSION.ATTEMPT: the job that took this link; the highest counts
CLAIM = "{link}.{number}.{attempt}"
STOP = "stop"  # holds the number of the last submission whose links must not start any more
SUBMISSIONS = "submissions"  # submissions/NUMBER/: intent.json, sbatch.out, sbatch.err, receipt.json
INTENT = "intent.json"  # written before sbatch is called
RECEIPT = "receipt.json"  # written when the answer is known
SUBMIT_OUT = "sbatch.out"  # what sbatch said
SUBMIT_ERR = "sbatch.err"  # what sbatch complained of

# ---- a site's root folder -----------------------------------------------------------------------

RUNS = "runs"  # ROOT/runs/RUN_ID/
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
ENV_ATTEMPT = "WINDLASS_ATTEMPT"  # which start of this link; set by the agent
ENV_CHAIN = "WINDLASS_CHAIN"  # how the next link comes: array, dependency or requeue
ENV_SITE = "WINDLASS_SITE"  # the site's name
ENV_TOKEN = "WINDLASS_TOKEN"  # how the job is known again

# ---- events: {"t": seconds, "kind": ..., "link": 1, "job": "45_1", "node": "n1", ...} ------------

LINK_STARTED = "link_started"  # python, nodes, cpus, restart
COMMAND_STARTED = "command_started"  # pid
STOP_REQUESTED = "stop_requested"  # signal: the end of time is near, or somebody cancelled
COMMAND_ENDED = "command_ended"  # exit_code, signal
LINK_ENDED = "link_ended"  # outcome
NOTE = "note"  # text: something the agent could not do, and went on without

# ---- outcomes of a link -------------------------------------------------------------------------

DONE = "done"  # the command ended by itself with 0
CUT = "cut"  # the wall clock was near: asked to stop; the next link goes on
FAILED = "failed"  # the command ended by itself with something else
TERMINATED = "terminated"  # cancelled or preempted: Slurm knows which
SKIPPED = "skipped"  # nothing left to do, or told to stop
DUPLICATE = "duplicate"  # another job holds this link
RUNNING = "running"  # status.json only

# ---- the job zip's commands ---------------------------------------------------------------------

RANK_ENV = "rank-env"  # the first process of each task of srun: sets its rank

# ---- the agent's own exit codes -----------------------------------------------------------------

EXIT_CUT = 0  # a cut link is no failure: `afterok` chains and mails stay quiet
EXIT_NOT_STARTED = 127  # the command could not be started
