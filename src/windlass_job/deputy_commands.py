"""The deputy's commands: run one without a shell, with a clean environment and a limit of time."""

import os
import signal
import subprocess
import time

from windlass_job import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

    from windlass_job.deputy import Answer, Call

    Env = Dict[bytes, bytes]

# Variables of an outer job, or of the user's start files, would win over what the plan says:
# for sbatch the environment counts more than the script.
_FOREIGN = tuple(
    prefix + b"_" for prefix in (b"SLURM", b"SBATCH", b"SALLOC", b"SRUN", b"SQUEUE", b"SACCT", b"SINFO", b"SCANCEL")
)
_KEPT = (b"SLURM_CONF",)  # where the commands find their cluster at all
_LINGER_S = 1.0  # a daemon the command left behind may hold its output open: do not wait for it
_BLOCK = 1 << 16
_AT_ONCE = 4  # a controller has better things to do than to answer us alone
_MOST_BYTES = 16 << 20  # of one answer: no program of Slurm's says so much unless it is sick
_LOOK_S = 0.5


def run_command(call: "Call") -> "Answer":
    arguments = call.arguments
    # English, and times as seconds since 1970: squeue and sacct both know %s.
    plain = {"LC_ALL": _find_locale(), "SLURM_TIME_FORMAT": "%s"}
    env = make_env(arguments.get("path_prefix"), dict(plain, **(arguments.get("env") or {})))
    argv = [disk.as_path(word) for word in arguments["argv"]]
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            cwd=_make_cwd(arguments),
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise disk.Refused("not-found", "%s: %s" % (arguments["argv"][0], error.strerror)) from None
    out, err, timed_out, is_cut = _collect(process, call, float(arguments.get("timeout_s") or 60))
    code = process.returncode
    if is_cut:  # half an answer is none: it must not look like one
        code = code or -signal.SIGKILL
        err += b"\n%s said more than %d MB, and was ended\n" % (os.path.basename(argv[0]), _MOST_BYTES >> 20)
    values = {"exit_code": code, "out_bytes": len(out), "timed_out": timed_out}
    return values, out + err


def run_all(call: "Call") -> "Answer":
    """Several commands, some of them at the same time: most of what Slurm's tools take is waiting for a daemon.

    `limit_s` holds for all of them together: what has not been started by then did not answer in time either.
    """
    # Imported here: most conversations never need it, and it costs the start of each.
    from concurrent.futures import ThreadPoolExecutor, wait

    begin, calls = 0, []
    for arguments in call.arguments["commands"]:
        end = begin + int(arguments.get("stdin_bytes") or 0)
        # A sign of life is given here alone: two threads would mix their frames.
        calls.append(type(call)(arguments, call.payload[begin:end], _keep_quiet))
        begin = end
    limit_s = call.arguments.get("limit_s")
    deadline = None if limit_s is None else time.monotonic() + float(limit_s)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        started = [pool.submit(_try_command, one, deadline) for one in calls]
        while wait(started, timeout=_LOOK_S).not_done:
            _give_sign(call)
    answers = [one.result() for one in started]
    return {"answers": [values for values, _ in answers]}, b"".join(content for _, content in answers)


def _keep_quiet() -> None:
    pass


def _give_sign(call: "Call") -> None:
    """Of life. A laptop that is gone is told by the next answer; the command comes to its end all the same."""
    try:
        call.beat()
    except OSError:
        pass


def _try_command(call: "Call", deadline: "Optional[float]") -> "Answer":
    """Also one that cannot be started has an answer, since the others have theirs."""
    if deadline is not None:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return {"exit_code": -signal.SIGKILL, "out_bytes": 0, "timed_out": True, "bytes": 0}, b""
        call.arguments["timeout_s"] = min(left_s, float(call.arguments.get("timeout_s") or left_s))
    try:
        values, content = run_command(call)
    except disk.Refused as error:
        return {"problem": error.problem, "bytes": 0}, b""
    except OSError as error:
        return {"problem": error.strerror or str(error), "bytes": 0}, b""
    return dict(values, bytes=len(content)), content


def make_env(path_prefix: "Optional[str]", extra: "Optional[Dict[str, str]]") -> "Env":
    """Our environment without an outer job's, the prefix in front of PATH."""
    env = {}
    for name, value in os.environb.items():
        if not name.startswith(_FOREIGN) or name in _KEPT:
            env[name] = value
    for key, text in (extra or {}).items():
        env[disk.as_path(key)] = disk.as_path(text)
    if path_prefix:
        env[b"PATH"] = disk.as_path(path_prefix) + b":" + env.get(b"PATH", b"/usr/local/bin:/usr/bin:/bin")
    # Popen looks a program up in the PATH of the *new* environment, so this is all there is to do.
    return env


def kill_group(process: "subprocess.Popen[bytes]") -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _make_cwd(arguments: "Dict[str, Any]") -> "Optional[bytes]":
    return disk.as_path(arguments["cwd"]) if arguments.get("cwd") else None


def _find_locale() -> str:
    """C.UTF-8 where it exists: elsewhere (Enterprise Linux 7) bash and perl complain on stderr."""
    import locale

    before = locale.setlocale(locale.LC_CTYPE, None)
    try:
        locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
    except locale.Error:
        return "C"
    locale.setlocale(locale.LC_CTYPE, before)
    return "C.UTF-8"


def _collect(process: "subprocess.Popen[bytes]", call: "Call", timeout_s: float) -> "Tuple[bytes, bytes, bool, bool]":
    """Feed and read the command until it ended, at most until its time is up or it has said too much.

    Its words, its complaints, whether its time was up, and whether it was cut short for its length.
    """
    import selectors

    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    deadline = time.monotonic() + timeout_s
    timed_out = is_cut = False
    size = 0
    pieces: "Dict[Any, List[bytes]]" = {process.stdout: [], process.stderr: []}
    view = memoryview(call.payload)
    with selectors.DefaultSelector() as selector:
        for stream in pieces:
            selector.register(stream, selectors.EVENT_READ)
        if len(view):
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE)
        else:
            process.stdin.close()
        while selector.get_map() and not is_cut:
            _give_sign(call)
            now = time.monotonic()
            if now > deadline:
                if timed_out or process.poll() is not None:
                    break
                kill_group(process)
                timed_out, deadline = True, now + _LINGER_S
            elif process.poll() is not None:
                deadline = min(deadline, now + _LINGER_S)
            for key, _ in selector.select(min(0.2, max(0.0, deadline - now))):
                stream = key.fileobj
                if stream is process.stdin:
                    view = _feed(process.stdin.fileno(), view)
                    ended = not len(view)
                else:
                    piece = os.read(key.fd, _BLOCK)
                    pieces[stream].append(piece)
                    ended = not piece
                    size += len(piece)
                if ended:
                    selector.unregister(stream)
                    stream.close()
            is_cut = size > _MOST_BYTES
    if is_cut:
        kill_group(process)
    timed_out = _reap(process, deadline) or timed_out
    out, err = (b"".join(pieces[stream]) for stream in (process.stdout, process.stderr))
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()
    return out, err, timed_out, is_cut


def _feed(handle: int, view: memoryview) -> memoryview:
    try:
        return view[os.write(handle, view[:_BLOCK]) :]
    except BlockingIOError:
        return view
    except BrokenPipeError:  # the command does not want its input: its own business
        return view[:0]


def _reap(process: "subprocess.Popen[bytes]", deadline: float) -> bool:
    """Wait for the end of a command that closed its output; True when it had to be killed."""
    try:
        process.wait(max(0.05, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        kill_group(process)
        process.wait()
        return True
    return False
