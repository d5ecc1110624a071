"""Requests that the contract of a host is tested with, and short ways to ask them."""

import hashlib

from windlass.edges.host import Completed, Host, Json, Reply, Request, make_command, read_completed

HELLO = b"print('hello')\n"
RUN_JSON = b'{"id": "digits-k3f9w"}'
SCRIPT = b"#!/usr/bin/env python3\n" + HELLO


def run(host: Host, *argv: str) -> Completed:
    [reply] = host.ask([make_command(argv)])
    return read_completed(reply)


def ask(host: Host, operation: str, payload: bytes = b"", **arguments: object) -> Reply:
    return ask_all(host, Request(operation=operation, arguments=arguments, payload=payload))


def ask_all(host: Host, request: Request) -> Reply:
    [reply] = host.ask([request])
    return reply


def send(host: Host, path: str, content: bytes, *, mode: int = 0o644) -> None:
    assert ask(host, "write", content, files=[{"path": path, "bytes": len(content), "mode": mode}]).ok


def hash_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def ask_missing(root: str) -> Request:
    return Request(operation="missing_blobs", arguments={"root": root}, payload=hash_of(SCRIPT).encode())


def make_run(
    root: str,
    *,
    run_id: str = "digits-k3f9w",
    run_json: bytes = RUN_JSON,
    path: str = "pkg/train.py",
    with_blobs: bool = True,
    more: list[Json] | None = None,
) -> Request:
    files: list[Json] = [
        {"path": path, "sha256": hash_of(SCRIPT), "mode": 0o755, "link": None},
        {"path": "data", "sha256": None, "mode": 0o777, "link": "/scratch/data"},
        *(more or []),
    ]
    arguments: Json = {
        "root": root,
        "run_id": run_id,
        "manifest": {"files": files},
        "blobs": [{"sha256": hash_of(SCRIPT), "bytes": len(SCRIPT)}] if with_blobs else [],
        "files": [{"path": "run.json", "bytes": len(run_json), "mode": 0o644}],
    }
    payload = (SCRIPT if with_blobs else b"") + run_json
    return Request(operation="prepare_run", arguments=arguments, payload=payload)


def make_submit(
    root: str, folder: str, script: str = "echo job >> $0/queue; wc -l < $0/queue", *, timeout_s: float = 30
) -> Request:
    arguments: Json = {
        "folder": folder,
        "number": 1,
        "token": "windlass:digits-k3f9w:1",
        "argv": ["sh", "-c", script, root],
        "path_prefix": None,
        "timeout_s": timeout_s,
        "cwd": folder,
    }
    return Request(operation="submit", arguments=arguments)
