"""`ticket`: what a centre's support desk needs to help with a run, in one file, without secrets."""

import io
import json
import platform
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from windlass import __version__
from windlass.app.examining import load_texts
from windlass.app.explaining import examine_run
from windlass.app.fetching import make_default_folder
from windlass.app.session import Session
from windlass.core.codec import to_json
from windlass.core.ending.hiding import find_assigned, find_in_settings, find_values, hide
from windlass.core.ending.symptoms import Symptoms
from windlass.core.ending.ticket import make_advice, make_summary
from windlass.core.finding import Diagnosis
from windlass.core.record import RunRecord
from windlass.diagnoses import diagnose
from windlass.edges.files import save_file
from windlass.edges.host import make_command, make_commands, read_all_completed
from windlass.edges.settings import RUN_FILE
from windlass.edges.toml_file import load_toml
from windlass.errors import UsageError, WindlassError
from windlass_job import wire

_MOST_OF_A_PAPER = 500_000
_MOST_OF_A_LOG = 1_500_000
_MOST_LOGS = 16
_PATIENCE_S = 30.0
_ENVIRONMENT = "module list 2>&1; echo; python3 --version; uname -a; ulimit -a; df -h . 2>/dev/null"
_SACCT = (
    "JobID,JobName,User,Account,Partition,QOS,State,ExitCode,DerivedExitCode,Submit,Start,End,Elapsed,Timelimit,"
    "NNodes,NTasks,AllocCPUS,ReqMem,MaxRSS,ReqTRES,AllocTRES,NodeList,Reason"
)


@dataclass(frozen=True, kw_only=True)
class Ticket:
    record: RunRecord
    summary: str  # README.txt
    advice: str  # where to send it
    files: Mapping[str, str]  # name in the bundle -> its text


def make_ticket(session: Session, record: RunRecord) -> Ticket:
    """From the site where it answers, else from what the laptop knows."""
    symptoms = _examine(session, record)
    diagnoses = diagnose(symptoms)
    user = symptoms.facts.user
    papers = {**_load_site_papers(session, symptoms), **_make_own_papers(session, symptoms, diagnoses)}
    secrets = _find_secrets(session, symptoms) | _find_written(symptoms, papers)
    texts = {name: hide(text, secrets) for name, (text, _) in papers.items() if text.strip()}
    about = {name: what for name, (_, what) in papers.items() if name in texts}
    summary = hide(make_summary(symptoms, diagnoses, files=about, user=user), secrets)
    files = {"README.txt": summary, **texts}
    return Ticket(record=symptoms.record, summary=summary, advice=make_advice(symptoms), files=files)


def save_ticket(session: Session, ticket: Ticket, path: Path | None) -> Path:
    """Readable by the user alone. A file named on the command line is never replaced."""
    if path is None:
        path = make_default_folder(ticket.record).parent / f"ticket-{ticket.record.run_id}.tar.gz"
    elif path.exists():
        raise UsageError(
            f"{path} exists already", hint="windlass ticket RUN -o ANOTHER.tar.gz", done="nothing was written"
        )
    pack = _pack_zip if path.suffix == ".zip" else _pack_tar
    save_file(path, pack(f"ticket-{ticket.record.run_id}", ticket.files, session.clock()), mode=0o600)
    return path


def _examine(session: Session, record: RunRecord) -> Symptoms:
    try:
        return examine_run(session, record)
    except WindlassError as problem:
        session.tell(f"{record.site} does not answer, so only what this machine knows goes in: {problem.message}")
        symptoms = Symptoms(record=record, trouble=problem.message, now=session.clock())
    try:
        return replace(symptoms, site=session.site(record.site))
    except WindlassError:
        return symptoms


def _load_site_papers(session: Session, symptoms: Symptoms) -> dict[str, tuple[str, str]]:
    """Name -> (text, what it is); nothing when the site is away."""
    if symptoms.trouble or symptoms.site is None:
        return {}
    record = symptoms.record
    number = record.submissions[-1].number if record.submissions else 1
    names = {
        wire.SCRIPT.format(number=number): "the script as it was submitted",
        wire.RUN_JSON: "who, what and when",
        wire.PLAN_JSON: "what was decided before the submission",
        wire.STATUS: "the last word of the program in the job",
        wire.EVENTS: "what happened in the job",
        f"{wire.SUBMISSIONS}/{number}/{wire.SUBMIT_ERR}": "what sbatch complained of",
        f"{wire.SUBMISSIONS}/{number}/{wire.RECEIPT}": "what sbatch answered",
    }
    host = session.host(symptoms.site)
    try:
        texts = load_texts(host, [f"{record.folder}/{name}" for name in names], limit=_MOST_OF_A_PAPER)
        commands = _ask_slurm(session, symptoms)
    except WindlassError as problem:
        session.tell(f"the run's papers could not be read: {problem.message}")
        return {}
    papers = {name: (text, names[name]) for name, text in zip(names, texts, strict=True)}
    logs = {f"{wire.LOGS}/{log.name}": log.text for log in symptoms.logs[:_MOST_LOGS]}
    return {
        **papers,
        **commands,
        **{name: (text[-_MOST_OF_A_LOG:], "what the job printed: beginning and end") for name, text in logs.items()},
    }


def _ask_slurm(session: Session, symptoms: Symptoms) -> dict[str, tuple[str, str]]:
    """In Slurm's own words, as an administrator would type it."""
    site, job_id = symptoms.site, symptoms.record.job_id
    if site is None:
        return {}
    cluster = session.cluster(site)
    asked = {"environment.txt": (["bash", "-lc", _ENVIRONMENT], "modules, versions and limits on the login node")}
    if job_id is not None:
        asked["slurm/sacct.txt"] = (["sacct", "-D", "-P", f"--format={_SACCT}", "-j", job_id], "sacct's word")
        asked["slurm/scontrol.txt"] = (["scontrol", "show", "job", job_id], "scontrol's word")
        asked["slurm/version.txt"] = (["sinfo", "--version"], "the version of Slurm")
    path = site.software.slurm_path
    # Times as people read them: this is for an administrator, not for us.
    env = {"SLURM_TIME_FORMAT": "standard"}
    requests = [
        make_command(argv, timeout_s=_PATIENCE_S, path_prefix=path, env=env, idempotent=True)
        for argv, _ in asked.values()
    ]
    [reply] = cluster.host.ask([make_commands(requests, limit_s=_PATIENCE_S)])
    done = read_all_completed(reply, len(requests))
    return {
        name: (f"{one.out}{one.err}"[:_MOST_OF_A_PAPER], what)
        for (name, (_, what)), one in zip(asked.items(), done, strict=True)
    }


def _make_own_papers(
    session: Session, symptoms: Symptoms, diagnoses: Sequence[Diagnosis]
) -> dict[str, tuple[str, str]]:
    """What this machine adds."""
    record = symptoms.record
    papers = {
        "record.json": (to_json(record).decode(), "what Windlass knows of the run"),
        "diagnoses.json": (to_json(diagnoses).decode(), "what Windlass thinks happened"),
        "versions.txt": (_tell_versions(), "of Windlass and of the machine it was used on"),
        "findings.txt": (_check_again(session, record), "what the checks say of the project as it is now"),
        RUN_FILE: (_load_run_file(record), "the project's settings"),
    }
    if symptoms.site is not None:
        papers["site.json"] = (to_json(symptoms.site).decode(), "what Windlass knows of the site")
        papers["facts.json"] = (to_json(symptoms.facts).decode(), "what was seen of the site")
    return papers


def _check_again(session: Session, record: RunRecord) -> str:
    from windlass.app.planning import Wanted, plan_run

    if not record.project or not Path(record.project).is_dir():
        return ""
    try:
        planned = plan_run(session, Wanted(project=Path(record.project), site=record.site), offline_ok=True)
    except WindlassError as problem:
        return f"{problem.code}  {problem}\n"
    return "".join(f"{one.severity}  {one.code}  {one.message}\n" for one in planned.findings) or "nothing\n"


def _tell_versions() -> str:
    return f"windlass {__version__}\nPython {platform.python_version()}\n{platform.platform()}\n"


def _load_run_file(record: RunRecord) -> str:
    try:
        return load_toml(Path(record.project or "/nonexistent") / RUN_FILE).text
    except WindlassError:
        return ""


def _find_secrets(session: Session, symptoms: Symptoms) -> frozenset[str]:
    """The values of the run's own secrets, to be struck out wherever they stand; they are kept nowhere."""
    values = set(find_values(session.environ))
    if symptoms.site is not None and not symptoms.trouble:
        path = f"{symptoms.record.folder}/{wire.SECRETS}"
        try:
            text = load_texts(session.host(symptoms.site), [path], limit=_MOST_OF_A_PAPER)[0]
        except WindlassError:
            text = ""
        values |= set(_read_secrets(text))
    return frozenset(values)


def _find_written(symptoms: Symptoms, papers: Mapping[str, tuple[str, str]]) -> frozenset[str]:
    """What stands openly in the run's settings or its script, under a name that says what it is."""
    found = set(find_values(symptoms.plan.env)) if symptoms.plan else set()
    for name, (text, _) in papers.items():
        if name == RUN_FILE:
            found |= find_in_settings(text)
        elif name.endswith(".sh"):
            found |= find_assigned(text)
    return frozenset(found)


def _read_secrets(text: str) -> list[str]:
    found = []
    for line in text.splitlines():
        try:
            found.append(str(json.loads(line.partition("=")[2])))
        except ValueError:
            continue
    return found


def _pack_tar(top: str, files: Mapping[str, str], now: float) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as bundle:
        for name, text in files.items():
            content = text.encode(errors="replace")
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size, entry.mtime, entry.mode = len(content), int(now), 0o600
            bundle.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _pack_zip(top: str, files: Mapping[str, str], now: float) -> bytes:
    import time

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, text in files.items():
            entry = zipfile.ZipInfo(f"{top}/{name}", date_time=time.localtime(now)[:6])
            entry.external_attr, entry.compress_type = 0o600 << 16, zipfile.ZIP_DEFLATED
            bundle.writestr(entry, text.encode(errors="replace"))
    return buffer.getvalue()
