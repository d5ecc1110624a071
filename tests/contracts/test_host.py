"""What every host does: the same requests, the same answers, on this machine and over ssh."""

import json
from dataclasses import replace

import pytest

from tests.contracts.host_requests import (
    HELLO,
    RUN_JSON,
    SCRIPT,
    ask,
    ask_all,
    ask_missing,
    hash_of,
    make_run,
    make_submit,
    run,
    send,
)
from windlass.edges.host import (
    Completed,
    Host,
    Json,
    Request,
    make_command,
    make_commands,
    read_all_completed,
    read_completed,
)
from windlass.errors import ConnectionLost


def test_one_ask_is_one_round_trip(host: Host) -> None:
    before = host.round_trips

    host.ask([make_command(["true"]), make_command(["false"]), Request(operation="facts")])

    assert host.round_trips == before + 1


def test_a_command_gets_its_input_and_gives_output_and_exit_code(host: Host) -> None:
    script = 'cat; echo "$GREETING" >&2; exit 3'

    [reply] = host.ask([make_command(["sh", "-c", script], stdin=b"in\n", env={"GREETING": "good day"})])

    assert read_completed(reply) == Completed(exit_code=3, out="in\n", err="good day\n")


def test_words_of_a_command_pass_without_a_shell(host: Host) -> None:
    words = ["a b", "$HOME", "`id`", "'", '"', "é\n", "*", ""]

    assert run(host, "printf", "%s|", *words).out == "".join(f"{word}|" for word in words)


def test_large_input_and_output_do_not_block_each_other(host: Host) -> None:
    block = bytes(range(256)) * 20_000

    replies = host.ask([make_command(["cat"], stdin=block)] * 3)

    assert [reply.payload == block for reply in replies] == [True] * 3


def test_a_command_that_takes_too_long_is_stopped(host: Host) -> None:
    [reply] = host.ask([make_command(["sh", "-c", "echo begun; sleep 60; echo ended"], timeout_s=0.5)])

    done = read_completed(reply)
    assert (done.timed_out, done.out) == (True, "begun\n")


def test_a_daemon_that_holds_the_output_open_is_not_waited_for(host: Host) -> None:
    done = run(host, "sh", "-c", "sleep 20 & echo started")

    assert (done.exit_code, done.out, done.timed_out) == (0, "started\n", False)


def test_a_command_that_is_not_there_has_exit_code_127(host: Host) -> None:
    assert run(host, "no-such-program").exit_code == 127


def test_several_commands_at_once_answer_in_the_order_they_were_asked(host: Host) -> None:
    """Each waits for the next one, so they cannot have run one after another."""
    wait = 'n=0; until [ -e "$0" ] || [ $n = 200 ]; do sleep 0.05; n=$((n+1)); done; cat; ls "$0"'
    [made] = host.ask([make_command(["mktemp", "-d"])])
    folder = read_completed(made).out.strip()
    commands = [
        make_command(["sh", "-c", wait, f"{folder}/b"], stdin=b"first\n"),
        make_command(["nosuchprogram"]),
        make_command(["sh", "-c", 'touch "$0"; exit 3', f"{folder}/b"]),
        make_command(["cat"], stdin=b"last\n"),
    ]

    [reply] = host.ask([make_commands(commands)])
    first, missing, touched, last = read_all_completed(reply, len(commands))

    assert (first.exit_code, first.out) == (0, f"first\n{folder}/b\n")
    assert missing.exit_code == 127
    assert touched.exit_code == 3
    assert last.out == "last\n"
    run(host, "rm", "-r", folder)


def test_an_outer_jobs_variables_do_not_reach_a_command(host: Host) -> None:
    out = run(host, "env").out.splitlines()

    slurm_variables = {line for line in out if line.startswith(("SLURM_", "SBATCH_"))}
    assert slurm_variables <= {"SLURM_TIME_FORMAT=%s"} | {line for line in out if line.startswith("SLURM_CONF=")}


def test_a_path_prefix_comes_first(host: Host, folder: str) -> None:
    send(host, f"{folder}/squeue", b"#!/bin/sh\necho ours\n", mode=0o755)

    [reply] = host.ask([make_command(["squeue"], path_prefix=folder)])

    assert read_completed(reply).out == "ours\n"


def test_facts_tell_about_a_root_that_does_not_exist_yet(host: Host, folder: str) -> None:
    facts = ask(host, "facts", root=f"{folder}/not/yet").values

    assert facts["root"] == f"{folder}/not/yet"
    assert facts["root_writable"] is True
    assert facts["free_mb"] > 0


def test_a_root_with_an_unknown_variable_is_refused(host: Host) -> None:
    reply = ask(host, "list_runs", root="$NOT_THERE/windlass")

    assert not reply.ok
    assert "$NOT_THERE" in reply.problem


def test_what_is_written_is_read_from_any_byte(host: Host, folder: str) -> None:
    path = f"{folder}/deep/é.txt"
    send(host, path, b"0123456789", mode=0o600)

    middle, last, beyond = host.ask(
        [
            Request(operation="read", arguments={"path": path, "from_byte": 3, "limit": 4}),
            Request(operation="read", arguments={"path": path, "from_byte": -2}),
            Request(operation="read", arguments={"path": path, "from_byte": 99}),
        ]
    )

    assert (middle.payload, last.payload, beyond.payload) == (b"3456", b"89", b"")
    assert middle.values["size"] == 10
    assert run(host, "stat", "-c", "%a", path).out == "600\n"


def test_a_missing_file_is_told_by_kind(host: Host, folder: str) -> None:
    assert ask(host, "read", path=f"{folder}/none").kind == "not-found"


def test_a_request_is_skipped_when_the_one_before_it_failed(host: Host, folder: str) -> None:
    path = {"path": f"{folder}/none"}

    replies = host.ask(
        [
            Request(operation="read", arguments=path),
            Request(operation="facts", only_if_ok=True),
            Request(operation="facts", only_if_ok=True),
            Request(operation="facts"),
        ]
    )

    assert [reply.kind for reply in replies] == ["not-found", "skipped", "skipped", ""]


def test_an_unknown_operation_and_wrong_arguments_are_answers_not_ends(host: Host) -> None:
    replies = host.ask([Request(operation="dance"), Request(operation="read"), Request(operation="facts")])

    assert [reply.ok for reply in replies] == [False, False, True]


def test_a_run_folder_is_made_with_its_code(host: Host, folder: str) -> None:
    missing, prepared = host.ask([ask_missing(folder), make_run(folder)])

    made = prepared.values["folder"]
    assert missing.payload.decode() == hash_of(SCRIPT)
    assert prepared.values["existed"] is False
    assert run(host, "sh", "-c", f"cd {made}/code && ./pkg/train.py && readlink data").out == "hello\n/scratch/data\n"
    assert ask_all(host, ask_missing(folder)).payload == b""
    listed = run(host, "ls", "-A", f"{folder}/runs", made).out.split()
    assert {"code", "logs", "claims", "gauges", "submissions", "run.json"} <= set(listed)


def test_code_is_a_copy_that_a_training_may_change(host: Host, folder: str) -> None:
    first = ask_all(host, make_run(folder)).values["folder"]
    run(host, "sh", "-c", f"echo changed > {first}/code/pkg/train.py")

    second = ask_all(host, make_run(folder, run_id="digits-22222", with_blobs=False)).values["folder"]

    assert ask(host, "read", path=f"{second}/code/pkg/train.py").payload == SCRIPT


def test_the_same_run_again_is_fine_and_another_one_refused(host: Host, folder: str) -> None:
    same, again, other = host.ask([make_run(folder), make_run(folder), make_run(folder, run_json=b"{}")])

    assert (same.ok, again.values["existed"], other.kind) == (True, True, "exists")


@pytest.mark.parametrize("path", ["/etc/passwd", "../out", "a/../../b", "", "a//b", "a\0b"])
def test_no_file_of_a_run_leaves_its_folder(host: Host, folder: str, path: str) -> None:
    reply = ask_all(host, make_run(folder, path=path))

    assert not reply.ok
    assert run(host, "ls", f"{folder}/runs").out == ""


def test_a_file_is_not_written_through_a_link(host: Host, folder: str) -> None:
    files: list[Json] = [
        {"path": "out", "sha256": None, "mode": 0, "link": folder},
        {"path": "out/evil", "sha256": hash_of(SCRIPT), "mode": 0o644, "link": None},
    ]

    reply = ask_all(host, make_run(folder, more=files))

    assert not reply.ok
    assert "evil" not in run(host, "ls", folder).out


def test_a_damaged_blob_is_not_used(host: Host, folder: str) -> None:
    ask_all(host, make_run(folder))
    send(host, f"{folder}/blobs/{hash_of(SCRIPT)[:2]}/{hash_of(SCRIPT)}", b"damaged")

    reply = ask_all(host, make_run(folder, run_id="digits-22222", with_blobs=False))

    assert reply.kind == "missing-blob"
    assert hash_of(SCRIPT).encode() in ask(host, "missing_blobs", hash_of(SCRIPT).encode(), root=folder).payload


def test_all_damaged_blobs_are_found_at_once(host: Host, folder: str) -> None:
    ask_all(host, make_run(folder))
    for content in (SCRIPT, HELLO):
        send(host, f"{folder}/blobs/{hash_of(content)[:2]}/{hash_of(content)}", b"damaged")
    more = [{"path": "more", "sha256": hash_of(HELLO), "mode": 0o644, "link": None}]

    reply = ask_all(host, make_run(folder, run_id="digits-22222", with_blobs=False, more=more))

    assert reply.kind == "missing-blob"
    wanted = f"{hash_of(SCRIPT)}\n{hash_of(HELLO)}".encode()
    assert ask(host, "missing_blobs", wanted, root=folder).values["missing"] == 2


def test_a_blob_that_arrives_changed_is_refused(host: Host, folder: str) -> None:
    request = make_run(folder)

    reply = ask_all(host, replace(request, payload=b"X" + request.payload[1:]))

    assert not reply.ok
    assert "did not arrive" in reply.problem


def test_a_submission_happens_once_and_its_receipt_is_answered_again(host: Host, folder: str) -> None:
    made = ask_all(host, make_run(folder)).values["folder"]

    first, second = host.ask([make_submit(folder, made), make_submit(folder, made)])

    assert (first.values["state"], first.values["job_id"], first.values["existed"]) == ("submitted", "1", False)
    assert (second.values["state"], second.values["job_id"], second.values["existed"]) == ("submitted", "1", True)
    assert ask(host, "read", path=f"{folder}/queue").payload == b"job\n"


def test_a_refused_submission_keeps_the_words(host: Host, folder: str) -> None:
    made = ask_all(host, make_run(folder)).values["folder"]

    reply = ask_all(host, make_submit(folder, made, "echo 'sbatch: error: invalid account' >&2; exit 1"))

    assert (reply.values["state"], reply.values["exit_code"]) == ("refused", 1)
    assert "invalid account" in ask(host, "submission", folder=made, number=1).values["receipt"]["err"]


@pytest.mark.parametrize(
    "script",
    ["echo 'sbatch: error: Socket timed out on send/recv operation' >&2; exit 1", "kill -9 $$", "sleep 60", "true"],
)
def test_a_submission_that_may_have_arrived_is_unclear_until_it_is_settled(
    host: Host, folder: str, script: str
) -> None:
    made = ask_all(host, make_run(folder)).values["folder"]
    place: Json = {"folder": made, "number": 1}

    unclear, again = host.ask([make_submit(folder, made, script, timeout_s=1), make_submit(folder, made, timeout_s=1)])
    settled = ask(host, "settle", **place, job_id="42", refused=False)

    assert (unclear.values["state"], unclear.values["in_flight"]) == ("unclear", False)
    assert (again.values["state"], again.values["existed"]) == ("unclear", True)
    assert settled.ok
    assert ask_all(host, make_submit(folder, made)).values["job_id"] == "42"
    assert ask(host, "settle", **place, job_id="43", refused=False).kind == "exists"
    assert ask(host, "forget_intent", **place).kind == "exists"


def test_a_forgotten_intent_stays_on_record_and_lets_submit_run_again(host: Host, folder: str) -> None:
    made = ask_all(host, make_run(folder)).values["folder"]
    ask_all(host, make_submit(folder, made, "kill -9 $$"))

    forgotten = ask(host, "forget_intent", folder=made, number=1)
    reply = ask_all(host, make_submit(folder, made))

    assert forgotten.values == {"forgotten": True}
    assert reply.values["state"] == "submitted"
    assert "intent.1.void" in run(host, "ls", f"{made}/submissions/1").out


def test_runs_are_listed_newest_first_with_what_is_known(host: Host, folder: str) -> None:
    for run_id in ("digits-11111", "digits-22222"):
        ask_all(host, make_run(folder, run_id=run_id))
    run(host, "touch", "-d", "2001-01-01", f"{folder}/runs/digits-22222/run.json")
    ask_all(host, make_submit(folder, f"{folder}/runs/digits-11111"))
    send(host, f"{folder}/runs/digits-11111/status.json", b'{"outcome": "running"}')

    values = ask(host, "list_runs", root=folder, limit=1).values

    assert values["total"] == 2
    [newest] = values["runs"]
    assert newest["folder"] == f"{folder}/runs/digits-11111"
    assert (newest["run"], newest["status"]) == (json.loads(RUN_JSON), {"outcome": "running"})
    assert newest["submissions"][0]["receipt"]["job_id"] == "1"


def test_no_runs_yet_is_an_empty_list(host: Host, folder: str) -> None:
    assert ask(host, "list_runs", root=f"{folder}/nothing").values["runs"] == []


def test_a_folder_that_is_gone_differs_from_one_without_a_status(host: Host, folder: str) -> None:
    send(host, f"{folder}/a/status.json", b'{"outcome": "done"}')
    run(host, "mkdir", f"{folder}/b")

    values = ask(host, "statuses", folders=[f"{folder}/a", f"{folder}/b", f"{folder}/c"]).values

    assert isinstance(values.pop("uid"), int)
    assert values == {"statuses": [{"outcome": "done"}, None, None], "gone": [f"{folder}/c"], "stops": {}}


def test_progress_is_as_new_as_the_training_told_it(host: Host, folder: str) -> None:
    status = {"state": "running", "submission": 1, "link": 2, "attempt": 1, "progress": {"done": 291}}
    told = {"submission": 1, "link": 2, "attempt": 1, "done": 431, "of": 600}
    send(host, f"{folder}/new/status.json", json.dumps(status).encode())
    send(host, f"{folder}/new/progress.json", json.dumps(told).encode())
    send(host, f"{folder}/old/status.json", json.dumps(status).encode())
    send(host, f"{folder}/old/progress.json", json.dumps({**told, "link": 1}).encode())

    new, old = ask(host, "statuses", folders=[f"{folder}/new", f"{folder}/old"]).values["statuses"]

    assert new["progress"] == told
    assert old["progress"] == {"done": 291}


def test_only_a_run_folder_is_removed(host: Host, folder: str) -> None:
    ask_all(host, make_run(folder))
    run(host, "mkdir", "-p", f"{folder}/runs/mine")

    removed, no_run, outside = (
        ask(host, "remove_run", root=folder, run_id=run_id) for run_id in ("digits-k3f9w", "mine", "../runs")
    )

    assert (removed.ok, no_run.kind, outside.ok) == (True, "not-found", False)
    assert run(host, "ls", "-A", f"{folder}/runs").out == "mine\n"


def test_the_stop_marker_is_set_in_a_run_folder_only(host: Host, folder: str) -> None:
    made = ask_all(host, make_run(folder)).values["folder"]

    assert ask(host, "touch_stop", folder=made).ok
    assert ask(host, "touch_stop", folder=f"{folder}/none").kind == "not-found"
    assert run(host, "test", "-e", f"{made}/stop").exit_code == 0


def test_a_deputy_that_dies_in_a_command_is_told_as_unclear(host: Host) -> None:
    with pytest.raises(ConnectionLost) as caught:
        run(host, "sh", "-c", "kill -9 $PPID")

    assert "run" in (caught.value.done or "")
    assert run(host, "echo", "again").out == "again\n"


def test_a_command_that_may_run_twice_is_asked_again(host: Host, folder: str) -> None:
    script = f"test -e {folder}/once || {{ touch {folder}/once; kill -9 $PPID; }}; echo done"

    [reply] = host.ask([make_command(["sh", "-c", script], idempotent=True)])

    assert read_completed(reply).out == "done\n"


def test_a_closed_host_opens_again_when_asked(host: Host) -> None:
    host.close()

    assert run(host, "echo", "here").out == "here\n"
