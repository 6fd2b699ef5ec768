"""Which hub to talk to: flags first, then the environment, then the data folder of a local hub."""

import os
from dataclasses import dataclass
from pathlib import Path

DEFAULT_SERVER = "http://127.0.0.1:8080"


@dataclass(frozen=True)
class Context:
    """Address and credential of one hub, and the CA of its certificate ("": what the machine trusts)."""

    server: str
    token: str
    ca: str = ""


def default_data_dir() -> Path:
    """Where `roadstead up` keeps its data unless told otherwise."""
    return Path(os.environ.get("ROADSTEAD_DATA") or Path.home() / ".roadstead")


def resolve(server: str | None = None, token: str | None = None, ca: str | None = None) -> Context:
    """The context in force.

    Order: the arguments; ROADSTEAD_SERVER, ROADSTEAD_TOKEN and ROADSTEAD_CA; the files `server` and
    `admin.token` that `roadstead up` leaves in its data folder (ROADSTEAD_DATA, else ~/.roadstead).
    The token of the folder goes to no other hub than the folder's own.
    """
    folder = default_data_dir()
    own = _read(folder / "server") or DEFAULT_SERVER
    server = server or os.environ.get("ROADSTEAD_SERVER") or own
    token = token or os.environ.get("ROADSTEAD_TOKEN")
    if not token and server.rstrip("/") == own.rstrip("/"):
        token = _read(folder / "admin.token")
    return Context(server, token or "", ca or os.environ.get("ROADSTEAD_CA") or "")


def default_namespace() -> str:
    """The namespace of what names none: ROADSTEAD_NAMESPACE; "" where nobody has said so."""
    return os.environ.get("ROADSTEAD_NAMESPACE") or ""


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, ValueError):
        return ""
