"""Selects the hub: flags first, then the environment, a context, the data folder of a local hub."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from roadstead import contexts

DEFAULT_SERVER = "http://127.0.0.1:8080"


@dataclass(frozen=True)
class Context:
    """Address and credential of one hub, and the CA of its certificate ("": the machine's CAs).

    `namespace` is the default namespace, or "". If the token is that of a stored context, `name` and
    `login` are that context's, so that only it is refreshed.
    """

    server: str
    token: str
    ca: str = ""
    namespace: str = ""
    name: str = ""
    login: contexts.Stored | None = field(default=None, repr=False)


def default_data_dir() -> Path:
    """The data folder of `roadstead up`, unless overridden."""
    return Path(os.environ.get("ROADSTEAD_DATA") or Path.home() / ".roadstead")


def resolve(
    server: str | None = None,
    token: str | None = None,
    ca: str | None = None,
    *,
    name: str | None = None,
) -> Context:
    """The active context.

    Order: the arguments; the context `name`; ROADSTEAD_SERVER, ROADSTEAD_TOKEN, ROADSTEAD_CA and
    ROADSTEAD_NAMESPACE; the context that ROADSTEAD_CONTEXT names; the files `server` and `admin.token` in
    the folder that ROADSTEAD_DATA names; the context in use; the same files in ~/.roadstead. A context's
    token is sent to its own hub only, and so is the folder's. A token of "" means no token, and disables
    the environment's and a context's; a CA of "" means none, and disables the environment's. Raises
    WrongContext.
    """
    env = _environment(named=bool(name))
    chosen = name_in_force(name)
    stored = contexts.load().find(chosen)
    folder = default_data_dir()
    own = _read(folder / "server") or DEFAULT_SERVER
    address = server or env["SERVER"] or (stored.server if stored and stored.server else own)
    given = (env["TOKEN"] or None) if token is None else token
    kept = stored if stored and _is_same(stored.server or own, address) else None
    login = kept if given is None and kept and kept.token else None
    found = login.token if login else given
    if found is None and (not stored or not stored.server) and _is_same(own, address):
        found = _read(folder / "admin.token")
    return Context(
        address,
        found or "",
        (env["CA"] if ca is None else ca) or (kept.ca if kept else ""),
        env["NAMESPACE"] or (kept.namespace if kept else ""),
        chosen if login else "",
        login,
    )


def name_in_force(name: str | None = None) -> str:
    """The name of the active context: `name`, else from the environment or the file."""
    named = name or os.environ.get("ROADSTEAD_CONTEXT")
    if named:
        return named
    if os.environ.get("ROADSTEAD_DATA"):
        return contexts.LOCAL
    return contexts.load().current or contexts.LOCAL


def renewal_of(context: Context) -> Callable[[], str] | None:
    """Returns the current token of a provider's login; may call the provider, and block."""
    if context.login is None or not context.login.refresh:
        return None
    from roadstead import sign_in  # noqa: PLC0415 - few tokens are of a provider

    return sign_in.Renewal(context.name, context.login).token


def _environment(*, named: bool) -> dict[str, str]:
    """The environment's settings; empty if a context was named, which overrides them like flags."""
    names = ("SERVER", "TOKEN", "CA", "NAMESPACE")
    return {each: "" if named else os.environ.get(f"ROADSTEAD_{each}") or "" for each in names}


def _is_same(one: str, other: str) -> bool:
    return one.rstrip("/") == other.rstrip("/")


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, ValueError):
        return ""
