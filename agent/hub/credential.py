"""The agent's identity on disk: one file, 0600, replaced atomically; and the mark of a superseded one.

Two agents on one credential supersede each other. One that was superseded exits; when its supervisor
starts it again it stands by before it opens a session, twice as long each time it is superseded
anew (1 min … 1 h), so that two of them do not take turns for ever.
"""

import datetime as dt
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

FIRST_STAND_BY_S = 60.0
_LONGEST_STAND_BY_S = 3600.0
# A session that lived this many times its last stand-by clears the record.
_FORGIVEN_AFTER = 2.0


@dataclass(frozen=True, slots=True)
class Credential:
    """Who this agent is. `secret` is the bearer token `id.secret`."""

    cluster: str
    secret: str
    hub_id: str
    incarnation: str = ""

    def __repr__(self) -> str:
        return f"Credential(cluster={self.cluster!r}, hub_id={self.hub_id!r})"


def load(path: Path) -> Credential | None:
    """The stored credential, None if there is none. Raises ValueError if the file is not one."""
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
    _write(path, orjson.dumps(asdict(credential)))


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(path)
    finally:
        with suppress(FileNotFoundError):
            fresh.unlink()


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
    _write(_mark_path(path), orjson.dumps({"at": now.isoformat(), "stand_by_s": stand_by}))
    return mark
