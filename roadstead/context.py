"""Which hub to talk to: flags first, then the environment, a context, the data folder of a local hub."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from roadstead import contexts

DEFAULT_SERVER = "http://127.0.0.1:8080"


@dataclass(frozen=True)
class Context:
    """Address and credential of one hub, the CA of its certificate ("": what the machine trusts).

    `namespace` is that of what names none; "" where nobody has said so.
    """

    server: str
    token: str
    ca: str = ""
    namespace: str = ""


def default_data_dir() -> Path:
    """Where `roadstead up` keeps its data unless told otherwise."""
    return Path(os.environ.get("ROADSTEAD_DATA") or Path.home() / ".roadstead")


def resolve(
    server: str | None = None,
    token: str | None = None,
    ca: str | None = None,
    *,
    name: str | None = None,
) -> Context:
    """The context in force.

    Order: the arguments; the context `name`; ROADSTEAD_SERVER, ROADSTEAD_TOKEN, ROADSTEAD_CA and
    ROADSTEAD_NAMESPACE; the context that ROADSTEAD_CONTEXT names; the files `server` and `admin.token` in
    the folder that ROADSTEAD_DATA names; the context that is in use; the same files in ~/.roadstead.
    A context's token goes to its own hub only, and so does the folder's. A token or CA of "" is none: that
    of the environment is not taken in its place. Raises WrongContext.
    """
    env = _environment(named=bool(name))
    stored = _stored(name)
    folder = default_data_dir()
    own = _read(folder / "server") or DEFAULT_SERVER
    address = server or env["SERVER"] or (stored.server if stored and stored.server else own)
    token = env["TOKEN"] if token is None else token
    kept = stored if stored and _is_same(stored.server or own, address) else None
    if not token and kept:
        token = kept.token
    if not token and (not stored or not stored.server) and _is_same(own, address):
        token = _read(folder / "admin.token")
    return Context(
        address,
        token or "",
        (env["CA"] if ca is None else ca) or (kept.ca if kept else ""),
        env["NAMESPACE"] or (kept.namespace if kept else ""),
    )


def default_namespace() -> str:
    """The namespace of what names none, where no flag says which hub; "" where nobody has said so."""
    return resolve().namespace


def renewal_of(token: str) -> Callable[[], str] | None:
    """What gives the token of now, where a provider issued this one; it may ask the provider, and wait."""
    if token.count(".") != 2:
        return None
    from roadstead import sign_in  # noqa: PLC0415 - few tokens are of a provider

    return sign_in.renewal(token)


def _environment(*, named: bool) -> dict[str, str]:
    """What the environment says; nothing where a context was named, which is as good as flags."""
    names = ("SERVER", "TOKEN", "CA", "NAMESPACE")
    return {each: "" if named else os.environ.get(f"ROADSTEAD_{each}") or "" for each in names}


def _stored(name: str | None) -> contexts.Stored | None:
    named = name or os.environ.get("ROADSTEAD_CONTEXT")
    if named:
        return contexts.load().find(named)
    kept = contexts.load()
    return kept.find(contexts.LOCAL if os.environ.get("ROADSTEAD_DATA") else kept.current)


def _is_same(one: str, other: str) -> bool:
    return one.rstrip("/") == other.rstrip("/")


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, ValueError):
        return ""
