"""The schema of a store: what it is, brought up to date, or taken back for an older release.

A hub does the first two itself at start, unless `python -m hub --no-migrate` forbids it.
"""

from dataclasses import dataclass

from sqlalchemy import Connection

from hub.admin import opening
from hub.store import compatibility, form, schema
from hub.store.backends.backend import Backend

CURRENT, BEHIND, EMPTY = "current", "behind", "empty"
NEWER, BESIDE, ALTERED = "newer", "newer-compatible", "altered"


@dataclass(frozen=True, slots=True)
class Schema:
    """The state of a database for this release.

    `state`: current; behind or empty (a hub, or `migrate`, brings it up to date); newer-compatible (hubs of
    this release run on it all the same) or newer (they do not); altered (its tables are not its
    revision's). `hubs`: revisions of the hubs that run on it, "" where one does not say.
    """

    where: str
    state: str
    found: str
    needed: str = schema.HEAD
    differing: str = ""
    beside: tuple[str, ...] = ()
    hubs: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """True if a hub of this release runs on it unchanged."""
        return self.state in {CURRENT, BESIDE}


def check(url: str) -> Schema:
    """Look, and change nothing. Raises StoreError."""
    backend = opening.named(url)
    with opening.reading(backend) as conn:
        return look(backend, conn)


def up(url: str) -> tuple[str, Schema]:
    """Bring it to this release's revision: at which it was ("" for a new one), and how it is now.

    Raises StoreError: also while hubs run on it that can not be beside the result.
    """
    backend = opening.named(url)
    with opening.alone(backend), opening.writing(backend) as conn:
        before = schema.revision(conn) or ""
        if schema.migrate(conn, running=backend.staying_hubs(conn)):
            backend.disconnect(conn)
        return before, look(backend, conn)


def down(url: str, revision: str) -> tuple[str, Schema]:
    """Take it back to an older revision: at which it was, and how it is now. Raises StoreError."""
    backend = opening.named(url)
    opening.refuse_absent(backend)
    with opening.alone(backend), opening.writing(backend) as conn:
        before = schema.revision(conn) or ""
        schema.downgrade(conn, revision, backend.staying_hubs(conn))
        return before, look(backend, conn)


def look(backend: Backend, conn: Connection) -> Schema:
    """The state of the database of an open connection. Raises UnknownSchema."""
    found = schema.revision(conn)
    hubs = tuple(backend.hubs(conn))
    if found is None:
        return Schema(backend.where, EMPTY, "", hubs=hubs)
    if not schema.is_known(found):
        beside = compatibility.beside(conn, found)
        state = BESIDE if schema.HEAD in beside else NEWER
        return Schema(backend.where, state, found, beside=beside, hubs=hubs)
    if found != schema.HEAD:
        return Schema(backend.where, BEHIND, found, hubs=hubs)
    beside = compatibility.beside(conn, found)
    differing = form.told(form.differences(conn))
    state = ALTERED if differing else CURRENT
    return Schema(backend.where, state, found, differing=differing, beside=beside, hubs=hubs)
