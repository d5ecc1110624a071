"""Globus: large transfers that a service of others carries out, while the laptop sleeps. Needs the extra `globus`.

The tokens lie in the settings folder, for the user alone, and appear in no message.
"""

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windlass.edges.extras import make_extra_hint
from windlass.edges.files import make_private_folder, save_file
from windlass.errors import LibraryMissing, LoginNeeded, TransferFailed, UsageError

TOKENS = "globus-tokens.json"
CLIENT_VARIABLE = "WINDLASS_GLOBUS_CLIENT_ID"
_SERVER = "transfer.api.globus.org"
_SCOPE = "urn:globus:auth:scope:transfer.api.globus.org:all"
_PERSONAL = "https://www.globus.org/globus-connect-personal"
_DEVELOPERS = "https://app.globus.org/settings/developers"


@dataclass(frozen=True, kw_only=True)
class Task:
    """state: running, done, failed or stopped."""

    id: str
    state: str
    done_bytes: int = 0
    files: int = 0
    files_done: int = 0
    rate: float | None = None
    message: str = ""

    @property
    def page(self) -> str:
        return f"https://app.globus.org/activity/{self.id}"


class Globus:
    """client_id: of an application that the user has registered, because Globus knows programs by that."""

    def __init__(self, folder: Path, client_id: str | None) -> None:
        self._sdk = _import()
        self._path = folder / TOKENS
        if not client_id:
            raise UsageError(
                f"Globus wants to know the program that asks: {CLIENT_VARIABLE} is not set",
                hint=f"register a thick client at {_DEVELOPERS}, then: export {CLIENT_VARIABLE}=ITS-ID",
            )
        self._auth = self._sdk.NativeAppAuthClient(client_id)

    def log_in(self, ask: Callable[[str], str]) -> None:
        """ask: shows the address to open, and gives back the code that is shown there."""
        self._auth.oauth2_start_flow(_SCOPE, refresh_tokens=True)
        code = ask(self._auth.oauth2_get_authorize_url()).strip()
        with _told():
            self._save(self._auth.oauth2_exchange_code_for_tokens(code))

    def find_endpoint(self, name: str) -> str:
        """Its id, by what a site calls it."""
        if _is_id(name):
            return name
        with _told():
            found = list(self._open().endpoint_search(name, limit=20))
        for one in found:
            if name in (one.get("canonical_name"), one.get("display_name")):
                return str(one["id"])
        raise UsageError(f"Globus knows no collection {name!r}", hint=f"https://app.globus.org/collections?q={name}")

    def submit(self, *, source: str, source_path: str, target: str, target_path: str, label: str, folder: bool) -> str:
        """The id of the task. The service compares by checksum, and sends only what differs."""
        data = self._sdk.TransferData(
            source,
            target,
            label=label,
            sync_level="checksum",
            verify_checksum=True,
            preserve_timestamp=True,
            fail_on_quota_errors=True,
        )
        data.add_item(source_path, target_path, recursive=folder)
        with _told():
            return str(self._open().submit_transfer(data)["task_id"])

    def look(self, task_id: str) -> Task:
        with _told():
            return _read_task(self._open().get_task(task_id))

    def cancel(self, task_id: str) -> None:
        with _told():
            self._open().cancel_task(task_id)

    def find_laptop(self) -> str:
        """The id of this laptop, as Globus Connect Personal has registered it."""
        found = self._sdk.LocalGlobusConnectPersonal().endpoint_id
        if found is None:
            raise UsageError("this laptop is not known to Globus", hint=f"install Globus Connect Personal: {_PERSONAL}")
        return str(found)

    def _open(self) -> Any:
        try:
            kept = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            raise LoginNeeded("you are not logged in to Globus", hint="windlass data globus-login") from None
        authorizer = self._sdk.RefreshTokenAuthorizer(
            kept["refresh_token"],
            self._auth,
            access_token=kept["access_token"],
            expires_at=kept["expires_at_seconds"],
            on_refresh=self._save,
        )
        return self._sdk.TransferClient(authorizer=authorizer)

    def _save(self, response: Any) -> None:
        make_private_folder(self._path.parent)
        save_file(self._path, json.dumps(response.by_resource_server[_SERVER]).encode(), mode=0o600)


def _import() -> Any:
    try:
        import globus_sdk
    except ImportError:
        raise LibraryMissing("Globus needs a library that is not installed", hint=make_extra_hint("globus")) from None
    return globus_sdk


_STATES = {"ACTIVE": "running", "INACTIVE": "failed", "SUCCEEDED": "done", "FAILED": "failed"}


def _read_task(found: Any) -> Task:
    """INACTIVE: it waits for a login of the user's at one of the ends, and goes on by itself after it."""
    status = str(found["status"])
    fatal = found.get("fatal_error") or {}
    state = "stopped" if fatal.get("code") == "CANCELED" else _STATES.get(status, "running")
    return Task(
        id=str(found["task_id"]),
        state=state,
        done_bytes=int(found.get("bytes_transferred") or 0),
        files=int(found.get("files") or 0),
        files_done=int(found.get("files_transferred") or 0),
        rate=float(found.get("effective_bytes_per_second") or 0) or None,
        message=str(fatal.get("description") or found.get("nice_status_short_description") or ""),
    )


def _is_id(name: str) -> bool:
    try:
        uuid.UUID(name)
    except ValueError:
        return False
    return True


@contextmanager
def _told() -> Iterator[None]:
    """The service's own words; never what was sent along, which holds the tokens."""
    sdk = _import()
    try:
        yield
    except sdk.AuthAPIError as error:
        raise LoginNeeded("Globus does not know you any more", hint="windlass data globus-login") from error
    except sdk.GlobusAPIError as error:
        if error.http_status == 401:
            raise LoginNeeded("Globus does not know you any more", hint="windlass data globus-login") from error
        raise TransferFailed(f"Globus refuses: {error.message or error.code}") from error
    except sdk.NetworkError as error:
        raise TransferFailed("Globus cannot be reached", said=str(error)[:500]) from error
