"""The agent's identity on disk: one file, 0600, replaced atomically; and the mark of a superseded one.

Beside it lie the credential before (`….previous`), for a hub whose store went back to before the newest was
given, and while the agent joins the secret that it has made for itself (`….joining`), so that a lost answer
can be asked for again.

Two agents on one credential supersede each other. One that was superseded exits; when its supervisor
starts it again it stands by before it opens a session, twice as long each time it is superseded
anew (1 min … 1 h), so that two of them do not take turns for ever.
"""

import datetime as dt
import hashlib
import os
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import orjson

FIRST_STAND_BY_S = 60.0
_LONGEST_STAND_BY_S = 3600.0
# A session that lived this many times its last stand-by clears the record.
_FORGIVEN_AFTER = 2.0


@dataclass(frozen=True, slots=True)
class Credential:
    """The identity of this agent. `secret` is the bearer token `id.secret`."""

    cluster: str
    secret: str
    hub_id: str
    incarnation: str = ""

    def __repr__(self) -> str:
        return f"Credential(cluster={self.cluster!r}, hub_id={self.hub_id!r})"


def load(path: Path) -> Credential | None:
    """The stored credential, None if absent. Raises ValueError if the file is not one."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return Credential(**orjson.loads(raw))
    except (orjson.JSONDecodeError, TypeError) as fault:
        raise ValueError(f"{path} holds no agent credential") from fault


def save(path: Path, credential: Credential) -> None:
    """Write the file so that a crash leaves the old one or the new one, readable by its owner alone."""
    write_private(path, orjson.dumps(asdict(credential)))


def replace_secret(path: Path, held: Credential, secret: str) -> Credential:
    """Store a new secret durably; returns the stored one, which is what the agent must use. Raises OSError.

    If the write fails, the file may be the new one all the same: its content counts.
    """
    fresh = replace(held, secret=secret)
    try:
        save(_beside(path, "previous"), held)
        save(path, fresh)
    except OSError:
        if load(path) != fresh:
            raise
    return fresh


def load_previous(path: Path) -> Credential | None:
    """The previous credential, None if absent."""
    try:
        return load(_beside(path, "previous"))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Joining:
    """The secret that an agent has made for itself, of one join token."""

    token_id: str
    secret: str

    @property
    def secret_hash(self) -> str:
        """The part for the hub."""
        return hashlib.sha256(self.secret.encode()).hexdigest()


def begin_joining(path: Path, join_token: str) -> Joining:
    """The secret for a join token: the same one until `end_joining`. Raises OSError."""
    token_id, where = join_token.partition(".")[0], _beside(path, "joining")
    try:
        kept = Joining(**orjson.loads(where.read_bytes()))
    except (FileNotFoundError, orjson.JSONDecodeError, TypeError):
        kept = None
    if kept is None or kept.token_id != token_id:
        kept = Joining(token_id, secrets.token_urlsafe(32))
        write_private(where, orjson.dumps(asdict(kept)))
    return kept


def end_joining(path: Path) -> None:
    """The credential is kept: what was for asking again is not needed, nor is what came before."""
    for name in ("joining", "previous"):
        _beside(path, name).unlink(missing_ok=True)


def _beside(path: Path, name: str) -> Path:
    return path.with_name(f"{path.name}.{name}")


def write_private(path: Path, content: bytes) -> None:
    """Replace a file atomically and durably, readable by its owner alone. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(path)
        _sync_folder(path.parent)
    finally:
        with suppress(FileNotFoundError):
            fresh.unlink()


def _sync_folder(folder: Path) -> None:
    """Have the folder's entry on the disk too: a file's own sync does not see to that."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Superseded:
    """The mark: when it happened and how long to stand by from then."""

    at: dt.datetime
    stand_by_s: float

    def left(self, now: dt.datetime) -> float:
        """Seconds still to stand by; a clock that went back does not lengthen it."""
        passed = max(0.0, (now - self.at).total_seconds())
        return max(0.0, self.stand_by_s - passed)


def _mark_path(path: Path) -> Path:
    return path.with_name(path.name + ".superseded")


def superseded(path: Path) -> Superseded | None:
    """The mark left beside a credential file, or None."""
    try:
        mark = orjson.loads(_mark_path(path).read_bytes())
        return Superseded(dt.datetime.fromisoformat(mark["at"]), float(mark["stand_by_s"]))
    except (FileNotFoundError, orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None


def mark_superseded(path: Path, now: dt.datetime, lived_s: float) -> Superseded:
    """Record that another agent took over after our session lived `lived_s`."""
    before = superseded(path)
    stand_by = FIRST_STAND_BY_S
    if before is not None and lived_s < before.stand_by_s * _FORGIVEN_AFTER:
        stand_by = min(_LONGEST_STAND_BY_S, before.stand_by_s * 2)
    mark = Superseded(now, stand_by)
    write_private(_mark_path(path), orjson.dumps({"at": now.isoformat(), "stand_by_s": stand_by}))
    return mark
