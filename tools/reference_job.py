"""The reference of what lies in a run folder, and of the variables a command finds in its job."""

from reference_comments import read_comments, read_sections

from windlass_job import wire
from windlass_job.agent import environment
from windlass_job.starting import ranks

_OF_FOLDER = "the run folder, relative to it"
_OF_SUBMISSION = ("INTENT", "RECEIPT", "SUBMIT_OUT", "SUBMIT_ERR")


def make_run_folder() -> str:
    sections, comments = read_sections(wire), read_comments(wire)

    def rows(title: str) -> list[str]:
        names = [name for name in sections[title] if name in comments and name not in _OF_SUBMISSION]
        return [f"| `{getattr(wire, name).format(number='NUMBER')}` | {comments[name]} |" for name in names]

    submission = [f"| `submissions/NUMBER/{getattr(wire, name)}` | {comments[name]} |" for name in _OF_SUBMISSION]
    title = next(one for one in sections if one.startswith("events"))
    farm = next(one for one in sections if one.startswith("a farm, "))
    parts = (
        "# The run folder",
        "Everything about a run lies in one folder at its site: `ROOT/runs/RUN_ID/`.\n"
        "`windlass ps --json` tells where it is, and every file in it can be read with `less`.",
        make_table("file", "what it is", [*rows(_OF_FOLDER), *submission]),
        "## A farm",
        "In the folder of the run that leads it; [how a farm works](../explanation/farms.md) explains them.",
        make_table("name", "what it is", rows(farm)),
        "## Beside it",
        "`ROOT` is the `root` of the site file.",
        make_table("folder", "what it is", rows("a site's root folder")),
        "## Events",
        "`events.jsonl` has one JSON object a line: `t` (seconds since 1970), `kind`, `link`, `job`, `node`, and what "
        "the kind adds.",
        make_table("kind", "it adds", rows(title)),
        "## Outcomes",
        "How a link ended: in the last event of the link and, as `state`, in `status.json`.",
        make_table("outcome", "meaning", rows("outcomes of a link")),
        "## Tokens",
        f"A submission is known by its token, `{wire.TOKEN.format(run_id='RUN_ID', number='NUMBER')}`, in the comment "
        "of the job, and by the run id, which is the job's name.",
    )
    return "\n\n".join(parts)


def make_environment() -> str:
    sections, comments = read_sections(wire), read_comments(wire)
    ours = [f"| `{getattr(wire, name)}` | {comments[name]} |" for name in sections["environment of the user's command"]]
    job = {"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "n1", "SLURM_PROCID": "0"}
    meeting = " ".join(f"`{name}`" for name in ranks.make_rendezvous(job))
    each = " ".join(f"`{name}`" for name in ranks.make_ranks(job))
    helpful = [f"| `{name}={value}` | unless you set it |" for name, value in environment.HELPFUL.items()]
    parts = (
        "# Variables in a job",
        "What your command finds beside Slurm's own variables and those of `[run.env]` and `[run.secrets]`.\n"
        "A name that begins with `WINDLASS_` cannot be set by `[run.env]`.",
        make_table("variable", "meaning", ours),
        "## Where processes meet",
        f"Every process: {meeting}.\n"
        f"Every process that srun starts (all launchers but `single`, `spark` and `mps`): {each}.\n"
        'These are the names that `torch.distributed` reads with `init_method="env://"`.',
        "## What helps",
        make_table(
            "variable",
            "",
            [
                *helpful,
                "| `OMP_NUM_THREADS` | the cores of one process; in a farm those of one task |",
                "| `SRUN_CPUS_PER_TASK` | so that srun in your own command gives its tasks their cores |",
            ],
        ),
    )
    return "\n\n".join(parts)


def make_job_exit_codes() -> str:
    comments = read_comments(wire)
    codes = sorted((getattr(wire, name), comments[name]) for name in comments if name.startswith("EXIT_"))
    return make_table("exit code of a job", "meaning", [f"| {code} | {text} |" for code, text in codes])


def make_table(left: str, right: str, rows: list[str]) -> str:
    return "\n".join((f"| {left} | {right} |", "| --- | --- |", *rows))
