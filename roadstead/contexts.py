"""Contexts: saved logins, in a file that only the user may read.

`$XDG_CONFIG_HOME/roadstead/contexts.json` (else `~/.config/roadstead`), 0600 in a folder of 0700. It holds
credentials, so a file that others may read is rejected. Each write replaces the whole file. Every change
reads and writes under one lock (`change`), so that two processes never undo each other's changes.
"""

import base64
import contextlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from roadstead.errors import WrongContext

LOCAL: Final = "local"  # the hub of the data folder: always there, and in force where no other is
_TEXTS: Final = (
    *("server", "token", "ca", "namespace"),
    *("issuer", "client", "issuer_ca", "refresh", "ends", "user"),
)


@dataclass(frozen=True)
class Stored:
    """One hub: its address, a credential for it alone, its CA, and the default namespace.

    For a provider's credential: its issuer, the client there, its CA, the refresh token, and the expiry
    (seconds since 1970, in digits). `user` is the person's name at the hub, as the hub reported it at
    login; "" in a file of an older release.
    """

    server: str
    token: str = field(default="", repr=False)
    ca: str = ""
    namespace: str = ""
    issuer: str = ""
    client: str = ""
    issuer_ca: str = ""
    refresh: str = field(default="", repr=False)
    ends: str = ""
    user: str = ""

    def is_same_login(self, other: "Stored") -> bool:
        """Compare persons and hubs of two logins. Unknown persons are never the same."""
        if self.server.rstrip("/") != other.server.rstrip("/"):
            return False
        if self.user and other.user:
            return self.user == other.user
        subject = subject_of(self.token)
        return bool(self.token) and (
            self.token == other.token or (bool(subject) and subject == subject_of(other.token))
        )


@dataclass(frozen=True)
class Contexts:
    """All contexts by name; `current` is the name of the active one, "" for the data folder's."""

    current: str = ""
    named: Mapping[str, Stored] = field(default_factory=dict)

    def find(self, name: str) -> Stored | None:
        """The context of this name, None for the data folder's. Raises WrongContext."""
        if name in {"", LOCAL}:
            return self.named.get(LOCAL)
        if name not in self.named:
            raise WrongContext(f"there is no context {name!r}; roadstead context ls lists them")
        return self.named[name]

    def using(self, name: str) -> "Contexts":
        """With another active context. Raises WrongContext."""
        self.find(name)
        return replace(self, current="" if name == LOCAL else name)

    def having(self, name: str, stored: Stored) -> "Contexts":
        """With one more context, or a replaced one."""
        return replace(self, named={**self.named, name: stored})

    def without(self, name: str) -> "Contexts":
        """Without one context; if it was active, the data folder's becomes active. Raises WrongContext."""
        if name not in self.named:
            raise WrongContext(f"there is no context {name!r} to remove")
        left = {each: stored for each, stored in self.named.items() if each != name}
        return Contexts("" if self.current == name else self.current, left)


def path() -> Path:
    """The path of the contexts file."""
    home = os.environ.get("XDG_CONFIG_HOME") or ""
    folder = Path(home) if Path(home).is_absolute() else Path.home() / ".config"
    return folder / "roadstead" / "contexts.json"


def load() -> Contexts:
    """Read the contexts file; empty if it does not exist. Raises WrongContext."""
    file = path()
    try:
        with file.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            content = opened.read()
    except FileNotFoundError:
        return Contexts()
    except OSError as failure:
        raise WrongContext(f"{file} cannot be read: {failure.strerror}") from failure
    if stat.S_IMODE(mode) & 0o077:
        raise WrongContext(f"{file} may be read by others; it holds credentials: chmod 600 {file}")
    try:
        return _read(json.loads(content))
    except (ValueError, TypeError, KeyError, AttributeError) as fault:
        raise WrongContext(f"{file} is invalid; move it away, and log in again") from fault


def save(contexts: Contexts) -> None:
    """Write the contexts file. Raises WrongContext."""
    file = path()
    told = {
        "current": contexts.current,
        "contexts": {name: _told(each) for name, each in sorted(contexts.named.items())},
    }
    made = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            made.unlink()
        descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as opened:
            json.dump(told, opened, indent=2)
            opened.write("\n")
            opened.flush()
            os.fsync(opened.fileno())
        made.replace(file)
    except OSError as failure:
        raise WrongContext(f"{file} cannot be written: {failure.strerror}") from failure


def change(edit: Callable[[Contexts], Contexts]) -> Contexts:
    """Read, edit and write the file under its lock; returns what was there before. Raises WrongContext."""
    with locked("contexts.lock"):
        before = load()
        save(edit(before))
        return before


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the lock file `name` beside the contexts; other processes and threads wait."""
    import fcntl  # noqa: PLC0415 - only writers need it

    file = path().with_name(name)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as failure:
        raise WrongContext(f"{file} cannot be written: {failure.strerror}") from failure
    with os.fdopen(descriptor):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def subject_of(token: str) -> tuple[str, str] | None:
    """Issuer and subject of a JWT, unverified; None if the token is not a JWT."""
    claims = claims_of(token)
    issuer, subject = claims.get("iss"), claims.get("sub")
    if isinstance(issuer, str) and isinstance(subject, str) and subject:
        return issuer, subject
    return None


def claims_of(token: str) -> dict[str, Any]:
    """The claims of a JWT, unverified; {} if the token is not a JWT."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def _read(told: Any) -> Contexts:
    named = {
        str(name): Stored(**{key: _text(each.get(key) or "") for key in _TEXTS})
        for name, each in told["contexts"].items()
    }
    current = _text(told.get("current") or "")
    return Contexts(current if current in named else "", named)


def _told(stored: Stored) -> dict[str, str]:
    """The JSON of a context; without a provider it has no provider fields, as in earlier releases."""
    return {name: value for name, value in asdict(stored).items() if value or name in _TEXTS[:4]}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
