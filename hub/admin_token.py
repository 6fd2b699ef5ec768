"""The first administrator's token: in a file of its user's alone, and known to the store."""

import os
from pathlib import Path

import structlog

from hub import folder
from hub.services.access.credentials import ADMINISTRATOR, is_bearer
from hub.services.context import identity, leadership
from hub.services.context.hub import Hub

_logger = structlog.get_logger(__name__)


async def settle(hub: Hub, path: Path) -> None:
    """See that `path` holds a token that works: one that was put there is taken, else a new one is made.

    Raises Misconfigured; StoreUnavailable.
    """
    try:
        given = _read_private(path)
        found = await hub.authenticator.authenticate(given)
        if found is not None and found.role == ADMINISTRATOR:
            return
        replaces = await hub.write(identity.is_administered)
        if replaces and not given and hub.db.shared and not await hub.read(leadership.is_free):
            raise folder.Misconfigured(
                f"other hubs run on this database, and {path} is not there: a new administrator's token "
                "would end theirs. Give theirs by --admin-token-file; to replace it, put a new one into "
                "the file, or stop them first"
            )
        if not await hub.write(identity.take_admin_token, given):
            _refuse_given(path, given)
            _write_private(path, await hub.write(identity.issue_admin_token))
    except OSError as error:
        raise folder.Misconfigured(
            f"the administrator's token, {path}: {error.strerror}"
        ) from error
    if replaces:
        _logger.warning("new administrator's token; the previous one is revoked", file=str(path))


def _read_private(path: Path) -> str:
    return path.read_text(errors="replace").strip() if path.exists() else ""


def _refuse_given(path: Path, given: str) -> None:
    """Raises Misconfigured where a token would be written into what was mounted, or is something else."""
    if path.is_symlink() or (given and not is_bearer(given)):
        raise folder.Misconfigured(
            f"{path} was given, and is no administrator's token: ID.SECRET, 16 to 36 letters and digits "
            "and at least 40, never used before"
        )


def _write_private(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text + "\n")
    fresh.replace(path)
